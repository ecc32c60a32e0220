/* The last step of the Hopper kernels where the copy engine cannot write D: rows that begin anywhere.
 *
 * A warp holds 16 rows of the tile in registers, four lanes a row. Stored from there, 8 lanes would write 2 bytes each
 * to 8 rows, and each 32-byte sector of L2 would be written 16 times. So the warp turns 8 rows at a time in its quarter
 * of the output buffers. Each row lies there as far past a multiple of 64 bytes as it does in D
 * (`skew`), so that aligned chunks of the buffer are aligned chunks of D, and what four lanes store at once is two
 * whole sectors of L2:
 *
 *      buffer   |   ab cdefghij klmnopqr st      |  row r, PITCH bytes to the next: 8 rows hit different banks
 *      D        ...|   ab|cdefghij|klmnopqr|st...   whole chunks leave by 16 bytes, the two ends by elements
 *
 * The two ends of a row are one chunk together. The four lanes that hold a row also store it. */
#ifndef TSR_TILE_WGMMA_ROWS_H
#define TSR_TILE_WGMMA_ROWS_H

#include "ptx/vector.h"
#include "ptx/warp.h"
#include "tile/wgmma_output.h"

enum {
    ROWS_CHUNK = 16,
    ROWS_SPAN = 64, /* of four lanes */
    ROWS_CHUNK_ELEMS = ROWS_CHUNK / OUT_BYTES,
    ROWS_WARP_BYTES = EPILOGUE_BOXES * BOX_BYTES / 4,
    /* Columns that are turned at once: so many lines of 128 bytes, a divisor of the tile's, as fit with a chunk for the
     * skew. */
    ROWS_LINES = BN / BOX_COLS,
    ROWS_FIT = (ROWS_WARP_BYTES / 8 - ROWS_SPAN - ROWS_CHUNK) / 128,
    ROWS_COLS = BOX_COLS * (ROWS_FIT >= 3 && ROWS_LINES % 3 == 0   ? 3
                            : ROWS_FIT >= 2 && ROWS_LINES % 2 == 0 ? 2
                                                                   : 1),
    ROWS_PITCH = ROWS_COLS * OUT_BYTES + ROWS_SPAN + ROWS_CHUNK
};

#if defined(OUT_f32)
#define rows_put tsr_shared_store_f32
#define rows_get tsr_shared_load_f32
#else
#define rows_put tsr_shared_store_u16
#define rows_get tsr_shared_load_u16
#endif

/* The lane's row among the 8: four lanes share one, in D and in the buffer. */
typedef struct rows_lane {
    tile_element *d; /* the row's first element here; only if `exists` */
    unsigned at;     /* where that lies in the buffer */
    unsigned skew;   /* d's and at's bytes past a multiple of 64 */
    int exists, quarter;
} rows_lane;

/* 1 if chunk `i` of the lane, counted from the multiple of 64 bytes, lies wholly in the row. */
TSR_DEVICE int rows_is_whole(const rows_lane *lane, int i)
{
    const unsigned at = (unsigned)(4 * i + lane->quarter) * ROWS_CHUNK;
    return at >= lane->skew && at + ROWS_CHUNK <= lane->skew + ROWS_COLS * OUT_BYTES;
}

/* From the buffer to D, a few chunks of a lane at a time: what is read from shared memory is on its way before the
 * first of it is stored. */
TSR_DEVICE void rows_store(const rows_lane *lane)
{
    enum { SPANS = ROWS_COLS * OUT_BYTES / ROWS_SPAN + 1, BATCH = 3, ENDS = ROWS_CHUNK_ELEMS / 4 };
    const unsigned from = lane->at - lane->skew, head = lane->skew % ROWS_CHUNK;
    unsigned char *const to = (unsigned char *)lane->d - lane->skew;
    TSR_UNROLL
    for (int i = 0; i < SPANS; i += BATCH) {
        unsigned word[BATCH][4] = {{0}};
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++)
            if (rows_is_whole(lane, i + j))
                tsr_shared_load_u32x4(from + (unsigned)((4 * (i + j) + lane->quarter) * ROWS_CHUNK), word[j]);
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++) {
            tsr_u32x4 out = {0, 0, 0, 0};
            TSR_UNROLL
            for (int w = 0; w < 4; w++)
                tsr_lane(out, w) = word[j][w];
            if (lane->exists && rows_is_whole(lane, i + j))
                tsr_store_u32x4((unsigned *)(to + (4 * (i + j) + lane->quarter) * ROWS_CHUNK), out);
        }
    }
    TSR_UNROLL
    for (int i = 0; i < ENDS; i++) { /* the head's part of a chunk, then the tail's */
        unsigned place = head + (unsigned)((4 * i + lane->quarter) * OUT_BYTES);
        if (place >= ROWS_CHUNK)
            place += ROWS_COLS * OUT_BYTES - ROWS_CHUNK;
        place += lane->skew - head;
        if (lane->exists && head != 0)
            *(tile_element *)(to + place) = rows_get(from + place);
    }
}

/* The same at the right edge of D, where `columns` are left. */
TSR_DEVICE void rows_store_part(const rows_lane *lane, int columns)
{
    if (lane->exists)
        TSR_ROLLED
    for (int column = lane->quarter; column < columns; column += 4)
        lane->d[column] = rows_get(lane->at + (unsigned)(column * OUT_BYTES));
}

/* The other way: the row of C, `columns` of it, to where D's values will be written; zeros where C ends. */
TSR_DEVICE void rows_fetch(const rows_lane *lane, const tile_element *c, int columns)
{
    enum { BATCH = 8 }; /* loads under way at once */
    TSR_ROLLED
    for (int i = 0; i < ROWS_COLS / 4; i += BATCH) {
        tile_element value[BATCH];
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++) {
            const int column = 4 * (i + j) + lane->quarter;
            value[j] = lane->exists && column < columns ? c[column] : 0;
        }
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++)
            rows_put(lane->at + (unsigned)((4 * (i + j) + lane->quarter) * OUT_BYTES), value[j]);
    }
}

/* The lane's values of 8 rows, from column `first` of the tile on, to the buffer; with beta != 0 C's values lie there.
 * `half`: which 8 of the warp's rows. */
TSR_DEVICE void rows_turn(float alpha, float beta, const rows_lane *lane, int first, int half,
                          const float sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int j = 0; j < ROWS_COLS / 8; j++)
        TSR_UNROLL
    for (int i = 0; i < 2; i++) {
        const unsigned at = lane->at + (unsigned)((8 * j + 2 * lane->quarter + i) * OUT_BYTES);
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
    const int warp = boxes->thread / 32, in_warp = boxes->thread % 32;
    TSR_UNROLL
    for (int half = 0; half < 2; half++) {
        const int row = m + warp * 16 + 8 * half + in_warp / 4;
        TSR_UNROLL
        for (int first = 0; first + ROWS_COLS <= BN; first += ROWS_COLS) {
            const long long right = args->n - n - first;
            const int columns = right < ROWS_COLS ? (int)right : ROWS_COLS;
            rows_lane lane;
            lane.d = (tile_element *)args->d + z * args->batch_d + row * args->ldd + n + first;
            lane.skew = (unsigned)((unsigned long long)lane.d % ROWS_SPAN);
            lane.at = boxes->shared + (unsigned)(warp * ROWS_WARP_BYTES + in_warp / 4 * ROWS_PITCH) + lane.skew;
            lane.exists = row < args->m;
            lane.quarter = in_warp % 4;
            tsr_warp_sync(TSR_ALL_LANES); /* what lay in the buffer before has left */
            if (beta != 0) {
                rows_fetch(&lane, (const tile_element *)args->c + z * args->batch_c + row * args->ldc + n + first,
                           columns);
                tsr_warp_sync(TSR_ALL_LANES);
            }
            rows_turn(alpha, beta, &lane, first, half, sum);
            tsr_warp_sync(TSR_ALL_LANES);
            if (columns == ROWS_COLS)
                rows_store(&lane);
            else
                rows_store_part(&lane, columns);
        }
    }
    if (BN % ROWS_COLS)
        tile_output_direct(args, boxes->thread, m, n, z, BN / ROWS_COLS * ROWS_COLS, sum);
}

#undef rows_put
#undef rows_get

#endif
