/* tessera run: multiplies matrices in .npy files. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/api_error.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/operand.h"
#include "cli/output.h"
#include "cli/route_list.h"
#include "cli/run_scales.h"
#include "cli/run_sparse.h"
#include "cli/types.h"
#include "lab/common/convert.h"
#include "lab/verify/answer.h"

/* Multiply-adds that --check may spend: a few seconds on two cores. */
#define CHECK_BUDGET     4e9
#define CHECK_BUDGET_F64 1e9
#define ANSWER_TEXT      400

#define BIND_BIAS "bias=" /* the one name that an epilogue has */

typedef struct settings {
    const char *a, *b, *c, *out, *kernel, *device, *epilogue, *bind, *scale_a, *scale_b;
    double alpha, beta;
    int trans_a, trans_b, check, quiet, prune;
    int sparse;      /* of the choices below; -1: neither */
    int scales;      /* lab_scales_given, which the choices follow; 0: not named */
    lab_types types; /* of A, TSR_DTYPE_NONE: the inputs' own */
    int64_t threads;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "A.npy",
     .help =
         "a matrix of f16, f32, f64, e5m2, s8, u8 or, with --dtype, bf16 or e4m3, in C or Fortran order, or a stack of "
         "them (3 dimensions); - is the standard input",
     .parse = cli_parse_text,
     AT(a)},
    {.name = "B.npy", .help = "another", .parse = cli_parse_text, AT(b)},
    {.name = "--output",
     .letter = 'o',
     .required = 1,
     .once = 1,
     .value = "FILE",
     .help = "where the result goes; a file appears whole or not at all; - is the standard output",
     .parse = cli_parse_text,
     AT(out)},
    {.name = "--alpha", .value = "X", .help = "factor of A*B (default 1)", .parse = cli_parse_number, AT(alpha)},
    {.name = "--beta", .value = "X", .help = "factor of C (default 0); needs --c", .parse = cli_parse_number, AT(beta)},
    {.name = "--c",
     .value = "FILE",
     .help = "the C to add, as .npy; may be the output",
     .parse = cli_parse_text,
     AT(c)},
    {.name = "--epilogue",
     .value = "TEXT",
     .help = "what follows before the result is rounded: \"acc + bias[n]\" or \"relu(acc + bias[n])\"; needs --bind",
     .parse = cli_parse_text,
     AT(epilogue)},
    {.name = "--bind",
     .value = "NAME=FILE",
     .once = 1,
     .help = "what a name in --epilogue stands for: bias=FILE, a vector with a value for each column",
     .parse = cli_parse_text,
     AT(bind)},
    {.name = "--scale-a",
     .value = "FILE",
     .once = 1,
     .help = "scales of an 8-bit A, a vector of f32: one, or one for each row",
     .parse = cli_parse_text,
     AT(scale_a)},
    {.name = "--scale-b",
     .value = "FILE",
     .once = 1,
     .help = "of B: one, or one for each column",
     .parse = cli_parse_text,
     AT(scale_b)},
    {.name = "--scales",
     .value = "none|tensor|vector|1x128|1x128:128x128",
     .once = 1,
     .help = "which elements share a scale, as in bench; needed for blocks (default none: the counts say it)",
     .parse = cli_parse_choice,
     AT(scales)},
    {.name = "--transa", .help = "use the transpose of A", AT(trans_a)},
    {.name = "--transb", .help = "use the transpose of B", AT(trans_b)},
    {.name = "--sparse",
     .once = 1,
     .value = "a|b",
     .help = "multiply this operand compressed 2:4; of each four neighbours along K at most two may be nonzero, with "
             "--compute tf32 of each two at most one",
     .parse = cli_parse_choice,
     AT(sparse)},
    {.name = "--prune",
     .help = "with --sparse: drop all but the two largest magnitudes of each four, in tf32 the larger of each two",
     AT(prune)},
    {.name = "--kernel",
     .value = "NAME",
     .help = "run this kernel, by a schedule behind an @ where it has several: wgmma@stream-k=12/132 (default: the "
             "library chooses)",
     .parse = cli_parse_kernel,
     AT(kernel)},
    {.name = "--device",
     .value = "D",
     .help = "auto, cpu, cuda:N or emu (default $TESSERA_DEVICE, else auto)",
     .parse = cli_parse_device,
     AT(device)},
    {.name = "--dtype",
     .value = "T",
     .help = "f64, f32, f16, bf16, e4m3, e5m2, s8 or u8: convert inputs that differ to this type (default: the inputs' "
             "own, if they agree or mix, as e4m3 and e5m2 or s8 and u8 do); also names the elements of files that do "
             "not say what they hold, as ml_dtypes "
             "writes bf16 and e4m3",
     .parse = cli_parse_dtype,
     AT(types.a)},
    {.name = "--dtype-b",
     .value = "T",
     .help = "the same of B alone (default as --dtype)",
     .parse = cli_parse_dtype,
     AT(types.b)},
    CLI_OUT_TYPE_OPTION(settings, types,
                        "write results of this type; C has it too, and so has the bias, but for results in 8-bit "
                        "floats, whose bias is bf16 (default: the inputs' type; bf16 for 8-bit floats, s32 for 8-bit "
                        "integers)"),
    CLI_COMPUTE_OPTION(settings, types, CLI_COMPUTE_HELP "; a CPU sums in f32"),
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

typedef struct job {
    const cli_command *self;
    const settings *set;
    cli_progress *progress;
    cli_operand a, b, c, bias;
    lab_types types; /* of all operands: none is left out */
    int stacked;     /* the result has three dimensions */
    int64_t batch;   /* its matrices */
    cli_npy_writer out;
    cli_sparse sparse;
    cli_run_scales scales;
    tsr_context *context;
    tsr_plan *plan;
    tsr_gemm_desc desc;
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

static int open_inputs(job *j)
{
    const char *const paths[] = {j->set->a, j->set->b, j->set->c};
    const int transposes[] = {j->set->trans_a, j->set->trans_b, 0};
    cli_operand *const inputs[] = {&j->a, &j->b, &j->c};
    int code = CLI_OK;
    for (size_t i = 0; i < 3 && code == CLI_OK; i++)
        if (paths[i])
            code = cli_operand_open(j->self, paths[i], transposes[i], inputs[i]);
    if (code == CLI_OK && j->set->bind)
        code = cli_operand_open_vector(j->self, j->set->bind + strlen(BIND_BIAS), &j->bias);
    return code == CLI_OK ? cli_scales_open(j->self, &j->scales) : code;
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
    if (j->bias.path && j->bias.columns != j->b.columns)
        return cli_failure(j->self, "%s has %" PRId64 " values; the product has %" PRId64 " columns, each with one",
                           j->bias.path, j->bias.columns, j->b.columns);
    return CLI_OK;
}

/* As NumPy does it: a matrix, or a stack of one, stands for each matrix of the other stacks. */
static int check_stacks(job *j)
{
    const cli_operand *inputs[] = {&j->a, &j->b, &j->c}, *first = NULL;
    j->batch = 1;
    for (size_t i = 0; i < 3; i++) {
        if (!inputs[i]->path)
            continue;
        j->stacked |= inputs[i]->file.header.stacked;
        if (inputs[i]->batch == 1)
            continue;
        if (first && inputs[i]->batch != first->batch)
            return cli_failure(j->self, "%s is a stack of %" PRId64 " matrices and %s of %" PRId64, first->path,
                               first->batch, inputs[i]->path, inputs[i]->batch);
        first = inputs[i];
        j->batch = first->batch;
    }
    return CLI_OK;
}

/* Types of the inputs must agree, unless --dtype or --out-dtype says into which they are converted. */
static int check_dtype(const job *j, const cli_operand *x, tsr_dtype wanted, int is_said)
{
    if (!x->path || x->dtype == wanted || is_said)
        return CLI_OK;
    return cli_failure(j->self, "%s holds %s and %s %s; --dtype says in which type to compute", j->a.path,
                       tsr_dtype_name(j->a.dtype), x->path, tsr_dtype_name(x->dtype));
}

/* The types of A and B: their own, where they are multiplied with each other, or those that are said. */
static int choose_operands(job *j)
{
    const tsr_dtype said = j->set->types.a, said_b = j->set->types.b != TSR_DTYPE_NONE ? j->set->types.b : said;
    const int only_a_is_said = said != TSR_DTYPE_NONE && j->set->types.b == TSR_DTYPE_NONE;
    int code = cli_operand_name(j->self, "--dtype", said, &j->a);
    if (code == CLI_OK)
        code = cli_operand_name(j->self, only_a_is_said ? "--dtype" : "--dtype-b", said_b, &j->b);
    if (code != CLI_OK)
        return code;
    j->types = j->set->types;
    j->types.a = said != TSR_DTYPE_NONE ? said : j->a.dtype;
    j->types.b = said_b != TSR_DTYPE_NONE ? said_b : j->b.dtype;
    j->types = lab_types_complete(&j->types);
    if (j->types.a == TSR_S32 && said == TSR_DTYPE_NONE)
        return cli_failure(j->self, "%s: A and B cannot be s32; --dtype says in which type to compute", j->a.path);
    return check_dtype(j, &j->b, j->a.dtype, said_b != TSR_DTYPE_NONE || lab_types_mix(j->types.a, j->types.b));
}

static int choose_types(job *j)
{
    int code = choose_operands(j);
    if (code != CLI_OK)
        return code;
    const int out_is_said = j->set->types.a != TSR_DTYPE_NONE || j->set->types.d != TSR_DTYPE_NONE;
    const tsr_dtype bias = lab_bias_dtype(j->types.d);
    if (j->c.path)
        code = cli_operand_name(j->self, "--out-dtype", j->types.d, &j->c);
    if (code == CLI_OK && j->bias.path)
        code = cli_operand_name(j->self, "--out-dtype", bias, &j->bias);
    if (code == CLI_OK)
        code = check_dtype(j, &j->c, j->types.d, out_is_said);
    return code == CLI_OK ? check_dtype(j, &j->bias, bias, out_is_said) : code;
}

/* A factor is rounded to the type in which products are computed: f64 for f64, f32 for the others; but s32 is computed
 * in s32. */
static int check_factor(const job *j, const char *name, double value)
{
    const double rounded = j->types.a == TSR_F64 ? value : (double)(float)value;
    if (j->types.d == TSR_S32 && !(value >= INT32_MIN && value <= INT32_MAX && value == floor(value)))
        return cli_usage_error(j->self, "%s %.10g: must be a whole number of 32 bits where the result is s32", name,
                               value);
    if (isfinite(rounded) && (rounded != 0 || value == 0))
        return CLI_OK;
    return cli_usage_error(j->self,
                           "%s %g is beyond f32, in which %s products are computed (%g to %g, and 0); --dtype f64 "
                           "computes in f64",
                           name, value, tsr_dtype_name(j->types.a), (double)FLT_TRUE_MIN, (double)FLT_MAX);
}

/* What the options ask for must be a product of the library, for the types of the files. */
static int check_options(const job *j)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(j->types.a, j->a.rows, j->b.columns, j->a.columns);
    cli_message error;
    int code = cli_scales_check(j->self, &j->scales, &j->types);
    if (code == CLI_OK)
        code = check_factor(j, "--alpha", j->set->alpha);
    if (code == CLI_OK)
        code = check_factor(j, "--beta", j->set->beta);
    if (code == CLI_OK)
        code = cli_scales_put(j->self, &j->scales, j->batch != 1, &desc);
    if (code != CLI_OK)
        return code;
    lab_types_put(&j->types, &desc);
    desc.epilogue = j->set->epilogue;
    desc.flags |= j->sparse.which == 'a' ? TSR_SPARSE24_A : j->sparse.which == 'b' ? TSR_SPARSE24_B : 0;
    desc.m = desc.n = desc.k = 1; /* sizes are the files' */
    return lab_product_check(&desc) == TSR_OK ? CLI_OK : cli_usage_error(j->self, "%s", cli_api_error(j->self, &error));
}

static int convert_input(const job *j, tsr_dtype dtype, int order, cli_operand *x)
{
    if (!j->set->quiet)
        cli_operand_warn(j->self, j->progress, dtype, x);
    return cli_operand_convert(j->self, j->progress, dtype, order, x);
}

static int convert_inputs(job *j)
{
    int code = convert_input(j, j->types.a, 0, &j->a);
    if (code == CLI_OK)
        code = convert_input(j, j->types.b, 0, &j->b);
    if (code == CLI_OK && j->c.path)
        code = convert_input(j, j->types.d, 1, &j->c);
    if (code == CLI_OK && j->bias.path)
        code = convert_input(j, lab_bias_dtype(j->types.d), 0, &j->bias);
    return code;
}

/* ---- the product ----------------------------------------------------------------------------------------------------
 */

static int open_output(job *j)
{
    cli_message error;
    const cli_npy_header shape = {
        .dtype = j->types.d, .stacked = j->stacked, .batch = j->batch, .rows = j->a.rows, .columns = j->b.columns};
    if (!cli_npy_create(j->set->out, &shape, &j->out, &error))
        return cli_failure(j->self, "%s %s", j->set->out, error.text);
    return CLI_OK;
}

/* 1 if the stacks are one call of the library; otherwise one matrix stands for several, and the calls come one by one.
 */
static int is_one_call(const job *j)
{
    return j->a.batch == j->batch && j->b.batch == j->batch && (!j->c.path || j->c.batch == j->batch);
}

static void describe(job *j)
{
    j->desc = tsr_gemm_desc_make(j->types.a, j->a.rows, j->b.columns, j->a.columns);
    lab_types_put(&j->types, &j->desc);
    j->desc.a.trans = j->a.trans;
    j->desc.b.trans = j->b.trans;
    j->desc.kernel = j->set->kernel;
    j->desc.epilogue = j->set->epilogue;
    if (j->batch <= 1 || !is_one_call(j))
        return;
    j->desc.batch_count = j->batch;
    j->desc.a.batch_stride = j->a.stride;
    j->desc.b.batch_stride = j->b.stride;
    j->desc.c.batch_stride = j->desc.d.batch_stride = j->desc.m * j->desc.n;
}

/* The arguments from matrix i of the stacks on. */
static tsr_run_args arguments(const job *j, int64_t i)
{
    const int64_t element_bytes = (int64_t)tsr_dtype_bytes(j->types.d);
    tsr_run_args args = tsr_run_args_make(cli_operand_at(&j->a, i), cli_operand_at(&j->b, i),
                                          (char *)j->out.data + i * j->desc.m * j->desc.n * element_bytes);
    args.alpha.value = j->set->alpha;
    args.beta.value = j->set->beta;
    args.bias = j->bias.data;
    cli_scales_pass(&j->scales, &args);
    if (j->c.path)
        args.c = cli_operand_at(&j->c, i);
    return args;
}

/* Adds up the time of the products alone. */
static int run_plan(job *j)
{
    for (int64_t i = 0; i < j->batch; i += j->desc.batch_count) {
        tsr_run_args args = arguments(j, i);
        const int code = cli_sparse_prepare(j->self, &j->sparse, j->plan, i, &args);
        if (code != CLI_OK)
            return code;
        const double begin = now_ns();
        if (tsr_plan_run(j->plan, &args) != TSR_OK)
            return cli_api_failure(j->self);
        j->time_ns += now_ns() - begin;
    }
    return CLI_OK;
}

/* "auto" is several devices; the plan's is the one that the route chose. */
static int note_device(job *j)
{
    cli_route_list list;
    if (cli_route(j->context, &j->desc, &list) != TSR_OK)
        return cli_api_failure(j->self);
    snprintf(j->device, sizeof j->device, "%s", list.count ? list.items[0].device : "");
    cli_route_free(&list);
    return CLI_OK;
}

static int multiply(job *j)
{
    const tsr_context_options context_options = {.struct_bytes = sizeof context_options,
                                                 .threads = (int)j->set->threads};
    if (tsr_context_create(j->set->device, &context_options, &j->context) != TSR_OK)
        return cli_api_failure(j->self);
    describe(j);
    int code = cli_scales_put(j->self, &j->scales, j->batch != 1, &j->desc);
    if (code == CLI_OK)
        code = cli_sparse_begin(j->self, &j->sparse, &j->desc, is_one_call(j) ? 1 : j->batch);
    if (code != CLI_OK)
        return code;
    if (tsr_plan_create(j->context, &j->desc, &j->plan) != TSR_OK)
        return cli_api_failure(j->self);
    code = note_device(j);
    if (code != CLI_OK)
        return code;
    cli_npy_fetch(&j->a.file);
    cli_npy_fetch(&j->b.file);
    cli_npy_writer_fetch(&j->out);
    cli_progress_say(j->progress, "multiplying %" PRId64 " x %" PRId64 " x %" PRId64 " on %s", j->desc.m, j->desc.n,
                     j->desc.k, j->device);
    return run_plan(j);
}

/* What --check found in all matrices; `problem` is where the worst element lies. */
typedef struct verdict {
    lab_answer sum;
    int64_t problem;
} verdict;

/* "checked 12 of 12 elements ..." */
static void verdict_text(const job *j, const verdict *v, char *out, size_t bytes)
{
    const lab_answer *sum = &v->sum;
    char matrix[24] = "";
    int used = snprintf(out, bytes, "checked %" PRId64 " of %" PRId64 " elements against float64: ", sum->checked,
                        sum->elements);
    if (sum->unbound)
        used += snprintf(out + used, bytes - (size_t)used, "%" PRId64 " overflow %s and have no bound; of the others ",
                         sum->unbound, j->types.a == TSR_F64 ? "f64" : "f32");
    if (sum->failed)
        used += snprintf(out + used, bytes - (size_t)used, "%" PRId64 " beyond the bound", sum->failed);
    else
        used += snprintf(out + used, bytes - (size_t)used, "all within the bound");
    if (j->stacked)
        snprintf(matrix, sizeof matrix, "%" PRId64 ", ", v->problem);
    if (sum->checked > sum->unbound)
        snprintf(out + used, bytes - (size_t)used,
                 "; worst at (%s%" PRId64 ", %" PRId64 "): value %.9g, reference %.9g, error %.2g, bound %.2g; of all, "
                 "error up to %.2g, relative error up to %.2g",
                 matrix, sum->row, sum->column, sum->value, sum->reference, sum->error, sum->bound, sum->max_error,
                 sum->max_relative);
}

/* One more matrix; the worse of the two worst elements stays. */
static void add_answer(const lab_answer *one, int64_t problem, verdict *v)
{
    const lab_answer before = v->sum;
    const int is_first = before.checked == before.unbound;
    if (is_first || (one->checked > one->unbound && one->ratio > before.ratio)) {
        v->sum = *one;
        v->problem = problem;
    }
    v->sum.elements = before.elements + one->elements;
    v->sum.checked = before.checked + one->checked;
    v->sum.failed = before.failed + one->failed;
    v->sum.unbound = before.unbound + one->unbound;
    v->sum.max_error = one->max_error > before.max_error ? one->max_error : before.max_error;
    v->sum.max_relative = one->max_relative > before.max_relative ? one->max_relative : before.max_relative;
}

static int check(job *j, verdict *v)
{
    const double budget = (j->types.a == TSR_F64 ? CHECK_BUDGET_F64 : CHECK_BUDGET) / (double)(j->batch ? j->batch : 1);
    tsr_gemm_desc desc = j->desc;
    desc.batch_count = 1;
    cli_progress_say(j->progress, "checking against float64");
    for (int64_t i = 0; i < j->batch; i++) {
        const tsr_run_args args = arguments(j, i);
        lab_answer one;
        if (lab_check_answer(&desc, &args, tsr_plan_kernel(j->plan), budget, (uint64_t)i + 1, &one) != TSR_OK)
            return cli_api_failure(j->self);
        add_answer(&one, i, v);
    }
    if (!v->sum.failed)
        return CLI_OK;
    char text[ANSWER_TEXT];
    verdict_text(j, v, text, sizeof text);
    return cli_failure(j->self, "%s by %s is wrong and not written: %s", j->set->out, tsr_plan_kernel(j->plan), text);
}

/* On stderr where the result itself goes to stdout. */
static void print_summary(const job *j, const verdict *v)
{
    char time[32], rate[32], text[ANSWER_TEXT], stack[40] = "";
    FILE *to = cli_npy_is_stdout(j->set->out) ? stderr : stdout;
    const double flop = 2.0 * (double)j->batch * (double)j->desc.m * (double)j->desc.n * (double)j->desc.k;
    if (j->stacked)
        snprintf(stack, sizeof stack, "%" PRId64 " of ", j->batch);
    fprintf(to, "%s: %s%" PRId64 " x %" PRId64 " %s, K = %" PRId64 ", %s on %s, %s%s, %s\n", j->set->out, stack,
            j->desc.m, j->desc.n, tsr_dtype_name(j->types.d), j->desc.k, tsr_plan_kernel(j->plan), j->device,
            cli_time_text(time, j->time_ns), strncmp(j->device, "cuda", 4) == 0 ? " with copies" : "",
            cli_rate_text(rate, flop > 0 ? flop / j->time_ns * 1e9 : (double)NAN, "FLOP/s"));
    cli_sparse_print(&j->sparse, to);
    if (j->set->check) {
        verdict_text(j, v, text, sizeof text);
        cli_print_wrapped(to, text, 0, 2);
    }
}

static int work(job *j)
{
    verdict v = {.sum = {0}};
    cli_message error;
    cli_progress_say(j->progress, "reading");
    int code = open_inputs(j);
    if (code == CLI_OK)
        code = check_shapes(j);
    if (code == CLI_OK)
        code = check_stacks(j);
    if (code == CLI_OK)
        code = choose_types(j);
    if (code == CLI_OK)
        code = check_options(j);
    if (code == CLI_OK)
        code = convert_inputs(j);
    if (code == CLI_OK)
        code = open_output(j);
    if (code == CLI_OK)
        code = multiply(j);
    if (code == CLI_OK && j->set->check)
        code = check(j, &v);
    if (code != CLI_OK)
        return code;
    cli_progress_say(j->progress, "writing %s", j->set->out);
    if (!cli_npy_commit(&j->out, &error))
        return cli_failure(j->self, "%s %s", j->set->out, error.text);
    cli_progress_clear(j->progress);
    if (!j->set->quiet)
        print_summary(j, &v);
    return CLI_OK;
}

static void clean_up(job *j)
{
    cli_operand *const inputs[] = {&j->a, &j->b, &j->c, &j->bias};
    cli_progress_end(j->progress);
    cli_sparse_end(&j->sparse);
    cli_scales_close(&j->scales);
    tsr_plan_release(j->plan);
    tsr_context_destroy(j->context);
    cli_npy_abandon(&j->out);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        cli_operand_close(inputs[i]);
}

static int is_stdin(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int check_bind(const cli_command *self, const settings *set)
{
    if (set->epilogue && !set->bind)
        return cli_usage_error(self, "--epilogue needs --bind bias=FILE, a vector with a value for each column");
    if (set->bind && !set->epilogue)
        return cli_usage_error(self, "--bind %s would not be read: there is no --epilogue", set->bind);
    if (set->bind && (strncmp(set->bind, BIND_BIAS, strlen(BIND_BIAS)) != 0 || !set->bind[strlen(BIND_BIAS)]))
        return cli_usage_error(self, "--bind needs bias=FILE, not '%s'", set->bind);
    return CLI_CONTINUE;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.alpha = 1, .sparse = -1};
    int code = cli_read_args(self, argc, argv, &set);
    if (code == CLI_CONTINUE)
        code = cli_default_device(self, &set.device);
    if (code != CLI_CONTINUE)
        return code;
    if (set.beta != 0 && !set.c)
        return cli_usage_error(self, "--beta %g needs --c FILE, the C to add", set.beta);
    if (set.beta == 0 && set.c)
        return cli_usage_error(self, "--c %s would not be read: --beta is 0", set.c);
    code = check_bind(self, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.scales && !set.scale_a && !set.scale_b)
        return cli_usage_error(self, "--scales needs --scale-a FILE, --scale-b FILE or both");
    if (is_stdin(set.a) + is_stdin(set.b) + is_stdin(set.c) + is_stdin(set.scale_a) + is_stdin(set.scale_b) +
            is_stdin(set.bind ? set.bind + strlen(BIND_BIAS) : NULL) >
        1)
        return cli_usage_error(self, "- can be one input only: the standard input is read once");
    if (set.prune && set.sparse < 0)
        return cli_usage_error(self, "--prune needs --sparse a or --sparse b, the operand to prune");
    job j = {.self = self, .set = &set, .out = CLI_NPY_NO_WRITER};
    j.sparse.which = set.sparse < 0 ? '\0' : "ab"[set.sparse];
    j.sparse.prune = set.prune;
    j.sparse.operand = set.sparse == 1 ? &j.b : &j.a;
    j.scales = (cli_run_scales){.path_a = set.scale_a, .path_b = set.scale_b, .named = set.scales};
    j.progress = cli_progress_begin();
    code = work(&j);
    clean_up(&j);
    return code;
}

const cli_command cli_cmd_run = {
    "run",
    "multiply matrices in NumPy files: C = alpha*A*B + beta*C, and an epilogue",
    "A.npy B.npy -o FILE [options]",
    options,
    "A stack has shape (batch, rows, columns), and the product of stacks is a stack; a matrix beside a stack is used "
    "with "
    "each of its matrices. Pipes may stand for files on either side. A file that is replaced keeps its mode, owner and "
    "group; symbolic links to it stay; a read-only file, and one with other hard links, are refused.",
    run};
