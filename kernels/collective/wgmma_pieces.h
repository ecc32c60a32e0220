/* The end of a tile whose sums are wgmma's, to a D of several types (tile/any_element.h): a warp lays PIECE columns of
 * its 16 rows into shared memory, as they are summed, and takes them out four neighbours a lane. Where D cannot take
 * these by one store, a lane takes rows of one column, so that a store writes 32 neighbours (output_elements).
 *
 * For kernels that name BN, PIECE, PITCH (words from row to row of a piece), sum_type, and QUADS_OF_C: 1 if there are
 * registers for four rows of C, which then come by quads, too; ADDS_C: 1 if C meets the sums in registers instead,
 * before these are laid down; ENDS_LEAN: 1 if there are registers for the ends of collective/wgmma_lean.h; FEW_ENDS: 1
 * if only for the smaller of these, with ADDS_C; ELEMENT_ROWS: rows of a column for which there are registers, 4 to 16;
 * ELEMENT_PIECES: 1, or the number of pieces where the registers of a piece that was laid down must be free. */
#ifndef TSR_COLLECTIVE_WGMMA_PIECES_H
#define TSR_COLLECTIVE_WGMMA_PIECES_H

#include "collective/wgmma_lean.h"
#include "ptx/prefetch.h"
#include "ptx/shared_vector.h"
#include "ptx/warp.h"
#include "tile/any_column.h"

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

/* The same for `first` that is no constant: what is behind a piece is there once, not once for each. */
TSR_DEVICE void leave_some_piece(unsigned piece, int first, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int at = 0; at < BN; at += PIECE)
        if (at == first)
            leave_piece(piece, at, sum);
}

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on, to any D, with all that there may be of scales:
 * 32 columns at a time, one a lane (tile/any_column.h). */
TSR_DEVICE void output_elements(const any_scaled *e, unsigned piece, int m, int n,
                                const sum_type sum[TSR_WGMMA_REGISTERS])
{
    unsigned amax = 0;
    TSR_UNROLL_BY(ELEMENT_PIECES)
    for (int first = 0; first < BN; first += 32) {
        if (n + first >= e->out.n)
            break;
        if (first % PIECE == 0)
            leave_some_piece(piece, first, sum);
        TSR_ROLLED
        for (int row = 0; row < 16; row += ELEMENT_ROWS) {
            const int lane = tsr_again((int)threadIdx.x % 32); /* addresses are found anew: no register keeps them */
            const any_column column = any_column_of(e, n + first + lane);
            const unsigned take = piece + (unsigned)(row * PITCH + first % PIECE + lane) * 4;
            int offset[ELEMENT_ROWS];
            float bits[ELEMENT_ROWS];
            TSR_UNROLL
            for (int i = 0; i < ELEMENT_ROWS; i++) {
                offset[i] = i;
                bits[i] = tsr_shared_load_f32(take + (unsigned)(i * PITCH) * 4);
            }
            any_output_column(e, &column, m + row, offset, ELEMENT_ROWS, bits, &amax);
        }
    }
    if (any_is_eight(e))
        any_scaled_close(e->scaling, amax);
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

/* C's lines of a warp's 16 rows come to L2, while something else is done. */
TSR_DEVICE void prefetch_c(const tsr_gemm_args *args, int z, int m, int n)
{
    const int bytes = any_bytes(args->type_d), lane = (int)threadIdx.x % 32, row = m + lane / 2;
    const long long columns = args->n - n < BN ? args->n - n : BN;
    const unsigned char *const c = (const unsigned char *)args->c + z * args->batch_c * bytes;
    TSR_ROLLED
    for (long long at = lane % 2 * 128; at < columns * bytes; at += 256)
        if (row < args->m)
            tsr_prefetch_l2(c + (row * args->ldc + n) * bytes + at);
}

/* The lane's two pairs of eight columns, of which `at` is the first in D, to shared memory: see output_added. */
TSR_DEVICE void added_eight(const any_out *out, int type, const float factor[2], const float *columns, int at,
                            float old[2][2], const sum_type sum[4], unsigned leave)
{
    const int is_whole = type == TSR_TYPE_S32, has_form = !is_whole && out->form.form != TSR_EPILOGUE_NONE;
    float scale[2] = {1, 1}, bias[2] = {0, 0};
    if (columns && at < out->n)
        scale[0] = columns[at], scale[1] = columns[at + 1];
    if (has_form && at < out->n)
        bias[0] = any_load(type, out->form.bias, at), bias[1] = any_load(type, out->form.bias, at + 1);
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        float value[2];
        TSR_UNROLL
        for (int i = 0; i < 2; i++) {
            const float bits = any_bits(sum[2 * h + i]);
            unsigned whole = (unsigned)out->alpha_whole * tsr_bits_of_f32(bits);
            if (out->form.reads_c)
                whole += (unsigned)out->beta_whole * tsr_bits_of_f32(old[h][i]);
            value[i] = is_whole ? tsr_f32_of_bits(whole) : tsr_mul_f32(tsr_mul_f32(factor[h], scale[i]), any_sum(bits));
        }
        if (!is_whole && out->form.reads_c)
            epilogue_add_c(&out->form, 2, old[h], value);
        if (has_form)
            epilogue_form(&out->form, 2, bias, value);
        tsr_shared_store_f32x2(leave + (unsigned)(8 * h * PITCH) * 4, value[0], value[1]);
    }
}

/* The end to four bytes where C, a bias or scales meet the sums in registers: the lane's pairs of C are loaded, many
 * together, and what is laid into shared memory is D. `rows`, `columns`: scales, NULL where there are none; `type` is a
 * constant. */
TSR_DEVICE void output_added(const any_out *out, int type, const float *rows, const float *columns, unsigned piece,
                             int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES, STEPS = 16 / ROWS, EIGHTS = BN > 160 ? 2 : 4 }; /* of C at once */
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        const int lane = tsr_again((int)threadIdx.x % 32); /* addresses are found anew: no register keeps them */
        const int row = m + lane / 4, column = n + first + 2 * (lane % 4);
        const unsigned leave = piece + (unsigned)(lane / 4 * PITCH + 2 * (lane % 4)) * 4;
        const float *const c = (const float *)(const void *)out->c + row * out->ldc + column;
        float factor[2];
        TSR_UNROLL
        for (int h = 0; h < 2; h++)
            factor[h] = tsr_mul_f32(out->form.alpha, rows && row + 8 * h < out->m ? rows[row + 8 * h] : 1);
        TSR_UNROLL
        for (int some = 0; some < PIECE; some += 8 * EIGHTS) {
            float old[EIGHTS][2][2] = {{{0}}};
            if (out->form.reads_c)
                TSR_UNROLL
            for (int i = 0; i < 2 * EIGHTS; i++)
                if (row + 8 * (i % 2) < out->m && column + some + 8 * (i / 2) < out->n)
                    tsr_load_f32x2(c + 8 * (i % 2) * out->ldc + some + 8 * (i / 2), &old[i / 2][i % 2][0],
                                   &old[i / 2][i % 2][1]);
            if (some == 0)
                tsr_warp_sync(TSR_ALL_LANES); /* the piece before has left */
            TSR_UNROLL
            for (int j = 0; j < EIGHTS; j++)
                added_eight(out, type, factor, columns, column + some + 8 * j, old[j], &sum[(first + some) / 2 + 4 * j],
                            leave + (unsigned)(some + 8 * j) * 4);
        }
        tsr_warp_sync(TSR_ALL_LANES);
        const int take = tsr_again((int)threadIdx.x % 32), take_column = n + first + take % LANES * 4;
        TSR_UNROLL
        for (int i = 0; i < STEPS; i++) {
            const int take_row = m + i * ROWS + take / LANES;
            float four[4];
            tsr_shared_load_f32x4(piece + (unsigned)((i * ROWS + take / LANES) * PITCH + take % LANES * 4) * 4, four);
            if (take_row < out->m && take_column < out->n)
                any_store_four(type, out->d + (take_row * out->ldd + take_column) * 4, four);
        }
    }
}

/* The warp's 16 rows of the tile, from row `m` of D on. 0: nothing was stored, for only output_elements can. */
TSR_DEVICE int output_rows(const any_out *out, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int adds_c = ADDS_C && out->form.reads_c;
    if (!out->quads)
        return 0;
#if defined(ELEM_tf32)
    if (adds_c)
        output_added(out, TSR_TYPE_F32, 0, 0, piece, m, n, sum);
    else
        output_quads(out, TSR_TYPE_F32, piece, m, n, sum);
#else
    if (adds_c && lean_fits_full(out, 0))
        output_lean_added(out, 0, 0, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits(out) && out->form.form == TSR_EPILOGUE_NONE && out->type == TSR_TYPE_BF16)
        output_lean(out, TSR_TYPE_BF16, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits(out) && out->form.form == TSR_EPILOGUE_NONE)
        output_lean(out, TSR_TYPE_F16, piece, m, n, sum);
#if defined(ELEM_int8)
    else if (adds_c && out->type == TSR_TYPE_S32)
        output_added(out, TSR_TYPE_S32, 0, 0, piece, m, n, sum);
    else if (out->type == TSR_TYPE_S32)
        output_quads(out, TSR_TYPE_S32, piece, m, n, sum);
#endif
    else if (adds_c && out->type == TSR_TYPE_F32)
        output_added(out, TSR_TYPE_F32, 0, 0, piece, m, n, sum);
    else if (adds_c)
        return 0;
    else if (out->type == TSR_TYPE_F32)
        output_quads(out, TSR_TYPE_F32, piece, m, n, sum);
    else if (out->type == TSR_TYPE_BF16)
        output_quads(out, TSR_TYPE_BF16, piece, m, n, sum);
    else
        output_quads(out, TSR_TYPE_F16, piece, m, n, sum);
#endif
    return 1;
}

#endif
