/* Tables, wrapped text, JSON lines. */
#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report.h"

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

/* ---- wrapping -------------------------------------------------------------------------------------------------------
 */

void cli_print_wrapped(FILE *to, const char *text, int at, int indent)
{
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
        if (column + blanks + word > CLI_COLUMNS && column > indent) {
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

/* Padding is printed only before something, so that lines have no blanks at their end. */
static void print_row(const cli_table *table, char *const *cells, const int *widths, FILE *to, int indent)
{
    int at = 0, column = indent; /* printed so far; where the cell begins */
    for (size_t i = 0; i < table->columns; i++) {
        const int length = (int)strlen(cells[i]), last = i + 1 == table->columns;
        const int begin = column + (table->align[i] == 'r' ? widths[i] - length : 0);
        if (length)
            fprintf(to, "%*s", begin - at, "");
        if (last && table->align[i] == 'l' && length) {
            cli_print_wrapped(to, cells[i], begin, begin);
            return;
        }
        fputs(cells[i], to);
        at = length ? begin + length : at;
        column += widths[i] + 2;
    }
    fputc('\n', to);
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
    int widths[CLI_TABLE_COLUMNS] = {0}, good = !table->out_of_memory;
    size_t count = table->rows * table->columns;
    for (size_t i = 0; i < count && good; i++)
        if ((int)strlen(table->cells[i]) > widths[i % table->columns])
            widths[i % table->columns] = (int)strlen(table->cells[i]);
    for (size_t row = 0; row < table->rows && good && table->rows > 1; row++)
        print_row(table, table->cells + row * table->columns, widths, to, indent);
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
