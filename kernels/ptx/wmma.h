/* wmma (sm_70 and later; bf16 from sm_80): a warp multiplies 16 x 16 matrices that are loaded, multiplied and stored as
 * wholes. acc += A * B, A and B 16-bit, acc f32.
 *
 * Which lane holds which element is the hardware's secret: fragments may only be handed from one of these functions to
 * another, but equal operations on every element of acc are fine. The twin deals elements out like cards, to lanes in
 * an order that is found on no GPU; a kernel that relies on a layout fails here.
 *
 * Addresses are multiples of 32 bytes and the same in all lanes; `stride`, the elements from row to row (from column to
 * column with is_col), is a multiple of 16 bytes. is_col says that a matrix is stored by columns; it must be a
 * constant. */
#ifndef TSR_PTX_WMMA_H
#define TSR_PTX_WMMA_H

#include "ptx/convert.h"
#include "ptx/language.h"

/* Registers of a lane. The f16 form has each element twice on the hardware, in an order that is its own. */
typedef struct tsr_wmma_bf16 {
    unsigned registers[4];
#if TSR_EMU
    int is_col; /* as it was loaded */
#endif
} tsr_wmma_bf16;
typedef struct tsr_wmma_f16 {
    unsigned registers[8];
#if TSR_EMU
    int is_col;
#endif
} tsr_wmma_f16;
typedef struct tsr_wmma_acc {
    float elements[8];
} tsr_wmma_acc;

#if TSR_EMU
/* Which element of the matrix, counted along rows, is element i of a lane. */
TSR_DEVICE unsigned tsr_emu_wmma_number(unsigned i, unsigned lane)
{
    return 32 * i + (5 * lane + 7) % 32;
}

typedef struct tsr_emu_wmma_place {
    const void *address;
    unsigned stride;
} tsr_emu_wmma_place;

TSR_EMU_TOGETHER const char *tsr_emu_wmma_same_place(void *const lanes[32], unsigned mask)
{
    const tsr_emu_wmma_place *first = (const tsr_emu_wmma_place *)lanes[0];
    if (mask != 0xffffffffu)
        return "wmma needs all 32 lanes";
    for (int i = 1; i < 32; i++) {
        const tsr_emu_wmma_place *own = (const tsr_emu_wmma_place *)lanes[i];
        if (own->address != first->address || own->stride != first->stride)
            return "wmma: address and stride must be the same in all lanes";
    }
    return 0;
}

/* The rules that loads and stores share. */
TSR_DEVICE void tsr_emu_wmma_check(const void *address, unsigned stride, unsigned element_bytes)
{
    if ((unsigned long)address % 32 != 0)
        tsr_emu_misuse("wmma: the address must be a multiple of 32 bytes");
    if (stride * element_bytes % 16 != 0 || stride < 16)
        tsr_emu_misuse("wmma: the stride must be a multiple of 16 bytes, and at least 16 elements");
    tsr_emu_wmma_place own = {address, stride};
    tsr_emu_warp(0xffffffffu, tsr_emu_wmma_same_place, &own);
}

TSR_DEVICE unsigned tsr_emu_wmma_index(int i, unsigned stride, int is_col)
{
    const unsigned number = tsr_emu_wmma_number((unsigned)i, (threadIdx.x + threadIdx.y * blockDim.x) % 32);
    const unsigned row = number / 16, column = number % 16;
    return is_col ? column * stride + row : row * stride + column;
}

TSR_DEVICE void tsr_emu_wmma_load(unsigned *registers, const unsigned short *from, unsigned stride, int is_col)
{
    const unsigned lane = (threadIdx.x + threadIdx.y * blockDim.x) % 32;
    tsr_emu_wmma_check(from, stride, 2);
    /* To be counted as what the compiler makes of it: one ldmatrix of 16 lines, each in two pieces of 16 bytes. */
    tsr_emu_matrix_access(from + lane % 16 * stride + lane / 16 * 8, 16, 0);
    tsr_emu_matrix_pause(1);
    for (int i = 0; i < 8; i += 2)
        registers[i / 2] = from[tsr_emu_wmma_index(i, stride, is_col)] |
                           (unsigned)from[tsr_emu_wmma_index(i + 1, stride, is_col)] << 16;
    tsr_emu_matrix_pause(0);
}

/* A lane's registers, as they are given. */
typedef struct tsr_emu_wmma_operands {
    unsigned a[4], b[4];
    float *acc;
    tsr_emu_format format;
    int to_f16; /* the accumulators are f16, as floats */
} tsr_emu_wmma_operands;

/* Notes what the lane's code has read: the note itself is no access of the kernel's. */
static __attribute__((no_sanitize("thread"), noinline, unused)) void
tsr_emu_wmma_note(tsr_emu_wmma_operands *own, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                  unsigned b1, unsigned b2, unsigned b3, float *acc, tsr_emu_format format, int to_f16)
{
    *own = (tsr_emu_wmma_operands){{a0, a1, a2, a3}, {b0, b1, b2, b3}, acc, format, to_f16};
}

TSR_DEVICE void tsr_emu_wmma_gather(void *const lanes[32], int is_bf16, float *a, float *b, float *sum)
{
    for (int lane = 0; lane < 32; lane++) {
        const tsr_emu_wmma_operands *own = (const tsr_emu_wmma_operands *)lanes[lane];
        for (unsigned i = 0; i < 8; i++) {
            const unsigned number = tsr_emu_wmma_number(i, (unsigned)lane);
            const unsigned short x = (unsigned short)(own->a[i / 2] >> i % 2 * 16);
            const unsigned short y = (unsigned short)(own->b[i / 2] >> i % 2 * 16);
            a[number] = is_bf16 ? tsr_widen_bf16(x) : tsr_widen_f16(x);
            b[number] = is_bf16 ? tsr_widen_bf16(y) : tsr_widen_f16(y);
            sum[number] = own->acc[i];
        }
    }
}

TSR_EMU_TOGETHER const char *tsr_emu_wmma_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "wmma needs all 32 lanes";
    float a[16 * 16], b[16 * 16], sum[16 * 16];
    const tsr_emu_format format = ((const tsr_emu_wmma_operands *)lanes[0])->format;
    if (format == TSR_EMU_BF16)
        tsr_emu_wmma_gather(lanes, 1, a, b, sum);
    else
        tsr_emu_wmma_gather(lanes, 0, a, b, sum);
    if (((const tsr_emu_wmma_operands *)lanes[0])->to_f16)
        tsr_emu_tensor_f16(sum, a, b, 16, 16, 16, format);
    else
        tsr_emu_tensor(sum, a, b, 16, 16, 16, format);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 8; i++)
            ((const tsr_emu_wmma_operands *)lanes[lane])->acc[i] =
                sum[tsr_emu_wmma_number((unsigned)i, (unsigned)lane)];
    return 0;
}
#endif

/* wmma.load.a.sync.aligned.{row,col}.m16n16k16.shared.bf16 */
TSR_DEVICE void tsr_wmma_load_a_bf16(tsr_wmma_bf16 *a, const unsigned short *from_shared, unsigned stride, int is_col)
{
    unsigned *r = a->registers;
#if TSR_EMU
    a->is_col = is_col;
    tsr_emu_require_shared(from_shared, 32);
    tsr_emu_wmma_load(r, from_shared, stride, is_col);
#else
    if (is_col)
        asm volatile("wmma.load.a.sync.aligned.col.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
    else
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
#endif
}

/* wmma.load.b.sync.aligned.{row,col}.m16n16k16.shared.bf16 */
TSR_DEVICE void tsr_wmma_load_b_bf16(tsr_wmma_bf16 *b, const unsigned short *from_shared, unsigned stride, int is_col)
{
    unsigned *r = b->registers;
#if TSR_EMU
    b->is_col = is_col;
    tsr_emu_require_shared(from_shared, 32);
    tsr_emu_wmma_load(r, from_shared, stride, is_col);
#else
    if (is_col)
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
    else
        asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
#endif
}

/* wmma.load.a.sync.aligned.{row,col}.m16n16k16.shared.f16 */
TSR_DEVICE void tsr_wmma_load_a_f16(tsr_wmma_f16 *a, const unsigned short *from_shared, unsigned stride, int is_col)
{
    unsigned *r = a->registers;
#if TSR_EMU
    a->is_col = is_col;
    tsr_emu_require_shared(from_shared, 32);
    tsr_emu_wmma_load(r, from_shared, stride, is_col);
    for (int i = 4; i < 8; i++)
        r[i] = r[i - 4];
#else
    if (is_col)
        asm volatile("wmma.load.a.sync.aligned.col.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
    else
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
#endif
}

/* wmma.load.b.sync.aligned.{row,col}.m16n16k16.shared.f16 */
TSR_DEVICE void tsr_wmma_load_b_f16(tsr_wmma_f16 *b, const unsigned short *from_shared, unsigned stride, int is_col)
{
    unsigned *r = b->registers;
#if TSR_EMU
    b->is_col = is_col;
    tsr_emu_require_shared(from_shared, 32);
    tsr_emu_wmma_load(r, from_shared, stride, is_col);
    for (int i = 4; i < 8; i++)
        r[i] = r[i - 4];
#else
    if (is_col)
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
    else
        asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "r"(tsr_shared_address(from_shared)), "r"(stride)
                     : "memory");
#endif
}

/* wmma.mma.sync.aligned.ALAYOUT.BLAYOUT.m16n16k16.f32.bf16.bf16.f32, with the layouts that a and b were loaded with. */
TSR_DEVICE void tsr_wmma_multiply_bf16(tsr_wmma_acc *acc, const tsr_wmma_bf16 *a, const tsr_wmma_bf16 *b, int a_is_col,
                                       int b_is_col)
{
    float *d = acc->elements;
#if TSR_EMU
    if (a->is_col != a_is_col || b->is_col != b_is_col)
        tsr_emu_misuse("wmma: multiplied with another layout than it was loaded with");
    const unsigned *x = a->registers, *y = b->registers;
    tsr_emu_wmma_operands own;
    tsr_emu_wmma_note(&own, x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], d, TSR_EMU_BF16, 0);
    tsr_emu_tensor_flops(2 * 16 * 16 * 16);
    tsr_emu_warp(0xffffffffu, tsr_emu_wmma_lanes, &own);
#else
    const unsigned *x = a->registers, *y = b->registers;
#define TSR_WMMA_BF16(layouts)                                                                                      \
    asm volatile("wmma.mma.sync.aligned." layouts ".m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, " \
                 "{%8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3, %4, %5, %6, %7};"                      \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])   \
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]))
    if (a_is_col && b_is_col)
        TSR_WMMA_BF16("col.col");
    else if (a_is_col)
        TSR_WMMA_BF16("col.row");
    else if (b_is_col)
        TSR_WMMA_BF16("row.col");
    else
        TSR_WMMA_BF16("row.row");
#undef TSR_WMMA_BF16
#endif
}

/* wmma.mma.sync.aligned.ALAYOUT.BLAYOUT.m16n16k16.f32.f32, with the layouts that a and b were loaded with. */
TSR_DEVICE void tsr_wmma_multiply_f16(tsr_wmma_acc *acc, const tsr_wmma_f16 *a, const tsr_wmma_f16 *b, int a_is_col,
                                      int b_is_col)
{
    float *d = acc->elements;
#if TSR_EMU
    if (a->is_col != a_is_col || b->is_col != b_is_col)
        tsr_emu_misuse("wmma: multiplied with another layout than it was loaded with");
    const unsigned *x = a->registers, *y = b->registers;
    tsr_emu_wmma_operands own;
    tsr_emu_wmma_note(&own, x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], d, TSR_EMU_F16, 0);
    tsr_emu_tensor_flops(2 * 16 * 16 * 16);
    tsr_emu_warp(0xffffffffu, tsr_emu_wmma_lanes, &own);
#else
    const unsigned *x = a->registers, *y = b->registers;
#define TSR_WMMA_F16(layouts)                                                                                         \
    asm volatile("wmma.mma.sync.aligned." layouts ".m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "             \
                 "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "                 \
                 "{%0, %1, %2, %3, %4, %5, %6, %7};"                                                                  \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])     \
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]), \
                   "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]))
    if (a_is_col && b_is_col)
        TSR_WMMA_F16("col.col");
    else if (a_is_col)
        TSR_WMMA_F16("col.row");
    else if (b_is_col)
        TSR_WMMA_F16("row.col");
    else
        TSR_WMMA_F16("row.row");
#undef TSR_WMMA_F16
#endif
}

/* wmma.store.d.sync.aligned.row.m16n16k16.shared.f32; a barrier (of the warp at least) before others read it. */
TSR_DEVICE void tsr_wmma_store_shared(float *to_shared, const tsr_wmma_acc *acc, unsigned stride)
{
    const float *d = acc->elements;
#if TSR_EMU
    tsr_emu_require_shared(to_shared, 64);
    const unsigned lane = (threadIdx.x + threadIdx.y * blockDim.x) % 32;
    tsr_emu_wmma_check(to_shared, stride, 4);
    /* To be counted as four stores of 8 bytes, with the layout of mma's accumulators. */
    for (unsigned i = 0; i < 4; i++)
        tsr_emu_matrix_access(to_shared + (lane / 4 + i % 2 * 8) * stride + lane % 4 * 2 + i / 2 * 8, 8, 1);
    tsr_emu_matrix_pause(1);
    for (int i = 0; i < 8; i++)
        to_shared[tsr_emu_wmma_index(i, stride, 0)] = d[i];
    tsr_emu_matrix_pause(0);
#else
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"(
                     tsr_shared_address(to_shared)),
                 "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]), "r"(stride)
                 : "memory");
#endif
}

#endif
