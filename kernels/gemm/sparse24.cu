/* sparse24: D = alpha * op(A) * op(B) + beta * C on tensor cores, one of A and B compressed 2:4.
 *
 * New against mma: mma.sp multiplies two of each four elements along K of one operand, with as many of the other, which
 * metadata selects: K / 2 products for each element of D, half the loads of the compressed operand. Of f32, which
 * becomes tf32, it is one of each two.
 *   - The compressed operand lies in the form that tsr_compress24 makes (core/sparse24.h): lines along K, padded to 128
 *     lines and 256 bytes of K, so its tiles have no edges. For each 16 lines and 64 of K (32 of tf32) the lanes' 32
 *     words of metadata lie together, reordered for the instruction: a lane's word is its own.
 *   - The instruction's sparse operand is its A. Where B is compressed (swap_ab) D^T = op(B)^T op(A)^T is computed:
 *     lines are columns of D.
 *
 *      CTA: BM lines x BN          warp: WM x WN = 64 x 64            one line of a stage, 16 bits, BK = 64
 *      +----+----+                  n  8 columns each                 k      0    4    8   ...  60
 *      | w0 | w1 |              16 [ ][ ][ ][ ][ ][ ][ ][ ]          whole  [....|....|....|..|....]
 *      +----+----+  lines along    [ ][ ][ ][ ][ ][ ][ ][ ]          given  [..|..|..|...|..]  64 bytes
 *      | w2 | w3 |  K              [ ][ ][ ][ ][ ][ ][ ][ ]          2 bits  01 03 23 ...      8 bytes
 *      +----+----+                 [ ][ ][ ][ ][ ][ ][ ][ ]
 *
 *      stage: values BM x BK/2 | the other operand BN x BK | metadata BM x BK/8 bytes
 *
 *   name      value    meaning
 *   BM, BN    128 128  lines of the compressed operand, and of the other one
 *   BK        64 128 32  step along K, 128 bytes of the other operand: two instructions
 *   WM, WN    64       tile of a warp
 *   STAGES    3        buffers in shared memory
 *   BAND      8        rows of tiles in a band (collective/raster.h)
 *   CTAS      2        CTAs that must fit on an SM: bounds the registers
 *   ELEM_*    bf16 f16 tf32 int8    A and B (int8: each s8 or u8, a uniform branch); C and D have args.type_d
 *   shared    STAGES * ((BM * BK / 2 + BN * BK) * bytes of an element + BM * BLOCKS * 8)
 *
 * Assumes: the other operand's pointer, leading dimension and batch stride are multiples of 16 bytes; but of 16 bits it
 * lies along K. BM divides the 128 lines to which the form is padded. Any M, N, K. NaN and infinities of the other
 * operand that meet only elements that were dropped do not reach D.
 *
 * Bound by: the tensor cores, whose sparse rate is twice the dense one; by the copies of the other operand before that.
 *
 * Measured: 208 TFLOP/s of the dense product's operations on an H100 at 8192 (2026-11-25, bf16); wgmma_sparse24 there
 * has 1,064. Not timed on an A100. In tf32 112 on an H200 at 4096 (2026-11-27). */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"

#include "collective/raster.h"
#include "tile/sparse_element.h" /* before the next, which takes its types */
#include "tile/tensor_fragment.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    LINES_16 = WM / 16, /* fragments of a warp */
    COLS_16 = WN / 16,
    STEPS = 2,     /* instructions along K of a stage */
    KEPT = BK / 2, /* of the BK elements of a line that are given */
    BLOCK_K = sizeof(elem) == 4 ? 32 : 64,
    BLOCKS = BK / BLOCK_K, /* of metadata along K, each of 32 words for 16 lines */
    BLOCK_BYTES = 128,
    FORM_K = 256 / (int)sizeof(elem),       /* to whose multiple K is padded */
    TILE_S = BM * KEPT * (int)sizeof(elem), /* bytes */
    TILE_X = BN * BK * (int)sizeof(elem),
    TILE_METADATA = BM / 16 * BLOCKS * BLOCK_BYTES,
    STAGE = TILE_S + TILE_X + TILE_METADATA
};

/* Where the CTA's metadata lies: of each 16 lines all blocks along K, one after the other. */
typedef struct metadata_stream {
    const unsigned char *next;
    long long line_bytes;
} metadata_stream;

TSR_DEVICE void copy_metadata(metadata_stream *s, unsigned char *to, int thread)
{
    enum { CHUNKS = BLOCKS * BLOCK_BYTES / 16 };
    TSR_ROLLED
    for (int i = thread; i < TILE_METADATA / 16; i += THREADS)
        tsr_copy_async_16(to + i * 16, s->next + i / CHUNKS * s->line_bytes + i % CHUNKS * 16, 16);
    s->next += BLOCKS * BLOCK_BYTES;
}

/* What a product of one CTA reads. */
typedef struct operands {
    const elem *values, *other; /* of this problem */
    long long k, k_padded, lines_padded, ld, rows;
} operands;

TSR_DEVICE void multiply_step(sum_elem sum[LINES_16][2 * COLS_16][4], const unsigned char *stage, unsigned offset_s,
                              unsigned offset_x, const unsigned *words, int step, int x_k, int second_s, int second_x)
{
    unsigned s[LINES_16][4], metadata[LINES_16];
    TSR_UNROLL
    for (int i = 0; i < LINES_16; i++) {
        tensor_load(s[i], stage, offset_s, i, step, 0, BM, KEPT, 1);
        tensor_round(s[i]);
        metadata[i] = words[(i * BLOCKS + step * BLOCKS / 2) * (BLOCK_BYTES / 4)];
    }
    TSR_UNROLL
    for (int j = 0; j < COLS_16; j++) {
        unsigned first[4], second[4];
        tensor_load(first, stage, offset_x, j, 2 * step, 1, BN, BK, x_k);
        tensor_load(second, stage, offset_x, j, 2 * step + 1, 1, BN, BK, x_k);
        tensor_round(first);
        tensor_round(second);
        TSR_UNROLL
        for (int h = 0; h < 2; h++) {
            const unsigned x[4] = {first[2 * h], first[2 * h + 1], second[2 * h], second[2 * h + 1]};
            TSR_UNROLL
            for (int i = 0; i < LINES_16; i++)
                sparse_mma(sum[i][2 * j + h], s[i], x, metadata[i], step, second_s, second_x);
        }
    }
}

/* sum = the CTA's tile: lines of the compressed operand from line0 on, rows of the other from row0 on. Constants: x_k:
 * K is contiguous in the other one; second_: the compressed operand, the other one, is u8. */
TSR_DEVICE void multiply(const operands *o, long long line0, long long row0, sum_elem sum[LINES_16][2 * COLS_16][4],
                         int x_k, int second_s, int second_x)
{
    unsigned char *const shared = TSR_SHARED;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int warp_line = warp / WARPS_N * WM;
    const unsigned offset_s = tensor_lane_offset(warp_line, lane, 0, BM, KEPT, 1);
    const unsigned offset_x = tensor_lane_offset(warp % WARPS_N * WN, lane, 1, BN, BK, x_k) + TILE_S;
    const unsigned tiles = (unsigned)((o->k + BK - 1) / BK), full = (unsigned)(o->k / BK);
    const int rest = (int)(o->k % BK);
    tensor_stream s =
        tensor_stream_open(o->values, o->k_padded / 2, line0, o->lines_padded, BM, KEPT, THREADS, thread, 1);
    tensor_stream x = tensor_stream_open(o->other, o->ld, row0, o->rows, BN, BK, THREADS, thread, x_k);
    metadata_stream m;
    m.line_bytes = o->k_padded / BLOCK_K * BLOCK_BYTES;
    m.next = (const unsigned char *)(o->values + o->lines_padded * o->k_padded / 2) + line0 / 16 * m.line_bytes;

    /* Fill all stages but one. A stage without a tile is an empty group: waiting counts groups. */
    TSR_ROLLED
    for (unsigned t = 0; t < STAGES - 1; t++) {
        if (t < tiles) {
            unsigned char *const to = shared + t * STAGE;
            tensor_copy_whole(&s, to, BM, KEPT, THREADS);
            tensor_copy(&x, to + TILE_S, BN, BK, THREADS, thread, t < full ? BK : rest, x_k, 1);
            copy_metadata(&m, to + TILE_S + TILE_X, thread);
        }
        tsr_copy_commit();
    }

    int stage = 0, next = (STAGES - 1) * STAGE; /* where the tile in use lies, and where the next one to come goes */
    TSR_ROLLED
    for (unsigned t = 0; t < tiles; t++) {
        tsr_copy_wait(STAGES - 2);
        tsr_barrier(); /* the tile is there for all, and all are done with the one before it */
        if (t + STAGES - 1 < tiles) {
            unsigned char *const to = shared + next;
            tensor_copy_whole(&s, to, BM, KEPT, THREADS);
            tensor_copy(&x, to + TILE_S, BN, BK, THREADS, thread, t + STAGES - 1 < full ? BK : rest, x_k, 1);
            copy_metadata(&m, to + TILE_S + TILE_X, thread);
        }
        tsr_copy_commit();
        const unsigned *const words = (const unsigned *)(const void *)(shared + stage + TILE_S + TILE_X) +
                                      warp_line / 16 * BLOCKS * (BLOCK_BYTES / 4) + lane;
        TSR_UNROLL
        for (int step = 0; step < STEPS; step++)
            multiply_step(sum, shared + stage, offset_s, offset_x, words, step, x_k, second_s, second_x);
        next = stage;
        stage = stage == (STAGES - 1) * STAGE ? 0 : stage + STAGE;
    }
}

/* Sum (line, row) is D[line, row], or D[row, line] with swap_ab. */
TSR_DEVICE void store(const any_out *out, int swap_ab, long long line, long long row, sum_elem sum)
{
    const long long i = swap_ab ? row : line, j = swap_ab ? line : row;
    if (i < out->m && j < out->n)
        any_store(out, i, j, any_bits(sum));
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    const int swap_ab = args.schedule.swap_ab;
    const long long lines = swap_ab ? args.n : args.m, rows = swap_ab ? args.m : args.n;
    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((lines + BM - 1) / BM), (unsigned)((rows + BN - 1) / BN), BAND);
    const long long line0 = (long long)place.m * BM, row0 = (long long)place.n * BN;
    operands o;
    o.k = args.k;
    o.k_padded = (args.k + FORM_K - 1) / FORM_K * FORM_K;
    o.lines_padded = (lines + 127) / 128 * 128;
    o.ld = swap_ab ? args.lda : args.ldb;
    o.rows = rows;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        sum_elem sum[LINES_16][2 * COLS_16][4];
        TSR_UNROLL
        for (int i = 0; i < LINES_16 * 2 * COLS_16 * 4; i++)
            sum[i / 4 / (2 * COLS_16)][i / 4 % (2 * COLS_16)][i % 4] = 0;

        if (args.k > 0) { /* otherwise A and B are not even there */
            const elem *const a = (const elem *)args.a + z * args.batch_a;
            const elem *const b = (const elem *)args.b + z * args.batch_b;
            o.values = swap_ab ? b : a;
            o.other = swap_ab ? a : b;
            tsr_barrier(); /* the problem before has read its last tiles */
#if defined(ELEM_int8)
            const int second_s = (swap_ab ? args.type_b : args.type_a) == ANY_SECOND;
            const int second_x = (swap_ab ? args.type_a : args.type_b) == ANY_SECOND;
            if (second_s && second_x)
                multiply(&o, line0, row0, sum, 1, 1, 1);
            else if (second_s)
                multiply(&o, line0, row0, sum, 1, 1, 0);
            else if (second_x)
                multiply(&o, line0, row0, sum, 1, 0, 1);
            else
                multiply(&o, line0, row0, sum, 1, 0, 0);
#elif defined(ELEM_tf32)
            multiply(&o, line0, row0, sum, 1, 0, 0);
#else
            if (swap_ab ? !args.trans_a : args.trans_b)
                multiply(&o, line0, row0, sum, 1, 0, 0);
            else
                multiply(&o, line0, row0, sum, 0, 0, 0);
#endif
        }

        const any_out out = any_out_open(&args, z, 0);
        const int thread = tsr_again((int)threadIdx.x), warp = thread / 32;
        const long long line = line0 + warp / WARPS_N * WM + thread % 32 / 4;
        const long long row = row0 + warp % WARPS_N * WN + thread % 4 * 2;
        TSR_UNROLL
        for (int i = 0; i < LINES_16; i++) {
            TSR_UNROLL
            for (int j = 0; j < 2 * COLS_16; j++) {
                TSR_UNROLL
                for (int e = 0; e < 4; e++)
                    store(&out, swap_ab, line + 16 * i + e / 2 * 8, row + 8 * j + e % 2, sum[i][j][e]);
            }
        }
    }
}
