/* fit: what each fitted constant of the prices (src/plan/profiles/) is worth to the choice, asked of recorded times.
 *     fit [--chip ID] [--with NAME=VALUE]... [--only GROUP]... [--tolerance T] RECORDS.jsonl... [--unseen
 *         RECORDS.jsonl...]
 *     fit [--chip ID] [--with NAME=VALUE]... [--search NAME]... RECORDS.jsonl... [--unseen RECORDS.jsonl...]
 *     fit [--set fit|ablate|report] [--schedules FILE.csv] ... RECORDS.jsonl...
 * RECORDS have the times of all configs of each problem (`tessera bench --instances`). For each constant its term is
 * taken out of the price, and the regret of the choice on RECORDS, the geometric mean of the chosen config's time over
 * the fastest one's, is printed beside the regret with all constants. Then constants are taken out one after the other,
 * the least valuable ones first, as long as the mean stays within T (0.001) of where it was and the worst grows no
 * worse; the regret with those that are left is printed for RECORDS and for the records behind --unseen, which decide
 * nothing. --chip, which comes first, begins with that chip's constants instead of the H200's; --with gives a constant
 * another value from the start. Problems whose choice was not measured count in neither of two regrets compared.
 *
 * --set keeps those of RECORDS whose shape is in one of three sets, which go by a hash of "MxNxK" in all layouts, in
 * streams and in graphs alike: six tenths to fit constants to, two to say which of them go (ablate), two to check what
 * is left, once, at the end (report). --schedules names the schedules by which RECORDS were measured, where that was
 * not K whole (perf/schedules-2026-11-25-rows.csv); without it they are those that the library's own constants select.
 *
 * --search looks for values of the named constants: one after the other is multiplied by some factors, and the factor
 * is kept that lowers the loss most, until none does. The loss is the mean logarithm of the regret, where a choice that
 * was not measured counts as 1.1, plus a fifth of the worst problem's logarithm. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/bench/regret.h"
#include "lab/common/paper.h"
#include "plan/profiles/profiles.h"

typedef struct constant {
    const char *name, *unit, *group; /* unit NULL: a group begins, `name` is its title */
    double value, without;
    size_t at; /* in tsr_profile */
} constant;

static const constant constants[] = {
#define TSR_PROFILE_CHIP(...)
#define TSR_PROFILE_GROUP(group, title, record, date) {title, NULL, #group, 0, 0, 0},
#define TSR_PROFILE_CONSTANT(name, value, unit, without) \
    {#name, unit, NULL, value, without, offsetof(tsr_profile, name)},
#include "plan/profiles/h200.def"
#undef TSR_PROFILE_CHIP
#undef TSR_PROFILE_GROUP
#undef TSR_PROFILE_CONSTANT
};
enum { CONSTANTS = sizeof constants / sizeof *constants };

static double *member(tsr_profile *profile, const constant *c)
{
    return (double *)(void *)((char *)profile + c->at);
}

/* Regret of one set of records by one profile. */
typedef struct outcome {
    double *ratios; /* of each problem; NAN: the choice was not measured */
    size_t count;
} outcome;

static int ask(const lab_records *records, const tsr_profile *profile, outcome *out)
{
    lab_regret regret;
    const int good = lab_regret_of(records->items, records->count, profile, &regret) == TSR_OK;
    out->count = good ? regret.count : 0;
    out->ratios = calloc(out->count + 1, sizeof *out->ratios);
    for (size_t i = 0; out->ratios != NULL && i < out->count; i++)
        out->ratios[i] = lab_regret_ratio(&regret.lines[i]);
    if (!good)
        fprintf(stderr, "fit: %s\n", tsr_last_error());
    lab_regret_free(&regret);
    return good && out->ratios != NULL;
}

typedef struct comparison {
    size_t both, lost, changed;  /* problems judged in both; judged in `before` alone; with another time */
    double before, after, worst; /* geometric means of those judged in both; the worst ratio after */
} comparison;

static comparison compare(const outcome *before, const outcome *after)
{
    comparison c = {0};
    double log_before = 0, log_after = 0;
    for (size_t i = 0; i < before->count && i < after->count; i++) {
        const double x = before->ratios[i], y = after->ratios[i];
        if (isnan(x))
            continue;
        if (isnan(y)) {
            c.lost++;
            continue;
        }
        c.both++;
        c.changed += y < x || y > x;
        log_before += log(x);
        log_after += log(y);
        c.worst = fmax(c.worst, y);
    }
    const double n = c.both > 0 ? (double)c.both : 1;
    c.before = exp(log_before / n);
    c.after = exp(log_after / n);
    return c;
}

static int append(const char *path, lab_records *to)
{
    lab_records more;
    if (lab_records_read(path, &more) != TSR_OK) {
        fprintf(stderr, "fit: %s\n", tsr_last_error());
        return 0;
    }
    lab_record *const items = realloc(to->items, (to->count + more.count + 1) * sizeof *items);
    if (items != NULL) {
        to->items = items;
        memcpy(items + to->count, more.items, more.count * sizeof *items);
        to->count += more.count;
    } else {
        fputs("fit: out of memory\n", stderr);
    }
    free(more.items);
    return items != NULL;
}

/* Shapes in three sets: to fit constants to, to say which of them go, and to check what is left, once. */
typedef enum shape_set { SET_ALL, SET_FIT, SET_ABLATE, SET_REPORT } shape_set;
static const char *const set_names[] = {"all", "fit", "ablate", "report"};

static shape_set set_of(const lab_record *record)
{
    enum { TENTHS = 10, TO_FIT = 6, TO_ABLATE = 2, LOW_BITS = 16 };
    char text[80];
    uint32_t hash = 2166136261U; /* FNV-1a */
    snprintf(text, sizeof text, "%lldx%lldx%lld", (long long)record->m, (long long)record->n, (long long)record->k);
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    const unsigned tenth = (hash >> LOW_BITS) % TENTHS;
    return tenth < TO_FIT ? SET_FIT : tenth < TO_FIT + TO_ABLATE ? SET_ABLATE : SET_REPORT;
}

static void keep_set(lab_records *records, shape_set set)
{
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++)
        if (set == SET_ALL || set_of(&records->items[i]) == set)
            records->items[kept++] = records->items[i];
    records->count = kept;
}

/* Lines of "chip,layout,m,n,k,instance,schedule": of records that no line names, K was whole. */
static int read_schedules(const char *path, lab_records *records)
{
    FILE *const file = fopen(path, "r");
    char line[256], chip[16], layout[4], instance[64], schedule[64];
    long long m, n, k;
    size_t lines = 0;
    if (file == NULL) {
        fprintf(stderr, "fit: %s: %s\n", path, strerror(errno));
        return 0;
    }
    for (size_t i = 0; i < records->count; i++)
        snprintf(records->items[i].schedule, sizeof records->items[i].schedule, "whole");
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%15[^,],%3[^,],%lld,%lld,%lld,%63[^,],%63s", chip, layout, &m, &n, &k, instance, schedule) !=
            7)
            continue; /* what the columns are */
        lines++;
        for (size_t i = 0; i < records->count; i++) {
            lab_record *const r = &records->items[i];
            if (r->m == m && r->n == n && r->k == k && strcmp(r->kernel, instance) == 0 &&
                strcmp(r->layout, layout) == 0 && lab_regret_gpu(r) == lab_gpu_spec_find(chip))
                snprintf(r->schedule, sizeof r->schedule, "%s", schedule);
        }
    }
    fclose(file);
    if (lines == 0)
        fprintf(stderr, "fit: %s has no schedules\n", path);
    return lines > 0;
}

typedef struct settings {
    tsr_profile profile;
    const constant *search[CONSTANTS];
    size_t searched;
    const char *only[CONSTANTS]; /* groups; none: all */
    size_t groups;
    double tolerance;
    shape_set set; /* of RECORDS */
    const char *schedules;
    lab_records records, unseen;
} settings;

static int set_constant(settings *set, const char *text)
{
    const char *const equals = strchr(text, '=');
    for (size_t i = 0; equals != NULL && i < CONSTANTS; i++)
        if (constants[i].unit != NULL && strlen(constants[i].name) == (size_t)(equals - text) &&
            strncmp(constants[i].name, text, (size_t)(equals - text)) == 0) {
            char *end;
            const double value = strtod(equals + 1, &end);
            if (end == equals + 1 || *end != '\0' || isnan(value)) {
                fprintf(stderr, "fit: --with %s needs a number, not '%s'\n", constants[i].name, equals + 1);
                return 0;
            }
            *member(&set->profile, &constants[i]) = value;
            return 1;
        }
    fprintf(stderr, "fit: --with needs NAME=VALUE with a constant of src/plan/profiles/h200.def, not '%s'\n", text);
    return 0;
}

static int has_none_of_its_own(tsr_profile *profile)
{
    for (size_t i = 0; i < CONSTANTS; i++)
        if (constants[i].unit != NULL && *member(profile, &constants[i]) != constants[i].value)
            return 0;
    return 1;
}

static int set_chip(settings *set, const char *id)
{
    const lab_gpu_spec *gpu = lab_gpu_spec_find(id);
    if (gpu == NULL) {
        fprintf(stderr, "fit: --chip needs one of " LAB_GPU_CHOICES ", not '%s'\n", id);
        return 0;
    }
    set->profile = *lab_device_on_paper(gpu).profile;
    if (strcmp(id, "h200") != 0 && has_none_of_its_own(&set->profile))
        fprintf(stderr, "fit: %s has no constants of its own: the H200's\n", id);
    return 1;
}

static int add_search(settings *set, const char *name)
{
    for (size_t i = 0; i < CONSTANTS; i++)
        if (constants[i].unit != NULL && strcmp(constants[i].name, name) == 0 && set->searched < CONSTANTS) {
            set->search[set->searched++] = &constants[i];
            return 1;
        }
    fprintf(stderr, "fit: --search needs a constant of src/plan/profiles/h200.def, not '%s'\n", name);
    return 0;
}

static int is_group(const char *name)
{
    for (size_t i = 0; i < CONSTANTS; i++)
        if (constants[i].unit == NULL && strcmp(constants[i].group, name) == 0)
            return 1;
    fprintf(stderr, "fit: --only needs a group of src/plan/profiles/h200.def, not '%s'\n", name);
    return 0;
}

static int set_tolerance(settings *set, const char *text)
{
    char *end;
    set->tolerance = strtod(text, &end);
    if (end != text && *end == '\0' && set->tolerance >= 0)
        return 1;
    fprintf(stderr, "fit: --tolerance needs a number from 0, not '%s'\n", text);
    return 0;
}

static int set_shapes(settings *set, const char *name)
{
    for (size_t i = 0; i < sizeof set_names / sizeof *set_names; i++)
        if (strcmp(set_names[i], name) == 0) {
            set->set = (shape_set)i;
            return 1;
        }
    fprintf(stderr, "fit: --set needs fit, ablate, report or all, not '%s'\n", name);
    return 0;
}

static int parse(int count, char **words, settings *set)
{
    lab_records *to = &set->records;
    for (int i = 1; i < count; i++) {
        const char *const word = words[i], *const value = i + 1 < count ? words[i + 1] : "";
        int good = 1, takes = 1;
        if (strcmp(word, "--chip") == 0)
            good = set_chip(set, value);
        else if (strcmp(word, "--with") == 0)
            good = set_constant(set, value);
        else if (strcmp(word, "--search") == 0)
            good = add_search(set, value);
        else if (strcmp(word, "--set") == 0)
            good = set_shapes(set, value);
        else if (strcmp(word, "--schedules") == 0)
            set->schedules = value;
        else if (strcmp(word, "--only") == 0 && set->groups < CONSTANTS)
            good = is_group(set->only[set->groups++] = value);
        else if (strcmp(word, "--tolerance") == 0)
            good = set_tolerance(set, value);
        else {
            takes = 0;
            if (strcmp(word, "--unseen") == 0) {
                to = &set->unseen;
            } else if (strncmp(word, "--", 2) == 0) {
                fprintf(stderr, "fit: no option %s\n", word);
                good = 0;
            } else {
                good = append(word, to);
            }
        }
        if (!good)
            return 0;
        i += takes;
    }
    keep_set(&set->records, set->set);
    if (set->records.count == 0)
        fputs("usage: fit [--chip ID] [--with NAME=VALUE] [--only GROUP] [--tolerance T] [--search NAME]\n"
              "           [--set SET] [--schedules FILE.csv] RECORDS.jsonl... [--unseen RECORDS.jsonl...]\n",
              stderr);
    if (set->schedules != NULL &&
        (!read_schedules(set->schedules, &set->records) || !read_schedules(set->schedules, &set->unseen)))
        return 0;
    return set->records.count > 0;
}

static int is_wanted(const settings *set, const char *group)
{
    for (size_t i = 0; i < set->groups; i++)
        if (strcmp(set->only[i], group) == 0)
            return 1;
    return set->groups == 0;
}

typedef struct rank {
    size_t at;
    double cost; /* of taking it out: the mean's logarithm */
} rank;

static int by_cost(const void *x, const void *y)
{
    const rank *const a = x, *const b = y;
    return a->cost < b->cost ? -1 : a->cost > b->cost ? 1 : a->at < b->at ? -1 : a->at > b->at;
}

/* Which no term stands for, to be taken out: a price without it would be none. */
static int is_fact(const constant *c)
{
    return c->without == c->value;
}

/* One line for each constant but facts; `ranks` gets those that were asked about, and their number is returned. */
static size_t ablate(settings *set, const outcome *all, rank ranks[CONSTANTS])
{
    size_t count = 0;
    const char *group = "";
    printf("%-16s %-28s %10s %-10s %8s %8s %8s %7s %12s\n", "group", "constant", "value", "unit", "without", "regret",
           "worst", "changed", "not measured");
    for (size_t i = 0; i < CONSTANTS; i++) {
        const constant *const c = &constants[i];
        if (c->unit == NULL)
            group = c->group;
        if (c->unit == NULL || is_fact(c) || !is_wanted(set, group))
            continue;
        double *const value = member(&set->profile, c), kept = *value;
        outcome without = {NULL, 0};
        *value = c->without;
        if (!ask(&set->records, &set->profile, &without)) {
            free(without.ratios);
            return 0;
        }
        *value = kept;
        const comparison is = compare(all, &without);
        printf("%-16s %-28s %10g %-10s %8g %+8.4f %8.3f %7zu %12zu\n", group, c->name, kept, c->unit, c->without,
               is.after - is.before, is.worst, is.changed, is.lost);
        fflush(stdout);
        ranks[count++] = (rank){i, log(is.after / is.before)};
        free(without.ratios);
    }
    return count;
}

/* Takes constants out, the least valuable ones first; returns how many are left, or 0 after an error. */
static int reduce(settings *set, const outcome *all, rank ranks[], size_t count)
{
    const comparison start = compare(all, all);
    size_t out = 0;
    qsort(ranks, count, sizeof *ranks, by_cost);
    for (size_t i = 0; i < count; i++) {
        const constant *const c = &constants[ranks[i].at];
        double *const value = member(&set->profile, c), kept = *value;
        outcome now = {NULL, 0};
        *value = c->without;
        const int good = ask(&set->records, &set->profile, &now);
        const comparison is = compare(all, &now);
        free(now.ratios);
        if (!good)
            return 0;
        if (is.both > 0 && is.lost * 50 <= is.both && is.after <= is.before * (1 + set->tolerance) &&
            is.worst <= start.worst)
            out++;
        else
            *value = kept;
    }
    printf("\n%zu of %zu constants can go, one after the other, with the mean within %g; these are left:\n", out, count,
           set->tolerance);
    for (size_t i = 0; i < CONSTANTS; i++)
        for (size_t r = 0; r < count; r++)
            if (ranks[r].at == i && *member(&set->profile, &constants[i]) != constants[i].without)
                printf("  %s\n", constants[i].name);
    return 1;
}

static int print_regret(const char *title, const lab_records *records, const tsr_profile *before,
                        const tsr_profile *after)
{
    outcome first = {NULL, 0}, second = {NULL, 0};
    const int good = ask(records, before, &first) && ask(records, after, &second);
    if (good) {
        const comparison was = compare(&first, &first), is = compare(&first, &second);
        printf("%s: %zu problems, regret %.4f, worst %.3f; with what is left %.4f, worst %.3f (%zu changed, %zu not "
               "measured)\n",
               title, was.both, was.after, was.worst, is.after, is.worst, is.changed, is.lost);
    }
    free(first.ratios);
    free(second.ratios);
    return good;
}

/* What a search lowers; INFINITY after an error. */
static double loss_of(const settings *set)
{
    enum { NOT_MEASURED_PERCENT = 110 };
    outcome now = {NULL, 0};
    double logs = 0, worst = 1;
    if (!ask(&set->records, &set->profile, &now) || now.count == 0) {
        free(now.ratios);
        return INFINITY;
    }
    for (size_t i = 0; i < now.count; i++) {
        const double ratio = isnan(now.ratios[i]) ? NOT_MEASURED_PERCENT / 100. : now.ratios[i];
        logs += log(ratio);
        worst = fmax(worst, ratio);
    }
    const double loss = logs / (double)now.count + log(worst) / 5;
    free(now.ratios);
    return loss;
}

static int search(settings *set)
{
    static const double factors[] = {0.5, 0.7, 0.85, 0.95, 1.05, 1.15, 1.4, 2};
    double least = loss_of(set);
    int improved = isfinite(least);
    while (improved) {
        improved = 0;
        for (size_t i = 0; i < set->searched; i++) {
            double *const value = member(&set->profile, set->search[i]), kept = *value;
            double best = kept;
            for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
                *value = kept * factors[f];
                const double loss = loss_of(set);
                if (loss < least - 1e-5) {
                    least = loss;
                    best = *value;
                    improved = 1;
                }
            }
            *value = best;
        }
        printf("loss %.5f:", least);
        for (size_t i = 0; i < set->searched; i++)
            printf(" %s=%g", set->search[i]->name, *member(&set->profile, set->search[i]));
        puts("");
        fflush(stdout);
    }
    return isfinite(least);
}

int main(int count, char **words)
{
    static settings set = {.profile = {0}, .tolerance = 0.001};
    static rank ranks[CONSTANTS];
    outcome all = {NULL, 0};
    set.profile = *tsr_profile_h200;
    enum { USAGE = 2 };
    if (!parse(count, words, &set))
        return USAGE;
    int good = ask(&set.records, &set.profile, &all);
    const tsr_profile given = set.profile;
    if (good && set.searched > 0) {
        good = search(&set) && print_regret("these", &set.records, &given, &set.profile) &&
               (set.unseen.count == 0 || print_regret("unseen", &set.unseen, &given, &set.profile));
    } else if (good) {
        const comparison is = compare(&all, &all);
        printf("%zu problems judged, regret %.4f, worst %.3f\n\n", is.both, is.after, is.worst);
        const size_t asked = ablate(&set, &all, ranks);
        good = asked > 0 && reduce(&set, &all, ranks, asked) &&
               print_regret("\nthese", &set.records, &given, &set.profile) &&
               (set.unseen.count == 0 || print_regret("unseen", &set.unseen, &given, &set.profile));
    }
    free(all.ratios);
    free(set.records.items);
    free(set.unseen.items);
    return good ? 0 : 1;
}
