/* thin-mma: D = alpha * op(A) * op(B) + beta * C on tensor cores, for up to 64 rows or columns of D beside a large
 * operand in 16 bits whose rows begin anywhere.
 *
 * New against thin: mma.sync multiplies, so that the large operand may meet 64 rows and still be bound by memory. Other
 * kernels copy such an operand to aligned rows first, which moves its bytes three times.
 *
 * What follows is about few rows, where B is the large operand. COLUMNS = 1 is the same for few columns: A is large,
 * and D^T = op(B)^T * op(A)^T is the same product. The large operand gives the 16 rows of mma, the small one its 8
 * columns.
 *
 *   - A CTA has 64 rows of the large operand. Its warps take steps along K in turn, and CTAs take schedule.split_k
 * parts.
 *   - cp.async brings whole chunks of 16 bytes, from the multiple of 16 bytes at or before a line's first element on
 *     (ptx/async_copy_behind.h). So what is wanted of a line begins up to 14 bytes behind its place in shared memory,
 *     its skew. A lane loads two chunks and shifts them (tile/shift.h).
 *   - ALONG_K = 0: each warp has a ring of its own, and no barrier comes before all sums are there. ALONG_K = 1: the
 * CTA has one ring, since a line is longer for all warps than for one: sectors of L2 that two warps ask for cost as
 * much as others.
 *
 *     a stage of ALONG_K = 0: 16 lines, k       a stage of ALONG_K = 1: 64 lines, rows of the large operand
 *     k  0 | ..abcdefgh...  64 rows |           row  0 | ..abcdefgh...  256 k: 32 for each warp |
 *     k  1 | ......abcdefgh ....... |           row  1 | ......abcdefgh ....................... |
 *
 *   - ALONG_K = 0: a lane loads 8 rows of each of 4 k, k 2t, 2t + 1, 2t + 8 and 2t + 9 for lane 4 g + t. Two k of one
 * row make a register, so fragment q of 16 rows has rows 8 g + 2 q and 8 g + 2 q + 1: no transposition.
 *   - ALONG_K = 1: a lane loads 8 k of 8 rows; the two instructions of a step take k 8 t to 8 t + 3 and 8 t + 4 to 8 t
 * + 7 from it, of both operands.
 *   - The warps' sums are added in their order, then the parts', by the CTA that comes last, as in thin.
 *
 *   name      tuned    meaning
 *   SMALL     64       most rows of the small operand
 *   WARPS     8        of a CTA
 *   STAGES    6 3      of a ring
 *   ALONG_K   0 1      1: the large operand is contiguous along K: B transposed, or A as it is
 *   COLUMNS   0 1      1: few columns of D, A is large
 *   ELEM      bf16 f16 of A and B; C and D are of that type or f32 (args.type_d)
 *   shared    WARPS * STAGES * (16 * 144 + SMALL * 32) + 16 bytes, or STAGES * (64 + SMALL) * 576 + 16 where ALONG_K
 * The grid is tiles x schedule.split_k (src/plan/schedules.c).
 *
 * Assumes: the large operand is contiguous along K if ALONG_K, else not, and lies anywhere. The small one is contiguous
 * along K, and its pointer, leading dimension and batch stride are multiples of 16 bytes. Any M, N, K. Offsets are
 * 64-bit.
 *
 * Bound by: memory. Measured: docs/PERFORMANCE.md, "few rows beside a matrix that lies anywhere". */
#include "ptx/async_copy_behind.h"
#include "ptx/atomic.h"
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/vector.h"
#include "ptx/warp.h"

#include "tile/either_element.h"
#include "tile/shift.h"

#if ALONG_K && WARPS != 8
#error "a lane copies a chunk of a line: 256 elements of K"
#endif
#if defined(ELEM_f16)
#define multiply_add tsr_mma_f16
#else
#define multiply_add tsr_mma_bf16
#endif

typedef unsigned short elem;

enum {
    THREADS = 32 * WARPS,
    LARGE = 64,               /* rows of a tile */
    CHUNK = 8,                /* elements of 16 bytes */
    STEP = ALONG_K ? 32 : 16, /* of K, that a warp multiplies at once */
    PANEL = WARPS * STEP,     /* of K, that the warps take together */
    LINES = ALONG_K ? LARGE : STEP,
    LINE = ALONG_K ? PANEL : LARGE,                /* elements of a line */
    CHUNKS = LINE / CHUNK + 1,                     /* of a line, wherever it begins */
    PITCH = ALONG_K ? 2 * LINE + 64 : 16 * CHUNKS, /* ALONG_K: two rows that are read at once lie in different banks */
    LARGE_BYTES = LINES * PITCH,
    SMALL_PITCH = ALONG_K ? PITCH : 2 * STEP,
    STAGE = LARGE_BYTES + SMALL * SMALL_PITCH,
    STAGES_BYTES = (ALONG_K ? 1 : WARPS) * STAGES * STAGE,
    SUMS = SMALL * LARGE,
    EACH = (SUMS + THREADS - 1) / THREADS, /* sums that a thread finishes */
    IN_FLIGHT = 2,                         /* parts of K whose sums are on their way together */
    WORD_AT = STAGES_BYTES
};

typedef char sums_fit_where_the_rings_are[WARPS * SUMS * 4 <= WORD_AT ? 1 : -1];

/* The product as this kernel sees it, of one problem of the batch. */
typedef struct problem {
    long long few, many, k, ld_small, ld_large, batch_small, batch_large;
    const elem *small, *large;
} problem;

TSR_DEVICE problem problem_of(const tsr_gemm_args *args)
{
    problem p;
    p.k = args->k;
#if COLUMNS
    p.few = args->n, p.many = args->m;
    p.small = (const elem *)args->b, p.large = (const elem *)args->a;
    p.ld_small = args->ldb, p.ld_large = args->lda;
    p.batch_small = args->batch_b, p.batch_large = args->batch_a;
#else
    p.few = args->m, p.many = args->n;
    p.small = (const elem *)args->a, p.large = (const elem *)args->b;
    p.ld_small = args->lda, p.ld_large = args->ldb;
    p.batch_small = args->batch_a, p.batch_large = args->batch_b;
#endif
    return p;
}

/* A warp's tile. */
typedef struct tile {
    const elem *small, *large; /* of the tile's first rows */
    long long k, ld_small, ld_large;
    int rows, cols, eights; /* of the small and of the large operand; of `rows`, up to 8 of each */
} tile;

#include "tile/thin_mma_copies.h"

/* 8 elements of line `line` of a stage, from its element 8 * `chunk` on. */
TSR_DEVICE tsr_u32x4 load_shifted(const unsigned char *stage, int line, int chunk, unsigned skew)
{
    const unsigned *const from = (const unsigned *)(const void *)(stage + line * PITCH + chunk * 16);
    const tsr_u32x4 low = tsr_load_u32x4(from), high = tsr_load_u32x4(from + 4);
    unsigned first[4], next[4];
    TSR_UNROLL
    for (int w = 0; w < 4; w++) {
        first[w] = tsr_lane(low, w);
        next[w] = tsr_lane(high, w);
    }
    return tile_shift(first, next, 2 * skew);
}

#if ALONG_K
/* sum += large * small^T for a step, whose stage has come. */
TSR_DEVICE void multiply_step(const tile *t, const unsigned char *stage, int warp, int lane,
                              float sum[LARGE / 16][SMALL / 8][4])
{
    const int chunk = warp * (STEP / CHUNK) + lane % 4;
    const unsigned skew = skew_of(t, lane / 4); /* eight lines further on it is the same */
    tsr_u32x4 half[LARGE / 16][2];              /* rows g and g + 8 of a fragment */
    TSR_UNROLL
    for (int i = 0; i < LARGE / 8; i++) {
        const int row = 8 * i + lane / 4;
        half[i / 2][i % 2] = load_shifted(stage, row, chunk, skew);
    }
    const unsigned char *const small = stage + LARGE_BYTES + lane / 4 * SMALL_PITCH + chunk * 16;
    TSR_UNROLL
    for (int j = 0; j < SMALL / 8; j++) {
        if (j >= t->eights)
            break;
        const tsr_u32x4 four = tsr_load_u32x4((const unsigned *)(const void *)(small + 8 * j * SMALL_PITCH));
        TSR_UNROLL
        for (int i = 0; i < 2; i++) {
            const unsigned b[2] = {tsr_lane(four, 2 * i), tsr_lane(four, 2 * i + 1)};
            TSR_UNROLL
            for (int q = 0; q < LARGE / 16; q++) {
                const unsigned a[4] = {tsr_lane(half[q][0], 2 * i), tsr_lane(half[q][1], 2 * i),
                                       tsr_lane(half[q][0], 2 * i + 1), tsr_lane(half[q][1], 2 * i + 1)};
                multiply_add(sum[q][j], a, b);
            }
        }
    }
}

/* The row of the large operand that sums 2 * `half` and 2 * `half` + 1 of fragment `q` belong to. */
TSR_DEVICE int large_row(int lane, int q, int half)
{
    return 16 * q + 8 * half + lane / 4;
}
#else
TSR_DEVICE void multiply_step(const tile *t, const unsigned char *stage, int lane, float sum[LARGE / 16][SMALL / 8][4])
{
    const unsigned skew[2] = {skew_of(t, lane % 4 * 2),
                              skew_of(t, lane % 4 * 2 + 1)}; /* and of the eighths from there */
    tsr_u32x4 rows[4];                                       /* eight rows of k 2t, 2t + 1, 2t + 8, 2t + 9 */
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        const int line = lane % 4 * 2 + i % 2 + i / 2 * 8;
        rows[i] = load_shifted(stage, line, lane / 4, skew[i % 2]);
    }
    unsigned a[LARGE / 16][4];
    TSR_UNROLL
    for (int q = 0; q < LARGE / 16; q++) {
        TSR_UNROLL
        for (int i = 0; i < 2; i++) { /* k 2t, 2t + 1 and 8 more; then rows 8 g + 2 q and 8 g + 2 q + 1 */
            a[q][2 * i] = (tsr_lane(rows[2 * i], q) & 0xffff) | tsr_lane(rows[2 * i + 1], q) << 16;
            a[q][2 * i + 1] = tsr_lane(rows[2 * i], q) >> 16 | (tsr_lane(rows[2 * i + 1], q) & 0xffff0000u);
        }
    }
    const int row = lane / 16 * 8 + lane % 8, place = lane / 8 % 2 ^ row / 4 % 2;
    const unsigned char *const small = stage + LARGE_BYTES + row * SMALL_PITCH + place * 16;
    TSR_UNROLL
    for (int j = 0; j < SMALL / 8; j += 2) {
        if (j >= t->eights)
            break;
        unsigned b[4];
        tsr_ldmatrix_x4(b, small + 8 * j * SMALL_PITCH);
        TSR_UNROLL
        for (int q = 0; q < LARGE / 16; q++) {
            multiply_add(sum[q][j], a[q], &b[0]);
            if (j + 1 < t->eights)
                multiply_add(sum[q][j + 1], a[q], &b[2]);
        }
    }
}

TSR_DEVICE int large_row(int lane, int q, int half)
{
    return lane / 4 * 8 + 2 * q + half;
}
#endif

/* Who shares a ring. */
TSR_DEVICE void await_all(void)
{
#if ALONG_K
    tsr_barrier();
#else
    tsr_warp_sync(TSR_ALL_LANES);
#endif
}

/* D[m, n] of problem `z`. */
TSR_DEVICE void output(const tsr_gemm_args *args, const epilogue *e, long long z, long long m, long long n, float sum)
{
    const int wide = tile_is_wide(args), bytes = tile_bytes(wide);
    float value;
    epilogue_scale(e, 1, &sum, &value);
    if (e->reads_c) {
        const float c =
            tile_load(wide, (const unsigned char *)args->c + (z * args->batch_c + m * args->ldc + n) * bytes);
        epilogue_add_c(e, 1, &c, &value);
    }
    if (e->form != TSR_EPILOGUE_NONE) {
        const float bias = tile_load(wide, e->bias + n * bytes);
        epilogue_form(e, 1, &bias, &value);
    }
    tile_store(wide, (unsigned char *)args->d + (z * args->batch_d + m * args->ldd + n) * bytes, value);
}

TSR_KERNEL_CTAS(THREADS, 1)
{
    unsigned *const word = (unsigned *)(void *)(TSR_SHARED + WORD_AT);
    tsr_grid_wait();
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const problem p = problem_of(&args);
    const unsigned tiles_small = (unsigned)((p.few + SMALL - 1) / SMALL),
                   tiles_large = (unsigned)((p.many + LARGE - 1) / LARGE);
    const unsigned parts = (unsigned)args.schedule.split_k, tiles = gridDim.x / parts;
    const unsigned index = blockIdx.x % tiles, part = blockIdx.x / tiles;
    const unsigned z = index / (tiles_small * tiles_large);
    const long long row0 = (long long)(index / tiles_large % tiles_small) * SMALL,
                    col0 = (long long)(index % tiles_large) * LARGE;
    tile t;
    t.rows = p.few - row0 < SMALL ? (int)(p.few - row0) : SMALL;
    t.cols = p.many - col0 < LARGE ? (int)(p.many - col0) : LARGE;
    t.eights = (t.rows + 7) / 8;
    t.k = p.k;
    t.ld_small = p.ld_small;
    t.ld_large = p.ld_large;
    t.small = p.small + z * p.batch_small + row0 * p.ld_small;
    t.large = p.large + z * p.batch_large + col0 * (ALONG_K ? p.ld_large : 1);

    const long long panels = (args.k + PANEL - 1) / PANEL;
    const long long first = part * panels / parts, last = (part + 1) * panels / parts;
    float sum[LARGE / 16][SMALL / 8][4];
    TSR_UNROLL
    for (int i = 0; i < SUMS / 32; i++)
        sum[i / 4 / (SMALL / 8)][i / 4 % (SMALL / 8)][i % 4] = 0;

#if ALONG_K
    unsigned char *const ring = TSR_SHARED;
#else
    unsigned char *const ring = TSR_SHARED + warp * STAGES * STAGE;
    const copies c = copies_of(&t, lane);
#endif
    /* STAGES - 1 rounds fill the ring before the first step is multiplied. */
    int stage = 0;
    TSR_ROLLED
    for (long long next = first; next < last + STAGES - 1; next++) {
        unsigned char *const to = ring + stage * STAGE;
#if ALONG_K
        if (next < last)
            copy_panel(&t, to, next * PANEL, warp, lane);
#else
        const long long k = next * PANEL + warp * STEP;
        if (next < last && k + STEP <= t.k)
            copy_whole(&t, &c, to, k, lane);
        else if (next < last)
            copy_part(&t, to, k, lane);
#endif
        tsr_copy_commit();
        stage = stage == STAGES - 1 ? 0 : stage + 1; /* the oldest now */
        if (next >= first + STAGES - 1) {
            tsr_copy_wait(STAGES - 1);
            await_all(); /* all chunks are there */
#if ALONG_K
            multiply_step(&t, ring + stage * STAGE, warp, lane, sum);
#else
            multiply_step(&t, ring + stage * STAGE, lane, sum);
#endif
            await_all(); /* they may be overwritten */
        }
    }
    tsr_grid_launch_dependents();

    /* The warps' sums, in their order: lines of the small operand's rows. */
    float *const shared = (float *)(void *)TSR_SHARED;
    tsr_copy_wait(0);
    tsr_barrier();
    TSR_UNROLL
    for (int j = 0; j < SMALL / 8; j++)
        if (j < t.eights)
            TSR_UNROLL
    for (int i = 0; i < LARGE / 16 * 4; i++)
        shared[warp * SUMS + (8 * j + lane % 4 * 2 + i % 2) * LARGE + large_row(lane, i / 4, i / 2 % 2)] =
            sum[i / 4][j][i % 4];
    tsr_barrier();
    float total[EACH];
    TSR_UNROLL
    for (int i = 0; i < EACH; i++) {
        const int at = thread + i * THREADS;
        total[i] = 0;
        if (at / LARGE < t.rows)
            TSR_UNROLL
        for (int w = 0; w < WARPS; w++)
            total[i] += shared[w * SUMS + at];
    }
    if (parts > 1) {
        float *const slots =
            (float *)(void *)((char *)args.workspace + TSR_WORKSPACE_COUNTER_BYTES) + (long long)index * parts * SUMS;
        unsigned *const counter = (unsigned *)args.workspace + index;
        TSR_UNROLL
        for (int i = 0; i < EACH; i++)
            if ((thread + i * THREADS) / LARGE < t.rows)
                slots[(long long)part * SUMS + thread + i * THREADS] = total[i];
        tsr_barrier();
        if (thread == 0) {
            *word = tsr_add_acquire_release(counter, 1);
            if (*word == parts - 1)
                tsr_store_release(counter, 0);
        }
        tsr_barrier();
        if (*word != parts - 1)
            return;
        TSR_UNROLL
        for (int i = 0; i < EACH; i++)
            total[i] = 0;
        TSR_ROLLED
        for (unsigned s = 0; s < parts; s += IN_FLIGHT) {
            float of_part[IN_FLIGHT][EACH];
            TSR_UNROLL
            for (unsigned j = 0; j < IN_FLIGHT; j++)
                TSR_UNROLL
            for (int i = 0; i < EACH; i++)
                of_part[j][i] = s + j < parts && (thread + i * THREADS) / LARGE < t.rows
                                    ? slots[(long long)(s + j) * SUMS + thread + i * THREADS]
                                    : 0;
            TSR_UNROLL
            for (int j = 0; j < IN_FLIGHT; j++)
                TSR_UNROLL
            for (int i = 0; i < EACH; i++)
                total[i] += of_part[j][i];
        }
    }
    TSR_UNROLL
    for (int i = 0; i < EACH; i++)
        shared[thread + i * THREADS] = total[i]; /* to be taken out by a loop: the same thread's */
    const epilogue e = epilogue_of(&args);
    TSR_ROLLED
    for (int at = thread; at < t.rows * LARGE; at += THREADS) {
        const int row = at / LARGE, col = at % LARGE;
        if (col < t.cols)
            output(&args, &e, z, COLUMNS ? col0 + col : row0 + row, COLUMNS ? row0 + row : col0 + col, shared[at]);
    }
}
