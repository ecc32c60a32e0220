#include "core/problem.h"

#include "core/check.h"
#include "core/dtype.h"
#include "core/memory.h"
#include "core/scaling.h"

void tsr_problem_set_operand(tsr_problem *problem, char which, const tsr_operand *operand)
{
    tsr_matrix *const matrices[] = {&problem->a, &problem->b, &problem->c, &problem->d};
    tsr_dtype *const types[] = {&problem->op.a, &problem->op.b, &problem->op.c, &problem->op.d};
    tsr_matrix *const to = matrices[which - 'a'];
    *types[which - 'a'] = operand->dtype;
    to->trans = operand->trans;
    to->memory = operand->memory;
    to->align_bytes = operand->align_bytes;
    to->ld = operand->ld;
    to->batch_stride = operand->batch_stride;
}

void tsr_stored_shape(const tsr_problem *problem, char which, long long *rows, long long *columns)
{
    long long r = problem->m, c = problem->n;
    int transposed = 0;
    if (which == 'a') {
        c = problem->k;
        transposed = problem->a.trans == TSR_T;
    } else if (which == 'b') {
        r = problem->k;
        transposed = problem->b.trans == TSR_T;
    }
    *rows = transposed ? c : r;
    *columns = transposed ? r : c;
}

long long tsr_operand_bytes(const tsr_problem *problem, char which)
{
    long long rows, columns;
    tsr_stored_shape(problem, which, &rows, &columns);
    if (rows == 0 || columns == 0 || problem->batch == 0)
        return 0;
    const tsr_matrix *operand = tsr_problem_operand(problem, which);
    const long long element_bytes = tsr_problem_element(problem, which);
    return (problem->batch - 1) * operand->batch_stride * element_bytes +
           tsr_span_bytes(rows, columns, operand->ld, element_bytes);
}

long long tsr_bias_bytes(const tsr_problem *problem)
{
    return problem->op.epilogue == TSR_EPILOGUE_NONE
               ? 0
               : problem->n * (long long)tsr_dtype_bytes(tsr_dtype_bias(problem->op.d));
}

_Static_assert(sizeof(tsr_matrix) == 2 * sizeof(int) + 3 * sizeof(long long), "tsr_matrix has no padding");
_Static_assert(sizeof(tsr_problem) == sizeof(tsr_op) + sizeof(int) + sizeof(uint64_t) + 4 * sizeof(long long) +
                                          4 * sizeof(tsr_matrix) + sizeof(size_t) + sizeof(char *),
               "tsr_problem has no padding");

#define SAME(mode) \
    _Static_assert((int)TSR_SCALE_##mode == (int)TSR_SCALING_##mode, "core/scaling.h has the order of tsr_scale_mode")
SAME(TENSOR);
SAME(VECTOR);
SAME(1X128);
SAME(128X128);
#undef SAME

static long long outer_of(const tsr_problem *problem, char which)
{
    return which == 'a' ? problem->m : problem->n;
}

static long long blocks_of(long long elements)
{
    return elements / TSR_SCALE_BLOCK + (elements % TSR_SCALE_BLOCK > 0);
}

long long tsr_scale_stride(const tsr_problem *problem, char which)
{
    switch (tsr_problem_scales(problem, which)) {
    case TSR_SCALE_1X128:
        return outer_of(problem, which);
    case TSR_SCALE_128X128:
        return (blocks_of(problem->k) + 3) / 4 * 4;
    default:
        return 0;
    }
}

long long tsr_scale_count_of_one(const tsr_problem *problem, char which)
{
    const long long outer = outer_of(problem, which), stride = tsr_scale_stride(problem, which);
    long long count = 0;
    switch (tsr_problem_scales(problem, which)) {
    case TSR_SCALE_VECTOR:
        return outer;
    case TSR_SCALE_1X128:
        return tsr_mul_size(blocks_of(problem->k), stride, &count) ? count : 0;
    case TSR_SCALE_128X128:
        return tsr_mul_size(blocks_of(outer), stride, &count) ? count : 0;
    default:
        return 1;
    }
}

long long tsr_scale_count(const tsr_problem *problem, char which)
{
    const tsr_scale_mode mode = tsr_problem_scales(problem, which);
    const int is_shared = mode == TSR_SCALE_TENSOR || tsr_problem_operand(problem, which)->batch_stride == 0;
    const long long of_one = tsr_scale_count_of_one(problem, which);
    long long count = 0;
    return tsr_mul_size(of_one, is_shared ? 1 : problem->batch, &count) ? count : 0;
}

int tsr_any_operand_on_host(const tsr_problem *problem)
{
    return problem->a.memory == TSR_HOST || problem->b.memory == TSR_HOST || problem->c.memory == TSR_HOST ||
           problem->d.memory == TSR_HOST;
}
