/* Kernel wgmma-rs in the emulator, tf32: right as it is for both layouts that it takes, tiles whole and in parts of K,
 * and caught in each of its mutants (emu/mutants.cmake), by a fault or a wrong result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "sanitized.h"

#define MUTANT_KERNEL(name) unit_emu_rs_mutant_##name
#include "tma_mutants.h"

/* Two tiles along each side of D, whichever side the lines lie along, a cluster's two of few lines in the second; more
 * steps along K than stages, and a part of one. */
enum { M = 152, N = 148, K = 172, BM = 128, BN = 64, STAGES = 3, SEEDS = IS_SANITIZED ? 1 : 2 };

/* Bits. D_LIES_BADLY: its rows do not begin at multiples of 16 bytes. IS_NN: else both operands are stored transposed.
 * IN_PARTS, with one of the layouts and all else there is: four clusters share the three tiles' steps along K. */
enum { IS_NN = 1, HAS_BIAS = 2, D_LIES_BADLY = 4, HAS_C = 8, IN_PARTS = 16, WAYS = 18 };
enum { TILES = 3, UNITS = 4, CLUSTER = 2 };

static int way_of(int index)
{
    return index < IN_PARTS ? index : IN_PARTS | HAS_BIAS | HAS_C | (index & IS_NN);
}

typedef struct matrices {
    float a[M * K], b[N * K], bias[N], c[M * N], d[M * (N + 1)], exact[M * (N + 1)];
    unsigned char workspace[TSR_WORKSPACE_COUNTER_BYTES + 2 * UNITS * CLUSTER * BM * BN * sizeof(float)];
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 32,
                                  .cluster_m = CLUSTER,
                                  .cluster_n = 1,
                                  .persistent = 1,
                                  .copies_transposed = 1,
                                  .mn_major_lines = 1,
                                  .tma = 1};

static int pitch_of_d(int way)
{
    return way & D_LIES_BADLY ? N + 1 : N;
}

static tsr_gemm_args args_of(int way, matrices *x)
{
    const int is_nn = way & IS_NN;
    return (tsr_gemm_args){.a = x->a,
                           .b = x->b,
                           .c = way & HAS_C ? x->c : NULL,
                           .d = x->d,
                           .m = M,
                           .n = N,
                           .k = K,
                           .lda = is_nn ? K : M,
                           .ldb = is_nn ? N : K,
                           .ldc = N,
                           .ldd = pitch_of_d(way),
                           .batch = 1,
                           .alpha = 1,
                           .beta = way & HAS_C ? 2 : 0,
                           .bias = way & HAS_BIAS ? x->bias : NULL,
                           .epilogue = way & HAS_BIAS ? TSR_EPILOGUE_BIAS : TSR_EPILOGUE_NONE,
                           .trans_a = !is_nn,
                           .trans_b = !is_nn,
                           .type_a = TSR_F32,
                           .type_b = TSR_F32,
                           .type_d = TSR_F32,
                           .workspace = x->workspace,
                           .schedule = {.split_k = 1,
                                        .cluster_k = 1,
                                        .swap_ab = is_nn,
                                        .stream_k_tiles = way & IN_PARTS ? TILES : 0,
                                        .stream_k_units = way & IN_PARTS ? UNITS : 0}};
}

/* -4 to 3. */
static float small(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)((int)(*state >> 29) - 4);
}

/* All sums are integers that f32 has. */
static void make(int index, void *memory)
{
    const int way = way_of(index);
    matrices *const x = memory;
    const int is_nn = way & IS_NN, pitch = pitch_of_d(way);
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0, sizeof *x);
    for (int i = 0; i < M * K; i++)
        x->a[i] = small(&state);
    for (int i = 0; i < N * K; i++)
        x->b[i] = small(&state);
    for (int i = 0; i < M * N; i++)
        x->c[i] = small(&state);
    for (int j = 0; j < N; j++)
        x->bias[j] = (float)(100 * j);
    memset(x->exact, 0x55, sizeof x->exact);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = way & HAS_C ? 2 * x->c[i * N + j] : 0;
            for (int k = 0; k < K; k++)
                sum += (is_nn ? x->a[i * K + k] : x->a[k * M + i]) * (is_nn ? x->b[k * N + j] : x->b[j * K + k]);
            x->exact[i * pitch + j] = sum + (way & HAS_BIAS ? x->bias[j] : 0);
        }
}

static tsr_status run(kernel_tma *kernel, int index, void *memory, unsigned long long seed)
{
    const int way = way_of(index);
    matrices *const x = memory;
    const tsr_gemm_args args = args_of(way, x);
    memset(x->d, 0x55, sizeof x->d);
    memset(x->workspace, 0xff, sizeof x->workspace);
    memset(x->workspace, 0, TSR_WORKSPACE_COUNTER_BYTES);
    const tsr_grid of_units = {UNITS * CLUSTER, 1, 1};
    const tsr_emu_job job = {.cluster = CLUSTER,
                             .grid = way & IN_PARTS ? of_units : tsr_config_grid(&config, &args, seed % 2 ? 2 : 8),
                             .threads_x = 128 + 2 * BM,
                             .shared_bytes = STAGES * ((BM + BN) * 128 + 16) + BM / 64 * 10240 + 56,
                             .workspace_bytes = sizeof x->workspace,
                             .seed = seed};
    return run_mutant(kernel, &config, &args, NULL, job);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
