#include "cli/info_measure.h"

#include <math.h>
#include <stdio.h>

#include "cli/api_error.h"
#include "cli/output.h"
#include "lab/bench/gpu_levels.h"
#include "lab/bench/levels.h"

enum { GPUS_MAX = 64 };

static const char *rate(char out[32], double bytes_per_s)
{
    if (isfinite(bytes_per_s) && bytes_per_s > 0)
        return cli_rate_text(out, bytes_per_s, "B/s");
    return "-";
}

static const char *latency(char out[32], double ns)
{
    return cli_text(out, 32, "%.*f ns", ns < 10 ? 2 : 0, ns);
}

/* ---- the CPU --------------------------------------------------------------------------------------------------------
 */

static int print_levels(const lab_level *levels, int count, int threads)
{
    cli_table table;
    char all[32];
    snprintf(all, sizeof all, "all %d", threads);
    printf("\nThe CPU's memory, measured by reading:\n");
    cli_table_begin(&table, "lrrrr", "level", "working set", "latency", "one thread", all);
    for (int i = 0; i < count; i++) {
        char bytes[32], ns[32], one[32], every[32];
        cli_table_row(&table, levels[i].name, cli_bytes_text(bytes, (double)levels[i].bytes),
                      latency(ns, levels[i].latency_ns), rate(one, levels[i].one_bytes_per_s),
                      rate(every, levels[i].all_bytes_per_s));
    }
    return cli_table_end(&table, stdout, 0);
}

static void json_levels(const lab_level *levels, int count, int threads)
{
    for (int i = 0; i < count; i++) {
        cli_json json = cli_json_begin(stdout);
        cli_json_text(&json, "kind", "memory_level");
        cli_json_text(&json, "name", levels[i].name);
        cli_json_bool(&json, "is_shared", levels[i].is_shared);
        cli_json_int(&json, "bytes", levels[i].bytes);
        cli_json_number(&json, "latency_ns", levels[i].latency_ns);
        cli_json_number(&json, "one_thread_bytes_per_s", levels[i].one_bytes_per_s);
        cli_json_number(&json, "all_threads_bytes_per_s", levels[i].all_bytes_per_s);
        cli_json_int(&json, "threads", threads);
        cli_json_end(&json);
    }
}

static int measure_cpu(const cli_command *self, int is_json)
{
    lab_device cpu;
    lab_level levels[LAB_LEVELS];
    if (lab_device_describe("cpu", &cpu) != TSR_OK)
        return cli_api_failure(self);
    cli_progress *progress = cli_progress_begin();
    cli_progress_say(progress, "measuring the CPU's memory");
    const int count = lab_measure_levels(&cpu, levels);
    cli_progress_end(progress);
    if (is_json)
        json_levels(levels, count, cpu.threads);
    else if (!print_levels(levels, count, cpu.threads))
        return cli_failure(self, "out of memory");
    return CLI_OK;
}

/* ---- GPUs -----------------------------------------------------------------------------------------------------------
 */

static const char *share(char out[32], double part, double whole)
{
    return isfinite(whole) && whole > 0 ? cli_text(out, 32, "%.0f%%", 100 * part / whole) : "-";
}

static int print_gpu_levels(const lab_device *gpu, const lab_gpu_levels *measured)
{
    cli_table table;
    char flops[32], peak[32], percent[32], text[200], clock[48] = "";
    printf("\n%s's memory, measured by reading:\n", gpu->id);
    cli_table_begin(&table, "lrrrrrr", "level", "working set", "latency", "reading", "copying", "peak", "of peak");
    for (int i = 0; i < LAB_GPU_LEVELS; i++) {
        const lab_gpu_level *l = &measured->items[i];
        char bytes[32], ns[32], read[32], copy[32], most[32], part[32];
        cli_table_row(&table, l->name, l->bytes > 0 ? cli_bytes_text(bytes, (double)l->bytes) : "-",
                      latency(ns, l->latency_ns), rate(read, l->read_bytes_per_s), rate(copy, l->copy_bytes_per_s),
                      rate(most, l->peak_bytes_per_s), share(part, l->read_bytes_per_s, l->peak_bytes_per_s));
    }
    if (!cli_table_end(&table, stdout, 0))
        return 0;
    if (isfinite(measured->clock_mhz))
        snprintf(clock, sizeof clock, ", at %.0f MHz", measured->clock_mhz);
    snprintf(text, sizeof text, "FMAs in f32: %s of %s, %s%s",
             cli_rate_text(flops, measured->fma_flops_per_s, "FLOP/s"),
             cli_rate_text(peak, measured->peak_flops_per_s, "FLOP/s"),
             share(percent, measured->fma_flops_per_s, measured->peak_flops_per_s), clock);
    cli_print_wrapped(stdout, text, 0, 0);
    return 1;
}

static void json_gpu_levels(const lab_device *gpu, const lab_gpu_levels *measured)
{
    cli_json json;
    for (int i = 0; i < LAB_GPU_LEVELS; i++) {
        const lab_gpu_level *l = &measured->items[i];
        json = cli_json_begin(stdout);
        cli_json_text(&json, "kind", "gpu_memory_level");
        cli_json_text(&json, "device", gpu->id);
        cli_json_text(&json, "name", l->name);
        cli_json_int(&json, "bytes", l->bytes);
        cli_json_int(&json, "latency_bytes", l->latency_bytes);
        cli_json_number(&json, "latency_ns", l->latency_ns);
        cli_json_number(&json, "read_bytes_per_s", l->read_bytes_per_s);
        cli_json_number(&json, "copy_bytes_per_s", l->copy_bytes_per_s);
        cli_json_number(&json, "peak_bytes_per_s", l->peak_bytes_per_s);
        cli_json_end(&json);
    }
    json = cli_json_begin(stdout);
    cli_json_text(&json, "kind", "gpu_fma_rate");
    cli_json_text(&json, "device", gpu->id);
    cli_json_number(&json, "fma_flops_per_s", measured->fma_flops_per_s);
    cli_json_number(&json, "peak_flops_per_s", measured->peak_flops_per_s);
    cli_json_number(&json, "clock_mhz", measured->clock_mhz);
    cli_json_end(&json);
}

static int measure_gpu(const cli_command *self, const lab_device *gpu, int is_json)
{
    lab_gpu_levels measured;
    cli_progress *progress = cli_progress_begin();
    cli_progress_say(progress, "measuring the memory of %s", gpu->id);
    const tsr_status status = lab_measure_gpu_levels(gpu, &measured);
    cli_progress_end(progress);
    if (status == TSR_UNSUPPORTED && !is_json) { /* a build without device code */
        char text[400];
        snprintf(text, sizeof text, "The memory of %s is not measured: %.300s", gpu->id, tsr_last_error());
        cli_print_wrapped(stdout, text, 0, 0);
    }
    if (status != TSR_OK)
        return status == TSR_UNSUPPORTED ? CLI_OK : cli_api_failure(self);
    if (is_json)
        json_gpu_levels(gpu, &measured);
    else if (!print_gpu_levels(gpu, &measured))
        return cli_failure(self, "out of memory");
    return CLI_OK;
}

int cli_measure_memory(const cli_command *self, int is_json)
{
    int code = measure_cpu(self, is_json);
    for (int i = 0; i < GPUS_MAX && code == CLI_OK; i++) {
        lab_device gpu;
        char id[16];
        snprintf(id, sizeof id, "cuda:%d", i);
        if (lab_device_describe(id, &gpu) != TSR_OK)
            break;
        code = measure_gpu(self, &gpu, is_json);
    }
    return code;
}
