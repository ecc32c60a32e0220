/* How well the library chose, as a table. */
#ifndef CLI_BENCH_REGRET_H
#define CLI_BENCH_REGRET_H

#include <stdio.h>

#include "lab/bench/regret.h"

/* A line for each problem, then the mean and the worst. 0 if memory ran out. */
int cli_regret_print(const lab_regret *regret, FILE *to);

#endif
