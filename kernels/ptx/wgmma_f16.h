/* wgmma with accumulators of f16. The kernel defines TSR_WGMMA_N, TSR_WGMMA_TYPES and TSR_WGMMA_ELEMENT_BYTES as for
 * ptx/wgmma_forms.h:
 *
 *   "f16.f16.f16"                              K = 16   tsr_wgmma_half, tsr_wgmma_half_register_a
 *   "f16.A.B", A and B each e4m3 or e5m2       K = 32   tsr_wgmma_half_k_major, tsr_wgmma_half_register_a_k_major
 *
 * Accumulators: d[N / 4] of a thread, two f16 to a register, the first in the lower half. With w the warp's place in
 * its group and l the lane, half i of d[2 * j + h] is element (16 * w + l / 4 + 8 * h, 8 * j + 2 * (l % 4) + i).
 * Operands, order and rules are those of ptx/wgmma.h. The exact sum of one instruction is rounded to nearest:
 * docs/EMULATOR.md, "Tensor cores". PTX ISA, "wgmma.mma_async". sm_90a. */
#ifndef TSR_PTX_WGMMA_F16_H
#define TSR_PTX_WGMMA_F16_H

#include "ptx/wgmma_forms.h"

enum { TSR_WGMMA_HALF_REGISTERS = TSR_WGMMA_N / 4 };

/* d = A * B, plus d if `accumulate`; f16 operands, constants say which of them are MN-major. */
TSR_DEVICE void tsr_wgmma_half(unsigned d[TSR_WGMMA_HALF_REGISTERS], unsigned long long a, unsigned long long b,
                               int accumulate, int mn_major_a, int mn_major_b)
{
#if TSR_EMU
    tsr_emu_wgmma((float *)d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, mn_major_a, mn_major_b);
#else
#define TSR_WGMMA_ASM(major_a, major_b)                                                                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_HALF_P2 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_HALF_LIST \
                 ", " TSR_WGMMA_HALF_P0 ", " TSR_WGMMA_HALF_P1 ", p, 1, 1, " major_a ", "                              \
                 "" major_b ";\n}"                                                                                     \
                 : TSR_WGMMA_HALF_OPERANDS(d)                                                                          \
                 : "l"(a), "l"(b), "r"(accumulate))
    if (mn_major_a && mn_major_b)
        TSR_WGMMA_ASM("1", "1");
    else if (mn_major_a)
        TSR_WGMMA_ASM("1", "0");
    else if (mn_major_b)
        TSR_WGMMA_ASM("0", "1");
    else
        TSR_WGMMA_ASM("0", "0");
#undef TSR_WGMMA_ASM
#endif
}

/* The same for 8-bit floats, which are K-major. */
TSR_DEVICE void tsr_wgmma_half_k_major(unsigned d[TSR_WGMMA_HALF_REGISTERS], unsigned long long a, unsigned long long b,
                                       int accumulate)
{
#if TSR_EMU
    tsr_emu_wgmma((float *)d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, 0, 0);
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_HALF_P2 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_HALF_LIST
                 ", " TSR_WGMMA_HALF_P0 ", " TSR_WGMMA_HALF_P1 ", p, 1, 1;\n}"
                 : TSR_WGMMA_HALF_OPERANDS(d)
                 : "l"(a), "l"(b), "r"(accumulate));
#endif
}

/* f16, A from registers as in ptx/wgmma_forms.h; mn_major_b is a constant. */
TSR_DEVICE void tsr_wgmma_half_register_a(unsigned d[TSR_WGMMA_HALF_REGISTERS], const unsigned a[4],
                                          unsigned long long b, int accumulate, int mn_major_b)
{
#if TSR_EMU
    tsr_emu_wgmma_register_a((float *)d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, mn_major_b);
#else
#define TSR_WGMMA_ASM(major_b)                                                                                         \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_HALF_P5 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_HALF_LIST \
                 ", {" TSR_WGMMA_HALF_P0 ", " TSR_WGMMA_HALF_P1 ", " TSR_WGMMA_HALF_P2 ", " TSR_WGMMA_HALF_P3          \
                 "}, " TSR_WGMMA_HALF_P4 ", p, 1, 1, " major_b ";\n}"                                                  \
                 : TSR_WGMMA_HALF_OPERANDS(d)                                                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))
    if (mn_major_b)
        TSR_WGMMA_ASM("1");
    else
        TSR_WGMMA_ASM("0");
#undef TSR_WGMMA_ASM
#endif
}

/* 8-bit floats, A from registers. */
TSR_DEVICE void tsr_wgmma_half_register_a_k_major(unsigned d[TSR_WGMMA_HALF_REGISTERS], const unsigned a[4],
                                                  unsigned long long b, int accumulate)
{
#if TSR_EMU
    tsr_emu_wgmma_register_a((float *)d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, 0);
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_HALF_P5 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_HALF_LIST
                 ", {" TSR_WGMMA_HALF_P0 ", " TSR_WGMMA_HALF_P1 ", " TSR_WGMMA_HALF_P2 ", " TSR_WGMMA_HALF_P3
                 "}, " TSR_WGMMA_HALF_P4 ", p, 1, 1;\n}"
                 : TSR_WGMMA_HALF_OPERANDS(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
#endif
}

#endif
