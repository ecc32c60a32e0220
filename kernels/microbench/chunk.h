/* What the microbenchmarks of global memory share: loads by the caches that PAST_L1 says, and the chunks that a CTA
 * takes in turn. */
#ifndef TSR_MICROBENCH_CHUNK_H
#define TSR_MICROBENCH_CHUNK_H

#include "core/microbench_args.h"
#include "ptx/cached.h"

/* A chunk: CHUNK_EACH loads of 16 bytes by each thread, a warp's side by side. */
enum { CHUNK_THREADS = 256, CHUNK_EACH = 4, CHUNK_ROW = CHUNK_THREADS * 16, CHUNK_BYTES = CHUNK_EACH * CHUNK_ROW };

TSR_DEVICE tsr_u32x4 chunk_load(const void *address)
{
#if PAST_L1
    return tsr_load_cg_u32x4(address);
#else
    return tsr_load_ca_u32x4(address);
#endif
}

TSR_DEVICE long long chunk_first(const tsr_microbench_args *args)
{
    return (unsigned)(blockIdx.x * args->between_ctas) % (unsigned)args->chunks;
}

TSR_DEVICE long long chunk_next(const tsr_microbench_args *args, long long chunk)
{
    chunk += args->between_steps;
    return chunk >= args->chunks ? chunk - args->chunks : chunk;
}

#endif
