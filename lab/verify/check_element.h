/* One element of D against the truth. */
#ifndef LAB_CHECK_ELEMENT_H
#define LAB_CHECK_ELEMENT_H

#include "lab/verify/reference.h"

typedef struct lab_rule {
    double c;        /* the config's constant */
    double u;        /* unit roundoff of its accumulator */
    tsr_dtype dtype; /* of D */
    int exact;       /* the truth must be met to the bit: inputs whose sums round nowhere */
    int saturates;   /* what is beyond a type of 8-bit floats is the largest of its numbers */
    double least;    /* error of all roundings together that are below its normal numbers, where u says nothing */
} lab_rule;

typedef struct lab_check {
    int ok;
    double error, bound; /* |got - truth| and what is allowed; NAN where the truth is no finite number */
    double ratio;    /* error / bound; 0 where both are 0 or there is no bound; infinite where only the bound is 0 */
    double c_needed; /* the smallest c with which it would pass */
} lab_check;

/* Half the distance between an accumulator's smallest numbers, those below its normal ones, times `roundings`. */
double lab_rule_least(tsr_compute compute, double roundings);

/* The unit roundoff that a kernel's bound counts in: of its sums, or of f32 where sums in s32 become floats. */
double lab_rule_roundoff(tsr_compute compute, tsr_dtype dtype);

/* |got - truth| <= c u size + least, plus half an ulp of D's dtype where that is coarser than the accumulator: the rule
 * of core/config.h. NaN and infinities must be met as they are; what overflows D's dtype must be its infinity, its NaN
 * if there is none, or its largest number. Where the truth is as near to the end of the range as the bound of the sum,
 * both sides of it are right. */
lab_check lab_check_element(const lab_rule *rule, double got, const lab_reference_element *truth);

/* 1 if `got` is what becomes of a sum that may have been infinite on its way: kernels add in a type whose largest
 * number is `largest` before they multiply by alpha, in whatever order. Inputs are finite. */
int lab_is_overflow(const lab_rule *rule, double largest, double got, const lab_reference_element *truth);

#endif
