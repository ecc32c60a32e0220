/* The last step of the Hopper kernels: a warp group turns WM x BN accumulators into D = alpha * sum + beta * C.
 *
 * The tile leaves in boxes of 64 rows and 128 bytes. For each box the warp group
 *   1. waits until the copy engine has read the box that lay in this buffer before;
 *   2. with beta != 0, has the copy engine bring the same box of C into the buffer;
 *   3. scales, adds C in place, rounds, writes to shared memory;
 *   4. makes the writes visible to the copy engine, and one thread asks it to store the box.
 * The stores go on while the warp group starts its next tile. The copy engine clips at the edges of D and fills with
 * zeros outside C, so edges need no code here. But it clips at multiples of 16 bytes, and wants bases and strides to be
 * such multiples: where N, D or C are not, threads load and store themselves (collective/wgmma_rows.h).
 *
 * Buffer: row r of a box is 128 bytes at 128 * r; its 16-byte chunk q lies at place q ^ (r % 8), the copy engine's
 * 128-byte swizzle, so that the 8 rows which a matrix instruction touches at once lie in different banks. */
#ifndef TSR_COLLECTIVE_WGMMA_OUTPUT_H
#define TSR_COLLECTIVE_WGMMA_OUTPUT_H

#include "ptx/arithmetic.h"
#include "ptx/barrier.h"
#include "ptx/matrix.h"
#include "ptx/mbarrier.h"
#include "ptx/shared.h"
#include "ptx/shared_vector.h"
#include "ptx/tma.h"
#include "ptx/vector.h"
#include "ptx/warp.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma.h"
#include "tile/wgmma_element.h"

/* What an end does beside scaling: anything that is asked for, nothing, or adding a bias. Each has code of its own: an
 * end runs once a tile, at the pace at which instructions are fetched, so that steps which it skips would still cost it
 * their room. */
enum { END_ANY, END_PLAIN, END_BIAS };

enum { BOX_COLS = 128 / OUT_BYTES, BOX_ROWS = 64, BOX_BYTES = 128 * BOX_ROWS, BOX_VALUES = BOX_COLS / 2 };

/* What a warp group needs for its boxes: `buffers` of them at `shared`, of which `next` is the next to be used. */
typedef struct tile_boxes {
    unsigned shared;   /* EPILOGUE_BOXES buffers */
    unsigned c_full;   /* mbarrier: C's box has come */
    unsigned c_parity; /* of its next phase */
    int next;
    int group;  /* warp group, for its named barrier */
    int thread; /* in the warp group */
} tile_boxes;

/* A lane's 4 bytes of the bias of a box from column `column` of D's `columns` on. Lanes fetch each column once and pass
 * it on by shuffles: a thread's own columns would take 16 registers, which some tiles do not have, or a wait for each.
 * Beyond D any value does, since none is stored there. */
TSR_DEVICE unsigned tile_box_bias(const epilogue *e, int lane, int column, int columns)
{
#if defined(OUT_f32)
    const int at = column + lane;
    return tsr_bits_of_f32(e->bias[at < columns ? at : columns - 1]);
#else
    const int at = column + 2 * lane, last = columns - 1;
    return (unsigned)e->bias[at < last ? at : last] | (unsigned)e->bias[at + 1 < last ? at + 1 : last] << 16;
#endif
}

/* The bias of columns 8 * q + 2 * (lane % 4) and the next one of a box. All lanes of the warp. */
TSR_DEVICE void tile_pass_bias(unsigned bias, int lane, int q, float out[2])
{
#if defined(OUT_f32)
    TSR_UNROLL
    for (int i = 0; i < 2; i++)
        out[i] = tsr_f32_of_bits(tsr_shuffle(TSR_ALL_LANES, bias, (unsigned)(8 * q + 2 * (lane % 4) + i)));
#else
    tile_unpack(tsr_shuffle(TSR_ALL_LANES, bias, (unsigned)(4 * q + lane % 4)), &out[0], &out[1]);
#endif
}

/* Adds the bias of two columns, and what else the form asks for. */
TSR_DEVICE void tile_add_bias(const epilogue *e, int end, const float bias[2], float value[2])
{
    if (end != END_BIAS)
        epilogue_form(e, 2, bias, value);
    else
        epilogue_add_bias(2, bias, value);
}

/* The thread's share of the first `columns` of one box, in the accumulators' order. `end`, a constant: END_ANY and its
 * like. `columns`, a constant: a multiple of 16. `bias`: of tile_box_bias, where there is a form. Boxes begin at
 * multiples of 1024 bytes: to go two chunks further is an exclusive or, whatever the swizzle is. */
TSR_DEVICE void tile_write_columns(const epilogue *e, int end, int columns, unsigned box, int thread, unsigned bias,
                                   const float sum[BOX_VALUES])
{
    const int lane = thread % 32;
#if defined(OUT_f32)
    /* Element pairs of 8 bytes: rows lane / 4 and 8 below, columns 8 * j + 2 * (lane % 4). */
    const int row = thread / 32 * 16 + lane / 4;
    const unsigned first = box + (unsigned)(row * 128 + (lane % 4 / 2 ^ row % 8) * 16 + lane % 2 * 8);
    TSR_UNROLL
    for (int j = 0; j < columns / 8; j++)
        TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const unsigned address = (first ^ (unsigned)(j * 32)) + (unsigned)(h * 8 * 128); /* two chunks further */
        float value[2];
        epilogue_scale(e, 2, sum + 4 * j + 2 * h, value);
        if (end == END_ANY && e->reads_c) {
            float c[2];
            tsr_shared_load_f32x2(address, c);
            epilogue_add_c(e, 2, c, value);
        }
        if (end == END_BIAS || (end == END_ANY && e->form)) {
            float added[2];
            tile_pass_bias(bias, lane, j, added);
            tile_add_bias(e, end, added, value);
        }
        tsr_shared_store_f32x2(address, value[0], value[1]);
    }
#else
    /* Four 8x8 matrices at a time: rows 0-7 and 8-15 of the warp's 16, two chunks of 8 columns. */
    const int row = thread / 32 * 16 + lane % 16;
    const unsigned first = box + (unsigned)(row * 128 + (lane / 16 ^ row % 8) * 16);
    TSR_UNROLL
    for (int j = 0; j < columns / 16; j++) {
        const unsigned address = first ^ (unsigned)(j * 32); /* two chunks further */
        unsigned pair[4];
        float value[8];
        epilogue_scale(e, 8, sum + 8 * j, value);
        if (end == END_ANY && e->reads_c) {
            tsr_load_matrix_x4(address, pair);
            TSR_UNROLL
            for (int i = 0; i < 4; i++) {
                float c[2];
                tile_unpack(pair[i], &c[0], &c[1]);
                epilogue_add_c(e, 2, c, value + 2 * i);
            }
        }
        if (end == END_BIAS || (end == END_ANY && e->form)) {
            TSR_UNROLL
            for (int i = 0; i < 2; i++) {
                float added[2];
                tile_pass_bias(bias, lane, 2 * j + i, added);
                tile_add_bias(e, end, added, value + 4 * i);
                tile_add_bias(e, end, added, value + 4 * i + 2);
            }
        }
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            pair[i] = tile_pack(value[2 * i], value[2 * i + 1]);
        tsr_store_matrix_x4(address, pair);
    }
#endif
}

TSR_DEVICE void tile_write_box(const epilogue *e, int end, unsigned box, int thread, unsigned bias,
                               const float sum[BOX_VALUES])
{
    tile_write_columns(e, end, BOX_COLS, box, thread, bias, sum);
}

/* 1 if the copy engine can write D and read C: the host's rule for making their maps (core/tensor_spec.h). */
TSR_DEVICE int tile_output_is_boxed(const tsr_gemm_args *args)
{
    unsigned long long all = (unsigned long long)args->n * OUT_BYTES | (unsigned long long)args->d |
                             (unsigned long long)args->ldd * OUT_BYTES | (unsigned long long)args->batch_d * OUT_BYTES;
    if (args->beta != 0)
        all |= (unsigned long long)args->c | (unsigned long long)args->ldc * OUT_BYTES |
               (unsigned long long)args->batch_c * OUT_BYTES;
    return all % 16 == 0;
}

/* Columns of the tile that fill no box, element by element from registers: from `first` on, a multiple of 8. */
TSR_DEVICE void tile_output_direct(const tsr_gemm_args *args, int thread, int m, int n, int z, int first,
                                   const float sum[TSR_WGMMA_REGISTERS])
{
    const epilogue e = epilogue_of(args);
    const int lane = thread % 32;
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const int row = m + thread / 32 * 16 + lane / 4 + 8 * h;
        if (row < args->m) {
            tile_element *d = (tile_element *)args->d + z * args->batch_d + row * args->ldd;
            const tile_element *c = (const tile_element *)args->c + z * args->batch_c + row * args->ldc;
            TSR_UNROLL
            for (int j = first / 8; j < TSR_WGMMA_N / 8; j++)
                TSR_UNROLL
            for (int i = 0; i < 2; i++) {
                const int column = n + 8 * j + 2 * (lane % 4) + i;
                if (column < args->n) {
                    float value;
                    epilogue_scale(&e, 1, &sum[4 * j + 2 * h + i], &value);
                    if (e.reads_c) {
                        const float old = tile_widen(c[column]);
                        epilogue_add_c(&e, 1, &old, &value);
                    }
                    epilogue_form_row(&e, e.bias + column, 1, 1, &value);
                    d[column] = tile_narrow(value);
                }
            }
        }
    }
}

/* The columns beyond whole boxes, not added to C and without a form, through a buffer for boxes: a warp writes its 16
 * rows there and stores them by chunks of 16 bytes. Whole boxes may leave, so D takes these. */
TSR_DEVICE void tile_output_chunks(const tsr_gemm_args *args, tile_boxes *boxes, int m, int n, int z,
                                   const float sum[BOX_VALUES])
{
    enum { COLUMNS = BN % BOX_COLS, CHUNKS = COLUMNS * OUT_BYTES / 16, OF_CHUNK = 16 / OUT_BYTES };
    const epilogue e = epilogue_of(args);
    const unsigned box = boxes->shared + (unsigned)boxes->next * BOX_BYTES;
    const int lane = boxes->thread % 32;
    boxes->next = boxes->next + 1 < EPILOGUE_BOXES ? boxes->next + 1 : 0;
    if (boxes->thread == 0)
        tsr_tma_wait_read(EPILOGUE_BOXES - 1);
    tsr_named_barrier(1 + (unsigned)boxes->group, 128);
    tile_write_columns(&e, END_PLAIN, COLUMNS, box, boxes->thread, 0, sum);
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int i = lane; i < 16 * CHUNKS; i += 32) {
        const int row = boxes->thread / 32 * 16 + i / CHUNKS, chunk = i % CHUNKS;
        unsigned word[4];
        tsr_shared_load_u32x4(box + (unsigned)(row * 128 + (chunk ^ row % 8) * 16), word);
        if (m + row < args->m && n + chunk * OF_CHUNK < args->n) {
            tsr_u32x4 out = {word[0], word[1], word[2], word[3]};
            tsr_store_u32x4((unsigned *)(void *)((tile_element *)args->d + z * args->batch_d + (m + row) * args->ldd +
                                                 n + chunk * OF_CHUNK),
                            out);
        }
    }
    tsr_fence_async_shared();
    if (boxes->thread == 0)
        tsr_tma_commit(); /* an empty group, in the buffer's turn */
}

/* All boxes of one set of accumulators. */
TSR_DEVICE void tile_output_boxes(const tsr_gemm_args *args, const tsr_tensor_maps *maps, int end, tile_boxes *boxes,
                                  int m, int n, int z, const float sum[TSR_WGMMA_REGISTERS])
{
    const epilogue e = epilogue_of(args);
    const int reads_c = end == END_ANY && e.reads_c, has_form = end == END_BIAS || (end == END_ANY && e.form);
    unsigned bias = 0;
    if (has_form)
        bias = tile_box_bias(&e, tsr_again(boxes->thread) % 32, n, (int)args->n);
    TSR_UNROLL
    for (int i = 0; i < BN / BOX_COLS; i++) {
        const unsigned box = boxes->shared + (unsigned)boxes->next * BOX_BYTES;
        const int column = n + i * BOX_COLS;
        boxes->next = boxes->next + 1 < EPILOGUE_BOXES ? boxes->next + 1 : 0;
        if (boxes->thread == 0) {
            tsr_tma_wait_read(EPILOGUE_BOXES - 1);
            if (reads_c) {
                tsr_mbarrier_arrive_expect(boxes->c_full, BOX_BYTES);
                tsr_tma_load(box, &maps->c, boxes->c_full, column, m, args->batch_c ? z : 0);
            }
        }
        if (reads_c) {
            tsr_mbarrier_wait(boxes->c_full, boxes->c_parity);
            boxes->c_parity ^= 1;
        } else {
            tsr_named_barrier(1 + (unsigned)boxes->group, 128);
        }
        tile_write_box(&e, end, box, end == END_PLAIN ? boxes->thread : tsr_again(boxes->thread), bias,
                       sum + i * BOX_VALUES);
        if (has_form && i + 1 < BN / BOX_COLS) /* the next box's come while this one is handed over */
            bias = tile_box_bias(&e, tsr_again(boxes->thread) % 32, column + BOX_COLS, (int)args->n);
        tsr_fence_async_shared();
        tsr_named_barrier(1 + (unsigned)boxes->group, 128);
        if (boxes->thread == 0) {
            tsr_tma_store(&maps->d, box, column, m, args->batch_d ? z : 0);
            tsr_tma_commit();
        }
    }
}

/* 64 rows of the tile from row `m`, column `n` on. */
TSR_DEVICE void tile_output(const tsr_gemm_args *args, const tsr_tensor_maps *maps, tile_boxes *boxes, int m, int n,
                            int z, const float sum[TSR_WGMMA_REGISTERS])
{
    if (args->beta == 0 && args->epilogue == TSR_EPILOGUE_NONE)
        tile_output_boxes(args, maps, END_PLAIN, boxes, m, n, z, sum);
    else if (args->beta == 0 && args->epilogue == TSR_EPILOGUE_BIAS)
        tile_output_boxes(args, maps, END_BIAS, boxes, m, n, z, sum);
    else
        tile_output_boxes(args, maps, END_ANY, boxes, m, n, z, sum);
    if (BN % BOX_COLS) {
        const int first = BN / BOX_COLS * BOX_COLS;
        if (args->beta == 0 && args->epilogue == TSR_EPILOGUE_NONE && BN % BOX_COLS % 16 == 0)
            tile_output_chunks(args, boxes, m, n + first, z, sum + first / 2);
        else
            tile_output_direct(args, boxes->thread, m, n, z, first, sum);
    }
}

#endif
