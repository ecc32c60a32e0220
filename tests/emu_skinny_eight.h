/* Kernel wgmma_skinny with 8-bit operands in the emulator: what its tests have in common. For tests that name
 * RING_BYTES and MUTANT_KERNEL. */
#ifndef TESTS_EMU_SKINNY_EIGHT_H
#define TESTS_EMU_SKINNY_EIGHT_H

#define MUTANTS_SCALED
#include "tma_mutants.h"

/* Two tiles along either side, the last one with few lines; more steps along K in a part than stages, and a part of
 * one. */
enum {
    M = 70,
    N = 200,
    K = 1000,
    BM = 64,
    BN = 128,
    STAGES = RING_BYTES / (128 * (BM + BN)),
    STAGING_BYTES = BM * BN * 3,
    PARTS = 2,
    PITCH = 1008,
    SEEDS = 2
};

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 128,
                                  .cluster_m = 1,
                                  .cluster_n = 1,
                                  .parts = 4,
                                  .swaps_ab = 1,
                                  .copies_transposed = 1,
                                  .scaled = 1,
                                  .tma = 1};

/* D = A * B, both along K, to a D with rows of `pitch` elements; K in so many parts over a cluster. */
static tsr_gemm_args skinny_args(const void *a, const void *b, void *d, int pitch, int parts, int swap_ab)
{
    return (tsr_gemm_args){.a = a,
                           .b = b,
                           .d = d,
                           .m = M,
                           .n = N,
                           .k = K,
                           .lda = PITCH,
                           .ldb = PITCH,
                           .ldc = pitch,
                           .ldd = pitch,
                           .batch = 1,
                           .alpha = 1,
                           .trans_b = 1,
                           .schedule = {.split_k = parts, .cluster_k = parts, .swap_ab = swap_ab}};
}

static tsr_status run_skinny(kernel_tma *kernel, const tsr_gemm_args *args, const tsr_scaling *scaling,
                             unsigned long long seed)
{
    const int swap_ab = args->schedule.swap_ab, parts = args->schedule.cluster_k;
    const int along_m = (M + (swap_ab ? BM : BN) - 1) / (swap_ab ? BM : BN),
              along_n = (N + (swap_ab ? BN : BM) - 1) / (swap_ab ? BN : BM);
    const tsr_emu_job job = {.cluster = parts,
                             .grid = {along_m * along_n * parts, 1, 1},
                             .threads_x = 2 * BN + 32,
                             .shared_bytes = RING_BYTES + STAGING_BYTES + 16 * STAGES + 16,
                             .seed = seed};
    return run_mutant(kernel, &config, args, scaling, job);
}

#endif
