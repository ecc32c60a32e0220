/* The products of the pretended libcublas for sizes of type W_INT; W_NAME completes their names. */

#define STR_OF(x) #x
#define STR(x)    STR_OF(x)
#define LL(x)     ((long long)(x))
#define PRODUCT(at, bt, ct, sa, sb, sc, count)                                                                \
    (fake_product)                                                                                            \
    {                                                                                                         \
        .trans_a = trans_a, .trans_b = trans_b, .m = m, .n = n, .k = k, .a = a, .b = b, .d = c, .a_type = at, \
        .b_type = bt, .c_type = ct, .lda = lda, .ldb = ldb, .ldc = ldc, .stride_a = sa, .stride_b = sb,       \
        .stride_c = sc, .batch = count,                                                                       \
    }

CALL(W_NAME(cublasGemmEx), TSR_GEMM_EX_PARAMETERS(W_INT))
{
    NOTE("%s %p %d %d %lld %lld %lld %p %p %d %lld %p %d %lld %p %p %d %lld %d %d", STR(W_NAME(cublasGemmEx)), handle,
         trans_a, trans_b, LL(m), LL(n), LL(k), alpha, a, a_type, LL(lda), b, b_type, LL(ldb), beta, c, c_type, LL(ldc),
         compute, algo);
    const fake_product product = PRODUCT(a_type, b_type, c_type, 0, 0, 0, 1);
    return orders.calls_through ? call_through(handle, alpha, beta, &product)
                                : compute_product(handle, alpha, beta, compute, product);
}

CALL(W_NAME(cublasGemmStridedBatchedEx), TSR_GEMM_STRIDED_EX_PARAMETERS(W_INT))
{
    NOTE("%s %p %d %d %lld %lld %lld %p %p %d %lld %lld %p %d %lld %lld %p %p %d %lld %lld %lld %d %d",
         STR(W_NAME(cublasGemmStridedBatchedEx)), handle, trans_a, trans_b, LL(m), LL(n), LL(k), alpha, a, a_type,
         LL(lda), stride_a, b, b_type, LL(ldb), stride_b, beta, c, c_type, LL(ldc), stride_c, LL(batch), compute, algo);
    return compute_product(handle, alpha, beta, compute,
                           PRODUCT(a_type, b_type, c_type, stride_a, stride_b, stride_c, batch));
}

CALL(W_NAME(cublasSgemmEx), TSR_SGEMM_EX_PARAMETERS(W_INT))
{
    NOTE("%s %p %d %d %lld %lld %lld %p %p %d %lld %p %d %lld %p %p %d %lld", STR(W_NAME(cublasSgemmEx)), handle,
         trans_a, trans_b, LL(m), LL(n), LL(k), alpha, a, a_type, LL(lda), b, b_type, LL(ldb), beta, c, c_type,
         LL(ldc));
    return compute_product(handle, alpha, beta, TSR_CUBLAS_COMPUTE_32F, PRODUCT(a_type, b_type, c_type, 0, 0, 0, 1));
}

CALL(W_NAME(cublasGemmBatchedEx), TSR_GEMM_BATCHED_EX_PARAMETERS(W_INT))
{
    NOTE("%s %p %d %d %lld %lld %lld %p %p %d %lld %p %d %lld %p %p %d %lld %lld %d %d",
         STR(W_NAME(cublasGemmBatchedEx)), handle, trans_a, trans_b, LL(m), LL(n), LL(k), alpha, (const void *)a,
         a_type, LL(lda), (const void *)b, b_type, LL(ldb), beta, (const void *)c, c_type, LL(ldc), LL(batch), compute,
         algo);
    return orders.status;
}

CALL(W_NAME(cublasGemmGroupedBatchedEx), TSR_GEMM_GROUPED_EX_PARAMETERS(W_INT))
{
    NOTE("%s %p %p %p %p %p %p %p %p %d %p %p %d %p %p %p %d %p %lld %p %d", STR(W_NAME(cublasGemmGroupedBatchedEx)),
         handle, (const void *)trans_a, (const void *)trans_b, (const void *)m, (const void *)n, (const void *)k, alpha,
         (const void *)a, a_type, (const void *)lda, (const void *)b, b_type, (const void *)ldb, beta, (const void *)c,
         c_type, (const void *)ldc, LL(groups), (const void *)size, compute);
    return orders.status;
}

/* Of one type. */
#define GEMM_OF(symbol, type, sums)                                                                            \
    CALL(W_NAME(symbol), TSR_GEMM_PARAMETERS(W_INT))                                                           \
    {                                                                                                          \
        NOTE("%s %p %d %d %lld %lld %lld %p %p %lld %p %lld %p %p %lld", STR(W_NAME(symbol)), handle, trans_a, \
             trans_b, LL(m), LL(n), LL(k), alpha, a, LL(lda), b, LL(ldb), beta, c, LL(ldc));                   \
        return compute_product(handle, alpha, beta, sums, PRODUCT(type, type, type, 0, 0, 0, 1));              \
    }
#define STRIDED_OF(symbol, type, sums)                                                                               \
    CALL(W_NAME(symbol), TSR_GEMM_STRIDED_PARAMETERS(W_INT))                                                         \
    {                                                                                                                \
        NOTE("%s %p %d %d %lld %lld %lld %p %p %lld %lld %p %lld %lld %p %p %lld %lld %lld", STR(W_NAME(symbol)),    \
             handle, trans_a, trans_b, LL(m), LL(n), LL(k), alpha, a, LL(lda), stride_a, b, LL(ldb), stride_b, beta, \
             c, LL(ldc), stride_c, LL(batch));                                                                       \
        return compute_product(handle, alpha, beta, sums,                                                            \
                               PRODUCT(type, type, type, stride_a, stride_b, stride_c, batch));                      \
    }
#define BATCHED_OF(symbol)                                                                                          \
    CALL(W_NAME(symbol), TSR_GEMM_BATCHED_PARAMETERS(W_INT))                                                        \
    {                                                                                                               \
        NOTE("%s %p %d %d %lld %lld %lld %p %p %lld %p %lld %p %p %lld %lld", STR(W_NAME(symbol)), handle, trans_a, \
             trans_b, LL(m), LL(n), LL(k), alpha, (const void *)a, LL(lda), (const void *)b, LL(ldb), beta,         \
             (const void *)c, LL(ldc), LL(batch));                                                                  \
        return orders.status;                                                                                       \
    }
#define GROUPED_OF(symbol)                                                                                           \
    CALL(W_NAME(symbol), TSR_GEMM_GROUPED_PARAMETERS(W_INT))                                                         \
    {                                                                                                                \
        NOTE("%s %p %p %p %p %p %p %p %p %p %p %p %p %p %p %lld %p", STR(W_NAME(symbol)), handle,                    \
             (const void *)trans_a, (const void *)trans_b, (const void *)m, (const void *)n, (const void *)k, alpha, \
             (const void *)a, (const void *)lda, (const void *)b, (const void *)ldb, beta, (const void *)c,          \
             (const void *)ldc, LL(groups), (const void *)size);                                                     \
        return orders.status;                                                                                        \
    }
GEMM_OF(cublasSgemm_v2, TSR_CUDA_R_32F, TSR_CUBLAS_COMPUTE_32F)
GEMM_OF(cublasDgemm_v2, TSR_CUDA_R_64F, TSR_CUBLAS_COMPUTE_64F)
GEMM_OF(cublasHgemm, TSR_CUDA_R_16F, TSR_CUBLAS_COMPUTE_16F)
STRIDED_OF(cublasSgemmStridedBatched, TSR_CUDA_R_32F, TSR_CUBLAS_COMPUTE_32F)
STRIDED_OF(cublasDgemmStridedBatched, TSR_CUDA_R_64F, TSR_CUBLAS_COMPUTE_64F)
STRIDED_OF(cublasHgemmStridedBatched, TSR_CUDA_R_16F, TSR_CUBLAS_COMPUTE_16F)
BATCHED_OF(cublasSgemmBatched)
BATCHED_OF(cublasDgemmBatched)
BATCHED_OF(cublasHgemmBatched)
GROUPED_OF(cublasSgemmGroupedBatched)
GROUPED_OF(cublasDgemmGroupedBatched)

#undef STR_OF
#undef STR
#undef LL
#undef PRODUCT
#undef GEMM_OF
#undef STRIDED_OF
#undef BATCHED_OF
#undef GROUPED_OF
