/* Tables, wrapped text, JSON lines. */
#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lab/bench/report.h"

int cli_finish_output(const cli_command *command, int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    return cli_failure(command, "cannot write to the standard output: %s", errno ? strerror(errno) : "write error");
}

const char *cli_text(char *out, size_t bytes, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(out, bytes, format, list);
    va_end(list);
    return out;
}

/* Three significant digits, never an exponent: 0.123, 1.23, 12.3, 123, 1234. */
static void three_digits(char out[32], double value, const char *unit)
{
    double size = fabs(value);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    snprintf(out, 32, "%.*f %s", decimals, value, unit);
}

const char *cli_time_text(char out[32], double ns)
{
    if (ns < 999.5)
        three_digits(out, ns, "ns");
    else if (ns < 999.5e3)
        three_digits(out, ns / 1e3, "us");
    else if (ns < 999.5e6)
        three_digits(out, ns / 1e6, "ms");
    else
        three_digits(out, ns / 1e9, "s");
    return out;
}

const char *cli_bytes_text(char out[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        unit++;
    }
    if (bytes == floor(bytes) && bytes < 1024)
        snprintf(out, 32, "%.0f %s", bytes, units[unit]);
    else
        three_digits(out, bytes, units[unit]);
    return out;
}

const char *cli_rate_text(char out[32], double per_second, const char *unit)
{
    if (!isfinite(per_second)) {
        snprintf(out, 32, "-");
        return out;
    }
    static const char *const prefixes[] = {"", "K", "M", "G", "T", "P"};
    size_t prefix = 0;
    char with_prefix[24];
    while (per_second >= 999.5 && prefix + 1 < sizeof prefixes / sizeof prefixes[0]) {
        per_second /= 1000;
        prefix++;
    }
    snprintf(with_prefix, sizeof with_prefix, "%s%s", prefixes[prefix], unit);
    three_digits(out, per_second, with_prefix);
    return out;
}

const char *cli_short_rate(char out[32], double per_second)
{
    cli_rate_text(out, per_second, "");
    const size_t length = strlen(out);
    if (length && out[length - 1] == ' ')
        out[length - 1] = '\0';
    return out;
}

/* ---- wrapping -------------------------------------------------------------------------------------------------------
 */

int cli_columns(void)
{
    const char *said = getenv("COLUMNS");
    struct winsize size;
    long columns = said ? strtol(said, NULL, 10) : 0;
    if (columns <= 0 && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (columns <= 0)
        return CLI_COLUMNS;
    return columns < CLI_COLUMNS_MIN ? CLI_COLUMNS_MIN : columns > CLI_COLUMNS_MAX ? CLI_COLUMNS_MAX : (int)columns;
}

int cli_has_columns(void)
{
    return getenv("COLUMNS") || isatty(STDOUT_FILENO);
}

void cli_print_wrapped(FILE *to, const char *text, int at, int indent)
{
    const int columns = cli_columns();
    int column = at;
    while (*text) {
        if (*text == '\n') {
            fprintf(to, "\n%*s", text[1] && text[1] != '\n' ? indent : 0, "");
            column = indent;
            text++;
            continue;
        }
        int blanks = (int)strspn(text, " ");
        int word = (int)strcspn(text + blanks, " \n");
        if (column + blanks + word > columns && column > indent) {
            fprintf(to, "\n%*s%.*s", indent, "", word, text + blanks);
            column = indent + word;
        } else {
            fprintf(to, "%.*s", blanks + word, text);
            column += blanks + word;
        }
        text += blanks + word;
    }
    fputc('\n', to);
}

/* ---- tables ---------------------------------------------------------------------------------------------------------
 */

static void add_row(cli_table *table, va_list list)
{
    size_t used = table->rows * table->columns;
    char **cells = table->out_of_memory ? NULL : realloc(table->cells, (used + table->columns) * sizeof *cells);
    if (!cells) {
        table->out_of_memory = 1;
        return;
    }
    table->cells = cells;
    for (size_t i = 0; i < table->columns; i++) {
        cells[used + i] = strdup(va_arg(list, const char *));
        table->out_of_memory |= !cells[used + i];
    }
    table->rows++;
}

void cli_table_begin(cli_table *table, const char *align, ...)
{
    va_list list;
    memset(table, 0, sizeof *table);
    table->columns = strlen(align);
    if (table->columns > CLI_TABLE_COLUMNS)
        table->columns = CLI_TABLE_COLUMNS;
    memcpy(table->align, align, table->columns);
    va_start(list, align);
    add_row(table, list);
    va_end(list);
}

void cli_table_row(cli_table *table, ...)
{
    va_list list;
    va_start(list, table);
    add_row(table, list);
    va_end(list);
}

/* What of the text fits `width` columns, broken between words; at least a word. */
static int line_length(const char *text, int width)
{
    int length = 0;
    while (text[length] && text[length] != '\n') {
        const int blanks = (int)strspn(text + length, " ");
        const int word = (int)strcspn(text + length + blanks, " \n");
        if (length > 0 && length + blanks + word > width)
            break;
        length += blanks + word;
    }
    return length;
}

/* One line of a row: takes it off each cell. Padding is printed only before something, so that lines have no blanks at
 * their end. 0 if nothing is left. */
static int print_line(const cli_table *table, const char **rest, const int *widths, FILE *to, int indent)
{
    int at = 0, column = indent, is_left = 0; /* printed so far; where the cell begins */
    for (size_t i = 0; i < table->columns; i++) {
        const int length = line_length(rest[i], widths[i]);
        const int begin = column + (table->align[i] == 'r' ? widths[i] - length : 0);
        if (length) {
            fprintf(to, "%*s%.*s", begin - at, "", length, rest[i]);
            at = begin + length;
        }
        rest[i] += length;
        rest[i] += *rest[i] == '\n' ? 1 : (int)strspn(rest[i], " ");
        is_left |= *rest[i] != '\0';
        column += widths[i] + 2;
    }
    fputc('\n', to);
    return is_left;
}

static void print_row(const cli_table *table, char *const *cells, const int *widths, FILE *to, int indent)
{
    const char *rest[CLI_TABLE_COLUMNS];
    for (size_t i = 0; i < table->columns; i++)
        rest[i] = cells[i];
    while (print_line(table, rest, widths, to, indent))
        ;
}

/* Columns that the longest line of the cell takes, and its longest word. */
static void measure_cell(const char *cell, int *line, int *word)
{
    for (int in_line = 0, in_word = 0; *cell; cell++) {
        in_line = *cell == '\n' ? 0 : in_line + 1;
        in_word = *cell == '\n' || *cell == ' ' ? 0 : in_word + 1;
        *line = in_line > *line ? in_line : *line;
        *word = in_word > *word ? in_word : *word;
    }
}

/* Widths of the columns: the widest that can be wrapped give way until all fit, as far as their words allow. The
 * first one, which names the rows, stays whole. 0 if they are still too wide. */
static int find_widths(const cli_table *table, int indent, int widths[CLI_TABLE_COLUMNS])
{
    enum { WRAPPED_MIN = 8 };
    int least[CLI_TABLE_COLUMNS] = {0}, total = indent - 2;
    for (size_t i = 0; i < table->rows * table->columns; i++)
        measure_cell(table->cells[i], &widths[i % table->columns], &least[i % table->columns]);
    for (size_t i = 0; i < table->columns; i++) {
        least[i] = i == 0 || table->align[i] != 'l' ? widths[i] : least[i] < WRAPPED_MIN ? WRAPPED_MIN : least[i];
        total += widths[i] + 2;
    }
    for (int excess = total - cli_columns(); excess > 0; excess--) {
        size_t widest = table->columns;
        for (size_t i = 0; i < table->columns; i++)
            if (widths[i] > least[i] && (widest == table->columns || widths[i] >= widths[widest]))
                widest = i;
        if (widest == table->columns)
            return 0;
        widths[widest]--;
    }
    return 1;
}

/* The name of a row on a line of its own, the rest below it. */
static void print_stacked(const cli_table *table, char *const *cells, const int *widths, FILE *to, int indent)
{
    char *rest[CLI_TABLE_COLUMNS] = {(char[]){""}};
    fprintf(to, "%*s%s\n", indent, "", cells[0]);
    memcpy(rest + 1, cells + 1, (table->columns - 1) * sizeof *rest);
    size_t empty = 1;
    while (empty < table->columns && !*rest[empty])
        empty++;
    if (empty < table->columns)
        print_row(table, rest, widths, to, indent);
}

static void drop(cli_table *table)
{
    for (size_t i = 0; i < table->rows * table->columns; i++)
        free(table->cells[i]);
    free(table->cells);
    memset(table, 0, sizeof *table);
}

int cli_table_end(cli_table *table, FILE *to, int indent)
{
    int widths[CLI_TABLE_COLUMNS] = {0};
    const int good = !table->out_of_memory;
    const int fits = !good || find_widths(table, indent, widths);
    const int is_stacked = !fits && cli_has_columns() && table->columns > 1 && table->align[0] == 'l';
    if (is_stacked)
        widths[0] = 0;
    for (size_t row = 0; row < table->rows && good && table->rows > 1; row++)
        (is_stacked ? print_stacked : print_row)(table, table->cells + row * table->columns, widths, to, indent);
    drop(table);
    return good;
}

/* ---- JSON
 * ------------------------------------------------------------------------------------------------------------ */

static void put_key(cli_json *json, const char *key)
{
    if (json->fields++)
        fputs(", ", json->to);
    lab_json_string(json->to, key);
    fputs(": ", json->to);
}

cli_json cli_json_begin(FILE *to)
{
    cli_json json = {to, 0};
    fputc('{', to);
    return json;
}

void cli_json_text(cli_json *json, const char *key, const char *value)
{
    put_key(json, key);
    if (value)
        lab_json_string(json->to, value);
    else
        fputs("null", json->to);
}

void cli_json_int(cli_json *json, const char *key, int64_t value)
{
    put_key(json, key);
    fprintf(json->to, "%" PRId64, value);
}

void cli_json_number(cli_json *json, const char *key, double value)
{
    put_key(json, key);
    lab_json_number(json->to, value);
}

void cli_json_bool(cli_json *json, const char *key, int value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->to);
}

void cli_json_null(cli_json *json, const char *key)
{
    put_key(json, key);
    fputs("null", json->to);
}

void cli_json_end(cli_json *json)
{
    fputs("}\n", json->to);
}
