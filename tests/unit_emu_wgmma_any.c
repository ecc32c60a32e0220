/* Kernel wgmma with a D of 8 bits or of the other type of 16, in the emulator, bf16: right as it is, and caught in each
 * of its mutants (emu/mutants.cmake), by a fault or a wrong result. */

#include <math.h>

#define MUTANT_KERNEL(name) unit_emu_wgmma_any_mutant_##name
#define MUTANTS_SCALED
#include "tma_mutants.h"

/* Two tiles of D along M, a cluster's, the second of few rows, and two along N, the second of few columns; more steps
 * along K than stages, and a part of one. */
enum { M = 150, N = 200, K = 331, BM = 128, BN = 128, STAGES = 3, GAP = 5, SEEDS = IS_SANITIZED ? 2 : 4 };

/* What D is: bits. D_LIES_BADLY: its rows begin anywhere. HAS_MORE: C and a bias are added. */
enum { IS_E4M3 = 1, D_LIES_BADLY = 2, HAS_MORE = 4, WAYS = 8 };

typedef struct result {
    _Alignas(16) unsigned char d[M * (N + GAP) * 2];
    float amax;
} result;

typedef struct matrices {
    _Alignas(16) uint16_t a[M * (K + GAP)];
    _Alignas(16) uint16_t b[K * N];
    _Alignas(16) unsigned char c[M * (N + GAP) * 2];
    uint16_t bias[N];
    float scale_c, scale_d;
    result d, exact;
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 64,
                                  .cluster_m = 2,
                                  .cluster_n = 1,
                                  .persistent = 1,
                                  .scaled = 1,
                                  .tma = 1};

static tsr_dtype type_of_d(int way)
{
    return way & IS_E4M3 ? TSR_E4M3 : TSR_F16;
}

static int pitch_of_d(int way)
{
    return way & D_LIES_BADLY ? N + GAP : N;
}

static int small(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)(*state >> 30) - 1;
}

/* Sums are small integers, so that D is exact but for its rounding. What lies between the rows of A is NaN. */
static void make(int way, void *memory)
{
    matrices *const x = memory;
    static int a[M][K], b[K][N];
    const tsr_dtype type = type_of_d(way);
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0xff, sizeof *x);
    memset(&x->exact, 0x55, sizeof x->exact);
    x->scale_c = 0.5f;
    x->scale_d = 0.25f;
    x->exact.amax = 0;
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            x->a[i * (K + GAP) + k] = tsr_f32_to_bf16((float)(a[i][k] = small(&state)));
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            x->b[k * N + j] = tsr_f32_to_bf16((float)(b[k][j] = small(&state)));
    for (int j = 0; j < N; j++)
        x->bias[j] = way & IS_E4M3 ? tsr_f32_to_bf16((float)(j % 7)) : tsr_f32_to_f16((float)(j % 7));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            const int at = i * pitch_of_d(way) + j;
            const float old = (float)(2 * small(&state));
            float value = 0;
            tsr_store_element(type, x->c, at, old);
            for (int k = 0; k < K; k++)
                value += (float)(a[i][k] * b[k][j]);
            if (way & HAS_MORE)
                value += 2 * (way & IS_E4M3 ? 0.5f : 1) * old + (float)(j % 7);
            if (fabsf(value) > x->exact.amax)
                x->exact.amax = fabsf(value);
            if (way & IS_E4M3)
                tsr_store_saturated(type, x->exact.d, at, value * x->scale_d);
            else
                tsr_store_element(type, x->exact.d, at, value);
        }
    if (!(way & IS_E4M3))
        x->exact.amax = 0;
}

static tsr_status run(kernel_tma *kernel, int way, void *memory, unsigned long long seed)
{
    matrices *const x = memory;
    const int has_more = (way & HAS_MORE) != 0, is_scaled = way & IS_E4M3;
    const tsr_gemm_args args = {.a = x->a,
                                .b = x->b,
                                .c = has_more ? x->c : NULL,
                                .d = x->d.d,
                                .m = M,
                                .n = N,
                                .k = K,
                                .lda = K + GAP,
                                .ldb = N,
                                .ldc = pitch_of_d(way),
                                .ldd = pitch_of_d(way),
                                .batch = 1,
                                .alpha = 1,
                                .beta = has_more ? 2 : 0,
                                .bias = has_more ? x->bias : NULL,
                                .epilogue = has_more ? TSR_EPILOGUE_BIAS : TSR_EPILOGUE_NONE,
                                .type_a = TSR_BF16,
                                .type_b = TSR_BF16,
                                .type_d = (int)type_of_d(way),
                                .schedule = {.split_k = 1, .cluster_k = 1}};
    const tsr_scaling scaling = {.c = is_scaled && has_more ? &x->scale_c : NULL,
                                 .d = is_scaled ? &x->scale_d : NULL,
                                 .amax = is_scaled ? &x->d.amax : NULL,
                                 .type_bias = (int)(is_scaled ? TSR_BF16 : TSR_F16),
                                 .is_used = is_scaled};
    memset(&x->d, 0x55, sizeof x->d);
    x->d.amax = 0;
    const tsr_emu_job job = {.cluster = 2,
                             .grid = tsr_config_grid(&config, &args, seed % 2 ? 2 : 8),
                             .threads_x = 384,
                             .shared_bytes = STAGES * ((BM + BN) * 128 + 16) + 2 * 2 * 8192 + 72,
                             .seed = seed};
    return run_mutant(kernel, &config, &args, &scaling, job);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
