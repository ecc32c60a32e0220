/* The types of kernels/gemm/mma_int8.cu: A and B each s8 or u8, sums in s32, C and D of any type (tile/any_scaled.h).
 * Tiles are those of tile/tensor_tile.h. */
#ifndef TSR_TILE_INT8_ELEMENT_H
#define TSR_TILE_INT8_ELEMENT_H

#include "ptx/mma_int8.h"
#include "tile/any_scaled.h"

typedef unsigned char elem;

enum { CHUNK = 16 /* elements that one 16-byte access moves */ };

#endif
