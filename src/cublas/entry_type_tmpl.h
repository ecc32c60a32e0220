/* The products of one element type and one width of sizes: cublasSgemm and its likes. entry_width_tmpl.h sets
 * ENTRY_MEMBER and ENTRY_TYPED, which complete names, ENTRY_GEMM, ENTRY_TYPE, ENTRY_COMPUTE and ENTRY_HAS_GROUPS. */

ENTRY(ENTRY_TYPED(ENTRY_GEMM), TSR_GEMM_PARAMETERS(ENTRY_INT))
{
    ENTRY_ANSWER(ENTRY_TYPED(ENTRY_GEMM), ENTRY_MEMBER(gemm),
                 (handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), .a_type = ENTRY_TYPE,
                 .b_type = ENTRY_TYPE, .c_type = ENTRY_TYPE, .batch = 1, .compute = ENTRY_COMPUTE,
                 .algo = TSR_CUBLAS_GEMM_DEFAULT);
}

ENTRY(ENTRY_TYPED(gemmStridedBatched), TSR_GEMM_STRIDED_PARAMETERS(ENTRY_INT))
{
    ENTRY_ANSWER(
        ENTRY_TYPED(gemmStridedBatched), ENTRY_MEMBER(gemm_strided),
        (handle, trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch),
        .a_type = ENTRY_TYPE, .b_type = ENTRY_TYPE, .c_type = ENTRY_TYPE, .stride_a = stride_a, .stride_b = stride_b,
        .stride_c = stride_c, .batch = batch, .compute = ENTRY_COMPUTE, .algo = TSR_CUBLAS_GEMM_DEFAULT);
}

ENTRY(ENTRY_TYPED(gemmBatched), TSR_GEMM_BATCHED_PARAMETERS(ENTRY_INT))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    tsr_cublas_visit visit;
    tsr_cublas_begin_other(&visit, ENTRY_TEXT(ENTRY_TYPED(gemmBatched)), TSR_WHY_POINTERS);
    const tsr_cublas_status status =
        ENTRY_REAL(real, ENTRY_MEMBER(gemm_batched), ENTRY_TYPED(gemmBatched),
                   (handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch));
    tsr_cublas_end(&visit);
    return status;
}

#if ENTRY_HAS_GROUPS
ENTRY(ENTRY_TYPED(gemmGroupedBatched), TSR_GEMM_GROUPED_PARAMETERS(ENTRY_INT))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    tsr_cublas_visit visit;
    tsr_cublas_begin_other(&visit, ENTRY_TEXT(ENTRY_TYPED(gemmGroupedBatched)), TSR_WHY_GROUPS);
    const tsr_cublas_status status =
        ENTRY_REAL(real, ENTRY_MEMBER(gemm_grouped), ENTRY_TYPED(gemmGroupedBatched),
                   (handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, size));
    tsr_cublas_end(&visit);
    return status;
}
#endif

#undef ENTRY_MEMBER
#undef ENTRY_TYPED
#undef ENTRY_GEMM
#undef ENTRY_TYPE
#undef ENTRY_COMPUTE
#undef ENTRY_HAS_GROUPS
