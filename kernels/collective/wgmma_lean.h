/* Ends of a tile whose sums are wgmma's, to a D of 16 bits, with as few instructions as there can be: an end runs once
 * a tile, by two warps of a scheduler, at the pace at which instructions are fetched. Steps that an end skips cost it
 * their room, and branches around them break what is fetched ahead. For a D whose rows begin at multiples of 16 bytes,
 * to which no C is added. Other ends: collective/wgmma_pieces.h.
 *
 * A warp rounds 64 columns of its 16 rows, lays them into a piece of shared memory of its own by stmatrix, and takes
 * them out 16 bytes a lane, so that whole lines leave.
 *
 * For kernels that name BN, a multiple of 32, sum_type, PIECE_BYTES, of which a piece takes LEAN_BYTES, and FEW_ENDS: 1
 * if few registers are free at the end of a tile. */
#ifndef TSR_COLLECTIVE_WGMMA_LEAN_H
#define TSR_COLLECTIVE_WGMMA_LEAN_H

#include "ptx/matrix.h"
#include "ptx/shared_vector.h"
#include "ptx/warp.h"
#include "tile/any_element.h"

enum { LEAN_PITCH = 128 + 16, LEAN_BYTES = 16 * LEAN_PITCH }; /* rows of a store, or of a load, lie in other banks */

/* 1 if D has 16 bits, all stores are of 16 bytes, and no C is added. */
TSR_DEVICE int lean_fits(const any_out *out)
{
    const unsigned long long all = (unsigned long long)out->d | (unsigned long long)(out->ldd * out->bytes) |
                                   (unsigned long long)(out->n * out->bytes);
    return out->bytes == 2 && all % 16 == 0 && !out->form.reads_c;
}

/* Where a lane lays what it rounded, and what it takes out of a piece and stores. */
typedef struct lean_lane {
    unsigned leave, take;
    unsigned char *d;  /* of 64 columns: row lane / 8, eight neighbours */
    int rows, columns; /* of D from there on, negative beyond it */
} lean_lane;

/* Of the warp's rows from `m` on, and columns from `n` on. */
TSR_DEVICE lean_lane lean_lane_of(const any_out *out, unsigned piece, int m, int n)
{
    const int lane = (int)threadIdx.x % 32, row = m + lane / 8, column = n + lane % 8 * 8;
    lean_lane of;
    of.leave = piece + (unsigned)(lane % 16 * LEAN_PITCH + lane / 16 * 16);
    of.take = piece + (unsigned)(lane / 8 * LEAN_PITCH + lane % 8 * 16);
    of.d = out->d + (row * out->ldd + column) * 2;
    of.rows = (int)(out->m - row);
    of.columns = (int)(out->n - column);
    if (BN % 64 != 0 && of.columns > BN - lane % 8 * 8) /* the last 64 are another tile's, too */
        of.columns = BN - lane % 8 * 8;
    return of;
}

/* A piece to D, columns `first` to first + 63 of the tile. */
TSR_DEVICE void lean_leave(const lean_lane *at, long long ldd, int first)
{
    unsigned word[4][4];
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        tsr_shared_load_u32x4(at->take + (unsigned)(4 * i * LEAN_PITCH), word[i]);
    tsr_warp_sync(TSR_ALL_LANES); /* the next piece may come */
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        tsr_u32x4 chunk = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(chunk, j) = word[i][j];
        if (4 * i < at->rows && first < at->columns)
            tsr_store_u32x4((unsigned *)(void *)(at->d + (4 * i * ldd + first) * 2), chunk);
    }
}

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on, without a form. `type` is a constant. */
TSR_DEVICE void output_lean(const any_out *out, int type, unsigned piece, int m, int n,
                            const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const lean_lane at = lean_lane_of(out, piece, m, n);
    TSR_UNROLL
    for (int first = 0; first < BN; first += 64) {
        TSR_UNROLL
        for (int j = 0; j < 4 && first + 16 * j < BN; j++) {
            unsigned pair[4];
            TSR_UNROLL
            for (int i = 0; i < 4; i++) {
                float value[2];
                TSR_UNROLL
                for (int c = 0; c < 2; c++) {
                    const float of_sum = any_sum(any_bits(sum[first / 2 + 8 * j + 2 * i + c]));
                    epilogue_scale(&out->form, 1, &of_sum, &value[c]);
                }
                pair[i] = type == TSR_TYPE_BF16 ? tsr_pack_bf16(value[0], value[1]) : tsr_pack_f16(value[0], value[1]);
            }
            tsr_store_matrix_x4(at.leave + (unsigned)(32 * j), pair);
        }
        lean_leave(&at, out->ldd, first);
    }
}

/* What the lane's pairs of some columns have in common: LEAN_COLUMNS eights of columns at once, as many as there are
 * registers for. */
enum { LEAN_COLUMNS = FEW_ENDS ? 2 : 8 };

typedef struct lean_columns {
    float scale[LEAN_COLUMNS][2];
    unsigned bias[LEAN_COLUMNS];
} lean_columns;

/* From column `n` of D on. `scales`: of column 0, at a multiple of 8 bytes, NULL: none. A bias lies at a multiple of 4;
 * where there is none it is -0, to which adding changes no bit. */
TSR_DEVICE lean_columns lean_columns_of(const any_out *out, const float *scales, int n)
{
    const int column = n + (int)threadIdx.x % 4 * 2;
    const int has_form = out->form.form != TSR_EPILOGUE_NONE;
    lean_columns of;
    TSR_UNROLL
    for (int q = 0; q < LEAN_COLUMNS; q++) {
        const int at = column + 8 * q, is_inside = at < out->n;
        of.scale[q][0] = of.scale[q][1] = 1;
        of.bias[q] = 0x80008000u;
        if (scales && is_inside)
            tsr_load_f32x2(scales + at, &of.scale[q][0], &of.scale[q][1]);
        if (has_form && is_inside)
            of.bias[q] = *(const unsigned *)(const void *)(out->form.bias + 2 * at);
    }
    return of;
}

/* 1 if output_lean_scaled may be called, with such scales of the columns. */
TSR_DEVICE int lean_fits_scaled(const any_out *out, const float *columns)
{
    return lean_fits(out) && (unsigned long long)columns % 8 == 0 &&
           (out->form.form == TSR_EPILOGUE_NONE ||
            (out->form.form == TSR_EPILOGUE_BIAS && (unsigned long long)out->form.bias % 4 == 0));
}

/* 1 if it may be called for a bias alone. */
TSR_DEVICE int lean_fits_bias(const any_out *out)
{
    return out->form.form == TSR_EPILOGUE_BIAS && lean_fits_scaled(out, 0);
}

/* The same with scales of rows and columns, each NULL where there are none, and a bias or not. */
TSR_DEVICE void output_lean_scaled(const any_out *out, int type, const float *rows, const float *columns,
                                   unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const lean_lane at = lean_lane_of(out, piece, m, n);
    float factor[2];
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const int row = m + (int)threadIdx.x % 32 / 4 + 8 * h;
        factor[h] = tsr_mul_f32(out->form.alpha, rows && row < out->m ? rows[row] : 1);
    }
    lean_columns of = lean_columns_of(out, columns, n);
    TSR_UNROLL
    for (int first = 0; first < BN; first += 64) {
        TSR_UNROLL
        for (int j = 0; j < 4 && first + 16 * j < BN; j++) {
            unsigned pair[4];
            if (LEAN_COLUMNS == 2 && first + 16 * j > 0)
                of = lean_columns_of(out, columns, n + first + 16 * j);
            TSR_UNROLL
            for (int i = 0; i < 4; i++) {
                const int q = (2 * j + i / 2) % LEAN_COLUMNS;
                float value[2], bias[2];
                if (type == TSR_TYPE_BF16)
                    tsr_unpack_bf16(of.bias[q], &bias[0], &bias[1]);
                else
                    tsr_unpack_f16(of.bias[q], &bias[0], &bias[1]);
                TSR_UNROLL
                for (int c = 0; c < 2; c++) {
                    const float of_sum = any_sum(any_bits(sum[first / 2 + 8 * j + 2 * i + c]));
                    value[c] = tsr_mul_f32(tsr_mul_f32(factor[i % 2], of.scale[q][c]), of_sum);
                }
                epilogue_add_bias(2, bias, value);
                pair[i] = type == TSR_TYPE_BF16 ? tsr_pack_bf16(value[0], value[1]) : tsr_pack_f16(value[0], value[1]);
            }
            tsr_store_matrix_x4(at.leave + (unsigned)(32 * j), pair);
        }
        if (LEAN_COLUMNS == 8 && first + 64 < BN) /* they come while the piece leaves */
            of = lean_columns_of(out, columns, n + first + 64);
        lean_leave(&at, out->ldd, first);
    }
}

#endif
