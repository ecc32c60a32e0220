/* How kernels that cut K deal out one problem over the SMs, and what that costs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/cost.h"
#include "plan/plan.h"

#define MAX_TILES 2147483647LL

enum {
    LEAST_STEPS = 8,                                /* of BK that a unit of stream-K makes */
    MAX_COUNTERS = TSR_WORKSPACE_COUNTER_BYTES / 4, /* one for each tile that is shared */
    MAX_PARTS = 64,
    MOST_CLUSTER = 8 /* CTAs, that every GPU with clusters allows */
};

static long long divide_up(long long value, long long by)
{
    return (value + by - 1) / by;
}

/* Tiles of the whole batch, or -1 if a kernel cannot count them in 32 bits. */
static long long count_tiles(const tsr_row *row, const tsr_problem *p)
{
    const double all = ceil((double)p->m / row->bm) * ceil((double)p->n / row->bn) * (double)p->batch;
    return all > 0.5 * MAX_TILES ? -1 : (long long)all;
}

static int countable(const tsr_row *row, const tsr_problem *p, char *reason, size_t reason_bytes)
{
    if (count_tiles(row, p) >= 0)
        return 1;
    snprintf(reason, reason_bytes, "D has more than 2^30 tiles of %d x %d in all", row->bm, row->bn);
    return 0;
}

/* ---- stream-k ---- */

/* `units` CTAs share the first `dealt` tiles, step by step; each other tile has a CTA of its own. */
typedef struct deal {
    long long units, dealt;
    double ns;
} deal;

/* FLOP per nanosecond of one SM that holds `ctas` CTAs. */
static double sm_rate(const tsr_row *row, const tsr_device *device, double ctas)
{
    const double warps = ctas * row->threads_x * row->threads_y / 32;
    return device->peak_flops_f32 * 1e-9 / device->cuda.sm_count * row->efficiency * tsr_cost_busy_share(warps);
}

/* The SM with most CTAs decides where tiles are whole. Units keep every SM equally busy; what they cost beside is
 * writing their sums and reading those of the others, by the last CTA of a tile. */
static double deal_ns(const tsr_row *row, const tsr_device *device, long long tiles, double steps, const deal *d)
{
    const double handover_ns = 6000, bytes_per_ns = 100; /* of an SM; measured on an H200, perf/LOG */
    const double sms = device->cuda.sm_count, slots = sms * row->sm_ctas;
    const double step_flops = 2.0 * row->bm * row->bn * row->bk;
    const double whole = (double)(tiles - d->dealt);
    if (d->dealt == 0) {
        const double per_sm = ceil(whole / sms);
        return per_sm * steps * step_flops / sm_rate(row, device, per_sm);
    }
    const double share = steps * (double)d->dealt / (double)d->units; /* steps of a unit */
    const double held = whole > 0 ? row->sm_ctas : fmin(ceil((double)d->units / sms), row->sm_ctas);
    const double parts = 1 + (double)d->units / (double)d->dealt;
    const double sums_ns = handover_ns + held * (1 + parts) * 4 * row->bm * row->bn / bytes_per_ns;
    const double rounds = ceil(whole / slots) * steps + share * fmax(1, (double)d->units / (held * sms));
    return rounds * held * step_flops / sm_rate(row, device, held) + sums_ns;
}

/* No deal at all; or the tiles that leave the last round short, with or without a whole round more; over as many units
 * as the device holds at once, a half or a quarter of them. */
static deal best_deal(const tsr_row *row, const tsr_problem *p, const tsr_device *device)
{
    const long long slots = (long long)device->cuda.sm_count * row->sm_ctas, tiles = count_tiles(row, p);
    const long long steps = divide_up(p->k, row->bk);
    deal best = {.units = 0, .dealt = 0};
    best.ns = deal_ns(row, device, tiles, (double)steps, &best);
    for (int more = 0; more < 2; more++) {
        const long long dealt = tiles % slots + (more ? slots : 0);
        if (dealt == 0 || dealt > tiles || dealt > MAX_COUNTERS || dealt * steps > UINT32_MAX)
            continue;
        for (long long units = slots; units >= slots / 4 && units > 0; units /= 2) {
            const long long most = dealt * steps / LEAST_STEPS;
            deal d = {.units = units < most ? units : most, .dealt = dealt};
            if (d.units < dealt || d.units > dealt * MAX_PARTS)
                continue;
            d.ns = deal_ns(row, device, tiles, (double)steps, &d);
            if (d.ns < best.ns)
                best = d;
        }
    }
    return best;
}

void tsr_work_stream_k(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out,
                       tsr_cost *cost)
{
    const double fill_ns = 1000;
    const long long tiles = count_tiles(row, problem);
    const deal d = best_deal(row, problem, device);
    /* Without a deal: one unit, whose share is one whole tile. */
    out->split = d.units > 0 ? (int)d.units : 1;
    out->grid = (tsr_grid){d.units + tiles - d.dealt, 1, 1};
    out->workspace_bytes = d.units == 0 ? 0
                                        : TSR_WORKSPACE_COUNTER_BYTES + (size_t)(d.units + d.dealt) * (size_t)row->bm *
                                                                            (size_t)row->bn * sizeof(float);
    tsr_cost_settle(row, problem, device, d.ns + fill_ns, cost);
    cost->ns += tsr_cost_uncovered_ns(problem, device, 1);
}

void tsr_cost_stream_k(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    tsr_work work;
    tsr_work_stream_k(row, problem, device, &work, out);
}

int tsr_stream_k_applicable(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, char *reason,
                            size_t reason_bytes)
{
    (void)device;
    return countable(row, problem, reason, reason_bytes);
}

/* ---- cluster-k ---- */

/* CTAs of one SM, in the end. The hardware spreads clusters as long as two CTAs on each of some 112 SMs suffice;
 * further ones lie as close together as an SM can hold. Measured on an H200, perf/LOG. */
static double busiest_sm(const tsr_row *row, const tsr_device *device, double tiles, int parts)
{
    const double sms = device->cuda.sm_count, ctas = tiles * parts;
    const double spread = floor(sms * 112 / 132), packed = floor(sms * 120 / 132) * row->sm_ctas;
    return ctas <= spread * 2 ? ceil(ctas / spread) : row->sm_ctas * ceil(ctas / packed);
}

/* CTAs that share a tile, and what that takes. They meet twice, once before they add and once before they end; each
 * reads its share of the tile from all. */
static int best_parts(const tsr_row *row, const tsr_problem *p, const tsr_device *device, double *best_ns)
{
    const double meet_ns = 1000, bytes_per_ns = 60; /* of an SM */
    const double tiles = (double)count_tiles(row, p);
    const long long steps = divide_up(p->k, row->bk);
    int best = 1;
    *best_ns = INFINITY;
    for (int parts = 1; parts <= MOST_CLUSTER && (parts == 1 || steps >= parts); parts++) {
        const double per_sm = busiest_sm(row, device, tiles, parts), held = fmin(per_sm, row->sm_ctas);
        const double flops = 2.0 * row->bm * row->bn * row->bk * (double)divide_up(steps, parts);
        const double adding_ns = parts > 1 ? meet_ns + per_sm * 4 * row->bm * row->bn / bytes_per_ns : 0;
        const double ns = (held > 0 ? per_sm * flops / sm_rate(row, device, held) : 0) + adding_ns;
        if (ns < *best_ns && tiles * parts <= MAX_TILES) {
            best = parts;
            *best_ns = ns;
        }
    }
    return best;
}

void tsr_work_cluster_k(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out,
                        tsr_cost *cost)
{
    const double fill_ns = 1500, alone_ns = 2000; /* the latter where the next grid does not begin early */
    const long long short_steps = 16;
    double ns;
    const int parts = best_parts(row, problem, device, &ns);
    const int is_alone = divide_up(problem->k, row->bk) > short_steps * parts;
    out->split = out->cluster = parts;
    out->grid = (tsr_grid){count_tiles(row, problem) * parts, 1, 1};
    tsr_cost_settle(row, problem, device, ns + fill_ns + (is_alone ? alone_ns : 0), cost);
    cost->ns += tsr_cost_uncovered_ns(problem, device, 1);
}

void tsr_cost_cluster_k(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    tsr_work work;
    tsr_work_cluster_k(row, problem, device, &work, out);
}

/* ---- thin ---- */

/* Parts of K: so many that the CTAs fill the device once, each with a panel of A at least. */
static long long thin_parts(const tsr_row *row, const tsr_problem *p, const tsr_device *device)
{
    const long long slots = (long long)device->cuda.sm_count * row->sm_ctas, tiles = count_tiles(row, p);
    const long long panels = divide_up(p->k, row->bk);
    if (tiles == 0 || tiles > MAX_COUNTERS || panels < 2)
        return 1;
    long long parts = slots / tiles;
    parts = parts < panels ? parts : panels;
    return parts < 1 ? 1 : parts < MAX_PARTS ? parts : MAX_PARTS;
}

void tsr_work_thin(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out,
                   tsr_cost *cost)
{
    const long long tiles = count_tiles(row, problem), parts = thin_parts(row, problem, device);
    out->split = (int)parts;
    out->grid = (tsr_grid){tiles * parts, 1, 1};
    out->workspace_bytes = parts == 1 ? 0
                                      : TSR_WORKSPACE_COUNTER_BYTES +
                                            (size_t)(tiles * parts) * (size_t)row->bm * (size_t)row->bn * sizeof(float);
    tsr_cost_thin(row, problem, device, cost);
}

/* B is read once for each tile row, from memory or, the second time, from L2. A CTA takes a while whatever it has to
 * do: measured on batches of small problems, perf/LOG. */
void tsr_cost_thin(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double fill_ns = 400, handover_ns = 2500, reach = 0.88; /* of the memory's peak */
    const double cta_ns = 1350, row_ns = 280;                     /* of a CTA's life */
    const double step_ns = 8, step_row_ns = 4.2; /* one row of B for each row of the tile: a chain of loads */
    const double k = (double)problem->k, sms = device->cuda.sm_count;
    const double parts = (double)thin_parts(row, problem, device), ctas = (double)count_tiles(row, problem) * parts;
    const double steps = ceil(k / parts);
    const double per_sm = ceil(ctas / sms), held = fmin(per_sm, row->sm_ctas);
    const double flops_ns = 2.0 * row->bm * row->bn * steps * per_sm / sm_rate(row, device, held);
    const double chain_ns = steps * (step_ns + step_row_ns * row->bm) * ceil(per_sm / fmax(1, held));
    const double life_ns = per_sm * (cta_ns + row_ns * row->bm);
    const double bytes = 4 * k * (double)problem->n * (double)problem->batch * ceil((double)problem->m / row->bm);
    const double bytes_ns = bytes / (reach * device->memory_bytes_per_s) * 1e9;
    tsr_cost_settle(row, problem, device,
                    fill_ns + (parts > 1 ? handover_ns : 0) + fmax(fmax(chain_ns, life_ns), fmax(flops_ns, bytes_ns)),
                    out);
}

int tsr_thin_turned_applicable(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, char *reason,
                               size_t reason_bytes)
{
    (void)device;
    if (problem->b.trans == TSR_N) {
        snprintf(reason, reason_bytes, "B is not transposed");
        return 0;
    }
    return countable(row, problem, reason, reason_bytes);
}

int tsr_thin_applicable(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, char *reason,
                        size_t reason_bytes)
{
    (void)device;
    if (problem->b.trans != TSR_N) {
        snprintf(reason, reason_bytes, "B is transposed");
        return 0;
    }
    return countable(row, problem, reason, reason_bytes);
}
