#include "core/tensor_spec.h"

#include <stdint.h>
#include <string.h>

#include "core/dtype.h"
#include "core/sparse24.h"

#define MOST_EXTENT       (1ll << 32)
#define MOST_STRIDE_BYTES (1ll << 40)
#define MOST_BOX          256

enum { SPAN_K = 64, OUTPUT_ROWS = 64, WARP_ROWS = 16, SLAB = 32 };

/* 1 if base and strides of an operand suit the copy engine. */
static int is_aligned(const void *base, long long ld, long long batch_stride, size_t element)
{
    const uintptr_t all =
        (uintptr_t)base | (uintptr_t)(ld * (long long)element) | (uintptr_t)(batch_stride * (long long)element);
    return all % TSR_TENSOR_ALIGN_BYTES == 0;
}

int tsr_tensor_output_fits(const tsr_gemm_args *args, tsr_dtype dtype_cd)
{
    const size_t element = tsr_dtype_bytes(dtype_cd);
    return args->n * (long long)element % TSR_TENSOR_ALIGN_BYTES == 0 &&
           is_aligned(args->d, args->ldd, args->batch_d, element) &&
           (args->beta == 0.0 || is_aligned(args->c, args->ldc, args->batch_c, element));
}

static tsr_tensor_spec make(const void *base, tsr_dtype dtype, long long x, long long y, long long ld, long long batch,
                            long long batch_stride, int box_x, int box_y, int swizzle_bytes)
{
    const long long element = (long long)tsr_dtype_bytes(dtype);
    /* Problems that share one operand: a single layer, whose stride is never used but must obey the rules. */
    const int layers = batch_stride != 0 && batch > 1;
    return (tsr_tensor_spec){.base = base,
                             .dtype = dtype,
                             .rank = 3,
                             .swizzle_bytes = (short)swizzle_bytes,
                             .dims = {x, y, layers ? batch : 1},
                             .strides_bytes = {ld * element, (layers ? batch_stride : ld) * element},
                             .box = {box_x, box_y, 1}};
}

/* An operand that is contiguous along K, a multiple of 64, as slices of 64 along K side by side: a box has several. */
static tsr_tensor_spec make_slices(const void *base, tsr_dtype dtype, long long mn, long long k, long long ld,
                                   long long batch, long long batch_stride, int rows, int slices)
{
    tsr_tensor_spec spec =
        make(base, dtype, SPAN_K, mn, ld, batch, batch_stride, SPAN_K, rows, TSR_TENSOR_SWIZZLE_BYTES);
    spec.rank = 4;
    spec.dims[3] = spec.dims[2];
    spec.dims[2] = k / SPAN_K;
    spec.strides_bytes[2] = spec.strides_bytes[1];
    spec.strides_bytes[1] = SPAN_K * (long long)tsr_dtype_bytes(dtype);
    spec.box[2] = slices;
    spec.box[3] = 1;
    return spec;
}

/* 1 if tensor cores multiply the type as it is: not f32, which is cut to tf32 for them. */
static int is_for_tensor_cores(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->peak >= TSR_PEAK_TF32;
}

/* `rows` is the tile's extent along M or N, `share` how many CTAs cut the box among themselves. */
static tsr_tensor_spec make_input(const tsr_config *config, const void *base, tsr_dtype dtype, int k_is_contiguous,
                                  long long mn, long long k, long long ld, long long batch, long long batch_stride,
                                  int rows, int share)
{
    const int span = TSR_TENSOR_SWIZZLE_BYTES;
    if (config->copies_transposed)
        return make(base, dtype, k, mn, ld, batch, batch_stride, span / (int)tsr_dtype_bytes(dtype), rows / share,
                    span);
    if (!is_for_tensor_cores(dtype)) /* boxes as threads read them */
        return k_is_contiguous ? make(base, dtype, k, mn, ld, batch, batch_stride, config->bk, rows, config->bk * 4)
                               : make(base, dtype, mn, k, ld, batch, batch_stride, SLAB, config->bk, 0);
    const int deep = config->bk > SPAN_K ? config->bk / SPAN_K : 1;
    if (k_is_contiguous && deep > 1)
        return make_slices(base, dtype, mn, k, ld, batch, batch_stride, rows, deep);
    return k_is_contiguous ? make(base, dtype, k, mn, ld, batch, batch_stride, SPAN_K, rows / share, span)
                           : make(base, dtype, mn, k, ld, batch, batch_stride, SPAN_K, deep * SPAN_K / share, span);
}

/* A whose rows may begin anywhere: eight of them are a line. A line ends with its last row's last element, so that no
 * box reads what lies behind A. */
static tsr_tensor_spec make_lines(const tsr_config *config, const tsr_gemm_args *g)
{
    const long long element = (long long)tsr_dtype_bytes((tsr_dtype)g->type_a), rows = g->trans_a ? g->k : g->m,
                    columns = g->trans_a ? g->m : g->k, chunk = TSR_TENSOR_ALIGN_BYTES / element;
    const long long before_bytes = (long long)((uintptr_t)g->a % TSR_TENSOR_ALIGN_BYTES);
    const int tile_rows = g->trans_a ? config->bk : config->bm, tile_columns = g->trans_a ? config->bm : config->bk;
    tsr_tensor_spec spec = make((const char *)g->a - before_bytes, (tsr_dtype)g->type_a,
                                before_bytes / element + (TSR_TENSOR_LINE_ROWS - 1) * g->lda + columns,
                                rows / TSR_TENSOR_LINE_ROWS, TSR_TENSOR_LINE_ROWS * g->lda, g->batch, g->batch_a,
                                tile_columns + (int)chunk, tile_rows / TSR_TENSOR_LINE_ROWS, 0);
    spec.has_gaps = 1;
    return spec;
}

/* An operand that is compressed 2:4 as two matrices, and the other one as it is. */
static void make_sparse24(const tsr_config *config, const tsr_gemm_args *g, tsr_tensor_spec specs[4])
{
    const int swap_ab = g->schedule.swap_ab, k_is_contiguous = swap_ab ? !g->trans_a : g->trans_b;
    const tsr_dtype dtype = (tsr_dtype)(swap_ab ? g->type_b : g->type_a),
                    other = (tsr_dtype)(swap_ab ? g->type_a : g->type_b);
    const tsr_form24 form = tsr_form24_of(dtype, swap_ab ? g->n : g->m, g->k);
    const char *const values = swap_ab ? g->b : g->a;
    const long long element = (long long)tsr_dtype_bytes(dtype), words = form.k / tsr_lanes24_k(dtype) * TSR_LANES24;
    const long long stride = (swap_ab ? g->batch_b : g->batch_a) != 0 ? form.bytes : 0;
    const int lines = tsr_box24_lines(config->bm), kept = config->bk / 2,
              span = TSR_TENSOR_SWIZZLE_BYTES / (int)element;
    specs[swap_ab] = make(values, dtype, form.k / 2, form.lines, form.k / 2, g->batch, stride / element, kept, lines,
                          kept * (int)element);
    specs[2] = make(values + form.values_bytes, TSR_S32, words, form.lines / 16, words, g->batch, stride / 4,
                    config->bk / tsr_lanes24_k(dtype) * TSR_LANES24, lines / 16, 0);
    const void *const base = swap_ab ? g->a : g->b;
    const long long rows = swap_ab ? g->m : g->n, ld = swap_ab ? g->lda : g->ldb,
                    batch_stride = swap_ab ? g->batch_a : g->batch_b;
    specs[!swap_ab] = k_is_contiguous ? make(base, other, g->k, rows, ld, g->batch, batch_stride, span,
                                             config->bn / config->cluster_m, TSR_TENSOR_SWIZZLE_BYTES)
                                      : make(base, other, rows, g->k, ld, g->batch, batch_stride, span,
                                             span / config->cluster_m, TSR_TENSOR_SWIZZLE_BYTES);
}

/* One operand as boxes of lines that lie along M or N, the other one along K. */
static void make_mn_major_lines(const tsr_config *config, const tsr_gemm_args *g, tsr_tensor_spec specs[4])
{
    const int swap_ab = g->schedule.swap_ab;
    const int span = TSR_TENSOR_SWIZZLE_BYTES / (int)tsr_dtype_bytes((tsr_dtype)g->type_a);
    const tsr_tensor_spec a =
        make(g->a, (tsr_dtype)g->type_a, swap_ab ? g->k : g->m, swap_ab ? g->m : g->k, g->lda, g->batch, g->batch_a,
             span, swap_ab ? config->bn / config->cluster_m : config->bk, TSR_TENSOR_SWIZZLE_BYTES);
    const tsr_tensor_spec b =
        make(g->b, (tsr_dtype)g->type_b, swap_ab ? g->n : g->k, swap_ab ? g->k : g->n, g->ldb, g->batch, g->batch_b,
             span, swap_ab ? config->bk : config->bn / config->cluster_m, TSR_TENSOR_SWIZZLE_BYTES);
    specs[0] = a;
    specs[1] = b;
}

/* C and D as boxes of `columns` and `rows`, if the copy engine can write D and read C. */
static void make_output(const tsr_gemm_args *g, int columns, int rows, tsr_tensor_spec specs[4])
{
    const tsr_dtype dtype = (tsr_dtype)g->type_d;
    const int swizzle_bytes = columns * (int)tsr_dtype_bytes(dtype);
    if (!tsr_tensor_output_fits(g, dtype))
        return;
    if (g->beta != 0.0)
        specs[2] = make(g->c, dtype, g->n, g->m, g->ldc, g->batch, g->batch_c, columns, rows, swizzle_bytes);
    specs[3] = make(g->d, dtype, g->n, g->m, g->ldd, g->batch, g->batch_d, columns, rows, swizzle_bytes);
}

void tsr_config_tensor_specs(const tsr_config *config, const tsr_gemm_args *g, tsr_tensor_spec specs[4])
{
    int bm, bn;
    memset(specs, 0, 4 * sizeof *specs);
    if (config->op.operands == TSR_TAKES_SPARSE24) {
        if (g->k > 0)
            make_sparse24(config, g, specs);
        return;
    }
    if (config->mn_major_lines) {
        if (g->k > 0)
            make_mn_major_lines(config, g, specs);
        return;
    }
    tsr_config_tile(config, g->m, g->n, &bm, &bn);
    int share_a = config->cluster_n, share_b = config->cluster_m;
    if (config->swaps_ab) {
        const int columns = tsr_config_short_tile(config, g), swap_ab = g->schedule.swap_ab;
        bm = swap_ab ? columns : config->bn;
        bn = swap_ab ? config->bn : columns;
        share_a = swap_ab ? config->cluster_n : config->cluster_m;
        share_b = swap_ab ? config->cluster_m : config->cluster_n;
    }
    if (g->k > 0) {
        const long long rows = g->trans_a ? g->k : g->m;
        if (config->unaligned_a)
            specs[0] = rows < TSR_TENSOR_LINE_ROWS ? (tsr_tensor_spec){0} : make_lines(config, g);
        else
            specs[0] = make_input(config, g->a, (tsr_dtype)g->type_a, !g->trans_a, g->m, g->k, g->lda, g->batch,
                                  g->batch_a, bm, share_a);
        specs[1] = make_input(config, g->b, (tsr_dtype)g->type_b, g->trans_b, g->n, g->k, g->ldb, g->batch, g->batch_b,
                              bn, share_b);
    }
    const int element = (int)tsr_dtype_bytes((tsr_dtype)g->type_d);
    if (config->boxed_d && element == 2)
        make_output(g, config->bn % SPAN_K == 0 ? SPAN_K : SPAN_K / 2, WARP_ROWS, specs);
    if (!config->swaps_ab && !config->scaled && !config->copies_transposed && is_for_tensor_cores((tsr_dtype)g->type_a))
        make_output(g, TSR_TENSOR_SWIZZLE_BYTES / element, OUTPUT_ROWS, specs);
}

const char *tsr_tensor_spec_fault(const tsr_tensor_spec *spec)
{
    const long long element = (long long)tsr_dtype_bytes(spec->dtype);
    if ((uintptr_t)spec->base % TSR_TENSOR_ALIGN_BYTES)
        return "a tensor map's address must be a multiple of 16 bytes";
    if (spec->rank < 1 || spec->rank > TSR_TENSOR_MOST_RANK)
        return "a tensor map has 1 to 5 dimensions";
    for (int i = 0; i < spec->rank; i++)
        if (spec->dims[i] < 1 || spec->dims[i] > MOST_EXTENT)
            return "a tensor map's extents must be 1 to 2^32";
    for (int i = 0; i < spec->rank - 1; i++)
        if (spec->strides_bytes[i] <= 0 || spec->strides_bytes[i] % TSR_TENSOR_ALIGN_BYTES ||
            spec->strides_bytes[i] >= MOST_STRIDE_BYTES)
            return "a tensor map's strides must be multiples of 16 bytes below 2^40";
    for (int i = 0; i < spec->rank; i++)
        if (spec->box[i] < 1 || spec->box[i] > MOST_BOX)
            return "a tensor map's box must be 1 to 256 elements in each dimension";
    if (spec->box[0] * element % TSR_TENSOR_ALIGN_BYTES)
        return "a tensor map's box must be a multiple of 16 bytes along x";
    if (spec->swizzle_bytes != 0 && spec->swizzle_bytes != 32 && spec->swizzle_bytes != 64 &&
        spec->swizzle_bytes != 128)
        return "a tensor map's swizzle spans 32, 64 or 128 bytes, or there is none";
    if (spec->swizzle_bytes && spec->box[0] * element > spec->swizzle_bytes)
        return "a tensor map's box must not exceed the swizzle's span along x";
    return NULL;
}
