/* Kernel wgmma_skinny with 8-bit integers in the emulator, to s32: right as it is, with zero points of rows and columns
 * and without, and caught in each of its mutants (emu/mutants.cmake). */

#define MUTANT_KERNEL(name) unit_emu_skinny_zeros_mutant_##name
enum { RING_BYTES = 73728 }; /* zero points take one of the stages */
#include "emu_skinny_eight.h"

/* What the kernel has to do: bits. ACROSS: tiles' columns lie along N, the longer side. WHOLE: K is not cut. D is s32
 * and its rows begin at odd multiples of 4 bytes with D_LIES_BADLY. ONE_FOR_ALL: a zero point for the whole operand. */
enum {
    ZERO_A = 1,
    ZERO_B = 2,
    ACROSS = 4,
    WHOLE = 8,
    A_IS_U8 = 16,
    B_IS_U8 = 32,
    D_LIES_BADLY = 64,
    ONE_FOR_ALL = 128
};

static const int ways[] = {0,
                           ZERO_A | ZERO_B,
                           ZERO_A | ZERO_B | ACROSS,
                           ZERO_A | A_IS_U8 | WHOLE,
                           ZERO_B | B_IS_U8 | ACROSS,
                           ZERO_A | ZERO_B | A_IS_U8 | D_LIES_BADLY,
                           ZERO_A | ZERO_B | ONE_FOR_ALL | WHOLE,
                           D_LIES_BADLY | ACROSS};
enum { WAYS = sizeof ways / sizeof ways[0] };

typedef struct matrices {
    unsigned char a[M * PITCH], b[N * PITCH], zero_a[M], zero_b[N];
    int d[M * (N + 1)], exact[M * (N + 1)];
} matrices;

static int pitch_of_d(int bits)
{
    return bits & D_LIES_BADLY ? N + 1 : N;
}

static int value_of(unsigned char code, int is_u8)
{
    return is_u8 ? code : (signed char)code;
}

/* Codes of all bits, so that s8 and u8 differ. */
static unsigned char any_code(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (unsigned char)(*state >> 24);
}

static void make(int way, void *memory)
{
    matrices *const x = memory;
    const int bits = ways[way], a_is_u8 = (bits & A_IS_U8) != 0, b_is_u8 = (bits & B_IS_U8) != 0;
    uint32_t state = (uint32_t)way + 1;
    memset(x, 0, sizeof *x);
    for (int i = 0; i < M; i++) {
        x->zero_a[i] = any_code(&state);
        for (int k = 0; k < K; k++)
            x->a[i * PITCH + k] = any_code(&state);
    }
    for (int j = 0; j < N; j++) {
        x->zero_b[j] = any_code(&state);
        for (int k = 0; k < K; k++)
            x->b[j * PITCH + k] = any_code(&state);
    }
    memset(x->exact, 0x55, sizeof x->exact);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            const int of_a = bits & ZERO_A ? value_of(x->zero_a[bits & ONE_FOR_ALL ? 0 : i], a_is_u8) : 0;
            const int of_b = bits & ZERO_B ? value_of(x->zero_b[bits & ONE_FOR_ALL ? 0 : j], b_is_u8) : 0;
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum +=
                    (value_of(x->a[i * PITCH + k], a_is_u8) - of_a) * (value_of(x->b[j * PITCH + k], b_is_u8) - of_b);
            x->exact[i * pitch_of_d(bits) + j] = sum;
        }
}

static tsr_status run(kernel_tma *kernel, int way, void *memory, unsigned long long seed)
{
    matrices *const x = memory;
    const int bits = ways[way], mode = bits & ONE_FOR_ALL ? TSR_SCALING_TENSOR : TSR_SCALING_VECTOR;
    tsr_gemm_args args = skinny_args(x->a, x->b, x->d, pitch_of_d(bits), bits & WHOLE ? 1 : PARTS, !(bits & ACROSS));
    args.type_a = bits & A_IS_U8 ? TSR_U8 : TSR_S8;
    args.type_b = bits & B_IS_U8 ? TSR_U8 : TSR_S8;
    args.type_d = TSR_S32;
    const tsr_scaling scaling = {.zero_a = bits & ZERO_A ? x->zero_a : NULL,
                                 .zero_b = bits & ZERO_B ? x->zero_b : NULL,
                                 .mode_a = mode,
                                 .mode_b = mode};
    memset(x->d, 0x55, sizeof x->d);
    return run_skinny(kernel, &args, &scaling, seed);
}

MUTANT_TEST(WAYS, SEEDS, matrices, make, run)
