/* tessera bench: kernels, and other libraries beside them, timed in interleaved rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/types.h"

static const double budget_s = 10.0; /* of one kernel in one cell */

#define AT(field) .offset = offsetof(cli_bench_settings, field)
static const cli_option options[] = {
    {.name = "--kernel",
     .value = "NAME[,NAME]|all|auto",
     .help = "kernels or instances of them, by a schedule behind an @ where they have several; a kernel's name takes "
             "the instance that the library prefers; auto: the library's choice (default all)",
     .parse = cli_parse_kernel_schedules,
     AT(kernels)},
    {.name = "--instances", .help = "each instance of the kernels, not only the preferred one", AT(instances)},
    {.name = "--sizes",
     .value = "N[,N]",
     .help = "square problems (default 32,256,1024,2048)",
     .parse = cli_parse_text,
     AT(sizes)},
    {.name = "--shapes",
     .value = "FILE",
     .help = "problems from a file with \"M N K\" or \"M N K BATCH\" lines and # comments",
     .parse = cli_parse_text,
     AT(shapes)},
    {.name = "--batch",
     .value = "N",
     .help = "N problems of each size in one call, one after the other in memory, where the file does not say (default "
             "1)",
     .parse = cli_parse_int,
     AT(batch),
     .min = 1,
     .max = INT32_MAX},
    {.name = "--random",
     .value = "N",
     .help = "N problems, M, N and K log-uniform in 1..16384, two of three in multiples of 8",
     .parse = cli_parse_int,
     AT(random),
     .min = 1,
     .max = LAB_SHAPES_MAX},
    {.name = "--seed",
     .value = "S",
     .help = "of --random (default 1)",
     .parse = cli_parse_int,
     AT(seed),
     .max = INT64_MAX},
    {.name = "--dtype", .value = "T[,T]", .help = "element types (default f32)", .parse = cli_parse_dtypes, AT(dtypes)},
    {.name = "--layout",
     .value = "L[,L]",
     .help = "nn, nt, tn, tt; t: A, or B, is stored transposed (default nn)",
     .parse = cli_parse_layouts,
     AT(layouts)},
    {.name = "--vs",
     .value = "cublas|cusparselt|openblas|blis|onednn|memory",
     .help = "libraries to compare with; one that is missing is told and left out. cusparselt goes with --sparse. "
             "memory: no library, but a pass over the operands at the memory's speed (K = 1: over D, written); "
             "peer/ours is the share of it",
     .parse = cli_parse_choices,
     AT(peers)},
    {.name = "--device",
     .value = "D",
     .help = "cpu or cuda:N; auto: the CPU and the first GPU, or the one of them that the libraries of --vs run on "
             "(default auto)",
     .parse = cli_parse_device,
     AT(device)},
    {.name = "--graph",
     .help = "on a GPU, time replays of captured graphs: without the host's share of a call",
     AT(graph)},
    {.name = "--epilogue",
     .value = "TEXT",
     .help = "\"acc + bias[n]\" or \"relu(acc + bias[n])\" behind every product, with a bias of random numbers; of the "
             "libraries, cuBLAS has it too",
     .parse = cli_parse_text,
     AT(epilogue)},
    {.name = "--beta",
     .value = "X",
     .help = "D = A*B + X*D in every call, the libraries' too, as where gradients are accumulated (default 0)",
     .parse = cli_parse_number,
     AT(beta)},
    {.name = "--batch-invariant", .help = "results of which no row depends on M", AT(batch_invariant)},
    {.name = "--threads",
     .value = "T",
     .help = "CPU threads of a call, the libraries' too (default all)",
     .parse = cli_parse_int,
     AT(threads),
     .min = 1,
     .max = 4096},
    {.name = "--rounds",
     .value = "R",
     .help = "interleaved rounds (default 30)",
     .parse = cli_parse_int,
     AT(rounds),
     .min = 1,
     .max = 100000},
    {.name = "--format",
     .value = "table|json|csv|md|ladder|svg|regret",
     .help =
         "table: a line for each kernel and size; json: one object a line; ladder: kernels down, sizes across, with "
         "speedups; svg: bars; regret: the fastest GPU instance and the one that the library chooses (default ladder "
         "for "
         "all kernels at --sizes, else table)",
     .parse = cli_parse_choice,
     AT(format)},
    CLI_B_TYPE_OPTION(cli_bench_settings, types),
    CLI_OUT_TYPE_OPTION(cli_bench_settings, types, CLI_OUT_HELP),
    CLI_COMPUTE_OPTION(cli_bench_settings, types,
                       "tf32: products of f32 in tf32; fast: sums of 8-bit floats stay in the tensor cores, which keep "
                       "about 14 bits; such kernels and libraries, and no others"),
    {.name = "--scales",
     .once = 1,
     .value = "none|tensor|vector|1x128|1x128:128x128",
     .help = "of 8-bit operands, f32 where these lie: tensor: one of A and one of B; vector: one of each row of A and "
             "of each column of B; of 8-bit floats, 1x128: one of 128 steps of K of each of these, and 1x128:128x128: "
             "of B one of 128 steps of K of 128 columns; of the libraries, cuBLAS has them for 8-bit floats, all but "
             "tensor from 12.9 on (default none)",
     .parse = cli_parse_choice,
     AT(scales)},
    {.name = "--sparse",
     .once = 1,
     .value = "a|b",
     .help = "A, or B, is compressed 2:4 (1:2 with --compute tf32): kernels that multiply it so; cusparselt gets the "
             "same numbers, other libraries a whole matrix (default a for kernels of a compressed operand, else "
             "neither)",
     .parse = cli_parse_choice,
     AT(sparse)},
    {.name = "--from",
     .value = "FILE",
     .help = "measure nothing: show the lines of an old JSON result as ladder, svg or regret",
     .parse = cli_parse_text,
     AT(from)},
    {.name = "--out",
     .once = 1,
     .value = "FILE",
     .help = "write there, whole or not at all",
     .parse = cli_parse_text,
     AT(out)},
    {.name = "--replay",
     .value = "FILE",
     .help =
         "the products of a call log (TESSERA_LOG=calls under libtessera_blas): those that took most time, with their "
         "leading dimensions, factors and batches; --kernel is then auto unless given",
     .parse = cli_parse_text,
     AT(replay)},
    {.name = "--compare",
     .value = "OLD.json",
     .help = "measure the lines of an old result again: faster, slower, same or undecided",
     .parse = cli_parse_text,
     AT(compare)},
    {0}};

static int is_all(const cli_bench_settings *set)
{
    return set->kernels.count == 0 || strcmp(set->kernels.values[0], "all") == 0;
}

static void set_defaults(cli_bench_settings *set)
{
    if (set->format < 0)
        set->format = !set->compare && (set->from || (is_all(set) && !set->shapes && !set->random && !set->instances))
                          ? CLI_BENCH_LADDER
                          : LAB_TABLE;
    if (set->compare || set->from)
        return; /* the old file names everything */
    if (set->kernels.count == 0) {
        set->kernels.count = 1;
        snprintf(set->kernels.values[0], sizeof set->kernels.values[0], set->replay != NULL ? "auto" : "all");
    }
    if (set->dtypes.count == 0) {
        set->dtypes.count = 1;
        set->dtypes.values[0] = TSR_F32;
    }
    if (set->layouts.count == 0) {
        set->layouts.count = 1;
        set->layouts.values[0] = (cli_layout){TSR_N, TSR_N};
    }
}

static int run(const cli_command *self, int argc, char **argv)
{
    cli_bench_settings *set = calloc(1, sizeof *set);
    if (set == NULL)
        return cli_failure(self, "no memory");
    set->device = "auto";
    set->rounds = 30;
    set->seed = set->batch = 1;
    set->format = set->sparse = -1;
    int code = cli_read_args(self, argc, argv, set);
    if (code == CLI_CONTINUE && set->replay && !set->from && !set->compare &&
        (set->dtypes.count || set->layouts.count || set->types.d || set->beta != 0))
        code = cli_usage_error(self, "--replay brings its own types, layouts and factors: without --dtype, --layout, "
                                     "--out-dtype and --beta");
    if (code == CLI_CONTINUE) {
        cli_bench_session session = {.self = self, .set = set, .stop = cli_interrupt_catch()};
        session.options =
            (lab_bench_options){.rounds = (size_t)set->rounds, .budget_s = budget_s, .seed = 1, .stop = session.stop};
        session.progress = cli_progress_begin();
        set_defaults(set);
        code = set->from != NULL      ? cli_bench_show(&session)
               : set->compare != NULL ? cli_bench_compare(&session)
                                      : cli_bench_run(&session);
        cli_progress_end(session.progress);
        code = cli_finish_output(self, code);
    }
    free(set);
    return code;
}

const cli_command cli_cmd_bench = {
    "bench",
    "measure kernels, and other libraries beside them",
    "[options]",
    options,
    "Each line has the median time and its spread (+-), GFLOP/s, GB/s of operands, % of the device's peak for the "
    "type, the speedup over cpu-sequential, and, with --vs, the library's time over ours with a 95% interval, "
    "for its first choice and, where it has several algorithms, the best of 16 (cuSPARSELt: of its first choice and "
    "what its own search finds). A kernel that needs more than 10 s for its rounds gets fewer. OpenBLAS runs the CPU "
    "code that its name shows, which OPENBLAS_CORETYPE forces. Exit code 1 if a kernel "
    "failed, nothing was measured, or --compare found one slower.",
    run};
