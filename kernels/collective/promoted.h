/* Sums of 8-bit floats that leave the tensor cores after each stage, which is 128 of K, and are added up in f32, times
 * the scales of blocks where there are such.
 *
 *   one stage at a time:      wgmma s | add s | wgmma s + 1     (another warp group multiplies meanwhile)
 *
 *   two, if registers suffice: wgmma s | wgmma s + 1 | wgmma s + 2
 *                                      | add s       | add s + 1
 *
 *   SLABS times 64 rows for a warp group: wgmma s | add s | wgmma s | add s | wgmma s + 1 ...
 *                                         slab 0  |       | slab 1  |       | slab 0
 *
 * For wgmma_kmajor.cu, whose `walk`, has_unit, stage_await, multiply_stage and release these use. */
#ifndef TSR_COLLECTIVE_PROMOTED_H
#define TSR_COLLECTIVE_PROMOTED_H

/* Which scales of blocks there are: none, few (block_scales_are_few), or one for each column; `kind`, a constant, is
 * one of these. */
enum { NO_SCALES, FEW_SCALES, MANY_SCALES };

/* The lane's first row of the tile. */
TSR_DEVICE int row_of_lane(int group)
{
    return group * 64 + (int)threadIdx.x / 32 % 4 * 16 + (int)threadIdx.x % 32 / 4;
}

/* What is there of a stage's few scales. */
TSR_DEVICE few_scales few_scales_of_stage(const walk *w, unsigned stage, int group)
{
    return few_scales_read(&w->scales, w->shared + SCALES_AT + stage * SCALES_BYTES, row_of_lane(group));
}

/* A stage's products in `part` are done: they are added to `sum`, and the stage is free if the group `is_done` with it,
 * a constant. `few`: its scales. */
TSR_DEVICE void promote(const walk *w, unsigned stage, int group, int kind, int is_done, const few_scales *few,
                        const sum_type part[TSR_WGMMA_REGISTERS], sum_type sum[TSR_WGMMA_REGISTERS])
{
    if (kind == MANY_SCALES)
        block_scales_add(&w->scales, w->shared + SCALES_AT + stage * SCALES_BYTES, row_of_lane(group),
                         TSR_WGMMA_REGISTERS, part, sum);
    if (is_done && kind != NO_SCALES)
        tsr_warp_sync(TSR_ALL_LANES); /* all lanes have read them */
    if (is_done)
        release(w, stage);
    if (kind == FEW_SCALES)
        few_scales_add(few, TSR_WGMMA_REGISTERS, part, sum);
    if (kind == NO_SCALES)
        TSR_UNROLL
    for (int i = 0; i < TSR_WGMMA_REGISTERS; i++)
        sum[i] += part[i];
}

TSR_DEVICE void part_await(int batches_in_flight, sum_type part[TSR_WGMMA_REGISTERS])
{
    hold_sums(part);
    if (batches_in_flight)
        tsr_wgmma_wait(1);
    else
        tsr_wgmma_wait(0);
    hold_sums(part);
}

/* The products of `count` blocks of a tile in sums that leave the tensor cores after each stage. With scales the next
 * stage is awaited before the tensor cores are, and its few scales are read meanwhile. */
TSR_DEVICE void multiply_promoted(const walk *w, ring *at, int count, int group, int second_a, int second_b, int kind,
                                  sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int early = kind != NO_SCALES;
    sum_type part[TSR_WGMMA_REGISTERS];
    few_scales next = {{0}, {0}};
    if (early && count > 0)
        stage_await(w, *at);
    if (kind == FEW_SCALES && count > 0)
        next = few_scales_of_stage(w, at->stage, group);
    for (int block = 0; block < count; block++) {
        const unsigned stage = at->stage;
        const few_scales few = next;
        if (!early)
            stage_await(w, *at);
        multiply_stage(w, stage, group, 0, second_a, second_b, part);
        ring_advance(at, STAGES);
        if (early && block + 1 < count) {
            stage_await(w, *at);
            if (kind == FEW_SCALES)
                next = few_scales_of_stage(w, at->stage, group);
        }
        part_await(0, part);
        promote(w, stage, group, kind, 1, &few, part, sum);
    }
}

/* The same where two stages' sums fit into registers: the products of `at` begin, into `next`; those of the stage
 * before it, in `part`, are awaited and added. `few`: that stage's scales, then those of `at`. */
TSR_DEVICE void multiply_behind(const walk *w, ring *at, unsigned *previous, int group, int second_a, int second_b,
                                int kind, few_scales *few, sum_type next[TSR_WGMMA_REGISTERS],
                                sum_type part[TSR_WGMMA_REGISTERS], sum_type sum[TSR_WGMMA_REGISTERS])
{
    const few_scales of_part = *few;
    stage_await(w, *at);
    multiply_stage(w, at->stage, group, 0, second_a, second_b, next);
    if (kind == FEW_SCALES)
        *few = few_scales_of_stage(w, at->stage, group);
    part_await(1, part);
    promote(w, *previous, group, kind, 1, &of_part, part, sum);
    *previous = at->stage;
    ring_advance(at, STAGES);
}

TSR_DEVICE void multiply_overlapped(const walk *w, ring *at, int count, int group, int second_a, int second_b, int kind,
                                    sum_type sum[TSR_WGMMA_REGISTERS])
{
    sum_type even[TSR_WGMMA_REGISTERS], odd[TSR_WGMMA_REGISTERS];
    few_scales few = {{0}, {0}};
    unsigned previous = at->stage;
    int left = count;
    if (left == 0)
        return;
    stage_await(w, *at);
    multiply_stage(w, previous, group, 0, second_a, second_b, even);
    if (kind == FEW_SCALES)
        few = few_scales_of_stage(w, previous, group);
    ring_advance(at, STAGES);
    for (; left > 2; left -= 2) {
        multiply_behind(w, at, &previous, group, second_a, second_b, kind, &few, odd, even, sum);
        multiply_behind(w, at, &previous, group, second_a, second_b, kind, &few, even, odd, sum);
    }
    if (left == 2) {
        multiply_behind(w, at, &previous, group, second_a, second_b, kind, &few, odd, even, sum);
        part_await(0, odd);
        promote(w, previous, group, kind, 1, &few, odd, sum);
    } else {
        part_await(0, even);
        promote(w, previous, group, kind, 1, &few, even, sum);
    }
}

#if SLABS > 1
/* The same for a warp group with several times 64 rows, each of which has the tensor cores in turn. */
TSR_DEVICE void multiply_slabs(const walk *w, ring *at, int count, int group, int second_a, int second_b, int kind,
                               sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    sum_type part[TSR_WGMMA_REGISTERS];
    if (count > 0)
        stage_await(w, *at);
    for (int block = 0; block < count; block++) {
        const unsigned stage = at->stage;
        ring_advance(at, STAGES);
        TSR_UNROLL
        for (int slab = 0; slab < SLABS; slab++) {
            few_scales few = {{0}, {0}};
            multiply_stage(w, stage, group * SLABS + slab, 0, second_a, second_b, part);
            if (kind == FEW_SCALES)
                few = few_scales_of_stage(w, stage, group * SLABS + slab);
            if (slab == SLABS - 1 && block + 1 < count)
                stage_await(w, *at);
            part_await(0, part);
            promote(w, stage, group * SLABS + slab, kind, slab == SLABS - 1, &few, part, sum[slab]);
        }
    }
}
#endif

/* By whichever of these fits. */
TSR_DEVICE void multiply_scaled(const walk *w, ring *at, int count, int group, int second_a, int second_b, int kind,
                                sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
#if SLABS > 1
    multiply_slabs(w, at, count, group, second_a, second_b, kind, sum);
#else
    if (OVERLAPS && kind != MANY_SCALES)
        multiply_overlapped(w, at, count, group, second_a, second_b, kind, sum[0]);
    else
        multiply_promoted(w, at, count, group, second_a, second_b, kind, sum[0]);
#endif
}

/* Keeps the ring full of the stages' scales of blocks, by a warp of its own: the producer has no time for them. */
TSR_DEVICE void produce_scales(const tsr_gemm_args *args, const walk *w)
{
    ring at = {0, 0};
    tsr_grid_wait();
    for (unsigned index = 0; has_unit(w, index); index++) {
        const tile_unit u = unit_of(w, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const int m = (place.m * CLUSTER_M + w->rank) * BM, n = place.n * BN;
        scale_copies scales = scale_copies_of(w->scaling, 0, place.z, args->m, args->n, m, n, u.first, 1);
        TSR_ROLLED
        for (int block = 0; block < u.count; block++) {
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            scale_copies_start(&scales, (unsigned char *)TSR_SHARED + SCALES_AT + at.stage * SCALES_BYTES,
                               w->shared + FULL_AT + 8 * at.stage);
            ring_advance(&at, STAGES);
        }
    }
}

#endif
