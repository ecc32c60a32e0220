/* A product of views as the library's descriptor, and its run. */
#ifndef BINDING_PRODUCT_H
#define BINDING_PRODUCT_H

#include "binding/view.h"

enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_D, OPERANDS };

/* What callers may say besides the operands. */
typedef struct product_options {
    const char *kernel;
    tsr_compute compute;
    int threads;
    int batch_invariant;
} product_options;

/* One descriptor, run once for each place of the batch dimensions that its strided batch does not cover. */
typedef struct product {
    tsr_gemm_desc desc;
    int swapped; /* D lies by columns: the descriptor has D^T = B^T A^T */
    int loop_dims;
    int64_t loop_shape[MOST_DIMS];
    int64_t loop_strides[OPERANDS][MOST_DIMS]; /* bytes */
} product;

/* The pointers of one run. */
typedef struct product_run_args {
    const view *operands[OPERANDS]; /* C may be NULL: D is C */
    double alpha, beta;
    void *stream;
    workspace *workspace; /* NULL: none is needed */
} product_run_args;

/* Why the descriptor cannot be made of these views; PRODUCT_OK: it can. */
typedef enum product_fit {
    PRODUCT_OK,
    PRODUCT_COPY_A, /* rows and columns both have gaps, or elements repeat or are not aligned */
    PRODUCT_COPY_B,
    PRODUCT_COPY_C,
    PRODUCT_COPY_D,
} product_fit;

/* All views are at least matrices, D's batch dimensions are the product's, and shapes and dtypes agree. C may be NULL.
 */
product_fit product_make(product *out, const view *const operands[OPERANDS], const product_options *options);

/* Runs without the GIL. `plan` may be NULL for operands in host memory. */
tsr_status product_run(const product *p, tsr_context *context, tsr_plan *plan, const product_run_args *args);

/* Multiplications and additions of all problems; an element that is read or written counts as PRODUCT_ELEMENT_WORK. */
enum { PRODUCT_ELEMENT_WORK = 16 };
double product_work(const product *p);

#endif
