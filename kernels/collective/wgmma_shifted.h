/* Producers of wgmma.cu for an A whose rows begin anywhere: a warp requests its rows as they lie, and the warp group
 * shifts them to the ring's stages (collective/wgmma_unaligned.h). For wgmma.cu, whose constants, `walk` and is_idle
 * these use. */
#ifndef TSR_COLLECTIVE_WGMMA_SHIFTED_H
#define TSR_COLLECTIVE_WGMMA_SHIFTED_H

/* The next block along K whose rows of A are requested. */
typedef struct raw_cursor {
    unsigned index; /* of the unit behind this one */
    int block, end, m, z;
    ring at;
} raw_cursor;

/* Requests the rows of the next block, if there is one, when the warps are done with those that lie there: one warp. */
TSR_DEVICE void request_raw(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, raw_cursor *next)
{
    const unsigned partition = w->shared + STREAM_K_AT;
    while (next->block == next->end) {
        if (!tile_has_unit(partition, next->index))
            return;
        const tile_unit u = tile_unit_of(partition, next->index++);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        next->block = u.first;
        next->end = u.first + u.count;
        next->m = place.m * BM;
        next->z = args->batch_a ? place.z : 0;
    }
    const int k = next->block++ * BK, box_bytes = args->trans_a ? RAW_ALONG_M : RAW_ALONG_K;
    const unsigned full = w->shared + RAW_FULL_AT + 8 * next->at.stage;
    tsr_mbarrier_wait(w->shared + RAW_EMPTY_AT + 8 * next->at.stage, next->at.parity ^ 1);
    if (tsr_elect()) {
        const raw_matrix x = raw_matrix_of(args, next->z);
        raw_load(w->shared + RAW_AT + next->at.stage * RAW_BYTES, &maps->a, full, &x, box_bytes,
                 args->trans_a ? k : next->m, args->trans_a ? next->m : k, next->z);
    }
    ring_advance(&next->at, RAW_STAGES);
}

/* Keeps the ring full: a warp group, which shifts A's rows from where they came. One of its warps requests these,
 * another one B's boxes. `along_m`, a constant: A is stored along M. */
TSR_DEVICE void fill_shifted(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, int along_m)
{
    const int warp = tsr_warp_uniform((int)threadIdx.x / 32 % 4), thread = (int)threadIdx.x % 128;
    const int requests_b = warp == 0, requests_raw = warp == 1, mn_major_b = !args->trans_b;
    const unsigned partition = w->shared + STREAM_K_AT;
    const unsigned bytes = (unsigned)(mn_major_b ? B_BYTES : BN * 128);
    const raw_matrix first = raw_matrix_of(args, 0);
    const raw_lane lane = raw_lane_of(&first, along_m, thread);
    raw_cursor next = {0, 0, 0, 0, 0, {0, 0}};
    ring raw = {0, 0}, at = {0, 0};
    tsr_grid_wait();
    for (int i = 0; requests_raw && i < RAW_STAGES; i++)
        request_raw(args, maps, w, &next);
    for (unsigned index = 0; tile_has_unit(partition, index); index++) {
        const tile_unit u = tile_unit_of(partition, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const raw_matrix x = raw_matrix_of(args, args->batch_a ? place.z : 0);
        const int m = place.m * BM, n = place.n * BN, zb = args->batch_b ? place.z : 0;
        TSR_ROLLED
        for (int block = u.first; block < u.first + u.count; block++) {
            const unsigned full = w->shared + FULL_AT + 8 * at.stage, to = w->shared + at.stage * STAGE_BYTES;
            const unsigned from = w->shared + RAW_AT + raw.stage * RAW_BYTES;
            const int row = along_m ? block * BK : m, column = along_m ? m : block * BK;
            const int is_inside = raw_is_inside(&x, &lane, along_m, row, column);
            unsigned word[RAW_AT_ONCE][2][4];
            if (!is_inside)
                TSR_UNROLL
            for (int half = 0; half < 2; half++)
                raw_fetch(&x, &lane, row, column, half, word[0][half]);
            tsr_mbarrier_wait(w->shared + RAW_FULL_AT + 8 * raw.stage, raw.parity);
            if (is_inside) /* half is read while the stage is still multiplied */
                TSR_UNROLL
            for (unsigned i = 0; i < RAW_AT_ONCE; i++)
                raw_read(&lane, from, 0, i, word[i]);
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            if (requests_b && tsr_elect()) {
                tsr_mbarrier_arrive_expect(full, bytes);
                tile_load_boxes(to + A_BYTES, &maps->b, full, mn_major_b, BN, n, block * BK, zb, 1, 0, 0);
            }
            if (is_inside) {
                TSR_UNROLL
                for (unsigned i = 0; i < RAW_AT_ONCE; i++) {
                    raw_write(&lane, to, 0, i, word[i]);
                    raw_read(&lane, from, 1, i, word[i]);
                }
                TSR_UNROLL
                for (unsigned i = 0; i < RAW_AT_ONCE; i++)
                    raw_write(&lane, to, 1, i, word[i]);
            } else {
                raw_shift_edge(&x, &lane, to, from, row, column, word[0]);
            }
            tsr_fence_async_shared();
            tsr_warp_sync(TSR_ALL_LANES);
            if (thread % 32 == 0) {
                tsr_mbarrier_arrive_here(full);
                tsr_mbarrier_arrive_here(w->shared + RAW_EMPTY_AT + 8 * raw.stage);
            }
            if (requests_raw)
                request_raw(args, maps, w, &next);
            ring_advance(&raw, RAW_STAGES);
            ring_advance(&at, STAGES);
        }
    }
}

TSR_DEVICE void produce_shifted(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    if (args->trans_a)
        fill_shifted(args, maps, w, 1);
    else
        fill_shifted(args, maps, w, 0);
}

#endif
