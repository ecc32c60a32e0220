/* The roofline as a picture, both axes logarithmic. Points have numbers, which the list beside the chart explains. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/roofline.h"
#include "cli/svg.h"

enum { LEFT = 64, TOP = 46, WIDTH = 520, HEIGHT = 420, BOTTOM = 74, LIST = 450, LIST_STEP = 34 };

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
        widen(&c, p->at.intensity, p->at.uncached_flops_s);
        widen(&c, p->at.intensity, p->at.bound_flops_s);
        widen(&c, p->at.intensity_ideal, peak);
        if (isfinite(p->measured_gflops))
            widen(&c, p->at.intensity, p->measured_gflops * 1e9);
    }
    return c;
}

static void put_axes(const chart *c, FILE *to)
{
    enum { FEW_POWERS = 10 };
    char text[32];
    for (int power = (int)c->x0; power <= (int)c->x1; power++) {
        const double x = power;
        const double px = at_x(c, exp2(x));
        svg_line(to, px, TOP, px, TOP + HEIGHT, "grid");
        if (x < 0)
            snprintf(text, sizeof text, "1/%.0f", exp2(-x));
        else
            snprintf(text, sizeof text, "%.0f", exp2(x));
        if (c->x1 - c->x0 <= FEW_POWERS || power % 2 == 0)
            svg_text(to, px, TOP + HEIGHT + 18, "middle", "soft", text);
    }
    for (int power = (int)c->y0; power <= (int)c->y1; power++) {
        const double y = power;
        const double py = at_y(c, pow(10, y));
        svg_line(to, LEFT, py, LEFT + WIDTH, py, "grid");
        const double in_giga = pow(10, y - 9);
        snprintf(text, sizeof text,
                 in_giga < 1e3   ? "%g G"
                 : in_giga < 1e6 ? "%g T"
                                 : "%g P",
                 in_giga / (in_giga < 1e3   ? 1
                            : in_giga < 1e6 ? 1e3
                                            : 1e6));
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
    svg_text(to, at_x(c, ridge) - 4, TOP + HEIGHT - 6, "end", "ridgetext", text);
}

/* Where A, B and D go by once each: for each size one line, with its values above it; the legend says what they are.
 * Where neighbours are near, their numbers go one above the other. */
static void put_ideals(const cli_roof *roof, const chart *c, FILE *to)
{
    enum { NEAR = 64, LINES = 2, LINE_HEIGHT = 13 };
    char text[80], value[32];
    double last[LINES] = {-1e9, -1e9};
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        int is_first = 1, line = 0;
        for (size_t j = 0; j < i; j++)
            is_first &= roof->points[j].size != p->size;
        if (!is_first)
            continue;
        const double x = at_x(c, p->at.intensity_ideal);
        svg_line(to, x, TOP, x, TOP + HEIGHT, "ideal");
        while (line < LINES - 1 && fabs(x - last[line]) < NEAR)
            line++;
        last[line] = x;
        snprintf(text, sizeof text, "%" PRId64 ": %s", p->size, cli_intensity_text(value, p->at.intensity_ideal));
        svg_text(to, x, TOP - 6 - LINE_HEIGHT * line, "middle", "idealtext", text);
    }
}

/* ---- points and their numbers ------------------------------------------------------------------------------------ */

enum { NUMBER_HEIGHT = 12, DIGIT_WIDTH = 7, RADIUS = 5, SPOTS = 9, SLOPE_BOXES = 60 };

typedef struct box {
    double x0, y0, x1, y1;
} box;

/* What numbers must keep clear of. */
typedef struct layout {
    box *taken;
    size_t count;
} layout;

static double mark_x(const chart *c, const cli_roof_point *p)
{
    return at_x(c, p->at.intensity);
}

/* The mark that carries the number: what was measured, or else the bound without caches. */
static double mark_y(const chart *c, const cli_roof_point *p)
{
    return at_y(c, isfinite(p->measured_gflops) ? p->measured_gflops * 1e9 : p->at.uncached_flops_s);
}

static double overlap(const box *a, const box *b)
{
    const double width = fmin(a->x1, b->x1) - fmax(a->x0, b->x0), height = fmin(a->y1, b->y1) - fmax(a->y0, b->y0);
    return width > 0 && height > 0 ? width * height : 0;
}

static void take(layout *l, double x, double y, double half_width, double half_height)
{
    l->taken[l->count++] = (box){x - half_width, y - half_height, x + half_width, y + half_height};
}

/* All marks whose places are the same, as far as one can see, have one label: "3, 5". 0 if an earlier mark has it. */
static int label_of(const cli_roof *roof, const chart *c, size_t index, char out[80])
{
    enum { NEAR = 4 };
    const double x = mark_x(c, &roof->points[index]), y = mark_y(c, &roof->points[index]);
    size_t used = 0;
    for (size_t i = 0; i < roof->count; i++) {
        if (fabs(mark_x(c, &roof->points[i]) - x) > NEAR || fabs(mark_y(c, &roof->points[i]) - y) > NEAR)
            continue;
        if (i < index)
            return 0;
        used += (size_t)snprintf(out + used, 80 - used, "%s%zu", used ? ", " : "", i + 1);
        used = used < 79 ? used : 79;
    }
    return 1;
}

/* Beside the mark where it is free: right, left, obliquely, further right, straight below or above. */
static void put_number(const char *label, double x, double y, layout *l, FILE *to)
{
    const double width = DIGIT_WIDTH * (double)strlen(label), half = NUMBER_HEIGHT / 2.0;
    const double spots[SPOTS][2] = {{9 + width / 2, 0},
                                    {-9 - width / 2, 0},
                                    {9 + width / 2, 12},
                                    {9 + width / 2, -12},
                                    {-9 - width / 2, -12},
                                    {-9 - width / 2, 12},
                                    {26 + width / 2, 0},
                                    {0, 16},
                                    {0, -14}};
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < SPOTS; i++) {
        const double at = x + spots[i][0], level = y + spots[i][1];
        const box spot = {at - width / 2, level - half, at + width / 2, level + half};
        double covered = 0;
        for (size_t j = 0; j < l->count; j++)
            covered += overlap(&spot, &l->taken[j]);
        if (covered < least) {
            least = covered;
            best = i;
        }
    }
    const double at = x + spots[best][0], level = y + spots[best][1];
    if (fabs(spots[best][0]) > width / 2 + 9 || (spots[best][0] != 0 && spots[best][1] != 0))
        svg_line(to, x, y, at - (spots[best][0] > 0 ? width / 2 : -width / 2), level, "lead");
    svg_text(to, at, level + 4, "middle", "number", label);
    take(l, at, level, width / 2, half);
}

static void put_marks(const cli_roof_point *p, const chart *c, FILE *to)
{
    const double x = mark_x(c, p), uncached = at_y(c, p->at.uncached_flops_s), bound = at_y(c, p->at.bound_flops_s);
    svg_line(to, x, uncached, x, isfinite(p->measured_gflops) ? fmin(mark_y(c, p), bound) : bound, "tie");
    svg_line(to, x - 8, bound, x + 8, bound, "cap");
    svg_circle(to, x, uncached, 4.5, "bound");
    if (isfinite(p->measured_gflops))
        svg_circle(to, x, mark_y(c, p), 4.5, "measured");
}

/* The highest roof, its ridge and what is written on it. */
static void take_roof(const cli_roof *roof, const chart *c, double peak, layout *l)
{
    enum { LABEL_WIDTH = 220 };
    const double ridge = at_x(c, peak / roof->gpu->memory_bytes_per_s), end = LEFT + WIDTH, top = at_y(c, peak);
    const double slope = (at_y(c, 1e10) - at_y(c, 1e12)) / (at_x(c, 100) - at_x(c, 1));
    take(l, (ridge + end) / 2, top, (end - ridge) / 2, 2);
    take(l, end - LABEL_WIDTH / 2.0, top - 11, LABEL_WIDTH / 2.0, 6);
    take(l, ridge, (top + TOP + HEIGHT) / 2.0, 1, (TOP + HEIGHT - top) / 2);
    for (int i = 0; i < SLOPE_BOXES; i++) {
        const double x = ridge - (ridge - LEFT) * i / SLOPE_BOXES;
        take(l, x, top + (ridge - x) * slope, (ridge - LEFT) / SLOPE_BOXES / 2, 3);
    }
}

/* 0 if memory ran out. */
static int put_points(const cli_roof *roof, const chart *c, double peak, FILE *to)
{
    enum { BOXES = 4, ROOF_BOXES = 3 + SLOPE_BOXES }; /* of a point, with its number; of the roof */
    layout l = {.taken = calloc(roof->count * BOXES + ROOF_BOXES, sizeof *l.taken)};
    if (!l.taken)
        return 0;
    take_roof(roof, c, peak, &l);
    for (size_t i = 0; i < roof->count; i++) {
        const cli_roof_point *p = &roof->points[i];
        put_marks(p, c, to);
        take(&l, mark_x(c, p), mark_y(c, p), RADIUS, RADIUS);
        take(&l, mark_x(c, p), at_y(c, p->at.uncached_flops_s), RADIUS, RADIUS);
        take(&l, mark_x(c, p), at_y(c, p->at.bound_flops_s), 8, 2);
    }
    for (size_t i = 0; i < roof->count; i++) {
        char label[80];
        if (label_of(roof, c, i, label))
            put_number(label, mark_x(c, &roof->points[i]), mark_y(c, &roof->points[i]), &l, to);
    }
    free(l.taken);
    return 1;
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
        int used = snprintf(text, sizeof text, "%s FLOP/B, bound %s by %s", cli_intensity_text(a, p->at.intensity),
                            cli_rate_text(rate, p->at.bound_flops_s, "FLOP/s"), lab_roof_names[p->at.bounds.by]);
        if (isfinite(p->measured_gflops))
            snprintf(text + used, sizeof text - (size_t)used, ", measured %s",
                     cli_rate_text(measured, p->measured_gflops * 1e9, "FLOP/s"));
        svg_text(to, x + 18, y + 15, "start", "soft", text);
    }
}

static void put_legend(const cli_roof *roof, FILE *to)
{
    const double y = TOP + HEIGHT + BOTTOM - 8, below = y + 20;
    int any_measured = 0;
    for (size_t i = 0; i < roof->count; i++)
        any_measured |= isfinite(roof->points[i].measured_gflops) != 0;
    svg_circle(to, LEFT + 6, y, 4.5, "bound");
    svg_text(to, LEFT + 16, y + 4, "start", "soft", "if each load came from DRAM");
    svg_line(to, LEFT + 240, y, LEFT + 256, y, "cap");
    svg_text(to, LEFT + 262, y + 4, "start", "soft", "bound, caches at their best");
    svg_line(to, LEFT, below, LEFT + 12, below, "ideal");
    svg_text(to, LEFT + 16, below + 4, "start", "soft", "a size, with A, B and C moved once");
    if (!any_measured)
        return;
    svg_circle(to, LEFT + 248, below, 4.5, "measured");
    svg_text(to, LEFT + 262, below + 4, "start", "soft", "measured");
}

int cli_roofline_svg(const cli_roof *roof, FILE *to)
{
    static const char style[] =
        ".title{font:600 15px system-ui,sans-serif} .axis{font:13px system-ui,sans-serif} "
        ".grid{stroke:#e4e8ec} .roof{stroke:#1b1f24;stroke-width:2} "
        ".rooftext{font:600 12px system-ui,sans-serif;paint-order:stroke;stroke:#ffffff;stroke-width:3px} "
        ".ridge{stroke:#9aa3ad;stroke-dasharray:2 3} "
        ".ridgetext{font:12px system-ui,sans-serif;fill:#5f6973;paint-order:stroke;stroke:#ffffff;stroke-width:3px} "
        ".idealtext{font:12px system-ui,sans-serif;fill:#2c8a57} "
        ".ideal{stroke:#2c8a57;stroke-dasharray:6 4} .tie{stroke:#2f6fd6;stroke-opacity:.45} "
        ".cap{stroke:#d9730d;stroke-width:3} .lead{stroke:#9aa3ad} "
        ".bound{fill:#ffffff;stroke:#d9730d;stroke-width:2} .measured{fill:#2f6fd6} "
        ".number{font:600 11px system-ui,sans-serif;paint-order:stroke;stroke:#ffffff;stroke-width:3px} "
        ".name{font:12px ui-monospace,monospace}";
    const int is_wide = roof->types.a == TSR_F64;
    const double lanes = lab_gpu_peak_flops(roof->gpu, is_wide ? TSR_F64 : TSR_F32, TSR_COMPUTE_DEFAULT, 0);
    double tensor = 0;
    for (size_t i = 0; i < roof->count; i++)
        if (roof->points[i].at.counters.tensor_flops > 0)
            tensor = fmax(tensor, roof->points[i].at.peak_flops_s);
    const chart c = chart_of(roof, fmax(lanes, tensor));
    const double list = TOP + 10 + (double)roof->count * LIST_STEP;
    char text[200], types[LAB_TYPES_TEXT];
    svg_begin(to, LEFT + WIDTH + LIST + 30, fmax(TOP + HEIGHT + BOTTOM + 24, list), style);
    snprintf(text, sizeof text, "%s, %s", roof->gpu->name,
             roof->types.compute == TSR_COMPUTE_TF32 ? "f32 in tf32" : lab_types_pair(&roof->types, types));
    svg_text(to, LEFT, 20, "start", "title", text);
    put_axes(&c, to);
    put_ideals(roof, &c, to);
    put_roof(roof, &c, fmax(lanes, tensor),
             tensor <= lanes   ? "multiply-add units"
             : roof->is_sparse ? "tensor cores, an operand compressed 2:4,"
                               : "tensor cores",
             1, to);
    if (tensor > lanes)
        put_roof(roof, &c, lanes, "multiply-add units", 0, to);
    const int whole = put_points(roof, &c, fmax(lanes, tensor), to);
    put_list(roof, to);
    put_legend(roof, to);
    svg_end(to);
    return whole;
}
