/* Kernel wgmma_skinny with 8-bit floats in the emulator, to bf16, K cut over a cluster: right as it is, with scales of
 * rows and columns or of blocks, and caught in each of its mutants (emu/mutants.cmake). */

#define MUTANT_KERNEL(name) unit_emu_skinny_eight_mutant_##name
enum { RING_BYTES = 49152 };
#include "emu_skinny_eight.h"

enum { BLOCK = 128, BLOCKS_K = (K + BLOCK - 1) / BLOCK, BLOCKS_N = (N + BLOCK - 1) / BLOCK, BETA = 3 };

/* What the kernel has to do: bits. D_LIES_BADLY: its rows do not begin at multiples of 8 bytes. ACROSS: tiles' columns
 * lie along N, the longer side. WHOLE: K is not cut, so that a thread has more lines. */
enum {
    HAS_SCALES = 1,
    HAS_BLOCKS = 2,
    HAS_BIAS = 4,
    D_LIES_BADLY = 8,
    ACROSS = 16,
    A_IS_E5M2 = 32,
    HAS_C = 64,
    WHOLE = 128
};

static const int ways[] = {0,
                           HAS_SCALES | HAS_BIAS,
                           HAS_SCALES | HAS_BIAS | D_LIES_BADLY,
                           ACROSS,
                           ACROSS | HAS_SCALES | HAS_BIAS,
                           A_IS_E5M2,
                           HAS_BLOCKS,
                           HAS_BLOCKS | ACROSS,
                           HAS_C,
                           HAS_C | ACROSS | HAS_SCALES | HAS_BIAS,
                           HAS_C | D_LIES_BADLY,
                           WHOLE | HAS_C | HAS_SCALES,
                           A_IS_E5M2 | ACROSS | D_LIES_BADLY};
enum { WAYS = sizeof ways / sizeof ways[0] };

typedef struct matrices {
    unsigned char a[M * PITCH], b[N * PITCH];
    uint16_t c[M * (N + 1) + 2], d[M * (N + 1)], exact[M * (N + 1)], bias[N]; /* d at a multiple of 16 bytes */
    float rows[M * BLOCKS_K], columns[N * BLOCKS_K];
} matrices;

static int pitch_of_d(int bits)
{
    return bits & D_LIES_BADLY ? N + 1 : N;
}

/* -3 to 4, and its code. */
static int small(uint32_t *state, int is_e5m2, unsigned char *code)
{
    static const unsigned char codes[2][8] = {{0xc4, 0xc0, 0xb8, 0x00, 0x38, 0x40, 0x44, 0x48},
                                              {0xc2, 0xc0, 0xbc, 0x00, 0x3c, 0x40, 0x42, 0x44}};
    *state = *state * 1664525u + 1013904223u;
    *code = codes[is_e5m2][*state >> 29];
    return (int)(*state >> 29) - 3;
}

/* Of row i of A and column j of B in block k of K. */
static float scale_of(const matrices *x, int bits, int i, int j, int k)
{
    return bits & HAS_SCALES   ? x->rows[i] * x->columns[j]
           : bits & HAS_BLOCKS ? x->rows[k * M + i] * x->columns[j / BLOCK * BLOCKS_K + k]
                               : 1;
}

/* Sums are integers, and scales powers of two, so that D is exact but for its rounding. */
static void make(int way, void *memory)
{
    matrices *const x = memory;
    static signed char a[M][K], b[N][K];
    const int bits = ways[way];
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0, sizeof *x);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            a[i][k] = (signed char)small(&state, (bits & A_IS_E5M2) != 0, &x->a[i * PITCH + k]);
    for (int j = 0; j < N; j++) {
        x->bias[j] = tsr_f32_to_bf16((float)(j % 11 * -5));
        for (int k = 0; k < K; k++)
            b[j][k] = (signed char)small(&state, 0, &x->b[j * PITCH + k]);
    }
    for (int i = 0; i < M * BLOCKS_K; i++)
        x->rows[i] = i % 3 == 0 ? -2.0f : i % 3 == 1 ? 0.5f : 1.0f;
    for (int j = 0; j < N * BLOCKS_K; j++)
        x->columns[j] = j % 5 == 0 ? 4.0f : j % 5 == 1 ? 0.25f : 1.0f;
    for (int i = 0; i < M * (N + 1); i++)
        x->c[i] = tsr_f32_to_bf16((float)(i % 13 * 7 - 40));
    memset(x->exact, 0x55, sizeof x->exact);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float value = 0;
            for (int k = 0; k < K; k++)
                value += scale_of(x, bits, i, j, k / BLOCK) * (float)(a[i][k] * b[j][k]);
            if (bits & HAS_C)
                value += (float)BETA * tsr_bf16_to_f32(x->c[i * pitch_of_d(bits) + j]);
            if (bits & HAS_BIAS)
                value += tsr_bf16_to_f32(x->bias[j]);
            x->exact[i * pitch_of_d(bits) + j] = tsr_f32_to_bf16(value);
        }
}

static tsr_scaling scaling_of(const matrices *x, int bits)
{
    const int has = bits & (HAS_SCALES | HAS_BLOCKS);
    return (tsr_scaling){.a = has ? x->rows : NULL,
                         .b = has ? x->columns : NULL,
                         .stride_a = M,
                         .stride_b = BLOCKS_K,
                         .mode_a = bits & HAS_SCALES   ? TSR_SCALING_VECTOR
                                   : bits & HAS_BLOCKS ? TSR_SCALING_1X128
                                                       : TSR_SCALING_TENSOR,
                         .mode_b = bits & HAS_SCALES   ? TSR_SCALING_VECTOR
                                   : bits & HAS_BLOCKS ? TSR_SCALING_128X128
                                                       : TSR_SCALING_TENSOR,
                         .type_bias = TSR_BF16,
                         .is_used = has};
}

static tsr_status run(kernel_tma *kernel, int way, void *memory, unsigned long long seed)
{
    matrices *const x = memory;
    const int bits = ways[way];
    tsr_gemm_args args = skinny_args(x->a, x->b, x->d, pitch_of_d(bits), bits & WHOLE ? 1 : PARTS, !(bits & ACROSS));
    args.c = bits & HAS_C ? x->c : NULL;
    args.beta = bits & HAS_C ? BETA : 0;
    args.bias = bits & HAS_BIAS ? x->bias : NULL;
    args.epilogue = bits & HAS_BIAS ? TSR_EPILOGUE_BIAS : TSR_EPILOGUE_NONE;
    args.type_a = bits & A_IS_E5M2 ? TSR_E5M2 : TSR_E4M3;
    args.type_b = TSR_E4M3;
    args.type_d = TSR_BF16;
    args.block_scales = (bits & HAS_BLOCKS) != 0;
    const tsr_scaling scaling = scaling_of(x, bits);
    memset(x->d, 0x55, sizeof x->d);
    return run_skinny(kernel, &args, &scaling, seed);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
