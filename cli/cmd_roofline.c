/* tessera roofline: peaks of a GPU, and where kernels stand below them. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/commands.h"
#include "cli/gpu_choice.h"
#include "cli/out_file.h"
#include "cli/output.h"
#include "cli/roofline.h"
#include "cli/types.h"
#include "lab/bench/bench.h"
#include "lab/common/kernel_names.h"
#include "lab/common/paper.h"
#include "lab/common/stats.h"

enum { FORMAT_TABLE, FORMAT_SVG, FORMAT_HTML, QUICK_ROUNDS = 5 };

typedef struct settings {
    cli_name_list kernels;
    cli_int_list sizes;
    const char *device, *from, *out;
    int64_t m, n, k;                   /* 0: no problem, but kernels at sizes */
    double peak_tflops, bandwidth_gbs; /* 0: the device's */
    lab_types types;
    int format;
    int sparse; /* of the choices below; -1: not given */
} settings;

/* A peak or a bandwidth: in FLOP, bytes and seconds no number that follows from such is infinite or 0. */
static int parse_rate(const cli_option *option, const char *text, void *to, cli_message *error)
{
    const double least = 1e-6, most = 1e9;
    cli_message unused;
    double value;
    if (!cli_parse_number(option, text, &value, &unused) || !(value >= least && value <= most))
        return cli_reject(error, "needs a number from %g to %g, not '%s'", least, most, text);
    *(double *)to = value;
    return 1;
}

#define AT(field) .offset = offsetof(settings, field)
#define SIZE(name_, help_, field)                                                                                  \
    {                                                                                                              \
        .name = name_, .help = help_, .parse = cli_parse_int, AT(field), .min = 1, .max = INT32_MAX, .optional = 1 \
    }
static const cli_option options[] = {
    SIZE("M", "one problem instead of kernels: rows of A and C", m),
    SIZE("N", "columns of B and C", n),
    SIZE("K", "columns of A, rows of B", k),
    {.name = "--peak-tflops",
     .value = "X",
     .help = "of one problem: this peak instead of the device's",
     .parse = parse_rate,
     AT(peak_tflops)},
    {.name = "--bandwidth-gbs",
     .value = "Y",
     .help = "of one problem: this bandwidth of DRAM, 10^9 bytes a second",
     .parse = parse_rate,
     AT(bandwidth_gbs)},
    {.name = "--kernel",
     .value = "NAME[,NAME]|all",
     .help = "kernels or instances (default all of the type that run on GPUs)",
     .parse = cli_parse_kernels,
     AT(kernels)},
    {.name = "--sizes",
     .value = "N[,N]",
     .help = "square problems (default 2048)",
     .parse = cli_parse_ints,
     AT(sizes),
     .min = 1,
     .max = 16384},
    {.name = "--device",
     .value = CLI_GPU_CHOICES,
     .help = "whose peaks (default this machine's GPU, without one an h200)",
     .parse = cli_parse_gpu,
     AT(device)},
    CLI_TYPES_OPTIONS(settings, types, "element type (default f32)"),
    {.name = "--sparse",
     .once = 1,
     .value = "a|b",
     .help = "A, or B, is compressed 2:4: bytes of values and metadata, and the peak of tensor cores that multiply two "
             "of each four elements; FLOP are the whole product's (default a for kernels "
             "of a compressed operand)",
     .parse = cli_parse_choice,
     AT(sparse)},
    {.name = "--from",
     .value = "FILE",
     .help = "measured points from a JSON result of tessera bench on such a GPU; without it, this machine's GPU is "
             "measured where it is the one named",
     .parse = cli_parse_text,
     AT(from)},
    {.name = "--format",
     .value = "table|svg|html",
     .help = "svg: log-log picture; html: picture and table (default table)",
     .parse = cli_parse_choice,
     AT(format)},
    {.name = "--out",
     .once = 1,
     .value = "FILE",
     .help = "write there, whole or not at all",
     .parse = cli_parse_text,
     AT(out)},
    {0}};

typedef struct session {
    const cli_command *self;
    const settings *set;
    cli_progress *progress;
    cli_roof roof;
    lab_records records; /* of --from */
    lab_bench bench;     /* this GPU */
    int has_bench;
} session;

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* Of a compressed operand; 0: neither is. */
static unsigned flag_of(const settings *set)
{
    return set->sparse == 0 ? TSR_SPARSE24_A : set->sparse == 1 ? TSR_SPARSE24_B : 0;
}

/* Kernels of compressed operands have another product to make: they come where one is asked for, or they by name. */
static int is_fitting(const session *s, const tsr_kernel_info *info, int is_named)
{
    const settings *set = s->set;
    if (!info->is_cuda)
        return 0;
    if (set->sparse >= 0)
        return lab_instance_takes_sparse(info->instance, &set->types, flag_of(set));
    return is_named ? lab_instance_accepts(info->instance, &set->types)
                    : lab_instance_takes(info->instance, &set->types);
}

static const char *compute_text(tsr_compute compute)
{
    return compute == TSR_COMPUTE_TF32 ? " in tf32" : compute == TSR_COMPUTE_FAST ? ", sums in tensor cores" : "";
}

static int is_asked(const cli_name_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->values[i], name) == 0 || strcmp(list->values[i], "all") == 0)
            return 1;
    return list->count == 0;
}

/* Names of kernels, or of instances where those were asked for; the count. The caller frees the list; NULL: no memory.
 */
static const char **choose(const session *s, size_t *out)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    const cli_name_list *asked = &s->set->kernels;
    const int is_all = is_asked(asked, "all");
    size_t room = 1, count = 0;
    while (tsr_kernel(room - 1, &info) == TSR_OK)
        room++;
    const char **names = malloc(room * sizeof *names);
    *out = 0;
    if (!names)
        return NULL;
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++) {
        const int by_name = is_asked(asked, info.name);
        const char *name = by_name ? info.name : info.instance;
        if (!is_fitting(s, &info, !is_all) || (!by_name && !is_asked(asked, info.instance)))
            continue;
        int is_there = 0;
        for (size_t j = 0; j < count; j++)
            is_there |= strcmp(names[j], name) == 0;
        if (!is_there)
            names[count++] = name;
    }
    *out = count;
    return names;
}

static tsr_gemm_desc desc_of(const session *s, const char *kernel, int64_t size)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(s->set->types.a, size, size, size);
    lab_types_put(&s->set->types, &desc);
    desc.kernel = kernel;
    desc.flags = s->set->sparse >= 0 ? flag_of(s->set) : lab_kernel_is_sparse(kernel) ? TSR_SPARSE24_A : 0;
    return desc;
}

static const char *name_of(const char *instance)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strcmp(info.instance, instance) == 0)
            return info.name;
    return "";
}

/* 0 if the GPU has no use for the kernel, with the reason. */
static int runs_there(const session *s, const char *kernel, int64_t size, char *why, size_t why_bytes)
{
    const tsr_gemm_desc desc = desc_of(s, kernel, size);
    return lab_runs_on_paper(s->roof.gpu, &desc, why, why_bytes);
}

/* ---- measured --------------------------------------------------------------------------------------------------- */

/* "NVIDIA GeForce RTX 3090, graph" is an "rtx3090"; an "A4000" is no "a40". */
static int is_such(const char *device, const lab_gpu_spec *gpu)
{
    char plain[128];
    size_t used = 0;
    if (strcmp(gpu->id, "this") == 0)
        return strncmp(device, gpu->name, strlen(gpu->name)) == 0;
    for (; *device && used < sizeof plain - 1; device++)
        if (*device != ' ')
            plain[used++] = (char)tolower((unsigned char)*device);
    plain[used] = '\0';
    const char *found = strstr(plain, gpu->id);
    return found && !isdigit((unsigned char)found[strlen(gpu->id)]);
}

/* The fastest record of the kernel, or instance, at this size on such a GPU; NULL if there is none. */
static const lab_record *find_record(const session *s, const char *asked, int64_t size)
{
    char dtype[LAB_TYPES_TEXT];
    lab_types_name(&s->set->types, dtype);
    const lab_record *best = NULL;
    for (size_t i = 0; i < s->records.count; i++) {
        const lab_record *r = &s->records.items[i];
        if (r->m != size || r->n != size || r->k != size || r->batch != 1 || strcmp(r->layout, "nn") != 0 ||
            strcmp(r->dtype, dtype) != 0 || !is_such(r->device, s->roof.gpu) || !isfinite(r->gflops))
            continue;
        if (strcmp(r->kernel, asked) != 0 && strcmp(name_of(r->kernel), asked) != 0)
            continue;
        best = !best || r->gflops > best->gflops ? r : best;
    }
    return best;
}

/* Measures the kernel, and says which of its instances ran; GFLOP/s, or NAN. */
static double measure(session *s, const char *kernel, int64_t size, char instance[LAB_INSTANCE_BYTES])
{
    lab_entry entry = {.kernel = kernel};
    lab_cell cell = {.types = s->set->types, .shape = {size, size, size, 1}, .entries = &entry, .entry_count = 1};
    const lab_bench_options quick = {.rounds = QUICK_ROUNDS, .budget_s = 2.0, .seed = 1};
    double gflops = (double)NAN;
    if (lab_cell_measure(&s->bench, &cell, &quick) == TSR_OK && entry.timing.rounds > 0) {
        const double n = (double)size;
        gflops = 2 * n * n * n / lab_median(entry.timing.round_ns, entry.timing.rounds);
        snprintf(instance, LAB_INSTANCE_BYTES, "%s", entry.instance);
    }
    lab_cell_clear(&cell);
    return gflops;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* What is measured is what is counted: the same instance. */
static int add_point(session *s, const char *kernel, int64_t size)
{
    cli_roof_point *p = &s->roof.points[s->roof.count];
    char instance[LAB_INSTANCE_BYTES];
    cli_message error;
    snprintf(instance, sizeof instance, "%s", kernel);
    *p = (cli_roof_point){.size = size, .measured_gflops = (double)NAN};
    const int is_a = s->set->sparse != 1; /* benchmarks compress A */
    const lab_record *record = is_a ? find_record(s, kernel, size) : NULL;
    if (record) {
        p->measured_gflops = record->gflops;
        snprintf(instance, sizeof instance, "%s", record->kernel);
    } else if (s->has_bench && is_a) {
        p->measured_gflops = measure(s, kernel, size, instance);
    }
    tsr_gemm_desc desc = desc_of(s, instance, size);
    cli_progress_say(s->progress, "counting %s at %" PRId64 " in the emulator", instance, size);
    tsr_status status = lab_roofpoint_of(s->roof.gpu, &desc, &p->at);
    if (status != TSR_OK && strcmp(instance, kernel) != 0) { /* a record of an instance that is no more */
        p->measured_gflops = (double)NAN;
        desc.kernel = kernel;
        status = lab_roofpoint_of(s->roof.gpu, &desc, &p->at);
    }
    if (status != TSR_OK) {
        cli_progress_clear(s->progress);
        cli_failure(s->self, "%s at %" PRId64 ": %s", kernel, size, cli_api_error(s->self, &error));
        return 0;
    }
    s->roof.is_sparse |= desc.flags != 0;
    s->roof.count++;
    return 1;
}

static int add_points(session *s, const char *const *names, size_t kernels)
{
    char types[LAB_TYPES_TEXT];
    int failed = 0;
    for (size_t i = 0; i < s->set->sizes.count; i++)
        for (size_t k = 0; k < kernels; k++) {
            char why[160] = "";
            if (runs_there(s, names[k], s->set->sizes.values[i], why, sizeof why)) {
                failed += !add_point(s, names[k], s->set->sizes.values[i]);
            } else if (!is_asked(&s->set->kernels, "all")) { /* asked for by name */
                cli_progress_clear(s->progress);
                cli_failure(s->self, "%s does not run on %s: %s", names[k], s->roof.gpu->name, why);
                failed++;
            }
        }
    cli_progress_clear(s->progress);
    if (s->roof.count == 0 && !failed)
        cli_failure(s->self, "no kernel multiplies %s%s on %s", s->set->sparse >= 0 ? "a compressed operand of " : "",
                    lab_types_pair(&s->set->types, types), s->roof.gpu->name);
    return s->roof.count == 0 || (failed && s->set->kernels.count) ? CLI_FAILED : CLI_CONTINUE;
}

static int show(const session *s)
{
    cli_out_file out;
    int code = cli_out_open(s->self, s->set->out, &out);
    if (code != CLI_CONTINUE)
        return code;
    const int whole = s->set->format == FORMAT_SVG    ? cli_roofline_svg(&s->roof, out.to)
                      : s->set->format == FORMAT_HTML ? cli_roofline_html(&s->roof, out.to)
                                                      : cli_roofline_table(&s->roof, out.to);
    return cli_out_close(s->self, &out, whole ? CLI_OK : cli_failure(s->self, "out of memory"));
}

static int add_chosen_points(session *s)
{
    size_t kernels;
    char types[LAB_TYPES_TEXT];
    const char **names = choose(s, &kernels);
    s->roof.points = names ? calloc(kernels * s->set->sizes.count + 1, sizeof *s->roof.points) : NULL;
    const int code = !s->roof.points ? cli_failure(s->self, "out of memory")
                     : kernels == 0
                         ? cli_failure(s->self, "none of the kernels named computes %s%s%s on GPUs",
                                       lab_types_pair(&s->set->types, types), compute_text(s->set->types.compute),
                                       s->set->sparse == 0   ? " with a compressed A"
                                       : s->set->sparse == 1 ? " with a compressed B"
                                                             : "")
                         : add_points(s, names, kernels);
    free(names);
    return code;
}

static int count_and_show(session *s, const lab_gpu_here *here)
{
    const settings *set = s->set;
    if (set->from && lab_records_read(set->from, &s->records) != TSR_OK)
        return cli_api_failure(s->self);
    if (set->from && s->records.count == 0)
        return cli_failure(s->self, "%s: holds no results", set->from);
    s->has_bench = !set->from && s->roof.gpu == &here->spec && lab_bench_open("cuda:0", 0, &s->bench) == TSR_OK;
    int code = add_chosen_points(s);
    if (code == CLI_CONTINUE)
        code = show(s);
    if (s->has_bench)
        lab_bench_close(&s->bench);
    return code;
}

/* ---- one problem ------------------------------------------------------------------------------------------------- */

static void put_problem(const settings *set, const lab_gpu_spec *gpu, FILE *to)
{
    char text[400], a[32], b[32], c[32], types[LAB_TYPES_TEXT];
    tsr_gemm_desc desc = tsr_gemm_desc_make(set->types.a, set->m, set->n, set->k);
    lab_advice advice;
    lab_types_put(&set->types, &desc);
    desc.flags = flag_of(set);
    const double peak = set->peak_tflops > 0
                            ? set->peak_tflops * 1e12
                            : lab_gpu_best_flops(gpu, desc.a.dtype, desc.compute, 0) * lab_sparse_factor(&desc);
    const lab_problem_roof roof =
        lab_problem_roof_of(&desc, peak, set->bandwidth_gbs > 0 ? set->bandwidth_gbs * 1e9 : gpu->memory_bytes_per_s);
    snprintf(text, sizeof text, "%" PRId64 " x %" PRId64 " x %" PRId64 " %s%s on %s: %s, %s, ridge %.3g FLOP/B", set->m,
             set->n, set->k, lab_types_pair(&set->types, types), compute_text(set->types.compute),
             gpu ? gpu->name : "the numbers given", cli_rate_text(a, peak, "FLOP/s"),
             cli_rate_text(b, roof.memory_bytes_per_s, "B/s"), roof.ridge);
    cli_print_wrapped(to, text, 0, 2);
    snprintf(text, sizeof text, "%s%s, %s with A and B read once%s and C written once: %s FLOP for each byte",
             cli_rate_text(a, roof.flops, "FLOP"), desc.flags ? " of the whole product" : "",
             cli_bytes_text(b, roof.bytes),
             set->sparse == 0   ? ", A's values and metadata,"
             : set->sparse == 1 ? ", B's values and metadata,"
                                : "",
             cli_intensity_text(c, roof.intensity));
    cli_print_wrapped(to, text, 0, 2);
    snprintf(text, sizeof text, "%s-bound: at most %s, %.3g%% of the peak, so no less than %s",
             roof.is_memory_bound ? "memory" : "compute", cli_rate_text(a, roof.bound_flops_s, "FLOP/s"),
             100 * roof.bound_flops_s / peak, cli_time_text(b, roof.flops / roof.bound_flops_s * 1e9));
    cli_print_wrapped(to, text, 0, 2);
    lab_advise_problem(gpu, &desc, &roof, &advice);
    for (int i = 0; i < advice.count; i++) {
        fputs("  - ", to);
        cli_print_wrapped(to, advice.text[i], 4, 4);
    }
}

static int explain_problem(const cli_command *self, const settings *set)
{
    lab_gpu_here here;
    const int is_given = set->peak_tflops > 0 && set->bandwidth_gbs > 0 && !set->device;
    const lab_gpu_spec *gpu = is_given ? NULL : cli_gpu_choose(self, set->device, &here);
    cli_out_file out;
    if (!is_given && !gpu)
        return CLI_FAILED;
    int code = gpu && !(set->peak_tflops > 0) ? cli_types_check_gpu(self, gpu, &set->types) : CLI_CONTINUE;
    if (code == CLI_CONTINUE)
        code = cli_out_open(self, set->out, &out);
    if (code == CLI_CONTINUE) {
        put_problem(set, gpu, out.to);
        code = cli_out_close(self, &out, CLI_OK);
    }
    return code;
}

/* 1 if there is a kernel on GPUs for the compressed operand. */
static int takes_compressed(const settings *set)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (info.is_cuda && lab_instance_takes_sparse(info.instance, &set->types, flag_of(set)))
            return 1;
    return 0;
}

/* Arguments that do not go together. */
static int check(const cli_command *self, const settings *set)
{
    const int is_problem = set->m > 0;
    char types[LAB_TYPES_TEXT];
    if (set->kernels.count == 1 && strcmp(set->kernels.values[0], "auto") == 0)
        return cli_usage_error(self, "--kernel needs kernels by name, or all, not 'auto'");
    const int code = cli_types_check(self, &set->types);
    if (code != CLI_CONTINUE)
        return code;
    if (set->sparse >= 0 && !takes_compressed(set))
        return cli_usage_error(self, "--sparse %c: no GPU kernel takes a compressed operand of --dtype %s",
                               "ab"[set->sparse], lab_types_pair(&set->types, types));
    if (is_problem && (!set->n || !set->k))
        return cli_usage_error(self, "%s is missing: one problem is M N K", set->n ? "K" : "N");
    if (is_problem && (set->kernels.count || set->sizes.count || set->from || set->format))
        return cli_usage_error(self, "--kernel, --sizes, --from and --format are for kernels, not for one problem");
    if (!is_problem && (set->peak_tflops > 0 || set->bandwidth_gbs > 0))
        return cli_usage_error(self, "--peak-tflops and --bandwidth-gbs go with a problem M N K");
    return CLI_CONTINUE;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings *set = calloc(1, sizeof *set);
    lab_gpu_here here;
    if (!set)
        return cli_failure(self, "out of memory");
    set->types.a = TSR_F32;
    set->sparse = -1;
    int code = cli_read_args(self, argc, argv, set);
    if (code == CLI_CONTINUE)
        code = check(self, set);
    if (code == CLI_CONTINUE && set->m > 0) {
        code = explain_problem(self, set);
        free(set);
        return code;
    }
    if (set->sizes.count == 0)
        set->sizes = (cli_int_list){1, {2048}};
    if (code == CLI_CONTINUE) {
        session s = {.self = self, .set = set};
        s.roof.gpu = cli_gpu_choose(self, set->device, &here);
        s.roof.types = set->types;
        s.progress = cli_progress_begin();
        code = s.roof.gpu ? count_and_show(&s, &here) : CLI_FAILED;
        cli_progress_end(s.progress);
        lab_records_free(&s.records);
        free(s.roof.points);
    }
    free(set);
    return code;
}

const cli_command cli_cmd_roofline = {
    "roofline",
    "a GPU's peaks, and where kernels, or one problem, stand below them",
    "[M N K] [options]",
    options,
    "FLOP are 2 M N K, but for loaded, SMs, no cache and bound, which are of whole tiles: where C is no multiple of "
    "these, edges beyond it are multiplied, too. Loads and FLOP are counted while a block of each kernel runs in the "
    "emulator. FLOP for each byte: loaded, that "
    "threads load from global memory, which is what the tutorials draw; SMs, that enters and leaves the SMs; DRAM, by "
    "a "
    "model of the caches. no cache: the smaller of the peak and loaded times DRAM's bandwidth, as if each load came "
    "from "
    "there. bound: what no run exceeds, caches and multicast at their best: the lowest of the peak (compute), A, B and "
    "C "
    "moved once (DRAM), 64 bytes of each SM in a clock (SMs), and passes through L1 and shared memory (L1). model: "
    "what the "
    "model of time predicts, where nothing was measured (tessera profile says how good it is). Advice is "
    "drawn from the counters. With M N K: one problem, whatever kernel.",
    run};
