/* The ladder as a picture: for each device and size one panel, a bar for each rung, a line for the peer, the peak at
 * the right edge. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_ladder.h"
#include "cli/output.h"
#include "cli/svg.h"

enum { LABEL = 130, CHART = 470, RIGHT = 270, BAR = 18, STEP = 25, HEAD = 62, FOOT = 30, LEFT = 18, TOP = 12 };
/* Right ends of the columns of numbers, from the chart's right edge. */
enum { RATE = 110, OF_PEAK = 175, BELOW = 250 };
enum { SEEN = 12 }; /* times the longest bar */

/* One device and size of a ladder. */
typedef struct panel {
    const lab_ladder *ladder;
    const char *device;
    size_t size;
    size_t rungs; /* that were measured */
} panel;

static int is_in(const panel *p, size_t rung)
{
    return p->ladder->cells[rung][p->size] && strcmp(p->ladder->rungs[rung].device, p->device) == 0;
}

static double fastest(const panel *p)
{
    double most = 0;
    for (size_t r = 0; r < p->ladder->rung_count; r++)
        if (is_in(p, r) && p->ladder->cells[r][p->size]->gflops > most)
            most = p->ladder->cells[r][p->size]->gflops;
    return most;
}

static const char *rate_text(char out[32], double gflops)
{
    return cli_rate_text(out, gflops * 1e9, "FLOP/s");
}

static void put_bar(const panel *p, size_t rung, double y, double scale, double peak, FILE *to)
{
    const lab_record *record = p->ladder->cells[rung][p->size];
    char rate[32], text[80];
    const double width = record->gflops * scale, line = y + BAR * 0.72;
    const double below = lab_ladder_speedup(p->ladder, rung, p->size, LAB_OVER_BELOW);
    svg_text(to, LEFT + LABEL - 8, line, "end", "name", p->ladder->rungs[rung].kernel);
    svg_rect(to, LEFT + LABEL, y, width > 2 ? width : 2, BAR, p->ladder->rungs[rung].is_cuda ? "gpu" : "cpu");
    svg_text(to, LEFT + LABEL + CHART + RATE, line, "end", "value", rate_text(rate, record->gflops));
    if (isfinite(peak)) {
        const double share = 100 * record->gflops / peak;
        snprintf(text, sizeof text, share < 0.1 ? "%.1g%%" : "%.1f%%", share);
        svg_text(to, LEFT + LABEL + CHART + OF_PEAK, line, "end", "value", text);
    }
    if (isfinite(below)) {
        snprintf(text, sizeof text, "%.2fx", below);
        svg_text(to, LEFT + LABEL + CHART + BELOW, line, "end", "value", text);
    }
}

static void put_heads(double y, FILE *to)
{
    svg_text(to, LEFT + LABEL + CHART + OF_PEAK, y, "end", "soft", "of peak");
    svg_text(to, LEFT + LABEL + CHART + BELOW, y, "end", "soft", "over below");
}

static double put_panel(const panel *p, double y, FILE *to)
{
    const char *peer_name = "";
    const double peak = lab_ladder_peak_gflops(p->ladder, p->device);
    const double peer = lab_ladder_peer_gflops(p->ladder, p->device, p->size, &peer_name);
    double most = fastest(p);
    most = isfinite(peer) && peer > most ? peer : most;
    /* The peak ends the axis where bars would still be seen; else the longest of them does. */
    const int with_peak = isfinite(peak) && peak <= SEEN * most;
    const double full = with_peak && peak > most ? peak : most, scale = CHART / full;
    const lab_shape shape = p->ladder->sizes[p->size];
    const double bottom = y + HEAD + (double)p->rungs * STEP;
    char text[300], rate[32];
    const int used = snprintf(text, sizeof text, "%" PRId64 " x %" PRId64 " x %" PRId64 ", %s %s", shape.m, shape.n,
                              shape.k, p->ladder->dtype, p->ladder->layout);
    if (shape.batch > 1)
        snprintf(text + used, sizeof text - (size_t)used, ", batch of %" PRId64, shape.batch);
    svg_text(to, LEFT, y + 18, "start", "title", text);
    svg_text(to, LEFT, y + 35, "start", "soft", p->device);
    if (isfinite(peak) && !with_peak) {
        snprintf(text, sizeof text, "peak %s, beyond the axis", rate_text(rate, peak));
        svg_text(to, LEFT + LABEL + CHART, y + HEAD - 13, "end", "soft", text);
    } else if (with_peak) {
        svg_line(to, LEFT + LABEL + peak * scale, y + HEAD - 8, LEFT + LABEL + peak * scale, bottom, "peak");
        snprintf(text, sizeof text, "peak %s", rate_text(rate, peak));
        svg_text(to, LEFT + LABEL + peak * scale, y + HEAD - 13, "middle", "soft", text);
    }
    put_heads(y + HEAD - 13, to);
    for (size_t r = 0, bar = 0; r < p->ladder->rung_count; r++)
        if (is_in(p, r))
            put_bar(p, r, y + HEAD + (double)bar++ * STEP, scale, peak, to);
    if (isfinite(peer)) {
        svg_line(to, LEFT + LABEL + peer * scale, y + HEAD - 4, LEFT + LABEL + peer * scale, bottom + 4, "peer");
        snprintf(text, sizeof text, "%.60s: %s", peer_name, rate_text(rate, peer));
        svg_text(to, LEFT + LABEL + peer * scale, bottom + 16, "middle", "peertext", text);
    } else {
        svg_text(to, LEFT + LABEL, bottom + 16, "start", "soft", "no peer was measured");
    }
    return bottom + FOOT;
}

/* Panels of a ladder: sizes, and devices within; calls put_panel for each if `to` is given. Returns the y below. */
static double put_ladder(const lab_ladder *ladder, double y, FILE *to)
{
    for (size_t s = 0; s < ladder->size_count; s++)
        for (size_t r = 0; r < ladder->rung_count; r++) {
            panel p = {ladder, ladder->rungs[r].device, s, 0};
            if (r > 0 && strcmp(ladder->rungs[r - 1].device, p.device) == 0)
                continue;
            for (size_t i = 0; i < ladder->rung_count; i++)
                p.rungs += is_in(&p, i) ? 1 : 0;
            if (p.rungs == 0)
                continue;
            y = to ? put_panel(&p, y, to) : y + HEAD + (double)p.rungs * STEP + FOOT;
        }
    return y;
}

static double put_all(const lab_record *records, size_t count, lab_ladder *ladder, FILE *to)
{
    double y = TOP;
    for (size_t i = 0; i < count; i++)
        if (lab_ladder_is_new(records, i)) {
            lab_ladder_make(records, count, i, ladder);
            y = put_ladder(ladder, y, to);
        }
    return y;
}

int cli_ladder_draw(const lab_record *records, size_t count, FILE *to)
{
    static const char style[] = ".name{font:13px ui-monospace,monospace} .value{font:12px system-ui,sans-serif} "
                                ".title{font:600 15px system-ui,sans-serif} .gpu{fill:#2f6fd6} "
                                ".cpu{fill:#7a8794} .peak{stroke:#1b1f24;stroke-width:1.5} "
                                ".peer{stroke:#d9730d;stroke-width:2;stroke-dasharray:5 3} "
                                ".peertext{font:12px system-ui,sans-serif;fill:#b35c05}";
    lab_ladder *ladder = malloc(sizeof *ladder);
    if (!ladder)
        return 0;
    svg_begin(to, LEFT + LABEL + CHART + RIGHT, put_all(records, count, ladder, NULL) + 6, style);
    put_all(records, count, ladder, to);
    svg_end(to);
    free(ladder);
    return 1;
}
