/* mma.sync in f64: a warp multiplies small matrices that lie in its registers. acc (M x 8) += A (M x K) * B (K x 8), by
 * M = 8 and K = 4 (sm_80 and later), or M = 16 and K = 4, 8 or 16 (sm_90 and later).
 *
 * With g = lane / 4 and t = lane % 4 a lane holds, in this order, i from 0 on:
 *
 *   M = 8:   acc[2]       (g, 2t) (g, 2t + 1)
 *            a            (g, t)
 *            b            (t, g)
 *   M = 16:  acc[4]       (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
 *            a[K / 2]     (g, t) (g + 8, t) | (g, t + 4) (g + 8, t + 4) | ...      a[i]: (g + i % 2 * 8, t + i / 2 * 4)
 *            b[K / 4]     (t, g) | (t + 4, g) | ...                                b[i]: (t + i * 4, g)
 *
 * These are the layouts of the PTX ISA, "Matrix fragments for mma". With M = 16 the upper and the lower half are those
 * of M = 8, and so is each 4 of K. Rounding is to nearest, ties to even (.rn, which PTX takes where none is said).
 *
 * The ISA leaves open in which order the products of an element are added. The twin adds them one after the other by
 * rising k, each by a fused multiply-add, and an H100 answers alike: docs/EMULATOR.md, "Tensor cores". */
#ifndef TSR_PTX_MMA_F64_H
#define TSR_PTX_MMA_F64_H

#include "ptx/language.h"

#if TSR_EMU
#include "ptx/emulator_f64.h"

/* A lane's registers, as they are given. */
typedef struct tsr_emu_mma_f64 {
    double a[8], b[4], *acc;
    int m, k;
} tsr_emu_mma_f64;

/* Notes what the lane's code has read: the note itself is no access of the kernel's. */
static __attribute__((no_sanitize("thread"), noinline, unused)) void
tsr_emu_mma_f64_note(tsr_emu_mma_f64 *own, double *acc, const double *a, const double *b, int m, int k)
{
    own->acc = acc;
    own->m = m;
    own->k = k;
    for (int i = 0; i < m * k / 32; i++)
        own->a[i] = a[i];
    for (int i = 0; i < k / 4; i++)
        own->b[i] = b[i];
}

TSR_EMU_TOGETHER const char *tsr_emu_mma_f64_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "mma.sync needs all 32 lanes";
    double a[16 * 16], b[16 * 8], sum[16 * 8];
    const int m = ((const tsr_emu_mma_f64 *)lanes[0])->m, k = ((const tsr_emu_mma_f64 *)lanes[0])->k, halves = m / 8;
    for (int lane = 0; lane < 32; lane++) {
        const tsr_emu_mma_f64 *own = (const tsr_emu_mma_f64 *)lanes[lane];
        const int g = lane / 4, t = lane % 4;
        if (own->m != m || own->k != k)
            return "the lanes of mma.sync must be at one instruction";
        for (int i = 0; i < k / 4 * halves; i++)
            a[(g + i % halves * 8) * k + t + i / halves * 4] = own->a[i];
        for (int i = 0; i < k / 4; i++)
            b[(t + i * 4) * 8 + g] = own->b[i];
        for (int i = 0; i < 2 * halves; i++)
            sum[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = own->acc[i];
    }
    tsr_emu_tensor_f64(sum, a, b, m, 8, k);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2 * halves; i++)
            ((const tsr_emu_mma_f64 *)lanes[lane])->acc[i] = sum[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2];
    return 0;
}

TSR_DEVICE void tsr_emu_mma_f64_any(double *acc, const double *a, const double *b, int m, int k)
{
    tsr_emu_mma_f64 own;
    tsr_emu_mma_f64_note(&own, acc, a, b, m, k);
    tsr_emu_tensor_flops((unsigned)(2 * m * 8 * k));
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_f64_lanes, &own);
}
#endif

/* mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 */
TSR_DEVICE void tsr_mma_f64_m8n8k4(double acc[2], double a, double b)
{
#if TSR_EMU
    tsr_emu_mma_f64_any(acc, &a, &b, 8, 4);
#else
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(acc[0]), "+d"(acc[1])
                 : "d"(a), "d"(b));
#endif
}

/* mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 (sm_90) */
TSR_DEVICE void tsr_mma_f64_m16n8k4(double acc[4], const double a[2], const double b[1])
{
#if TSR_EMU
    tsr_emu_mma_f64_any(acc, a, b, 16, 4);
#else
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(acc[0]), "+d"(acc[1]), "+d"(acc[2]), "+d"(acc[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#endif
}

/* mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 (sm_90) */
TSR_DEVICE void tsr_mma_f64_m16n8k8(double acc[4], const double a[4], const double b[2])
{
#if TSR_EMU
    tsr_emu_mma_f64_any(acc, a, b, 16, 8);
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(acc[0]), "+d"(acc[1]), "+d"(acc[2]), "+d"(acc[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#endif
}

/* mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 (sm_90) */
TSR_DEVICE void tsr_mma_f64_m16n8k16(double acc[4], const double a[8], const double b[4])
{
#if TSR_EMU
    tsr_emu_mma_f64_any(acc, a, b, 16, 16);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, "
                 "%11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(acc[0]), "+d"(acc[1]), "+d"(acc[2]), "+d"(acc[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
                   "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
}

#endif
