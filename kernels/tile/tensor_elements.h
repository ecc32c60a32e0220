/* A tile of 16-bit elements from global to shared memory by way of registers, so that the loads of two operands are
 * under way together. Elements are loaded one by one: rows may begin anywhere. */
#ifndef TSR_TILE_TENSOR_ELEMENTS_H
#define TSR_TILE_TENSOR_ELEMENTS_H

#include "tile/tensor_element.h"

/* What a thread has of a tile. */
typedef struct tile_elements {
    unsigned short element[EACH];
} tile_elements;

/* Elements of lines of which a tile has `width` each, from line first_line and element `first` on; what lies outside
 * `lines` or `length` becomes 0. `threads` is a multiple of `width`. */
TSR_DEVICE void tile_load_lines(tile_elements *e, const unsigned short *matrix, long long ld, long long first_line,
                                long long lines, long long first, long long length, int width, int threads, int thread)
{
    const int rows = threads / width;
    const long long at = first + thread % width, inside = at < length ? lines - first_line - thread / width : 0;
    const unsigned short *from = matrix + (first_line + thread / width) * ld + at;
    TSR_UNROLL
    for (int i = 0; i < EACH; i++) {
        e->element[i] = i * rows < inside ? *from : 0;
        from += rows * ld;
    }
}

/* The operand's `side` rows of op(A) or columns of op(B) from `begin` of `end` on, `depth` of K from k on. `along_k`:
 * it lies along K. */
TSR_DEVICE void tile_load_elements(tile_elements *e, const unsigned short *matrix, long long ld, long long begin,
                                   long long end, int side, long long k, long long k_end, int depth, int threads,
                                   int thread, int along_k)
{
    if (along_k)
        tile_load_lines(e, matrix, ld, begin, end, k, k_end, depth, threads, thread);
    else
        tile_load_lines(e, matrix, ld, k, k_end, begin, end, side, threads, thread);
}

/* To a tile with lines along K of depth + 8 elements. */
TSR_DEVICE void tile_store_elements(const tile_elements *e, unsigned short *tile, int side, int depth, int threads,
                                    int thread, int along_k)
{
    const int width = along_k ? depth : side, across = thread / width, at = thread % width, pitch = depth + 8;
    unsigned short *const to = tile + (along_k ? across * pitch + at : at * pitch + across);
    const int step = threads / width * (along_k ? pitch : 1);
    TSR_UNROLL
    for (int i = 0; i < EACH; i++)
        to[i * step] = e->element[i];
}

#endif
