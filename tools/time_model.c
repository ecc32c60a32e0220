/* time_model: what tools/time-table asks the emulator and the model of time.
 *     time_model count < PAIRS      counts each pair on standard input and prints it with its counters; lines as in
 *                                   lab/predict/measured_pairs.h
 *     time_model table < RECORDED   the table that docs/PREDICTIONS.md sums up, and what its errors come to
 *     time_model fit < RECORDED     the model's constants, fitted to the pairs that are for it (lab_pair_is_fitted);
 * and for each kernel the errors of a fit that saw none of its pairs time_model check [EVERY] < RECORDED   every
 * EVERYth pair that is cheap to count, counted whole beside the record
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/predict/count_run.h"
#include "lab/predict/counters_text.h"
#include "lab/predict/measured_pairs.h"
#include "lab/predict/predict.h"

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

typedef struct pairs {
    lab_pair *pairs;
    size_t count;
} pairs;

static int append(pairs *to, const lab_pair *pair)
{
    lab_pair *more = realloc(to->pairs, (to->count + 1) * sizeof *more);
    if (!more)
        return 0;
    to->pairs = more;
    more[to->count++] = *pair;
    return 1;
}

/* A config's name begins with its kernel's, which ends before the type. */
static size_t kernel_length(const char *config)
{
    static const char *const types[] = {"_f32", "_f64", "_bf16", "_f16"};
    size_t length = strlen(config);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const char *at = strstr(config, types[i]);
        if (at && (size_t)(at - config) < length)
            length = (size_t)(at - config);
    }
    return length;
}

static int is_of_kernel(const lab_pair *pair, const char *kernel)
{
    return kernel_length(pair->kernel) == strlen(kernel) && strncmp(pair->kernel, kernel, strlen(kernel)) == 0;
}

/* ---- the table ---- */

static void print_row(const lab_pair *pair)
{
    const double us = lab_pair_predict(pair, lab_gpu_spec_at(0));
    char size[80];
    if (pair->m == pair->n && pair->n == pair->k)
        snprintf(size, sizeof size, "%" PRId64, pair->m);
    else
        snprintf(size, sizeof size, "%" PRId64 " x %" PRId64 " x %" PRId64, pair->m, pair->n, pair->k);
    if (strcmp(pair->layout, "nn") != 0)
        snprintf(size + strlen(size), sizeof size - strlen(size), " %s", pair->layout);
    printf("| `%s` | %s | %.1f | %.1f | %+.0f%% | %s |\n", pair->kernel, size, pair->us, us, 100 * (us / pair->us - 1),
           lab_pair_is_fitted(pair) ? "fitted" : "");
}

/* Pairs whose errors are asked for. */
typedef enum part { FITTED, NOT_FITTED, ALL } part;

/* `kernel` NULL: of all. */
static lab_pair_errors errors_of(const pairs *all, part which, const char *kernel, const lab_time_constants *constants,
                                 double *space)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        const lab_pair *const pair = &all->pairs[i];
        if ((kernel && !is_of_kernel(pair, kernel)) || (which != ALL && lab_pair_is_fitted(pair) != (which == FITTED)))
            continue;
        space[count++] = lab_pair_predict_by(pair, lab_gpu_spec_at(0), constants) / pair->us - 1;
    }
    return lab_pair_errors_of(space, count);
}

static void print_errors(const char *of, lab_pair_errors e)
{
    printf("| %s | %zu | %.0f%% | %.0f%% | %zu | %zu |\n", of, e.count, 100 * e.median, 100 * e.worst, e.within_10,
           e.within_35);
}

static void print_head(const char *of)
{
    printf("\n| %s | pairs | median | worst | within 10%% | within 35%% |\n|---|---|---|---|---|---|\n", of);
}

/* Calls `print` for each kernel, once. The pairs are sorted by name, but one kernel's name may begin as another's. */
static void for_each_kernel(const pairs *all, void (*print)(const pairs *all, const char *kernel, double *space),
                            double *space)
{
    for (size_t i = 0; i < all->count; i++) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "%.*s", (int)kernel_length(all->pairs[i].kernel), all->pairs[i].kernel);
        size_t first = 0;
        while (!is_of_kernel(&all->pairs[first], kernel))
            first++;
        if (first == i)
            print(all, kernel, space);
    }
}

static void print_kernel(const pairs *all, const char *kernel, double *space)
{
    char name[80];
    snprintf(name, sizeof name, "`%s`", kernel);
    print_errors(name, errors_of(all, NOT_FITTED, kernel, &lab_time, space));
}

static void print_table(const pairs *all, double *space)
{
    puts("| kernel | size | measured, us | predicted | off by | |\n|---|---|---|---|---|---|");
    for (size_t i = 0; i < all->count; i++)
        print_row(&all->pairs[i]);
    print_head("nothing was fitted to");
    for_each_kernel(all, print_kernel, space);
    print_errors("all", errors_of(all, NOT_FITTED, NULL, &lab_time, space));
    print_errors("those that constants were fitted to", errors_of(all, FITTED, NULL, &lab_time, space));
}

/* ---- the fit ---- */

enum { CONSTANTS = sizeof(lab_time_constants) / sizeof(double) };

/* What is made as small as possible: logarithms, since half and twice are as bad; their cubes, since the worst shall
 * count for more. */
static double cost_of(const pairs *all, const char *without, const double constants[CONSTANTS])
{
    lab_time_constants by;
    double sum = 0;
    memcpy(&by, constants, sizeof by);
    for (size_t i = 0; i < all->count; i++) {
        const lab_pair *const pair = &all->pairs[i];
        if (!lab_pair_is_fitted(pair) || (without && is_of_kernel(pair, without)))
            continue;
        sum += pow(fabs(log(lab_pair_predict_by(pair, lab_gpu_spec_at(0), &by) / pair->us)), 3);
    }
    return sum;
}

/* One constant after the other, in steps that become smaller. */
static lab_time_constants fit(const pairs *all, const char *without)
{
    static const double first_step = 0.2, last_step = 0.002;
    lab_time_constants found = lab_time;
    double x[CONSTANTS];
    memcpy(x, &found, sizeof x);
    double least = cost_of(all, without, x);
    for (double step = first_step; step > last_step;) {
        int better = 0;
        for (int i = 0; i < CONSTANTS; i++)
            for (int up = 0; up < 2; up++) {
                const double kept = x[i];
                x[i] = up ? kept * (1 + step) : kept / (1 + step);
                const double cost = cost_of(all, without, x);
                if (cost < least) {
                    least = cost;
                    better = 1;
                } else {
                    x[i] = kept;
                }
            }
        step = better ? step : step / 2;
    }
    memcpy(&found, x, sizeof found);
    return found;
}

static void print_without(const pairs *all, const char *kernel, double *space)
{
    const lab_time_constants others = fit(all, kernel);
    char name[80];
    snprintf(name, sizeof name, "`%s`", kernel);
    print_errors(name, errors_of(all, ALL, kernel, &others, space));
}

static void print_fit(const pairs *all, double *space)
{
    const lab_time_constants found = fit(all, NULL);
    printf("load %.1f, store %.1f, mma %.2f, DRAM %.0f, step %.0f cycles; condition %.2f instructions; "
           "copies %.2f of DRAM's rate\n",
           found.load_cycles, found.store_cycles, found.mma_cycles, found.dram_wait_cycles, found.step_cycles,
           found.branch_instructions, found.prepare_share);
    print_head("by these");
    print_errors("nothing was fitted to", errors_of(all, NOT_FITTED, NULL, &found, space));
    print_errors("fitted to", errors_of(all, FITTED, NULL, &found, space));
    print_head("fitted to the others");
    for_each_kernel(all, print_without, space);
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
    const int is_table = strcmp(mode, "table") == 0, is_fit = strcmp(mode, "fit") == 0;
    const int is_check = strcmp(mode, "check") == 0, every = argc > 2 ? atoi(argv[2]) : 1;
    if (!is_table && !is_fit && !is_check && strcmp(mode, "count") != 0) {
        fprintf(stderr, "time_model count|table|fit|check [EVERY] < lines of pairs\n");
        return 2;
    }
    pairs all = {0};
    int failed = 0;
    for (int n = 0; fgets(line, sizeof line, stdin); n++) {
        lab_pair pair;
        if (!lab_pair_read(line, &pair)) {
            fprintf(stderr, "time_model: no pair: %.60s\n", line);
            failed = 1;
        } else if (is_table || is_fit) {
            failed |= !append(&all, &pair);
        } else if (is_check) {
            if (every > 0 && n % every == 0 && (double)pair.m * (double)pair.n * (double)pair.k < 1e8)
                check(&pair);
        } else {
            failed |= !count(&pair);
        }
    }
    double *const space = calloc(all.count + 1, sizeof *space);
    if (!space)
        failed = 1;
    else if (is_table)
        print_table(&all, space);
    else if (is_fit)
        print_fit(&all, space);
    free(space);
    free(all.pairs);
    return failed;
}
