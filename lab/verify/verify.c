#include "lab/verify/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/epilogue.h"
#include "core/error.h"
#include "lab/verify/cases.h"
#include "lab/verify/check_element.h"
#include "lab/verify/trial.h"

#define SAMPLE_ABOVE 0x1p31 /* products; larger problems have only some rows and columns compared */
#define SAMPLE_LINES 64

static tsr_status run_library(void *user, tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    (void)user;
    return tsr_gemm(context, desc, args);
}

/* The rows or columns that are compared: all of them where there are few. */
typedef struct lines {
    int64_t *places; /* NULL: all */
    int64_t count;
} lines;

static tsr_status choose_lines(int64_t size, int sample, uint64_t seed, lines *out)
{
    out->places = NULL;
    out->count = size;
    if (!sample || size <= SAMPLE_LINES)
        return TSR_OK;
    out->count = SAMPLE_LINES;
    out->places = malloc(SAMPLE_LINES * sizeof *out->places);
    if (out->places == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a sample of rows");
    lab_random random = lab_random_make(seed, 99);
    for (int64_t i = 0; i < SAMPLE_LINES; i++)
        out->places[i] = i == 0 ? 0 : i == 1 ? size - 1 : (int64_t)lab_random_below(&random, (uint64_t)size);
    return TSR_OK;
}

static int64_t line_at(const lines *chosen, int64_t i)
{
    return chosen->places != NULL ? chosen->places[i] : i;
}

/* What has been found wrong in one case; the first finding is the one that is told. */
typedef struct findings {
    lab_verify_result *result;
    const lab_trial *trial;
    char text[400];
    double most_low, most_high; /* between which the greatest magnitude is */
    int has_nan;
} findings;

static void note(findings *f, const char *text)
{
    if (f->text[0] == '\0')
        snprintf(f->text, sizeof f->text, "%s", text);
}

static void note_element(findings *f, const char *what, int64_t batch, int64_t row, int64_t column, double value,
                         const lab_reference_element *truth, const lab_check *check)
{
    if (f->text[0] != '\0')
        return;
    char place[80] = "";
    if (f->trial->c->batch > 1)
        snprintf(place, sizeof place, "problem %" PRId64 " ", batch);
    snprintf(f->text, sizeof f->text,
             "%sD[%" PRId64 ",%" PRId64 "] %s: value %.9g, reference %.9g, error %.3g, bound %.3g", place, row, column,
             what, value, truth->value, check->error, check->bound);
}

static void keep_worst(findings *f, int64_t batch, int64_t row, int64_t column, double value,
                       const lab_reference_element *truth, const lab_check *check)
{
    lab_verify_worst *worst = &f->result->worst;
    if (check->c_needed > f->result->worst_c)
        f->result->worst_c = check->c_needed;
    if (!(check->ratio > worst->ratio))
        return;
    worst->ratio = check->ratio;
    worst->batch = batch;
    worst->row = row;
    worst->column = column;
    worst->value = value;
    worst->reference = truth->value;
    worst->bound = check->bound;
    lab_case_text(f->trial->c, worst->problem, sizeof worst->problem);
}

static int holds_pattern(tsr_dtype dtype)
{
    return tsr_dtype_is_integer(dtype) || tsr_dtype_is_fp8(dtype);
}

/* What the element says of the greatest magnitude, which is asked for before the scale of D. */
static void note_magnitude(findings *f, const lab_rule *rule, const lab_reference_element *truth)
{
    const float *const scale = lab_trial_scales(f->trial, 3, 0);
    const double size = scale != NULL && *scale != 0.0F ? truth->size / fabs((double)*scale) : truth->size;
    const double off = rule->exact ? 0.0 : rule->c * rule->u * size, most = fabs(truth->before);
    if (isnan(truth->before)) {
        f->has_nan = 1;
        return;
    }
    f->most_low = fmax(f->most_low, isinf(most) ? most : most - off);
    f->most_high = fmax(f->most_high, isinf(most) ? most : most + off);
}

static void check_magnitude(findings *f)
{
    const lab_guarded *const g = &f->trial->amax;
    char text[160];
    if (g->image == NULL)
        return;
    const double got = tsr_load_element(TSR_F32, g->got + g->start_bytes, 0);
    if (f->has_nan ? isnan(got) : got >= f->most_low && got <= f->most_high)
        return;
    snprintf(text, sizeof text, "amax_d is %.9g, expected %s %.9g to %.9g", got, f->has_nan ? "NaN, else" : "",
             f->most_low, f->most_high);
    note(f, text);
}

static void compare_element(findings *f, const lab_rule *rule, int64_t batch, int64_t row, int64_t column,
                            const lab_reference_element *truth)
{
    const lab_guarded *d = &f->trial->d;
    const int64_t index = lab_guarded_index(d, batch, row, column);
    const double value = tsr_load_element(d->dtype, d->got + d->start_bytes, index);
    const lab_check check = lab_check_element(rule, value, truth);
    f->result->elements++;
    note_magnitude(f, rule, truth);
    /* The pattern of what was not written is NaN to wide floats, but a number like any other here. */
    if (lab_guarded_unwritten(d, index) && !(holds_pattern(d->dtype) && check.ok))
        note_element(f, "was not written", batch, row, column, value, truth, &check);
    else if (!check.ok)
        note_element(f, rule->exact ? "is not exact" : "is beyond its bound", batch, row, column, value, truth, &check);
    if (!rule->exact)
        keep_worst(f, batch, row, column, value, truth, &check);
}

/* Element `batch` of an operand's image. */
static const void *image_of(const lab_guarded *g, int64_t batch)
{
    return (const char *)lab_guarded_image(g) + (size_t)(batch * g->batch_stride) * tsr_dtype_bytes(g->dtype);
}

static lab_reference_problem reference_problem(const lab_trial *trial, int64_t batch)
{
    const lab_case *c = trial->c;
    const lab_guarded *source_c = lab_trial_c(trial);
    const lab_reference_problem problem = {
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .dtype_a = trial->a.dtype,
        .dtype_b = trial->b.dtype,
        .dtype_c = source_c->dtype,
        .trans_a = c->trans_a,
        .trans_b = c->trans_b,
        .lda = trial->a.ld,
        .ldb = trial->b.ld,
        .ldc = source_c->ld,
        .a = image_of(&trial->a, batch),
        .b = image_of(&trial->b, batch),
        .c = image_of(source_c, batch),
        .alpha = c->alpha,
        .beta = c->beta,
        .epilogue = c->epilogue,
        .bias = c->epilogue != TSR_EPILOGUE_NONE ? lab_guarded_image(&trial->bias) : NULL,
        .scales_a = lab_trial_operand_scales(trial, 0, batch),
        .scales_b = lab_trial_operand_scales(trial, 1, batch),
        .scale_c = lab_trial_scales(trial, 2, 0),
        .scale_d = lab_trial_scales(trial, 3, 0),
    };
    return problem;
}

static tsr_status compare_problem(findings *f, const lab_rule *rule, int64_t batch, const lines *rows,
                                  const lines *columns)
{
    const lab_reference_problem problem = reference_problem(f->trial, batch);
    lab_reference_element *truth = malloc((size_t)(rows->count * columns->count + 1) * sizeof *truth);
    if (truth == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a reference of %" PRId64 " elements",
                        rows->count * columns->count);
    const tsr_status status =
        lab_reference(&problem, rows->places, rows->count, columns->places, columns->count, truth);
    if (status == TSR_OK)
        for (int64_t i = 0; i < rows->count; i++)
            for (int64_t j = 0; j < columns->count; j++)
                compare_element(f, rule, batch, line_at(rows, i), line_at(columns, j), &truth[i * columns->count + j]);
    free(truth);
    return status;
}

/* Where only a sample is compared, all elements must at least have been written. */
static void check_written(findings *f)
{
    const lab_guarded *d = &f->trial->d;
    char text[120];
    for (int64_t batch = 0; batch < d->batch; batch++)
        for (int64_t row = 0; row < d->rows; row++)
            for (int64_t column = 0; column < d->columns; column++)
                if (lab_guarded_unwritten(d, lab_guarded_index(d, batch, row, column))) {
                    snprintf(text, sizeof text, "D[%" PRId64 ",%" PRId64 "] was not written", row, column);
                    note(f, text);
                    return;
                }
}

static tsr_status compare_all(findings *f)
{
    const lab_trial *trial = f->trial;
    const lab_case *c = trial->c;
    const lab_rule rule = {.c = trial->kernel->bound_c,
                           .u = lab_rule_roundoff(trial->kernel->info.compute, trial->d.dtype),
                           .dtype = trial->d.dtype,
                           .exact = lab_trial_exact(trial),
                           .saturates = !c->overflows};
    const int sample = (double)c->m * (double)c->n * (double)c->k > SAMPLE_ABOVE;
    lines rows, columns = {NULL, 0};
    tsr_status status = choose_lines(c->m, sample, c->seed, &rows);
    if (status == TSR_OK)
        status = choose_lines(c->n, sample, c->seed + 1, &columns);
    for (int64_t batch = 0; batch < c->batch && status == TSR_OK; batch++)
        status = compare_problem(f, &rule, batch, &rows, &columns);
    if (status == TSR_OK && !sample)
        check_magnitude(f);
    if (status == TSR_OK && sample && !holds_pattern(trial->d.dtype) &&
        (c->c_mode != LAB_C_IN_PLACE || !trial->reads_c))
        check_written(f);
    free(rows.places);
    free(columns.places);
    return status;
}

/* Guards and gaps must be as they were, of inputs the elements too. `g` has been fetched. */
static void check_untouched(findings *f, lab_guarded *g, const char *name)
{
    const int is_d = g == &f->trial->d || g == &f->trial->amax;
    const int64_t place = lab_guarded_first_change(g, is_d);
    char text[160];
    if (place == INT64_MAX)
        return;
    snprintf(text, sizeof text, "%s: byte %" PRId64 " from its start was written, which is %s", name, place,
             is_d ? "outside of its elements" : "only to be read");
    note(f, text);
}

static tsr_status check_inputs(findings *f, lab_trial *trial)
{
    static const char *const names[] = {"A",       "B",       "C",       "bias",   "scale_a",
                                        "scale_b", "scale_c", "scale_d", "zero_a", "zero_b"};
    lab_guarded *const inputs[] = {&trial->a,         &trial->b,         &trial->own_c,     &trial->bias,
                                   &trial->scales[0], &trial->scales[1], &trial->scales[2], &trial->scales[3],
                                   &trial->zeros[0],  &trial->zeros[1]};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        if (inputs[i]->image == NULL)
            continue; /* C is D, or there is no bias */
        const tsr_status status = lab_guarded_fetch(inputs[i]);
        if (status != TSR_OK)
            return status;
        check_untouched(f, inputs[i], names[i]);
    }
    return TSR_OK;
}

static void record_failure(findings *f)
{
    lab_verify_result *result = f->result;
    result->failed++;
    if (result->first_failure[0] != '\0')
        return;
    char problem[200];
    lab_case_text(f->trial->c, problem, sizeof problem);
    snprintf(result->first_failure, sizeof result->first_failure, "%s: %s", problem, f->text);
    snprintf(result->first_fault, sizeof result->first_fault, "%s", f->text);
    memcpy(result->first_size, (int64_t[3]){f->trial->c->m, f->trial->c->n, f->trial->c->k}, sizeof result->first_size);
}

/* The call said no: a refusal where it may, otherwise a failure. */
static void record_status(findings *f, tsr_status status)
{
    lab_verify_result *result = f->result;
    if (status == TSR_UNSUPPORTED && f->trial->c->schedule[0] == '\0') {
        result->refused++;
        if (result->refusal[0] == '\0')
            snprintf(result->refusal, sizeof result->refusal, "%s", tsr_last_error());
        return;
    }
    char text[400];
    snprintf(text, sizeof text, "%s: %.350s", tsr_status_text(status), tsr_last_error());
    note(f, text);
    result->cases++;
    record_failure(f);
}

static tsr_status run_case(tsr_context *context, const lab_kernel *kernel, const lab_case *c,
                           const lab_verify_options *options, lab_verify_result *result)
{
    lab_trial trial;
    findings f = {.result = result, .trial = &trial};
    tsr_status status = lab_trial_make(context, kernel, c, &trial);
    if (status != TSR_OK)
        return status;
    char wrong[120];
    status = lab_trial_run(&trial, options->run != NULL ? options->run : run_library, options->run_user, wrong,
                           sizeof wrong);
    if (status != TSR_OK) {
        record_status(&f, status);
        lab_trial_free(&trial);
        return TSR_OK;
    }
    result->cases++;
    result->forced += c->schedule[0] != '\0';
    status = check_inputs(&f, &trial);
    if (status == TSR_OK)
        status = compare_all(&f);
    check_untouched(&f, &trial.d, "D");
    if (trial.amax.image != NULL)
        check_untouched(&f, &trial.amax, "amax_d");
    if (wrong[0] != '\0')
        note(&f, wrong);
    if (f.text[0] != '\0')
        record_failure(&f);
    lab_trial_free(&trial);
    return status;
}

tsr_status lab_verify(tsr_context *context, const lab_kernel *kernel, const lab_verify_options *options,
                      lab_verify_result *result)
{
    memset(result, 0, sizeof *result);
    result->kernel = *kernel;
    result->unscheduled = options->only_schedules && !lab_has_schedules(kernel);
    lab_case_list cases;
    memset(&cases, 0, sizeof cases);
    tsr_status status = options->only_schedules
                            ? lab_cases_add_schedules(kernel, options->full, options->seed, &cases)
                            : lab_cases_make(kernel, options->full, options->small, options->seed, &cases);
    if (status != TSR_OK)
        return status;
    lab_cases_set_types(kernel, options->seed, &cases);
    if (options->plain)
        lab_cases_make_plain(&cases);
    const size_t step = options->every > 1 ? (size_t)options->every : 1;
    result->planned = (int64_t)((cases.count + step - 1) / step);
    for (size_t i = 0; i < cases.count && status == TSR_OK; i += step) {
        if (options->stop != NULL && *options->stop != 0)
            break;
        status = run_case(context, kernel, &cases.items[i], options, result);
        if (options->progress != NULL)
            options->progress(options->progress_user, kernel->info.instance, (int64_t)i + 1, (int64_t)cases.count);
    }
    lab_cases_free(&cases);
    return status;
}
