#include "lab/explain/exercises.h"

#include <math.h>
#include <string.h>

#include "lab/explain/lesson.h"
#include "lab/roofline/roofpoint.h"
#include "lab/roofline/tilings.h"

/* ---- counted in the emulator ------------------------------------------------------------------------------------- */

/* `kernel` on a square f32 product, by the instance with tiles of `tile` (0: the preferred one). */
static tsr_status follow(const char *kernel, int64_t size, int tile, int transposed, lab_lesson *out)
{
    const lab_lesson_request request = {.kernel = kernel,
                                        .types = {.a = TSR_F32},
                                        .m = size,
                                        .n = size,
                                        .k = size,
                                        .tile = tile,
                                        .trans_a = transposed,
                                        .trans_b = transposed};
    return lab_lesson_make(&request, out);
}

static tsr_status totals_of(const char *kernel, int64_t size, int tile, lab_lesson_totals *out)
{
    lab_lesson lesson;
    const tsr_status status = follow(kernel, size, tile, 0, &lesson);
    if (status != TSR_OK)
        return status;
    const int counted = lab_lesson_total(&lesson, 0, out);
    lab_lesson_free(&lesson);
    return counted ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* Elements of A and B that one thread loads. */
static tsr_status thread_loads(const char *kernel, int64_t size, int tile, double *out)
{
    lab_lesson_totals totals;
    const tsr_status status = totals_of(kernel, size, tile, &totals);
    if (status == TSR_OK)
        *out = totals.of[LAB_COUNT_LOADS_A].most + totals.of[LAB_COUNT_LOADS_B].most;
    return status;
}

static tsr_status naive_loads(double *out)
{
    return thread_loads("naive", 256, 0, out);
}

static tsr_status tiled_loads(double *out)
{
    return thread_loads("tiled", 256, 32, out);
}

/* FLOP for each byte that the block loads. */
static tsr_status intensity(const char *kernel, int64_t size, int tile, double *out)
{
    lab_lesson_totals totals;
    const tsr_status status = totals_of(kernel, size, tile, &totals);
    if (status != TSR_OK)
        return status;
    const lab_lesson_count *a = &totals.of[LAB_COUNT_LOADS_A], *b = &totals.of[LAB_COUNT_LOADS_B];
    *out = 2 * totals.of[LAB_COUNT_PRODUCTS].elements / (a->elements * a->bytes + b->elements * b->bytes);
    return TSR_OK;
}

static tsr_status naive_intensity(double *out)
{
    return intensity("naive", 64, 0, out);
}

static tsr_status tiled_intensity(double *out)
{
    return intensity("tiled", 64, 16, out);
}

typedef enum cost_member { SECTORS, WAVEFRONTS } cost_member;

/* Of all steps of a kind on an operand: what they cost for each request, or over the fewest that would do. */
static tsr_status cost_of(const char *kernel, int64_t size, int tile, int transposed, lab_step_kind kind, char operand,
                          cost_member member, int over_ideal, double *out)
{
    lab_lesson lesson;
    double cost = 0, base = 0;
    const tsr_status status = follow(kernel, size, tile, transposed, &lesson);
    if (status != TSR_OK)
        return status;
    for (size_t i = 0; i < lesson.step_count; i++) {
        const lab_step *step = &lesson.steps[i];
        if (step->kind != kind || step->operand != operand)
            continue;
        const lab_step_cost one = lab_step_cost_of(&lesson, step, -1);
        cost += member == SECTORS ? one.sectors : one.wavefronts;
        base += !over_ideal ? one.requests : member == SECTORS ? one.ideal_sectors : one.ideal_wavefronts;
    }
    lab_lesson_free(&lesson);
    *out = base > 0 ? cost / base : 0;
    return TSR_OK;
}

static tsr_status uncoalesced_sectors(double *out)
{
    return cost_of("uncoalesced", 64, 0, 0, LAB_STEP_LOAD, 'A', SECTORS, 0, out);
}

static tsr_status naive_sectors(double *out)
{
    return cost_of("naive", 64, 0, 0, LAB_STEP_LOAD, 'B', SECTORS, 0, out);
}

static tsr_status bank_conflict(double *out)
{
    return cost_of("tiled", 32, 32, 1, LAB_STEP_FILL, 'A', WAVEFRONTS, 1, out);
}

static tsr_status regtile_fill(double *out)
{
    return cost_of("regtile2d", 128, 0, 0, LAB_STEP_FILL, 'A', WAVEFRONTS, 1, out);
}

static tsr_status padded_fill(double *out)
{
    return cost_of("padded", 128, 0, 0, LAB_STEP_FILL, 'A', WAVEFRONTS, 1, out);
}

/* Multiply-adds for each element read from shared memory. */
static tsr_status register_reuse(double *out)
{
    lab_lesson_totals totals;
    const tsr_status status = totals_of("regtile2d", 128, 0, &totals);
    if (status == TSR_OK)
        *out = totals.of[LAB_COUNT_PRODUCTS].elements / totals.of[LAB_COUNT_READS].elements;
    return status;
}

static tsr_status two_stages(double *out)
{
    lab_lesson lesson;
    const tsr_status status = follow("double_buffered_f32_s2_a4", 128, 0, 0, &lesson);
    if (status != TSR_OK)
        return status;
    *out = lesson.smem_bytes;
    lab_lesson_free(&lesson);
    return TSR_OK;
}

/* ---- from a GPU's figures -------------------------------------------------------------------------------------------
 */

static lab_tiling simple_tiling(const char *gpu, int64_t size, int tile)
{
    const lab_gpu_spec *spec = lab_gpu_spec_find(gpu);
    const lab_tiling_request request = {.dtype = TSR_F32,
                                        .dtype_d = TSR_F32,
                                        .m = size,
                                        .n = size,
                                        .k = size,
                                        .tile = tile,
                                        .step = tile,
                                        .elements = 1,
                                        .peak_flops_s = lab_gpu_peak_flops(spec, TSR_F32, TSR_COMPUTE_DEFAULT, 0)};
    return lab_tiling_of(&request, spec);
}

static tsr_status widest_tile(double *out)
{
    for (int tile = 4; tile <= 128; tile *= 2)
        if (!simple_tiling("rtx3090", 2048, tile).ruled_out)
            *out = tile;
    return TSR_OK;
}

static tsr_status resident_blocks(double *out)
{
    *out = simple_tiling("rtx3090", 2048, 16).ctas_per_sm;
    return TSR_OK;
}

static tsr_status tiled_bound(double *out)
{
    *out = simple_tiling("rtx3090", 2048, 32).bound_flops_s / 1e12;
    return TSR_OK;
}

static tsr_status last_wave(double *out)
{
    const lab_tiling t = simple_tiling("rtx3090", 2048, 128);
    const int64_t tiles = t.tiles_m * t.tiles_n, sms = lab_gpu_spec_find("rtx3090")->sms;
    *out = (double)(tiles % sms ? tiles % sms : sms);
    return TSR_OK;
}

static lab_problem_roof roof_of(int64_t m, int64_t n, int64_t k, tsr_dtype dtype)
{
    const lab_gpu_spec *gpu = lab_gpu_spec_find("a100");
    const tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, m, n, k);
    return lab_problem_roof_of(&desc, lab_gpu_best_flops(gpu, dtype, TSR_COMPUTE_DEFAULT, 0), gpu->memory_bytes_per_s);
}

static tsr_status problem_intensity(double *out)
{
    *out = roof_of(4096, 4096, 4096, TSR_F16).intensity;
    return TSR_OK;
}

static tsr_status vector_bound(double *out)
{
    *out = roof_of(1, 4096, 4096, TSR_F16).bound_flops_s / 1e12;
    return TSR_OK;
}

/* 16 x 16 x 16 products of the tile that one CTA of `wmma` makes, in one step along K. */
static tsr_status fragment_products(double *out)
{
    const lab_lesson_request request = {
        .kernel = "wmma_bf16_a8", .types = {.a = TSR_BF16}, .m = 128, .n = 128, .k = 32};
    lab_lesson lesson;
    const tsr_status status = lab_lesson_make(&request, &lesson);
    if (status != TSR_OK)
        return status;
    *out = (double)lesson.bm / 16 * (lesson.bn / 16.0) * (lesson.bk / 16.0);
    lab_lesson_free(&lesson);
    return TSR_OK;
}

/* ---- of the compressed form ---------------------------------------------------------------------------------------
 */

static tsr_status sparse_bytes(double *out)
{
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 4096, 1, 4096);
    size_t values_bytes = 0, metadata_bytes = 0;
    const tsr_status status = tsr_bytes24(&desc, 'a', &values_bytes, &metadata_bytes);
    *out = (double)(values_bytes + metadata_bytes) / 1048576;
    return status;
}

static tsr_status sparse_indices(double *out)
{
    static const float group[4] = {0, 5, 0, 7};
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 1, 4);
    float values[2];
    unsigned char metadata = 0;
    const tsr_status status = tsr_pack24(&desc, 'a', group, values, &metadata);
    *out = metadata;
    return status;
}

/* ---- the table
 * --------------------------------------------------------------------------------------------------------- */

static const lab_exercise exercises[] = {
    {"naive-loads", 1, "How many elements of A and B together does one thread of `naive` load for 256 x 256 x 256?",
     "elements", "tessera explain naive_f32 --m 256 --n 256 --k 256: the last table, column \"working thread\"",
     "a row of A and a column of B: 2 K, of which its neighbours load most again", 0, naive_loads},
    {"naive-intensity", 1, "How many FLOP does `naive` make for each byte that its threads load, in f32?", "FLOP/byte",
     "two FLOP for each multiply-add; how many bytes does one load?", "2 FLOP for two loads of 4 bytes", 1e-3,
     naive_intensity},
    {"naive-sectors", 2, "How many sectors of 32 bytes does a warp of `naive` touch when it loads 32 elements of B?",
     "sectors", "tessera explain naive_f32 --m 64 --n 64 --k 64: \"load B\", sectors over times and warps",
     "32 neighbours of 4 bytes are 128 bytes: 4 sectors", 0, naive_sectors},
    {"uncoalesced-sectors", 2, "And a warp of `uncoalesced` when it loads 32 elements of A?", "sectors",
     "tessera explain uncoalesced --m 64 --n 16 --k 16: \"load A\"",
     "32 rows of A: a sector for each lane, 4 bytes of which are used", 0, uncoalesced_sectors},
    {"tiled-loads", 3, "How many elements does one thread of `tiled` load for 256 x 256 x 256 with tiles of 32 x 32?",
     "elements", "8 phases, and in each one element of A and one of B", "2 K / TILE: a 32nd of what `naive` loads", 0,
     tiled_loads},
    {"tiled-intensity", 3, "How many FLOP for each byte loaded does `tiled` make with tiles of 16 x 16?", "FLOP/byte",
     "each loaded element is used TILE times", "16 times the 0.25 of `naive`", 1e-3, tiled_intensity},
    {"widest-tile", 4,
     "Of the tiles 4, 8, ..., 128: which is the widest that `tiled` can have on an RTX 3090, one thread an element?",
     "", "tessera tiles 2048 --device rtx3090: what rules 64 out?", "64 x 64 would need 4,096 threads of 1,024", 0,
     widest_tile},
    {"resident-blocks", 4, "How many blocks of 16 x 16 threads does an SM of an RTX 3090 hold at once?", "blocks",
     "an SM of it holds 1,536 threads", "1,536 threads by 256; shared memory would do for more", 0, resident_blocks},
    {"tiled-bound", 5,
     "What bound, in TFLOP/s, does DRAM set to `tiled` with tiles of 32 x 32 on an RTX 3090 at 2048, caches aside?",
     "TFLOP/s", "936 GB/s times FLOP for each byte: tessera tiles 2048 --device rtx3090",
     "7.94 FLOP/byte, the store of C counted, times 936 GB/s", 0.01, tiled_bound},
    {"problem-intensity", 5, "How many FLOP for each byte does 4096 x 4096 x 4096 in f16 itself allow?", "FLOP/byte",
     "2 M N K over the bytes of A, B and C, each moved once", "2 * 4096^3 over 3 * 2 * 4096^2: 4096 / 3", 0.005,
     problem_intensity},
    {"vector-bound", 5, "At how many TFLOP/s, at most, does an A100 with 2.0 TB/s multiply 1 x 4096 x 4096 in f16?",
     "TFLOP/s", "tessera roofline 1 4096 4096 --dtype f16 --device a100",
     "about one FLOP for each byte of B: the tensor cores' 312 TFLOP/s are of no use", 0.05, vector_bound},
    {"register-reuse", 6, "How many multiply-adds does `regtile2d` make for each element read from shared memory?",
     "multiply-adds", "a thread has 8 x 8 sums: for a step of k it reads 8 of A and 8 of B",
     "64 products of 16 elements; `tiled` makes one for two", 1e-3, register_reuse},
    {"bank-conflict", 7,
     "How many times the fewest passes does it take to fill a 32 x 32 tile of `tiled` from a transposed A?", "times",
     "32 lanes write a column of [32][32]: how many banks do they meet in?", "all 32 words lie in one bank", 0,
     bank_conflict},
    {"regtile-fill", 7, "And when `regtile2d` transposes A on its way into shared memory?", "times",
     "tessera explain regtile2d --phase 0: \"fill A\"", "the 8 k of a row lie in one bank", 1e-3, regtile_fill},
    {"padded-fill", 7, "And in `padded`, whose rows are longer?", "times", "tessera explain padded --phase 0",
     "neighbours in a column now lie in different banks", 1e-3, padded_fill},
    {"two-stages", 8, "How many bytes of shared memory does a block of `double-buffered` take, with two stages?",
     "bytes", "tessera explain double_buffered_f32_s2_a4: its first lines",
     "two tiles of A, 8 x (128 + 4) words, and two of B, 8 x 132", 0, two_stages},
    {"fragments", 9,
     "How many products of 16 x 16 x 16 fragments make one step along K of a tile of `wmma_bf16_a8` (128 x 128, step "
     "32)?",
     "products", "fragments down, across, and along K", "8 x 8 x 2, each 4,096 multiply-adds of one warp", 0,
     fragment_products},
    {"last-wave", 11,
     "2048 x 2048 by tiles of 128 x 128 on the 82 SMs of an RTX 3090, one tile on an SM: how many tiles are in the "
     "last "
     "wave?",
     "tiles", "256 tiles, 82 at once", "256 - 3 * 82: 72 SMs have nothing to do, which stream-K mends", 0, last_wave},
    {"sparse-indices", 14, "Which number are the four bits of metadata of the group 0 5 0 7?", "",
     "two bits for the first index, the lower ones, and two for the second", "indices 1 and 3: 1 + 4 * 3", 0,
     sparse_indices},
    {"sparse-bytes", 14, "How many MiB does a 4096 x 4096 matrix of bf16 take that is compressed 2:4?", "MiB",
     "half of the values, and four bits for each group of four", "16 MiB of values and 2 MiB of metadata, of 32", 1e-3,
     sparse_bytes},
};

const lab_exercise *lab_exercise_at(size_t index)
{
    return index < sizeof exercises / sizeof exercises[0] ? &exercises[index] : NULL;
}

const lab_exercise *lab_exercise_find(const char *name)
{
    const lab_exercise *exercise;
    for (size_t i = 0; (exercise = lab_exercise_at(i)) != NULL; i++)
        if (strcmp(exercise->name, name) == 0)
            return exercise;
    return NULL;
}

int lab_exercise_accepts(const lab_exercise *exercise, double right, double given)
{
    return fabs(given - right) <= exercise->tolerance * fabs(right);
}
