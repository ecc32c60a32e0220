/* Ends of wgmma_kmajor's tiles beside those that other kernels have: scales of rows and columns where D takes four
 * neighbours by one store, and C by the copy engine's boxes (BOXED_D). For wgmma_kmajor.cu, whose constants and `walk`
 * these use. */
#ifndef TSR_COLLECTIVE_KMAJOR_ENDS_H
#define TSR_COLLECTIVE_KMAJOR_ENDS_H

#if !defined(ELEM_tf32)
/* Scales of rows and columns where D takes four neighbours by one store (any_scaled_is_quads). All scales and the bias
 * are loaded before the first piece, so that one latency covers them; the main loop's registers are free by then.
 * `type` is a constant. */
TSR_DEVICE void output_scaled_quads(const any_scaled *e, int type, unsigned piece, int m, int n,
                                    const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES, STEPS = 16 / ROWS, PIECES = BN / PIECE };
    const int lane = (int)threadIdx.x % 32, row = m + lane / LANES, column = n + lane % LANES * 4;
    const unsigned take = piece + (unsigned)(lane / LANES * PITCH + lane % LANES * 4) * 4;
    const long long step_bytes = ROWS * e->out.ldd * any_bytes(type);
    unsigned char *const d = e->out.d + (row * e->out.ldd + column) * any_bytes(type);
    const int left = e->out.m - row < 0 ? 0 : e->out.m - row > 16 ? 16 : (int)(e->out.m - row);
    any_columns columns[PIECES];
    float row_factors[STEPS];
    TSR_UNROLL
    for (int p = 0; p < PIECES; p++)
        columns[p] = any_columns_of(e, type, column + p * PIECE);
    TSR_UNROLL
    for (int i = 0; i < STEPS; i++)
        row_factors[i] = i * ROWS < left ? any_row_factor(e, row + i * ROWS) : 0;
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        float four[STEPS][4];
        leave_piece(piece, first, sum);
        TSR_UNROLL
        for (int i = 0; i < STEPS; i++)
            tsr_shared_load_f32x4(take + (unsigned)(i * ROWS * PITCH) * 4, four[i]);
        if (column + first >= e->out.n)
            continue;
        TSR_UNROLL
        for (int i = 0; i < STEPS; i++)
            if (i * ROWS < left)
                any_scaled_store_quad(e, type, d + i * step_bytes + first * any_bytes(type), row_factors[i],
                                      &columns[first / PIECE], 0, four[i]);
    }
}

/* The warp's 16 rows of the tile, from row `m` of D on. 0: nothing was stored, for only output_elements can. */
TSR_DEVICE int output_scaled(const any_scaled *e, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    if (any_is_eight(e) && e->fours)
        output_eight(e, piece, m, n, sum);
    else if (!any_scaled_is_quads(e))
        return 0;
    else if (e->out.type == TSR_TYPE_F32)
        output_scaled_quads(e, TSR_TYPE_F32, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits_scaled(&e->out, e->columns) && e->out.type == TSR_TYPE_BF16)
        output_lean_scaled(&e->out, TSR_TYPE_BF16, 1, e->rows, e->columns, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits_scaled(&e->out, e->columns))
        output_lean_scaled(&e->out, TSR_TYPE_F16, 1, e->rows, e->columns, piece, m, n, sum);
    else if (e->out.type == TSR_TYPE_BF16)
        output_scaled_quads(e, TSR_TYPE_BF16, piece, m, n, sum);
    else
        output_scaled_quads(e, TSR_TYPE_F16, piece, m, n, sum);
    return 1;
}
#endif

#if BOXED_D
/* 1 if all tiles leave by boxes, and C comes by such where it is read: the host's rule for their maps
 * (core/tensor_spec.h), and what collective/wgmma_lean.h asks of scales and a bias. */
TSR_DEVICE int output_is_boxed(const tsr_gemm_args *args, const tsr_scaling *s)
{
    unsigned long long all =
        (unsigned long long)args->d | (unsigned long long)((args->ldd | args->batch_d | args->n) * 2);
    if (args->beta != 0)
        all |= (unsigned long long)args->c | (unsigned long long)((args->ldc | args->batch_c) * 2);
    const unsigned long long columns =
        s->b && s->mode_b == TSR_SCALING_VECTOR
            ? (unsigned long long)(s->b + s->first_n) | (unsigned long long)(s->batch_b * 4)
            : 0;
    return any_bytes(args->type_d) == 2 && all % 16 == 0 && columns % 8 == 0 &&
           (args->epilogue == TSR_EPILOGUE_NONE || (unsigned long long)args->bias % 4 == 0);
}

/* Before a tile is multiplied: requests C's rows of this warp. */
TSR_DEVICE void request_c(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, unsigned tile,
                          int group, int warp, unsigned piece)
{
    const tile_place place = tile_order_place(&w->raster, tile);
    const int m = (place.m * CLUSTER_M + w->rank) * BM + group * SLABS * 64 + warp * 16;
    const unsigned bar = w->shared + C_FULL_AT + 16 * (unsigned)(group * 4 + warp);
    tsr_tma_wait_read(0); /* D's boxes of the tile before have left */
    tsr_warp_sync(TSR_ALL_LANES);
    if (tsr_elect())
        tsr_mbarrier_arrive_expect(bar, SLABS * LEAN_BYTES);
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int slab = 0; slab < SLABS; slab++)
        lean_request_c(args, maps, piece + (unsigned)(slab * LEAN_BYTES), bar, m + slab * 64, place.n * BN, place.z);
}

/* Until they have come. The mbarrier's phase stands beside it: no register keeps it during the main loop. */
TSR_DEVICE void await_c(unsigned bar)
{
    const unsigned parity = tsr_shared_load_u32(bar + 8);
    tsr_mbarrier_wait(bar, parity);
    tsr_warp_sync(TSR_ALL_LANES);
    if (threadIdx.x % 32 == 0)
        tsr_shared_store_u32(bar + 8, parity ^ 1);
}
#endif

#endif
