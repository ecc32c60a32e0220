/* Tensor maps as kernels see them: 128 opaque bytes, aligned as the driver declares them, that describe a matrix in
 * global memory and the box of it that the copy engine moves. Shared by host and device code; includes nothing. */
#ifndef TSR_CORE_TENSOR_MAP_H
#define TSR_CORE_TENSOR_MAP_H

typedef struct tsr_tensor_map {
    unsigned long long opaque[16];
} __attribute__((aligned(128))) tsr_tensor_map;

/* The second argument of kernels that use the copy engine. */
typedef struct tsr_tensor_maps {
    tsr_tensor_map a, b, c, d;
} tsr_tensor_maps;

#endif
