/* Warps that only multiply, fed by others: the warp-specialized rung as it is, and mutants of it (emu/mutants.cmake).
 */
#define MUTANT_KERNEL(name) unit_emu_specialized_mutant_##name
#include "tma_rung.h"

/* The constants of emu/mutants.cmake. Each row of A is read by one warp, of which the emulator knows all lanes. */
enum { BM = 128, BN = 64, BK = 16, WARPS = 4, STAGES = 3, LINES = 16, PITCH = 64 + 4 };

/* Every transpose; tails along all of M, N and K; more steps along K than stages, and none; several tiles; batches, one
 * of which shares B; D in quads and in single elements, because of its rows or of its batch. */
static const shape shapes[] = {{140, 70, 75, 2, 0, 0, 0, 0, 0, 0}, {132, 33, 52, 1, 0, 1, 0, 0, 0, 1},
                               {37, 63, 68, 2, 0, 0, 1, 4, 0, 0},  {128, 68, 96, 1, 0, 1, 1, 0, 0, 1},
                               {6, 132, 8, 3, 1, 1, 0, 0, 1, 0},   {20, 8, 0, 1, 0, 0, 0, 0, 0, 1}};

int main(void)
{
    tma_rung rung = {.config = {.instance = "specialized",
                                .kind = TSR_CONFIG_CUDA,
                                .op = TSR_OP(TSR_F32, TSR_F32, TSR_COMPUTE_F32),
                                .bm = BM,
                                .bn = BN,
                                .bk = BK,
                                .tma = 1},
                     .threads = WARPS * 32 + 128,
                     .shared_bytes = (STAGES * (4 * BK * (BM + BN) + 24) + 15) / 16 * 16 +
                                     WARPS * LINES * PITCH * (int)sizeof(float),
                     .shapes = shapes,
                     .shape_count = sizeof shapes / sizeof shapes[0]};
    return run_tests_of(&rung);
}
