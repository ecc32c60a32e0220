/* The kernel of the instructions that TWIN_NAME names. */
#if defined(TWIN_votes) || defined(TWIN_matches) || defined(TWIN_shuffles) || defined(TWIN_redux_1) || \
    defined(TWIN_redux_2) || defined(TWIN_active)
#include "twins/warp.cu"
#elif defined(TWIN_bulk_copies) || defined(TWIN_bulk_send) || defined(TWIN_bulk_reduce) || \
    defined(TWIN_tma_reduce_integers) || defined(TWIN_tma_reduce_floats)
#include "twins/engine.cu"
#elif defined(TWIN_wmma_bf16) || defined(TWIN_wmma_f16) || defined(TWIN_wmma_f16_f16)
#include "twins/wmma.cu"
#elif defined(TWIN_mma_f64_m8n8k4) || defined(TWIN_mma_f64_m16n8k4) || defined(TWIN_mma_f64_m16n8k8) || \
    defined(TWIN_mma_f64_m16n8k16)
#include "twins/mma_f64.cu"
#elif defined(TWIN_mma_sparse_bf16) || defined(TWIN_mma_sparse_f16) || defined(TWIN_mma_sparse_s8) ||             \
    defined(TWIN_wgmma_sparse_bf16) || defined(TWIN_wgmma_sparse_f16) || defined(TWIN_wgmma_sparse_s8) ||         \
    defined(TWIN_wgmma_sparse_e4m3) || defined(TWIN_wgmma_sparse_e5m2) || defined(TWIN_wgmma_sparse_e4m3_e5m2) || \
    defined(TWIN_wgmma_sparse_e5m2_e4m3) || defined(TWIN_mma_sparse_u8) || defined(TWIN_mma_sparse_s8_u8) ||      \
    defined(TWIN_mma_sparse_u8_s8) || defined(TWIN_wgmma_sparse_u8) || defined(TWIN_wgmma_sparse_s8_u8) ||        \
    defined(TWIN_wgmma_sparse_u8_s8) || defined(TWIN_mma_sparse_tf32) || defined(TWIN_wgmma_sparse_tf32)
#include "twins/sparse.cu"
#else
#include "twins/product.cu"
#endif
