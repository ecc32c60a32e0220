#include "plan/pad.h"

#include "core/tensor_spec.h"
#include "plan/price.h"
#include "plan/price_common.h"

/* Short rows are rounded up to 16 bytes, which is all that kernels ask for; long ones to whole lines of L2, so that a
 * box of 128 bytes is one line and not parts of two. */
#define PAD_BYTES        16
#define LINE_BYTES       128
#define LONG_ROW_BYTES   1024
#define COPY_ALIGN       256 /* of each copy's base */
#define CTAS_PER_SM      8
#define MOST_BYTES       ((size_t)1 << 60) /* beyond any memory; sums of a few fit 64 bits */
#define CHUNKS_PER_WARP  32
#define TRANSPOSED_BYTES 128 /* a side of a tile of kernels/prep/transpose.cu */

/* 1 if the config reads that operand wherever its elements lie. Of A whose rows may begin anywhere, problems may not.
 */
static int takes_any(const tsr_config *config, const tsr_problem *problem, char which)
{
    const long long stride_bytes = problem->a.batch_stride * tsr_problem_element(problem, 'a');
    if (config->family == TSR_FAMILY_THIN && tsr_config_takes_unaligned(config))
        return which == 'a' ? config->unaligned_a : which == 'b' ? config->unaligned_b : 1;
    if (config->family == TSR_FAMILY_THIN) /* it takes vectors of one operand alone */
        return which != (config->bm < config->bn ? 'b' : 'a');
    if (config->any_cd && which > 'b')
        return 1;
    return config->unaligned_a && which == 'a' && (problem->batch <= 1 || stride_bytes % TSR_TENSOR_ALIGN_BYTES == 0);
}

long long tsr_config_align_bytes(const tsr_config *config, const tsr_problem *problem, char which)
{
    const long long element = tsr_problem_element(problem, which);
    const int is_any = takes_any(config, problem, which);
    const long long elems = config->align_elems > 1 && !is_any ? config->align_elems : 1;
    /* By tensor maps, or by cp.async of 16 bytes. */
    const int by_16 = (config->tma || config->copies_transposed || config->op.operands == TSR_TAKES_SPARSE24) &&
                      (which == 'a' || which == 'b') && !is_any && elems * element < TSR_TENSOR_ALIGN_BYTES;
    return by_16 ? TSR_TENSOR_ALIGN_BYTES : elems * element;
}

long long tsr_operand_alignment(const tsr_problem *problem, char which)
{
    const tsr_matrix *operand = tsr_problem_operand(problem, which);
    const long long element = tsr_problem_element(problem, which);
    const long long all = operand->align_bytes | operand->ld * element | operand->batch_stride * element;
    return all & -all;
}

int tsr_operand_is_aligned(const tsr_problem *problem, char which, long long align_bytes)
{
    return tsr_operand_alignment(problem, which) >= align_bytes;
}

tsr_problem tsr_padded_problem(const tsr_problem *problem, unsigned pads)
{
    tsr_problem padded = *problem;
    tsr_matrix *const operands[] = {&padded.a, &padded.b};
    for (int i = 0; i < 2; i++) {
        if (!(pads >> i & 1))
            continue;
        const long long element = tsr_problem_element(problem, "ab"[i]);
        long long rows, columns;
        if (pads >> (2 + i) & 1)
            operands[i]->trans = operands[i]->trans == TSR_T ? TSR_N : TSR_T;
        tsr_stored_shape(&padded, "ab"[i], &rows, &columns);
        const long long unit = (columns * element >= LONG_ROW_BYTES ? LINE_BYTES : PAD_BYTES) / element;
        operands[i]->ld = (columns + unit - 1) / unit * unit;
        if (operands[i]->batch_stride != 0)
            operands[i]->batch_stride = rows * operands[i]->ld;
        operands[i]->align_bytes = COPY_ALIGN;
    }
    return padded;
}

size_t tsr_padded_bytes(const tsr_problem *padded, char which)
{
    const tsr_matrix *operand = tsr_problem_operand(padded, which);
    long long rows, columns;
    tsr_stored_shape(padded, which, &rows, &columns);
    /* The last row to its padded end: the copy is written in whole chunks. */
    const long long problems = operand->batch_stride == 0 ? 1 : padded->batch;
    const double bytes =
        (double)rows * (double)operand->ld * (double)problems * (double)tsr_problem_element(padded, which);
    if (bytes > MOST_BYTES)
        return MOST_BYTES;
    const size_t whole = (size_t)(rows * operand->ld * problems * tsr_problem_element(padded, which));
    return (whole + COPY_ALIGN - 1) / COPY_ALIGN * COPY_ALIGN;
}

/* Without what lies between rows, as in a slice of a wider matrix. */
static double elements_bytes(const tsr_problem *problem, char which)
{
    const tsr_matrix *operand = tsr_problem_operand(problem, which);
    long long rows, columns;
    tsr_stored_shape(problem, which, &rows, &columns);
    return (double)tsr_problem_element(problem, which) * (double)rows * (double)columns *
           (operand->batch_stride == 0 ? 1 : (double)problem->batch);
}

/* Constants: perf/LOG. */
void tsr_price_pad(const tsr_problem *problem, const tsr_problem *padded, unsigned pads, const tsr_device *device,
                   tsr_price *cost)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double launch_ns = f->pad_launch_ns, gpu_launch_ns = f->pad_gpu_launch_ns, share = f->pad_share,
                 gpu_share = f->pad_gpu_share; /* of the memory's rate */
    double bytes = 0;
    for (int i = 0; i < 2; i++)
        if (pads >> i & 1)
            bytes += elements_bytes(problem, "ab"[i]) + (double)tsr_padded_bytes(padded, "ab"[i]);
    const double transposed_ns = tsr_copies_of(pads, 1) ? f->pad_transposed_ns : 0;
    const int launches = (tsr_copies_of(pads, 0) != 0) + (tsr_copies_of(pads, 1) != 0);
    cost->bytes += bytes;
    if (cost->launches == 0) { /* the host's share is in all that is known */
        cost->ns += launches * launch_ns + transposed_ns + bytes / (share * device->memory_bytes_per_s) * 1e9;
        return;
    }
    const double before_ns = tsr_launched_ns(f, cost->launches, cost->gpu_ns);
    cost->gpu_ns += launches * gpu_launch_ns + transposed_ns + bytes / (gpu_share * device->memory_bytes_per_s) * 1e9 +
                    cost->early_ns;
    cost->launches += launches;
    cost->ns += tsr_launched_ns(f, cost->launches, cost->gpu_ns) - before_ns;
}

tsr_copy_args tsr_pad_args(const tsr_problem *problem, const tsr_problem *padded, unsigned pads, const void *a,
                           const void *b, void *to_a, void *to_b)
{
    return (tsr_copy_args){
        .a = pads & TSR_PAD_A ? a : NULL,
        .b = pads & TSR_PAD_B ? b : NULL,
        .to_a = pads & TSR_PAD_A ? to_a : NULL,
        .to_b = pads & TSR_PAD_B ? to_b : NULL,
        .m = problem->m,
        .n = problem->n,
        .k = problem->k,
        .lda = problem->a.ld,
        .ldb = problem->b.ld,
        .to_lda = padded->a.ld,
        .to_ldb = padded->b.ld,
        .batch_a = problem->a.batch_stride,
        .batch_b = problem->b.batch_stride,
        .to_batch_a = padded->a.batch_stride,
        .to_batch_b = padded->b.batch_stride,
        .batch = problem->batch,
        .trans_a = problem->a.trans == TSR_T,
        .trans_b = problem->b.trans == TSR_T,
    };
}

/* CTAs that copy an operand of so many rows and columns. */
static long long ctas_of(const tsr_config *config, long long rows, long long columns, long long problems)
{
    const long long element = (long long)tsr_dtype_bytes(tsr_op_of(&config->op).a);
    if (config->role == TSR_ROLE_TRANSPOSE) {
        const long long tile = TRANSPOSED_BYTES / element;
        return ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile) * problems;
    }
    const long long chunk = PAD_BYTES / element, chunks_of_cta = (long long)CHUNKS_PER_WARP * config->threads_x / 32;
    return (rows * problems * ((columns + chunk - 1) / chunk) + chunks_of_cta - 1) / chunks_of_cta;
}

tsr_grid tsr_pad_grid(const tsr_config *config, const tsr_problem *problem, unsigned pads, int sm_count)
{
    tsr_grid grid = {0, 0, 1};
    for (int i = 0; i < 2; i++) {
        if (!(pads >> i & 1))
            continue;
        long long rows, columns;
        tsr_stored_shape(problem, "ab"[i], &rows, &columns);
        const long long problems = tsr_problem_operand(problem, "ab"[i])->batch_stride == 0 ? 1 : problem->batch;
        const long long ctas = ctas_of(config, rows, columns, problems);
        grid.x = ctas > grid.x ? ctas : grid.x;
        grid.y++;
    }
    const long long most = (long long)sm_count * CTAS_PER_SM;
    grid.x = grid.x > most ? most : grid.x;
    return grid;
}
