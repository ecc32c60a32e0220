/* What the files of `tessera explain` share. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdio.h>

#include "cli/args.h"
#include "lab/explain/lesson.h"

/* What of a lesson is told. */
typedef struct cli_explain_view {
    int64_t phase;              /* -1: all, or the first and last of many */
    int has_thread;             /* thread_x, thread_y alone, with all that it does */
    int64_t thread_x, thread_y; /* of the block */
    int64_t warp;               /* whose accesses are shown */
    int all;                    /* all phases, threads and sums, also where they repeat */
} cli_explain_view;

/* Writes the lesson as text, at most cli_columns() wide. 0 if memory ran out. */
int cli_explain_text(const lab_lesson *lesson, const cli_explain_view *view, FILE *to);

/* Writes it as one self-contained HTML page. 0 if memory ran out. */
int cli_explain_html(const lab_lesson *lesson, FILE *to);

/* "A[0,3]", "s12", "0" for element `index` of an operand. */
const char *cli_explain_element(const lab_lesson *lesson, char operand, int32_t index, char out[48]);

#endif
