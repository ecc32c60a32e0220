/* wgmma: a warp group multiplies 64 x K of A by K x N of B and adds to 64 x N accumulators, asynchronously. K is 16 for
 * 16-bit elements. Before the header a kernel defines TSR_WGMMA_N (8 to 256 in steps of 8) and TSR_WGMMA_TYPES, such as
 * "f32.bf16.bf16" (types of D, A, B). sm_90a.
 *
 * Accumulators: d[N / 2] of a thread. With w the warp's place in its group and l the lane, d[4 * j + 2 * h + i] is
 * element (16 * w + l / 4 + 8 * h, 8 * j + 2 * (l % 4) + i) for j < N / 8, h < 2, i < 2.
 *
 * Order: fence, products, commit, wait. Between the first product and the wait the accumulators must not be touched;
 * tsr_wgmma_hold keeps the compiler from moving such accesses. */
#ifndef TSR_PTX_WGMMA_H
#define TSR_PTX_WGMMA_H

#include "ptx/language.h"
#include "ptx/wgmma_shapes.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

enum { TSR_WGMMA_REGISTERS = TSR_WGMMA_N / 2 };

/* How an operand lies in shared memory (PTX ISA, "Matrix descriptor"), here always with the 128-byte swizzle and
 * `address` a multiple of 1024 plus the step along K.
 *   K-major: rows of 128 bytes along K, row after row along M or N; a step of 16 elements along K is 32 bytes.
 *   MN-major: rows of 128 bytes along M or N (64 elements), row after row along K; the next 64 elements along M or N
 *     are `slab_bytes` on. A step of 16 elements along K is 2048 bytes. */
TSR_DEVICE unsigned long long tsr_wgmma_descriptor(unsigned address, unsigned slab_bytes)
{
    const unsigned long long swizzle_128 = 1ull << 62, eight_rows = (unsigned long long)(1024 / 16) << 32;
    return swizzle_128 | eight_rows | (unsigned long long)(slab_bytes / 16) << 16 | (address & 0x3ffff) / 16;
}

/* wgmma.fence: before the first product, and whenever this thread has written accumulators since. */
TSR_DEVICE void tsr_wgmma_fence(void)
{
#if TSR_EMU
    tsr_emu_wgmma_fence();
#else
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/* wgmma.mma_async: d = A * B, plus d if `accumulate`. a and b are descriptors; mn_major_a and mn_major_b are constants
 * that say how they lie. */
TSR_DEVICE void tsr_wgmma(float d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b, int accumulate,
                          int mn_major_a, int mn_major_b)
{
#if TSR_EMU
    tsr_emu_wgmma(d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, mn_major_a, mn_major_b);
#else
#define TSR_WGMMA_ASM(major_a, major_b)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P2 ", 0;\n"                                \
                 "wgmma.mma_async.sync.aligned." TSR_WGMMA_SHAPE "16." TSR_WGMMA_TYPES " " TSR_WGMMA_LIST \
                 ", " TSR_WGMMA_P0 ", " TSR_WGMMA_P1 ", p, 1, 1, " major_a ", " major_b ";\n}"            \
                 : TSR_WGMMA_OPERANDS(d)                                                                  \
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

/* wgmma.commit_group: closes the group of products so far. */
TSR_DEVICE void tsr_wgmma_commit(void)
{
#if TSR_EMU
    tsr_emu_wgmma_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* wgmma.wait_group: until all but the newest `pending` groups (a literal) are done with accumulators and shared memory.
 */
#if TSR_EMU
#define tsr_wgmma_wait(pending) tsr_emu_wgmma_wait(pending)
#else
#define tsr_wgmma_wait(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")
#endif

/* No instruction: the compiler must have the accumulators in their registers here, not before and not later. */
TSR_DEVICE void tsr_wgmma_hold(float d[TSR_WGMMA_REGISTERS])
{
#if TSR_EMU
    (void)d;
#else
    asm volatile("" : TSR_WGMMA_OPERANDS(d)::"memory");
#endif
}

#endif
