/* mma.sync fed by the copy engine: the mma-tma rung as it is, with a warp that asks for boxes between its products, and
 * mutants of it (emu/mutants.cmake). */
#define MUTANT_KERNEL(name) unit_emu_mma_tma_mutant_##name
#include "tma_rung.h"

/* The constants of emu/mutants.cmake. */
enum { BM = 128, BN = 64, BK = 64, WARPS = 2, STAGES = 3, LINES = 8, PITCH = 64 + 8 };

/* Every transpose; tails along all of M, N and K; more steps along K than stages, and none; several tiles; batches, one
 * of which shares B; D in whole accesses and in single elements, because of its rows or of its batch. */
static const shape shapes[] = {{140, 72, 264, 2, 0, 0, 0, 0, 0, 0}, {136, 33, 330, 1, 0, 1, 0, 3, 0, 1},
                               {37, 63, 72, 2, 0, 0, 1, 1, 0, 0},   {128, 68, 392, 1, 0, 1, 1, 0, 0, 1},
                               {6, 136, 8, 3, 1, 1, 0, 0, 1, 0},    {20, 8, 0, 1, 0, 0, 0, 0, 0, 1}};

int main(void)
{
    tma_rung rung = {.config = {.instance = "mma_tma",
                                .kind = TSR_CONFIG_CUDA,
                                .op = TSR_OP(TSR_BF16, TSR_F32, TSR_COMPUTE_F32),
                                .bm = BM,
                                .bn = BN,
                                .bk = BK,
                                .tma = 1,
                                .cluster_m = 1,
                                .cluster_n = 1},
                     .threads = WARPS * 32,
                     .shared_bytes = STAGES * (2 * BK * (BM + BN) + 16) + WARPS * LINES * PITCH * (int)sizeof(float),
                     .ctas = 2, /* fewer than tiles, so that each does some */
                     .shapes = shapes,
                     .shape_count = sizeof shapes / sizeof shapes[0]};
    return run_tests_of(&rung);
}
