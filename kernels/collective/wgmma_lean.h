/* Ends of a tile whose sums are wgmma's, to a D of 16 bits, with as few instructions as there can be: an end runs once
 * a tile, by two warps of a scheduler, at the pace at which instructions are fetched. Steps that an end skips cost it
 * their room, and branches around them break what is fetched ahead. So there are several: output_lean (sums times
 * alpha), output_lean_scaled (scales of rows and columns, and a bias) and output_lean_full, of which LEAN_C, LEAN_RELU
 * and LEAN_ALL are the forms. For a D, and a C that is read, whose rows begin at multiples of 16 bytes. Other ends:
 * collective/wgmma_pieces.h.
 *
 * A warp rounds its 16 rows 16 columns at a time and lays them into shared memory by stmatrix. How they leave:
 *
 *   BOXED_D = 0: 64 columns are a piece, which the warp takes out 16 bytes a lane, so that whole lines leave.
 *
 *   BOXED_D = 1: the rows lie whole in shared memory, as boxes of 16 rows and 64 columns, or 32 where BN is no multiple
 *   of 64. The copy engine stores them while the warp goes on with the next tile. A C that is read came to the same
 *   place meanwhile, and its values are replaced by D's. Only for launches whose maps of D, and C, there are.
 *
 * For kernels that name BN, a multiple of 32, sum_type, PIECE_BYTES, of which a piece takes LEAN_BYTES, and FEW_ENDS: 1
 * if few registers are free at the end of a tile; with BOXED_D also LEAN_AREAS, sets of rows of a warp, each of
 * LEAN_BYTES, that leave one after the other, and any_out's `maps`. */
#ifndef TSR_COLLECTIVE_WGMMA_LEAN_H
#define TSR_COLLECTIVE_WGMMA_LEAN_H

#include "ptx/matrix.h"
#include "ptx/shared_vector.h"
#include "ptx/warp.h"
#include "tile/any_element.h"
#if BOXED_D
#include "ptx/mbarrier.h"
#include "ptx/tma.h"

enum {
    LEAN_COLUMNS_OF_BOX = BN % 64 == 0 ? 64 : 32,
    LEAN_PITCH = 2 * LEAN_COLUMNS_OF_BOX, /* which is also the span of the swizzle */
    LEAN_BOX_BYTES = 16 * LEAN_PITCH,
    LEAN_BOXES = BN / LEAN_COLUMNS_OF_BOX,
    LEAN_BYTES = LEAN_BOXES * LEAN_BOX_BYTES
};
#else
enum { LEAN_PITCH = 128 + 16, LEAN_BYTES = 16 * LEAN_PITCH }; /* rows of a store, or of a load, lie in other banks */
#endif

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

#if BOXED_D
/* Of the warp's rows. */
TSR_DEVICE lean_lane lean_lane_of(const any_out *out, unsigned piece, int m, int n)
{
    const unsigned lane = threadIdx.x % 32, row = lane % 16;
    const unsigned chunk = lane / 16 ^ (LEAN_COLUMNS_OF_BOX == 64 ? row % 8 : row / 2 % 4);
    lean_lane of = {piece + row * LEAN_PITCH + chunk * 16, 0, 0, 0, 0};
    (void)out, (void)m, (void)n;
    return of;
}

/* Where the lane's share of 16 columns lies, from column `column` of the tile on. */
TSR_DEVICE unsigned lean_place(const lean_lane *at, int column)
{
    return (at->leave + (unsigned)(column / LEAN_COLUMNS_OF_BOX * LEAN_BOX_BYTES)) ^
           (unsigned)(column % LEAN_COLUMNS_OF_BOX * 2);
}

/* Before the first value is laid down: the copy engine has read what lay there. */
TSR_DEVICE void lean_begin(void)
{
    tsr_tma_wait_read(LEAN_AREAS - 1);
    tsr_warp_sync(TSR_ALL_LANES);
}

/* Behind the last 16 columns all boxes leave, each by a lane. */
TSR_DEVICE void lean_leave(const any_out *out, const lean_lane *at, unsigned piece, int m, int n, int first)
{
    const int lane = (int)threadIdx.x % 32, column = n + lane * LEAN_COLUMNS_OF_BOX;
    (void)at;
    if (first + 64 < BN)
        return;
    tsr_fence_async_shared();
    tsr_warp_sync(TSR_ALL_LANES);
    if (lane < LEAN_BOXES && m < out->m && column < out->n)
        tsr_tma_store(&out->maps->d, piece + (unsigned)(lane * LEAN_BOX_BYTES), column, m, out->z_d);
    tsr_tma_commit();
}

/* Requests C's boxes of the warp's rows from row `m` on, for a tile that is yet to be multiplied; their bytes count
 * down at `bar`, where a lane has announced them. */
TSR_DEVICE void lean_request_c(const tsr_gemm_args *args, const tsr_tensor_maps *maps, unsigned piece, unsigned bar,
                               int m, int n, int z)
{
    const int lane = (int)threadIdx.x % 32;
    if (lane < LEAN_BOXES)
        tsr_tma_load(piece + (unsigned)(lane * LEAN_BOX_BYTES), &maps->c, bar, n + lane * LEAN_COLUMNS_OF_BOX, m,
                     args->batch_c ? z : 0);
}
#else
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

/* Where the lane's share of 16 columns lies, from column `column` of the tile on. */
TSR_DEVICE unsigned lean_place(const lean_lane *at, int column)
{
    return at->leave + (unsigned)(column % 64 * 2);
}

#define lean_begin() ((void)0)

/* A piece to D, columns `first` to first + 63 of the tile. */
TSR_DEVICE void lean_leave(const any_out *out, const lean_lane *at, unsigned piece, int m, int n, int first)
{
    const long long ldd = out->ldd;
    unsigned word[4][4];
    (void)piece, (void)m, (void)n;
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
#endif

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on, without a form. `type` is a constant. */
TSR_DEVICE void output_lean(const any_out *out, int type, unsigned piece, int m, int n,
                            const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const lean_lane at = lean_lane_of(out, piece, m, n);
    lean_begin();
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
            tsr_store_matrix_x4(lean_place(&at, first + 16 * j), pair);
        }
        lean_leave(out, &at, piece, m, n, first);
    }
}

/* Two values of 16 bits; `is_bf16`: else f16. */
TSR_DEVICE void lean_unpack(int is_bf16, unsigned pair, float value[2])
{
    if (is_bf16)
        tsr_unpack_bf16(pair, &value[0], &value[1]);
    else
        tsr_unpack_f16(pair, &value[0], &value[1]);
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

/* The same with scales of rows and columns, each NULL where there are none. `has_bias`, a constant: and a bias or not;
 * 0: none, which takes fewer instructions. */
TSR_DEVICE void output_lean_scaled(const any_out *out, int type, int has_bias, const float *rows, const float *columns,
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
    lean_begin();
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
                if (has_bias)
                    lean_unpack(type == TSR_TYPE_BF16, of.bias[q], bias);
                TSR_UNROLL
                for (int c = 0; c < 2; c++) {
                    const float of_sum = any_sum(any_bits(sum[first / 2 + 8 * j + 2 * i + c]));
                    value[c] = tsr_mul_f32(tsr_mul_f32(factor[i % 2], of.scale[q][c]), of_sum);
                }
                if (has_bias)
                    epilogue_add_bias(2, bias, value);
                pair[i] = type == TSR_TYPE_BF16 ? tsr_pack_bf16(value[0], value[1]) : tsr_pack_f16(value[0], value[1]);
            }
            tsr_store_matrix_x4(lean_place(&at, first + 16 * j), pair);
        }
        if (LEAN_COLUMNS == 8 && first + 64 < BN) /* they come while the piece leaves */
            of = lean_columns_of(out, columns, n + first + 64);
        lean_leave(out, &at, piece, m, n, first);
    }
}

/* 1 if output_lean_full may be called, with such scales of the columns. */
TSR_DEVICE int lean_fits_full(const any_out *out, const float *columns)
{
    const unsigned long long all =
        (unsigned long long)out->d | (unsigned long long)((out->ldd | out->n) * out->bytes) |
        (out->form.reads_c ? (unsigned long long)out->c | (unsigned long long)(out->ldc * out->bytes) : 0);
    return out->bytes == 2 && all % 16 == 0 && (unsigned long long)columns % 8 == 0 &&
           (out->form.form == TSR_EPILOGUE_NONE || (unsigned long long)out->form.bias % 4 == 0);
}

/* C's values at the lane's pairs of 16 columns of the tile, from `column` on: what stmatrix will replace, or from
 * global memory. */
TSR_DEVICE void lean_load_c(const any_out *out, const lean_lane *at, int m, int n, int column, unsigned pair[4])
{
#if BOXED_D
    (void)out, (void)m, (void)n;
    tsr_load_matrix_x4(lean_place(at, column), pair);
#else
    const int lane = (int)threadIdx.x % 32;
    (void)at;
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        const int row = m + lane / 4 + 8 * (i % 2), at_column = n + column + 8 * (i / 2) + 2 * (lane % 4);
        pair[i] = 0;
        if (row < out->m && at_column < out->n)
            pair[i] = *(const unsigned *)(const void *)(out->c + (row * out->ldc + at_column) * 2);
    }
#endif
}

/* Columns of C that come at once. */
enum { LEAN_C_COLUMNS = BOXED_D ? 16 : BN <= 128 ? 64 : 32 };

/* What an end has: alpha * sum + beta * C; scales, a bias and relu; all of these, as the arguments say. */
enum { LEAN_C = 1, LEAN_RELU, LEAN_ALL };

/* The same with C and relu. `end` and `type`, constants: one of these; 0: D's type is that of `out`. */
TSR_DEVICE void output_lean_full(const any_out *out, int end, int type, const float *rows, const float *columns,
                                 unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const lean_lane at = lean_lane_of(out, piece, m, n);
    const int is_bf16 = (type ? type : out->type) == TSR_TYPE_BF16, is_scaled = end != LEAN_C;
    const int reads_c = end == LEAN_C || (end == LEAN_ALL && out->form.reads_c);
    const int has_form = end == LEAN_RELU || (end == LEAN_ALL && out->form.form != TSR_EPILOGUE_NONE);
    float factor[2] = {out->form.alpha, out->form.alpha};
    unsigned old[LEAN_C_COLUMNS / 16][4] = {{0}};
    lean_columns of = {{{0}}, {0}};
    if (is_scaled) {
        TSR_UNROLL
        for (int h = 0; h < 2; h++) {
            const int row = m + (int)threadIdx.x % 32 / 4 + 8 * h;
            factor[h] = tsr_mul_f32(out->form.alpha, rows && row < out->m ? rows[row] : 1);
        }
        of = lean_columns_of(out, columns, n);
    }
    lean_begin();
    TSR_UNROLL
    for (int first = 0; first < BN; first += 64) {
        TSR_UNROLL
        for (int j = 0; j < 4 && first + 16 * j < BN; j++) {
            unsigned pair[4];
            if (is_scaled && LEAN_COLUMNS == 2 && first + 16 * j > 0)
                of = lean_columns_of(out, columns, n + first + 16 * j);
            if (reads_c && (first + 16 * j) % LEAN_C_COLUMNS == 0)
                TSR_UNROLL
            for (int i = 0; i < LEAN_C_COLUMNS / 16 && first + 16 * (j + i) < BN; i++)
                lean_load_c(out, &at, m, n, first + 16 * (j + i), old[i]);
            TSR_UNROLL
            for (int i = 0; i < 4; i++) {
                const int q = (2 * j + i / 2) % LEAN_COLUMNS;
                float value[2], two[2];
                TSR_UNROLL
                for (int e = 0; e < 2; e++) {
                    const float of_sum = any_sum(any_bits(sum[first / 2 + 8 * j + 2 * i + e]));
                    value[e] = tsr_mul_f32(is_scaled ? tsr_mul_f32(factor[i % 2], of.scale[q][e]) : factor[0], of_sum);
                }
                if (reads_c) {
                    lean_unpack(is_bf16, old[(first / 16 + j) % (LEAN_C_COLUMNS / 16)][i], two);
                    epilogue_add_c(&out->form, 2, two, value);
                }
                if (has_form) {
                    lean_unpack(is_bf16, of.bias[q], two);
                    epilogue_form(&out->form, 2, two, value);
                }
                pair[i] = is_bf16 ? tsr_pack_bf16(value[0], value[1]) : tsr_pack_f16(value[0], value[1]);
            }
            tsr_store_matrix_x4(lean_place(&at, first + 16 * j), pair);
        }
        if (is_scaled && LEAN_COLUMNS == 8 && first + 64 < BN)
            of = lean_columns_of(out, columns, n + first + 64);
        lean_leave(out, &at, piece, m, n, first);
    }
}

/* The least of these that adds C. */
TSR_DEVICE void output_lean_added(const any_out *out, const float *rows, const float *columns, unsigned piece, int m,
                                  int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    if (rows || columns || out->form.form != TSR_EPILOGUE_NONE)
        output_lean_full(out, LEAN_ALL, 0, rows, columns, piece, m, n, sum);
    else if (out->type == TSR_TYPE_BF16)
        output_lean_full(out, LEAN_C, TSR_TYPE_BF16, 0, 0, piece, m, n, sum);
    else
        output_lean_full(out, LEAN_C, TSR_TYPE_F16, 0, 0, piece, m, n, sum);
}

/* 1: a bias without relu has an end of its own in bf16. Tiles of 192 columns would spill by one end more; of those of
 * 256 rows it was not timed. */
#if BOXED_D
enum { LEAN_BIAS = BN < 192 && LEAN_AREAS == 1 };
#else
enum { LEAN_BIAS = 1 };
#endif

/* The least of all of them that does what the arguments ask for. */
TSR_DEVICE void output_lean_any(const any_out *out, const float *rows, const float *columns, unsigned piece, int m,
                                int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int is_bf16 = out->type == TSR_TYPE_BF16, form = out->form.form;
    const int is_scaled = rows || columns || form != TSR_EPILOGUE_NONE;
    const int by_relu =
        form == TSR_EPILOGUE_BIAS_RELU || (BOXED_D && form != TSR_EPILOGUE_NONE && !(LEAN_BIAS && is_bf16));
    if (out->form.reads_c)
        output_lean_added(out, rows, columns, piece, m, n, sum);
    else if (by_relu && is_bf16)
        output_lean_full(out, LEAN_RELU, TSR_TYPE_BF16, rows, columns, piece, m, n, sum);
    else if (by_relu)
        output_lean_full(out, LEAN_RELU, TSR_TYPE_F16, rows, columns, piece, m, n, sum);
    else if (is_scaled && is_bf16 && (!BOXED_D || (LEAN_BIAS && form != TSR_EPILOGUE_NONE)))
        output_lean_scaled(out, TSR_TYPE_BF16, 1, rows, columns, piece, m, n, sum);
    else if (is_scaled && is_bf16)
        output_lean_scaled(out, TSR_TYPE_BF16, 0, rows, columns, piece, m, n, sum);
    else if (is_scaled)
        output_lean_scaled(out, TSR_TYPE_F16, !BOXED_D, rows, columns, piece, m, n, sum);
    else if (is_bf16)
        output_lean(out, TSR_TYPE_BF16, piece, m, n, sum);
    else
        output_lean(out, TSR_TYPE_F16, piece, m, n, sum);
}

#endif
