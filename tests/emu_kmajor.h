/* Kernel wgmma-kmajor in the emulator, e4m3 to bf16: right as it is, with the ends of collective/wgmma_lean.h and
 * without, tiles whole and in parts of K, and caught in each of its mutants (emu/mutants.cmake), by a fault or a wrong
 * result. For tests that name BN, SLABS, TURNS, BOXED and MUTANT_KERNEL; TURNS: warp groups take turns, and there are
 * no scales of blocks; BOXED: D leaves, and C comes, by boxes. */
#ifndef TESTS_EMU_KMAJOR_H
#define TESTS_EMU_KMAJOR_H

#define MUTANTS_SCALED
#include "tma_mutants.h"

/* Two tiles of D along M, a cluster's, the second of few rows, and two along N, the second of few columns; more steps
 * along K than stages, and a part of one. */
enum {
    M = 150,
    N = 200,
    K = 424,
    BM = 128,
    GROUPS = TURNS ? 2 : BM / 64 / SLABS,
    STAGES = 3,
    PITCH = 432,
    SEEDS = IS_SANITIZED ? 2 : 4
};

/* What the end has to do: bits. D_LIES_BADLY: its rows begin at multiples of 8 bytes, not of 16. D_BEGINS_ANYWHERE:
 * at multiples of 2. HAS_BLOCKS, alone: one scale for each 128 of K, of B for 128 columns, which begin within a tile.
 * Both kinds of scales: of each column. */
enum {
    HAS_SCALES = 1,
    HAS_BIAS = 2,
    D_LIES_BADLY = 4,
    HAS_BLOCKS = 8,
    OF_EACH_COLUMN = 9,
    HAS_C = 16,
    HAS_RELU = 32, /* with HAS_BIAS */
    IN_PARTS = 64, /* three clusters share the two tiles' steps along K */
    D_BEGINS_ANYWHERE = 128,
    USUAL = TURNS ? 8 : 10,
    ENDS = TURNS || BOXED ? 7 : 0,
    ANYWHERE = 3,
    WAYS = USUAL + ENDS + ANYWHERE + (TURNS ? 2 : 4)
};
static const int further_ends[] = {HAS_C,
                                   HAS_C | HAS_SCALES,
                                   HAS_C | HAS_BIAS | HAS_RELU,
                                   HAS_C | HAS_SCALES | HAS_BIAS | HAS_RELU,
                                   HAS_C | D_LIES_BADLY,
                                   HAS_BIAS | HAS_RELU,
                                   HAS_SCALES | HAS_BIAS | HAS_RELU};

static const int anywhere[] = {D_BEGINS_ANYWHERE, D_BEGINS_ANYWHERE | HAS_C | HAS_SCALES | HAS_BIAS | HAS_RELU,
                               D_BEGINS_ANYWHERE | HAS_C | HAS_BIAS};

static const int in_parts[] = {IN_PARTS, IN_PARTS | HAS_C | HAS_SCALES, IN_PARTS | HAS_BLOCKS,
                               IN_PARTS | OF_EACH_COLUMN};

static int way_of(int index)
{
    if (index < USUAL)
        return index;
    index -= USUAL;
    if (index < ENDS)
        return further_ends[index];
    index -= ENDS;
    return index < ANYWHERE ? anywhere[index] : in_parts[index - ANYWHERE];
}

static int has_each_column(int way)
{
    return (way & OF_EACH_COLUMN) == OF_EACH_COLUMN;
}

enum { TILES = 2, UNITS = 3, CLUSTER = 2 };
enum { BLOCK = 128, BLOCKS_K = (K + BLOCK - 1) / BLOCK, FIRST_N = 64 };

typedef struct matrices {
    unsigned char a[M * PITCH], b[N * PITCH];
    uint16_t d[M * (N + 4)], exact[M * (N + 4)], bias[N], c[M * (N + 4)];
    float rows[M * BLOCKS_K], columns[N * BLOCKS_K];
    unsigned char workspace[TSR_WORKSPACE_COUNTER_BYTES + 2 * UNITS * CLUSTER * BM * BN * sizeof(float)];
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 128,
                                  .cluster_m = CLUSTER,
                                  .cluster_n = 1,
                                  .persistent = 1,
                                  .copies_transposed = 1,
                                  .boxed_d = BOXED,
                                  .scaled = 1,
                                  .tma = 1};

static int pitch_of_d(int way)
{
    return way & D_BEGINS_ANYWHERE ? N + 1 : way & D_LIES_BADLY ? N + 4 : N;
}

static tsr_gemm_args args_of(int way, matrices *x)
{
    return (tsr_gemm_args){.a = x->a,
                           .b = x->b,
                           .c = way & HAS_C ? x->c : NULL,
                           .d = x->d,
                           .m = M,
                           .n = N,
                           .k = K,
                           .lda = PITCH,
                           .ldb = PITCH,
                           .ldc = pitch_of_d(way),
                           .ldd = pitch_of_d(way),
                           .batch = 1,
                           .alpha = 1,
                           .beta = way & HAS_C ? 2 : 0,
                           .bias = way & HAS_BIAS ? x->bias : NULL,
                           .epilogue = !(way & HAS_BIAS) ? TSR_EPILOGUE_NONE
                                       : way & HAS_RELU  ? TSR_EPILOGUE_BIAS_RELU
                                                         : TSR_EPILOGUE_BIAS,
                           .trans_b = 1,
                           .type_a = TSR_E4M3,
                           .type_b = TSR_E4M3,
                           .type_d = TSR_BF16,
                           .block_scales = (way & HAS_BLOCKS) != 0,
                           .workspace = x->workspace,
                           .schedule = {.split_k = 1,
                                        .cluster_k = 1,
                                        .stream_k_tiles = way & IN_PARTS ? TILES : 0,
                                        .stream_k_units = way & IN_PARTS ? UNITS : 0}};
}

/* -3 to 4, and its code. */
static int small(uint32_t *state, unsigned char *code)
{
    static const unsigned char codes[] = {0xc4, 0xc0, 0xb8, 0x00, 0x38, 0x40, 0x44, 0x48};
    *state = *state * 1664525u + 1013904223u;
    *code = codes[*state >> 29];
    return (int)(*state >> 29) - 3;
}

/* Sums are integers, and scales powers of two, so that D is exact but for its rounding. Row 0 of A has no elements but
 * zeros, and a negative scale: results of -0. */
static void make(int index, void *memory)
{
    const int way = way_of(index);
    matrices *const x = memory;
    static signed char a[M][K], b[N][K];
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0, sizeof *x);
    for (int i = N; i < N * BLOCKS_K; i++)
        x->columns[i] = i % 4 == 0 ? 2.0f : i % 4 == 1 ? -0.5f : 1.0f;
    for (int i = M; i < M * BLOCKS_K; i++)
        x->rows[i] = i % 3 == 0 ? 0.5f : i % 3 == 1 ? -4.0f : 2.0f;
    for (int i = 0; i < M; i++) {
        x->rows[i] = i % 3 == 0 ? -2.0f : i % 3 == 1 ? 0.5f : 1.0f;
        for (int k = 0; k < K; k++) {
            a[i][k] = (signed char)small(&state, &x->a[i * PITCH + k]);
            a[0][k] = 0;
            x->a[k] = 0;
        }
    }
    for (int j = 0; j < N; j++) {
        x->columns[j] = j % 5 == 0 ? 4.0f : j % 5 == 1 ? 0.25f : 1.0f;
        x->bias[j] = tsr_f32_to_bf16((float)(j % 11 * -5));
        for (int k = 0; k < K; k++)
            b[j][k] = (signed char)small(&state, &x->b[j * PITCH + k]);
    }
    for (int i = 0; i < M * (N + 4); i++)
        x->c[i] = tsr_f32_to_bf16((float)(i % 31 - 15));
    memset(x->exact, 0x55, sizeof x->exact);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            float value = 0;
            for (int block = 0; block < BLOCKS_K; block++) {
                int part = 0;
                for (int k = block * BLOCK; k < K && k < (block + 1) * BLOCK; k++)
                    part += a[i][k] * b[j][k];
                sum += part;
                value += (float)part * x->rows[block * M + i] *
                         x->columns[has_each_column(way) ? block * N + j : (j + FIRST_N) / BLOCK * BLOCKS_K + block];
            }
            if (!(way & HAS_BLOCKS))
                value = (float)sum;
            if (way & HAS_SCALES && !(way & HAS_BLOCKS))
                value = x->rows[i] * x->columns[j] * value;
            if (way & HAS_C)
                value += 2 * tsr_bf16_to_f32(x->c[i * pitch_of_d(way) + j]);
            if (way & HAS_BIAS)
                value += tsr_bf16_to_f32(x->bias[j]);
            if (way & HAS_RELU && value < 0)
                value = 0;
            x->exact[i * pitch_of_d(way) + j] = tsr_f32_to_bf16(value);
        }
}

static tsr_status run(kernel_tma *kernel, int index, void *memory, unsigned long long seed)
{
    const int way = way_of(index);
    matrices *const x = memory;
    const tsr_gemm_args args = args_of(way, x);
    const int is_used = (way & (HAS_SCALES | HAS_BLOCKS)) != 0;
    const tsr_scaling scaling = {.a = is_used ? x->rows : NULL,
                                 .b = is_used ? x->columns : NULL,
                                 .mode_a = way & HAS_BLOCKS   ? TSR_SCALING_1X128
                                           : way & HAS_SCALES ? TSR_SCALING_VECTOR
                                                              : TSR_SCALING_TENSOR,
                                 .mode_b = has_each_column(way) ? TSR_SCALING_1X128
                                           : way & HAS_BLOCKS   ? TSR_SCALING_128X128
                                           : way & HAS_SCALES   ? TSR_SCALING_VECTOR
                                                                : TSR_SCALING_TENSOR,
                                 .stride_a = M,
                                 .stride_b = has_each_column(way) ? N : BLOCKS_K,
                                 .first_n = way & HAS_BLOCKS && !has_each_column(way) ? FIRST_N : 0,
                                 .type_bias = TSR_BF16,
                                 .is_used = is_used};
    memset(x->d, 0x55, sizeof x->d);
    memset(x->workspace, 0xff, sizeof x->workspace);
    memset(x->workspace, 0, TSR_WORKSPACE_COUNTER_BYTES);
    const tsr_grid of_units = {UNITS * CLUSTER, 1, 1};
    const tsr_emu_job job = {.cluster = CLUSTER,
                             .grid = way & IN_PARTS ? of_units : tsr_config_grid(&config, &args, seed % 2 ? 2 : 8),
                             .threads_x = 128 + 128 * GROUPS,
                             .shared_bytes = STAGES * ((BM + BN) * 132 + 16) +
                                             4 * GROUPS * (BOXED ? 16 * (2 * SLABS * BN + 1) : 2560) + 56,
                             .workspace_bytes = sizeof x->workspace,
                             .seed = seed};
    return run_mutant(kernel, &config, &args, &scaling, job);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)

#endif
