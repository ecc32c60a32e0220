/* Boxes of an operand for kernels whose tiles lie in shared memory as slabs of SLAB rows (or columns), SLAB_BYTES each.
 */
#ifndef TSR_COLLECTIVE_SLAB_BOXES_H
#define TSR_COLLECTIVE_SLAB_BOXES_H

#include "ptx/tma.h"

/* `rows` of op(A), or columns of op(B), from `mn` on and a step of K from `k` on: where K is contiguous one box, else a
 * box for each slab. */
TSR_DEVICE void tile_load_slabs(unsigned to, const tsr_tensor_map *map, unsigned bar, int k_contiguous, int rows,
                                int mn, int k, int z)
{
    if (k_contiguous) {
        tsr_tma_load(to, map, bar, k, mn, z);
        return;
    }
    TSR_UNROLL
    for (int slab = 0; slab < rows / SLAB; slab++)
        tsr_tma_load(to + (unsigned)(slab * SLAB_BYTES), map, bar, mn + slab * SLAB, k, z);
}

#endif
