/* tessera profile: one kernel, one size: what a profiler would show of it, or the kernel alone for a profiler. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/api_error.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/types.h"
#include "lab/bench/profile.h"
#include "lab/common/kernel_names.h"
#include "lab/common/paper.h"
#include "lab/explain/user_kernel.h"
#include "lab/predict/calibration.h"
#include "lab/predict/cupti.h"
#include "lab/predict/machine_code.h"
#include "lab/predict/ncu.h"
#include "lab/predict/predict.h"

typedef struct settings {
    cli_name_list kernels;
    cli_int_list sizes;
    const char *kernel, *device; /* kernel and size: the ones at work */
    int64_t size, n, k, iterations, sample;
    int gpu, alone, format;
    lab_types types; /* of A, TSR_DTYPE_NONE: not given */
    cli_layout layout;
    int sparse; /* of the choices below; -1: not given */
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "KERNEL", .help = "kernels or instances", .parse = cli_parse_kernels, AT(kernels)},
    {.name = "SIZE",
     .help = "M, and N and K where they are not given",
     .parse = cli_parse_ints,
     AT(sizes),
     .min = 1,
     .max = 1 << 20},
    {.name = "--n", .value = "N", .help = "columns of D", .parse = cli_parse_int, AT(n), .min = 1, .max = 1 << 20},
    {.name = "--k",
     .value = "K",
     .help = "length of the sums",
     .parse = cli_parse_int,
     AT(k),
     .min = 1,
     .max = 1 << 20},
    CLI_TYPES_OPTIONS(settings, types,
                      "element type (default: an instance's own; of a kernel f32 where it computes in f32, else the "
                      "first that it takes)"),
    {.name = "--layout",
     .value = "nn|nt|tn|tt",
     .help = "which of A and B are transposed (default nn)",
     .parse = cli_parse_layout,
     AT(layout)},
    {.name = "--sparse",
     .once = 1,
     .value = "a|b",
     .help = "A, or B, is compressed 2:4 (default a for kernels of a compressed operand, else neither)",
     .parse = cli_parse_choice,
     AT(sparse)},
    {.name = "--device",
     .value = "D",
     .help = "emu counts in the emulator; cuda:N runs the kernel on a GPU, for a profiler that watches (default: the "
             "first GPU, or emu where there is none)",
     .parse = cli_parse_device,
     AT(device)},
    {.name = "--gpu",
     .value = LAB_GPU_CHOICES,
     .help = "whose numbers are predicted (default h200)",
     .parse = cli_parse_choice,
     AT(gpu)},
    {.name = "--alone", .help = "on a GPU: run the kernel and nothing else, as under a profiler", AT(alone)},
    {.name = "--iterations",
     .value = "N",
     .help = "launches on a GPU (default 1)",
     .parse = cli_parse_int,
     AT(iterations),
     .min = 1,
     .max = 1000000},
    {.name = "--sample",
     .value = "CTAS",
     .help = "how many CTAs to count; 0: all of them (default 16, all where the launch is small)",
     .parse = cli_parse_int,
     AT(sample),
     .min = 0,
     .max = 1 << 30},
    {.name = "--format", .value = "table|json", .help = "default table", .parse = cli_parse_choice, AT(format)},
    {0}};

/* ---- output ---------------------------------------------------------------------------------------------------------
 */

/* What stands behind a name goes on below itself where the terminal is narrow. */
enum { TEXT_AT = 25 };

static void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_line(const char *format, ...)
{
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cli_print_wrapped(stdout, text, 0, TEXT_AT);
}

static void print_traffic(const char *name, const lab_traffic *t)
{
    char used[64];
    const double share = t->sectors > 0 ? t->bytes / (32 * t->sectors) : 0;
    if (t->requests <= 0)
        return;
    if (share > 1) /* lanes that want the same */
        snprintf(used, sizeof used, " each byte used %.3g times", share);
    else
        snprintf(used, sizeof used, "%6.1f%% of their bytes used", 100 * share);
    print_line("  %-22s %14.0f requests %15.0f sectors %s", name, t->requests, t->sectors, used);
}

static void print_shared(const char *name, const lab_shared_traffic *t)
{
    if (t->requests > 0)
        print_line("  %-22s %14.0f requests %15.0f wavefronts, %.0f by bank conflicts", name, t->requests,
                   t->wavefronts, t->conflicts);
}

static void print_counters(const lab_counters *c, const tsr_gemm_desc *desc)
{
    char text[300];
    int used = snprintf(text, sizeof text, "%.64s, %" PRId64 " x %" PRId64 " x %" PRId64 ", %lld CTAs of %d threads",
                        c->instance, desc->m, desc->n, desc->k, c->ctas, c->threads);
    if (c->counted_ctas < c->ctas)
        snprintf(text + used, sizeof text - (size_t)used, ", %lld of them counted: standard error %.2g%%",
                 c->counted_ctas, 100 * c->sample_error);
    cli_print_wrapped(stdout, text, 0, 2);
    printf("\ncounted in the emulator\n");
    print_line("  %-22s %14.0f of threads, %.0f FLOP in all%s", "multiply-adds", c->fma_f32 + c->fma_f64, c->flops,
               desc->flags & TSR_SPARSE24_A   ? ", half of the whole product's: A is compressed 2:4"
               : desc->flags & TSR_SPARSE24_B ? ", half of the whole product's: B is compressed 2:4"
                                              : "");
    print_traffic("global loads", &c->load);
    print_traffic("global stores", &c->store);
    print_traffic("atomic operations", &c->atomic);
    print_traffic("cp.async", &c->copy);
    print_traffic("bulk loads, rows", &c->bulk_load);
    print_traffic("bulk stores, rows", &c->bulk_store);
    print_shared("shared loads", &c->shared_load);
    print_shared("  merged by a compiler", &c->shared_load_merged);
    print_shared("shared stores", &c->shared_store);
    print_line("  %-22s %14.2f FLOP for each byte between L2 and SMs or L1", "intensity", lab_counters_intensity(c));
}

/* " 96 of 4 bytes, 8 of 16", for instructions in the code. */
static void print_widths(const char *name, const int count[LAB_WIDTHS])
{
    static const char *const bytes[LAB_WIDTHS] = {"up to 4 bytes", "8 bytes", "16 bytes"};
    const char *before = "";
    for (int i = 0; i < LAB_WIDTHS; i++)
        if (count[i]) {
            if (!*before)
                printf("  %-22s", name);
            printf("%s %d of %s", before, count[i], bytes[i]);
            before = ",";
        }
    if (*before)
        putchar('\n');
}

static void print_machine_code(const lab_counters *c)
{
    const lab_machine_code *code = lab_machine_code_of(c->instance);
    if (!code) {
        putchar('\n');
        cli_print_wrapped(stdout,
                          lab_is_user_kernel(c->instance)
                              ? "Widths of accesses are the source's: nvcc, which may merge some, did not compile the "
                                "kernel."
                              : "no machine code is recorded of this kernel as it stands (tools/machine-code): widths "
                                "are the source's",
                          0, 2);
        return;
    }
    printf("\nin its machine code, %d bytes, which the counts above and below go by\n", code->code_bytes);
    print_widths("global loads", code->load);
    print_widths("global stores", code->store);
    print_widths("cp.async", code->copy);
    print_widths("shared loads", code->shared_load);
    print_widths("shared stores", code->shared_store);
}

static void print_prediction(const lab_counters *c, const lab_prediction *p, const lab_gpu_spec *gpu)
{
    const lab_occupancy *o = &p->occupancy;
    printf("\npredicted for %s\n", gpu->name);
    if (c->registers > 0)
        printf("  %-22s %d of a thread\n", "registers", c->registers);
    else
        print_line("  %-22s unknown: %s", "registers",
                   lab_is_user_kernel(c->instance) ? "nvcc did not compile the kernel"
                                                   : "this build has no device code");
    printf("  %-22s %d CTAs, %d warps an SM (%.0f%%), by %s\n", "occupancy", o->ctas, o->warps, 100 * o->share,
           o->limit);
    char time[32];
    printf("  %-22s %s, limited by %s\n", "time", cli_time_text(time, p->ns), lab_limiter_names[p->limiter]);
    printf("  %-22s ", "calibration");
    cli_print_wrapped(stdout, lab_calibration_of(gpu)->text, 25, 25);
}

static double published_ns(const lab_published *published)
{
    const double n = (double)published->size;
    return 2 * n * n * n / published->gflops;
}

/* What a tutorial measured of such a kernel; the predicted and the measured numbers are below. */
static void print_published(const lab_published *published, const lab_prediction *p)
{
    const double ns = published_ns(published);
    char time[32];
    print_line("  %-22s %g GFLOP/s, %s: the model is at %.2f times the time", "published", published->gflops,
               cli_time_text(time, ns), p->ns / ns);
}

/* `measured` may be NULL; `what` says what it is. A model that is not calibrated gives whole numbers. */
static void print_eight(const lab_eight *predicted, const lab_eight *measured, const char *what, int is_calibrated)
{
    const int decimals = is_calibrated ? 1 : 0;
    if (measured)
        printf("\n  %-22s predicted  %9s\n", "", what);
    for (int i = 0; i < LAB_EIGHT; i++) {
        printf("  %-22s %*.*f", lab_eight_names[i], measured ? 9 : 0, decimals, lab_eight_value(predicted, i));
        if (measured)
            printf("  %9.1f", lab_eight_value(measured, i));
        putchar('\n');
    }
}

static const char *const eight_keys[LAB_EIGHT] = {"sm_pct",   "memory_pct", "l1tex_pct",  "l2_pct",
                                                  "dram_pct", "l1_hit_pct", "l2_hit_pct", "memory_gbps"};

static void json_eight(cli_json *json, const char *what, const lab_eight *eight)
{
    for (int i = 0; i < LAB_EIGHT; i++) {
        char key[40];
        snprintf(key, sizeof key, "%s_%s", what, eight_keys[i]);
        cli_json_number(json, key, lab_eight_value(eight, i));
    }
}

static void json_published(cli_json *json, const lab_published *published)
{
    cli_json_number(json, "published_gflops", published->gflops);
    cli_json_number(json, "published_time_us", published_ns(published) * 1e-3);
    if (published->has_eight)
        json_eight(json, "published", &published->eight);
}

static void print_json(const settings *set, const lab_counters *c, const lab_prediction *p, const lab_eight *measured,
                       const lab_published *published)
{
    cli_json json = cli_json_begin(stdout);
    cli_json_text(&json, "kernel", c->instance);
    cli_json_int(&json, "m", set->size);
    cli_json_int(&json, "n", set->n ? set->n : set->size);
    cli_json_int(&json, "k", set->k ? set->k : set->size);
    cli_json_text(&json, "gpu", lab_gpu_spec_at((size_t)set->gpu)->name);
    cli_json_int(&json, "ctas", c->ctas);
    cli_json_int(&json, "counted_ctas", c->counted_ctas);
    cli_json_number(&json, "sample_error", c->sample_error);
    cli_json_int(&json, "registers", c->registers);
    cli_json_int(&json, "has_machine_code", c->has_machine_code);
    cli_json_number(&json, "ffma", c->fma_f32);
    cli_json_number(&json, "flops", c->flops);
    /* As NVIDIA's counters have them: copies by cp.async are loads. */
    cli_json_number(&json, "load_requests", c->load.requests + c->copy.requests);
    cli_json_number(&json, "load_sectors", c->load.sectors + c->copy.sectors + c->copy_line_pairs);
    cli_json_number(&json, "store_requests", c->store.requests);
    cli_json_number(&json, "store_sectors", c->store.sectors);
    cli_json_number(&json, "shared_load_requests", c->shared_load_merged.requests);
    cli_json_number(&json, "shared_load_wavefronts", c->shared_load_merged.wavefronts);
    cli_json_number(&json, "shared_load_source_wavefronts", c->shared_load.wavefronts);
    cli_json_number(&json, "shared_store_wavefronts", c->shared_store.wavefronts);
    cli_json_number(&json, "copy_wavefronts", c->copy_shared.wavefronts);
    cli_json_number(&json, "instructions", p->instructions);
    cli_json_number(&json, "l2_read_sectors", p->l2_read_sectors);
    cli_json_number(&json, "l2_lookup_sectors", p->l2_lookup_sectors);
    cli_json_number(&json, "l2_miss_sectors", p->l2_miss_sectors);
    cli_json_number(&json, "dram_bytes", p->dram_bytes);
    cli_json_number(&json, "waits_per_cta", c->waits / (double)(c->ctas > 0 ? c->ctas : 1));
    cli_json_number(&json, "waits_for_l2", c->l2_waits);
    cli_json_number(&json, "waits_for_dram", c->dram_waits);
    cli_json_number(&json, "time_us", p->ns * 1e-3);
    cli_json_text(&json, "limiter", lab_limiter_names[p->limiter]);
    cli_json_text(&json, "calibration", lab_calibration_of(lab_gpu_spec_at((size_t)set->gpu))->text);
    for (int i = 0; i < LAB_EIGHT; i++)
        cli_json_number(&json, eight_keys[i], lab_eight_value(&p->eight, i));
    if (measured)
        json_eight(&json, "measured", measured);
    if (published)
        json_published(&json, published);
    cli_json_end(&json);
}

/* ---- work -----------------------------------------------------------------------------------------------------------
 */

/* What is not given: an instance has types of its own, and a kernel that does not compute in f32 those of its first
 * instance, in the arithmetic that is given. */
static lab_types types_of(const settings *set)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    lab_types types = set->types;
    char reasons[200];
    if (types.a != TSR_DTYPE_NONE)
        return types;
    types.a = TSR_F32;
    const int takes_f32 = lab_kernel_accepts(set->kernel, "emu", &types, reasons, sizeof reasons);
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strcmp(info.instance, set->kernel) == 0 ||
            (!takes_f32 && info.is_cuda && strcmp(info.name, set->kernel) == 0 &&
             (types.compute == TSR_COMPUTE_DEFAULT || types.compute == info.compute))) {
            types.a = info.dtype_ab;
            types.d = types.d != TSR_DTYPE_NONE ? types.d : info.dtype_cd;
            types.compute = types.compute != TSR_COMPUTE_DEFAULT ? types.compute : info.compute;
            break;
        }
    return types;
}

static tsr_gemm_desc problem_of(const settings *set, const lab_types *types)
{
    tsr_gemm_desc desc =
        tsr_gemm_desc_make(types->a, set->size, set->n ? set->n : set->size, set->k ? set->k : set->size);
    lab_types_put(types, &desc);
    desc.kernel = set->kernel;
    desc.flags = set->sparse == 1                                        ? TSR_SPARSE24_B
                 : set->sparse == 0 || lab_kernel_is_sparse(set->kernel) ? TSR_SPARSE24_A
                                                                         : 0;
    desc.a.trans = set->layout.a;
    desc.b.trans = set->layout.b;
    return desc;
}

static int profile_emulated(const cli_command *self, const settings *set, const tsr_gemm_desc *desc,
                            const lab_eight *measured)
{
    const lab_gpu_spec *gpu = lab_gpu_spec_at((size_t)set->gpu);
    const lab_count_options count_options = {.gpu = gpu, .sample_ctas = set->sample};
    lab_counters counters;
    lab_prediction prediction;
    if (lab_count(desc, &count_options, &counters) != TSR_OK)
        return cli_api_failure(self);
    char why[160] = "";
    /* A learner's own kernel is compiled for the emulator alone, which says nothing of where nvcc's code would run. */
    if (!lab_is_user_kernel(counters.instance) && !lab_runs_on_paper(gpu, desc, why, sizeof why))
        return cli_failure(self, "%s does not run on %s: %s", set->kernel, gpu->name, why);
    lab_predict(&counters, desc, gpu, &prediction);
    const lab_published *published = lab_published_find(gpu->id, counters.instance, desc->m, desc->n, desc->k);
    if (set->format == CLI_FORMAT_JSON) {
        print_json(set, &counters, &prediction, measured, published);
        return CLI_OK;
    }
    print_counters(&counters, desc);
    print_machine_code(&counters);
    print_prediction(&counters, &prediction, gpu);
    if (published)
        print_published(published, &prediction);
    const lab_eight *const beside = measured ? measured : published && published->has_eight ? &published->eight : NULL;
    print_eight(&prediction.eight, beside, measured ? "measured" : "published", lab_calibration_of(gpu)->launches > 0);
    return CLI_OK;
}

/* This command once more, under ncu. */
static tsr_status measure_under_ncu(const settings *set, const tsr_gemm_desc *desc, lab_eight *out, double *ns)
{
    char path[4096], size[24], n[24], k[24];
    const char *const layouts[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    snprintf(size, sizeof size, "%lld", (long long)desc->m);
    snprintf(n, sizeof n, "%lld", (long long)desc->n);
    snprintf(k, sizeof k, "%lld", (long long)desc->k);
    enum { FIRST_OPTIONAL = 13 };
    const char *arguments[FIRST_OPTIONAL + 11] = {
        path,       "profile",   set->kernel, size,
        "--n",      n,           "--k",       k,
        "--device", set->device, "--layout",  layouts[set->layout.a == TSR_T][set->layout.b == TSR_T],
        "--alone"};
    int count = FIRST_OPTIONAL;
    const struct {
        const char *option;
        tsr_dtype dtype;
    } types[] = {{"--dtype", set->types.a}, {"--dtype-b", set->types.b}, {"--out-dtype", set->types.d}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype != TSR_DTYPE_NONE) {
            arguments[count++] = types[i].option;
            arguments[count++] = tsr_dtype_name(types[i].dtype);
        }
    if (set->types.compute != TSR_COMPUTE_DEFAULT) {
        arguments[count++] = "--compute";
        arguments[count++] = tsr_compute_name(set->types.compute);
    }
    if (set->sparse >= 0) {
        arguments[count++] = "--sparse";
        arguments[count++] = set->sparse == 0 ? "a" : "b";
    }
    arguments[count] = NULL;
    return lab_ncu_run(arguments, out, ns);
}

/* Name of what gave the numbers, NULL if nothing did: then says why not. */
static const char *measure(const settings *set, const tsr_gemm_desc *desc, lab_eight *out)
{
    char reason[400];
    double ns;
    const char *source = "CUPTI's range profiler";
    if (lab_cupti_measure(set->device, desc, out, &ns) != TSR_OK) {
        snprintf(reason, sizeof reason, "%s", tsr_last_error());
        source = measure_under_ncu(set, desc, out, &ns) == TSR_OK ? "ncu" : NULL;
    }
    if (set->format != CLI_FORMAT_TABLE)
        return source;
    if (source)
        printf("measured by %s: %.1f us\n\n", source, ns * 1e-3);
    else
        printf("The GPU's counters cannot be read from here:\n  %s\n  %s\nWhere Nsight Compute may read them:\n"
               "  ncu --set full tessera profile %s %lld\n\n",
               reason, tsr_last_error(), set->kernel, (long long)set->size);
    return source;
}

static int profile_on_gpu(const cli_command *self, const settings *set, const tsr_gemm_desc *desc)
{
    lab_profile profile;
    lab_eight measured;
    if (lab_profile_run(set->device, desc, set->iterations, &profile) != TSR_OK)
        return cli_api_failure(self);
    if (set->format == CLI_FORMAT_TABLE)
        printf("%s ran %lld times on %s, %.1f us each%s\n", profile.kernel, (long long)set->iterations, profile.device,
               profile.ns * 1e-3, profile.is_named ? ", in the NVTX range \"tessera profile\"" : "");
    if (profile.is_watched || set->alone)
        return CLI_OK; /* the profiler has the numbers; ours would only be in its way */
    fflush(stdout);
    return profile_emulated(self, set, desc, measure(set, desc, &measured) ? &measured : NULL);
}

static int profile_one(const cli_command *self, const settings *set)
{
    const lab_types types = types_of(set);
    const tsr_gemm_desc desc = problem_of(set, &types);
    int code = cli_types_check(self, &types);
    if (code == CLI_CONTINUE)
        code = cli_types_check_kernel(self, set->kernel, &types);
    if (code != CLI_CONTINUE)
        return code;
    return strcmp(set->device, "emu") == 0 ? profile_emulated(self, set, &desc, NULL)
                                           : profile_on_gpu(self, set, &desc);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.iterations = 1, .sample = 16, .sparse = -1};
    const int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (!set.device)
        set.device = lab_profile_default_device();
    if (strcmp(set.device, "cpu") == 0 || strcmp(set.device, "auto") == 0)
        return cli_usage_error(self, "--device needs emu or cuda:N, not '%s'", set.device);
    if (strcmp(set.kernels.values[0], "all") == 0 || strcmp(set.kernels.values[0], "auto") == 0)
        return cli_usage_error(self, "KERNEL needs kernels by name, not '%s'", set.kernels.values[0]);
    if (strcmp(set.device, "emu") == 0 && set.alone)
        return cli_usage_error(self, "--alone is for GPUs");
    int worst = CLI_OK;
    for (size_t s = 0; s < set.sizes.count; s++)
        for (size_t i = 0; i < set.kernels.count; i++) {
            set.kernel = set.kernels.values[i];
            set.size = set.sizes.values[s];
            if (set.format == CLI_FORMAT_TABLE && s + i > 0)
                putchar('\n');
            const int one = profile_one(self, &set);
            worst = one > worst ? one : worst;
            fflush(stdout);
        }
    return worst;
}

const cli_command cli_cmd_profile = {
    "profile",
    "count what one kernel does, predict a profiler's numbers, or run it for one",
    "KERNEL,... SIZE,... [options]",
    options,
    "On a GPU the kernel is launched and nothing else, so that ncu --set full tessera profile tiled 2048 sees just it. "
    "Without a profiler around it, the command reads the counters through CUPTI, or by running itself under ncu, and "
    "prints both. "
    "Counts of the emulator are exact or modelled as docs/EMULATOR.md says; docs/PREDICTIONS.md has them beside an "
    "H200's.",
    run};
