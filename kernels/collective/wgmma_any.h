/* Ends of wgmma.cu's tiles where C and D are of 8 bits, or of the other type of 16. For wgmma.cu, whose constants and
 * `walk` these use. */
#ifndef TSR_COLLECTIVE_WGMMA_ANY_H
#define TSR_COLLECTIVE_WGMMA_ANY_H

#if defined(ELEM_bf16)
enum { OTHER_TYPE = TSR_TYPE_F16 };
#else
enum { OTHER_TYPE = TSR_TYPE_BF16 };
#endif

/* The warp's 16 rows of the tile, from row `m` and column `n` of D on. */
TSR_DEVICE void output_any_type(const tsr_gemm_args *args, const walk *w, unsigned piece, int m, int n, int z,
                                const float sum[TSR_WGMMA_REGISTERS])
{
    const any_scaled scaled = any_scaled_open(args, w->scaling, z, 0);
    const any_out *const out = &scaled.out;
    if (out->bytes == 1 && scaled.fours)
        output_eight(&scaled, piece, m, n, sum);
    else if (lean_fits(out) && out->form.form == TSR_EPILOGUE_NONE)
        output_lean(out, OTHER_TYPE, piece, m, n, sum);
    else if (out->bytes == 2 && (out->quads || any_quads_of_c(out, args)))
        output_quads(out, OTHER_TYPE, piece, m, n, sum);
    else
        output_elements(&scaled, piece, m, n, sum);
}

/* A warp group's rows of a tile, from row `m` and column `n` of D on. */
TSR_DEVICE void output_group(const tsr_gemm_args *args, const walk *w, int group, int m, int n, int z,
                             float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    const int warp = tsr_warp_uniform((int)threadIdx.x / 32) % 4;
    const unsigned boxes = w->shared + BOXES_AT + (unsigned)group * (EPILOGUE_BOXES * BOX_BYTES);
    TSR_ROLLED
    for (int i = 0; i < MMAS; i++) { /* code of one end serves all */
        if (i > 0)
            TSR_UNROLL
        for (int j = 0; j < TSR_WGMMA_REGISTERS; j++)
            sum[0][j] = sum[MMAS - 1][j];
        output_any_type(args, w, boxes + (unsigned)(warp * PIECE_BYTES), m + 64 * i + 16 * warp, n, z, sum[0]);
    }
}

#endif
