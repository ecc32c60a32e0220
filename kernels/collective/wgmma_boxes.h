/* Boxes of an operand of a tile: `rows` elements along M or N from `mn` on, 64 along K from `k` on. MN-major (the
 * operand lies along M or N) they are slabs of 64 elements, SLAB_BYTES from each other, K-major all rows together. CTAs
 * of a cluster that need the same part (`share` of them, this one is `part`) each load a share and send it to all in
 * `mask`: a K-major part is shared out by rows, an MN-major one by slices of K in each slab.
 *
 * TILE_SLICES > 1: so many times 64 along K, not shared. Slabs are as much longer; K-major, slices of 64 lie one after
 * the other, and the map has them as a dimension of their own, so that one request brings them all.
 *
 * For kernels that name SLAB_BYTES. */
#ifndef TSR_COLLECTIVE_WGMMA_BOXES_H
#define TSR_COLLECTIVE_WGMMA_BOXES_H

#include "ptx/prefetch.h"
#include "ptx/tma.h"
#include "ptx/tma_ranks.h"

#ifndef TILE_SLICES
#define TILE_SLICES 1
#endif

TSR_DEVICE void tile_load_box(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z, unsigned mask,
                              int share)
{
    if (share > 1)
        tsr_tma_load_multicast(to, map, bar, x, y, z, mask);
    else
        tsr_tma_load(to, map, bar, x, y, z);
}

/* To `to`, where slab follows slab; bytes are counted at mbarrier `bar`. */
TSR_DEVICE void tile_load_boxes(unsigned to, const tsr_tensor_map *map, unsigned bar, int mn_major, int rows, int mn,
                                int k, int z, int share, int part, unsigned mask)
{
    if (mn_major) {
        const int slice = 64 / share;
        TSR_UNROLL
        for (int slab = 0; slab < (rows + 63) / 64; slab++)
            tile_load_box(to + (unsigned)(slab * SLAB_BYTES + part * slice * 128), map, bar, mn + 64 * slab,
                          k + part * slice, z, mask, share);
    } else if (TILE_SLICES > 1) {
        tsr_tma_load_4d(to, map, bar, 0, mn, k / 64, z);
    } else {
        const int slice = rows / share;
        tile_load_box(to + (unsigned)(part * slice * 128), map, bar, k, mn + part * slice, z, mask, share);
    }
}

/* The same to L2 alone, where it waits for nothing and changes nothing. */
TSR_DEVICE void tile_prefetch_boxes(const tsr_tensor_map *map, int mn_major, int rows, int mn, int k, int z, int share,
                                    int part)
{
    if (mn_major)
        TSR_UNROLL
    for (int slab = 0; slab < (rows + 63) / 64; slab++)
        tsr_tma_prefetch_3d(map, mn + 64 * slab, k + part * (64 / share), z);
    else if (TILE_SLICES > 1) tsr_tma_prefetch_4d(map, 0, mn, k / 64, z);
    else tsr_tma_prefetch_3d(map, k, mn + part * (rows / share), z);
}

#endif
