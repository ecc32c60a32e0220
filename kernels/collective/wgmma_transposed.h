/* The same as collective/wgmma_pieces.h for a tile of D^T: a warp's 16 rows are columns of D. A lane takes out four of
 * them, of one row of D, or rows of one column. */
#ifndef TSR_COLLECTIVE_WGMMA_TRANSPOSED_H
#define TSR_COLLECTIVE_WGMMA_TRANSPOSED_H

#include "collective/wgmma_pieces.h"

/* Words from row to row of D, of which a piece has PIECE: lanes of a store, and of a load, lie in different banks. */
enum { TRANSPOSED_PITCH = 20, TRANSPOSED_BYTES = PIECE * TRANSPOSED_PITCH * 4 };

TSR_DEVICE void leave_transposed(unsigned piece, int first, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int lane = (int)threadIdx.x % 32;
    const unsigned leave = piece + (unsigned)(2 * (lane % 4) * TRANSPOSED_PITCH + lane / 4) * 4;
    tsr_warp_sync(TSR_ALL_LANES); /* the piece before has left */
    TSR_UNROLL
    for (int j = 0; j < PIECE / 8; j++)
        TSR_UNROLL
    for (int e = 0; e < 4; e++)
        tsr_shared_store_f32(leave + (unsigned)((8 * j + e % 2) * TRANSPOSED_PITCH + e / 2 * 8) * 4,
                             any_bits(sum[first / 2 + 4 * j + e]));
    tsr_warp_sync(TSR_ALL_LANES);
}

/* Where the lane begins to take out: row lane / 4 of a piece, four columns from lane % 4 * 4 on. */
TSR_DEVICE unsigned transposed_take(unsigned piece)
{
    const int lane = (int)threadIdx.x % 32;
    return piece + (unsigned)(lane / 4 * TRANSPOSED_PITCH + lane % 4 * 4) * 4;
}

/* leave_transposed for `first` that is no constant. */
TSR_DEVICE void leave_some_transposed(unsigned piece, int first, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int at = 0; at < BN; at += PIECE)
        if (at == first)
            leave_transposed(piece, at, sum);
}

/* The tile's rows of D from `m` on, the warp's 16 columns from `n` on, to any D: half a warp has a column each, and the
 * other half the same ones four rows below, which lie in other banks. */
TSR_DEVICE void output_transposed_elements(const any_scaled *e, unsigned piece, int m, int n,
                                           const sum_type sum[TSR_WGMMA_REGISTERS])
{
    unsigned amax = 0;
    TSR_UNROLL_BY(ELEMENT_PIECES)
    for (int first = 0; first < BN; first += PIECE) {
        if (m + first >= e->out.m)
            break;
        leave_some_transposed(piece, first, sum);
        TSR_ROLLED
        for (int row = 0; row < PIECE; row += 2 * ELEMENT_ROWS) {
            const int lane = tsr_again((int)threadIdx.x % 32), below = lane / 16 * 4; /* as in output_elements */
            const any_column column = any_column_of(e, n + lane % 16);
            const unsigned take = piece + (unsigned)(below * TRANSPOSED_PITCH + lane % 16) * 4;
            int offset[ELEMENT_ROWS];
            float bits[ELEMENT_ROWS];
            TSR_UNROLL
            for (int i = 0; i < ELEMENT_ROWS; i++) {
                offset[i] = i / 4 * 8 + i % 4;
                bits[i] = tsr_shared_load_f32(take + (unsigned)((row + offset[i]) * TRANSPOSED_PITCH) * 4);
            }
            any_output_column(e, &column, m + first + row + below, offset, ELEMENT_ROWS, bits, &amax);
        }
    }
}

/* The same where D takes four neighbours at once and nothing is added; `type` is a constant. */
TSR_DEVICE void output_transposed_quads(const any_out *out, int type, unsigned piece, int m, int n,
                                        const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int lane = (int)threadIdx.x % 32, row = m + lane / 4, column = n + lane % 4 * 4;
    const unsigned take = transposed_take(piece);
    const long long step_bytes = 8 * out->ldd * any_bytes(type);
    unsigned char *const d = out->d + (row * out->ldd + column) * any_bytes(type);
    const int is_inside = column < out->n, left = out->m - row < 0 ? 0 : out->m - row > BN ? BN : (int)(out->m - row);
    float bias[4] = {0, 0, 0, 0};
    if (is_inside && type != TSR_TYPE_S32 && out->form.form != TSR_EPILOGUE_NONE)
        any_bias_quad(out, type, column, bias);
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        float four[PIECE / 8][4];
        leave_transposed(piece, first, sum);
        TSR_UNROLL
        for (int i = 0; i < PIECE / 8; i++)
            tsr_shared_load_f32x4(take + (unsigned)(i * 8 * TRANSPOSED_PITCH) * 4, four[i]);
        TSR_UNROLL
        for (int i = 0; i < PIECE / 8; i++)
            if (is_inside && first + i * 8 < left)
                any_store_quad(out, type, d + (first / 8 + i) * step_bytes, 0, bias, four[i]);
    }
}

/* The tile's rows of D from `m` on, the warp's 16 columns from `n` on. 0: nothing was stored, for only
 * output_transposed_elements can. */
TSR_DEVICE int output_columns(const any_out *out, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    if (!out->quads || out->form.reads_c)
        return 0;
    if (any_is_whole(out))
        output_transposed_quads(out, TSR_TYPE_S32, piece, m, n, sum);
    else if (out->type == TSR_TYPE_F32)
        output_transposed_quads(out, TSR_TYPE_F32, piece, m, n, sum);
    else if (out->type == TSR_TYPE_BF16)
        output_transposed_quads(out, TSR_TYPE_BF16, piece, m, n, sum);
    else
        output_transposed_quads(out, TSR_TYPE_F16, piece, m, n, sum);
    return 1;
}

#endif
