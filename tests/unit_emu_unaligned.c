/* Kernel wgmma with rows of A that begin anywhere, in the emulator, bf16: right as it is, A stored along K and along M,
 * and caught in each of its mutants (emu/mutants.cmake), by a fault or a wrong result. */

#define MUTANT_KERNEL(name) unit_emu_unaligned_mutant_##name
#include "tma_mutants.h"

/* Two tiles of D along M, the second of a line that is not whole, and two along N; more steps along K than stages, the
 * last of which ends within a line, too. A begins one element past a multiple of 16 bytes. */
enum { M = 133, N = 72, K = 331, BM = 128, BN = 64, STAGES = 3, GAP = 2, FIRST = 1, SEEDS = IS_SANITIZED ? 2 : 4 };

enum { ALONG_K, ALONG_M, WAYS }; /* how A is stored */

typedef struct matrices {
    _Alignas(16) uint16_t a[FIRST + (M + GAP) * (K + GAP)];
    _Alignas(16) uint16_t b[K * N];
    _Alignas(16) uint16_t d[M * N];
    uint16_t exact[M * N];
    int along_m;
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 64,
                                  .cluster_m = 1,
                                  .cluster_n = 1,
                                  .persistent = 1,
                                  .unaligned_a = 1,
                                  .tma = 1};

static int pitch_of_a(int along_m)
{
    return (along_m ? M : K) + GAP;
}

/* What lies between the rows of A is NaN, and sums are small integers, so that D is exact but for its rounding. */
static void make(int way, void *memory)
{
    matrices *const x = memory;
    static float a[M][K], b[K][N];
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0xff, sizeof *x);
    x->along_m = way == ALONG_M;
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) {
            a[i][k] = (float)((state = state * 1664525u + 1013904223u) >> 29) - 3.0f;
            x->a[FIRST + (x->along_m ? k * pitch_of_a(1) + i : i * pitch_of_a(0) + k)] = tsr_f32_to_bf16(a[i][k]);
        }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) {
            b[k][j] = (float)((state = state * 1664525u + 1013904223u) >> 30) - 1.0f;
            x->b[k * N + j] = tsr_f32_to_bf16(b[k][j]);
        }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i][k] * b[k][j];
            x->exact[i * N + j] = tsr_f32_to_bf16(sum);
        }
}

static tsr_status run(kernel_tma *kernel, int way, void *memory, unsigned long long seed)
{
    matrices *const x = memory;
    const tsr_gemm_args args = {.a = x->a + FIRST,
                                .b = x->b,
                                .d = x->d,
                                .m = M,
                                .n = N,
                                .k = K,
                                .lda = pitch_of_a(x->along_m),
                                .ldb = N,
                                .ldd = N,
                                .batch = 1,
                                .alpha = 1,
                                .trans_a = way == ALONG_M,
                                .type_a = TSR_BF16,
                                .type_b = TSR_BF16,
                                .type_d = TSR_BF16,
                                .schedule = {.split_k = 1, .cluster_k = 1}};
    memset(x->d, 0x55, sizeof x->d);
    const tsr_emu_job job = {.cluster = 1,
                             .grid = tsr_config_grid(&config, &args, seed % 2 ? 1 : 4),
                             .threads_x = 384,
                             .shared_bytes = STAGES * ((BM + BN) * 128 + 18 * 1024 + 32) + 2 * 8192 + 72,
                             .seed = seed};
    return run_mutant(kernel, &config, &args, NULL, job);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
