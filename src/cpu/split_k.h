/* K in parts, for products whose D gives few threads work and whose K is long: each part's sums go to a buffer of their
 * own, then the partial sums of an element are added in the order of K, and the epilogue is applied once.
 *
 *   task   one part of K, and one slice of D where D has room for some    as many as threads find
 *   end    a few rows of D: partial sums are added, rows are written      the same threads
 *
 * Sizes, types, layouts and instruction set alone give the parts (choose.c), and slices change no sum: bits do not
 * depend on the number of threads. */
#ifndef TSR_CPU_SPLIT_K_H
#define TSR_CPU_SPLIT_K_H

#include "cpu/job.h"

/* Sums that one task makes: rows i .. i + m, columns j .. j + n of problem z, steps p .. p + k. */
typedef struct tsr_k_part {
    long long z, i, m, j, n, p, k;
    int is_slice; /* of D, whose rows or columns are fewer than D's */
    void *sums;   /* the first; rows lie split->n apart */
} tsr_k_part;

typedef struct tsr_split_k {
    const void *job; /* of the functions below */
    tsr_device *device;
    tsr_reserve *reserve; /* of the call; NULL: none */
    int threads;
    long long m, n, k, batch;
    long long steps;            /* of K of a part, of which the last has what is left */
    long long least_m, least_n; /* rows and columns of a slice at least; those of D: it is not cut so */
    long long sum_bytes;
    tsr_status (*sum)(const void *job, const tsr_k_part *part);
    void (*add)(const void *job, void *to, const void *from, long long n);
    void (*end)(const void *job, long long z, long long row, const void *sums); /* of a row of D */
} tsr_split_k;

enum { TSR_K_PART_UNIT = 64 }; /* parts are multiples of so many steps of K, but where tiles give the blocks */

/* Steps of each of `parts` parts of K, in whole multiples. */
static inline long long tsr_part_steps(long long k, int parts, long long multiple)
{
    return tsr_round_up((k + parts - 1) / parts, multiple);
}

/* TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_split_k_run(const tsr_split_k *split);

#endif
