#include "lab/verify/answer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/forms.h"
#include "lab/common/random.h"
#include "lab/verify/check_element.h"
#include "lab/verify/reference.h"
#include "plan/plan.h"

#define CHUNK_ELEMS   (1 << 19) /* references held at once */
#define END_ROUNDINGS 3         /* of a sum times its factor, of beta * C, and of D */

/* Where rows and columns cross is looked at. */
typedef struct sample {
    int64_t *rows, *columns; /* ascending */
    int64_t row_count, column_count;
} sample;

typedef struct checker {
    const tsr_gemm_desc *desc;
    const tsr_run_args *args;
    int64_t ldd;
    lab_rule rule;
    double one_signed_c; /* the rule's c where hardly anything cancels */
    double accumulator_max;
    lab_truncation truncation;
    lab_answer *out;
} checker;

/* One index in each of `count` equal bands of 0..n-1. */
static int64_t *pick(int64_t n, int64_t count, lab_random *random)
{
    int64_t *picked = malloc((size_t)(count > 0 ? count : 1) * sizeof *picked);
    for (int64_t i = 0; picked != NULL && i < count; i++) {
        const int64_t begin = (int64_t)((__int128)n * i / count), end = (int64_t)((__int128)n * (i + 1) / count);
        picked[i] = begin + (int64_t)lab_random_below(random, (uint64_t)(end - begin));
    }
    if (picked != NULL && count > 1) {
        picked[0] = 0;
        picked[count - 1] = n - 1;
    }
    return picked;
}

static int64_t at_most(double limit, int64_t n)
{
    return limit >= (double)n ? n : limit < 1.0 ? 1 : (int64_t)limit;
}

/* Square, as far as D allows it, with a cost of at most the budget. */
static tsr_status choose_sample(const tsr_gemm_desc *desc, double budget, uint64_t seed, sample *out)
{
    const double cells = budget / ((double)desc->k + 8.0); /* an element costs something even with K = 0 */
    lab_random random = lab_random_make(seed, 0);
    memset(out, 0, sizeof *out);
    if (desc->m == 0 || desc->n == 0)
        return TSR_OK;
    out->row_count = at_most((double)desc->n < sqrt(cells) ? cells / (double)desc->n : sqrt(cells), desc->m);
    out->column_count = at_most(cells / (double)out->row_count, desc->n);
    out->rows = pick(desc->m, out->row_count, &random);
    out->columns = pick(desc->n, out->column_count, &random);
    return out->rows != NULL && out->columns != NULL ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a sample");
}

static void note(checker *j, int64_t row, int64_t column, double value, const lab_reference_element *truth)
{
    lab_answer *out = j->out;
    lab_rule rule = j->rule;
    if (fabs(truth->value) >= 0.5 * truth->size)
        rule.c = fmax(rule.c, j->one_signed_c);
    lab_check check = lab_check_element(&rule, value, truth);
    out->checked++;
    if ((isinf(truth->size) && isfinite(truth->value)) || lab_is_overflow(&rule, j->accumulator_max, value, truth)) {
        out->unbound++;
        return;
    }
    if (!check.ok && !(check.ratio > 1.0))
        check.ratio = (double)INFINITY; /* NaN where there should be none, and the like */
    out->failed += !check.ok;
    if (isfinite(check.error)) {
        out->max_error = fmax(out->max_error, check.error);
        if (truth->value != 0)
            out->max_relative = fmax(out->max_relative, check.error / fabs(truth->value));
    }
    if (out->checked - out->unbound > 1 && !(check.ratio > out->ratio))
        return;
    out->row = row;
    out->column = column;
    out->value = value;
    out->reference = truth->value;
    out->error = check.error;
    out->bound = check.bound;
    out->ratio = check.ratio;
}

/* Of the first problem. */
static lab_scales scales_of(const tsr_gemm_desc *d, const void *at, const void *zeros, char which)
{
    tsr_problem p;
    memset(&p, 0, sizeof p);
    p.m = d->m;
    p.n = d->n;
    p.k = d->k;
    p.op.scale_a = d->scale_mode_a;
    p.op.scale_b = d->scale_mode_b;
    return (lab_scales){at, zeros, (int)(which == 'a' ? d->scale_mode_a : d->scale_mode_b),
                        tsr_scale_stride(&p, which)};
}

static lab_reference_problem reference_problem(const checker *j)
{
    const tsr_gemm_desc *d = j->desc;
    return (lab_reference_problem){.m = d->m,
                                   .n = d->n,
                                   .k = d->k,
                                   .dtype_a = d->a.dtype,
                                   .dtype_b = d->b.dtype,
                                   .dtype_c = d->c.dtype,
                                   .trans_a = d->a.trans == TSR_T,
                                   .trans_b = d->b.trans == TSR_T,
                                   .lda = d->a.ld               ? d->a.ld
                                          : d->a.trans == TSR_T ? d->m
                                                                : d->k,
                                   .ldb = d->b.ld               ? d->b.ld
                                          : d->b.trans == TSR_T ? d->k
                                                                : d->n,
                                   .ldc = d->c.ld ? d->c.ld : d->n,
                                   .a = j->args->a,
                                   .b = j->args->b,
                                   .c = j->args->c,
                                   .alpha = j->args->alpha.value,
                                   .beta = j->args->beta.value,
                                   .epilogue = d->epilogue ? (int)tsr_form_of(d->epilogue) : TSR_EPILOGUE_NONE,
                                   .bias = j->args->bias,
                                   .scales_a = scales_of(d, j->args->scale_a, j->args->zero_a, 'a'),
                                   .scales_b = scales_of(d, j->args->scale_b, j->args->zero_b, 'b'),
                                   .scale_c = j->args->scale_c,
                                   .scale_d = j->args->scale_d,
                                   .truncation = j->truncation};
}

static tsr_status compare(checker *j, const sample *s)
{
    const lab_reference_problem problem = reference_problem(j);
    int64_t rows_at_once = s->column_count > 0 ? CHUNK_ELEMS / s->column_count : 0;
    if (rows_at_once < 1)
        rows_at_once = 1;
    if (rows_at_once > s->row_count)
        rows_at_once = s->row_count;
    if (rows_at_once == 0)
        return TSR_OK;
    lab_reference_element *truth = malloc((size_t)rows_at_once * (size_t)s->column_count * sizeof *truth);
    if (truth == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the reference");
    tsr_status status = TSR_OK;
    for (int64_t row0 = 0; row0 < s->row_count && status == TSR_OK; row0 += rows_at_once) {
        const int64_t rows = s->row_count - row0 < rows_at_once ? s->row_count - row0 : rows_at_once;
        status = lab_reference(&problem, s->rows + row0, rows, s->columns, s->column_count, truth);
        for (int64_t i = 0; i < rows && status == TSR_OK; i++)
            for (int64_t c = 0; c < s->column_count; c++) {
                const int64_t row = s->rows[row0 + i], column = s->columns[c];
                note(j, row, column, tsr_load_element(j->desc->d.dtype, j->args->d, row * j->ldd + column),
                     &truth[i * s->column_count + c]);
            }
    }
    free(truth);
    return status;
}

static const tsr_config *find_config(const char *instance)
{
    const tsr_config *config = NULL;
    for (size_t i = 0; (config = tsr_config_at(i)) != NULL; i++)
        if (strcmp(config->instance, instance) == 0)
            break;
    return config;
}

/* The constants of the bound, in units of rule->u, whose part that grows with K is one of sums in f32 or f64. */
static void set_constants(checker *j, const tsr_config *config, tsr_compute compute)
{
    const double k = (double)j->desc->k, worst = 0.5 * k + END_ROUNDINGS;
    j->rule.c = j->one_signed_c = config->bound_c;
    if (compute == TSR_COMPUTE_F32 || compute == TSR_COMPUTE_F64) {
        j->rule.c = fmax(config->bound_c, 2.0 * sqrt(k));
        j->one_signed_c = config->bound_c + worst;
    } else if (compute == TSR_COMPUTE_TF32) {
        const double sums = tsr_compute_roundoff(TSR_COMPUTE_F32) / j->rule.u;
        j->rule.c = config->bound_c + 2.0 * sqrt(k) * sums;
        j->one_signed_c = config->bound_c + worst * sums;
    }
}

tsr_status lab_check_answer(const tsr_gemm_desc *desc, const tsr_run_args *args, const char *instance, double budget,
                            uint64_t seed, lab_answer *out)
{
    memset(out, 0, sizeof *out);
    const tsr_config *config = find_config(instance);
    sample s = {NULL, NULL, 0, 0};
    if (config == NULL)
        return tsr_fail(TSR_INVALID_ARGUMENT, "instance = \"%s\": no such kernel", instance);
    const tsr_compute compute = tsr_op_of(&config->op).compute;
    checker j = {.desc = desc,
                 .args = args,
                 .ldd = desc->d.ld ? desc->d.ld : desc->n,
                 .rule = {.u = lab_rule_roundoff(compute, desc->d.dtype),
                          .least = lab_rule_least(compute, fabs(args->alpha.value) * (double)desc->k + END_ROUNDINGS),
                          .dtype = desc->d.dtype,
                          .saturates = !(desc->flags & TSR_OVERFLOW_SPECIAL)},
                 .accumulator_max = compute == TSR_COMPUTE_F64 ? DBL_MAX : (double)FLT_MAX,
                 .out = out};
    set_constants(&j, config, compute);
    if (config->kind == TSR_CONFIG_CUDA && tsr_dtype_is_fp8(desc->a.dtype))
        j.truncation = compute == TSR_COMPUTE_FAST ? LAB_TRUNCATES_ALL : LAB_TRUNCATES_BLOCKS;
    out->elements = desc->m * desc->n;
    tsr_status status = choose_sample(desc, budget, seed, &s);
    if (status == TSR_OK)
        status = compare(&j, &s);
    free(s.rows);
    free(s.columns);
    return status;
}
