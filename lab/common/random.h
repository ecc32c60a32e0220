/* Seeded random numbers: xoshiro256** (Blackman and Vigna, 2018), state from splitmix64, normals by Box and Muller
 * (1958). The same seed gives the same numbers on every machine with the same C library, for any number of threads. */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include "tessera.h"

typedef struct lab_random {
    uint64_t s[4];
    double spare; /* the second normal of a pair */
    int has_spare;
} lab_random;

/* `stream` gives independent sequences of one seed. */
lab_random lab_random_make(uint64_t seed, uint64_t stream);
uint64_t lab_random_u64(lab_random *random);
/* 0 <= result < bound, without bias; bound > 0. */
uint64_t lab_random_below(lab_random *random, uint64_t bound);
double lab_random_unit(lab_random *random); /* [0, 1), 53 bits */
double lab_random_normal(lab_random *random);

typedef enum lab_fill_kind {
    LAB_FILL_NORMAL,   /* mean 0, deviation 1; integer dtypes: rounded, deviation 20 */
    LAB_FILL_INTEGERS, /* whole numbers of magnitude <= limit (unsigned: 0..limit) */
    LAB_FILL_SPECIAL,  /* normal, and about one in `limit` a NaN or an infinity where the dtype has them */
    LAB_FILL_NAN,      /* quiet NaNs; the lowest value of integer dtypes */
    LAB_FILL_ZERO
} lab_fill_kind;

/* Fills `count` elements, in threads when there are many. */
void lab_fill(lab_fill_kind kind, double limit, tsr_dtype dtype, void *array, int64_t count, uint64_t seed);

#endif
