/* The end of a tile whose sums are wgmma's, with scales of rows and columns, or to a D of 8 bits (tile/any_scaled.h).
 *
 * For kernels that include collective/wgmma_pieces.h. */
#ifndef TSR_COLLECTIVE_WGMMA_SCALED_H
#define TSR_COLLECTIVE_WGMMA_SCALED_H

#include "collective/wgmma_pieces.h"
#include "tile/any_scaled.h"

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on, with scales of rows and columns, or to a D of 8
 * bits. */
TSR_DEVICE void output_any_scaled(const any_scaled *e, unsigned piece, int m, int n,
                                  const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES };
    const int lane = (int)threadIdx.x % 32;
    const unsigned take = piece + (unsigned)(lane / LANES * PITCH + lane % LANES * 4) * 4;
    unsigned amax = 0;
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        leave_piece(piece, first, sum);
        TSR_ROLLED
        for (int row = 0; row < 16; row += ROWS) {
            float four[4];
            tsr_shared_load_f32x4(take + (unsigned)(row * PITCH) * 4, four);
            any_scaled_output(e, m + row + lane / LANES, n + first + lane % LANES * 4, four, &amax);
        }
    }
    any_scaled_close(e->scaling, amax);
}

#endif
