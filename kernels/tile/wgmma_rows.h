/* The last step of the Hopper kernels where the copy engine cannot write D: rows that begin anywhere.
 *
 * A warp holds 16 rows of the tile in registers, four lanes a row. Stored from there, 8 lanes would write 2 bytes each
 * to 8 rows, and each 32-byte sector of L2 would be written 16 times. So the warp turns 8 rows at a time in its quarter
 * of the output buffers. Each row lies there as far past a multiple of 16 bytes as it does in D (`skew`), so that
 * aligned chunks of the buffer are aligned chunks of D:
 *
 *      buffer   |   ab cdefghij klmnopqr st      |  row r, PITCH bytes to the next: 8 rows hit different banks
 *      D        ...|   ab|cdefghij|klmnopqr|st...   whole chunks leave by 16 bytes, the two ends by elements
 *
 * The two ends of a row are one chunk together, so that 8 rows' ends are 8 chunks of elements. */
#ifndef TSR_TILE_WGMMA_ROWS_H
#define TSR_TILE_WGMMA_ROWS_H

#include "ptx/vector.h"
#include "ptx/warp.h"
#include "tile/wgmma_output.h"

enum {
    ROWS_CHUNK = 16,
    ROWS_CHUNK_ELEMS = ROWS_CHUNK / OUT_BYTES,
    ROWS_WARP_BYTES = EPILOGUE_BOXES * BOX_BYTES / 4,
    /* Columns that are turned at once: so many lines of 128 bytes, a divisor of the tile's, as fit with a chunk for the
     * skew. */
    ROWS_LINES = BN / BOX_COLS,
    ROWS_FIT = (ROWS_WARP_BYTES / 8 - ROWS_CHUNK) / 128,
    ROWS_COLS = BOX_COLS * (ROWS_FIT >= 3 && ROWS_LINES % 3 == 0   ? 3
                            : ROWS_FIT >= 2 && ROWS_LINES % 2 == 0 ? 2
                                                                   : 1),
    ROWS_PITCH = ROWS_COLS * OUT_BYTES + ROWS_CHUNK
};

#if defined(OUT_f32)
#define rows_put tsr_shared_store_f32
#define rows_get tsr_shared_load_f32
#else
#define rows_put tsr_shared_store_u16
#define rows_get tsr_shared_load_u16
#endif

/* 8 rows of ROWS_COLS elements from the warp's buffer to D; the first row's first element goes to `d`. `rows`: how many
 * of them D has. */
TSR_DEVICE void rows_store(unsigned buffer, int lane, tile_element *d, long long ldd, int rows)
{
    enum { chunks = ROWS_COLS / ROWS_CHUNK_ELEMS };
    TSR_ROLLED
    for (int i = 0; i < chunks / 4; i++) {
        const int item = 32 * i + lane, row = item / chunks, chunk = item % chunks;
        tile_element *const to = d + row * ldd;
        const unsigned skew = (unsigned)((unsigned long long)to % ROWS_CHUNK);
        if (row < rows && (skew == 0 || chunk > 0)) {
            unsigned word[4];
            tsr_u32x4 out = {0, 0, 0, 0};
            tsr_shared_load_u32x4(buffer + (unsigned)(row * ROWS_PITCH + chunk * ROWS_CHUNK), word);
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
                tsr_lane(out, j) = word[j];
            tsr_store_u32x4((unsigned *)((unsigned char *)to - skew + chunk * ROWS_CHUNK), out);
        }
    }
    TSR_ROLLED
    for (int i = 0; i < ROWS_CHUNK_ELEMS / 4; i++) {
        const int item = 32 * i + lane, row = item / ROWS_CHUNK_ELEMS;
        tile_element *const to = d + row * ldd;
        const unsigned skew = (unsigned)((unsigned long long)to % ROWS_CHUNK);
        unsigned at = skew + (unsigned)(item % ROWS_CHUNK_ELEMS * OUT_BYTES); /* the head, then the tail */
        if (at >= ROWS_CHUNK)
            at += (unsigned)(ROWS_COLS * OUT_BYTES - ROWS_CHUNK);
        if (row < rows && skew != 0)
            *(tile_element *)((unsigned char *)to - skew + at) = rows_get(buffer + (unsigned)(row * ROWS_PITCH) + at);
    }
}

/* The same at the right edge of D, where `columns` are left. */
TSR_DEVICE void rows_store_part(unsigned buffer, int lane, tile_element *d, long long ldd, int rows, int columns)
{
    TSR_ROLLED
    for (int row = 0; row < rows; row++) {
        tile_element *const to = d + row * ldd;
        const unsigned from = buffer + (unsigned)(row * ROWS_PITCH) + (unsigned)((unsigned long long)to % ROWS_CHUNK);
        TSR_ROLLED
        for (int column = lane; column < columns; column += 32)
            to[column] = rows_get(from + (unsigned)(column * OUT_BYTES));
    }
}

/* The other way: 8 rows of C to the places where D's values will be written; zeros where C ends. */
TSR_DEVICE void rows_fetch(unsigned buffer, int lane, const tile_element *c, long long ldc, const tile_element *d,
                           long long ldd, int rows, int columns)
{
    TSR_ROLLED
    for (int row = 0; row < 8; row++) {
        const tile_element *const from = c + row * ldc;
        const unsigned to =
            buffer + (unsigned)(row * ROWS_PITCH) + (unsigned)((unsigned long long)(d + row * ldd) % ROWS_CHUNK);
        TSR_UNROLL
        for (int i = 0; i < ROWS_COLS / 32; i++) {
            const int column = 32 * i + lane;
            rows_put(to + (unsigned)(column * OUT_BYTES), row < rows && column < columns ? from[column] : 0);
        }
    }
}

/* The lane's values of 8 rows, from column `first` of the tile on, to the warp's buffer, at `to` the first of its row;
 * with beta != 0 C's values lie there. `half`: which 8 of the warp's rows. */
TSR_DEVICE void rows_turn(float alpha, float beta, unsigned to, int lane, int first, int half,
                          const float sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int j = 0; j < ROWS_COLS / 8; j++)
        TSR_UNROLL
    for (int i = 0; i < 2; i++) {
        const unsigned at = to + (unsigned)((8 * j + 2 * (lane % 4) + i) * OUT_BYTES);
        float value = tsr_mul_f32(alpha, sum[4 * (first / 8 + j) + 2 * half + i]);
        if (beta != 0)
            value = tsr_fma_f32(beta, tile_widen(rows_get(at)), value);
        rows_put(at, tile_narrow(value));
    }
}

/* 64 rows of the tile from row `m`, column `n` on, as tile_output does it. */
TSR_DEVICE void tile_output_rows(const tsr_gemm_args *args, const tile_boxes *boxes, int m, int n, int z,
                                 const float sum[TSR_WGMMA_REGISTERS])
{
    const float alpha = tile_alpha(args), beta = (float)args->beta;
    const int lane = boxes->thread % 32;
    const unsigned buffer = boxes->shared + (unsigned)(boxes->thread / 32 * ROWS_WARP_BYTES);
    TSR_UNROLL
    for (int half = 0; half < 2; half++) {
        const int top = m + boxes->thread / 32 * 16 + 8 * half;
        const long long below = args->m - top;
        const int rows = below < 0 ? 0 : below < 8 ? (int)below : 8;
        TSR_UNROLL
        for (int first = 0; first + ROWS_COLS <= BN; first += ROWS_COLS) {
            const long long right = args->n - n - first;
            tile_element *const d = (tile_element *)args->d + z * args->batch_d + top * args->ldd + n + first;
            const unsigned skew = (unsigned)((unsigned long long)(d + lane / 4 * args->ldd) % ROWS_CHUNK);
            tsr_warp_sync(TSR_ALL_LANES); /* what lay in the buffer before has left */
            if (beta != 0) {
                rows_fetch(buffer, lane,
                           (const tile_element *)args->c + z * args->batch_c + top * args->ldc + n + first, args->ldc,
                           d, args->ldd, rows, right < ROWS_COLS ? (int)right : ROWS_COLS);
                tsr_warp_sync(TSR_ALL_LANES);
            }
            rows_turn(alpha, beta, buffer + (unsigned)(lane / 4 * ROWS_PITCH) + skew, lane, first, half, sum);
            tsr_warp_sync(TSR_ALL_LANES);
            if (right >= ROWS_COLS)
                rows_store(buffer, lane, d, args->ldd, rows);
            else
                rows_store_part(buffer, lane, d, args->ldd, rows, (int)right);
        }
    }
    if (BN % ROWS_COLS)
        tile_output_direct(args, boxes->thread, m, n, z, BN / ROWS_COLS * ROWS_COLS, sum);
}

#undef rows_put
#undef rows_get

#endif
