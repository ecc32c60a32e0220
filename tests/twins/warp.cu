/* Warps of 128 threads, whose lanes vote, match, shuffle and reduce: D (4 words of each thread) from A, B and C, by the
 * instructions that TWIN_NAME names. Each of the four words is another instruction's result. */
#include "ptx/redux.h"
#include "ptx/shuffle.h"
#include "ptx/vote.h"

/* A result and a flag in one word. */
TSR_DEVICE unsigned with_flag(unsigned result, int flag)
{
    return result ^ (flag ? 0x9e3779b9u : 0u);
}

/* What the lanes of `mask`, of which this is one, make of their words. */
TSR_DEVICE void ask(unsigned mask, const unsigned a[4], const unsigned c[4], unsigned d[4])
{
#if defined(TWIN_matches) || defined(TWIN_shuffles)
    int flag = 0;
#else
    (void)c;
#endif
#if defined(TWIN_active)
    d[0] = tsr_active_mask();
    if (a[1] & 1)
        d[1] = tsr_active_mask();
    else
        d[1] = ~tsr_active_mask();
    tsr_warp_sync(mask);
    d[2] = tsr_active_mask();
    d[3] = 0;
    for (unsigned i = 0; i < (a[3] & 3); i++)
        d[3] = d[3] * 31 + tsr_active_mask();
#elif defined(TWIN_votes)
    d[0] = (unsigned)tsr_vote_all(mask, (int)(a[0] & 3));
    d[1] = (unsigned)tsr_vote_any(mask, (int)a[1]);
    d[2] = (unsigned)tsr_vote_uniform(mask, (int)(a[2] & 1));
    d[3] = tsr_ballot(mask, (int)(a[3] & 1));
#elif defined(TWIN_matches)
    d[0] = tsr_match_any(mask, a[0]);
    d[1] = tsr_match_any_u64(mask, a[1] | (unsigned long long)(c[1] & 1) << 32);
    d[2] = tsr_match_all(mask, a[2], &flag);
    d[2] = with_flag(d[2], flag);
    d[3] = tsr_match_all_u64(mask, a[3] | (unsigned long long)a[3] << 32, &flag);
    d[3] = with_flag(d[3], flag);
#elif defined(TWIN_shuffles)
    /* All lanes: one that is asked must take part. Any bits may come as lane and as segments. */
    mask = TSR_ALL_LANES;
    d[0] = tsr_shuffle_in(mask, a[0], c[0], c[0] >> 16, &flag);
    d[0] = with_flag(d[0], flag);
    d[1] = tsr_shuffle_up_in(mask, a[1], c[1], c[1] >> 16, &flag);
    d[1] = with_flag(d[1], flag);
    d[2] = tsr_shuffle_down_in(mask, a[2], c[2], c[2] >> 16, &flag);
    d[2] = with_flag(d[2], flag);
    d[3] = tsr_shuffle_xor_in(mask, a[3], c[3], c[3] >> 16, &flag);
    d[3] = with_flag(d[3], flag);
#elif defined(TWIN_redux_1)
    d[0] = tsr_redux_add(mask, a[0]);
    d[1] = tsr_redux_min_u32(mask, a[1]);
    d[2] = tsr_redux_max_u32(mask, a[2]);
    d[3] = (unsigned)tsr_redux_min_s32(mask, (int)a[3]);
#else
    d[0] = (unsigned)tsr_redux_max_s32(mask, (int)a[0]);
    d[1] = tsr_redux_and(mask, a[1]);
    d[2] = tsr_redux_or(mask, a[2]);
    d[3] = tsr_redux_xor(mask, a[3]);
#endif
}

TSR_KERNEL(128)
{
    const unsigned thread = threadIdx.x;
    const long long z = (long long)blockIdx.z;
    const unsigned *const from_a = (const unsigned *)args.a + z * args.batch_a;
    const unsigned *const from_c = (const unsigned *)args.c + z * args.batch_c;
    unsigned *const to = (unsigned *)args.d + z * args.batch_d;
    unsigned a[4], c[4], d[4];
    for (unsigned i = 0; i < 4; i++) {
        a[i] = from_a[4 * thread + i];
        c[i] = from_c[4 * thread + i];
    }
#if defined(TWIN_shuffles)
    ask(TSR_ALL_LANES, a, c, d);
#else
    /* Two parts of each warp, each by itself. */
    const unsigned part = ((const unsigned *)args.b + z * args.batch_b)[thread / 32];
    if (part >> tsr_lane_id() & 1)
        ask(part, a, c, d);
    else
        ask(~part, a, c, d);
#endif
    for (unsigned i = 0; i < 4; i++)
        to[4 * thread + i] = d[i];
}
