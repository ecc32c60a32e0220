/* CTAs of one launch that do alike. With one CTA for each tile of D there are four kinds at most: inside, at the lower
 * edge, at the right one, and in the corner between them. A problem of two by two tiles has one of each. */
#ifndef LAB_COUNT_KINDS_H
#define LAB_COUNT_KINDS_H

#include "core/config.h"
#include "lab/predict/counters.h"

enum { LAB_KINDS = 4 };

typedef struct lab_cta_kinds {
    int count;
    double stored_bytes[LAB_KINDS]; /* of D, by a CTA of the kind: its name */
    double weight[LAB_KINDS];       /* how many of the launch each CTA of the small problem stands for */
    long long ctas;                 /* of the launch */
} lab_cta_kinds;

/* Makes `small` of `desc`: as many configs and columns of tiles as it has kinds, configs as far apart as they were.
 * `config` is the one that runs it. 0 if its CTAs are not of this kind: with clusters, or walking over tiles. */
int lab_cta_kinds_of(const tsr_config *config, const tsr_gemm_desc *desc, tsr_gemm_desc *small, lab_cta_kinds *out);

/* How many CTAs one stands for that stored so many bytes; 0: it is of no kind. */
double lab_cta_kinds_weight(const lab_cta_kinds *kinds, double stored_bytes);

#endif
