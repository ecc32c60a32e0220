/* tessera explain: what one block of a kernel does, phase by phase, from a run in the emulator. */
#include <stdio.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/explain_cpu.h"
#include "cli/explain_pipeline.h"
#include "cli/out_file.h"
#include "cli/output.h"
#include "cli/types.h"
#include "lab/common/kernel_names.h"

enum { FORMAT_TEXT, FORMAT_HTML };

typedef struct pair {
    int is_given;
    int64_t x, y;
} pair;

typedef struct settings {
    const char *kernel, *out;
    int64_t m, n, k, tile, phase, warp, cta;
    pair block, thread;
    lab_types types; /* of A, TSR_DTYPE_NONE: not given */
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

/* A kernel or instance, "wgmma-skinny" for "wgmma_skinny" too, with or without a schedule: "wgmma@stream-k=3/2". */
static int parse_explained(const cli_option *option, const char *text, void *to, cli_message *error)
{
    static char name[CLI_NAME_MAX];
    cli_message unused;
    for (int attempt = 0; attempt < 3 && strlen(text) < sizeof name; attempt++) {
        memcpy(name, text, strlen(text) + 1);
        for (size_t i = 0; i < strcspn(text, "@") && attempt > 0; i++)
            if (name[i] == (attempt == 1 ? '-' : '_'))
                name[i] = attempt == 1 ? '_' : '-';
        if (cli_parse_kernel(option, name, to, &unused))
            return 1;
    }
    return cli_parse_kernel(option, text, to, error);
}

#define AT(field) .offset = offsetof(settings, field)
#define SIZE(option, field_, text)                                                                               \
    {                                                                                                            \
        .name = option, .value = "N", .help = text, .parse = cli_parse_int, AT(field_), .min = 1, .max = 1 << 24 \
    }
static const cli_option options[] = {
    {.name = "KERNEL",
     .help = "kernel or instance of it, with a schedule behind an @ where it has several: wgmma@stream-k=3/2",
     .parse = parse_explained,
     AT(kernel)},
    SIZE("--m", m, "rows of A and C (default: two blocks)"),
    SIZE("--n", n, "columns of B and C (default: two blocks)"),
    SIZE("--k", k, "columns of A, rows of B (default: some steps)"),
    SIZE("--tile", tile, "the instance with tiles of N x N"),
    {.name = "--block",
     .value = "X,Y",
     .help = "which block: tile column and tile row of C (default 0,0)",
     .parse = parse_pair,
     AT(block)},
    {.name = "--cta",
     .value = "N",
     .help = "which CTA of a kernel with a pipeline, in place of --block",
     .parse = cli_parse_int,
     AT(cta),
     .max = INT32_MAX},
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
    CLI_TYPES_OPTIONS(settings, types,
                      "element type (default f32 where the kernel computes in f32, else the first that it takes)"),
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

static int write_pipeline(const cli_command *self, const settings *set, const lab_pipeline *pipeline)
{
    cli_out_file out;
    if (set->thread.is_given || set->phase >= 0 || set->warp)
        return cli_usage_error(self, "--thread, --phase and --warp: %s is told as a pipeline", pipeline->kernel);
    const int code = cli_out_open(self, set->out, &out);
    if (code != CLI_CONTINUE)
        return code;
    const int whole = set->format == FORMAT_HTML ? cli_pipeline_html(pipeline, out.to)
                                                 : cli_pipeline_text(pipeline, set->all, out.to);
    return cli_out_close(self, &out, whole ? CLI_OK : cli_failure(self, "out of memory"));
}

enum { CPU_SIZE = 2048, CPU_SMALL_SIZE = 256 }; /* where no size is given */

static int64_t size_or(int64_t size, int64_t otherwise)
{
    return size > 0 ? size : otherwise;
}

static int is_kernel(const char *name, const char *kernel, const char *instances)
{
    return strcmp(name, kernel) == 0 || strncmp(name, instances, strlen(instances)) == 0;
}

/* The CPU's kernels need no emulator. */
static int explain_cpu(const cli_command *self, const settings *set, int is_sequential)
{
    const tsr_dtype dtype =
        set->types.a != TSR_DTYPE_NONE ? set->types.a : lab_pipeline_dtype(set->kernel, TSR_COMPUTE_DEFAULT);
    const int64_t size = is_sequential ? CPU_SMALL_SIZE : CPU_SIZE, m = size_or(set->m, size),
                  n = size_or(set->n, size), k = size_or(set->k, size);
    const int trans_a = set->layout.a == TSR_T, trans_b = set->layout.b == TSR_T;
    lab_cpu_lesson lesson;
    cli_out_file out;
    if (set->format == FORMAT_HTML)
        return cli_usage_error(self, "--format html: %s is told as text", set->kernel);
    if (set->thread.is_given || set->phase >= 0 || set->warp || set->block.is_given || set->tile || set->cta >= 0)
        return cli_usage_error(self, "--block, --cta, --tile, --thread, --phase and --warp are for kernels of a GPU");
    if (set->types.b != TSR_DTYPE_NONE || set->types.d != TSR_DTYPE_NONE || set->types.compute != TSR_COMPUTE_DEFAULT)
        return cli_usage_error(self, "--dtype-b, --out-dtype and --compute are for kernels of a GPU");
    if (lab_cpu_kernel_check(set->kernel, dtype) != TSR_OK)
        return cli_api_failure(self);
    if (!is_sequential && lab_cpu_lesson_make(set->kernel, dtype, m, n, k, trans_a, trans_b, &lesson) != TSR_OK)
        return cli_api_failure(self);
    const int code = cli_out_open(self, set->out, &out);
    if (code != CLI_CONTINUE)
        return code;
    if (is_sequential)
        cli_cpu_sequential_text(set->kernel, dtype, m, n, k, trans_a, trans_b, out.to);
    else
        cli_cpu_text(&lesson, out.to);
    return cli_out_close(self, &out, CLI_OK);
}

static int explain(const cli_command *self, const settings *set)
{
    if (is_kernel(set->kernel, "cpu-tiled", "cpu_tiled") || is_kernel(set->kernel, "cpu-sequential", "cpu_sequential"))
        return explain_cpu(self, set, is_kernel(set->kernel, "cpu-sequential", "cpu_sequential"));
    lab_types types = set->types;
    if (types.a == TSR_DTYPE_NONE)
        types.a = lab_pipeline_dtype(set->kernel, types.compute);
    int code = cli_types_check(self, &types);
    if (code != CLI_CONTINUE)
        return code;
    char bare[CLI_NAME_MAX];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(set->kernel, "@"), set->kernel);
    types.compute = lab_kernel_compute(bare, "emu", &types);
    const lab_lesson_request request = {.kernel = set->kernel,
                                        .types = types,
                                        .m = set->m,
                                        .n = set->n,
                                        .k = set->k,
                                        .tile = (int)set->tile,
                                        .trans_a = set->layout.a == TSR_T,
                                        .trans_b = set->layout.b == TSR_T,
                                        .block_x = set->block.x,
                                        .block_y = set->block.y};
    lab_lesson lesson;
    lab_pipeline pipeline;
    int is_simple = 0;
    cli_progress *progress = cli_progress_begin();
    cli_progress_say(progress, "running %s in the emulator", set->kernel);
    tsr_status status = lab_pipeline_make(&request, set->cta, &is_simple, &pipeline);
    if (status == TSR_OK && is_simple)
        status = lab_lesson_make(&request, &lesson);
    cli_progress_end(progress);
    if (status != TSR_OK)
        return cli_api_failure(self);
    if (!is_simple) {
        const int code_of_pipeline = write_pipeline(self, set, &pipeline);
        lab_pipeline_free(&pipeline);
        return code_of_pipeline;
    }
    if (set->cta >= 0) {
        lab_lesson_free(&lesson);
        return cli_usage_error(self, "--cta: %s is told by blocks; take --block", set->kernel);
    }
    code = check_view(self, set, &lesson);
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
    settings set = {.phase = -1, .cta = -1};
    const int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.format == FORMAT_HTML && (set.thread.is_given || set.phase >= 0 || set.warp || set.all))
        return cli_usage_error(self, "--thread, --phase, --warp and --all are for text; the page shows all of them");
    if (set.cta >= 0 && set.block.is_given)
        return cli_usage_error(self,
                               "--cta %lld and --block %lld,%lld: each says which block to explain; take one of them",
                               (long long)set.cta, (long long)set.block.x, (long long)set.block.y);
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
    "the source: nvcc may merge neighbouring reads of one thread. Kernels in which several parties work together are "
    "told "
    "as a pipeline: a time line of roles, what fills each stage of the ring, how boxes lie in shared memory and sums "
    "in "
    "registers, and which CTA multiplies what. cpu-tiled is told for this machine: its algorithm, why, and its blocks.",
    run};
