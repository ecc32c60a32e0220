/* The last step of the Hopper kernels where the copy engine cannot write D: rows that begin anywhere.
 *
 * A warp holds 16 rows of the tile in registers, four lanes a row. Stored from there, 8 lanes would write 2 bytes each
 * to 8 rows. So the warp writes its 16 rows to the boxes as if the copy engine were to store them
 * (collective/wgmma_output.h), and 8 or 16 lanes take a row out together. A row of D begins `skew` bytes past a
 * multiple of 16, so a lane reads the two chunks of the box that its chunk of D straddles, and shifts:
 *
 *      box   |abcdefgh|ijklmnop|qrstuvwx|        a row, 128 or 256 bytes
 *      D     ..abc|defghijk|lmnopqrs|tuvwx...    whole chunks leave by 16 bytes, the two ends by elements
 *
 * Chunks lie independent of each other, so that many loads and shifts are under way: the warp has a scheduler for
 * itself, and every instruction that waits for the one before it costs all of its latency. */
#ifndef TSR_COLLECTIVE_WGMMA_ROWS_H
#define TSR_COLLECTIVE_WGMMA_ROWS_H

#include "ptx/shared_vector.h"
#include "ptx/vector.h"
#include "ptx/warp.h"
#include "tile/shift.h"

#include "collective/wgmma_output.h"

enum {
    ROWS_CHUNK = 16,
    ROWS_OF_WARP = 16,
    ROWS_BOXES = EPILOGUE_BOXES >= 2 && BN / BOX_COLS % 2 == 0 ? 2 : 1, /* beside each other, in one round */
    ROWS_COLS = ROWS_BOXES * BOX_COLS,
    ROWS_LANES = 8 * ROWS_BOXES, /* that take out a row */
    ROWS_AT_ONCE = 32 / ROWS_LANES,
    ROWS_CHUNK_ELEMS = ROWS_CHUNK / OUT_BYTES,
    ROWS_UNROLL = BN > 128 ? 1 : 4 /* bodies of a loop: the accumulators of wide tiles leave few registers */
};

#if defined(OUT_f32)
#define rows_put tsr_shared_store_f32
#define rows_get tsr_shared_load_f32
#else
#define rows_put tsr_shared_store_u16
#define rows_get tsr_shared_load_u16
#endif

/* A warp's 16 rows of a round. */
typedef struct rows_part {
    unsigned char *d; /* where row 0 begins */
    long long ldd_bytes;
    unsigned box; /* row 0 in the first box; the second one is BOX_BYTES further */
    int rows;     /* that D has, at most 16 */
    int bytes;    /* of each */
    int lane;
} rows_part;

/* Byte `at` of a row, as the swizzle has it. */
TSR_DEVICE unsigned rows_address(const rows_part *part, int row, unsigned at)
{
    const unsigned chunk = at / ROWS_CHUNK;
    return part->box + chunk / 8 * BOX_BYTES + (unsigned)row * 128 + (chunk % 8 ^ (unsigned)row % 8) * ROWS_CHUNK +
           at % ROWS_CHUNK;
}

/* Bytes from where the row begins in D to the first multiple of 16. */
TSR_DEVICE unsigned rows_lead(const rows_part *part, int row)
{
    return (0u - ((unsigned)(unsigned long long)part->d + (unsigned)row * (unsigned)part->ldd_bytes)) % ROWS_CHUNK;
}

TSR_DEVICE void rows_store(const rows_part *part)
{
    enum { BATCH = BN > 128 ? 2 : 4 }; /* chunks of a lane that are under way at once */
    const int in_row = part->lane % ROWS_LANES;
    TSR_UNROLL_BY(ROWS_UNROLL)
    for (int first = 0; first < ROWS_OF_WARP / ROWS_AT_ONCE; first += BATCH) {
        unsigned word[BATCH][2][4];
        TSR_UNROLL
        for (int i = 0; i < BATCH; i++) {
            const int row = (first + i) * ROWS_AT_ONCE + part->lane / ROWS_LANES;
            tsr_shared_load_u32x4(rows_address(part, row, (unsigned)in_row * ROWS_CHUNK), word[i][0]);
            tsr_shared_load_u32x4(rows_address(part, row, (unsigned)((in_row + 1) % ROWS_LANES * ROWS_CHUNK)),
                                  word[i][1]);
        }
        TSR_UNROLL
        for (int i = 0; i < BATCH; i++) {
            const int row = (first + i) * ROWS_AT_ONCE + part->lane / ROWS_LANES;
            const unsigned lead = rows_lead(part, row), at = lead + (unsigned)in_row * ROWS_CHUNK;
            const tsr_u32x4 out = tile_shift(word[i][0], word[i][1], lead);
            if (row < part->rows && (int)at + ROWS_CHUNK <= part->bytes)
                tsr_store_u32x4((unsigned *)(void *)(part->d + row * part->ldd_bytes + at), out);
        }
    }
}

/* What lies before the first whole chunk and past the last one. */
TSR_DEVICE void rows_store_ends(const rows_part *part)
{
    enum { AT_ONCE = 32 / ROWS_CHUNK_ELEMS }; /* rows: a chunk's worth of elements of each */
    /* At the right edge of D there may be more than a chunk. */
    const int passes = part->bytes == ROWS_COLS * OUT_BYTES ? 1 : 2;
    TSR_ROLLED
    for (int pass = 0; pass < passes; pass++) {
        TSR_UNROLL_BY(ROWS_UNROLL)
        for (int i = 0; i < ROWS_OF_WARP / AT_ONCE; i++) {
            const int row = i * AT_ONCE + part->lane / ROWS_CHUNK_ELEMS;
            const int lead = (int)rows_lead(part, row), head = lead < part->bytes ? lead : part->bytes;
            int at = (pass * ROWS_CHUNK_ELEMS + part->lane % ROWS_CHUNK_ELEMS) * OUT_BYTES;
            if (at >= head)
                at += (part->bytes - head) / ROWS_CHUNK * ROWS_CHUNK;
            if (row < part->rows && at < part->bytes)
                *(tile_element *)(void *)(part->d + row * part->ldd_bytes + at) =
                    rows_get(rows_address(part, row, (unsigned)at));
        }
    }
}

/* The other way: C's rows to where D's values will be written, zeros where C ends. */
TSR_DEVICE void rows_fetch(const rows_part *part, const tile_element *c, long long ldc)
{
    enum { BATCH = 4 }; /* loads under way at once */
    TSR_ROLLED
    for (int first = 0; first < ROWS_OF_WARP * ROWS_COLS / 32; first += BATCH) {
        tile_element value[BATCH];
        TSR_UNROLL
        for (int i = 0; i < BATCH; i++) {
            const int row = (first + i) * 32 / ROWS_COLS, column = (first + i) * 32 % ROWS_COLS + part->lane;
            value[i] = row < part->rows && column * OUT_BYTES < part->bytes ? c[row * ldc + column] : 0;
        }
        TSR_UNROLL
        for (int i = 0; i < BATCH; i++) {
            const int row = (first + i) * 32 / ROWS_COLS, column = (first + i) * 32 % ROWS_COLS + part->lane;
            rows_put(rows_address(part, row, (unsigned)(column * OUT_BYTES)), value[i]);
        }
    }
}

/* The boxes of a round, from column `column` of D's `columns` on. */
TSR_DEVICE void rows_write_boxes(const epilogue *e, int end, const tile_boxes *boxes, int column, int columns,
                                 const float *sum)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_BOXES; i++) {
        unsigned bias = 0;
        if (end == END_BIAS || (end == END_ANY && e->form))
            bias = tile_box_bias(e, tsr_again(boxes->thread) % 32, column + i * BOX_COLS, columns);
        tile_write_box(e, end, boxes->shared + (unsigned)(i * BOX_BYTES), boxes->thread, bias, sum + i * BOX_VALUES);
    }
}

/* 64 rows of the tile from row `m`, column `n` on, as tile_output does it. */
TSR_DEVICE void tile_output_rows(const tsr_gemm_args *args, const tile_boxes *boxes, int m, int n, int z,
                                 const float sum[TSR_WGMMA_REGISTERS])
{
    const epilogue e = epilogue_of(args);
    const int row = m + boxes->thread / 32 * ROWS_OF_WARP;
    TSR_UNROLL
    for (int first = 0; first + ROWS_COLS <= BN; first += ROWS_COLS) {
        const long long down = args->m - row, right = args->n - n - first;
        rows_part part;
        part.d = (unsigned char *)((tile_element *)args->d + z * args->batch_d + row * args->ldd + n + first);
        part.ldd_bytes = args->ldd * OUT_BYTES;
        part.box = boxes->shared + (unsigned)(boxes->thread / 32 * ROWS_OF_WARP * 128);
        part.rows = down < ROWS_OF_WARP ? (int)down : ROWS_OF_WARP;
        part.bytes = OUT_BYTES * (right < ROWS_COLS ? (int)right : ROWS_COLS);
        part.lane = boxes->thread % 32;
        tsr_warp_sync(TSR_ALL_LANES); /* what lay in the boxes before has left */
        if (e.reads_c) {
            rows_fetch(&part, (const tile_element *)args->c + z * args->batch_c + row * args->ldc + n + first,
                       args->ldc);
            tsr_warp_sync(TSR_ALL_LANES);
        }
        if (!e.reads_c && e.form == TSR_EPILOGUE_NONE)
            rows_write_boxes(&e, END_PLAIN, boxes, n + first, (int)args->n, sum + first / BOX_COLS * BOX_VALUES);
        else if (BN <= 128 && !e.reads_c && e.form == TSR_EPILOGUE_BIAS) /* wider tiles would spill */
            rows_write_boxes(&e, END_BIAS, boxes, n + first, (int)args->n, sum + first / BOX_COLS * BOX_VALUES);
        else
            rows_write_boxes(&e, END_ANY, boxes, n + first, (int)args->n, sum + first / BOX_COLS * BOX_VALUES);
        tsr_warp_sync(TSR_ALL_LANES);
        if (part.rows <= 0 || part.bytes <= 0)
            continue;
        rows_store(&part);
        rows_store_ends(&part);
    }
    if (BN % ROWS_COLS)
        tile_output_direct(args, boxes->thread, m, n, z, BN / ROWS_COLS * ROWS_COLS, sum);
}

#undef rows_put
#undef rows_get

#endif
