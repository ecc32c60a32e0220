/* `tessera bench`: the problems one after the other, each on every device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/bench.h"
#include "cli/interrupt.h"
#include "cli/out_file.h"
#include "cli/types.h"
#include "lab/bench/baseline.h"
#include "lab/bench/report.h"
#include "lab/common/shapes.h"
#include "lab/common/stats.h"

enum { RATES_MAX = 256, REPLAYED_MAX = 64, LEFT_OUT_MAX = 64 };
static const double too_long_s = 20.0; /* a single call that `all` leaves out */

/* Time of one multiply-add of a kernel at the last size, to tell how long the next will take. */
typedef struct rate {
    const char *kernel;
    const lab_bench *bench;
    tsr_dtype dtype; /* of A: B's goes with it */
    double ns;
} rate;

typedef struct session {
    cli_bench_session common;
    cli_bench_devices devices;
    lab_shapes shapes;
    lab_calls calls; /* of --replay, instead of shapes */
    lab_report report;
    rate rates[RATES_MAX];
    size_t rate_count;
    int failed;                  /* a contestant failed while running */
    unsigned told[CLI_LIST_MAX]; /* of cli_bench_has_kernels */
    struct {
        const lab_peer_ops *peer;
        char reason[200];
    } left_out[LEFT_OUT_MAX]; /* told of peers that could not measure a cell */
    size_t left_out_count;
    /* A ladder is shown when all is measured. */
    lab_record *records;
    size_t record_count;
} session;

/* ---- how long it will take ---- */

static rate *find_rate(session *s, const lab_bench *bench, const lab_entry *entry, tsr_dtype dtype)
{
    for (size_t i = 0; i < s->rate_count; i++) {
        rate *r = &s->rates[i];
        if (r->bench == bench && r->dtype == dtype && entry->kernel != NULL && strcmp(r->kernel, entry->kernel) == 0)
            return r;
    }
    return NULL;
}

static void remember_rate(session *s, const lab_bench *bench, const lab_cell *cell, const lab_entry *entry)
{
    rate *r = find_rate(s, bench, entry, cell->types.a);
    if (entry->timing.rounds == 0 || lab_shape_products(cell->shape) == 0.0 || entry->kernel == NULL)
        return;
    if (r == NULL && s->rate_count < RATES_MAX) {
        r = &s->rates[s->rate_count++];
        *r = (rate){entry->kernel, bench, cell->types.a, 0.0};
    }
    if (r != NULL)
        r->ns = entry->timing.round_ns[0] / lab_shape_products(cell->shape);
}

/* Leaves out what nobody asked for by name and nobody would wait for. */
static void leave_out_slow(session *s, const lab_bench *bench, const lab_cell *cell, const lab_baseline *baseline)
{
    if (strcmp(s->common.set->kernels.values[0], "all") != 0)
        return;
    for (size_t i = 0; i < cell->entry_count; i++) {
        lab_entry *entry = &cell->entries[i];
        const rate *r = find_rate(s, bench, entry, cell->types.a);
        double expected_ns = r != NULL ? r->ns * lab_shape_products(cell->shape) : 0.0;
        if (!bench->device.is_cuda && strcmp(entry->kernel, "cpu-sequential") == 0)
            expected_ns = baseline->ns;
        if (expected_ns > too_long_s * 1e9)
            snprintf(entry->reason, sizeof entry->reason, "left out: one call takes about %.0f s (name it to run it)",
                     expected_ns * 1e-9);
    }
}

/* ---- one cell ---- */

static const char *layout_name(const lab_cell *cell)
{
    static const char *const names[] = {"nn", "nt", "tn", "tt"};
    return names[cell->trans_a * 2 + cell->trans_b];
}

/* A table keeps why a line is missing. What was asked for by name is told on stderr too, where that is another place.
 */
static void note_entry(session *s, const lab_cell *cell, const lab_entry *entry)
{
    const int is_named = strcmp(s->common.set->kernels.values[0], "all") != 0;
    const int is_table = s->report.format == LAB_TABLE && s->common.set->format != CLI_BENCH_SVG;
    char text[400], types[LAB_TYPES_TEXT];
    cli_message reason;
    cli_progress_clear(s->common.progress);
    snprintf(text, sizeof text, "%s, %s %s, %" PRId64 " x %" PRId64 " x %" PRId64 ": %.300s",
             entry->kernel != NULL ? entry->kernel : "auto", lab_types_pair(&cell->types, types), layout_name(cell),
             cell->shape.m, cell->shape.n, cell->shape.k, cli_name_options(s->common.self, entry->reason, &reason));
    if (is_table)
        lab_report_note(&s->report, text);
    if (!is_table || (is_named && s->report.columns == 0))
        cli_failure(s->common.self, "%s", text);
}

static void take_record(session *s, const lab_record *record)
{
    if (!cli_bench_is_whole(s->common.set)) {
        lab_report_add(&s->report, record);
        return;
    }
    lab_record *records = realloc(s->records, (s->record_count + 1) * sizeof *records);
    if (records == NULL) {
        cli_failure(s->common.self, "no memory for the results");
        s->failed = 1;
        return;
    }
    s->records = records;
    s->records[s->record_count++] = *record;
    s->report.rows++;
}

static void report_entry(session *s, const lab_bench *bench, const lab_cell *cell, const lab_entry *entry,
                         const lab_baseline *baseline)
{
    size_t lines = 0;
    if (entry->reason[0] != '\0')
        note_entry(s, cell, entry);
    s->failed |= entry->timing.status != TSR_OK;
    if (entry->timing.rounds == 0)
        return;
    cli_progress_clear(s->common.progress);
    for (size_t i = 0; i < cell->rival_count; i++) {
        if (cell->rivals[i].reason[0] != '\0')
            continue;
        const lab_record record = lab_cell_record(bench, cell, entry, &cell->rivals[i], baseline, &s->common.options);
        take_record(s, &record);
        lines++;
    }
    if (lines > 0)
        return;
    const lab_record record = lab_cell_record(bench, cell, entry, NULL, baseline, &s->common.options);
    take_record(s, &record);
}

/* Why a peer is left out is told once, however many cells it is true of. */
static void note_left_out(session *s, const lab_rival *rival)
{
    const lab_peer_ops *const peer = rival->peer->ops;
    for (size_t i = 0; i < s->left_out_count; i++)
        if (s->left_out[i].peer == peer && strcmp(s->left_out[i].reason, rival->reason) == 0)
            return;
    if (s->left_out_count < LEFT_OUT_MAX) {
        s->left_out[s->left_out_count].peer = peer;
        snprintf(s->left_out[s->left_out_count++].reason, sizeof s->left_out[0].reason, "%s", rival->reason);
    }
    cli_progress_clear(s->common.progress);
    cli_failure(s->common.self, "without %s: %s", peer->name, rival->reason);
}

static void report_cell(session *s, const lab_bench *bench, const lab_cell *cell, const lab_baseline *baseline)
{
    for (size_t i = 0; i < cell->rival_count; i++)
        if (cell->rivals[i].reason[0] != '\0')
            note_left_out(s, &cell->rivals[i]);
    for (size_t i = 0; i < cell->entry_count; i++) {
        remember_rate(s, bench, cell, &cell->entries[i]);
        report_entry(s, bench, cell, &cell->entries[i], baseline);
    }
}

/* The sequential time of this cell, if the cell itself measured it, is the best there is. */
static void take_baseline(const lab_cell *cell, lab_baseline *baseline)
{
    for (size_t i = 0; i < cell->entry_count; i++) {
        const lab_entry *entry = &cell->entries[i];
        if (strncmp(entry->instance, "cpu_sequential", strlen("cpu_sequential")) == 0 && entry->timing.rounds > 0)
            *baseline = (lab_baseline){lab_median(entry->timing.round_ns, entry->timing.rounds), 0};
    }
}

static int bench_cell(session *s, lab_bench *bench, lab_cell *cell, lab_baseline *baseline)
{
    cli_bench_entries entries;
    cli_message error;
    char types[LAB_TYPES_TEXT];
    if (!cli_bench_choose(s->common.set, bench, &cell->types, &entries))
        return cli_failure(s->common.self, "no memory for the list of kernels");
    cell->entries = entries.items;
    cell->entry_count = entries.count;
    cli_progress_say(s->common.progress, "%s %s %" PRId64 " x %" PRId64 " x %" PRId64 " on %s",
                     lab_types_pair(&cell->types, types), layout_name(cell), cell->shape.m, cell->shape.n,
                     cell->shape.k, bench->device.id);
    leave_out_slow(s, bench, cell, baseline);
    const tsr_status status = entries.count > 0 ? lab_cell_measure(bench, cell, &s->common.options) : TSR_OK;
    if (status == TSR_OK) {
        take_baseline(cell, baseline);
        report_cell(s, bench, cell, baseline);
    } else {
        cli_progress_clear(s->common.progress);
        cli_failure(s->common.self, "%" PRId64 " x %" PRId64 " x %" PRId64 " on %s: %s", cell->shape.m, cell->shape.n,
                    cell->shape.k, bench->device.id, cli_api_error(s->common.self, &error));
        s->failed = 1;
    }
    lab_cell_clear(cell);
    cli_bench_entries_free(&entries);
    return CLI_CONTINUE;
}

/* One problem on all devices, the CPU first: cpu-sequential is what the others refer to. `call`: as a program had it.
 */
static int bench_problem(session *s, tsr_dtype dtype, cli_layout layout, lab_shape shape, const lab_logged_call *call)
{
    /* A GPU must not be kept waiting for a sequential CPU. */
    const int brief = s->devices.count > 0 && s->devices.items[0].device.is_cuda;
    if (!cli_bench_has_kernels(&s->common, &s->devices, dtype, s->told))
        return CLI_CONTINUE;
    cli_progress_say(s->common.progress, "cpu-sequential, for the speedups");
    const lab_types types = cli_bench_types(s->common.set, dtype);
    lab_baseline baseline = lab_baseline_measure(&types, layout.a == TSR_T, layout.b == TSR_T, shape, brief);
    int code = CLI_CONTINUE;
    for (size_t d = 0; d < s->devices.count && code == CLI_CONTINUE && !cli_interrupted(); d++) {
        lab_cell cell;
        memset(&cell, 0, sizeof cell);
        cell.types = types;
        cell.scales = (lab_scales_given)s->common.set->scales;
        cell.trans_a = layout.a == TSR_T;
        cell.trans_b = layout.b == TSR_T;
        cell.shape = shape;
        cell.call = call;
        code = bench_cell(s, &s->devices.items[d], &cell, &baseline);
    }
    return code;
}

static void note(session *s, const char *text)
{
    cli_progress_clear(s->common.progress);
    if (s->report.format == LAB_TABLE || s->report.format == LAB_MD)
        lab_report_note(&s->report, text);
}

static int bench_calls(session *s)
{
    double logged_ns = 0, replayed_ns = 0;
    size_t replayed = 0;
    int code = CLI_CONTINUE;
    char text[400];
    for (size_t i = 0; i < s->calls.count; i++)
        logged_ns += s->calls.items[i].total_ns;
    for (; replayed < s->calls.count && replayed < REPLAYED_MAX && code == CLI_CONTINUE && !cli_interrupted();
         replayed++) {
        const lab_logged_call *call = &s->calls.items[replayed];
        const cli_layout layout = {call->trans_a ? TSR_T : TSR_N, call->trans_b ? TSR_T : TSR_N};
        snprintf(text, sizeof text,
                 "%s, %" PRId64 " call%s, logged %.2f us each; ld %" PRId64 " %" PRId64 " %" PRId64
                 ", alpha %g, beta %g, batch %" PRId64,
                 call->name, call->count, call->count == 1 ? "" : "s", call->total_ns / (double)call->count * 1e-3,
                 call->lda, call->ldb, call->ldc, call->alpha, call->beta, call->batch);
        note(s, text);
        replayed_ns += call->total_ns;
        code = bench_problem(s, call->dtype, layout, (lab_shape){call->m, call->n, call->k, call->batch}, call);
    }
    if (replayed_ns < logged_ns) {
        snprintf(text, sizeof text, "left out: %zu kinds of call with %.1f%% of the logged time",
                 s->calls.count - replayed, 100 * (1 - replayed_ns / logged_ns));
        note(s, text);
    }
    return code == CLI_CONTINUE ? CLI_OK : code;
}

static int bench_all(session *s)
{
    const cli_bench_settings *set = s->common.set;
    int code = CLI_CONTINUE;
    if (set->replay != NULL)
        return bench_calls(s);
    for (size_t t = 0; t < set->dtypes.count; t++)
        for (size_t l = 0; l < set->layouts.count; l++)
            for (size_t i = 0; i < s->shapes.count && code == CLI_CONTINUE && !cli_interrupted(); i++)
                code = bench_problem(s, set->dtypes.values[t], set->layouts.values[l], s->shapes.items[i], NULL);
    return code == CLI_CONTINUE ? CLI_OK : code;
}

/* ---- the report ---- */

/* A remark, as wide as the terminal. */
static void remark(session *s, const char *text)
{
    if (s->report.columns > 0)
        cli_print_wrapped(s->report.to, text, 0, 2);
    else
        lab_report_note(&s->report, text);
}

/* What the numbers are of, above tables. */
static void describe(session *s)
{
    char text[400], cache[32];
    lab_device cpu;
    if ((s->report.format != LAB_TABLE && s->report.format != LAB_MD) || s->common.set->format == CLI_BENCH_SVG)
        return;
    for (size_t d = 0; d < s->devices.count; d++) {
        const lab_bench *bench = &s->devices.items[d];
        const int64_t bytes = lab_device_cache_bytes(&bench->device);
        cli_bytes_text(cache, (double)bytes);
        snprintf(text, sizeof text, "%s: %s", bench->device.id, bench->label);
        remark(s, text);
        snprintf(text, sizeof text,
                 bench->device.is_cuda
                     ? "%s: operands rotate through twice its %s of cache"
                     : "%s: operands above a quarter of its %s of cache rotate through twice as much, others stay hot",
                 bench->device.id, cache);
        remark(s, text);
        for (size_t p = 0; p < bench->peer_count; p++) {
            snprintf(text, sizeof text, "%s: beside %s", bench->device.id, bench->peers[p].version);
            remark(s, text);
        }
    }
    if (s->devices.count > 0 && s->devices.items[0].device.is_cuda && lab_device_describe("cpu", &cpu) == TSR_OK) {
        snprintf(text, sizeof text, "cpu: speedups are over cpu-sequential on %s, one thread", cpu.name);
        remark(s, text);
    }
    if (s->common.set->scales == LAB_SCALES_TENSOR)
        remark(s, "A and B have a scale each");
    if (s->common.set->scales == LAB_SCALES_VECTOR)
        remark(s, "each row of A and each column of B has a scale");
    if (s->common.set->scales == LAB_SCALES_1X128)
        remark(s, "each 128 steps of K of a row of A, or of a column of B, have a scale");
    if (s->common.set->scales == LAB_SCALES_1X128_128X128)
        remark(s, "each 128 steps of K of a row of A have a scale, and of 128 columns of B");
    if (s->common.set->sparse >= 0)
        remark(s, s->common.set->sparse == 0 ? "A is compressed 2:4; GFLOP/s and GB/s are those of the whole product"
                                             : "B is compressed 2:4; GFLOP/s and GB/s are those of the whole product");
    remark(s, "medians of interleaved rounds on normal random numbers; ~ scaled from a smaller size\n");
}

static int kernel_width(void)
{
    size_t width = strlen("kernel");
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strlen(info.instance) > width)
            width = strlen(info.instance);
    return (int)width;
}

static int bench_to(session *s, FILE *to)
{
    size_t peers = 0;
    for (size_t d = 0; d < s->devices.count; d++)
        peers += s->devices.items[d].peer_count;
    const int is_whole = cli_bench_is_whole(s->common.set);
    s->report =
        lab_report_begin(is_whole ? LAB_TABLE : (lab_format)s->common.set->format, to, kernel_width(), peers > 0);
    if (to == stdout && cli_has_columns())
        s->report.columns = cli_columns();
    describe(s);
    int code = bench_all(s);
    cli_progress_clear(s->common.progress);
    if (is_whole && !cli_bench_show_records(s->common.set, s->records, s->record_count, to))
        return cli_api_failure(s->common.self);
    if (code != CLI_OK)
        return code;
    if (cli_interrupted())
        return cli_failure(s->common.self, "interrupted; %zu line%s measured", s->report.rows,
                           s->report.rows == 1 ? " was" : "s were");
    if (s->report.rows == 0)
        return cli_failure(s->common.self, "nothing was measured: none of the kernels runs these problems here");
    return s->failed ? CLI_FAILED : CLI_OK;
}

/* What was measured before Ctrl-C is put in place too: it took its time. */
static int bench_to_file(session *s, const char *path)
{
    cli_out_file out;
    int code = cli_out_open(s->common.self, path, &out);
    if (code != CLI_CONTINUE)
        return code;
    code = bench_to(s, out.to);
    const int closed = cli_out_close(s->common.self, &out, s->report.rows > 0 ? CLI_OK : code);
    return closed != CLI_OK ? closed : code;
}

/* Scales, only where all types take them. */
static int check_scales(const cli_command *self, const cli_bench_settings *set)
{
    const lab_scales_given scales = (lab_scales_given)set->scales;
    cli_message error;
    if (scales != LAB_SCALES_NONE && set->replay != NULL)
        return cli_usage_error(self, "--scales %s: the products of a call log have none", lab_scales_word(scales));
    for (size_t t = 0; t < set->dtypes.count; t++) {
        const lab_types types = cli_bench_types(set, set->dtypes.values[t]);
        if (lab_scales_check(scales, &types) != TSR_OK)
            return cli_usage_error(self, "--scales %s: %s", lab_scales_word(scales), cli_api_error(self, &error));
    }
    return CLI_CONTINUE;
}

/* B's type, where one is said, must mix with each of A's. */
static int check_types(const cli_command *self, const cli_bench_settings *set)
{
    int code = CLI_CONTINUE;
    if (set->types.b != TSR_DTYPE_NONE && set->replay != NULL)
        return cli_usage_error(self, "--dtype-b %s: a call log says itself what its products are of",
                               tsr_dtype_name(set->types.b));
    for (size_t t = 0; t < set->dtypes.count && code == CLI_CONTINUE && set->types.b != TSR_DTYPE_NONE; t++)
        code = cli_types_check(self, &(lab_types){.a = set->dtypes.values[t], .b = set->types.b});
    return code;
}

static int read_calls(const cli_command *self, const cli_bench_settings *set, lab_calls *out)
{
    if (set->sparse >= 0)
        return cli_usage_error(self, "--sparse %c: the products of a call log are of whole matrices",
                               "ab"[set->sparse]);
    if (set->sizes != NULL || set->shapes != NULL || set->random != 0 || set->batch > 1)
        return cli_usage_error(self,
                               "--replay brings its own problems: without --sizes, --shapes, --random and --batch");
    return lab_calls_read(set->replay, out) == TSR_OK ? CLI_CONTINUE : cli_api_failure(self);
}

/* Gives shapes that have no batch that of --batch. */
static int set_batch(const cli_command *self, const cli_bench_settings *set, lab_shapes *shapes)
{
    for (size_t i = 0; i < shapes->count; i++) {
        if (shapes->items[i].batch == 1)
            shapes->items[i].batch = set->batch;
        if (lab_shape_check("--batch", shapes->items[i]) != TSR_OK)
            return cli_usage_error(self, "%s", tsr_last_error());
    }
    return CLI_CONTINUE;
}

static int read_shapes(const cli_command *self, const cli_bench_settings *set, lab_shapes *out)
{
    if ((set->sizes != NULL) + (set->shapes != NULL) + (set->random != 0) > 1)
        return cli_usage_error(self, "--sizes, --shapes and --random exclude each other");
    if (set->random != 0)
        return lab_shapes_random("--random", set->random, (uint64_t)set->seed, out) == TSR_OK ? CLI_CONTINUE
                                                                                              : cli_api_failure(self);
    if (set->shapes == NULL) {
        if (lab_shapes_squares("--sizes", set->sizes != NULL ? set->sizes : "32,256,1024,2048", out) == TSR_OK)
            return CLI_CONTINUE;
        return cli_usage_error(self, "%s", tsr_last_error());
    }
    if (lab_shapes_read(set->shapes, out) == TSR_OK)
        return CLI_CONTINUE;
    return cli_api_failure(self);
}

/* A ladder stands beside the usual peers, where they are. */
static unsigned peers_for(const cli_bench_settings *set)
{
    enum { CUBLAS = 1u << 0, OPENBLAS = 1u << 2 };
    return set->peers || !cli_bench_is_ladder(set) ? set->peers : CUBLAS | OPENBLAS;
}

static int open_and_run(session *s)
{
    const cli_bench_settings *set = s->common.set;
    int code = check_types(s->common.self, set);
    if (code == CLI_CONTINUE)
        code = check_scales(s->common.self, set);
    if (code == CLI_CONTINUE)
        code = set->replay != NULL ? read_calls(s->common.self, set, &s->calls)
                                   : read_shapes(s->common.self, set, &s->shapes);
    if (code == CLI_CONTINUE)
        code = set_batch(s->common.self, set, &s->shapes);
    if (code == CLI_CONTINUE)
        code = cli_bench_open(&s->common, peers_for(set), &s->devices);
    if (code == CLI_CONTINUE)
        code = bench_to_file(s, set->out);
    cli_bench_close(&s->devices);
    lab_shapes_free(&s->shapes);
    lab_calls_free(&s->calls);
    return code;
}

int cli_bench_run(const cli_bench_session *common)
{
    session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return cli_failure(common->self, "no memory");
    s->common = *common;
    const int code = open_and_run(s);
    free(s->records);
    free(s);
    return code;
}
