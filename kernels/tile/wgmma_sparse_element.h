/* The types of kernels/gemm/wgmma_sparse24.cu: -DELEM_bf16, -DELEM_f16, -DELEM_tf32 (f32 in
 * memory), -DELEM_fp8 or -DELEM_int8 (A and B each e4m3 or e5m2, or s8 or u8). Before the header a kernel defines
 * TSR_WGMMA_N. C and D have any type (tile/any_element.h). ELEM_s8: ELEM_int8 without u8, for tiles to which the
 * registers leave one kind of product. */
#ifndef TSR_TILE_WGMMA_SPARSE_ELEMENT_H
#define TSR_TILE_WGMMA_SPARSE_ELEMENT_H

#if defined(ELEM_s8)
#define ELEM_int8
#define ONE_TYPE 1
#elif defined(ELEM_tf32)
#define ONE_TYPE 1
#else
#define ONE_TYPE 0
#endif

#if defined(ELEM_bf16)
#define TSR_WGMMA_TYPES "f32.bf16.bf16"
#elif defined(ELEM_f16)
#define TSR_WGMMA_TYPES "f32.f16.f16"
#elif defined(ELEM_tf32)
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#elif defined(ELEM_fp8)
#define TSR_WGMMA_TYPES         "f32.e4m3.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(ELEM_int8)
#define TSR_WGMMA_TYPES         "s32.s8.s8"
#define TSR_WGMMA_ELEMENT_BYTES 1
#else
#error "give the elements: -DELEM_bf16, -DELEM_f16, -DELEM_tf32, -DELEM_fp8, -DELEM_int8 or -DELEM_s8"
#endif

#include "ptx/wgmma_eight.h"
#include "ptx/wgmma_sparse.h"

#if defined(ELEM_int8)
typedef int sum_type;
#define hold_sums tsr_wgmma_hold_integer
#else
typedef float sum_type;
#define hold_sums tsr_wgmma_hold
#endif

/* One product: the values and the other operand of 64, 32 or 16 elements along K. The last three are constants. */
TSR_DEVICE void sparse_product(unsigned long long values, unsigned long long other, unsigned metadata, int selector,
                               int accumulate, sum_type sum[TSR_WGMMA_REGISTERS], int mn_major, int second_s,
                               int second_x)
{
#if defined(ELEM_fp8)
    (void)selector;
    (void)mn_major;
    tsr_wgmma_sparse_fp8(sum, values, other, metadata, accumulate, second_s, second_x);
#elif defined(ELEM_int8)
    (void)selector;
    (void)mn_major;
    tsr_wgmma_sparse_int8(sum, values, other, metadata, accumulate, second_s, second_x);
#elif defined(ELEM_tf32)
    (void)mn_major;
    (void)second_s;
    (void)second_x;
    tsr_wgmma_sparse_tf32(sum, values, other, metadata, selector, accumulate);
#else
    (void)second_s;
    (void)second_x;
    tsr_wgmma_sparse(sum, values, other, metadata, selector, accumulate, mn_major);
#endif
}

#endif
