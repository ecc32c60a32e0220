/* What a warp multiplies in one step of STEP_K along K (4, 8 or 16), by mma in f64: fragments from tiles of
 * tile/f64_tile.h, and their product. A multiple of 16 rows and of 8 columns.
 *
 * sm_90 has m16n8kSTEP_K. Before it there is m8n8k4 alone, whose registers are halves and quarters of those of the
 * larger shapes (ptx/mma_f64.h): the same fragments are multiplied piece by piece, 4 of k after the other. */
#ifndef TSR_TILE_F64_FRAGMENT_H
#define TSR_TILE_F64_FRAGMENT_H

#include "ptx/mma_f64.h"
#include "tile/f64_tile.h"

enum { F64_FOURS = STEP_K / 4, F64_A = STEP_K / 2, F64_B = STEP_K / 4 /* registers of a fragment */ };

/* Rows 16 * index to 16 * index + 15. */
TSR_DEVICE void f64_load_a(double to[F64_A], const unsigned char *tile, unsigned offset, int index, int step,
                           int height, int bk, int k_contiguous)
{
    TSR_UNROLL
    for (int i = 0; i < F64_A; i++)
        to[i] = f64_load(tile, offset, 2 * index + i % 2, step * F64_FOURS + i / 2, height, bk, k_contiguous);
}

/* Columns 8 * index to 8 * index + 7. */
TSR_DEVICE void f64_load_b(double to[F64_B], const unsigned char *tile, unsigned offset, int index, int step,
                           int height, int bk, int k_contiguous)
{
    TSR_UNROLL
    for (int i = 0; i < F64_B; i++)
        to[i] = f64_load(tile, offset, index, step * F64_FOURS + i, height, bk, k_contiguous);
}

TSR_DEVICE void f64_mma(double acc[4], const double a[F64_A], const double b[F64_B])
{
#if defined(TSR_F64_EIGHT_ROWS) || (!TSR_EMU && defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900)
    TSR_UNROLL
    for (int i = 0; i < F64_FOURS; i++) {
        tsr_mma_f64_m8n8k4(&acc[0], a[2 * i], b[i]);
        tsr_mma_f64_m8n8k4(&acc[2], a[2 * i + 1], b[i]);
    }
#elif STEP_K == 4
    tsr_mma_f64_m16n8k4(acc, a, b);
#elif STEP_K == 8
    tsr_mma_f64_m16n8k8(acc, a, b);
#else
    tsr_mma_f64_m16n8k16(acc, a, b);
#endif
}

#endif
