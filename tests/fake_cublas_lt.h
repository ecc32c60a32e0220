/* A cuBLASLt for tests, on the fake driver's memory: it multiplies f32 and f64 matrices on the CPU as column-major
 * matrices are, and keeps a record of what it was asked. */
#ifndef TESTS_FAKE_CUBLAS_LT_H
#define TESTS_FAKE_CUBLAS_LT_H

#include "lab/peers/cublas_lt.h"

typedef struct fake_lt {
    /* What goes wrong, and what the heuristic proposes: `proposed` algorithms, of which number `unusable` (-1: none) is
     * marked as not supported. */
    const char *fail_call;
    lab_cublas_status fail_status;
    int proposed, unusable;
    size_t version;
    /* What happened. */
    int handles, objects; /* alive */
    int context_errors;   /* calls without the GPU's context */
    unsigned compute_type, scale_type;
    const void *scales[2];   /* of the library's A and B, as of the last descriptor that was told of them */
    int32_t scale_modes[2];  /* likewise */
    uint32_t align_bytes[4]; /* of the library's A, B, C, D */
    uint64_t workspace_limit_bytes;
    int wanted;
    uint64_t algo; /* number of the algorithm that ran last */
    int c_was_null;
    tsr_cu_stream stream;
} fake_lt;

typedef struct fake_lt_access {
    fake_lt *state;
    void (*reset)(void);
} fake_lt_access;

#endif
