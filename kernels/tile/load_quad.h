/* How the threads of a CTA bring tiles of an operand to registers in quads: four neighbours in global memory, which one
 * 16-byte load moves where everything is aligned. Otherwise as in tile/load.h: the operand is seen as rows by K, and
 * neighbouring threads take neighbouring quads along k or along the rows, whichever is contiguous.
 *
 * `threads` is a multiple of height / 4 and of bk / 4. */
#ifndef TSR_TILE_LOAD_QUAD_H
#define TSR_TILE_LOAD_QUAD_H

#include "ptx/vector.h"
#include "tile/element.h"

typedef struct tile_quads {
    const elem *next;      /* first element of this thread's first quad of the next tile */
    long long tile_stride; /* elements from there to the tile after it */
    long long stride;      /* elements from one of this thread's quads to its next in the same tile */
    int row, k;            /* where in the tile the first quad begins */
    int row_step, k_step;  /* from one to the next */
    int rows;              /* from the first quad's row to the end of the matrix, at most the tile's height */
    int k_contiguous;
} tile_quads;

/* `origin` is element (row 0, k 0) of the operand, which has `rows` rows; the tiles' first row is `first`. */
TSR_DEVICE tile_quads tile_quads_open(const elem *origin, long long ld, int k_contiguous, long long first,
                                      long long rows, int height, int bk, int threads, int thread)
{
    tile_quads quads;
    quads.k_contiguous = k_contiguous;
    quads.row = k_contiguous ? thread / (bk / 4) : thread % (height / 4) * 4;
    quads.k = k_contiguous ? thread % (bk / 4) * 4 : thread / (height / 4);
    quads.row_step = k_contiguous ? threads / (bk / 4) : 0;
    quads.k_step = k_contiguous ? 0 : threads / (height / 4);
    quads.next = origin + (k_contiguous ? (first + quads.row) * ld + quads.k : quads.k * ld + first + quads.row);
    quads.stride = (k_contiguous ? quads.row_step : quads.k_step) * ld;
    quads.tile_stride = k_contiguous ? bk : bk * ld;
    quads.rows = (rows - first < height ? (int)(rows - first) : height) - quads.row;
    return quads;
}

/* The thread's quad number i, which begins at (row + i * row_step, k + i * k_step) of the tile; zeros outside the
 * matrix, which ends `depth` elements down the tile along K. `aligned`: the operand is aligned to 16 bytes. */
TSR_DEVICE tsr_f32x4 tile_quad(const tile_quads *quads, int i, int depth, int aligned)
{
    const int rows = quads->rows - i * quads->row_step, ks = depth - quads->k - i * quads->k_step;
    const int along = quads->k_contiguous ? ks : rows, across = quads->k_contiguous ? rows : ks;
    const int inside = across > 0 ? along : 0;
    const elem *from = quads->next + i * quads->stride;
    if (aligned && inside >= 4)
        return tsr_load_f32x4(from);
    tsr_f32x4 quad;
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        tsr_lane(quad, j) = j < inside ? from[j] : 0;
    return quad;
}

#endif
