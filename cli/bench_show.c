/* Ladders and regret of `tessera bench`, of what was just measured or of an old file. */
#include <stdlib.h>

#include "cli/api_error.h"
#include "cli/bench.h"
#include "cli/bench_ladder.h"
#include "cli/bench_regret.h"
#include "cli/out_file.h"

int cli_bench_is_ladder(const cli_bench_settings *set)
{
    return set->format == CLI_BENCH_LADDER || set->format == CLI_BENCH_SVG;
}

int cli_bench_is_whole(const cli_bench_settings *set)
{
    return cli_bench_is_ladder(set) || set->format == CLI_BENCH_REGRET;
}

static int show_regret(const lab_record *records, size_t count, FILE *to)
{
    lab_regret regret;
    const int good = lab_regret_of(records, count, NULL, &regret) == TSR_OK && cli_regret_print(&regret, to);
    lab_regret_free(&regret);
    return good;
}

static int show_ladders(const lab_record *records, size_t count, FILE *to)
{
    lab_ladder *ladder = malloc(sizeof *ladder);
    for (size_t i = 0; ladder && i < count; i++)
        if (lab_ladder_is_new(records, i)) {
            lab_ladder_make(records, count, i, ladder);
            cli_ladder_print(ladder, to);
        }
    free(ladder);
    return ladder != NULL;
}

int cli_bench_show_records(const cli_bench_settings *set, const lab_record *records, size_t count, FILE *to)
{
    if (set->format == CLI_BENCH_REGRET)
        return show_regret(records, count, to);
    return set->format == CLI_BENCH_SVG ? count == 0 || cli_ladder_draw(records, count, to)
                                        : show_ladders(records, count, to);
}

static int show_old(const cli_bench_session *common, const lab_records *old)
{
    const cli_bench_settings *set = common->set;
    cli_out_file out;
    if (old->count == 0)
        return cli_failure(common->self, "%s: holds no results", set->from);
    int code = cli_out_open(common->self, set->out, &out);
    if (code != CLI_CONTINUE)
        return code;
    code = cli_bench_show_records(set, old->items, old->count, out.to) ? CLI_OK : cli_api_failure(common->self);
    return cli_out_close(common->self, &out, code);
}

int cli_bench_show(const cli_bench_session *common)
{
    const cli_bench_settings *set = common->set;
    lab_records old;
    if (set->compare || set->kernels.count || set->sizes || set->shapes || set->dtypes.count || set->layouts.count ||
        set->peers || set->instances || set->types.b || set->types.d || set->types.compute || set->graph ||
        set->random || set->scales || set->sparse >= 0 || set->replay || set->batch > 1 || set->epilogue ||
        set->beta != 0 || set->batch_invariant)
        return cli_usage_error(common->self, "--from measures nothing: only --format and --out go with it");
    if (!cli_bench_is_whole(set))
        return cli_usage_error(common->self, "--from shows a ladder, an svg or regret");
    if (lab_records_read(set->from, &old) != TSR_OK)
        return cli_api_failure(common->self);
    const int code = show_old(common, &old);
    lab_records_free(&old);
    return code;
}
