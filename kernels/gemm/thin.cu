/* thin: D = alpha * op(A) * op(B) + beta * C for few rows or few columns of D, where reading the large operand once is
 * all there is to do.
 *
 * What follows is about few rows, where B is the large operand and streams. COLUMNS = 1 is the same for few columns: A
 * streams, and B is the panel; D^T = op(B)^T * op(A)^T is the same product.
 *
 * New against stream-k: no tile of B in shared memory. Each element of B is used by BM multiply-adds and no more, so it
 * goes straight to the registers that use it, and the point is to have many loads on their way.
 *   - A lane owns four columns. A warp loads DEPTH rows of 128 columns at once, 16 bytes a lane and row, and multiplies
 * those before them meanwhile, or waits for A; the 8 warps of a CTA take such blocks in turn. A's panel lies in shared
 * memory and is read by broadcast.
 *   - K is cut into schedule.split_k parts, one CTA each, so that all SMs pull at the memory.
 *   - The warps' sums are added in their order, then the parts', in the order of K, by the CTA that comes last
 * (as in stream-k: nobody waits, the same bits in every run, counters end at 0).
 *
 *                128 columns: lane 0 | lane 1 | ...               part 0: panels 0, 1, ...
 *      k     0 |  warp 0: DEPTH rows                 |   BK      A: BM x BK in shared memory
 *            8 |  warp 1                             |
 *              |  ...                                |
 *           64 |  warp 0 again                       |            part 1: panels ...
 *
 * ALONG_K = 1 is for a transposed B, whose rows are the columns of the product. A row is contiguous along K, so a
 * line of 128 bytes is 32 steps of one column: 8 lanes read it, 16 bytes each. Each warp has 16 columns of its own and
 * walks all of the part's K; four of the columns are a lane's, of whose sums it has every eighth quad of K. Eight
 * lanes' sums are added by shuffles, in a fixed order.
 *
 *      ALONG_K            K: 0    4    8   ...  28 | 32 ...           lanes 0 to 7, 8 to 15, 16 to 23, 24 to 31 take
 * the column  0       lane 0 |  1 |  2 |...| 7 | lane 0          first, second, third, fourth column of each four 1
 * lane 8 |  9 | 10 |...|15 | lane 8
 *
 *   name      tuned      meaning
 *   BM        1 2 4 8 16 rows of D, or columns
 *   BK        128        K of a panel of A, a multiple of 8 * DEPTH
 *   DEPTH     8 4        quads of B that a lane has on their way
 *   CTAS      2          CTAs that an SM holds: bounds the registers
 *   ALIGNED   0 1        1: 16-byte loads of the operand that streams
 *   ALONG_K   0 1        1: that operand is contiguous along K: B transposed, or A as it is
 *   COLUMNS   0 1        1: few columns of D, A streams
 *   ELEM      f32 f64 bf16 f16 of A and B; OUT_f32: C and D are f32 where A and B have 16 bits
 *   shared    max(8 * 128, BK + 4) * BM * 4 + 16 bytes, in f64 with 8 for 4
 * The grid is tiles x schedule.split_k (src/plan/schedules.c).
 *
 * 16-bit elements are widened where they are multiplied; sums are f32. Such configs are for rows of B that are not
 * aligned to the copy engine's 16 bytes, which other kernels copy first. In f64 sums and panel are f64; ALIGNED is 0.
 *
 * Assumes: the operand that streams is contiguous along K if ALONG_K, else not. ALIGNED = 1 needs its pointer, leading
 * dimension and batch stride to be multiples of four elements. Any M (rows beyond BM read B again), N, K, and transpose
 * of the other operand. Offsets are 64-bit.
 *
 * Bound by: memory, for BM up to 4; the multiply-add units and shared memory above.
 *
 * Measured on an H200, 2026-11-22: 1 x 4096 x 4096 in 19.9 us (cuBLAS 18.9), 4 x 4096 x 4096 in 21.4 us (67). */
#include "ptx/atomic.h"
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/vector.h"
#include "ptx/warp.h"
#if defined(ELEM_f32) || defined(ELEM_f64)
#include "tile/output.h"
#define widen(x) (x)
typedef elem real; /* of sums, and of the panel */
#else
#include "tile/tensor_element.h"
#define widen   tensor_widen
#define tsr_fma tsr_fma_f32
typedef float real;
#endif
/* Four values in shared memory, and a value of another lane. */
#if defined(ELEM_f64)
#include "ptx/warp_f64.h"
typedef struct quad_of_reals {
    tsr_f64x2 half[2];
} quad_of_reals;
#define quad_lane(quad, i) tsr_lane((quad).half[(i) / 2], (i) % 2)
#define shuffle_xor(x, by) tsr_shuffle_xor_f64(TSR_ALL_LANES, x, by)

TSR_DEVICE quad_of_reals load_quad(const real *from)
{
    quad_of_reals quad;
    quad.half[0] = tsr_load_f64x2(from);
    quad.half[1] = tsr_load_f64x2(from + 2);
    return quad;
}

TSR_DEVICE void store_quad(real *to, const real from[4])
{
    const tsr_f64x2 low = {from[0], from[1]}, high = {from[2], from[3]};
    tsr_store_f64x2(to, low);
    tsr_store_f64x2(to + 2, high);
}
#else
typedef tsr_f32x4 quad_of_reals;
#define quad_lane          tsr_lane
#define load_quad          tsr_load_f32x4
#define shuffle_xor(x, by) tsr_f32_of_bits(tsr_shuffle_xor(TSR_ALL_LANES, tsr_bits_of_f32(x), by))

TSR_DEVICE void store_quad(real *to, const real from[4])
{
    tsr_f32x4 quad;
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        tsr_lane(quad, i) = from[i];
    tsr_store_f32x4(to, quad);
}
#endif

enum {
    WARPS = 8,
    THREADS = 32 * WARPS,
    BN = 128, /* columns of a CTA: four for each lane */
    PITCH = BK + 4,
    SUMS = BM * BN,
    EACH = (SUMS + THREADS - 1) / THREADS, /* sums that a thread finishes */
    AT_ONCE = 32 / EACH,                   /* parts of K whose sums are on their way together */
#if ALONG_K
    ADDENDS = 1,       /* sums of an element that meet in shared memory */
    BLOCK = 8 * DEPTH, /* of K, that a warp multiplies between loads */
    STRIDE = BLOCK,    /* to the next of its blocks */
#else
    ADDENDS = WARPS,
    BLOCK = DEPTH,
    STRIDE = WARPS * DEPTH,
#endif
    SCRATCH = ADDENDS * SUMS > BM *PITCH ? ADDENDS *SUMS : BM *PITCH /* elements */
};

#include "tile/thin_block.h"

/* The product as this kernel sees it: `few` rows of the panel's operand times `many` columns of the one that streams.
 */
typedef struct problem {
    long long few, many;
    const elem *panel, *large;
    long long panel_line, panel_k; /* elements from row to row of the panel's operand, and from step to step of K */
    long long ld, panel_batch, large_batch;
} problem;

TSR_DEVICE problem problem_of(const tsr_gemm_args *args)
{
    problem p;
#if COLUMNS
    p.few = args->n, p.many = args->m;
    p.panel = (const elem *)args->b, p.large = (const elem *)args->a;
    p.panel_line = args->trans_b ? args->ldb : 1, p.panel_k = args->trans_b ? 1 : args->ldb;
    p.ld = args->lda;
    p.panel_batch = args->batch_b, p.large_batch = args->batch_a;
#else
    p.few = args->m, p.many = args->n;
    p.panel = (const elem *)args->a, p.large = (const elem *)args->b;
    p.panel_line = args->trans_a ? 1 : args->lda, p.panel_k = args->trans_a ? args->lda : 1;
    p.ld = args->ldb;
    p.panel_batch = args->batch_a, p.large_batch = args->batch_b;
#endif
    return p;
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    real *const shared = (real *)TSR_SHARED;
    unsigned *const word = (unsigned *)(void *)(shared + SCRATCH);
    tsr_grid_wait();
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const problem p = problem_of(&args);
    const unsigned tiles_m = (unsigned)((p.few + BM - 1) / BM), tiles_n = (unsigned)((p.many + BN - 1) / BN);
    const unsigned parts = (unsigned)args.schedule.split_k, tiles = gridDim.x / parts;
    const unsigned tile = blockIdx.x % tiles, part = blockIdx.x / tiles;
    const unsigned z = tile / (tiles_m * tiles_n);
    const long long row0 = (long long)(tile / tiles_n % tiles_m) * BM, col0 = (long long)(tile % tiles_n) * BN;
    const int rows = p.few - row0 < BM ? (int)(p.few - row0) : BM,
              cols = p.many - col0 < BN ? (int)(p.many - col0) : BN;
    const long long panels = (args.k + BK - 1) / BK;
    const elem *const a = p.panel + z * p.panel_batch + row0 * p.panel_line;
#if ALONG_K
    const elem *const b = p.large + z * p.large_batch + (col0 + 16 * warp + lane_col(lane, 0)) * p.ld + lane_k(lane, 0);
    const int warp_cols = cols - 16 * warp, warp_k = 0;
#else
    const elem *const b = p.large + z * p.large_batch + col0;
    const int warp_cols = cols, warp_k = warp * DEPTH;
#endif

    real sum[BM][4];
    TSR_UNROLL
    for (int m = 0; m < BM; m++) {
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            sum[m][j] = 0;
    }
    const long long first = part * panels / parts, last = (part + 1) * panels / parts;
    const long long end = last * BK < args.k ? last * BK : args.k;
    long long next = first * BK + warp_k; /* of K, this warp's next block */
    elem ahead[DEPTH][4];
    load_block(ahead, b + next * (ALONG_K ? 1 : p.ld), p.ld, lane, warp_cols, end - next);
    TSR_ROLLED
    for (long long panel = first; panel < last; panel++) {
        const long long k0 = panel * BK;
        const int depth = args.k - k0 < BK ? (int)(args.k - k0) : BK;
        tsr_barrier();
        TSR_ROLLED
        for (int i = thread; i < BM * BK; i += THREADS) {
            const int m = i / BK, k = i % BK;
            shared[m * PITCH + k] = m < rows && k < depth ? widen(a[m * p.panel_line + (k0 + k) * p.panel_k]) : 0;
        }
        tsr_barrier();
        TSR_ROLLED
        for (int k = warp_k; k < BK; k += STRIDE) {
            elem now[DEPTH][4];
            TSR_UNROLL
            for (int i = 0; i < DEPTH * 4; i++)
                now[i / 4][i % 4] = ahead[i / 4][i % 4];
            next += STRIDE;
            load_block(ahead, b + next * (ALONG_K ? 1 : p.ld), p.ld, lane, warp_cols, end - next);
            multiply(sum, shared + k, now, lane);
        }
    }

    tsr_grid_launch_dependents();
    /* The warps' sums, in their order. */
    tsr_barrier();
    store_sums(shared, sum, warp, lane);
    tsr_barrier();
    real total[EACH];
    TSR_UNROLL
    for (int i = 0; i < EACH; i++) {
        const int at = thread + i * THREADS;
        total[i] = 0;
        if (at < SUMS) {
            TSR_UNROLL
            for (int w = 0; w < ADDENDS; w++)
                total[i] += shared[w * SUMS + at];
        }
    }
    if (parts > 1) {
        real *const slots =
            (real *)(void *)((char *)args.workspace + TSR_WORKSPACE_COUNTER_BYTES) + (long long)tile * parts * SUMS;
        unsigned *const counter = (unsigned *)args.workspace + tile;
        TSR_UNROLL
        for (int i = 0; i < EACH; i++)
            if (thread + i * THREADS < SUMS)
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
        for (unsigned s = 0; s < parts; s += AT_ONCE) {
            real of_part[AT_ONCE][EACH];
            TSR_UNROLL
            for (unsigned j = 0; j < AT_ONCE; j++)
                TSR_UNROLL
            for (int i = 0; i < EACH; i++)
                of_part[j][i] = s + j < parts && thread + i * THREADS < SUMS
                                    ? slots[(long long)(s + j) * SUMS + thread + i * THREADS]
                                    : 0;
            TSR_UNROLL
            for (int j = 0; j < AT_ONCE; j++)
                TSR_UNROLL
            for (int i = 0; i < EACH; i++)
                total[i] += of_part[j][i];
        }
    }
#if !defined(ELEM_f32) && !defined(ELEM_f64)
    const tensor_out out = tensor_out_open(&args, z);
#endif
    TSR_UNROLL
    for (int i = 0; i < EACH; i++) {
        const int at = thread + i * THREADS, row = at / BN, col = scratch_col(at % BN);
        const long long m = COLUMNS ? col0 + col : row0 + row, n = COLUMNS ? row0 + row : col0 + col;
        if (at < SUMS && row < rows && col < cols)
#if defined(ELEM_f32) || defined(ELEM_f64)
            tsr_output(&args, z, m, n, total[i]);
#else
            tensor_output(&out, m, n, total[i]);
#endif
    }
}
