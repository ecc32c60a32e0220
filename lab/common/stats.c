#include "lab/common/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/common/random.h"

#define RESAMPLES  2000
#define ROUNDS_MIN 5

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile_of_sorted(const double *sorted, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    double part = place - (double)below;
    return part > 0.0 ? sorted[below] + part * (sorted[below + 1] - sorted[below]) : sorted[below];
}

/* Sorts in place. */
static double median_in_place(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return quantile_of_sorted(values, count, 0.5);
}

double lab_quantile(const double *values, size_t count, double q)
{
    if (count == 0)
        return NAN;
    double *copy = malloc(count * sizeof *copy);
    if (copy == NULL)
        return NAN;
    memcpy(copy, values, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, compare_doubles);
    double result = quantile_of_sorted(copy, count, q);
    free(copy);
    return result;
}

double lab_median(const double *values, size_t count)
{
    return lab_quantile(values, count, 0.5);
}

double lab_spread(const double *values, size_t count)
{
    double *distances = malloc((count + 1) * sizeof *distances);
    if (distances == NULL || count == 0) {
        free(distances);
        return NAN;
    }
    double median = lab_median(values, count);
    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(values[i] - median);
    /* 1 / 0.6745, the upper quartile of the standard normal. */
    double result = 1.4826 * median_in_place(distances, count) / median;
    free(distances);
    return result;
}

/* The statistic of one resample: median(over) / median(under), or median(over) alone. Both are overwritten. */
static double ratio_in_place(double *over, double *under, size_t count)
{
    double numerator = median_in_place(over, count);
    return under == NULL ? numerator : numerator / median_in_place(under, count);
}

/* under may be NULL. */
static lab_interval bootstrap(const double *over, const double *under, size_t count, uint64_t seed)
{
    lab_interval interval = {NAN, NAN, NAN};
    if (count == 0)
        return interval;
    interval.mid = lab_median(over, count);
    if (under != NULL)
        interval.mid /= lab_median(under, count);
    double *buffer = malloc((2 * count + RESAMPLES) * sizeof *buffer);
    if (buffer == NULL || count < ROUNDS_MIN) {
        free(buffer);
        return interval;
    }
    double *drawn_over = buffer, *drawn_under = under != NULL ? buffer + count : NULL, *results = buffer + 2 * count;
    lab_random random = lab_random_make(seed, 0);
    for (size_t r = 0; r < RESAMPLES; r++) {
        for (size_t i = 0; i < count; i++) {
            size_t from = (size_t)lab_random_below(&random, count);
            drawn_over[i] = over[from];
            if (under != NULL)
                drawn_under[i] = under[from];
        }
        results[r] = ratio_in_place(drawn_over, drawn_under, count);
    }
    qsort(results, RESAMPLES, sizeof *results, compare_doubles);
    interval.lo = quantile_of_sorted(results, RESAMPLES, 0.025);
    interval.hi = quantile_of_sorted(results, RESAMPLES, 0.975);
    free(buffer);
    return interval;
}

lab_interval lab_ratio_of_medians(const double *over, const double *under, size_t rounds, uint64_t seed)
{
    return bootstrap(over, under, rounds, seed);
}

lab_interval lab_median_interval(const double *values, size_t count, uint64_t seed)
{
    return bootstrap(values, NULL, count, seed);
}

lab_interval lab_interval_divide(lab_interval over, lab_interval under)
{
    lab_interval result = {over.lo / under.hi, over.mid / under.mid, over.hi / under.lo};
    return result;
}
