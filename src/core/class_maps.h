/* Tensor maps of operands whose rows begin anywhere. The copy engine wants a map's address and strides to be multiples
 * of 16 bytes, but takes boxes that begin at any element. Rows that are 8 apart lie equally far past such a multiple,
 * for elements of 2 bytes and any leading dimension: so each of 8 classes of rows (row number modulo 8) has a map of
 * its own, which begins at the multiple before the class's first row. Shared by host and device code. */
#ifndef TSR_CORE_CLASS_MAPS_H
#define TSR_CORE_CLASS_MAPS_H

#include "core/tensor_map.h"

enum { TSR_CLASSES = 8 };

/* The second argument of kernels that take rows by classes. */
typedef struct tsr_class_maps {
    tsr_tensor_map a[TSR_CLASSES], b[TSR_CLASSES];
} tsr_class_maps;

#endif
