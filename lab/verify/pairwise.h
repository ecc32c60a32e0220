/* Pairwise covers: few rows in which every pair of levels of every two factors occurs. Most faults show when two
 * choices meet, so this finds nearly what all combinations would, in dozens of cases instead of millions. */
#ifndef LAB_PAIRWISE_H
#define LAB_PAIRWISE_H

#include "tessera.h"

#define LAB_FACTORS_MAX 24
#define LAB_LEVELS_MAX  32

typedef struct lab_cover {
    int factors;
    size_t count;
    unsigned char (*rows)[LAB_FACTORS_MAX]; /* rows[r][f]: level of factor f in row r */
} lab_cover;

/* Builds a cover for factors with levels[f] levels each (1 to LAB_LEVELS_MAX), greedily: each row is the best of a few
 * candidates, which choose level by level what covers most (Cohen, Dalal, Fredman and Patton 1997). `seed` decides
 * ties, so that other seeds give other covers. TSR_OUT_OF_MEMORY. */
tsr_status lab_pairwise(const int *levels, int factors, uint64_t seed, lab_cover *out);
void lab_cover_free(lab_cover *cover);

#endif
