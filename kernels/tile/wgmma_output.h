/* The last step of the Hopper kernels: a warp group turns WM x BN accumulators into D = alpha * sum + beta * C.
 *
 * The tile leaves in boxes of 64 rows and 128 bytes. For each box the warp group
 *   1. waits until the copy engine has read the box that lay in this buffer before;
 *   2. with beta != 0, has the copy engine bring the same box of C into the buffer;
 *   3. scales, adds C in place, rounds, writes to shared memory;
 *   4. makes the writes visible to the copy engine, and one thread asks it to store the box.
 * The stores go on while the warp group starts its next tile. The copy engine clips at the edges of D and fills with
 * zeros outside C, so edges need no code here. But it clips at multiples of 16 bytes, and wants bases and strides to be
 * such multiples: where N, D or C are not, threads load and store themselves (tile/wgmma_rows.h).
 *
 * Buffer: row r of a box is 128 bytes at 128 * r; its 16-byte chunk q lies at place q ^ (r % 8), the copy engine's
 * 128-byte swizzle, so that the 8 rows which a matrix instruction touches at once lie in different banks. */
#ifndef TSR_TILE_WGMMA_OUTPUT_H
#define TSR_TILE_WGMMA_OUTPUT_H

#include "ptx/arithmetic.h"
#include "ptx/barrier.h"
#include "ptx/matrix.h"
#include "ptx/mbarrier.h"
#include "ptx/shared.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma.h"
#include "tile/wgmma_element.h"

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

/* The thread's share of one box: BOX_VALUES values of `sum`, in the accumulators' order. */
TSR_DEVICE void tile_write_box(unsigned box, int thread, float alpha, float beta, const float sum[BOX_VALUES])
{
    const int lane = thread % 32;
#if defined(OUT_f32)
    /* Element pairs of 8 bytes: rows lane / 4 and 8 below, columns 8 * j + 2 * (lane % 4). */
    const int row = thread / 32 * 16 + lane / 4;
    TSR_UNROLL
    for (int j = 0; j < BOX_COLS / 8; j++)
        TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const unsigned chunk = (unsigned)(2 * j + lane % 4 / 2) ^ (unsigned)(row % 8);
        const unsigned address = box + (unsigned)(row + 8 * h) * 128 + chunk * 16 + (unsigned)(lane % 2) * 8;
        float low = tsr_mul_f32(alpha, sum[4 * j + 2 * h]), high = tsr_mul_f32(alpha, sum[4 * j + 2 * h + 1]);
        if (beta != 0) {
            float c[2];
            tsr_shared_load_f32x2(address, c);
            low = tsr_fma_f32(beta, c[0], low);
            high = tsr_fma_f32(beta, c[1], high);
        }
        tsr_shared_store_f32x2(address, low, high);
    }
#else
    /* Four 8x8 matrices at a time: rows 0-7 and 8-15 of the warp's 16, two chunks of 8 columns. */
    const int row = thread / 32 * 16 + lane % 16;
    TSR_UNROLL
    for (int j = 0; j < BOX_COLS / 16; j++) {
        const unsigned chunk = (unsigned)(2 * j + lane / 16) ^ (unsigned)(row % 8);
        const unsigned address = box + (unsigned)row * 128 + chunk * 16;
        unsigned pair[4];
        float value[8];
        TSR_UNROLL
        for (int i = 0; i < 8; i++)
            value[i] = tsr_mul_f32(alpha, sum[8 * j + i]);
        if (beta != 0) {
            tsr_load_matrix_x4(address, pair);
            TSR_UNROLL
            for (int i = 0; i < 4; i++) {
                float low, high;
                tile_unpack(pair[i], &low, &high);
                value[2 * i] = tsr_fma_f32(beta, low, value[2 * i]);
                value[2 * i + 1] = tsr_fma_f32(beta, high, value[2 * i + 1]);
            }
        }
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            pair[i] = tile_pack(value[2 * i], value[2 * i + 1]);
        tsr_store_matrix_x4(address, pair);
    }
#endif
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
    const float alpha = tile_alpha(args), beta = (float)args->beta;
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
                    float value = tsr_mul_f32(alpha, sum[4 * j + 2 * h + i]);
                    if (beta != 0)
                        value = tsr_fma_f32(beta, tile_widen(c[column]), value);
                    d[column] = tile_narrow(value);
                }
            }
        }
    }
}

/* 64 rows of the tile from row `m`, column `n` on: all boxes of one set of accumulators. */
TSR_DEVICE void tile_output(const tsr_gemm_args *args, const tsr_tensor_maps *maps, tile_boxes *boxes, int m, int n,
                            int z, const float sum[TSR_WGMMA_REGISTERS])
{
    const float alpha = tile_alpha(args), beta = (float)args->beta;
    TSR_UNROLL
    for (int i = 0; i < BN / BOX_COLS; i++) {
        const unsigned box = boxes->shared + (unsigned)boxes->next * BOX_BYTES;
        const int column = n + i * BOX_COLS;
        boxes->next = boxes->next + 1 < EPILOGUE_BOXES ? boxes->next + 1 : 0;
        if (boxes->thread == 0) {
            tsr_tma_wait_read(EPILOGUE_BOXES - 1);
            if (beta != 0) {
                tsr_mbarrier_arrive_expect(boxes->c_full, BOX_BYTES);
                tsr_tma_load(box, &maps->c, boxes->c_full, column, m, args->batch_c ? z : 0);
            }
        }
        if (beta != 0) {
            tsr_mbarrier_wait(boxes->c_full, boxes->c_parity);
            boxes->c_parity ^= 1;
        } else {
            tsr_named_barrier(1 + (unsigned)boxes->group, 128);
        }
        tile_write_box(box, boxes->thread, alpha, beta, sum + i * BOX_VALUES);
        tsr_fence_async_shared();
        tsr_named_barrier(1 + (unsigned)boxes->group, 128);
        if (boxes->thread == 0) {
            tsr_tma_store(&maps->d, box, column, m, args->batch_d ? z : 0);
            tsr_tma_commit();
        }
    }
    if (BN % BOX_COLS)
        tile_output_direct(args, boxes->thread, m, n, z, BN / BOX_COLS * BOX_COLS, sum);
}

#endif
