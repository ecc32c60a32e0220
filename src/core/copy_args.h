/* The argument of kernels/prep/pad.cu and transpose.cu: copies of A, of B, or of both. Shared by host and device code,
 * so it includes nothing.
 *
 * Members lie where tsr_gemm_args has those of the same kind (src/core/prep_args.c asserts it): machine code reads
 * arguments at fixed offsets, and that of these kernels is older than this struct. Nobody reads the reserved ones. */
#ifndef TSR_CORE_COPY_ARGS_H
#define TSR_CORE_COPY_ARGS_H

typedef struct tsr_copy_args {
    const void *a, *b; /* as the product sees them; NULL: not copied */
    void *to_a, *to_b; /* their copies */
    void *reserved_pointer;
    long long m, n, k;
    long long lda, ldb, to_lda, to_ldb;                        /* elements */
    long long batch_a, batch_b, to_batch_a, to_batch_b, batch; /* elements from problem to problem; problems */
    double reserved_factors[2];
    int trans_a, trans_b; /* of the operands that are copied */
} tsr_copy_args;

#endif
