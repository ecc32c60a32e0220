/* The products of a part of `wgmma_skinny` for operands of 8 bits, which tensor cores read along K alone. With PROMOTE
 * the sums of floats leave them after each stage, which is 128 of K, and are added up in f32, times the scales of
 * blocks where there are such: as in `wgmma_kmajor`, so that an element of D is the same by either where K is not cut.
 *
 * For a kernel that names the constants of wgmma_skinny.cu and has its `part`, `release` and ring. */
#ifndef TSR_COLLECTIVE_SKINNY_EIGHT_H
#define TSR_COLLECTIVE_SKINNY_EIGHT_H

#include "ptx/wgmma_eight.h"

#include "tile/any_scaled.h"
#if PROMOTE
#include "collective/block_scales.h"
#endif

#if defined(ELEM_int8)
#define multiply_eight_step tsr_wgmma_int8
#define hold_sums           tsr_wgmma_hold_integer
#else
#define multiply_eight_step tsr_wgmma_fp8
#define hold_sums           tsr_wgmma_hold
#endif

/* The products of one stage; `second_long`, `second_short`: constants, the operand is e5m2 or u8. */
TSR_DEVICE void multiply_eight_types(unsigned long long a, unsigned long long b, int accumulate, int second_long,
                                     int second_short, sum_type sum[TSR_WGMMA_REGISTERS])
{
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned k = 0; k < SPAN / BK_MMA; k++)
        multiply_eight_step(sum, a + 2 * k, b + 2 * k, accumulate || k > 0, second_long, second_short);
    tsr_wgmma_commit();
}

/* Issues them when the stage has come. The types are uniform branches: one loop serves all of them. */
TSR_DEVICE void multiply_eight_stage(const part *p, ring at, int group, int accumulate, int second_long,
                                     int second_short, sum_type sum[TSR_WGMMA_REGISTERS])
{
    const unsigned stage = p->shared + at.stage * (unsigned)p->stage_bytes;
    const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)group * BOX_BYTES, SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + LONG_BYTES, SLAB_BYTES);
    tsr_mbarrier_wait(p->shared + FULL_AT + 8 * at.stage, at.parity);
    hold_sums(sum);
    if (second_long && second_short)
        multiply_eight_types(a, b, accumulate, 1, 1, sum);
    else if (second_long)
        multiply_eight_types(a, b, accumulate, 1, 0, sum);
    else if (second_short)
        multiply_eight_types(a, b, accumulate, 0, 1, sum);
    else
        multiply_eight_types(a, b, accumulate, 0, 0, sum);
}

#if PROMOTE
/* Scales of blocks lie behind the ring's stages, of which there are fewer then: no sums of other ranks come there,
 * which the copy engine must not write over what threads wrote. */
enum { STAGE_BYTES = LONG_BYTES + SHORT_K_BYTES };

TSR_DEVICE void make_room_for_scales(part *p)
{
    p->stages = RING_BYTES / (STAGE_BYTES + SCALES_BYTES);
    p->arrivals = (int)SCALES_ARRIVALS;
}

TSR_DEVICE unsigned scales_at(const part *p, unsigned stage)
{
    return (unsigned)p->stages * STAGE_BYTES + stage * SCALES_BYTES;
}

/* Keeps the ring full, by all lanes of a warp; constants: of boxes, of scales, or of both. Both take one warp longer
 * than a stage's products take others: where there is a warp of its own for scales, it copies them. */
TSR_DEVICE void fill_with_scales(const tsr_gemm_args *args, const tsr_scaling *s, const part *p, const sources *from,
                                 int loads_boxes, int copies_scales)
{
    scale_copies scales;
    ring at = {0, 0};
    if (!loads_boxes)
        scales = scale_copies_of(s, p->swap_ab, p->z, args->m, args->n, p->long_at, p->short_at, p->first, p->step);
    TSR_ROLLED
    for (int i = 0; i < p->count; i++) {
        const int block = p->first + i * p->step;
        const unsigned full = p->shared + FULL_AT + 8 * at.stage;
        tsr_mbarrier_wait(p->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
        if (loads_boxes && tsr_elect()) {
            tsr_mbarrier_arrive_expect(full, LONG_BYTES + (unsigned)p->rows_short * 128);
            load_stage(p, from, full, p->shared + at.stage * STAGE_BYTES, block * BK, 0, 0);
        }
        if (loads_boxes && copies_scales && i == 0) /* while the first boxes are on their way */
            scales = scale_copies_of(s, p->swap_ab, p->z, args->m, args->n, p->long_at, p->short_at, p->first, p->step);
        if (copies_scales)
            scale_copies_start(&scales, (unsigned char *)TSR_SHARED + scales_at(p, at.stage), full);
        ring_advance(&at, (unsigned)p->stages);
    }
}

TSR_DEVICE void multiply_eight(const part *p, int group, int second_long, int second_short,
                               float sum[TSR_WGMMA_REGISTERS])
{
    float product[TSR_WGMMA_REGISTERS];
    ring at = {0, 0};
    for (int block = 0; block < p->count; block++) {
        multiply_eight_stage(p, at, group, 0, second_long, second_short, product);
        tsr_wgmma_hold(product);
        tsr_wgmma_wait(0);
        tsr_wgmma_hold(product);
        release(p, at.stage);
        ring_advance(&at, (unsigned)p->stages);
        TSR_UNROLL
        for (int i = 0; i < TSR_WGMMA_REGISTERS; i++)
            sum[i] += product[i];
    }
}

/* The same times scales of blocks. */
TSR_DEVICE void multiply_eight_scaled(const part *p, int group, int second_long, int second_short,
                                      const block_scales *scales, float sum[TSR_WGMMA_REGISTERS])
{
    const int row = group * 64 + (int)threadIdx.x / 32 % 4 * 16 + (int)threadIdx.x % 32 / 4;
    const int are_few = block_scales_are_few(scales);
    float product[TSR_WGMMA_REGISTERS];
    ring at = {0, 0};
    for (int block = 0; block < p->count; block++) {
        const unsigned from = p->shared + scales_at(p, at.stage);
        few_scales few = {{0}, {0}};
        multiply_eight_stage(p, at, group, 0, second_long, second_short, product);
        if (are_few)
            few = few_scales_read(scales, from, row);
        tsr_wgmma_hold(product);
        tsr_wgmma_wait(0);
        tsr_wgmma_hold(product);
        if (are_few)
            few_scales_add(&few, TSR_WGMMA_REGISTERS, product, sum);
        else
            block_scales_add(scales, from, row, TSR_WGMMA_REGISTERS, product, sum);
        tsr_warp_sync(TSR_ALL_LANES); /* all lanes have read them */
        release(p, at.stage);
        ring_advance(&at, (unsigned)p->stages);
    }
}
#else
/* The sums stay in the tensor cores. One batch of wgmma is always in flight. */
TSR_DEVICE void multiply_eight(const part *p, int group, int second_long, int second_short,
                               sum_type sum[TSR_WGMMA_REGISTERS])
{
    ring at = {0, 0};
    unsigned previous = 0;
    for (int block = 0; block < p->count; block++) {
        multiply_eight_stage(p, at, group, block > 0, second_long, second_short, sum);
        tsr_wgmma_wait(1);
        if (block > 0)
            release(p, previous);
        previous = at.stage;
        ring_advance(&at, (unsigned)p->stages);
    }
    hold_sums(sum);
    tsr_wgmma_wait(0);
    hold_sums(sum);
}
#endif

#if defined(ELEM_int8)
#include "collective/zero_points.h"

/* Zero points' sums lie behind the ring's stages, of which there is one less then. */
enum { STAGE_BYTES = LONG_BYTES + SHORT_K_BYTES, ZERO_AREA = (128 + BN) * 4, ZEROS = 4 /* a warp group's barrier */ };

TSR_DEVICE int has_zero_points(const tsr_scaling *s)
{
    return s->zero_a || s->zero_b;
}

TSR_DEVICE void make_room_for_zeros(part *p)
{
    p->stages = MOST_STAGES - 1;
}

/* Of K, in the part. */
TSR_DEVICE unsigned steps_of(const tsr_gemm_args *args, const part *p)
{
    const long long last = p->first + (long long)(p->count - 1) * p->step, left = args->k - last * BK;
    return p->count == 0 ? 0 : (unsigned)((p->count - 1) * BK + (left < BK ? left : BK));
}

/* The products with the sums of both operands' bytes, and the correction: parts of K add up to that of the whole. */
TSR_DEVICE void multiply_with_zeros(const tsr_gemm_args *args, const tsr_scaling *s, const part *p, int group,
                                    int second_long, int second_short, int sum[TSR_WGMMA_REGISTERS])
{
    const unsigned area = p->shared + (unsigned)p->stages * STAGE_BYTES + (unsigned)group * ZERO_AREA;
    ring at = {0, 0};
    zero_sums_begin(area, ZEROS + (unsigned)group);
    for (int block = 0; block < p->count; block++) {
        const unsigned stage = p->shared + at.stage * (unsigned)p->stage_bytes;
        multiply_eight_stage(p, at, group, block > 0, second_long, second_short, sum);
        zero_sums_add(area, stage + (unsigned)group * BOX_BYTES, stage + LONG_BYTES, second_long, second_short);
        hold_sums(sum);
        tsr_wgmma_wait(0);
        hold_sums(sum);
        tsr_warp_sync(TSR_ALL_LANES);
        release(p, at.stage);
        ring_advance(&at, (unsigned)p->stages);
    }
    zero_side rows = zero_side_of_a(args, s, second_long), columns = zero_side_of_b(args, s, second_short);
    if (p->swap_ab) {
        rows = zero_side_of_b(args, s, second_long);
        columns = zero_side_of_a(args, s, second_short);
    }
    zero_points_correct(&rows, &columns, p->z, steps_of(args, p), area, ZEROS + (unsigned)group,
                        p->long_at + 64 * group, p->short_at, TSR_WGMMA_REGISTERS, sum);
}
#endif

/* All products of the part. Rows of the sums are those of the longer side. */
TSR_DEVICE void multiply_eight_part(const tsr_gemm_args *args, const tsr_scaling *s, const part *p, int group,
                                    sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int second_long = (p->swap_ab ? args->type_b : args->type_a) == ANY_SECOND;
    const int second_short = (p->swap_ab ? args->type_a : args->type_b) == ANY_SECOND;
    TSR_UNROLL
    for (int i = 0; i < TSR_WGMMA_REGISTERS; i++)
        sum[i] = 0;
#if PROMOTE
    if (TSR_UNLIKELY(args->block_scales)) {
        const block_scales scales = block_scales_of(s, p->swap_ab, p->short_at);
        multiply_eight_scaled(p, group, second_long, second_short, &scales, sum);
        return;
    }
#elif defined(ELEM_int8)
    if (TSR_UNLIKELY(has_zero_points(s))) {
        multiply_with_zeros(args, s, p, group, second_long, second_short, sum);
        return;
    }
#else
    (void)s;
#endif
    multiply_eight(p, group, second_long, second_short, sum);
}

/* Adds the rank's lines of the tile over the cluster, and stores them; `columns` where D takes four at once. */
TSR_DEVICE void finish_eight(const tsr_gemm_args *args, const part *p, const tile_reduce *mine, const any_scaled *to,
                             const any_columns *columns)
{
    const long long row = p->swap_ab ? p->short_at : p->long_at;
    if (tile_reduce_is_quads(to, args))
        tile_reduce_finish_quads(mine, to, columns, row, p->rank, p->size);
    else
        tile_reduce_finish_any(mine, to, row, p->rank, p->size);
}

#endif
