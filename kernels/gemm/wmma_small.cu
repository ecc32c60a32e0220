/* wmma_small: D = alpha * op(A) * op(B) + beta * C on tensor cores, for products that are over in a few microseconds.
 *
 * New against wmma: such a product does little but wait, so this kernel waits seldom. A step along K is 128 deep, since
 * a step waits as long for few elements as for many. A thread loads its elements of both operands together, to
 * registers, and those of the next step while this one is multiplied. The kernel starts while the grid before it runs,
 * and goes through its code once before it waits for that grid, with no rows and no columns: then its machine code is
 * in the SM when the product begins.
 *
 *      pass 0: 0 rows, 0 columns: no element is loaded, zeros are multiplied, nothing is stored
 *      griddepcontrol.wait
 *      pass 1: the product
 *
 * A CTA's four warps have 16 x 16 of D each. Tiles lie along K in shared memory whatever the layout, which is half of
 * the machine code that wmma has.
 *
 *   name      tuned      meaning
 *   BM, BN    32         tile of D
 *   BK        128        step along K
 *   ELEM_*    bf16 f16   A and B; OUT_f32: C and D are f32
 *   shared    both tiles, in lines of BK + 8 elements
 *
 * Assumes: nothing of alignment. Any M, N, K and transpose. Offsets are 64-bit.
 *
 * Bound by: latency of a launch, of memory and of barriers.
 *
 * Measured on an H200, 2026-11-30, f16, 45 x 18 x 67 in graphs: 2.67 us; 3.05 without the first pass. */
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/warp.h"
#include "tile/wmma_fragment.h"

enum {
    WARPS_N = BN / 16,
    THREADS = BM / 16 * WARPS_N * 32,
    PITCH = BK + 8, /* 8 lines, one below the other, begin in different banks */
    SCRATCH_PITCH = 20,
    SCRATCH = 16 * SCRATCH_PITCH /* floats of a warp */
};

#define EACH (BM * BK / THREADS) /* elements of each operand that a thread loads; BM is BN */
#include "tile/tensor_elements.h"

/* How far op(A), op(B) and D reach. */
typedef struct extent {
    long long m, n, k;
} extent;

/* What a thread loads in a step. */
typedef struct loaded {
    tile_elements a, b;
} loaded;

/* The CTA's tile, and the warp's place in it. */
typedef struct place {
    long long row0, col0;
    int thread, m, n;
} place;

TSR_DEVICE void load(loaded *l, const tsr_gemm_args *g, const extent *x, const elem *a, const elem *b, const place *at,
                     long long k)
{
    tile_load_elements(&l->a, a, g->lda, at->row0, x->m, BM, k, x->k, BK, THREADS, at->thread, !g->trans_a);
    tile_load_elements(&l->b, b, g->ldb, at->col0, x->n, BN, k, x->k, BK, THREADS, at->thread, g->trans_b);
}

/* *sum = op(A)'s rows of the tile times op(B)'s columns. */
TSR_DEVICE void multiply_all(tsr_wmma_acc *sum, const tsr_gemm_args *g, const extent *x, const elem *a, const elem *b,
                             const place *at)
{
    elem *const As = (elem *)TSR_SHARED, *const Bs = As + BM * PITCH;
    loaded next;
    if (x->k > 0)
        load(&next, g, x, a, b, at, 0);
    TSR_UNROLL
    for (int i = 0; i < 8; i++)
        sum->elements[i] = 0;
    TSR_ROLLED
    for (long long k0 = 0; k0 < x->k; k0 += BK) {
        if (k0 > 0)
            tsr_barrier(); /* nobody reads the tiles before any more */
        tile_store_elements(&next.a, As, BM, BK, THREADS, at->thread, !g->trans_a);
        tile_store_elements(&next.b, Bs, BN, BK, THREADS, at->thread, g->trans_b);
        tsr_barrier(); /* these tiles are there */
        if (k0 + BK < x->k)
            load(&next, g, x, a, b, at, k0 + BK);
        TSR_UNROLL
        for (int k = 0; k < BK; k += 16) {
            fragment row, column;
            load_a(&row, &As[at->m * PITCH + k], PITCH, 0);
            load_b(&column, &Bs[at->n * PITCH + k], PITCH, 1);
            multiply(sum, &row, &column, 0, 1);
        }
    }
    tsr_barrier(); /* the scratch lies where they do */
}

TSR_DEVICE void store(const tsr_wmma_acc *sum, const tensor_out *out, const place *at)
{
    const int lane = at->thread % 32;
    float *const scratch = (float *)TSR_SHARED + at->thread / 32 * SCRATCH;
    tsr_wmma_store_shared(scratch, sum, SCRATCH_PITCH);
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int e = 0; e < 8; e++) { /* two rows at a time */
        const int row = 2 * e + lane / 16, col = lane % 16;
        tensor_output(out, at->row0 + at->m + row, at->col0 + at->n + col, scratch[row * SCRATCH_PITCH + col]);
    }
}

TSR_KERNEL(THREADS)
{
    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const int warp = (int)threadIdx.x / 32;
    const place at = {.row0 = (long long)(blockIdx.x / tiles_n) * BM,
                      .col0 = (long long)(blockIdx.x % tiles_n) * BN,
                      .thread = (int)threadIdx.x,
                      .m = warp / WARPS_N * 16,
                      .n = warp % WARPS_N * 16};

    tsr_grid_launch_dependents();
    TSR_ROLLED
    for (int pass = 0; pass < 2; pass++) {
        const extent x = {pass ? args.m : 0, pass ? args.n : 0, pass || args.k < BK ? args.k : BK};
        const long long batch = pass ? args.batch : blockIdx.z + 1;
        if (pass)
            tsr_grid_wait();
        for (long long z = blockIdx.z; z < batch; z += gridDim.z) {
            tsr_wmma_acc sum;
            multiply_all(&sum, &args, &x, (const elem *)args.a + z * args.batch_a,
                         (const elem *)args.b + z * args.batch_b, &at);
            tensor_out out = tensor_out_open(&args, z);
            out.m = x.m;
            store(&sum, &out, &at);
            tsr_barrier(); /* the next problem of the batch overwrites the scratch */
        }
    }
}
