/* Products of wgmma_kmajor: some blocks of a tile along K, as the ring brings them, in the registers of a warp group.
 * For wgmma_kmajor.cu, whose constants, `walk`, `sum_type` and has_unit these use. */
#ifndef TSR_COLLECTIVE_KMAJOR_PRODUCT_H
#define TSR_COLLECTIVE_KMAJOR_PRODUCT_H

/* A warp is done with a stage. */
TSR_DEVICE void release(const walk *w, unsigned stage)
{
    ring_release(w->shared + EMPTY_AT + 8 * stage, CLUSTER_M);
}

/* Until a stage has come. */
TSR_DEVICE void stage_await(const walk *w, ring at)
{
    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);
}

/* 64 of the stage's rows, of which this is the group's first. */
TSR_DEVICE int first_slab(int group)
{
    return PINGPONG ? 0 : group * SLABS;
}

/* One instruction; `second_a`, `second_b`: constants, A and B are e5m2 or u8. */
TSR_DEVICE void multiply_step(unsigned long long a, unsigned long long b, int accumulate, int second_a, int second_b,
                              sum_type sum[TSR_WGMMA_REGISTERS])
{
#if defined(ELEM_tf32)
    (void)second_a;
    (void)second_b;
    tsr_wgmma_k_major(sum, a, b, accumulate);
#elif defined(ELEM_fp8)
    tsr_wgmma_fp8(sum, a, b, accumulate, second_a, second_b);
#else
    tsr_wgmma_int8(sum, a, b, accumulate, second_a, second_b);
#endif
}

/* Issues the products of one stage, which has come; `accumulate`: to what is in `sum`. */
TSR_DEVICE void multiply_stage(const walk *w, unsigned at, int group, int accumulate, int second_a, int second_b,
                               sum_type sum[TSR_WGMMA_REGISTERS])
{
    const unsigned stage = w->shared + at * STAGE_BYTES;
    const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)group * SLAB_BYTES, SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
    hold_sums(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned k = 0; k < INSTRUCTIONS; k++)
        multiply_step(a + 2 * k, b + 2 * k, accumulate || k > 0, second_a, second_b, sum);
    tsr_wgmma_commit();
}

TSR_DEVICE void hold_all_sums(sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int slab = 0; slab < SLABS; slab++)
        hold_sums(sum[slab]);
}

/* The same for all of a warp group's rows, whose first 64 are number `first` of the stage's. */
TSR_DEVICE void multiply_rows(const walk *w, unsigned at, int first, int accumulate, int second_a, int second_b,
                              sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
#if SLABS == 1
    multiply_stage(w, at, first, accumulate, second_a, second_b, sum[0]);
#else
    const unsigned stage = w->shared + at * STAGE_BYTES;
    const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)first * SLAB_BYTES, SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
    hold_all_sums(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned k = 0; k < INSTRUCTIONS; k++) {
        TSR_UNROLL
        for (unsigned slab = 0; slab < SLABS; slab++)
            multiply_step(a + slab * SLAB_BYTES / 16 + 2 * k, b + 2 * k, accumulate || k > 0, second_a, second_b,
                          sum[slab]);
    }
    tsr_wgmma_commit();
#endif
}

/* With PINGPONG: all products of unit `index` have been issued, and the other warp group has its turn, if there is one
 * more. That is asked for only now, so that no register keeps it during the main loop. */
TSR_DEVICE void pass_on(const walk *w, int group, unsigned index)
{
    if (PINGPONG && has_unit(w, index + 1))
        tsr_named_barrier_arrive(ORDER + 1 - (unsigned)group, 256);
}

/* The products of `count` blocks of a tile in the tensor cores' sums. One batch stays in flight; the one before it is
 * done, and so is its stage. `index`: of the unit. */
TSR_DEVICE void multiply_straight(const walk *w, ring *at, int count, int group, unsigned index, int second_a,
                                  int second_b, sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    unsigned previous = 0;
    for (int block = 0; block < count; block++) {
        stage_await(w, *at);
        multiply_rows(w, at->stage, first_slab(group), block > 0, second_a, second_b, sum);
        tsr_wgmma_wait(1);
        if (block > 0)
            release(w, previous);
        previous = at->stage;
        ring_advance(at, STAGES);
    }
    pass_on(w, group, index);
    hold_all_sums(sum);
    tsr_wgmma_wait(0);
    hold_all_sums(sum);
    if (count > 0)
        release(w, previous);
}

#if defined(ELEM_int8)
/* Of K, in some blocks of a tile. */
TSR_DEVICE unsigned steps_of(const tsr_gemm_args *args, const tile_unit *u)
{
    const long long left = args->k - (long long)u->first * BK, all = (long long)u->count * BK;
    return (unsigned)(left < all ? left : all);
}

TSR_DEVICE int has_zero_points(const tsr_scaling *s)
{
    return s->zero_a || s->zero_b;
}

/* Of a warp group's first 64 rows. */
TSR_DEVICE unsigned zeros_of(const walk *w, int group)
{
    return w->shared + ZEROS_AT + (unsigned)group * ZERO_STEP;
}

/* The same with the sums of A's and B's bytes, for zero points. */
TSR_DEVICE void multiply_with_zeros(const walk *w, ring *at, int count, int group, unsigned index, int second_a,
                                    int second_b, sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    const unsigned zeros = zeros_of(w, group);
    for (int block = 0; block < count; block++) {
        const unsigned stage = w->shared + at->stage * STAGE_BYTES;
        stage_await(w, *at);
        multiply_rows(w, at->stage, first_slab(group), block > 0, second_a, second_b, sum);
        TSR_UNROLL
        for (unsigned slab = 0; slab < SLABS; slab++)
            zero_sums_add(zeros + slab * ZERO_AREA, stage + ((unsigned)first_slab(group) + slab) * SLAB_BYTES,
                          stage + A_BYTES, second_a, second_b);
        hold_all_sums(sum);
        tsr_wgmma_wait(0);
        hold_all_sums(sum);
        tsr_warp_sync(TSR_ALL_LANES);
        release(w, at->stage);
        ring_advance(at, STAGES);
    }
    pass_on(w, group, index);
}
#endif

#if PROMOTE
#include "collective/promoted.h"
#endif

/* Some blocks of a tile. */
TSR_DEVICE void multiply(const walk *w, const tsr_gemm_args *args, const tile_unit *u, ring *at, int group,
                         unsigned index, int second_a, int second_b, sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
#if PROMOTE
    (void)index;
    if (!TSR_UNLIKELY(args->block_scales))
        multiply_scaled(w, at, u->count, group, second_a, second_b, NO_SCALES, sum);
    else if (block_scales_are_few(&w->scales))
        multiply_scaled(w, at, u->count, group, second_a, second_b, FEW_SCALES, sum);
    else
        multiply_scaled(w, at, u->count, group, second_a, second_b, MANY_SCALES, sum);
#else
#if defined(ELEM_int8)
    const tsr_scaling *const s = w->scaling;
    if (has_zero_points(s)) {
        TSR_UNROLL
        for (unsigned slab = 0; slab < SLABS; slab++)
            zero_sums_begin(zeros_of(w, group) + slab * ZERO_AREA, ZEROS + (unsigned)group);
        multiply_with_zeros(w, at, u->count, group, index, second_a, second_b, sum);
#if !PINGPONG
        const tile_place place = tile_order_place(&w->raster, u->tile); /* only now: see consume */
        zero_points_apply(args, s, place.z, steps_of(args, u), zeros_of(w, group), ZEROS + (unsigned)group,
                          (place.m * CLUSTER_M + w->rank) * BM + group * 64, place.n * BN, second_a, second_b,
                          TSR_WGMMA_REGISTERS, sum[0]);
#endif
        return;
    }
#endif
    (void)args;
    multiply_straight(w, at, u->count, group, index, second_a, second_b, sum);
#endif
}

#endif
