/* Products with an operand that is compressed 2:4: a block of its lines along K at a time is spread out, and the
 * config's own algorithm multiplies it.
 *
 *   A compressed: blocks of rows of A give rows of D     B compressed: blocks of columns of B give columns of D
 *
 * D has the bits of the product with the whole matrix. Sums of cpu-tiled depend on the shape that the whole problem has
 * (cpu/choose.h), which each block is told; those of cpu/widened.c on its own blocks of D, which these are multiples
 * of. A last block that would be short joins the one before it: few rows or columns may be summed in another order. */
#include "core/sparse24.h"

#include "core/dtype.h"
#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/reserve.h"

enum { LINES_OF_A = 512, LINES_OF_B = 1024, LINES_OF_TASK = 16 };

typedef struct spreading {
    const tsr_lines24 *lines;
    const void *values, *metadata;
    long long matrix, first, count;
    char *to;
    long long line_step, k_step; /* of what is spread out */
} spreading;

static void spread_lines(void *job, int64_t index, int slot)
{
    const spreading *const s = job;
    const long long first = index * LINES_OF_TASK, left = s->count - first;
    (void)slot;
    tsr_spread24_lines(
        s->lines, s->values, s->metadata, s->matrix, s->first + first, left < LINES_OF_TASK ? left : LINES_OF_TASK,
        s->to + first * s->line_step * (long long)tsr_dtype_bytes(s->lines->dtype), s->line_step, s->k_step);
}

/* The block's lines of all matrices, as the descriptor stores them, rows tight. */
static void spread_block(const tsr_cpu_call *call, const tsr_lines24 *lines, const char *compressed, long long first,
                         long long count, int k_inner, char *to)
{
    tsr_cpu_device *const device = call->device->impl;
    const long long matrix_bytes = count * lines->k * (long long)tsr_dtype_bytes(lines->dtype);
    for (long long z = 0; z < lines->matrices; z++) {
        spreading job = {lines,
                         compressed,
                         compressed + tsr_values24_bytes(lines),
                         z,
                         first,
                         count,
                         to + z * matrix_bytes,
                         k_inner ? lines->k : 1,
                         k_inner ? 1 : count};
        tsr_pool_run(&device->pool, call->threads, (count + LINES_OF_TASK - 1) / LINES_OF_TASK, spread_lines, &job);
    }
}

/* What cpu-tiled is told, so that a block is summed as the whole. */
static int algorithm_for(const tsr_config *config, const tsr_cpu_call *call)
{
    if (config->run != tsr_cpu_tiled)
        return call->algorithm;
    const tsr_cpu_choice choice =
        call->algorithm ? tsr_choice_of(call->algorithm)
                        : tsr_cpu_algorithm(call->device, tsr_op_of(&config->op).a, call->args, 0, call->threads);
    return tsr_choice_number(tsr_choice_of_shape(choice.shape, choice.k_parts));
}

/* D's rows or columns from line `first` on. */
static tsr_status multiply_block(const tsr_config *config, const tsr_cpu_call *call, int algorithm, long long first,
                                 long long count, const void *spread, const tsr_lines24 *lines)
{
    const int is_a = call->sparse24 == TSR_SPARSE24_A;
    const long long d_bytes = (long long)tsr_dtype_bytes((tsr_dtype)call->args->type_d);
    tsr_gemm_args args = *call->args;
    const long long c_at = is_a ? first * args.ldc : first, d_at = is_a ? first * args.ldd : first;
    const long long stride = lines->matrices > 1 ? count * lines->k : 0;
    if (is_a) {
        args.m = count;
        args.a = spread;
        args.lda = args.trans_a ? count : lines->k;
        args.batch_a = stride;
    } else {
        args.n = count;
        args.b = spread;
        args.ldb = args.trans_b ? lines->k : count;
        args.batch_b = stride;
        args.bias = args.bias ? (const char *)args.bias + first * d_bytes : NULL;
    }
    args.c = args.c ? (const char *)args.c + c_at * d_bytes : NULL;
    args.d = (char *)args.d + d_at * d_bytes;
    tsr_cpu_call block = *call;
    block.args = &args;
    block.algorithm = algorithm;
    block.sparse24 = 0;
    *(is_a ? &block.packed_a : &block.packed_b) = NULL;
    return config->run(config, &block);
}

/* Lines of the block that begins at `first`. */
static long long block_lines(long long lines, long long first, long long most)
{
    const long long left = lines - first;
    return left < 2 * most ? left : most;
}

/* The blocks that follow each other. `compressed` NULL: they are rehearsed (cpu/reserve.h). */
static tsr_status run_blocks(const tsr_config *config, const tsr_cpu_call *call, const tsr_lines24 *lines,
                             const char *compressed, char *spread)
{
    const tsr_gemm_args *const g = call->args;
    const int is_a = call->sparse24 == TSR_SPARSE24_A, k_inner = is_a ? !g->trans_a : g->trans_b;
    const int algorithm = algorithm_for(config, call);
    tsr_status status = TSR_OK;
    for (long long first = 0, count = 0; first < lines->lines && status == TSR_OK; first += count) {
        count = block_lines(lines->lines, first, is_a ? LINES_OF_A : LINES_OF_B);
        if (compressed)
            spread_block(call, lines, compressed, first, count, k_inner, spread);
        else
            tsr_reserve_next(call->reserve, 0);
        status = multiply_block(config, call, algorithm, first, count, spread, lines);
    }
    return status;
}

/* A block that finds no memory behind one that is done would leave D half written. */
static tsr_status run_reserved(const tsr_config *config, const tsr_cpu_call *call, const tsr_lines24 *lines,
                               const char *compressed, char *spread)
{
    tsr_cpu_device *const device = call->device->impl;
    tsr_cpu_call reserving = *call;
    tsr_reserve reserve;
    tsr_reserve_begin(&reserve, &device->scratch);
    reserving.reserve = &reserve;
    tsr_status status = run_blocks(config, &reserving, lines, NULL, spread);
    tsr_reserve_rehearsed(&reserve);
    if (status == TSR_OK)
        status = run_blocks(config, &reserving, lines, compressed, spread);
    tsr_reserve_end(&reserve);
    return status;
}

tsr_status tsr_cpu_sparse24(const tsr_config *config, const tsr_cpu_call *call, const tsr_problem *problem)
{
    tsr_cpu_device *const device = call->device->impl;
    const tsr_gemm_args *const g = call->args;
    const int is_a = call->sparse24 == TSR_SPARSE24_A;
    const tsr_lines24 lines = tsr_lines24_of(problem, is_a ? 'a' : 'b');
    if (g->k == 0 || g->m == 0 || g->n == 0 || g->batch == 0) { /* no product reads it */
        tsr_cpu_call plain = *call;
        plain.packed_a = plain.packed_b = NULL;
        plain.sparse24 = 0;
        return config->run(config, &plain);
    }
    const long long most = is_a ? LINES_OF_A : LINES_OF_B, largest = lines.lines < 2 * most ? lines.lines : 2 * most;
    const size_t bytes = (size_t)(lines.matrices * largest * lines.k) * tsr_dtype_bytes(lines.dtype);
    char *const spread = tsr_scratch_take(&device->scratch, bytes);
    if (!spread)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of a compressed operand's lines", bytes);
    const char *const compressed = is_a ? call->packed_a : call->packed_b;
    const int is_one = block_lines(lines.lines, 0, most) == lines.lines;
    const tsr_status status = is_one || config->run == tsr_cpu_sequential
                                  ? run_blocks(config, call, &lines, compressed, spread)
                                  : run_reserved(config, call, &lines, compressed, spread);
    tsr_scratch_give(&device->scratch, spread);
    return status;
}
