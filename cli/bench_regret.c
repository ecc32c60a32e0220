#include "cli/bench_regret.h"

#include <inttypes.h>

#include "cli/output.h"

static void put_line(cli_table *table, const lab_regret_line *line)
{
    const lab_record *at = line->first;
    const unsigned flags = lab_regret_flags(at);
    const int is_best = line->chosen == line->fastest;
    char batch[24] = "";
    if (at->batch != 1)
        snprintf(batch, sizeof batch, " x%" PRId64, at->batch);
    cli_table_row(table, CLI_CELL("%" PRId64 " x %" PRId64 " x %" PRId64 "%s", at->m, at->n, at->k, batch),
                  CLI_CELL("%s %s%s", at->dtype, at->layout,
                           flags & TSR_SPARSE24_A   ? " A 2:4"
                           : flags & TSR_SPARSE24_B ? " B 2:4"
                                                    : ""),
                  CLI_CELL("%zu", line->rows), line->choice[0] != '\0' ? line->choice : "none applies",
                  line->chosen != NULL ? CLI_CELL("%.2f", line->chosen->time_us) : "-",
                  is_best ? "" : line->fastest->kernel, is_best ? "" : CLI_CELL("%.2f", line->fastest->time_us),
                  line->chosen != NULL ? CLI_CELL("%.3f", lab_regret_ratio(line)) : "not measured");
}

int cli_regret_print(const lab_regret *regret, FILE *to)
{
    cli_table table;
    cli_table_begin(&table, "lLrlrlrr", "M x N x K", "type", "configs", "chosen", "us", "fastest", "us", "regret");
    for (size_t i = 0; i < regret->count; i++)
        put_line(&table, &regret->lines[i]);
    const int whole = cli_table_end(&table, to, 0);
    if (regret->count == 0)
        fputs("no problem on a known GPU has two configs measured\n", to);
    if (regret->judged > 0)
        fprintf(to, "\n%zu of %zu problems judged: geometric mean %.3f, worst %.3f\n", regret->judged, regret->count,
                regret->mean, regret->worst);
    return whole;
}
