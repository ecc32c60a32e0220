/* The order in which a persistent grid walks the tiles of D. Neighbours in time should share rows of A and columns of B
 * while these are in L2: tiles are taken in groups of RASTER tile rows, column after column within a group.
 *
 *      RASTER = 2:   0  2  4  6
 *                    1  3  5  7
 *                    8 10 12 14 ...
 */
#ifndef TSR_COLLECTIVE_ORDER_H
#define TSR_COLLECTIVE_ORDER_H

#include "collective/quotient.h"

typedef struct tile_order {
    unsigned tiles_m, tiles_n, tiles; /* of one problem */
    unsigned total;                   /* of the batch */
} tile_order;

typedef struct tile_place {
    int m, n; /* tile row and column */
    int z;    /* problem of the batch */
} tile_place;

TSR_DEVICE tile_order tile_order_of(const tsr_gemm_args *args, int bm, int bn)
{
    tile_order raster;
    raster.tiles_m = (unsigned)((args->m + bm - 1) / bm);
    raster.tiles_n = (unsigned)((args->n + bn - 1) / bn);
    raster.tiles = raster.tiles_m * raster.tiles_n;
    raster.total = raster.tiles * (unsigned)args->batch;
    return raster;
}

/* The same of a kernel that has lines of one operand and rows of the other one: where `swap_ab`, lines are columns of
 * D.
 */
TSR_DEVICE tile_order tile_order_of_lines(const tsr_gemm_args *args, unsigned bm, unsigned bn)
{
    const unsigned m = (unsigned)args->m, n = (unsigned)args->n;
    const unsigned lines = args->schedule.swap_ab ? n : m, rows = args->schedule.swap_ab ? m : n;
    tile_order raster;
    raster.tiles_m = (lines + bm - 1) / bm;
    raster.tiles_n = (rows + bn - 1) / bn;
    raster.tiles = raster.tiles_m * raster.tiles_n;
    raster.total = raster.tiles * (unsigned)args->batch;
    return raster;
}

/* Where the tile of this index lies. */
TSR_DEVICE tile_place tile_order_place(const tile_order *raster, unsigned index)
{
    const unsigned z = index < raster->tiles ? 0 : index / raster->tiles, in_problem = index - z * raster->tiles;
    const unsigned group_tiles = RASTER * raster->tiles_n;
    const unsigned group = in_problem < group_tiles ? 0 : in_problem / group_tiles;
    const unsigned in_group = in_problem - group * group_tiles, first = group * RASTER;
    const unsigned left = raster->tiles_m - first, rows = left < RASTER ? left : RASTER;
    const unsigned column = tile_quotient(in_group, rows);
    tile_place place;
    place.m = (int)(first + in_group - column * rows);
    place.n = (int)column;
    place.z = (int)z;
    return place;
}

#endif
