#include "lab/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "lab/cases.h"
#include "lab/judge.h"
#include "lab/trial.h"

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
} findings;

static void note(findings *f, const char *text)
{
    if (f->text[0] == '\0')
        snprintf(f->text, sizeof f->text, "%s", text);
}

static void note_element(findings *f, const char *what, int64_t batch, int64_t row, int64_t column, double value,
                         const lab_reference_element *truth, const lab_judgement *judgement)
{
    if (f->text[0] != '\0')
        return;
    char place[80] = "";
    if (f->trial->c->batch > 1)
        snprintf(place, sizeof place, "problem %" PRId64 " ", batch);
    snprintf(f->text, sizeof f->text,
             "%sD[%" PRId64 ",%" PRId64 "] %s: value %.9g, reference %.9g, error %.3g, bound %.3g", place, row, column,
             what, value, truth->value, judgement->error, judgement->bound);
}

static void keep_worst(findings *f, int64_t batch, int64_t row, int64_t column, double value,
                       const lab_reference_element *truth, const lab_judgement *judgement)
{
    lab_verify_worst *worst = &f->result->worst;
    if (judgement->c_needed > f->result->worst_c)
        f->result->worst_c = judgement->c_needed;
    if (!(judgement->ratio > worst->ratio))
        return;
    worst->ratio = judgement->ratio;
    worst->batch = batch;
    worst->row = row;
    worst->column = column;
    worst->value = value;
    worst->reference = truth->value;
    worst->bound = judgement->bound;
    lab_case_text(f->trial->c, worst->problem, sizeof worst->problem);
}

static void compare_element(findings *f, const lab_rule *rule, int64_t batch, int64_t row, int64_t column,
                            const lab_reference_element *truth)
{
    const lab_guarded *d = &f->trial->d;
    const int64_t index = lab_guarded_index(d, batch, row, column);
    const double value = tsr_load_element(d->dtype, d->got + d->start_bytes, index);
    const lab_judgement judgement = lab_judge(rule, value, truth);
    f->result->elements++;
    if (lab_guarded_unwritten(d, index))
        note_element(f, "was not written", batch, row, column, value, truth, &judgement);
    else if (!judgement.ok)
        note_element(f, rule->exact ? "is not exact" : "is beyond its bound", batch, row, column, value, truth,
                     &judgement);
    if (!rule->exact)
        keep_worst(f, batch, row, column, value, truth, &judgement);
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
        .dtype_ab = trial->a.dtype,
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
    const lab_rule rule = {trial->kernel->bound_c, tsr_compute_roundoff(trial->kernel->info.compute),
                           trial->kernel->info.dtype_cd, lab_trial_exact(trial)};
    const int sample = (double)c->m * (double)c->n * (double)c->k > SAMPLE_ABOVE;
    lines rows, columns = {NULL, 0};
    tsr_status status = choose_lines(c->m, sample, c->seed, &rows);
    if (status == TSR_OK)
        status = choose_lines(c->n, sample, c->seed + 1, &columns);
    for (int64_t batch = 0; batch < c->batch && status == TSR_OK; batch++)
        status = compare_problem(f, &rule, batch, &rows, &columns);
    if (status == TSR_OK && sample && (c->c_mode != LAB_C_IN_PLACE || !trial->reads_c))
        check_written(f);
    free(rows.places);
    free(columns.places);
    return status;
}

/* Guards and gaps must be as they were, of inputs the elements too. `g` has been fetched. */
static void check_untouched(findings *f, lab_guarded *g, char name)
{
    const int is_d = name == 'D';
    const int64_t place = lab_guarded_first_change(g, is_d);
    char text[160];
    if (place == INT64_MAX)
        return;
    snprintf(text, sizeof text, "%c: byte %" PRId64 " from its start was written, which is %s", name, place,
             is_d ? "outside of its elements" : "only to be read");
    note(f, text);
}

static tsr_status check_inputs(findings *f, lab_trial *trial)
{
    lab_guarded *const inputs[3] = {&trial->a, &trial->b, &trial->own_c};
    for (int i = 0; i < 3; i++) {
        if (inputs[i]->image == NULL)
            continue; /* C is D */
        const tsr_status status = lab_guarded_fetch(inputs[i]);
        if (status != TSR_OK)
            return status;
        check_untouched(f, inputs[i], "ABC"[i]);
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
    findings f = {result, &trial, ""};
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
    check_untouched(&f, &trial.d, 'D');
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
    lab_case_list cases;
    memset(&cases, 0, sizeof cases);
    tsr_status status = options->only_schedules
                            ? lab_cases_add_schedules(kernel, options->full, options->seed, &cases)
                            : lab_cases_make(kernel, options->full, options->small, options->seed, &cases);
    if (status != TSR_OK)
        return status;
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
