/* What commands print: tables, JSON lines and progress. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include "cli/args.h"

enum { CLI_FORMAT_TABLE, CLI_FORMAT_JSON }; /* of the choices "table|json" */

/* Flushes stdout. `code` if all that was printed got out, else CLI_FAILED with a message (a full disk, say). */
int cli_finish_output(const cli_command *command, int code);

/* ---- tables ---------------------------------------------------------------------------------------------------------
 */

/* Columns where the output is no terminal, and the fewest and most that are filled of one. */
enum { CLI_TABLE_COLUMNS = 16, CLI_COLUMNS = 100, CLI_COLUMNS_MIN = 60, CLI_COLUMNS_MAX = 160 };

/* Columns to fill: $COLUMNS where it is set, else the terminal's on stdout, else CLI_COLUMNS. */
int cli_columns(void);
/* 1 if there is a width to keep to: $COLUMNS is set, or stdout is a terminal. Elsewhere rows of tables stay lines. */
int cli_has_columns(void);

/* Rows of text cells, printed aligned. Where they are wider than cli_columns(), the widest cells of left-aligned
 * columns are wrapped by words. Where that does not do on a terminal (cli_has_columns), a left-aligned first column,
 * which names the rows, has lines of its own, above the rest of its row. */
typedef struct cli_table {
    size_t columns, rows;
    char **cells;                  /* rows x columns, row 0 is the head */
    char align[CLI_TABLE_COLUMNS]; /* 'l' or 'r'; 'L': left and never wrapped */
    int out_of_memory;
} cli_table;

/* `align` has one character for each column, "lrr"; the headings follow, one const char * for each. */
void cli_table_begin(cli_table *table, const char *align, ...);
/* One more row, one const char * for each column; the texts are copied. */
void cli_table_row(cli_table *table, ...);
/* Prints and frees; a table without rows below its head prints nothing. 0 if memory ran out: then nothing is printed
 * either. */
int cli_table_end(cli_table *table, FILE *to, int indent);

/* Formats into `out` and returns it, for cells. */
const char *cli_text(char *out, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define CLI_CELL(...) cli_text((char[160]){0}, 160, __VA_ARGS__)

/* A time with its unit, 3 significant digits: "12.3 us"; a count with K, M, G, T (1000) or Ki, Mi, Gi (1024) before
 * `unit`: "80 GiB". */
const char *cli_time_text(char out[32], double ns);
const char *cli_bytes_text(char out[32], double bytes);
const char *cli_rate_text(char out[32], double per_second, const char *unit); /* "-" where there is no number */
/* The same without a unit, "234 G", for columns whose head has it. */
const char *cli_short_rate(char out[32], double per_second);

/* Prints `text` from column `at` on, wrapped at cli_columns(); further lines start at column `indent`. A newline in the
 * text is kept; one is added at the end. */
void cli_print_wrapped(FILE *to, const char *text, int at, int indent);

/* ---- JSON
 * ------------------------------------------------------------------------------------------------------------ */

/* One object on one line. Numbers keep all their digits; what is no finite number becomes null, as does a NULL text. */
typedef struct cli_json {
    FILE *to;
    int fields; /* written so far at this level */
} cli_json;

cli_json cli_json_begin(FILE *to);
void cli_json_text(cli_json *json, const char *key, const char *value);
void cli_json_int(cli_json *json, const char *key, int64_t value);
void cli_json_number(cli_json *json, const char *key, double value);
void cli_json_bool(cli_json *json, const char *key, int value);
void cli_json_null(cli_json *json, const char *key);
void cli_json_end(cli_json *json); /* closes the object and the line */

/* ---- progress
 * ---------------------------------------------------------------------------------------------------------- */

/* A line on stderr that says what goes on, with the seconds so far; only on a terminal, and only once the work has
 * taken two seconds. A thread of its own keeps it alive, so that a long call needs no help. */
typedef struct cli_progress cli_progress;

cli_progress *cli_progress_begin(void); /* NULL where there is no terminal; the calls below take that */
void cli_progress_say(cli_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Clears the line, so that something else can be printed; the next say or second shows it again. */
void cli_progress_clear(cli_progress *progress);
void cli_progress_end(cli_progress *progress); /* clears the line */

#endif
