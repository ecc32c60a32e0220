/* A cuBLAS that only pretends: libcublas.so and libcublasLt.so of major version FAKE_MAJOR, with the vendor's SONAMEs
 * and version nodes, that compute on the host and note what they are asked. What a test may set and see. */
#ifndef TESTS_CUBLAS_FAKE_CUBLAS_H
#define TESTS_CUBLAS_FAKE_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_TEXT_BYTES = 1024, FAKE_FAILURE = 14, FAKE_LAYOUTS = 100, FAKE_PREFERENCES = 200 };

/* Of one library. `last` is the last call with all its arguments, as "name a=1 b=2 ...". */
typedef struct fake_record {
    int calls; /* of products */
    int heuristics;
    char last[FAKE_TEXT_BYTES];
} fake_record;

/* What goes wrong, or otherwise than usual, in one library. */
typedef struct fake_orders {
    int status;                   /* what every product returns; 0: what comes of it */
    int is_quick;                 /* products do nothing, for timing */
    int calls_through;            /* cublasGemmEx has cublasLtMatmul do its work, as the real one may */
    void (*at_desc_create)(void); /* called by cublasLtMatmulDescCreate; may be NULL */
    const char *fails;            /* a call that is no product and returns FAKE_FAILURE; NULL: none */
    int attribute_fails;          /* 1 + an attribute that cannot be read, layouts' from FAKE_LAYOUTS on, then
                                     preferences'; 0: none */
    int is_short;                 /* it can, but has another size than was asked for */
} fake_orders;

fake_record *fake_cublas_record(void);   /* of libcublas */
fake_record *fake_cublaslt_record(void); /* of libcublasLt */
fake_orders *fake_cublas_orders(void);
fake_orders *fake_cublaslt_orders(void);

#endif
