/* Which tensor maps a config's launch needs, as numbers: the CUDA backend hands them to the driver, the emulator checks
 * them by the driver's documented rules. Both ask this one place, so that they cannot differ. */
#ifndef TSR_CORE_TENSOR_SPEC_H
#define TSR_CORE_TENSOR_SPEC_H

#include "core/config.h"

enum {
    TSR_TENSOR_ALIGN_BYTES = 16,    /* of bases and strides */
    TSR_TENSOR_SWIZZLE_BYTES = 128, /* rows of a box, and the span within which 16-byte chunks are permuted */
    TSR_TENSOR_LINE_ROWS = 8,       /* stored rows of A in a line, where these may begin anywhere */
    TSR_TENSOR_MOST_RANK = 5
};

/* One operand as the copy engine sees it: `dims` elements along x (contiguous), y and so on, of which it moves boxes.
 * In shared memory a box is dense, x first, its 16-byte chunks permuted by the swizzle. The maps of rows have rank 3:
 * x, y (a row on), z (a problem on), and boxes of box[0] x box[1] x 1. */
typedef struct tsr_tensor_spec {
    const void *base; /* NULL: the launch needs no map of this operand */
    tsr_dtype dtype;
    int is_unsigned;     /* of TSR_S32: u32, which only reductions tell apart */
    int rank;            /* 1 to 5 */
    short swizzle_bytes; /* 128, 64, 32, or 0 for none */
    short has_gaps;      /* 1: lines hold more than the operand's rows: what lies between these, and before them */
    long long dims[TSR_TENSOR_MOST_RANK];
    long long strides_bytes[TSR_TENSOR_MOST_RANK - 1]; /* of y, z, ... */
    int box[TSR_TENSOR_MOST_RANK];
} tsr_tensor_spec;

/* Fills the specifications of A, B, C and D (in this order) for a launch of a config with `tma` set.
 *
 * A and B: none if K = 0. For tensor cores all boxes have rows of 128 bytes and the 128-byte swizzle: an operand that
 * is contiguous along K has boxes of 64 (K) x its tile's rows; one that is contiguous along M or N boxes of 64 (M or N)
 * x 64 (K). CTAs of a cluster that need the same part load a share each: A's boxes are cut into cluster_n, B's into
 * cluster_m slices along the second dimension. Rows whose bk is 128 have boxes of 64 (M or N) x 128 (K), or, contiguous
 * along K, maps of rank 4: 64 (K) x rows x slices of 64 along K x problems, and boxes of two slices. For f32 a box of
 * an operand that is contiguous along K is bk (K) x its tile's rows, swizzled over its 4 bk bytes, and one of the
 * others 32 (M or N) x bk (K), not swizzled. C and D: boxes of 64 rows x 128 bytes; none if the config swaps A and B,
 * multiplies f32, or tsr_tensor_output_fits says no, nor of C if beta = 0. Configs with `copies_transposed`: A and B
 * along K, boxes of 128 bytes along K x the tile's rows; no C and D, but with `boxed_d` where these have 16 bits: boxes
 * of 16 rows x 64 columns, or 32 where bn is no multiple of 64, swizzled over their rows.
 *
 * Configs with `unaligned_a`: A's map has eight of A's stored rows in each line (TSR_TENSOR_LINE_ROWS), a distance that
 * is a multiple of 16 bytes whatever lda is, and begins at the multiple of 16 bytes at or before A. A box is as wide as
 * the tile and 8 elements more, and has one row of each of the tile's lines. Rows past the last whole line are in no
 * map; where there is no whole line, there is no map.
 *
 * Configs that take a compressed operand alone: that one's map has its values, lines of what bk elements keep (and a
 * swizzle over as much), C's map has its metadata as words, 32 for each 64 of K x 16 lines (tsr_box24_lines); the other
 * operand as above, its boxes 128 bytes deep along K whatever bk is; no D.
 */
void tsr_config_tensor_specs(const tsr_config *config, const tsr_gemm_args *args, tsr_tensor_spec specs[4]);

/* 1 if the copy engine can write D (and read C, if beta is not 0). It clips at 16 bytes and not at elements, so N must
 * be a multiple of 16 bytes, as must bases and strides. Kernels decide by the same rule (collective/wgmma_output.h). */
int tsr_tensor_output_fits(const tsr_gemm_args *args, tsr_dtype dtype_cd);

/* The driver's rules for cuTensorMapEncodeTiled as documented. NULL if all hold, else the one that does not. */
const char *tsr_tensor_spec_fault(const tsr_tensor_spec *spec);

#endif
