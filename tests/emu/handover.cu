/* CTAs in a chain: each adds its row of A (f32) to what its neighbour handed it through the workspace, writes the sum
 * to its row of D and hands it on. With trans_a the chain runs from the last CTA to the first, so that all must be
 * resident. The flags lie at the workspace's start, the rows behind them. 64 threads, N is at most 64. */
#include "ptx/atomic.h"
#include "ptx/barrier.h"

TSR_KERNEL(64)
{
    const int x = (int)threadIdx.x, cta = (int)blockIdx.x, count = (int)gridDim.x;
    const int place = args.trans_a ? count - 1 - cta : cta;
    unsigned *flags = (unsigned *)args.workspace;
    float *rows = (float *)(flags + count), *shared = (float *)TSR_SHARED;

    float sum = 0;
    if (place > 0) {
        if (x == 0)
            while (tsr_load_acquire(flags + place - 1) == 0)
                tsr_pause();
        tsr_barrier();
        if (x < args.n)
            sum = rows[(place - 1) * args.n + x];
    }
    if (x < args.n) {
        const long long at = args.trans_a ? x * args.lda + cta : cta * args.lda + x;
        sum += ((const float *)args.a)[at];
        ((float *)args.d)[cta * args.ldd + x] = sum;
        rows[place * args.n + x] = sum;
    }
    shared[x] = sum;
    tsr_barrier();
    if (x == 63)
        tsr_store_release(flags + place, 1);

    /* The last one to count down has seen all: it checks the last sum of the chain, and resets the counter. */
    unsigned *counter = (unsigned *)(rows + count * args.n);
    if (x == 0 && tsr_add_acquire_release(counter, 1) == (unsigned)count - 1) {
        const float last = rows[(count - 1) * args.n];
        tsr_compare_exchange(counter, (unsigned)count, 0);
        tsr_add_relaxed(counter + 1, (unsigned)last);
        tsr_add_release(counter + 1, (unsigned)shared[0] * 0);
    }
}
