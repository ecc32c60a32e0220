/* tessera explain: what one block of a kernel does, phase by phase, from a run in the emulator. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/out_file.h"
#include "cli/output.h"

enum { FORMAT_TEXT, FORMAT_HTML };

typedef struct pair {
    int is_given;
    int64_t x, y;
} pair;

typedef struct settings {
    const char *kernel, *out;
    int64_t m, n, k, tile, phase, warp;
    pair block, thread;
    tsr_dtype dtype;
    int tf32;
    cli_layout layout;
    int format, all;
} settings;

/* "x,y", two whole numbers. */
static int parse_pair(const cli_option *option, const char *text, void *to, cli_message *error)
{
    cli_int_list list;
    const cli_option any = {.name = option->name, .min = 0, .max = INT32_MAX};
    cli_message unused;
    if (!cli_parse_ints(&any, text, &list, &unused) || list.count != 2)
        return cli_reject(error, "needs two whole numbers x,y, not '%s'", text);
    *(pair *)to = (pair){1, list.values[0], list.values[1]};
    return 1;
}

#define AT(field) .offset = offsetof(settings, field)
#define SIZE(option, field_, text)                                                                               \
    {                                                                                                            \
        .name = option, .value = "N", .help = text, .parse = cli_parse_int, AT(field_), .min = 1, .max = 1 << 24 \
    }
static const cli_option options[] = {
    {.name = "KERNEL", .help = "kernel or instance of it", .parse = cli_parse_kernel, AT(kernel)},
    SIZE("--m", m, "rows of A and C (default: two blocks)"),
    SIZE("--n", n, "columns of B and C (default: two blocks)"),
    SIZE("--k", k, "columns of A, rows of B (default: some steps)"),
    SIZE("--tile", tile, "the instance with tiles of N x N"),
    {.name = "--block",
     .value = "X,Y",
     .help = "which block: tile column and tile row of C (default 0,0)",
     .parse = parse_pair,
     AT(block)},
    {.name = "--thread",
     .value = "X,Y",
     .help = "one thread of the block, with all that it does",
     .parse = parse_pair,
     AT(thread)},
    {.name = "--phase",
     .value = "P",
     .help = "one phase (default all; of many the first two and the last)",
     .parse = cli_parse_int,
     AT(phase),
     .max = INT32_MAX},
    {.name = "--warp",
     .value = "W",
     .help = "whose accesses to show (default 0)",
     .parse = cli_parse_int,
     AT(warp),
     .max = 31},
    {.name = "--all", .help = "all threads, phases and sums, also where they repeat", AT(all)},
    {.name = "--dtype", .value = "T", .help = "element type (default f32)", .parse = cli_parse_dtype, AT(dtype)},
    {.name = "--tf32", .help = "products of f32 in tf32, for kernels on tensor cores", AT(tf32)},
    {.name = "--layout",
     .value = "nn|nt|tn|tt",
     .help = "t: A, or B, is stored transposed (default nn)",
     .parse = cli_parse_layout,
     AT(layout)},
    {.name = "--format",
     .value = "text|html",
     .help = "html: a page to step through, with A, B, C, shared memory and banks (default text)",
     .parse = cli_parse_choice,
     AT(format)},
    {.name = "--out",
     .once = 1,
     .value = "FILE",
     .help = "write there, whole or not at all",
     .parse = cli_parse_text,
     AT(out)},
    {0}};

/* What can only be judged once the lesson is there. */
static int check_view(const cli_command *self, const settings *set, const lab_lesson *lesson)
{
    const int warps = (lesson->threads_x * lesson->threads_y + 31) / 32;
    if (set->phase >= lesson->phases)
        return cli_usage_error(self, "--phase %lld: the last is %d", (long long)set->phase, lesson->phases - 1);
    if (set->thread.is_given && (set->thread.x >= lesson->threads_x || set->thread.y >= lesson->threads_y))
        return cli_usage_error(self, "--thread %lld,%lld: a block has %d x %d threads", (long long)set->thread.x,
                               (long long)set->thread.y, lesson->threads_x, lesson->threads_y);
    if (set->warp >= warps)
        return cli_usage_error(self, "--warp %lld: the last of a block is %d", (long long)set->warp, warps - 1);
    return CLI_CONTINUE;
}

static int write_lesson(const cli_command *self, const settings *set, const lab_lesson *lesson, FILE *to)
{
    const cli_explain_view view = {set->phase, set->thread.is_given, set->thread.x, set->thread.y, set->warp, set->all};
    const int whole = set->format == FORMAT_HTML ? cli_explain_html(lesson, to) : cli_explain_text(lesson, &view, to);
    return whole ? CLI_OK : cli_failure(self, "out of memory");
}

static int explain(const cli_command *self, const settings *set)
{
    const lab_lesson_request request = {.kernel = set->kernel,
                                        .dtype = set->dtype,
                                        .compute = set->tf32 ? TSR_COMPUTE_TF32 : TSR_COMPUTE_DEFAULT,
                                        .m = set->m,
                                        .n = set->n,
                                        .k = set->k,
                                        .tile = (int)set->tile,
                                        .trans_a = set->layout.a == TSR_T,
                                        .trans_b = set->layout.b == TSR_T,
                                        .block_x = set->block.x,
                                        .block_y = set->block.y};
    lab_lesson lesson;
    cli_progress *progress = cli_progress_begin();
    cli_progress_say(progress, "running %s in the emulator", set->kernel);
    const tsr_status status = lab_lesson_make(&request, &lesson);
    cli_progress_end(progress);
    if (status != TSR_OK)
        return cli_failure(self, "%s", tsr_last_error());
    int code = check_view(self, set, &lesson);
    cli_out_file out;
    if (code == CLI_CONTINUE)
        code = cli_out_open(self, set->out, &out);
    if (code == CLI_CONTINUE)
        code = cli_out_close(self, &out, write_lesson(self, set, &lesson, out.to));
    lab_lesson_free(&lesson);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.dtype = TSR_F32, .phase = -1};
    const int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.format == FORMAT_HTML && (set.thread.is_given || set.phase >= 0 || set.warp || set.all))
        return cli_usage_error(self, "--thread, --phase, --warp and --all are for text; the page shows all of them");
    return explain(self, &set);
}

const cli_command cli_cmd_explain = {
    "explain",
    "what one block of a kernel does, phase by phase",
    "KERNEL [options]",
    options,
    "The kernel's own code runs in the emulator; nothing is drawn from a formula. In a phase "
    "data are brought and then multiplied, with barriers in between. s12 is word 12 of the block's shared memory, in "
    "elements. Sectors are 32 bytes of global memory, "
    "wavefronts passes over the 32 banks of shared memory; \"of\" gives the fewest that would do. Accesses are those "
    "of "
    "the source: nvcc may merge neighbouring reads of one thread.",
    run};
