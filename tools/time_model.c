/* time_model: what tools/time-table asks the emulator and the model of time.
 *     time_model count < PAIRS      counts each pair on standard input (lab/pairs.h) and prints it with its counters
 *     time_model table < RECORDED   the table that docs/PREDICTIONS.md sums up, and what its errors come to
 *     time_model check [EVERY] < RECORDED   every EVERYth pair that is cheap to count, counted whole beside the record
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/count_run.h"
#include "lab/counters_text.h"
#include "lab/pairs.h"
#include "lab/predict.h"

enum { LINE = 16384 };

/* Of kernels that cannot be counted by few CTAs. */
static const lab_count_options options = {.sample_ctas = 2, .is_quick = 1};

static void print_pair(const lab_pair *pair)
{
    printf("%s %" PRId64 " %" PRId64 " %" PRId64 " %s %s %g | ", pair->kernel, pair->m, pair->n, pair->k, pair->layout,
           pair->dtype, pair->us);
    lab_counters_write(&pair->counters, stdout);
    putchar('\n');
    fflush(stdout);
}

static int count(lab_pair *pair)
{
    const tsr_gemm_desc desc = lab_pair_desc(pair);
    tsr_status status = lab_count_line(&desc, &options, &pair->counters);
    /* The model asks caches only how long plain loads wait, and what DRAM must deliver, which operands tell as well. */
    if (status == TSR_OK && pair->counters.waits > 0 && pair->counters.bulk_load.sectors == 0) {
        lab_count_options follow = options;
        follow.follow_products = pair->counters.tensor_flops > 0 ? 5e7 : 0; /* there are hundreds of those pairs */
        status = lab_count_caches(&desc, &follow, &pair->counters);
    }
    if (status != TSR_OK) {
        fprintf(stderr, "time_model: %s %" PRId64 " x %" PRId64 " x %" PRId64 ": %s\n", pair->kernel, pair->m, pair->n,
                pair->k, tsr_last_error());
        return 0;
    }
    print_pair(pair);
    return 1;
}

typedef struct table {
    double *fitted, *rest;
    size_t n_fitted, n_rest, room;
} table;

static int append(double **to, size_t *n, double value)
{
    double *more = realloc(*to, (*n + 1) * sizeof *more);
    if (!more)
        return 0;
    *to = more;
    more[(*n)++] = value;
    return 1;
}

static int add_row(table *t, const lab_pair *pair)
{
    const double us = lab_pair_predict(pair, lab_gpu_spec_at(0)), off = us / pair->us - 1;
    const int is_fitted = lab_pair_is_fitted(pair);
    char size[80];
    if (pair->m == pair->n && pair->n == pair->k)
        snprintf(size, sizeof size, "%" PRId64, pair->m);
    else
        snprintf(size, sizeof size, "%" PRId64 " x %" PRId64 " x %" PRId64, pair->m, pair->n, pair->k);
    if (strcmp(pair->layout, "nn") != 0)
        snprintf(size + strlen(size), sizeof size - strlen(size), " %s", pair->layout);
    printf("| `%s` | %s | %.1f | %.1f | %+.0f%% | %s |\n", pair->kernel, size, pair->us, us, 100 * off,
           is_fitted ? "fitted" : "");
    return is_fitted ? append(&t->fitted, &t->n_fitted, off) : append(&t->rest, &t->n_rest, off);
}

static void print_errors(const char *of, double *errors, size_t n)
{
    const lab_pair_errors e = lab_pair_errors_of(errors, n);
    printf("%zu pairs that %s: median %.0f%%, %zu within 60%%, worst %.0f%%\n", e.count, of, 100 * e.median,
           e.within_60, 100 * e.worst);
}

/* How far counting all CTAs along all of K is from what was recorded. */
static double difference(double recorded, double whole)
{
    return whole > 0 ? fabs(recorded / whole - 1) : recorded > 0 ? 1 : 0;
}

static void check(const lab_pair *pair)
{
    const tsr_gemm_desc desc = lab_pair_desc(pair);
    const lab_count_options all = {0};
    const lab_counters *const c = &pair->counters;
    lab_pair whole = *pair;
    if (lab_count(&desc, &all, &whole.counters) != TSR_OK)
        return;
    const lab_counters *const w = &whole.counters;
    const double us = lab_pair_predict(pair, lab_gpu_spec_at(0)),
                 whole_us = lab_pair_predict(&whole, lab_gpu_spec_at(0));
    printf("%s %" PRId64 " %" PRId64 " %" PRId64
           " sectors %.2f%% wavefronts %.2f%% stated %.2f%% time %.1f of %.1f, %+.1f%%\n",
           pair->kernel, pair->m, pair->n, pair->k, 100 * difference(lab_counters_sectors(c), lab_counters_sectors(w)),
           100 * difference(c->shared_load_merged.wavefronts + c->shared_store.wavefronts,
                            w->shared_load_merged.wavefronts + w->shared_store.wavefronts),
           100 * c->sample_error, us, whole_us, 100 * (us / whole_us - 1));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char line[LINE];
    const char *const mode = argc > 1 ? argv[1] : "";
    const int is_table = strcmp(mode, "table") == 0, is_check = strcmp(mode, "check") == 0;
    const int every = argc > 2 ? atoi(argv[2]) : 1;
    if (!is_table && !is_check && strcmp(mode, "count") != 0) {
        fprintf(stderr, "time_model count|table|check [EVERY] < lines of pairs\n");
        return 2;
    }
    table t = {0};
    int failed = 0;
    if (is_table)
        puts("| kernel | size | measured, us | predicted | off by | |\n|---|---|---|---|---|---|");
    for (int n = 0; fgets(line, sizeof line, stdin); n++) {
        lab_pair pair;
        if (!lab_pair_read(line, &pair)) {
            fprintf(stderr, "time_model: no pair: %.60s\n", line);
            failed = 1;
        } else if (is_table) {
            failed |= !add_row(&t, &pair);
        } else if (is_check) {
            if (every > 0 && n % every == 0 && (double)pair.m * (double)pair.n * (double)pair.k < 1e8)
                check(&pair);
        } else {
            failed |= !count(&pair);
        }
    }
    if (is_table) {
        putchar('\n');
        print_errors("nothing was fitted to", t.rest, t.n_rest);
        print_errors("constants were fitted to", t.fitted, t.n_fitted);
    }
    free(t.fitted);
    free(t.rest);
    return failed;
}
