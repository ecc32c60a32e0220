/* The roofline as a table, and as a page. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/roofline.h"

const char *cli_intensity_text(char out[32], double intensity)
{
    if (!(intensity > 0))
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, intensity >= 999.5 ? "%.0f" : "%.3g", intensity);
    return out;
}

/* How the peaks follow from the device's properties. */
static void put_peaks(const cli_roof *roof, char *text, size_t bytes)
{
    const lab_gpu_spec *gpu = roof->gpu;
    char rate[32], bandwidth[32], tensor[32], clock[64] = "";
    const double peak = lab_gpu_peak_flops(gpu, roof->types.a == TSR_F64 ? TSR_F64 : TSR_F32, TSR_COMPUTE_DEFAULT, 0);
    const double lanes = roof->types.a == TSR_F64 ? gpu->fma64_per_clock : gpu->fma_per_clock;
    size_t used = 0;
    if (gpu->memory_bits)
        snprintf(clock, sizeof clock, "%d bit x %.3f GHz x 2 / 8 = ", gpu->memory_bits, gpu->memory_clock_hz * 1e-9);
    used += (size_t)snprintf(
        text + used, bytes - used,
        "%s: %d SMs x %.0f multiply-adds x %.3f GHz x 2 = %s; %s%s of DRAM; ridge %.2f FLOP/B (of the "
        "figures to one decimal, %.1f / %.1f, %.2f)",
        gpu->name, gpu->sms, lanes, gpu->clock_hz * 1e-9, cli_rate_text(rate, peak, "FLOP/s"), clock,
        cli_rate_text(bandwidth, gpu->memory_bytes_per_s, "B/s"), peak / gpu->memory_bytes_per_s, peak * 1e-12,
        gpu->memory_bytes_per_s * 1e-12, round(peak * 1e-11) / round(gpu->memory_bytes_per_s * 1e-11));
    const double on_tensor = lab_gpu_peak_flops(gpu, roof->types.a, roof->types.compute, 1);
    if (on_tensor > peak && (roof->types.a != TSR_F32 || roof->types.compute == TSR_COMPUTE_TF32))
        used += (size_t)snprintf(text + used, bytes - used, "; tensor cores %s, ridge %.0f",
                                 cli_rate_text(tensor, on_tensor, "FLOP/s"), on_tensor / gpu->memory_bytes_per_s);
    if (roof->is_sparse)
        snprintf(text + used, bytes - used,
                 "; of the whole product's FLOP, with an operand compressed 2:4, %s, ridge %.0f",
                 cli_rate_text(tensor, 2 * on_tensor, "FLOP/s"), 2 * on_tensor / gpu->memory_bytes_per_s);
}

static const char *percent_text(char out[32], double share)
{
    snprintf(out, 32, "%.3g%%", 100 * share);
    return out;
}

/* Once for each kernel, at its largest size, which comes last. */
static int is_last_of_kernel(const cli_roof *roof, size_t index)
{
    for (size_t i = index + 1; i < roof->count; i++)
        if (strcmp(roof->points[i].at.counters.instance, roof->points[index].at.counters.instance) == 0)
            return 0;
    return 1;
}

static int any_measured(const cli_roof *roof)
{
    int any = 0;
    for (size_t i = 0; i < roof->count; i++)
        any |= isfinite(roof->points[i].measured_gflops) != 0;
    return any;
}

static int put_points(const cli_roof *roof, FILE *to)
{
    char a[32], b[32], c[32], uncached[32], bound[32], measured[32], model[32];
    cli_table table;
    const int with_measured = any_measured(roof);
    cli_table_begin(&table, "lrrrrrrlr", "FLOP/B, FLOP/s", "size", "loaded", "SMs", "DRAM", "no cache", "bound", "by",
                    with_measured ? "measured" : "model");
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        const lab_roofpoint *at = &p->at;
        const char *rate = isfinite(p->measured_gflops) ? cli_short_rate(measured, p->measured_gflops * 1e9) : "-";
        cli_table_row(&table, at->counters.instance, CLI_CELL("%" PRId64, p->size),
                      cli_intensity_text(a, at->intensity), cli_intensity_text(b, at->intensity_moved),
                      cli_intensity_text(c, at->intensity_dram), cli_short_rate(uncached, at->uncached_flops_s),
                      cli_short_rate(bound, at->bound_flops_s), lab_roof_names[at->bounds.by],
                      with_measured ? rate : cli_short_rate(model, at->flops / at->prediction.ns * 1e9));
    }
    return cli_table_end(&table, to, 0);
}

/* What stands of a kernel below the table, without its advice. */
static void describe(const cli_roof_point *p, char *text, size_t bytes)
{
    const lab_roofpoint *at = &p->at;
    char uncached[32], share[32], bound[32], of_peak[32], measured[200] = "", time[32], rate[32], of_bound[32];
    if (isfinite(p->measured_gflops))
        snprintf(measured, sizeof measured, "; measured %s, %s of the bound",
                 cli_rate_text(rate, p->measured_gflops * 1e9, "FLOP/s"),
                 percent_text(of_bound, p->measured_gflops * 1e9 / at->bound_flops_s));
    snprintf(
        text, bytes,
        "%s at %" PRId64 ", %s-bound (%s): at most %s, %s of the peak%s. As the tutorials draw it, as if each load "
        "came from DRAM: %s, %s of the peak. By the model %s, limited by %s.",
        at->counters.instance, p->size, at->is_memory_bound ? "memory" : "compute",
        at->is_memory_bound ? lab_roof_names[at->bounds.by] : "the units that multiply",
        cli_rate_text(bound, at->bound_flops_s, "FLOP/s"), percent_text(of_peak, at->bound_flops_s / at->peak_flops_s),
        measured, cli_rate_text(uncached, at->uncached_flops_s, "FLOP/s"),
        percent_text(share, at->uncached_flops_s / at->peak_flops_s), cli_time_text(time, at->prediction.ns),
        lab_limiter_names[at->prediction.limiter]);
}

int cli_roofline_table(const cli_roof *roof, FILE *to)
{
    char line[900];
    put_peaks(roof, line, sizeof line);
    cli_print_wrapped(to, line, 0, 2);
    fputc('\n', to);
    const int whole = put_points(roof, to);
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        if (!is_last_of_kernel(roof, i))
            continue;
        describe(p, line, sizeof line);
        fputc('\n', to);
        cli_print_wrapped(to, line, 0, 2);
        for (int k = 0; k < p->at.advice.count; k++) {
            fputs("  - ", to);
            cli_print_wrapped(to, p->at.advice.text[k], 4, 4);
        }
    }
    return whole;
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

static void put_row(const cli_roof_point *p, size_t number, FILE *to)
{
    char a[32], b[32], c[32], uncached[32], rate[32], share[32], measured[32];
    const lab_roofpoint *at = &p->at;
    fprintf(to, "<tr><td>%zu<td>%s<td>%" PRId64 "<td>%s<td>%s<td>%s<td>%s<td>%s<td>%s<td>%s<td>%s</tr>\n", number,
            at->counters.instance, p->size, cli_intensity_text(a, at->intensity),
            cli_intensity_text(b, at->intensity_moved), cli_intensity_text(c, at->intensity_dram),
            cli_rate_text(uncached, at->uncached_flops_s, "FLOP/s"), cli_rate_text(rate, at->bound_flops_s, "FLOP/s"),
            percent_text(share, at->bound_flops_s / at->peak_flops_s), lab_roof_names[at->bounds.by],
            isfinite(p->measured_gflops) ? cli_rate_text(measured, p->measured_gflops * 1e9, "FLOP/s") : "-");
}

int cli_roofline_html(const cli_roof *roof, FILE *to)
{
    char peaks[700];
    put_peaks(roof, peaks, sizeof peaks);
    fprintf(
        to,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Roofline of %s</title>\n"
        "<style>body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;max-width:960px;margin:0 auto;"
        "padding:12px} svg{width:100%%;height:auto} table{border-collapse:collapse;font-size:13px} "
        "td,th{padding:3px 10px 3px 0;text-align:left;border-top:1px solid #d3d9df;white-space:nowrap} "
        ".wide{overflow-x:auto} "
        "@media(prefers-color-scheme:dark){body{color:#e6e9ed;background:#14171a} td,th{border-color:#343b43}} "
        /* On a phone the chart fills the screen with larger letters; its list of kernels, which the table repeats, is
         * beyond the edge. */
        "@media(max-width:640px){h1{font-size:22px;margin:4px 0} ul{padding-left:20px} .chart svg{width:169%%} "
        ".chart .soft,.chart .rooftext,.chart .ridgetext,.chart .idealtext,.chart .name{font-size:15.5px} .chart "
        ".axis,.chart .number{font-size:16px} "
        ".chart .title{font-size:18px}}</style></head>\n<body><h1>Roofline of %s</h1>\n<p>%s</p>\n"
        "<div class=\"wide chart\">\n",
        roof->gpu->name, roof->gpu->name, peaks);
    const int whole = cli_roofline_svg(roof, to);
    fputs("</div>\n<div class=\"wide\"><table><tr><th><th>kernel<th>size<th>FLOP/B loaded<th>SMs<th>DRAM<th>no "
          "cache<th>bound"
          "<th>of peak<th>by<th>measured</tr>\n",
          to);
    for (size_t i = 0; i < roof->count; i++)
        put_row(&roof->points[i], i + 1, to);
    fputs("</table></div>\n", to);
    for (size_t i = 0; i < roof->count; i++) {
        const lab_roofpoint *at = &roof->points[i].at;
        if (!is_last_of_kernel(roof, i) || at->advice.count == 0)
            continue;
        fprintf(to, "<h3>%s</h3>\n<ul>\n", at->counters.instance);
        for (int k = 0; k < at->advice.count; k++)
            fprintf(to, "<li>%s</li>\n", at->advice.text[k]);
        fputs("</ul>\n", to);
    }
    fputs("</body></html>\n", to);
    return whole;
}
