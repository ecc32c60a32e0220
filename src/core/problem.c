#include "core/problem.h"

#include "core/check.h"

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
    const tsr_operand *operand = tsr_problem_operand(problem, which);
    const long long element_bytes = (long long)tsr_dtype_bytes(operand->dtype);
    return (problem->batch - 1) * operand->batch_stride * element_bytes +
           tsr_span_bytes(rows, columns, operand->ld, element_bytes);
}

int tsr_any_operand_on_host(const tsr_problem *problem)
{
    return problem->a.memory == TSR_HOST || problem->b.memory == TSR_HOST || problem->c.memory == TSR_HOST ||
           problem->d.memory == TSR_HOST;
}
