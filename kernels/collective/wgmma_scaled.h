/* The end of a tile whose sums are wgmma's, to a D of 8 bits (tile/any_scaled.h) that takes four neighbours by one
 * store, and the choice of ends, with scales or without, of kernels with FEW_ENDS.
 *
 * For kernels that include collective/wgmma_pieces.h. */
#ifndef TSR_COLLECTIVE_WGMMA_SCALED_H
#define TSR_COLLECTIVE_WGMMA_SCALED_H

#include "collective/wgmma_pieces.h"
#include "tile/any_scaled.h"

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on. */
TSR_DEVICE void output_eight(const any_scaled *e, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES };
    const int lane = (int)threadIdx.x % 32;
    const unsigned take = piece + (unsigned)(lane / LANES * PITCH + lane % LANES * 4) * 4;
    any_scaled eight = *e; /* the compiler shall know what D is here */
    unsigned amax = 0;
    eight.fours = 1;
    eight.out.bytes = 1;
    eight.out.type = e->out.type == TSR_TYPE_E4M3 ? TSR_TYPE_E4M3 : TSR_TYPE_E5M2;
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        leave_piece(piece, first, sum);
        TSR_ROLLED
        for (int row = 0; row < 16; row += ROWS) {
            float four[4];
            tsr_shared_load_f32x4(take + (unsigned)(row * PITCH) * 4, four);
            any_scaled_output(&eight, m + row + lane / LANES, n + first + lane % LANES * 4, four, &amax);
        }
    }
    any_scaled_close(e->scaling, amax);
}

/* The warp's 16 rows of the tile with FEW_ENDS, each end once. 0: nothing was stored, for only output_elements can. */
TSR_DEVICE int output_few(const any_scaled *e, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const any_out *const out = &e->out;
    const int is_f32 = out->quads && out->type == TSR_TYPE_F32;
    if (lean_fits_full(out, e->columns))
        output_lean_any(out, e->rows, e->columns, piece, m, n, sum);
    else if (is_f32 && (e->rows || e->columns))
        output_added(out, TSR_TYPE_F32, e->rows, e->columns, piece, m, n, sum);
    else if (is_f32)
        output_added(out, TSR_TYPE_F32, 0, 0, piece, m, n, sum);
#if defined(ELEM_int8)
    else if (out->quads && out->type == TSR_TYPE_S32 && out->form.reads_c)
        output_added(out, TSR_TYPE_S32, 0, 0, piece, m, n, sum);
    else if (out->quads && out->type == TSR_TYPE_S32)
        output_quads(out, TSR_TYPE_S32, piece, m, n, sum);
#endif
    else if (any_is_eight(e) && e->fours)
        output_eight(e, piece, m, n, sum);
    else
        return 0;
    return 1;
}

#endif
