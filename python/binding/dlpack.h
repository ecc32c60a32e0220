/* What DLPack's capsules hold: the layout that its versions 0 and 1 fix, as far as this package reads and makes it. */
#ifndef BINDING_DLPACK_H
#define BINDING_DLPACK_H

#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_CUDA_HOST = 3, DLPACK_CUDA_MANAGED = 13 };

enum {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_E4M3FN = 10,
    DLPACK_E5M2 = 12,
};

#define DLPACK_READ_ONLY 1u /* flags of dlpack_versioned */
#define DLPACK_IS_COPIED 2u

typedef struct dlpack_device {
    int32_t type, id;
} dlpack_device;

typedef struct dlpack_tensor {
    void *data;
    dlpack_device device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: rows lie tight */
    uint64_t byte_offset;
} dlpack_tensor;

/* In capsules named "dltensor". */
typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *owner;
    void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

/* In capsules named "dltensor_versioned". */
typedef struct dlpack_versioned {
    uint32_t major, minor;
    void *owner;
    void (*deleter)(struct dlpack_versioned *self);
    uint64_t flags;
    dlpack_tensor tensor;
} dlpack_versioned;

#endif
