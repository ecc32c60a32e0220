/* Kernel wgmma with cooperative groups in clusters of 2 x 2, whose tiles are no multiple of 64 columns wide, in the
 * emulator, bf16: right as it is, and caught in each of its mutants (emu/mutants.cmake), by a fault or a wrong result.
 */
#define MUTANT_KERNEL(name) unit_emu_wgmma_columns_mutant_##name
#include "tma_mutants.h"

/* Five tiles of D along M and three along N: clusters have tiles past both edges, and the last tiles few rows and
 * columns. More steps along K than stages, and a part of one. */
enum {
    M = 532,
    N = 272,
    K = 216,
    BM = 128,
    BN = 96,
    STAGES = 3,
    GAP = 8,
    PITCH = N + GAP,
    SEEDS = IS_SANITIZED ? 2 : 4
};

/* Whether C is added, and a bias: columns beyond whole boxes leave by threads then. */
enum { HAS_C = 1, HAS_BIAS = 2, WAYS = 4 };

typedef struct matrices {
    _Alignas(16) uint16_t a[M * K];
    _Alignas(16) uint16_t b[K * N];
    _Alignas(16) uint16_t c[M * PITCH];
    uint16_t bias[N];
    _Alignas(16) uint16_t d[M * PITCH];
    uint16_t exact[M * PITCH];
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 64,
                                  .cluster_m = 2,
                                  .cluster_n = 2,
                                  .persistent = 1,
                                  .tma = 1};

static int small(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)(*state >> 30) - 1;
}

/* Sums are small integers, so that D is exact but for its rounding. */
static void make(int way, void *memory)
{
    matrices *const m = memory;
    uint32_t state = 1;
    for (int i = 0; i < M * K; i++)
        m->a[i] = tsr_f32_to_bf16((float)small(&state));
    for (int i = 0; i < K * N; i++)
        m->b[i] = tsr_f32_to_bf16((float)small(&state));
    for (int i = 0; i < M * PITCH; i++)
        m->c[i] = tsr_f32_to_bf16((float)(i % 7));
    for (int j = 0; j < N; j++)
        m->bias[j] = tsr_f32_to_bf16((float)(j % 11 - 5));
    memset(m->d, 0x55, sizeof m->d);
    memset(m->exact, 0x55, sizeof m->exact);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += tsr_bf16_to_f32(m->a[i * K + k]) * tsr_bf16_to_f32(m->b[k * N + j]);
            if (way & HAS_C)
                sum += tsr_bf16_to_f32(m->c[i * PITCH + j]);
            if (way & HAS_BIAS)
                sum += tsr_bf16_to_f32(m->bias[j]);
            m->exact[i * PITCH + j] = tsr_f32_to_bf16(sum);
        }
}

static tsr_status run(kernel_tma *kernel, int way, void *memory, unsigned long long seed)
{
    matrices *const m = memory;
    const tsr_gemm_args args = {.a = m->a,
                                .b = m->b,
                                .c = m->c,
                                .d = m->d,
                                .m = M,
                                .n = N,
                                .k = K,
                                .lda = K,
                                .ldb = N,
                                .ldc = PITCH,
                                .ldd = PITCH,
                                .batch = 1,
                                .alpha = 1,
                                .beta = way & HAS_C ? 1 : 0,
                                .bias = m->bias,
                                .epilogue = way & HAS_BIAS ? TSR_EPILOGUE_BIAS : TSR_EPILOGUE_NONE,
                                .type_a = TSR_BF16,
                                .type_b = TSR_BF16,
                                .type_d = TSR_BF16,
                                .schedule = {.split_k = 1, .cluster_k = 1}};
    const int sms = seed % 2 ? 12 : 4; /* two clusters, or one that walks all tiles */
    memset(m->d, 0x55, sizeof m->d);
    const tsr_emu_job job = {.cluster = tsr_config_cluster(&config),
                             .grid = tsr_config_grid(&config, &args, sms),
                             .threads_x = 384,
                             .shared_bytes = STAGES * (BM * 128 + 2 * 8192) + 2 * 8192 + 16 * STAGES + 72,
                             .seed = seed};
    return run_mutant(kernel, &config, &args, NULL, job);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
