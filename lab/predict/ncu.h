/* What Nsight Compute measures of one kernel: this program is run again, under ncu. */
#ifndef LAB_NCU_H
#define LAB_NCU_H

#include <stddef.h>

#include "lab/predict/predict.h"

/* Runs `arguments` (ends with NULL; the first is a program's path), which launches one kernel, under ncu, and reads its
 * numbers; what ncu does not give is NAN. TSR_UNSUPPORTED, with ncu's own words, where there is no ncu or it may not
 * read the GPU's counters. */
tsr_status lab_ncu_run(const char *const *arguments, lab_eight *out, double *ns);

/* The same from the text that ncu printed (--csv --page raw --print-units base): the numbers of the last launch in it.
 * 0 if there is none. Changes the text. */
int lab_ncu_parse(char *text, lab_eight *out, double *ns);

#endif
