/* mma-f64: D = alpha * op(A) * op(B) + beta * C in f64 on tensor cores.
 *
 * New against mma: elements of 8 bytes, of which ldmatrix knows nothing.
 *   - Lanes load their fragments element by element. A fragment is 8 rows by 4 k, so quads of 32 bytes are swizzled,
 * not chunks of 16 (tile/f64_tile.h): either layout of either operand comes without bank conflicts, nothing is
 *     transposed on the way.
 *   - cp.async can move 8 bytes, so operands of any alignment arrive as the aligned ones do. Then D leaves through
 * shared memory, so that neighbours of a row are stored together.
 *   - Sums take two registers each, half of what mma's warps have beside: 64 x 32 for a warp is all that fits.
 *   - Steps along K of the tiles that leave the last round short are cut evenly over CTAs (collective/units.h), and
 *     their sums added by the last CTA of each tile (collective/f64_partials.h).
 *
 *      CTA: BM x BN = 128 x 128      warp: WM x WN = 64 x 32        mma.m16n8k4: 16 x 8 of D, lane 4 g + t
 *      +----+----+----+----+           n  8 columns each
 *      | w0 | w1 | w2 | w3 |       16 [ ][ ][ ][ ]                          column 2t 2t+1
 *      +----+----+----+----+          [ ][ ][ ][ ]                 row g      [ 0   1 ]   sum[i][j][0..3]
 *      | w4 | w5 | w6 | w7 |          [ ][ ][ ][ ]                 row g + 8  [ 2   3 ]
 *      +----+----+----+----+          [ ][ ][ ][ ]
 *
 *      A fragment, rows g, g + 8:  k t | t + 4 | ...            B fragment, column g:  k t | t + 4 | ...
 *                        g         [a0 |  a2   | ...                                   [b0 |  b1   | ...
 *                        g + 8     [a1 |  a3   | ...
 *
 * For 4 of k a warp loads 96 rows, 24 wavefronts of 128 bytes; its 16 mma keep a quarter of an SM's tensor cores for
 * 256 clocks (sm_90; 512 on sm_80). So shared memory is busy for 3/8 of the time at most.
 *
 *   name      tuned       meaning
 *   BM, BN    128 64 32   tile of D; smaller ones for small D
 *   BK        32 16       step along K that is brought at once; 32 where shared memory allows it
 *   WM, WN    64 32 16    tile of a warp
 *   STEP_K    4 8         k of one instruction, and of one set of fragments (tile/f64_fragment.h)
 *   STAGES    3 2 4       buffers in shared memory
 *   BAND      8           rows of tiles in a band (collective/raster.h)
 *   CTAS      1 to 4      CTAs that must fit on an SM: bounds the registers
 *   WIDTH     2 1         elements that one cp.async moves; 2 also stores pairs
 *   shared    STAGES * BK * (BM + BN) * 8 + 16 bytes
 *
 * Assumes: WIDTH = 2 needs pointers, leading dimensions and batch strides that are multiples of 16 bytes; 1 needs
 * nothing. Any M, N, K and transpose. Offsets are 64-bit. WM and WN are multiples of 16, BK of 16.
 *
 * Bound by: the tensor cores: 128 multiply-adds a clock and SM on sm_90, 64 on sm_80.
 *
 * Measured: docs/PERFORMANCE.md, "stream-K in f64"; perf/LOG/types.md. */
#if WIDTH == 1 && (BM / WM) * (BN / WN) * WM * (WN + 8) > STAGES * BK * (BM + BN)
#error "a tile of D must fit where the stages are"
#endif

#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/prefetch.h"
#include "ptx/warp.h"

#include "collective/raster.h"
#include "collective/units.h"
#include "tile/f64_fragment.h"
#include "tile/output_pair.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    ROWS_16 = WM / 16, /* fragments of a warp */
    COLS_8 = WN / 8,
    STEPS = BK / STEP_K,
    TILE_A = BM * BK * 8, /* bytes */
    TILE_B = BN * BK * 8,
    STAGE = TILE_A + TILE_B,
    LAST_STAGE = (STAGES - 1) * STAGE,
    SHORT_K = 512 /* up to which a tile's end is a large part of it */
};

#include "collective/f64_partials.h"

/* Behind the stages in shared memory. */
typedef struct words {
    unsigned arrived; /* how many parts of a tile came before this one */
    int last;         /* of K, in a piece's last step; here, since registers are scarce */
} words;

TSR_DEVICE words *words_of(unsigned char *shared)
{
    return (words *)(void *)(shared + STAGES * STAGE);
}

/* What a warp multiplies in one step along K. */
typedef struct fragments {
    double a[ROWS_16][F64_A], b[COLS_8][F64_B];
} fragments;

TSR_DEVICE void load_fragments(fragments *to, const unsigned char *tiles, unsigned offset_a, unsigned offset_b,
                               int step, int a_k, int b_k)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++)
        f64_load_a(to->a[i], tiles, offset_a, i, step, BM, BK, a_k);
    TSR_UNROLL
    for (int j = 0; j < COLS_8; j++)
        f64_load_b(to->b[j], tiles + TILE_A, offset_b, j, step, BN, BK, b_k);
}

TSR_DEVICE void multiply_fragments(double sum[ROWS_16][COLS_8][4], const fragments *f)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++) {
        TSR_UNROLL
        for (int j = 0; j < COLS_8; j++)
            f64_mma(sum[i][j], f->a[i], f->b[j]);
    }
}

/* The operands' tiles, on their way to a stage. */
typedef struct streams {
    f64_stream a, b;
} streams;

TSR_DEVICE void copy_tiles(streams *s, unsigned char *to, int thread, int depth, int a_k, int b_k)
{
    f64_copy(&s->a, to, BM, BK, THREADS, thread, depth, WIDTH, a_k);
    f64_copy(&s->b, to + TILE_A, BN, BK, THREADS, thread, depth, WIDTH, b_k);
}

/* What a CTA multiplies: some steps along K of a tile of D. */
typedef struct piece {
    unsigned tile, steps; /* its number; 0 steps: there is no such piece */
    long long z, row0, col0;
    long long k0; /* the first of K */
    int last;     /* how many of K the last step has */
} piece;

TSR_DEVICE unsigned steps_of_tile(const tsr_gemm_args *args)
{
    return args->k > 0 ? (unsigned)((args->k + BK - 1) / BK) : 1;
}

/* The CTA's piece of this number: units of stream-K come first and may have several, any other CTA has a whole tile. */
TSR_DEVICE piece piece_of(const tsr_gemm_args *args, unsigned number)
{
    const unsigned tiles_m = (unsigned)((args->m + BM - 1) / BM), tiles_n = (unsigned)((args->n + BN - 1) / BN);
    const unsigned units = (unsigned)args->schedule.stream_k_units, shared = (unsigned)args->schedule.stream_k_tiles,
                   steps = steps_of_tile(args);
    unsigned first = 0;
    piece p;
    p.tile = shared + blockIdx.x - units + number;
    p.steps = number == 0 ? steps : 0;
    if (blockIdx.x < units) {
        const unsigned begin = unit_begin(blockIdx.x, shared * steps, units),
                       end = unit_begin(blockIdx.x + 1, shared * steps, units);
        p.tile = begin / steps + number;
        const unsigned at = p.tile * steps, from = number > 0 ? at : begin, to = end < at + steps ? end : at + steps;
        first = from - at;
        p.steps = from < to ? to - from : 0;
    }
    const tile_place place = tile_raster(p.tile % (tiles_m * tiles_n), tiles_m, tiles_n, BAND);
    p.z = p.tile / (tiles_m * tiles_n);
    p.row0 = (long long)place.m * BM;
    p.col0 = (long long)place.n * BN;
    p.k0 = (long long)first * BK;
    p.last = args->k - p.k0 < (long long)p.steps * BK ? (int)(args->k % BK) : BK;
    return p;
}

/* sum = op(A) * op(B) for the piece. a_k and b_k, constants: k is contiguous in memory. */
TSR_DEVICE void multiply(const tsr_gemm_args *args, const piece *p, double sum[ROWS_16][COLS_8][4], int a_k, int b_k)
{
    unsigned char *const shared = TSR_SHARED;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const unsigned offset_a = f64_lane_offset(warp / WARPS_N * WM, lane, BM, BK, a_k);
    const unsigned offset_b = f64_lane_offset(warp % WARPS_N * WN, lane, BN, BK, b_k);
    streams s;
    s.a = f64_stream_open((const double *)args->a + p->z * args->batch_a + p->k0 * (a_k ? 1 : args->lda), args->lda,
                          p->row0, args->m, BM, BK, THREADS, thread, WIDTH, a_k);
    s.b = f64_stream_open((const double *)args->b + p->z * args->batch_b + p->k0 * (b_k ? 1 : args->ldb), args->ldb,
                          p->col0, args->n, BN, BK, THREADS, thread, WIDTH, b_k);

    /* Fill all stages but one. A stage without a tile is an empty group: waiting counts groups. */
    TSR_ROLLED
    for (unsigned t = 0; t < STAGES - 1; t++) {
        if (t < p->steps)
            copy_tiles(&s, shared + t * STAGE, thread, t + 1 < p->steps ? BK : p->last, a_k, b_k);
        tsr_copy_commit();
    }
    if (thread == 0)
        words_of(shared)->last = p->last;
    tsr_copy_wait(STAGES - 2);
    tsr_barrier();

    int stage = 0; /* where the tile in use lies */
    fragments f[FRAGMENTS];
    if (FRAGMENTS == 2)
        load_fragments(&f[0], shared, offset_a, offset_b, 0, a_k, b_k);

    /* Counted upwards: counted down, ptxas orders the loop otherwise, and an H200 takes a tenth longer. */
    TSR_ROLLED
    for (unsigned t = 0; t < p->steps; t++) {
        TSR_UNROLL
        for (int step = 0; step < STEPS; step++) {
            fragments *const now = &f[step % FRAGMENTS];
            if (FRAGMENTS == 1)
                load_fragments(now, shared + stage, offset_a, offset_b, step, a_k, b_k);
            if (step == STEPS - 1) {
                tsr_copy_wait(STAGES - 2);
                tsr_barrier();
                stage = stage == LAST_STAGE ? 0 : stage + STAGE;
            }
            if (FRAGMENTS == 2 && (step < STEPS - 1 || t + 1 < p->steps))
                load_fragments(&f[(step + 1) % FRAGMENTS], shared + stage, offset_a, offset_b, (step + 1) % STEPS, a_k,
                               b_k);
            if (step == 0) {
                if (t + STAGES - 1 < p->steps)
                    copy_tiles(&s, shared + (stage == 0 ? LAST_STAGE : stage - STAGE), thread,
                               t + STAGES < p->steps ? BK : words_of(shared)->last, a_k, b_k);
                tsr_copy_commit();
            }
            multiply_fragments(sum, now);
        }
    }
}

/* C on its way to L2 while the piece is multiplied. */
TSR_DEVICE void prefetch_c(const tsr_gemm_args *args, const piece *p)
{
    enum { LINE = 128 / 8, LINES = BN / LINE };
    const double *const c = (const double *)args->c + p->z * args->batch_c;
    if (!epilogue_of(args).reads_c)
        return;
    TSR_ROLLED
    for (int i = (int)threadIdx.x; i < BM * LINES; i += THREADS) {
        const long long row = p->row0 + i / LINES, col = p->col0 + i % LINES * LINE;
        if (row < args->m && col < args->n)
            tsr_prefetch_l2(c + row * args->ldc + col);
    }
}

TSR_DEVICE void multiply_piece(const tsr_gemm_args *args, const piece *p, double sum[ROWS_16][COLS_8][4])
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16 * COLS_8 * 4; i++)
        sum[i / 4 / COLS_8][i / 4 % COLS_8][i % 4] = 0;
    if (args->k == 0) /* then A and B are not even there */
        return;
    if (args->trans_a && args->trans_b)
        multiply(args, p, sum, 0, 1);
    else if (args->trans_a)
        multiply(args, p, sum, 0, 0);
    else if (args->trans_b)
        multiply(args, p, sum, 1, 1);
    else
        multiply(args, p, sum, 1, 0);
}

#if WIDTH == 1
/* Where rows of D begin anywhere, a lane's pairs are stores of 8 bytes with gaps between them. With a short K, where
 * nothing else runs meanwhile, each warp lays its sums into shared memory, which the tiles no longer need, and stores
 * neighbours of a row together. */
TSR_DEVICE void store_rows(const tsr_gemm_args *args, const piece *p, double sum[ROWS_16][COLS_8][4])
{
    enum {
        PITCH = WN + 8, /* the two rows of a quarter warp's stores lie in different banks */
        ROWS = WN < 32 ? 32 / WN : 1,
        IN_FLIGHT = WM * WN < 512 ? WM * WN / 32 : 16
    };
    const pair_out out = pair_out_open(args, p->z);
    const int thread = tsr_again((int)threadIdx.x), warp = thread / 32, lane = thread % 32;
    double *const own = (double *)(void *)TSR_SHARED + warp * WM * PITCH;
    tsr_barrier(); /* all fragments have been read */
    TSR_UNROLL
    for (int i = 0; i < 2 * ROWS_16; i++) {
        TSR_UNROLL
        for (int j = 0; j < COLS_8; j++) {
            tsr_f64x2 pair;
            tsr_lane(pair, 0) = sum[i / 2][j][i % 2 * 2];
            tsr_lane(pair, 1) = sum[i / 2][j][i % 2 * 2 + 1];
            *(tsr_f64x2 *)(void *)(own + (8 * i + lane / 4) * PITCH + 8 * j + lane % 4 * 2) = pair;
        }
    }
    tsr_warp_sync(TSR_ALL_LANES);
    const int lane_row = lane / (32 / ROWS), lane_col = lane % (32 / ROWS);
    const long long row = p->row0 + warp / WARPS_N * WM + lane_row, col = p->col0 + warp % WARPS_N * WN + lane_col;
    TSR_ROLLED
    for (int at = 0; at < WM * WN; at += 32 * IN_FLIGHT) { /* sums in the order of rows */
        double value[IN_FLIGHT], old[IN_FLIGHT];
        TSR_UNROLL
        for (int i = 0; i < IN_FLIGHT; i++) {
            value[i] = own[((at + 32 * i) / WN + lane_row) * PITCH + (at + 32 * i) % WN + lane_col];
            old[i] = out.e.reads_c ? output_load_one(&out, row + (at + 32 * i) / WN, col + (at + 32 * i) % WN) : 0;
        }
        TSR_UNROLL
        for (int i = 0; i < IN_FLIGHT; i++)
            output_one(&out, row + (at + 32 * i) / WN, col + (at + 32 * i) % WN, old[i], value[i]);
    }
    tsr_barrier(); /* the next piece's tiles may come */
}
#endif

TSR_DEVICE void store(const tsr_gemm_args *args, const piece *p, double sum[ROWS_16][COLS_8][4])
{
#if WIDTH == 1
    if (args->k <= SHORT_K) {
        store_rows(args, p, sum);
        return;
    }
#endif
    const pair_out out = pair_out_open(args, p->z);
    const int thread = tsr_again((int)threadIdx.x), warp = thread / 32;
    const long long row = p->row0 + warp / WARPS_N * WM + thread % 32 / 4;
    const long long col = p->col0 + warp % WARPS_N * WN + thread % 4 * 2;
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++) {
        double old[COLS_8][4] = {{0}};
        if (out.e.reads_c)
            TSR_UNROLL
        for (int j = 0; j < COLS_8; j++) {
            output_load_pair(&out, row + 16 * i, col + 8 * j, WIDTH == 2, &old[j][0]);
            output_load_pair(&out, row + 16 * i + 8, col + 8 * j, WIDTH == 2, &old[j][2]);
        }
        TSR_UNROLL
        for (int j = 0; j < COLS_8; j++) {
            output_pair(&out, row + 16 * i, col + 8 * j, &old[j][0], &sum[i][j][0], WIDTH == 2);
            output_pair(&out, row + 16 * i + 8, col + 8 * j, &old[j][2], &sum[i][j][2], WIDTH == 2);
        }
    }
}

/* Hands over the sums of a piece that is no whole tile; 1 in the CTA that comes back with those of the tile. */
TSR_DEVICE int hand_over(const tsr_gemm_args *args, const piece *p, double sum[ROWS_16][COLS_8][4])
{
    const unsigned steps = steps_of_tile(args), units = (unsigned)args->schedule.stream_k_units,
                   all = (unsigned)args->schedule.stream_k_tiles * steps;
    const unsigned first = unit_of(p->tile * steps, all, units),
                   parts = unit_of((p->tile + 1) * steps - 1, all, units) - first + 1;
    double *const partials = (double *)(void *)((char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
                             (long long)(first + p->tile) * TILE_SUMS;
    return f64_hand_over(partials, (unsigned *)args->workspace + p->tile * F64_COUNTERS, blockIdx.x - first, parts,
                         &words_of(TSR_SHARED)->arrived, (int)threadIdx.x, sum);
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    tsr_grid_wait();
    TSR_ROLLED
    for (unsigned number = 0;; number++) {
        double sum[ROWS_16][COLS_8][4];
        const piece now = piece_of(&args, number);
        if (now.steps == 0)
            return;
        prefetch_c(&args, &now);
        multiply_piece(&args, &now, sum);
        const piece p = piece_of(&args, (unsigned)tsr_again((int)number)); /* no registers for it meanwhile */
        if (p.steps == steps_of_tile(&args) || hand_over(&args, &p, sum))
            store(&args, &p, sum);
    }
}
