/* The units of a cluster's walk: whole tiles, or with STREAM_K = 1 and a partition shares of tiles in common first
 * (collective/stream_k.h). For a kernel whose `walk` has `shared`, `first`, `step`, `k_blocks`, `raster` and
 * `shares_k`, which says that there is a partition at STREAM_K_AT. */
#ifndef TSR_COLLECTIVE_WALK_UNITS_H
#define TSR_COLLECTIVE_WALK_UNITS_H

#include "collective/stream_k.h"

/* 1 if the cluster has a unit of this index. */
TSR_DEVICE int has_unit(const walk *w, unsigned index)
{
    if (STREAM_K && TSR_UNLIKELY(w->shares_k))
        return tile_has_unit(w->shared + STREAM_K_AT, index);
    return w->first + index * w->step < w->raster.total;
}

/* It. Whole tiles are counted in registers: reading the partition takes 0.15 us of a short product. */
TSR_DEVICE tile_unit unit_of(const walk *w, unsigned index)
{
    const tile_unit whole = {w->first + index * w->step, 0, w->k_blocks};
    return STREAM_K && TSR_UNLIKELY(w->shares_k) ? tile_unit_of(w->shared + STREAM_K_AT, index) : whole;
}

#endif
