/* The roofline as a picture, both axes logarithmic. Points have numbers, which the list beside the chart explains. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/roofline.h"
#include "cli/svg.h"

enum { LEFT = 64, TOP = 46, WIDTH = 520, HEIGHT = 420, BOTTOM = 56, LIST = 400, LIST_STEP = 34 };

/* The part of the plane that is shown; whole powers of ten for y, of two for x. */
typedef struct chart {
    double x0, x1, y0, y1; /* log2 of FLOP/B, log10 of FLOP/s */
} chart;

static double at_x(const chart *c, double intensity)
{
    return LEFT + WIDTH * (log2(intensity) - c->x0) / (c->x1 - c->x0);
}

static double at_y(const chart *c, double flops_s)
{
    return TOP + HEIGHT * (c->y1 - log10(flops_s)) / (c->y1 - c->y0);
}

static void widen(chart *c, double intensity, double flops_s)
{
    if (!(intensity > 0) || !(flops_s > 0))
        return;
    c->x0 = fmin(c->x0, floor(log2(intensity)) - 1);
    c->x1 = fmax(c->x1, ceil(log2(intensity)) + 1);
    c->y0 = fmin(c->y0, floor(log10(flops_s)));
    c->y1 = fmax(c->y1, ceil(log10(flops_s) + 0.05));
}

static chart chart_of(const cli_roof *roof, double peak)
{
    chart c = {-3, 8, log10(peak) - 2, ceil(log10(peak) + 0.1)};
    c.y0 = floor(c.y0);
    widen(&c, peak / roof->gpu->memory_bytes_per_s, peak);
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        widen(&c, p->at.intensity, p->at.bound_flops_s);
        widen(&c, p->at.intensity_ideal, peak);
        if (isfinite(p->measured_gflops))
            widen(&c, p->at.intensity, p->measured_gflops * 1e9);
    }
    return c;
}

static void put_axes(const chart *c, FILE *to)
{
    char text[32];
    for (int power = (int)c->x0; power <= (int)c->x1; power++) {
        const double x = power;
        const double px = at_x(c, exp2(x));
        svg_line(to, px, TOP, px, TOP + HEIGHT, "grid");
        if (x < 0)
            snprintf(text, sizeof text, "1/%.0f", exp2(-x));
        else
            snprintf(text, sizeof text, "%.0f", exp2(x));
        svg_text(to, px, TOP + HEIGHT + 18, "middle", "soft", text);
    }
    for (int power = (int)c->y0; power <= (int)c->y1; power++) {
        const double y = power;
        const double py = at_y(c, pow(10, y));
        svg_line(to, LEFT, py, LEFT + WIDTH, py, "grid");
        const double in_giga = pow(10, y - 9);
        snprintf(text, sizeof text, in_giga < 1000 ? "%g G" : "%g T", in_giga < 1000 ? in_giga : in_giga / 1000);
        svg_text(to, LEFT - 8, py + 4, "end", "soft", text);
    }
    svg_text(to, LEFT - 8, TOP - 14, "end", "axis", "FLOP/s");
    svg_text(to, LEFT + WIDTH / 2.0, TOP + HEIGHT + 42, "middle", "axis", "FLOP for each byte");
}

/* One roof: the slope of memory, cut by a peak. */
static void put_roof(const cli_roof *roof, const chart *c, double peak, const char *name, int with_slope, FILE *to)
{
    char text[120], rate[32];
    const double ridge = peak / roof->gpu->memory_bytes_per_s, end = exp2(c->x1);
    if (with_slope) {
        const double begin = fmax(exp2(c->x0), pow(10, c->y0) / roof->gpu->memory_bytes_per_s);
        svg_line(to, at_x(c, begin), at_y(c, begin * roof->gpu->memory_bytes_per_s), at_x(c, ridge), at_y(c, peak),
                 "roof");
        snprintf(text, sizeof text, "DRAM %s", cli_rate_text(rate, roof->gpu->memory_bytes_per_s, "B/s"));
        const double middle = fmax(begin * 2, fmin(1.2, ridge / 4)); /* between the points of naive and of tiled */
        svg_text(to, at_x(c, middle) + 12, at_y(c, middle * roof->gpu->memory_bytes_per_s) + 14, "start", "rooftext",
                 text);
    }
    svg_line(to, at_x(c, ridge), at_y(c, peak), at_x(c, end), at_y(c, peak), "roof");
    svg_line(to, at_x(c, ridge), at_y(c, peak), at_x(c, ridge), TOP + HEIGHT, "ridge");
    snprintf(text, sizeof text, "%s %s", name, cli_rate_text(rate, peak, "FLOP/s"));
    svg_text(to, at_x(c, end) - 4, at_y(c, peak) - 7, "end", "rooftext", text);
    snprintf(text, sizeof text, "ridge %.3g", ridge);
    svg_text(to, at_x(c, ridge) + 4, TOP + HEIGHT - 6, "start", "soft", text);
}

/* Where A, B and D go by once each: for each size one line. */
static void put_ideals(const cli_roof *roof, const chart *c, FILE *to)
{
    char text[80];
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        int is_first = 1;
        for (size_t j = 0; j < i; j++)
            is_first &= roof->points[j].size != p->size;
        if (!is_first)
            continue;
        const double x = at_x(c, p->at.intensity_ideal);
        svg_line(to, x, TOP, x, TOP + HEIGHT, "ideal");
        snprintf(text, sizeof text, "%" PRId64 ", each operand once", p->size);
        svg_text(to, x, TOP - 6, x > LEFT + WIDTH * 0.8 ? "end" : "middle", "soft", text);
    }
}

/* Points before this one whose number stands where this one's would. */
static int crowd(const cli_roof *roof, const chart *c, size_t index)
{
    const cli_roof_point *p = &roof->points[index];
    const int is_measured = isfinite(p->measured_gflops);
    int before = 0;
    for (size_t i = 0; i < index; i++) {
        const cli_roof_point *q = &roof->points[i];
        if (isfinite(q->measured_gflops) != is_measured ||
            fabs(at_x(c, p->at.intensity) - at_x(c, q->at.intensity)) > 12)
            continue;
        const double y = at_y(c, is_measured ? p->measured_gflops * 1e9 : p->at.bound_flops_s);
        before += fabs(y - at_y(c, is_measured ? q->measured_gflops * 1e9 : q->at.bound_flops_s)) < 11;
    }
    return before;
}

/* The number stands beside what was measured, or else below the bound. */
static void put_point(const cli_roof *roof, const chart *c, size_t index, FILE *to)
{
    const cli_roof_point *p = &roof->points[index];
    const double x = at_x(c, p->at.intensity), y = at_y(c, p->at.bound_flops_s);
    const int before = crowd(roof, c, index);
    char number[24];
    snprintf(number, sizeof number, "%zu", index + 1);
    if (isfinite(p->measured_gflops)) {
        const double measured = at_y(c, p->measured_gflops * 1e9);
        svg_line(to, x, y, x, measured, "tie");
        svg_circle(to, x, measured, 4.5, "measured");
        svg_text(to, x + 8 + 13 * before, measured + 4, "start", "number", number);
    } else {
        svg_text(to, x + 8, y + 15 + 12 * before, "start", "number", number);
    }
    svg_circle(to, x, y, 4.5, "bound");
}

static void put_list(const cli_roof *roof, FILE *to)
{
    char text[160], a[32], rate[32], measured[32];
    const double x = LEFT + WIDTH + 26;
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        const double y = TOP + 10 + (double)i * LIST_STEP;
        snprintf(text, sizeof text, "%zu  %s, %" PRId64, i + 1, p->at.counters.instance, p->size);
        svg_text(to, x, y, "start", "name", text);
        int used = snprintf(text, sizeof text, "%s FLOP/B, bound %s", cli_intensity_text(a, p->at.intensity),
                            cli_rate_text(rate, p->at.bound_flops_s, "FLOP/s"));
        if (isfinite(p->measured_gflops))
            snprintf(text + used, sizeof text - (size_t)used, ", measured %s",
                     cli_rate_text(measured, p->measured_gflops * 1e9, "FLOP/s"));
        svg_text(to, x + 18, y + 15, "start", "soft", text);
    }
}

int cli_roofline_svg(const cli_roof *roof, FILE *to)
{
    static const char style[] =
        ".title{font:600 15px system-ui,sans-serif} .axis{font:13px system-ui,sans-serif} "
        ".grid{stroke:#e4e8ec} .roof{stroke:#1b1f24;stroke-width:2} "
        ".rooftext{font:600 12px system-ui,sans-serif} .ridge{stroke:#9aa3ad;stroke-dasharray:2 3} "
        ".ideal{stroke:#2c8a57;stroke-dasharray:6 4} .tie{stroke:#2f6fd6;stroke-opacity:.45} "
        ".bound{fill:#ffffff;stroke:#d9730d;stroke-width:2} .measured{fill:#2f6fd6} "
        ".number{font:600 11px system-ui,sans-serif} .name{font:12px ui-monospace,monospace}";
    const int is_wide = roof->dtype == TSR_F64;
    const double lanes = lab_gpu_peak_flops(roof->gpu, is_wide ? TSR_F64 : TSR_F32, TSR_COMPUTE_DEFAULT, 0);
    double tensor = 0;
    for (size_t i = 0; i < roof->count; i++)
        if (roof->points[i].at.counters.tensor_flops > 0)
            tensor = roof->points[i].at.peak_flops_s;
    const chart c = chart_of(roof, fmax(lanes, tensor));
    const double list = TOP + 10 + (double)roof->count * LIST_STEP;
    char text[200];
    svg_begin(to, LEFT + WIDTH + LIST + 30, fmax(TOP + HEIGHT + BOTTOM + 24, list), style);
    snprintf(text, sizeof text, "%s, %s", roof->gpu->name,
             roof->compute == TSR_COMPUTE_TF32 ? "f32 in tf32" : tsr_dtype_name(roof->dtype));
    svg_text(to, LEFT, 20, "start", "title", text);
    put_axes(&c, to);
    put_ideals(roof, &c, to);
    put_roof(roof, &c, fmax(lanes, tensor), tensor > lanes ? "tensor cores" : "multiply-add units", 1, to);
    if (tensor > lanes)
        put_roof(roof, &c, lanes, "multiply-add units", 0, to);
    for (size_t i = 0; i < roof->count; i++)
        put_point(roof, &c, i, to);
    put_list(roof, to);
    const double y = TOP + HEIGHT + BOTTOM + 8;
    svg_circle(to, LEFT + 6, y, 4.5, "bound");
    svg_text(to, LEFT + 16, y + 4, "start", "soft", "what DRAM allows for the bytes that threads load");
    int any_measured = 0;
    for (size_t i = 0; i < roof->count; i++)
        any_measured |= isfinite(roof->points[i].measured_gflops) != 0;
    if (any_measured) {
        svg_circle(to, LEFT + 330, y, 4.5, "measured");
        svg_text(to, LEFT + 340, y + 4, "start", "soft", "measured; above the roof, caches deliver");
    }
    svg_end(to);
    return 1;
}
