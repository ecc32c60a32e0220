/* tessera info: this machine and what the library has for it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/info_measure.h"
#include "cli/output.h"
#include "cli/probe.h"
#include "lab/common/device_facts.h"
#include "lab/peers/peer.h"

typedef struct settings {
    int kernels, measure, format;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "--kernels", .help = "all kernels, and on which GPU each last passed as it now stands", AT(kernels)},
    {.name = "--measure",
     .help = "latency and bandwidth of each level of the memory of the CPU and of each GPU: some seconds",
     AT(measure)},
    {.name = "--format",
     .value = "table|json",
     .help = "json: one object a line, kernels included (default table)",
     .parse = cli_parse_choice,
     AT(format)},
    {0}};

enum { GPUS_MAX = 64, INDENT = 11 };

/* "label      text", wrapped. */
static void line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("%-*s", INDENT, label);
    cli_print_wrapped(stdout, text, INDENT, INDENT);
}

/* ---- devices --------------------------------------------------------------------------------------------------------
 */

static void print_cpu(void)
{
    lab_device cpu;
    char l1[32], l2[32], l3[32], f32[32], f64[32], features[256];
    if (lab_device_describe("cpu", &cpu) != TSR_OK) {
        line("CPU", "%s", tsr_last_error());
        return;
    }
    line("CPU", "%s, %d thread%s", cpu.name, cpu.threads, cpu.threads == 1 ? "" : "s");
    line("", "L1 %s, L2 %s of a core; L3 %s", cli_bytes_text(l1, (double)cpu.l1_bytes),
         cli_bytes_text(l2, (double)cpu.l2_bytes), cli_bytes_text(l3, (double)cpu.l3_bytes));
    line("", "peak f32 %s, f64 %s", cli_rate_text(f32, cpu.peak_flops_f32, "FLOP/s"),
         cli_rate_text(f64, cpu.peak_flops_f64, "FLOP/s"));
    line("", "%s", cli_cpu_features(features, sizeof features));
}

static void print_gpu(const lab_device *gpu)
{
    char memory[32], l2[32], bandwidth[32], f32[32], f64[32], tensor16[32], tf32[32], tensor64[40] = "";
    line(gpu->id, "%s, compute capability %d.%d, %d SMs at up to %d MHz", gpu->name, gpu->arch / 10, gpu->arch % 10,
         gpu->sm_count, gpu->core_clock_khz / 1000);
    line("", "%s of memory, %d bits at %d MHz: peak %s; L2 %s", cli_bytes_text(memory, (double)gpu->memory_bytes),
         gpu->memory_bus_bits, gpu->memory_clock_khz / 1000, cli_rate_text(bandwidth, gpu->memory_bytes_per_s, "B/s"),
         cli_bytes_text(l2, (double)gpu->l2_bytes));
    line("", "peak f32 %s, f64 %s without tensor cores; ridge %.1f FLOP/B in f32",
         cli_rate_text(f32, gpu->peak_flops_f32, "FLOP/s"), cli_rate_text(f64, gpu->peak_flops_f64, "FLOP/s"),
         gpu->memory_bytes_per_s > 0 ? gpu->peak_flops_f32 / gpu->memory_bytes_per_s : 0.0);
    if (gpu->peak_flops_f64_tensor > 0)
        snprintf(tensor64, sizeof tensor64, ", f64 %s", cli_rate_text(f64, gpu->peak_flops_f64_tensor, "FLOP/s"));
    if (gpu->peak_flops_tensor16 > 0)
        line("", "peak bf16 and f16 %s, tf32 %s%s with tensor cores",
             cli_rate_text(tensor16, gpu->peak_flops_tensor16, "FLOP/s"),
             cli_rate_text(tf32, gpu->peak_flops_tf32, "FLOP/s"), tensor64);
}

/* Opens GPU after GPU until one is not there; 0 and why, if not even the first is. */
static int next_gpu(int ordinal, lab_device *out)
{
    char name[16];
    snprintf(name, sizeof name, "cuda:%d", ordinal);
    return ordinal < GPUS_MAX && lab_device_describe(name, out) == TSR_OK;
}

static void print_gpus(void)
{
    lab_device gpu;
    int count = 0, driver = 0;
    for (; next_gpu(count, &gpu); count++) {
        print_gpu(&gpu);
        driver = gpu.driver_version;
    }
    if (count)
        line("driver", "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    else
        line("GPU", "none: %s", tsr_last_error());
}

static void json_device(const lab_device *device)
{
    cli_json json = cli_json_begin(stdout);
    char features[256];
    cli_json_text(&json, "kind", device->is_cuda ? "gpu" : "cpu");
    cli_json_text(&json, "id", device->id);
    cli_json_text(&json, "name", device->name);
    if (device->is_cuda) {
        cli_json_int(&json, "arch", device->arch);
        cli_json_int(&json, "sm_count", device->sm_count);
        cli_json_int(&json, "core_clock_khz", device->core_clock_khz);
        cli_json_int(&json, "memory_clock_khz", device->memory_clock_khz);
        cli_json_int(&json, "memory_bus_bits", device->memory_bus_bits);
        cli_json_int(&json, "memory_bytes", device->memory_bytes);
        cli_json_int(&json, "driver_version", device->driver_version);
    } else {
        cli_json_text(&json, "features", cli_cpu_features(features, sizeof features));
        cli_json_int(&json, "threads", device->threads);
        cli_json_int(&json, "l1_bytes", device->l1_bytes);
        cli_json_int(&json, "l3_bytes", device->l3_bytes);
    }
    cli_json_int(&json, "l2_bytes", device->l2_bytes);
    cli_json_number(&json, "peak_flops_f32", device->peak_flops_f32);
    cli_json_number(&json, "peak_flops_f64", device->peak_flops_f64);
    cli_json_number(&json, "peak_flops_f64_tensor", device->peak_flops_f64_tensor);
    cli_json_number(&json, "peak_flops_tensor16", device->peak_flops_tensor16);
    cli_json_number(&json, "peak_flops_tf32", device->peak_flops_tf32);
    cli_json_number(&json, "memory_bytes_per_s", device->memory_bytes_per_s);
    cli_json_number(&json, "transfer_bytes_per_s", device->transfer_bytes_per_s);
    cli_json_end(&json);
}

/* ---- libraries ------------------------------------------------------------------------------------------------------
 */

/* Calls found(name, version or NULL, reason or NULL) for each library. */
static void each_library(void (*found)(const char *name, const char *version, const char *reason))
{
    const lab_peer_ops *peer;
    char text[256];
    for (size_t i = 0; (peer = lab_peer_at(i)) != NULL; i++) {
        void *state = NULL;
        if (peer == &lab_peer_memory)
            continue; /* no library */
        if (peer->open(0, 1, &state) == TSR_OK) {
            peer->version(state, text, sizeof text);
            peer->close(state);
            found(peer->name, text, NULL);
        } else {
            found(peer->name, NULL, tsr_last_error());
        }
    }
    for (size_t i = 0; i < CLI_PROBES; i++)
        if (cli_probe(i, text, sizeof text))
            found(cli_probe_name(i), text, NULL);
        else
            found(cli_probe_name(i), NULL, text);
}

static void print_library(const char *name, const char *version, const char *reason)
{
    if (version)
        line(name, "%s", version);
    else
        line(name, "not found: %s", reason);
}

static void json_library(const char *name, const char *version, const char *reason)
{
    cli_json json = cli_json_begin(stdout);
    cli_json_text(&json, "kind", "library");
    cli_json_text(&json, "name", name);
    cli_json_text(&json, "version", version);
    cli_json_text(&json, "reason", reason);
    cli_json_end(&json);
}

/* ---- kernels --------------------------------------------------------------------------------------------------------
 */

static int next_kernel(size_t index, tsr_kernel_info *out)
{
    memset(out, 0, sizeof *out);
    out->struct_bytes = sizeof *out;
    return tsr_kernel(index, out) == TSR_OK;
}

static int is_tested(const tsr_kernel_info *info)
{
    return info->is_cuda && strncmp(info->hardware, "untested", 8) != 0 && strncmp(info->hardware, "unknown", 7) != 0;
}

/* It passed on a GPU as another nvcc made it. */
static int is_unknown(const tsr_kernel_info *info)
{
    return strncmp(info->hardware, "unknown", 7) == 0;
}

static const char *types(const tsr_kernel_info *info, char out[64])
{
    const char *in = tsr_dtype_name(info->dtype_ab), *to = tsr_dtype_name(info->dtype_cd);
    const char *sum = tsr_compute_name(info->compute);
    if (strcmp(in, to) != 0)
        snprintf(out, 64, "%s -> %s, sums %s", in, to, sum);
    else if (strcmp(in, sum) != 0)
        snprintf(out, 64, "%s, sums %s", in, sum);
    else
        snprintf(out, 64, "%s", in);
    return out;
}

/* All instances of one kernel, and how wide their cells are. */
typedef struct family {
    const char *name;
    int instance, types, constants, hardware;
    int has_code; /* one of them has device code in this build */
} family;

/* The types are a column of their own. */
static const char *constants_of(const tsr_kernel_info *info)
{
    const char *blank = strchr(info->constants, ' ');
    if (strncmp(info->constants, "ELEM_", 5) != 0)
        return info->constants;
    return blank ? blank + 1 : "";
}

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width)
        *width = (int)strlen(text);
}

static family measure(const char *name)
{
    family f = {.name = name, .instance = (int)strlen("instance"), .types = (int)strlen("types")};
    tsr_kernel_info info;
    char text[64];
    widen(&f.constants, "constants");
    widen(&f.hardware, "passed on");
    for (size_t i = 0; next_kernel(i, &info); i++) {
        if (strcmp(info.name, name) != 0)
            continue;
        widen(&f.instance, info.instance);
        widen(&f.types, types(&info, text));
        widen(&f.constants, constants_of(&info));
        widen(&f.hardware, info.hardware);
        f.has_code |= info.has_device_code;
    }
    return f;
}

/* Cells with nothing to say are left out for the whole family; the constants go below where they are too long. Eleven
 * digits of a hash tell kernels apart; JSON has all. */
static void print_cells(const family *f, const char *instance, const char *dtypes, const char *registers,
                        const char *hash, const char *hardware, const char *constants)
{
    int column = printf("  %-*s  ", f->instance, instance);
    if (!*hardware) {
        puts(dtypes);
        return;
    }
    column += printf("%-*s  ", f->types, dtypes);
    if (f->has_code)
        column += printf("%4s  %-11.11s  ", registers, hash);
    if (!*constants)
        puts(hardware);
    else if (column + f->hardware + 2 + f->constants <= cli_columns())
        printf("%-*s  %s\n", f->hardware, hardware, constants);
    else {
        printf("%s\n    ", hardware);
        cli_print_wrapped(stdout, constants, 4, 4);
    }
}

static void print_kernel(const char *name)
{
    const family f = measure(name);
    tsr_kernel_info info;
    int headed = 0;
    for (size_t i = 0; next_kernel(i, &info); i++) {
        char dtypes[64], registers[16];
        if (strcmp(info.name, name) != 0)
            continue;
        if (!headed++) {
            char head[400];
            snprintf(head, sizeof head, "%s: %s (%s)", info.name, info.summary, info.source);
            putchar('\n');
            cli_print_wrapped(stdout, head, 0, 2);
            print_cells(&f, "instance", "types", "regs", "device code", info.is_cuda ? "passed on" : "",
                        *constants_of(&info) ? "constants" : "");
        }
        snprintf(registers, sizeof registers, info.has_device_code ? "%d" : "-", info.registers);
        print_cells(&f, info.instance, types(&info, dtypes), registers, info.has_device_code ? info.hash : "-",
                    info.hardware, constants_of(&info));
    }
}

static void print_kernels(void)
{
    const char *name;
    for (size_t i = 0; (name = cli_kernel_name(i)) != NULL; i++)
        print_kernel(name);
}

static void print_kernel_count(void)
{
    tsr_kernel_info info;
    int count = 0, cuda = 0, embedded = 0, tested = 0, unknown = 0, names = 0;
    for (size_t i = 0; next_kernel(i, &info); i++) {
        count++;
        cuda += info.is_cuda;
        embedded += info.has_device_code;
        tested += is_tested(&info);
        unknown += is_unknown(&info);
    }
    while (cli_kernel_name((size_t)names))
        names++;
    line("kernels",
         "%d kernels in %d instances: %d for CPUs, %d for GPUs; %d with device code in this build, %d passed "
         "on a GPU as they now stand",
         names, count, count - cuda, cuda, embedded, tested);
    if (unknown > 0)
        line("", "%d more passed on a GPU as another nvcc made them: unknown with nvcc %s", unknown, lab_nvcc());
}

static void json_kernels(void)
{
    tsr_kernel_info info;
    for (size_t i = 0; next_kernel(i, &info); i++) {
        cli_json json = cli_json_begin(stdout);
        cli_json_text(&json, "kind", "kernel");
        cli_json_text(&json, "name", info.name);
        cli_json_text(&json, "instance", info.instance);
        cli_json_text(&json, "summary", info.summary);
        cli_json_text(&json, "source", info.source);
        cli_json_text(&json, "constants", info.constants);
        cli_json_text(&json, "dtype_ab", tsr_dtype_name(info.dtype_ab));
        cli_json_text(&json, "dtype_cd", tsr_dtype_name(info.dtype_cd));
        cli_json_text(&json, "compute", tsr_compute_name(info.compute));
        cli_json_bool(&json, "is_cuda", info.is_cuda);
        cli_json_bool(&json, "has_device_code", info.has_device_code);
        cli_json_int(&json, "registers", info.registers);
        cli_json_text(&json, "hash", info.hash);
        cli_json_text(&json, "hardware", info.hardware);
        cli_json_end(&json);
    }
}

/* ---- the command ----------------------------------------------------------------------------------------------------
 */

static void print_all_json(void)
{
    lab_device device;
    if (lab_device_describe("cpu", &device) == TSR_OK)
        json_device(&device);
    for (int i = 0; next_gpu(i, &device); i++)
        json_device(&device);
    each_library(json_library);
    json_kernels();
}

void cli_print_machine(void)
{
    line("tessera", "%s, commit %s", tsr_version(), lab_commit());
    print_cpu();
    print_gpus();
    each_library(print_library);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {0};
    int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.format == CLI_FORMAT_JSON) {
        print_all_json();
        return set.measure ? cli_measure_memory(self, set.format == CLI_FORMAT_JSON) : CLI_OK;
    }
    cli_print_machine();
    print_kernel_count();
    if (set.kernels)
        print_kernels();
    return set.measure ? cli_measure_memory(self, set.format == CLI_FORMAT_JSON) : CLI_OK;
}

const cli_command cli_cmd_info = {
    "info",
    "this machine, and the kernels there are for it",
    "[--kernels] [--measure] [--format table|json]",
    options,
    "--measure: latency is the time from a load to the next that needs its value, lines of 64 bytes in random order; "
    "where pages are small, that of large levels contains the search for them. The working set of L1 and L2 is that of "
    "one thread; DRAM's fits no cache. The rate of a CPU's registers is the peak. Of a GPU, latency is that of one "
    "lane, "
    "without those of L1 for L2 and DRAM; all SMs read, 16 bytes a lane, and a copy counts what it reads and what it "
    "writes; an FMA counts three registers of four bytes that it reads and one that it writes. Medians of five times "
    "between events.",
    run};
