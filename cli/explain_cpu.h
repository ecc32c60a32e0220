/* The CPU's kernels as text. */
#ifndef CLI_EXPLAIN_CPU_H
#define CLI_EXPLAIN_CPU_H

#include <stdio.h>

#include "lab/explain/cpu_lesson.h"

void cli_cpu_text(const lab_cpu_lesson *lesson, FILE *to);
void cli_cpu_sequential_text(const char *kernel, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int trans_a,
                             int trans_b, FILE *to);

#endif
