/* What the files of explain's text share. */
#ifndef CLI_EXPLAIN_TEXT_H
#define CLI_EXPLAIN_TEXT_H

#include "cli/explain.h"

enum { CLI_TEXT_BYTES = 2048 };

/* A text that grows to at most CLI_TEXT_BYTES with its end, the rest is cut off. */
typedef struct cli_text_line {
    char *out;
    size_t used;
} cli_text_line;

void cli_text_put(cli_text_line *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The accesses of a phase, a line for each place in the source. 0 if memory ran out. */
int cli_explain_accesses(const lab_lesson *lesson, const cli_explain_view *view, int phase, FILE *to);

#endif
