/* Counters as one line of text, so that a model can be asked again about a launch that was counted once. */
#ifndef LAB_COUNTERS_TEXT_H
#define LAB_COUNTERS_TEXT_H

#include <stdio.h>

#include "lab/predict/counters.h"

/* Writes all that lab_predict reads, "name=value" with a blank between, those that are 0 left out; no line end. Numbers
 * have nine digits. */
void lab_counters_write(const lab_counters *counters, FILE *to);

/* Reads such a line; 0 if it names a counter that there is not, or has something else in it. What it does not name is
 * 0, and the instance is empty. */
int lab_counters_read(const char *line, lab_counters *out);

#endif
