/* The end of a tile whose sums are wgmma's, to a D of several types (tile/any_element.h): a warp lays PIECE columns of
 * its 16 rows into shared memory, as they are summed, and takes them out four neighbours a lane.
 *
 * For kernels that name BN, PIECE, PITCH (words from row to row of a piece), sum_type, and QUADS_OF_C: 1 if there are
 * registers for four rows of C, which then come by quads, too; ENDS_LEAN: 1 if there are registers for the ends of
 * collective/wgmma_lean.h; FEW_ENDS: 1 if only for the smaller of these. */
#ifndef TSR_COLLECTIVE_WGMMA_PIECES_H
#define TSR_COLLECTIVE_WGMMA_PIECES_H

#include "collective/wgmma_lean.h"
#include "ptx/shared_vector.h"
#include "ptx/warp.h"
#include "tile/any_element.h"

/* PIECE columns of the warp's 16 rows, from column `first` of the tile on, to shared memory. */
TSR_DEVICE void leave_piece(unsigned piece, int first, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int lane = (int)threadIdx.x % 32;
    const unsigned leave = piece + (unsigned)(lane / 4 * PITCH + 2 * (lane % 4)) * 4;
    tsr_warp_sync(TSR_ALL_LANES); /* the piece before has left */
    TSR_UNROLL
    for (int j = 0; j < PIECE / 8; j++)
        TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const sum_type *pair = &sum[first / 2 + 4 * j + 2 * h];
        tsr_shared_store_f32x2(leave + (unsigned)(8 * h * PITCH + 8 * j) * 4, any_bits(pair[0]), any_bits(pair[1]));
    }
    tsr_warp_sync(TSR_ALL_LANES);
}

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on, in pieces. */
TSR_DEVICE void output(const any_out *out, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES }; /* that take out a row; rows at once */
    const int lane = (int)threadIdx.x % 32;
    const unsigned take = piece + (unsigned)(lane / LANES * PITCH + lane % LANES * 4) * 4;
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        leave_piece(piece, first, sum);
        TSR_ROLLED
        for (int row = 0; row < 16; row += ROWS) {
            float four[4];
            tsr_shared_load_f32x4(take + (unsigned)(row * PITCH) * 4, four);
            any_output(out, m + row + lane / LANES, n + first + lane % LANES * 4, four);
        }
    }
}

/* The same where C and D take four neighbours at once: many loads are under way together, and all that does not depend
 * on the row is found before. `type` is a constant. */
TSR_DEVICE void output_quads(const any_out *out, int type, unsigned piece, int m, int n,
                             const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES, STEPS = 16 / ROWS, AT_ONCE = 4 };
    const int lane = (int)threadIdx.x % 32, row = m + lane / LANES, column = n + lane % LANES * 4;
    const unsigned take = piece + (unsigned)(lane / LANES * PITCH + lane % LANES * 4) * 4;
    const long long step_bytes = ROWS * out->ldd * any_bytes(type), c_step_bytes = ROWS * out->ldc * any_bytes(type);
    unsigned char *const d = out->d + (row * out->ldd + column) * any_bytes(type);
    const unsigned char *const c = out->c + (row * out->ldc + column) * any_bytes(type);
    const int left = out->m - row < 0 ? 0 : out->m - row > 16 ? 16 : (int)(out->m - row);
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        float four[STEPS][4];
        leave_piece(piece, first, sum);
        TSR_UNROLL
        for (int i = 0; i < STEPS; i++)
            tsr_shared_load_f32x4(take + (unsigned)(i * ROWS * PITCH) * 4, four[i]);
        if (column + first >= out->n)
            continue;
        float bias[4] = {0, 0, 0, 0};
        if (type != TSR_TYPE_S32 && out->form.form != TSR_EPILOGUE_NONE)
            any_bias_quad(out, type, column + first, bias);
        TSR_UNROLL
        for (int some = 0; some < STEPS; some += AT_ONCE) {
            float old[AT_ONCE][4] = {{0}};
            if (QUADS_OF_C && out->form.reads_c)
                TSR_UNROLL
            for (int i = 0; i < AT_ONCE; i++)
                if ((some + i) * ROWS < left)
                    any_load_quad(type, c + (some + i) * c_step_bytes + first * any_bytes(type), old[i]);
            TSR_UNROLL
            for (int i = some; i < some + AT_ONCE; i++)
                if (i * ROWS < left)
                    any_store_quad(out, type, d + i * step_bytes + first * any_bytes(type),
                                   QUADS_OF_C ? old[i - some] : 0, bias, four[i]);
        }
    }
}

/* The warp's 16 rows of the tile, from row `m` of D on. */
TSR_DEVICE void output_rows(const any_out *out, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    if (!out->quads)
        output(out, piece, m, n, sum);
#if !defined(ELEM_tf32)
    else if (ENDS_LEAN && lean_fits(out) && out->form.form == TSR_EPILOGUE_NONE && out->type == TSR_TYPE_BF16)
        output_lean(out, TSR_TYPE_BF16, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits(out) && out->form.form == TSR_EPILOGUE_NONE)
        output_lean(out, TSR_TYPE_F16, piece, m, n, sum);
#endif
#if defined(ELEM_int8)
    else if (out->type == TSR_TYPE_S32)
        output_quads(out, TSR_TYPE_S32, piece, m, n, sum);
#endif
#if defined(ELEM_tf32)
    else
        output_quads(out, TSR_TYPE_F32, piece, m, n, sum);
#else
    else if (FEW_ENDS)
        output(out, piece, m, n, sum);
    else if (out->type == TSR_TYPE_F32)
        output_quads(out, TSR_TYPE_F32, piece, m, n, sum);
    else if (out->type == TSR_TYPE_BF16)
        output_quads(out, TSR_TYPE_BF16, piece, m, n, sum);
    else
        output_quads(out, TSR_TYPE_F16, piece, m, n, sum);
#endif
}

#endif
