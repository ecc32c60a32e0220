/* SIGNATURE(symbol, arguments): one call of every product, each argument with a value of its own, so that one that is
 * lost, swapped or cut shows in what the pretended cuBLAS notes. P(n) is a pointer, H the handle. The list is compiled
 * with this project's declarations and, where they are installed, with NVIDIA's. */

#define BIG 0x123456789aLL

SIGNATURE(cublasGemmEx, (H, 1, 0, 5, 6, 7, P(8), P(9), 14, 10, P(11), 14, 12, P(13), P(14), 2, 15, 68, 99))
SIGNATURE(cublasGemmEx_64, (H, 1, 0, BIG, BIG + 1, BIG + 2, P(8), P(9), 14, BIG + 3, P(11), 14, BIG + 4, P(13), P(14),
                            2, BIG + 5, 68, 99))
SIGNATURE(cublasGemmStridedBatchedEx,
          (H, 0, 1, 5, 6, 7, P(8), P(9), 14, 10, BIG, P(11), 14, 12, BIG + 1, P(13), P(14), 2, 15, BIG + 2, 16, 68, -1))
SIGNATURE(cublasGemmStridedBatchedEx_64, (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), 14, BIG + 3, BIG + 4, P(11), 14,
                                          BIG + 5, BIG + 6, P(13), P(14), 2, BIG + 7, BIG + 8, BIG + 9, 68, -1))
SIGNATURE(cublasGemmBatchedEx, (H, 1, 1, 5, 6, 7, P(8), P(9), 14, 10, P(11), 14, 12, P(13), P(14), 2, 15, 16, 68, 3))
SIGNATURE(cublasGemmBatchedEx_64, (H, 1, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), 14, BIG + 3, P(11), 14, BIG + 4, P(13),
                                   P(14), 2, BIG + 5, BIG + 6, 68, 3))
SIGNATURE(cublasGemmGroupedBatchedEx, (H, P(1), P(2), P(3), P(4), P(5), P(6), P(7), 14, P(8), P(9), 15, P(10), P(11),
                                       P(12), 2, P(13), 16, P(17), 68))
SIGNATURE(cublasGemmGroupedBatchedEx_64, (H, P(1), P(2), P(3), P(4), P(5), P(6), P(7), 14, P(8), P(9), 15, P(10), P(11),
                                          P(12), 2, P(13), BIG, P(17), 68))
SIGNATURE(cublasSgemmEx, (H, 0, 1, 5, 6, 7, P(8), P(9), 14, 10, P(11), 2, 12, P(13), P(14), 0, 15))
SIGNATURE(cublasSgemmEx_64,
          (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), 14, BIG + 3, P(11), 2, BIG + 4, P(13), P(14), 0, BIG + 5))
SIGNATURE(cublasSgemm_v2, (H, 0, 1, 5, 6, 7, P(8), P(9), 10, P(11), 12, P(13), P(14), 15))
SIGNATURE(cublasSgemm_v2_64,
          (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, P(11), BIG + 4, P(13), P(14), BIG + 5))
SIGNATURE(cublasDgemm_v2, (H, 1, 0, 5, 6, 7, P(8), P(9), 10, P(11), 12, P(13), P(14), 15))
SIGNATURE(cublasDgemm_v2_64,
          (H, 1, 0, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, P(11), BIG + 4, P(13), P(14), BIG + 5))
SIGNATURE(cublasHgemm, (H, 1, 2, 5, 6, 7, P(8), P(9), 10, P(11), 12, P(13), P(14), 15))
SIGNATURE(cublasHgemm_64, (H, 1, 2, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, P(11), BIG + 4, P(13), P(14), BIG + 5))
SIGNATURE(cublasSgemmStridedBatched,
          (H, 0, 1, 5, 6, 7, P(8), P(9), 10, BIG, P(11), 12, BIG + 1, P(13), P(14), 15, BIG + 2, 16))
SIGNATURE(cublasSgemmStridedBatched_64, (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, BIG + 4, P(11), BIG + 5,
                                         BIG + 6, P(13), P(14), BIG + 7, BIG + 8, BIG + 9))
SIGNATURE(cublasDgemmStridedBatched,
          (H, 0, 1, 5, 6, 7, P(8), P(9), 10, BIG, P(11), 12, BIG + 1, P(13), P(14), 15, BIG + 2, 16))
SIGNATURE(cublasDgemmStridedBatched_64, (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, BIG + 4, P(11), BIG + 5,
                                         BIG + 6, P(13), P(14), BIG + 7, BIG + 8, BIG + 9))
SIGNATURE(cublasHgemmStridedBatched,
          (H, 0, 1, 5, 6, 7, P(8), P(9), 10, BIG, P(11), 12, BIG + 1, P(13), P(14), 15, BIG + 2, 16))
SIGNATURE(cublasHgemmStridedBatched_64, (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, BIG + 4, P(11), BIG + 5,
                                         BIG + 6, P(13), P(14), BIG + 7, BIG + 8, BIG + 9))
SIGNATURE(cublasSgemmBatched, (H, 0, 1, 5, 6, 7, P(8), P(9), 10, P(11), 12, P(13), P(14), 15, 16))
SIGNATURE(cublasSgemmBatched_64,
          (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, P(11), BIG + 4, P(13), P(14), BIG + 5, BIG + 6))
SIGNATURE(cublasDgemmBatched, (H, 0, 1, 5, 6, 7, P(8), P(9), 10, P(11), 12, P(13), P(14), 15, 16))
SIGNATURE(cublasDgemmBatched_64,
          (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, P(11), BIG + 4, P(13), P(14), BIG + 5, BIG + 6))
SIGNATURE(cublasHgemmBatched, (H, 0, 1, 5, 6, 7, P(8), P(9), 10, P(11), 12, P(13), P(14), 15, 16))
SIGNATURE(cublasHgemmBatched_64,
          (H, 0, 1, BIG, BIG + 1, BIG + 2, P(8), P(9), BIG + 3, P(11), BIG + 4, P(13), P(14), BIG + 5, BIG + 6))
SIGNATURE(cublasSgemmGroupedBatched,
          (H, P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), 16, P(17)))
SIGNATURE(cublasSgemmGroupedBatched_64,
          (H, P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), BIG, P(17)))
SIGNATURE(cublasDgemmGroupedBatched,
          (H, P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), 16, P(17)))
SIGNATURE(cublasDgemmGroupedBatched_64,
          (H, P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), BIG, P(17)))

#undef BIG
