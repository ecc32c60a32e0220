/* The order in which CTAs take the tiles of D. */
#ifndef TSR_COLLECTIVE_RASTER_H
#define TSR_COLLECTIVE_RASTER_H

#include "ptx/language.h"

typedef struct tile_place {
    unsigned m, n; /* in tiles */
} tile_place;

/* Bands of `band` rows of tiles, each walked column by column:
 *
 *      0  3  6  9        CTAs that run together have neighbouring numbers, so they share few rows of A and few columns
 *      1  4  7 10        of B, which then stay in L2: s CTAs read about band + s / band panels instead of 1 + s.
 *      2  5  8 11
 *     12 13 14 15        (band = 3; the last band is what is left) */
TSR_DEVICE tile_place tile_raster(unsigned index, unsigned tiles_m, unsigned tiles_n, unsigned band)
{
    const unsigned first = index / (band * tiles_n) * band, inside = index % (band * tiles_n);
    const unsigned rows = tiles_m - first < band ? tiles_m - first : band;
    tile_place place;
    place.m = first + inside % rows;
    place.n = inside / rows;
    return place;
}

#endif
