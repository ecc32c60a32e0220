/* `tessera bench --compare`: the lines of an old result, measured again. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/bench.h"
#include "cli/interrupt.h"
#include "lab/bench/verdict.h"
#include "lab/common/stats.h"

/* One line of the old file: what came of it. */
typedef struct line_outcome {
    lab_record now;
    lab_comparison comparison;
    char reason[200]; /* why there is no comparison, "" if there is */
    int done;
} line_outcome;

typedef struct comparing {
    cli_bench_session *common;
    cli_bench_devices devices;
    lab_records old;
    line_outcome *outcomes; /* one for each old line */
} comparing;

/* ---- reading what a line says ---- */

static int trans_of(char letter)
{
    return letter == 't' ? 1 : letter == 'n' ? 0 : -1;
}

/* Peers as --vs has them, by the first word of their version lines. */
static unsigned peers_of(const lab_records *old)
{
    static const char *const titles[CLI_BENCH_PEERS] = {"cuBLAS", "cuSPARSELt", "OpenBLAS", "BLIS", "oneDNN", "memory"};
    unsigned peers = 0;
    for (size_t i = 0; i < old->count; i++)
        for (int p = 0; p < CLI_BENCH_PEERS; p++)
            if (strncmp(old->items[i].peer, titles[p], strlen(titles[p])) == 0)
                peers |= 1u << p;
    return peers;
}

static lab_bench *bench_of(comparing *c, const lab_record *old)
{
    for (size_t i = 0; i < c->devices.count; i++)
        if (strcmp(c->devices.items[i].label, old->device) == 0)
            return &c->devices.items[i];
    return NULL;
}

/* ---- measuring ---- */

static int same_cell(const lab_record *a, const lab_record *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->dtype, b->dtype) == 0 && strcmp(a->layout, b->layout) == 0 &&
           a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch && strcmp(a->scales, b->scales) == 0 &&
           strcmp(a->out_dtype, b->out_dtype) == 0;
}

static const lab_rival *rival_of(const lab_cell *cell, const lab_record *old)
{
    for (size_t i = 0; i < cell->rival_count; i++)
        if (cell->rivals[i].reason[0] == '\0' && strcmp(cell->rivals[i].peer->version, old->peer) == 0)
            return &cell->rivals[i];
    return NULL;
}

/* The entry that runs an old line's kernel, one more if there is none yet. */
static lab_entry *entry_for(lab_entry *entries, size_t *count, const char *kernel)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(entries[i].kernel, kernel) == 0)
            return &entries[i];
    entries[*count].kernel = kernel;
    return &entries[(*count)++];
}

static void settle(comparing *c, const lab_bench *bench, const lab_cell *cell, size_t line, const lab_entry *entry)
{
    const lab_bench_options *options = &c->common->options;
    const lab_record *old = &c->old.items[line];
    line_outcome *outcome = &c->outcomes[line];
    const lab_baseline none = {(double)NAN, 0};
    outcome->done = 1;
    if (entry->timing.rounds == 0) {
        snprintf(outcome->reason, sizeof outcome->reason, "%s", entry->reason[0] ? entry->reason : "interrupted");
        return;
    }
    outcome->now = lab_cell_record(bench, cell, entry, rival_of(cell, old), &none, options);
    lab_interval time_us = lab_median_interval(entry->timing.round_ns, entry->timing.rounds, options->seed);
    time_us.lo *= 1e-3;
    time_us.mid *= 1e-3;
    time_us.hi *= 1e-3;
    outcome->comparison = lab_compare(old, &outcome->now, time_us, options->rounds);
}

/* Measures all lines of the cell that `first` is in. */
static int measure_cell(comparing *c, lab_bench *bench, size_t first, lab_cell *cell)
{
    const lab_record *of = &c->old.items[first];
    lab_entry *entries = calloc(c->old.count - first, sizeof *entries);
    if (entries == NULL)
        return cli_failure(c->common->self, "no memory for %zu lines", c->old.count);
    cell->entries = entries;
    cell->entry_count = 0;
    for (size_t i = first; i < c->old.count; i++)
        if (same_cell(of, &c->old.items[i]))
            entry_for(entries, &cell->entry_count, c->old.items[i].kernel);
    cli_progress_say(c->common->progress, "%s %s %" PRId64 " x %" PRId64 " x %" PRId64 " on %s", of->dtype, of->layout,
                     of->m, of->n, of->k, bench->device.id);
    const tsr_status status = lab_cell_measure(bench, cell, &c->common->options);
    for (size_t i = first; i < c->old.count; i++)
        if (same_cell(of, &c->old.items[i])) {
            if (status == TSR_OK)
                settle(c, bench, cell, i, entry_for(entries, &cell->entry_count, c->old.items[i].kernel));
            else
                snprintf(c->outcomes[i].reason, sizeof c->outcomes[i].reason, "%.199s", tsr_last_error());
            c->outcomes[i].done = 1;
        }
    lab_cell_clear(cell);
    free(entries);
    return CLI_CONTINUE;
}

static int measure_line(comparing *c, size_t line)
{
    const lab_record *old = &c->old.items[line];
    line_outcome *outcome = &c->outcomes[line];
    lab_bench *bench = bench_of(c, old);
    lab_cell cell;
    memset(&cell, 0, sizeof cell);
    cell.shape = (lab_shape){old->m, old->n, old->k, old->batch};
    cell.trans_a = trans_of(old->layout[0]);
    cell.trans_b = cell.trans_a >= 0 ? trans_of(old->layout[1]) : -1;
    if (!lab_types_named(old->dtype, old->out_dtype, &cell.types) || cell.trans_b < 0)
        snprintf(outcome->reason, sizeof outcome->reason, "unknown type %s %s", old->dtype, old->layout);
    else if (!lab_scales_named(old->scales, &cell.scales))
        snprintf(outcome->reason, sizeof outcome->reason, "unknown scales %s", old->scales);
    else if (bench == NULL)
        snprintf(outcome->reason, sizeof outcome->reason, "was measured on %s", old->device);
    else
        return measure_cell(c, bench, line, &cell);
    outcome->done = 1;
    return CLI_CONTINUE;
}

/* ---- printing ---- */

/* An interval needs some rounds; without one "-" stands for it. */
static void put_speed(char *out, size_t bytes, const lab_interval *speed)
{
    if (isfinite(speed->lo) && isfinite(speed->hi))
        snprintf(out, bytes, "%.3f [%.3f, %.3f]", speed->mid, speed->lo, speed->hi);
    else if (isfinite(speed->mid))
        snprintf(out, bytes, "%.3f [-]", speed->mid);
    else
        snprintf(out, bytes, "-");
}

static void print_table(const comparing *c)
{
    char old_time[32], new_time[32];
    cli_table table;
    cli_table_begin(&table, "lLrrrrl", "kernel", "type", "M x N x K", "before", "now", "now/before [95%]", "verdict");
    for (size_t i = 0; i < c->old.count; i++) {
        const lab_record *old = &c->old.items[i];
        const line_outcome *o = &c->outcomes[i];
        if (!o->done)
            continue;
        const int compared = o->reason[0] == '\0';
        char shape[80], speed[64];
        put_speed(speed, sizeof speed, &o->comparison.speed);
        lab_shape_text((lab_shape){old->m, old->n, old->k, old->batch}, shape, sizeof shape);
        cli_table_row(&table, old->kernel, CLI_CELL("%s %s", old->dtype, old->layout), shape,
                      cli_time_text(old_time, old->time_us * 1e3),
                      compared ? cli_time_text(new_time, o->now.time_us * 1e3) : "-", compared ? speed : "-",
                      compared
                          ? CLI_CELL("%s%s%s", lab_verdict_text(o->comparison.verdict),
                                     o->comparison.by_peer ? ", against " : "", o->comparison.by_peer ? old->peer : "")
                          : CLI_CELL("not compared: %s", o->reason));
    }
    cli_table_end(&table, stdout, 0);
}

static void print_json(const comparing *c)
{
    for (size_t i = 0; i < c->old.count; i++) {
        const lab_record *old = &c->old.items[i];
        const line_outcome *o = &c->outcomes[i];
        if (!o->done)
            continue;
        const int compared = o->reason[0] == '\0';
        cli_json json = cli_json_begin(stdout);
        cli_json_text(&json, "kernel", old->kernel);
        cli_json_text(&json, "device", old->device);
        cli_json_text(&json, "dtype", old->dtype);
        cli_json_text(&json, "layout", old->layout);
        cli_json_int(&json, "m", old->m);
        cli_json_int(&json, "n", old->n);
        cli_json_int(&json, "k", old->k);
        cli_json_number(&json, "old_time_us", old->time_us);
        cli_json_number(&json, "time_us", compared ? o->now.time_us : (double)NAN);
        cli_json_text(&json, "peer", compared && o->comparison.by_peer ? old->peer : NULL);
        cli_json_number(&json, "speed", compared ? o->comparison.speed.mid : (double)NAN);
        cli_json_number(&json, "speed_lo", compared ? o->comparison.speed.lo : (double)NAN);
        cli_json_number(&json, "speed_hi", compared ? o->comparison.speed.hi : (double)NAN);
        cli_json_text(&json, "verdict", compared ? lab_verdict_text(o->comparison.verdict) : "not compared");
        cli_json_text(&json, "reason", compared ? NULL : o->reason);
        cli_json_end(&json);
    }
}

/* The old times' intervals follow from their rounds. */
static void tell_rounds_taken(const comparing *c)
{
    size_t taken = 0;
    for (size_t i = 0; i < c->old.count; i++) {
        const line_outcome *o = &c->outcomes[i];
        taken += o->done && o->reason[0] == '\0' && !o->comparison.by_peer && c->old.items[i].rounds == 0;
    }
    if (taken > 0)
        cli_warning(c->common->self, "%s: %zu of %zu lines do not say of how many rounds they are; taken for %zu",
                    c->common->set->compare, taken, c->old.count, c->common->options.rounds);
}

/* 1 if a line was found slower; also if not a single one could be compared. */
static int conclude(const comparing *c)
{
    size_t counts[4] = {0, 0, 0, 0}, compared = 0;
    for (size_t i = 0; i < c->old.count; i++)
        if (c->outcomes[i].done && c->outcomes[i].reason[0] == '\0') {
            counts[c->outcomes[i].comparison.verdict]++;
            compared++;
        }
    if (c->common->set->format == LAB_TABLE)
        printf("\n%zu faster, %zu slower, %zu same, %zu undecided, %zu not compared\n", counts[LAB_FASTER],
               counts[LAB_SLOWER], counts[LAB_SAME], counts[LAB_UNDECIDED], c->old.count - compared);
    return counts[LAB_SLOWER] > 0 || compared == 0 ? CLI_FAILED : CLI_OK;
}

static int check_settings(const cli_bench_session *session)
{
    const cli_bench_settings *set = session->set;
    if (set->kernels.count || set->sizes || set->shapes || set->dtypes.count || set->layouts.count || set->peers ||
        set->instances || set->out || set->types.b || set->types.d || set->types.compute || set->scales ||
        set->random || set->replay || set->batch > 1 || set->epilogue || set->beta != 0 || set->batch_invariant ||
        set->sparse >= 0)
        return cli_usage_error(session->self, "--compare measures what the old file names: only --device, --threads, "
                                              "--rounds and --format go with it");
    if (set->format != LAB_TABLE && set->format != LAB_JSON)
        return cli_usage_error(session->self, "--compare prints a table or JSON lines");
    return CLI_CONTINUE;
}

static int compare_all(comparing *c)
{
    int code = CLI_CONTINUE;
    for (size_t i = 0; i < c->old.count && code == CLI_CONTINUE && !cli_interrupted(); i++)
        if (!c->outcomes[i].done)
            code = measure_line(c, i);
    cli_progress_clear(c->common->progress);
    if (code != CLI_CONTINUE)
        return code;
    tell_rounds_taken(c);
    if (c->common->set->format == LAB_JSON)
        print_json(c);
    else
        print_table(c);
    code = conclude(c);
    return cli_interrupted() ? cli_failure(c->common->self, "interrupted") : code;
}

int cli_bench_compare(cli_bench_session *session)
{
    comparing c = {.common = session};
    int code = check_settings(session);
    if (code != CLI_CONTINUE)
        return code;
    if (lab_records_read(session->set->compare, &c.old) != TSR_OK)
        return cli_api_failure(session->self);
    c.outcomes = calloc(c.old.count + 1, sizeof *c.outcomes);
    if (c.old.count == 0 || c.outcomes == NULL)
        code = cli_failure(session->self, "%s: %s", session->set->compare,
                           c.outcomes == NULL ? "no memory to compare it" : "holds no results");
    if (code == CLI_CONTINUE)
        code = cli_bench_open(session, peers_of(&c.old), &c.devices);
    if (code == CLI_CONTINUE)
        code = compare_all(&c);
    cli_bench_close(&c.devices);
    free(c.outcomes);
    lab_records_free(&c.old);
    return code;
}
