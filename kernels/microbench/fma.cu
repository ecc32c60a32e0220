/* fma: multiply-adds of registers, x = x * a + b, in CHAINS independent chains of each thread.
 *
 * Each takes three registers of four bytes and fills one: 16 bytes. With one chain and one warp, an FMA waits for the
 * one before it: their latency. With many, the FMA units are busy: their rate.
 *
 *   CHAINS   of a thread     THREADS   of a CTA
 *
 * Arguments: tsr_microbench_args; a step is 16 FMAs of each chain. `from` has a and b, then the CHAINS values with
 * which the chains of all threads begin; each thread of the grid has the sum of its chains in `to`. Bound by: latency,
 * or the FMA units. */
#define TSR_ARGS tsr_microbench_args

#include "core/microbench_args.h"
#include "ptx/arithmetic.h"

enum { EACH = 16 };

TSR_KERNEL(THREADS)
{
    const float *const from = (const float *)args.from;
    const float a = from[0], b = from[1];
    float x[CHAINS], sum = 0;
    TSR_UNROLL
    for (int c = 0; c < CHAINS; c++)
        x[c] = from[2 + c];
    TSR_ROLLED
    for (long long i = 0; i < args.steps; i++) {
        TSR_UNROLL
        for (int j = 0; j < EACH; j++)
            TSR_UNROLL
        for (int c = 0; c < CHAINS; c++)
            x[c] = tsr_fma_f32(x[c], a, b);
    }
    TSR_UNROLL
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    ((float *)args.to)[blockIdx.x * THREADS + threadIdx.x] = sum;
}
