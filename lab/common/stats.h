/* Statistics of timings. Functions that take const arrays copy what they must sort. */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Quantile 0 <= q <= 1 by linear interpolation between order statistics; NAN for no values, or when memory runs out. */
double lab_quantile(const double *values, size_t count, double q);
double lab_median(const double *values, size_t count);

/* 1.4826 x the median distance from the median, divided by the median: the standard deviation, relative, of a normal
 * sample, but unmoved by a few outliers. 0 for one value. */
double lab_spread(const double *values, size_t count);

typedef struct lab_interval {
    double lo, mid, hi;
} lab_interval;

/* median(over) / median(under) with a 95% interval: percentile bootstrap that draws whole rounds, so that what struck
 * both in one round stays together (Efron and Tibshirani, An Introduction to the Bootstrap, ch. 13). over[i] and
 * under[i] come from the same round. With fewer than 5 rounds lo and hi are NAN: too few to say. */
lab_interval lab_ratio_of_medians(const double *over, const double *under, size_t rounds, uint64_t seed);

/* The ratio of medians of two samples that were taken apart from each other (other rounds, other runs), given the two
 * ratios' own intervals: conservative, lo/hi and hi/lo. */
lab_interval lab_interval_divide(lab_interval over, lab_interval under);

/* Median of one sample with its 95% bootstrap interval. */
lab_interval lab_median_interval(const double *values, size_t count, uint64_t seed);

#endif
