/* tessera tiles: the tile sizes for a product, what each costs and saves, and what rules it out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/gpu_choice.h"
#include "cli/output.h"
#include "cli/types.h"
#include "lab/common/kernel_names.h"
#include "lab/explain/lesson.h"
#include "lab/roofline/roofpoint.h"
#include "lab/roofline/tilings.h"

typedef struct settings {
    int64_t m, n, k;
    const char *device;
    lab_types types; /* none is left out */
    int format;
} settings;

#define AT(field) .offset = offsetof(settings, field)
#define SIZE(name_, help_, field, optional_)                                                         \
    {                                                                                                \
        .name = name_, .help = help_, .parse = cli_parse_int, AT(field), .min = 1, .max = INT32_MAX, \
        .optional = optional_                                                                        \
    }
static const cli_option options[] = {
    SIZE("M", "rows of A and C", m, 0),
    SIZE("N", "columns of B and C (default M)", n, 1),
    SIZE("K", "columns of A, rows of B (default M)", k, 1),
    CLI_TYPES_OPTIONS(settings, types, "element type (default f32)"),
    {.name = "--device",
     .value = CLI_GPU_CHOICES,
     .help = "whose limits and peaks (default this machine's GPU, without one an h200)",
     .parse = cli_parse_gpu,
     AT(device)},
    {.name = "--format",
     .value = "table|json",
     .help = "json: one object a line (default table)",
     .parse = cli_parse_choice,
     AT(format)},
    {0}};

/* The kernel `tiled` with this tile, run in the emulator: wavefronts over the fewest that would do. */
typedef struct conflicts {
    int is_known, registers;
    double fill, read;
    double transposed, padded; /* filling A and B both transposed; the same where rows have a column more, [T][T + 1] */
} conflicts;

/* The step's wavefronts if rows of shared memory were a column longer; 0 if memory ran out. */
static unsigned padded_wavefronts(const lab_lesson *lesson, const lab_step *step, int tile)
{
    const size_t threads = (size_t)lesson->threads_x * (size_t)lesson->threads_y;
    lab_step padded = *step;
    padded.words = malloc(threads * sizeof *padded.words);
    if (!padded.words)
        return 0;
    for (size_t i = 0; i < threads; i++)
        padded.words[i] = step->words[i] < 0 ? step->words[i] : step->words[i] + step->words[i] / tile;
    const unsigned wavefronts = lab_step_cost_of(lesson, &padded, -1).wavefronts;
    free(padded.words);
    return wavefronts;
}

static void add_lesson(int tile, int transposed, conflicts *out)
{
    const lab_lesson_request request = {.kernel = "tiled",
                                        .types = {.a = TSR_F32},
                                        .m = tile,
                                        .n = tile,
                                        .k = tile,
                                        .tile = tile,
                                        .trans_a = transposed,
                                        .trans_b = transposed};
    lab_lesson lesson;
    unsigned fill = 0, fill_ideal = 0, padded = 0, read = 0, read_ideal = 0;
    out->is_known = out->is_known && lab_lesson_make(&request, &lesson) == TSR_OK;
    if (!out->is_known)
        return;
    for (size_t i = 0; i < lesson.step_count; i++) {
        const lab_step_cost cost = lab_step_cost_of(&lesson, &lesson.steps[i], -1);
        const int is_fill = lesson.steps[i].kind == LAB_STEP_FILL, is_read = lesson.steps[i].kind == LAB_STEP_READ;
        fill += is_fill ? cost.wavefronts : 0;
        fill_ideal += is_fill ? cost.ideal_wavefronts : 0;
        padded += is_fill ? padded_wavefronts(&lesson, &lesson.steps[i], tile) : 0;
        read += is_read ? cost.wavefronts : 0;
        read_ideal += is_read ? cost.ideal_wavefronts : 0;
    }
    *(transposed ? &out->transposed : &out->fill) = fill_ideal ? (double)fill / fill_ideal : 0;
    if (transposed)
        out->padded = fill_ideal ? (double)padded / fill_ideal : 0;
    else
        out->read = read_ideal ? (double)read / read_ideal : 0;
    lab_lesson_free(&lesson);
}

static conflicts conflicts_of(int tile, tsr_dtype dtype)
{
    conflicts out = {.is_known = dtype == TSR_F32};
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    char instance[32];
    snprintf(instance, sizeof instance, "tiled_%s_t%d", tsr_dtype_name(dtype), tile);
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strcmp(info.instance, instance) == 0)
            out.registers = info.registers;
    add_lesson(tile, 0, &out);
    add_lesson(tile, 1, &out);
    return out;
}

/* ---- the tables ------------------------------------------------------------------------------------------------- */

static const int tiles[] = {4, 8, 16, 32, 64, 128};
enum { TILES = sizeof tiles / sizeof tiles[0], WIDEST_TILED = 32, REGISTER_THREADS = 256 };

/* Of the units that multiply: tensor cores take whole tiles of factors of 16 bits and less, and of f32 in tf32; one
 * element for each thread is for others. */
static double peak_of(const settings *set, const lab_gpu_spec *gpu, int of_warps)
{
    const int on_tensor_cores = set->types.a != TSR_F32 || set->types.compute == TSR_COMPUTE_TF32;
    return lab_gpu_peak_flops(gpu, set->types.a, of_warps ? set->types.compute : TSR_COMPUTE_DEFAULT,
                              of_warps && on_tensor_cores);
}

/* 1 if the kernel `tiled` multiplies elements of the type. */
static int has_tiled(const settings *set)
{
    char reasons[200];
    const lab_types types = {.a = set->types.a, .b = set->types.b};
    return lab_kernel_accepts("tiled", "emu", &types, reasons, sizeof reasons);
}

static const char *verdict_of(const lab_tiling *t, double peak_flops_s, char out[160])
{
    const int too_wide = t->threads > LAB_BLOCK_THREADS, too_large = t->shared_bytes > LAB_BLOCK_SHARED_BYTES;
    if (t->ruled_out && strcmp(t->ruled_out, "registers") == 0)
        snprintf(out, 160, "out: %d sums a thread", t->elements);
    else if (too_wide || too_large)
        snprintf(out, 160, "out: %s%s%s", too_wide ? "threads" : "", too_wide && too_large ? ", " : "",
                 too_large ? "shared" : "");
    else if (t->bound_flops_s < peak_flops_s)
        snprintf(out, 160, "memory");
    else
        snprintf(out, 160, "compute");
    return out;
}

static const char *times_text(int is_known, double value, char out[32])
{
    if (!is_known)
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, "%.3gx", value);
    return out;
}

static void put_tiling(cli_table *table, const lab_tiling *t, double peak_flops_s)
{
    char shared[32], traffic[32], rate[32], verdict[160];
    cli_table_row(table, CLI_CELL("%d", t->tile), CLI_CELL("%" PRId64 "x%" PRId64, t->tiles_m, t->tiles_n),
                  CLI_CELL("%" PRId64, t->threads), cli_bytes_text(shared, (double)t->shared_bytes),
                  cli_bytes_text(traffic, t->loaded_bytes), CLI_CELL("%.3g", t->reuse), CLI_CELL("%.3g", t->intensity),
                  cli_short_rate(rate, t->bound_flops_s), t->ruled_out ? "-" : CLI_CELL("%.0f%%", 100 * t->occupancy),
                  verdict_of(t, peak_flops_s, verdict));
}

static void begin_table(cli_table *table)
{
    cli_table_begin(table, "rrrrrrrrrl", "tile", "blocks", "threads", "shared", "traffic", "reuse", "FLOP/B", "bound",
                    "busy", "limit");
}

/* One element for each thread, K in steps of the tile. */
static lab_tiling simple_tiling(const settings *set, int tile, int registers, const lab_gpu_spec *gpu)
{
    const lab_tiling_request request = {.dtype = set->types.a,
                                        .dtype_d = set->types.d,
                                        .m = set->m,
                                        .n = set->n,
                                        .k = set->k,
                                        .tile = tile,
                                        .step = tile,
                                        .elements = 1,
                                        .registers = registers,
                                        .peak_flops_s = peak_of(set, gpu, 0)};
    return lab_tiling_of(&request, gpu);
}

/* A square of C for each of 256 threads, in registers. */
static lab_tiling square_tiling(const settings *set, int tile, int registers, const lab_gpu_spec *gpu)
{
    const lab_tiling_request request = {.dtype = set->types.a,
                                        .dtype_d = set->types.d,
                                        .m = set->m,
                                        .n = set->n,
                                        .k = set->k,
                                        .tile = tile,
                                        .step = 16,
                                        .elements = tile * tile / REGISTER_THREADS,
                                        .registers = registers,
                                        .peak_flops_s = peak_of(set, gpu, 1)};
    return lab_tiling_of(&request, gpu);
}

static int put_simple(const settings *set, const lab_gpu_spec *gpu, conflicts known[TILES])
{
    cli_table table, banks;
    printf("\nOne element of C for each thread, K in steps of the tile%s:\n",
           has_tiled(set) ? " (the kernel tiled)" : "");
    begin_table(&table);
    if (set->types.a == TSR_F32)
        cli_table_begin(&banks, "rrrrrr", "tile", "loads a thread", "filling", "filling, transposed",
                        "same with [T][T+1]", "reading");
    else
        cli_table_begin(&banks, "rr", "tile", "loads a thread");
    for (int i = 0; i < TILES; i++) {
        char fill[32], transposed[32], padded[32], read[32];
        known[i] = tiles[i] <= WIDEST_TILED ? conflicts_of(tiles[i], set->types.a) : (conflicts){0};
        const lab_tiling t = simple_tiling(set, tiles[i], known[i].registers, gpu);
        put_tiling(&table, &t, peak_of(set, gpu, 0));
        if (t.ruled_out)
            continue;
        /* A table of two columns takes the first two cells. */
        cli_table_row(&banks, CLI_CELL("%d", t.tile), CLI_CELL("%" PRId64, 2 * t.phases),
                      times_text(known[i].is_known, known[i].fill, fill),
                      times_text(known[i].is_known, known[i].transposed, transposed),
                      times_text(known[i].is_known, known[i].padded, padded),
                      times_text(known[i].is_known, known[i].read, read));
    }
    int whole = cli_table_end(&table, stdout, 0);
    putchar('\n');
    cli_print_wrapped(
        stdout,
        cli_text((char[400]){0}, 400, "Loads from global memory by one thread (2 K = %" PRId64 " without tiles)%s",
                 2 * set->k,
                 set->types.a == TSR_F32
                     ? ", and wavefronts of shared memory over the fewest that would do, run in the emulator; 1x is "
                       "free of bank conflicts; [T][T+1]: with rows of shared memory a column longer:"
                     : "; bank conflicts are counted in f32 alone, where the kernel tiled runs in the emulator:"),
        0, 0);
    return cli_table_end(&banks, stdout, 0) && whole;
}

static int put_registers(const settings *set, const lab_gpu_spec *gpu)
{
    cli_table table;
    const double peak = peak_of(set, gpu, 1);
    putchar('\n');
    cli_print_wrapped(
        stdout,
        cli_text((char[200]){0}, 200,
                 "Squares of C for each of %d threads, in registers, K in steps of 16 (%s):", REGISTER_THREADS,
                 tsr_dtype_bytes(set->types.a) == 1 ? "on tensor cores"
                 : peak > peak_of(set, gpu, 0)      ? "on tensor cores, as mma makes them"
                                                    : "regtile1d and the rungs above it"),
        0, 0);
    begin_table(&table);
    for (int i = 0; i < TILES; i++) {
        const int elements = tiles[i] * tiles[i] / REGISTER_THREADS;
        if (elements < 4)
            continue;
        const int least = elements + 2 * (int)sqrt(elements); /* the sums, a row and a column to multiply */
        const lab_tiling t = square_tiling(set, tiles[i], least, gpu);
        put_tiling(&table, &t, peak);
    }
    const lab_tiling beyond = square_tiling(set, 256, 0, gpu);
    put_tiling(&table, &beyond, peak);
    return cli_table_end(&table, stdout, 0);
}

static void put_head(const settings *set, const lab_gpu_spec *gpu)
{
    char peak[32], bandwidth[32], text[500], types[LAB_TYPES_TEXT];
    const double peak_flops_s = peak_of(set, gpu, 1);
    const int on_tensor_cores = peak_flops_s > peak_of(set, gpu, 0);
    snprintf(
        text, sizeof text,
        "%" PRId64 " x %" PRId64 " x %" PRId64
        " %s%s on %s: %d SMs, %s%s, %s of DRAM, ridge %.1f FLOP/B. A block has at "
        "most %d threads and %d KiB of shared memory (more by opting in), a thread fewer than %d registers where two "
        "blocks shall share an SM.",
        set->m, set->n, set->k, lab_types_pair(&set->types, types),
        set->types.compute == TSR_COMPUTE_TF32 ? " in tf32" : "", gpu->name, gpu->sms,
        cli_rate_text(peak, peak_flops_s, "FLOP/s"), on_tensor_cores ? " on tensor cores" : "",
        cli_rate_text(bandwidth, gpu->memory_bytes_per_s, "B/s"), peak_flops_s / gpu->memory_bytes_per_s,
        LAB_BLOCK_THREADS, LAB_BLOCK_SHARED_BYTES >> 10, LAB_THREAD_REGISTERS);
    cli_print_wrapped(stdout, text, 0, 2);
}

static void put_json(const settings *set, const lab_gpu_spec *gpu)
{
    for (int i = 0; i < TILES; i++) {
        const conflicts known = tiles[i] <= WIDEST_TILED ? conflicts_of(tiles[i], set->types.a) : (conflicts){0};
        const lab_tiling t = simple_tiling(set, tiles[i], known.registers, gpu);
        cli_json json = cli_json_begin(stdout);
        cli_json_text(&json, "device", gpu->name);
        cli_json_text(&json, "dtype", lab_types_pair(&set->types, (char[LAB_TYPES_TEXT]){0}));
        cli_json_int(&json, "m", set->m);
        cli_json_int(&json, "n", set->n);
        cli_json_int(&json, "k", set->k);
        cli_json_int(&json, "tile", t.tile);
        cli_json_int(&json, "tiles_m", t.tiles_m);
        cli_json_int(&json, "tiles_n", t.tiles_n);
        cli_json_int(&json, "phases", t.phases);
        cli_json_int(&json, "threads", t.threads);
        cli_json_int(&json, "shared_bytes", t.shared_bytes);
        cli_json_number(&json, "loaded_bytes", t.loaded_bytes);
        cli_json_number(&json, "reuse", t.reuse);
        cli_json_number(&json, "intensity", t.intensity);
        cli_json_number(&json, "bound_flops_s", t.bound_flops_s);
        cli_json_number(&json, "occupancy", t.occupancy);
        cli_json_text(&json, "ruled_out", t.ruled_out);
        if (known.is_known)
            cli_json_number(&json, "fill_conflicts", known.fill), cli_json_number(&json, "read_conflicts", known.read);
        else
            cli_json_null(&json, "fill_conflicts"), cli_json_null(&json, "read_conflicts");
        cli_json_end(&json);
    }
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.types = {.a = TSR_F32}};
    lab_gpu_here here;
    conflicts known[TILES];
    int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    code = cli_types_check(self, &set.types);
    if (code != CLI_CONTINUE)
        return code;
    set.types = lab_types_complete(&set.types);
    set.n = set.n ? set.n : set.m;
    set.k = set.k ? set.k : set.m;
    const lab_gpu_spec *gpu = cli_gpu_choose(self, set.device, &here);
    if (!gpu)
        return CLI_FAILED;
    code = cli_types_check_gpu(self, gpu, &set.types);
    if (code != CLI_CONTINUE)
        return code;
    if (set.format == CLI_FORMAT_JSON) {
        put_json(&set, gpu);
        return CLI_OK;
    }
    put_head(&set, gpu);
    if (put_simple(&set, gpu, known) && put_registers(&set, gpu))
        return CLI_OK;
    return cli_failure(self, "out of memory");
}

const cli_command cli_cmd_tiles = {
    "tiles",
    "tile sizes for a product, and what rules each out",
    "M [N K] [options]",
    options,
    "Traffic is what all blocks load from global memory, caches aside; reuse is how often each loaded element is used; "
    "FLOP/B counts loads and the store of C; bound, in FLOP/s, is the smaller of the device's peak and FLOP/B times "
    "bandwidth; "
    "busy is "
    "the share of an SM's threads that resident blocks fill, by threads, shared memory and, where this build knows "
    "them, "
    "registers.",
    run};
