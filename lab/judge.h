/* One element of D against the truth. */
#ifndef LAB_JUDGE_H
#define LAB_JUDGE_H

#include "lab/reference.h"

typedef struct lab_rule {
    double c;        /* the row's constant */
    double u;        /* unit roundoff of its accumulator */
    tsr_dtype dtype; /* of D */
    int exact;       /* the truth must be met to the bit: inputs whose sums round nowhere */
} lab_rule;

typedef struct lab_judgement {
    int ok;
    double error, bound; /* |got - truth| and what is allowed; NAN where the truth is no finite number */
    double ratio;    /* error / bound; 0 where both are 0 or there is no bound; infinite where only the bound is 0 */
    double c_needed; /* the smallest c with which it would pass */
} lab_judgement;

/* |got - truth| <= c u size, plus half an ulp of D's dtype where that is coarser than the accumulator: the rule of
 * core/row.h. NaN and infinities must be met as they are; what overflows D's dtype must be its infinity. */
lab_judgement lab_judge(const lab_rule *rule, double got, const lab_reference_element *truth);

#endif
