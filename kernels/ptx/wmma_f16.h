/* wmma with accumulators of f16 (sm_70 and later): acc += A * B, all of them 16 x 16 and f16; and accumulators of
 * either type from shared memory. As in ptx/wmma.h, which lane holds which element is the hardware's secret. PTX ISA,
 * "Warp-level matrix load instruction: wmma.load" and its neighbours. */
#ifndef TSR_PTX_WMMA_F16_H
#define TSR_PTX_WMMA_F16_H

#include "ptx/wmma.h"

/* Two elements to a register. */
typedef struct tsr_wmma_f16_acc {
    unsigned registers[4];
} tsr_wmma_f16_acc;

/* wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 */
TSR_DEVICE void tsr_wmma_load_acc_f16(tsr_wmma_f16_acc *acc, const unsigned short *from_shared, unsigned stride)
{
    unsigned *r = acc->registers;
#if TSR_EMU
    tsr_emu_require_shared(from_shared, 32);
    tsr_emu_wmma_load(r, from_shared, stride, 0);
#else
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(tsr_shared_address(from_shared)), "r"(stride)
                 : "memory");
#endif
}

/* wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 */
TSR_DEVICE void tsr_wmma_load_acc(tsr_wmma_acc *acc, const float *from_shared, unsigned stride)
{
    float *r = acc->elements;
#if TSR_EMU
    const unsigned lane = (threadIdx.x + threadIdx.y * blockDim.x) % 32;
    tsr_emu_require_shared(from_shared, 64);
    tsr_emu_wmma_check(from_shared, stride, 4);
    /* To be counted as four loads of 8 bytes, with the layout of mma's accumulators. */
    for (unsigned i = 0; i < 4; i++)
        tsr_emu_matrix_access(from_shared + (lane / 4 + i % 2 * 8) * stride + lane % 4 * 2 + i / 2 * 8, 8, 0);
    tsr_emu_matrix_pause(1);
    for (int i = 0; i < 8; i++)
        r[i] = from_shared[tsr_emu_wmma_index(i, stride, 0)];
    tsr_emu_matrix_pause(0);
#else
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]), "=f"(r[4]), "=f"(r[5]), "=f"(r[6]), "=f"(r[7])
                 : "r"(tsr_shared_address(from_shared)), "r"(stride)
                 : "memory");
#endif
}

/* wmma.mma.sync.aligned.ALAYOUT.BLAYOUT.m16n16k16.f16.f16, with the layouts that a and b were loaded with. */
TSR_DEVICE void tsr_wmma_multiply_f16_f16(tsr_wmma_f16_acc *acc, const tsr_wmma_f16 *a, const tsr_wmma_f16 *b,
                                          int a_is_col, int b_is_col)
{
    unsigned *d = acc->registers;
#if TSR_EMU
    if (a->is_col != a_is_col || b->is_col != b_is_col)
        tsr_emu_misuse("wmma: multiplied with another layout than it was loaded with");
    float sum[8];
    const unsigned *x = a->registers, *y = b->registers;
    tsr_emu_wmma_operands own;
    tsr_emu_wmma_note(&own, x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], sum, TSR_EMU_F16, 1);
    for (int i = 0; i < 8; i++)
        sum[i] = tsr_widen_f16((unsigned short)(d[i / 2] >> i % 2 * 16));
    tsr_emu_tensor_flops(2 * 16 * 16 * 16);
    tsr_emu_warp(0xffffffffu, tsr_emu_wmma_lanes, &own);
    for (int i = 0; i < 4; i++)
        d[i] = tsr_narrow_f16(sum[2 * i]) | (unsigned)tsr_narrow_f16(sum[2 * i + 1]) << 16;
#else
    const unsigned *x = a->registers, *y = b->registers;
#define TSR_WMMA_F16_F16(layouts)                                                                                     \
    asm volatile("wmma.mma.sync.aligned." layouts ".m16n16k16.f16.f16 {%0, %1, %2, %3}, "                             \
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19}, {%0, %1, %2, %3};"    \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                     \
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]), \
                   "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]))
    if (a_is_col && b_is_col)
        TSR_WMMA_F16_F16("col.col");
    else if (a_is_col)
        TSR_WMMA_F16_F16("col.row");
    else if (b_is_col)
        TSR_WMMA_F16_F16("row.col");
    else
        TSR_WMMA_F16_F16("row.row");
#undef TSR_WMMA_F16_F16
#endif
}

/* wmma.store.d.sync.aligned.row.m16n16k16.shared.f16; a barrier (of the warp at least) before others read it. */
TSR_DEVICE void tsr_wmma_store_shared_f16(unsigned short *to_shared, const tsr_wmma_f16_acc *acc, unsigned stride)
{
    const unsigned *d = acc->registers;
#if TSR_EMU
    tsr_emu_require_shared(to_shared, 32);
    const unsigned lane = (threadIdx.x + threadIdx.y * blockDim.x) % 32;
    tsr_emu_wmma_check(to_shared, stride, 2);
    /* To be counted as four stores of 4 bytes, with the layout of mma's accumulators. */
    for (unsigned i = 0; i < 4; i++)
        tsr_emu_matrix_access(to_shared + (lane / 4 + i % 2 * 8) * stride + lane % 4 * 2 + i / 2 * 8, 4, 1);
    tsr_emu_matrix_pause(1);
    for (int i = 0; i < 8; i++)
        to_shared[tsr_emu_wmma_index(i, stride, 0)] = (unsigned short)(d[i / 2] >> i % 2 * 16);
    tsr_emu_matrix_pause(0);
#else
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%0], {%1, %2, %3, %4}, %5;" ::"r"(
                     tsr_shared_address(to_shared)),
                 "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]), "r"(stride)
                 : "memory");
#endif
}

#endif
