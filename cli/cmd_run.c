/* tessera run: multiplies matrices in .npy files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/npy.h"
#include "cli/output.h"
#include "cli/route_list.h"
#include "lab/answer.h"
#include "lab/convert.h"

/* Multiply-adds that --check may spend: a few seconds on two cores. */
#define CHECK_BUDGET     4e9
#define CHECK_BUDGET_F64 1e9
#define ANSWER_TEXT      400

typedef struct settings {
    const char *a, *b, *c, *out, *kernel, *device;
    double alpha, beta;
    int trans_a, trans_b, check, quiet;
    int dtype; /* of the choices below; -1: the inputs' own */
    int64_t threads;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "A.npy", .help = "a matrix of f16, f32 or f64, in C or Fortran order", .parse = cli_parse_text, AT(a)},
    {.name = "B.npy", .help = "another", .parse = cli_parse_text, AT(b)},
    {.name = "--output",
     .letter = 'o',
     .required = 1,
     .value = "FILE",
     .help = "where the result goes; appears whole or not at all",
     .parse = cli_parse_text,
     AT(out)},
    {.name = "--alpha", .value = "X", .help = "factor of A*B (default 1)", .parse = cli_parse_number, AT(alpha)},
    {.name = "--beta", .value = "X", .help = "factor of C (default 0); needs --c", .parse = cli_parse_number, AT(beta)},
    {.name = "--c",
     .value = "FILE",
     .help = "the C to add, as .npy; may be the output",
     .parse = cli_parse_text,
     AT(c)},
    {.name = "--transa", .help = "use the transpose of A", AT(trans_a)},
    {.name = "--transb", .help = "use the transpose of B", AT(trans_b)},
    {.name = "--kernel",
     .value = "NAME",
     .help = "run this kernel (default: the library chooses)",
     .parse = cli_parse_kernel,
     AT(kernel)},
    {.name = "--device",
     .value = "D",
     .help = "auto, cpu, cuda:N or emu (default auto)",
     .parse = cli_parse_device,
     AT(device)},
    {.name = "--dtype",
     .value = "f16|f32|f64",
     .help = "convert inputs that differ to this type, compute and write it (default: the inputs' own, if they agree)",
     .parse = cli_parse_choice,
     AT(dtype)},
    {.name = "--threads",
     .value = "N",
     .help = "CPU threads (default: all)",
     .parse = cli_parse_int,
     AT(threads),
     .min = 1,
     .max = 4096},
    {.name = "--check", .help = "compare with a float64 reference; on an error nothing is written", AT(check)},
    {.name = "--quiet", .letter = 'q', .help = "print nothing on success", AT(quiet)},
    {0}};

static const tsr_dtype dtype_choices[] = {TSR_F16, TSR_F32, TSR_F64};

/* An input as it is multiplied: row-major, in the common dtype. */
typedef struct operand {
    const char *path;
    cli_npy file;
    int64_t rows, columns; /* of op(X) */
    tsr_trans trans;       /* of the data as they lie */
    int64_t ld;
    const void *data;
    void *converted; /* from malloc, if the data had to be converted */
} operand;

typedef struct job {
    const cli_command *self;
    const settings *set;
    cli_progress *progress;
    operand a, b, c;
    tsr_dtype dtype;
    cli_npy_writer out;
    tsr_context *context;
    tsr_plan *plan;
    tsr_gemm_desc desc;
    tsr_run_args args;
    char device[16];
    double time_ns;
} job;

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------
 */

static int open_operand(job *j, const char *path, int transpose, operand *out)
{
    cli_message error;
    out->path = path;
    if (!cli_npy_open(path, &out->file, &error))
        return cli_failure(j->self, "%s %s", path, error.text);
    const cli_npy_header *header = &out->file.header;
    out->rows = transpose ? header->columns : header->rows;
    out->columns = transpose ? header->rows : header->columns;
    out->trans = transpose != header->fortran ? TSR_T : TSR_N;
    out->ld = header->fortran ? header->rows : header->columns;
    out->data = out->file.data;
    return CLI_OK;
}

static int open_inputs(job *j)
{
    int code = open_operand(j, j->set->a, j->set->trans_a, &j->a);
    if (code == CLI_OK)
        code = open_operand(j, j->set->b, j->set->trans_b, &j->b);
    if (code == CLI_OK && j->set->c)
        code = open_operand(j, j->set->c, 0, &j->c);
    return code;
}

static int check_shapes(const job *j)
{
    const char *a_is = j->set->trans_a ? "'s transpose" : "", *b_is = j->set->trans_b ? "'s transpose" : "";
    if (j->a.columns != j->b.rows)
        return cli_failure(j->self,
                           "%s%s is %" PRId64 " x %" PRId64 " and %s%s %" PRId64 " x %" PRId64
                           ": the columns of A (%" PRId64 ") must equal the rows of B (%" PRId64 ")",
                           j->a.path, a_is, j->a.rows, j->a.columns, j->b.path, b_is, j->b.rows, j->b.columns,
                           j->a.columns, j->b.rows);
    if (j->c.path && (j->c.rows != j->a.rows || j->c.columns != j->b.columns))
        return cli_failure(j->self, "%s is %" PRId64 " x %" PRId64 "; the product is %" PRId64 " x %" PRId64, j->c.path,
                           j->c.rows, j->c.columns, j->a.rows, j->b.columns);
    return CLI_OK;
}

static int choose_dtype(job *j)
{
    const operand *inputs[] = {&j->b, &j->c};
    const tsr_dtype first = j->a.file.header.dtype;
    j->dtype = first;
    if (j->set->dtype >= 0) {
        j->dtype = dtype_choices[j->set->dtype];
        return CLI_OK;
    }
    for (size_t i = 0; i < 2; i++) {
        const tsr_dtype other = inputs[i]->file.header.dtype;
        if (inputs[i]->path && other != first)
            return cli_failure(j->self, "%s holds %s and %s %s; --dtype says in which type to compute", j->a.path,
                               tsr_dtype_name(first), inputs[i]->path, tsr_dtype_name(other));
    }
    return CLI_OK;
}

/* Converts an input to the common dtype; `order` 1 also brings it to C order, which C has to have. */
static int convert(job *j, operand *x, int order)
{
    const cli_npy_header *header = &x->file.header;
    const int transpose = order && header->fortran;
    if (header->dtype == j->dtype && !transpose)
        return CLI_OK;
    const int64_t rows = transpose || !header->fortran ? header->rows : header->columns;
    const int64_t columns = transpose || !header->fortran ? header->columns : header->rows;
    int64_t elements = rows * columns, bytes; /* the file holds that many elements */
    if (__builtin_mul_overflow(elements, (int64_t)tsr_dtype_bytes(j->dtype), &bytes))
        return cli_failure(j->self, "%s: %" PRId64 " elements of %s overflow 64 bits", x->path, elements,
                           tsr_dtype_name(j->dtype));
    cli_progress_say(j->progress, "converting %s to %s", x->path, tsr_dtype_name(j->dtype));
    x->converted = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
    if (!x->converted)
        return cli_failure(j->self, "%s: no memory to convert it to %s (%" PRId64 " bytes)", x->path,
                           tsr_dtype_name(j->dtype), bytes);
    lab_convert(j->dtype, x->converted, columns, header->dtype, x->data, x->ld, transpose, rows, columns);
    x->data = x->converted;
    x->ld = columns;
    if (transpose)
        x->trans = TSR_N;
    return CLI_OK;
}

static int convert_inputs(job *j)
{
    int code = convert(j, &j->a, 0);
    if (code == CLI_OK)
        code = convert(j, &j->b, 0);
    if (code == CLI_OK && j->c.path)
        code = convert(j, &j->c, 1);
    return code;
}

/* ---- the product ----------------------------------------------------------------------------------------------------
 */

static int open_output(job *j)
{
    cli_message error;
    if (!cli_npy_create(j->set->out, j->dtype, j->a.rows, j->b.columns, &j->out, &error))
        return cli_failure(j->self, "%s %s", j->set->out, error.text);
    return CLI_OK;
}

static void describe(job *j)
{
    j->desc = tsr_gemm_desc_make(j->dtype, j->a.rows, j->b.columns, j->a.columns);
    j->desc.a.trans = j->a.trans;
    j->desc.b.trans = j->b.trans;
    j->desc.kernel = j->set->kernel;
    j->args = tsr_run_args_make(j->a.data, j->b.data, j->out.data);
    j->args.alpha.value = j->set->alpha;
    j->args.beta.value = j->set->beta;
    if (j->c.path)
        j->args.c = j->c.data;
}

/* "auto" is several devices; the plan's is the one that the route chose. */
static int note_device(job *j)
{
    cli_route_list list;
    if (cli_route(j->context, &j->desc, &list) != TSR_OK)
        return cli_failure(j->self, "%s", tsr_last_error());
    snprintf(j->device, sizeof j->device, "%s", list.count ? list.items[0].device : "");
    cli_route_free(&list);
    return CLI_OK;
}

static int multiply(job *j)
{
    const tsr_context_options context_options = {.struct_bytes = sizeof context_options,
                                                 .threads = (int)j->set->threads};
    if (tsr_context_create(j->set->device, &context_options, &j->context) != TSR_OK)
        return cli_failure(j->self, "%s", tsr_last_error());
    describe(j);
    if (tsr_plan_create(j->context, &j->desc, &j->plan) != TSR_OK)
        return cli_failure(j->self, "%s", tsr_last_error());
    int code = note_device(j);
    if (code != CLI_OK)
        return code;
    cli_npy_fetch(&j->a.file);
    cli_npy_fetch(&j->b.file);
    cli_npy_writer_fetch(&j->out);
    cli_progress_say(j->progress, "multiplying %" PRId64 " x %" PRId64 " x %" PRId64 " on %s", j->desc.m, j->desc.n,
                     j->desc.k, j->device);
    const double begin = now_ns();
    if (tsr_plan_run(j->plan, &j->args) != TSR_OK)
        return cli_failure(j->self, "%s", tsr_last_error());
    j->time_ns = now_ns() - begin;
    return CLI_OK;
}

/* "checked 12 of 12 elements ..." */
static void answer_text(const lab_answer *answer, char *out, size_t bytes)
{
    int used = snprintf(out, bytes, "checked %" PRId64 " of %" PRId64 " elements against float64: ", answer->checked,
                        answer->elements);
    if (answer->failed)
        used += snprintf(out + used, bytes - (size_t)used, "%" PRId64 " beyond the bound", answer->failed);
    else
        used += snprintf(out + used, bytes - (size_t)used, "all within the bound");
    if (answer->unbound)
        used += snprintf(out + used, bytes - (size_t)used, " (%" PRId64 " too large to have one)", answer->unbound);
    if (answer->checked > answer->unbound)
        snprintf(out + used, bytes - (size_t)used,
                 "; worst at (%" PRId64 ", %" PRId64 "): value %.9g, reference %.9g, error %.2g, bound %.2g; of all, "
                 "error up to %.2g, relative error up to %.2g",
                 answer->row, answer->column, answer->value, answer->reference, answer->error, answer->bound,
                 answer->max_error, answer->max_relative);
}

static int check(job *j, lab_answer *answer)
{
    const double budget = j->dtype == TSR_F64 ? CHECK_BUDGET_F64 : CHECK_BUDGET;
    cli_progress_say(j->progress, "checking against float64");
    if (lab_check_answer(&j->desc, &j->args, tsr_plan_kernel(j->plan), budget, 1, answer) != TSR_OK)
        return cli_failure(j->self, "%s", tsr_last_error());
    if (!answer->failed)
        return CLI_OK;
    char text[ANSWER_TEXT];
    answer_text(answer, text, sizeof text);
    return cli_failure(j->self, "%s by %s is wrong and not written: %s", j->set->out, tsr_plan_kernel(j->plan), text);
}

static void print_summary(const job *j, const lab_answer *answer)
{
    char time[32], rate[32], text[ANSWER_TEXT];
    const double flop = 2.0 * (double)j->desc.m * (double)j->desc.n * (double)j->desc.k;
    printf("%s: %" PRId64 " x %" PRId64 " %s, K = %" PRId64 ", %s on %s, %s%s, %s\n", j->set->out, j->desc.m, j->desc.n,
           tsr_dtype_name(j->dtype), j->desc.k, tsr_plan_kernel(j->plan), j->device, cli_time_text(time, j->time_ns),
           strncmp(j->device, "cuda", 4) == 0 ? " with copies" : "",
           cli_rate_text(rate, flop / j->time_ns * 1e9, "FLOP/s"));
    if (j->set->check) {
        answer_text(answer, text, sizeof text);
        cli_print_wrapped(stdout, text, 0, 2);
    }
}

static int work(job *j)
{
    lab_answer answer = {0};
    cli_message error;
    cli_progress_say(j->progress, "reading");
    int code = open_inputs(j);
    if (code == CLI_OK)
        code = check_shapes(j);
    if (code == CLI_OK)
        code = choose_dtype(j);
    if (code == CLI_OK)
        code = convert_inputs(j);
    if (code == CLI_OK)
        code = open_output(j);
    if (code == CLI_OK)
        code = multiply(j);
    if (code == CLI_OK && j->set->check)
        code = check(j, &answer);
    if (code != CLI_OK)
        return code;
    cli_progress_say(j->progress, "writing %s", j->set->out);
    if (!cli_npy_commit(&j->out, &error))
        return cli_failure(j->self, "%s %s", j->set->out, error.text);
    cli_progress_clear(j->progress);
    if (!j->set->quiet)
        print_summary(j, &answer);
    return CLI_OK;
}

static void clean_up(job *j)
{
    operand *const inputs[] = {&j->a, &j->b, &j->c};
    cli_progress_end(j->progress);
    tsr_plan_release(j->plan);
    tsr_context_destroy(j->context);
    cli_npy_abandon(&j->out);
    for (size_t i = 0; i < 3; i++) {
        free(inputs[i]->converted);
        cli_npy_close(&inputs[i]->file);
    }
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.device = "auto", .alpha = 1, .dtype = -1};
    int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.beta != 0 && !set.c)
        return cli_usage_error(self, "--beta %g needs --c FILE, the C to add", set.beta);
    if (set.beta == 0 && set.c)
        return cli_usage_error(self, "--c %s would not be read: --beta is 0", set.c);
    job j = {.self = self, .set = &set, .out = {.file = {.fd = -1}}};
    j.progress = cli_progress_begin();
    code = work(&j);
    clean_up(&j);
    return code;
}

const cli_command cli_cmd_run = {
    "run", "multiply matrices in NumPy files: C = alpha*A*B + beta*C", "A.npy B.npy -o FILE [options]", options, NULL,
    run};
