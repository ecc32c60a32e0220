/* How the threads of a CTA bring tiles of an operand to shared memory, one element at a time.
 *
 * Both operands are seen alike, as rows by K: the rows of op(A), and the columns of op(B). Neighbouring threads take
 * neighbours in global memory, along k or along the rows, whichever is contiguous. Thread t takes the elements
 * t, t + threads, ... of the tile in that order:
 *
 *      k contiguous, bk = 4:   row 0 |  0  1  2  3         rows contiguous, height = 4:   row 0 | 0 4  8 12
 *                              row 1 |  4  5  6  7                                        row 1 | 1 5  9 13
 *                              row 2 |  8  9 10 11                                        row 2 | 2 6 10 14
 *
 * `threads` is a multiple of `height` and of `bk`. */
#ifndef TSR_TILE_LOAD_H
#define TSR_TILE_LOAD_H

#include "tile/element.h"

typedef struct tile_loader {
    const elem *next;      /* this thread's first element of the next tile */
    long long tile_stride; /* elements from there to the tile after it */
    long long stride;      /* elements from one of this thread's elements to its next in the same tile */
    int row, k;            /* where in the tile its first element lies */
    int row_step, k_step;  /* from one to its next */
    int rows;              /* from its first element's row to the end of the matrix, at most the tile's height */
} tile_loader;

/* `origin` is element (row 0, k 0) of the operand, which has `rows` rows; the tiles' first row is `first`. */
TSR_DEVICE tile_loader tile_loader_open(const elem *origin, long long ld, int k_contiguous, long long first,
                                        long long rows, int height, int bk, int threads, int thread)
{
    tile_loader loader;
    loader.row = k_contiguous ? thread / bk : thread % height;
    loader.k = k_contiguous ? thread % bk : thread / height;
    loader.row_step = k_contiguous ? threads / bk : 0;
    loader.k_step = k_contiguous ? 0 : threads / height;
    loader.next = origin + (k_contiguous ? (first + loader.row) * ld + loader.k : loader.k * ld + first + loader.row);
    loader.stride = (k_contiguous ? loader.row_step : loader.k_step) * ld;
    loader.tile_stride = k_contiguous ? bk : bk * ld;
    loader.rows = (rows - first < height ? (int)(rows - first) : height) - loader.row;
    return loader;
}

/* The thread's element number i, at (row + i * row_step, k + i * k_step) of the tile; 0 outside the matrix, which ends
 * `depth` elements down the tile along K. */
TSR_DEVICE elem tile_element(const tile_loader *loader, int i, int depth)
{
    const int inside = i * loader->row_step < loader->rows && i * loader->k_step < depth - loader->k;
    return inside ? loader->next[i * loader->stride] : 0;
}

#endif
