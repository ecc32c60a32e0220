/* The results of `tessera bench` on one screen, and as a picture. */
#ifndef CLI_BENCH_LADDER_H
#define CLI_BENCH_LADDER_H

#include <stdio.h>

#include "lab/bench/ladder.h"

/* Prints the ladder: times and rates, then speedups; at most 120 columns wide for up to four sizes. */
void cli_ladder_print(const lab_ladder *ladder, FILE *to);

/* Draws all ladders of the records as one SVG: a panel for each device and size, bars against the peer and the peak. 0
 * if memory ran out. */
int cli_ladder_draw(const lab_record *records, size_t count, FILE *to);

#endif
