/* A tile of 16-bit elements from global to shared memory, line by line as it lies there. */
#ifndef TSR_TILE_TENSOR_LINE_H
#define TSR_TILE_TENSOR_LINE_H

#include "ptx/vector.h"
#include "tile/tensor_element.h"

/* `inside` elements of 8 (less than 1: none) from global memory, zeros behind them. */
TSR_DEVICE tsr_u32x4 tile_chunk(const unsigned short *from, long long inside, int aligned)
{
    if (aligned && inside >= 8)
        return tsr_load_u32x4((const unsigned *)(const void *)from);
    tsr_u32x4 chunk;
    TSR_UNROLL
    for (int j = 0; j < 4; j++) {
        const unsigned low = 2 * j < inside ? from[2 * j] : 0, high = 2 * j + 1 < inside ? from[2 * j + 1] : 0;
        tsr_lane(chunk, j) = low | high << 16;
    }
    return chunk;
}

/* Lines `first_line` to first_line + height - 1 of a matrix of `lines`, elements `first` to first + width - 1 of their
 * `length`, to a tile with lines of width + 8 elements; zeros outside. Neighbouring threads take neighbouring chunks.
 */
TSR_DEVICE void tile_lines(unsigned short *tile, const unsigned short *matrix, long long ld, long long first_line,
                           long long lines, int height, long long first, long long length, int width, int threads,
                           int thread, int aligned)
{
    const int chunks = width / 8;
    TSR_UNROLL
    for (int i = 0; i < height * chunks / threads; i++) {
        const int line = (thread + i * threads) / chunks, at = (thread + i * threads) % chunks * 8;
        const long long inside = first_line + line < lines ? length - first - at : 0;
        const tsr_u32x4 chunk = tile_chunk(matrix + (first_line + line) * ld + first + at, inside, aligned);
        tsr_store_u32x4((unsigned *)(void *)(tile + line * (width + 8) + at), chunk);
    }
}

#endif
