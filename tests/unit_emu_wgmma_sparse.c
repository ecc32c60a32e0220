/* Kernel wgmma-sparse24 in the emulator: right as it is, with A and with B compressed, and caught in each of its
 * mutants (emu/mutants.cmake), by a fault or a wrong result. */
#include "core/sparse24.h"

#define MUTANT_KERNEL(name) unit_emu_wgmma_sparse_mutant_##name
#include "tma_mutants.h"

/* Tiles of two CTAs along the lines, the last of which has no line; two tiles of the other operand; more steps along K
 * than stages, and a part of a step. */
enum {
    LINES = 300,
    ROWS = 70,
    K = 328,
    BM = 128,
    BN = 64,
    STAGES = 3,
    PITCH = 336,
    SEEDS = IS_SANITIZED ? 2 : 4,
    WAYS = 8
};
enum { STAGE_BYTES = BM * 64 + BN * 128 + BM * 8, MOST = 512 * 400 };

typedef struct matrices {
    uint16_t sparse[LINES * K], other[ROWS * PITCH + K * 72]; /* lines along K; either way */
    uint16_t values[MOST], form[2 * MOST];
    unsigned char metadata[MOST];
    float d[(LINES + 1) * (ROWS + 1)], exact[(LINES + 1) * (ROWS + 1)], bias[LINES];
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .op = {.operands = TSR_TAKES_SPARSE24},
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 64,
                                  .cluster_m = 2,
                                  .cluster_n = 1,
                                  .persistent = 1,
                                  .tma = 1};

/* How the matrices lie: bit 0: B is compressed; bit 1: the other operand lies along K; bit 2: D's rows begin at odd
 * multiples of 4 bytes, too. */
static int pitch_of_d(int way)
{
    return (way & 1 ? LINES : ROWS) + (way >> 2);
}

static tsr_gemm_args args_of(int way, matrices *x)
{
    const int swap_ab = way & 1, along_k = way >> 1 & 1;
    return (tsr_gemm_args){.a = swap_ab ? (void *)x->other : (void *)x->form,
                           .b = swap_ab ? (void *)x->form : (void *)x->other,
                           .d = x->d,
                           .m = swap_ab ? ROWS : LINES,
                           .n = swap_ab ? LINES : ROWS,
                           .k = K,
                           .lda = along_k ? PITCH : 72,
                           .ldb = along_k ? PITCH : 72,
                           .ldd = pitch_of_d(way),
                           .batch = 1,
                           .alpha = 1,
                           .bias = x->bias,
                           .epilogue = TSR_EPILOGUE_BIAS_RELU,
                           .trans_a = swap_ab && !along_k,
                           .trans_b = !swap_ab && along_k,
                           .type_a = TSR_BF16,
                           .type_b = TSR_BF16,
                           .type_d = TSR_F32,
                           .schedule = {.split_k = 1, .cluster_k = 1, .swap_ab = swap_ab}};
}

static float small(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 29) - 3.0f;
}

static void make(int way, void *memory)
{
    matrices *const x = memory;
    const int swap_ab = way & 1, along_k = way >> 1 & 1, pitch = pitch_of_d(way);
    const tsr_lines24 o = {.dtype = TSR_BF16, .lines = LINES, .k = K, .line_step = K, .k_step = 1, .matrices = 1};
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0, sizeof *x);
    for (int i = 0; i < LINES * K; i++)
        x->sparse[i] = tsr_f32_to_bf16(small(&state));
    tsr_drop24(&o, x->sparse, NULL);
    tsr_squeeze24(&o, x->sparse, x->values, x->metadata);
    assert_in_range(tsr_device24_bytes(&o), 1, sizeof x->form);
    tsr_device24(&o, x->values, x->metadata, x->form);
    for (int j = 0; j < LINES; j++)
        x->bias[j] = (float)(j % 11 * -5);
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < K; k++)
            x->other[along_k ? row * PITCH + k : k * 72 + row] = tsr_f32_to_bf16(small(&state));
    memset(x->exact, 0x55, sizeof x->exact);
    for (int line = 0; line < LINES; line++)
        for (int row = 0; row < ROWS; row++) {
            float sum = x->bias[swap_ab ? line : row];
            for (int k = 0; k < K; k++)
                sum += tsr_bf16_to_f32(x->sparse[line * K + k]) *
                       tsr_bf16_to_f32(x->other[along_k ? row * PITCH + k : k * 72 + row]);
            x->exact[swap_ab ? row * pitch + line : line * pitch + row] = sum < 0 ? 0 : sum;
        }
}

static tsr_status run(kernel_tma *kernel, int way, void *memory, unsigned long long seed)
{
    matrices *const x = memory;
    const tsr_gemm_args args = args_of(way, x);
    const long long form_bytes = tsr_form24_of(TSR_BF16, LINES, K).bytes;
    memset(x->d, 0x55, sizeof x->d);
    const tsr_emu_job job = {.cluster = 2,
                             .a_bytes = way & 1 ? 0 : form_bytes,
                             .b_bytes = way & 1 ? form_bytes : 0,
                             .grid = tsr_config_grid(&config, &args, seed % 2 ? 2 : 8),
                             .threads_x = 384,
                             .shared_bytes = STAGES * (STAGE_BYTES + 16) + BM / 16 * 2560,
                             .seed = seed};
    return run_mutant(kernel, &config, &args, NULL, job);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
