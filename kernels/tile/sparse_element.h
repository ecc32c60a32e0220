/* The types of kernels/gemm/sparse24.cu: -DELEM_bf16, -DELEM_f16, -DELEM_tf32 (f32 in memory) or -DELEM_int8 (A
 * and B each s8 or u8). C and D have any type (tile/any_element.h). Tiles are those of tile/tensor_tile.h. */
#ifndef TSR_TILE_SPARSE_ELEMENT_H
#define TSR_TILE_SPARSE_ELEMENT_H

#include "ptx/mma_sparse.h"
#include "tile/any_element.h"

#if defined(ELEM_int8)
typedef unsigned char elem;
typedef int sum_elem;
#elif defined(ELEM_tf32)
typedef unsigned elem; /* the bits of a float */
typedef float sum_elem;
#else
typedef unsigned short elem;
typedef float sum_elem;
#endif

enum { CHUNK = 16 / (int)sizeof(elem) /* elements that one 16-byte access moves */ };

/* `selector`, not of 8 bits, and which operands are u8 are constants. */
TSR_DEVICE void sparse_mma(sum_elem acc[4], const unsigned a[4], const unsigned b[4], unsigned metadata, int selector,
                           int second_a, int second_b)
{
#if !defined(ELEM_int8)
    (void)second_a;
    (void)second_b;
#endif
#if defined(ELEM_bf16)
    tsr_mma_sparse_bf16(acc, a, b, metadata, selector);
#elif defined(ELEM_f16)
    tsr_mma_sparse_f16(acc, a, b, metadata, selector);
#elif defined(ELEM_tf32)
    tsr_mma_sparse_tf32(acc, a, b, metadata, selector);
#else
    (void)selector;
    tsr_mma_sparse_int8(acc, a, b, metadata, second_a, second_b);
#endif
}

#endif
