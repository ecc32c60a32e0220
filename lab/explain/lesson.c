#include "lab/explain/lesson.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/error.h"
#include "core/sparse24.h"
#include "lab/common/kernel_names.h"
#include "lab/explain/lesson_run.h"

enum {
    EVENTS_MAX = 5 << 20, /* of 48 bytes, twice */
    TAGS_MAX = 1 << 24,   /* whole numbers that f32 holds exactly */
    SMALL_VALUES = 17,
    OPERAND_ALIGN = 256
};

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static int is_named(const tsr_config *config, const char *kernel)
{
    return strcmp(config->name, kernel) == 0 || strcmp(config->instance, kernel) == 0;
}

/* 1 if the request is for the config's kernel, and the config makes such products. */
static int is_of(const tsr_config *config, const lab_lesson_request *request)
{
    return is_named(config, request->kernel) && lab_instance_accepts(config->instance, &request->types);
}

/* The tiles that the kernel's instances have, "2, 4, 8". */
static void list_tiles(const lab_lesson_request *request, char *text, size_t bytes)
{
    size_t used = 0;
    int last = 0;
    text[0] = '\0';
    for (size_t i = 0; i < tsr_config_count() && used < bytes; i++) {
        const tsr_config *config = tsr_config_at(i);
        if (!is_of(config, request) || config->bm != config->bn || config->bm == last)
            continue;
        last = config->bm;
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", used ? ", " : "", config->bm);
    }
}

/* The instance that the request names by its tile, or the kernel as it was named. */
static tsr_status find_instance(const lab_lesson_request *request, const char **name)
{
    *name = request->kernel;
    if (request->tile == 0)
        return TSR_OK;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (is_of(config, request) && config->bm == request->tile && config->bn == request->tile) {
            *name = config->instance;
            return TSR_OK;
        }
    }
    char tiles[160];
    list_tiles(request, tiles, sizeof tiles);
    return tsr_fail(TSR_INVALID_ARGUMENT, "%s has no instance with tiles of %d x %d in %s; there are: %s",
                    request->kernel, request->tile, request->tile, tsr_dtype_name(request->types.a),
                    tiles[0] ? tiles : "none that are square");
}

static int reads_along_k(const tsr_config *config)
{
    return config->copies_transposed && config->a_layout == TSR_ONLY_N && config->b_layout == TSR_ONLY_T;
}

/* Four steps along K. Two where a step is as deep as the tile is high, and where A and B, of `rows_and_columns`, would
 * have more elements than 16 bits have values: a lesson tells the products of tensor cores by an element's value. */
static int64_t default_k(const tsr_config *config, int64_t rows_and_columns)
{
    enum { MOST_ELEMENTS = 1 << 15 };
    if (config->bk == 1)
        return 4;
    const int64_t four = 4 * (int64_t)config->bk;
    const int is_too_large =
        (config->op.a & (TSR_TYPE_BIT(TSR_F16) | TSR_TYPE_BIT(TSR_BF16))) && rows_and_columns * four > MOST_ELEMENTS;
    return config->bk == config->bm || lab_config_is_sparse(config) || is_too_large ? four / 2 : four;
}

/* Sizes that were left out: two blocks each way and some steps of K, of the kernel's smallest tile. */
static void fill_in_sizes(lab_lesson_request *request)
{
    const tsr_config *smallest = NULL;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (!is_of(config, request) || config->bm == 0 || (request->tile && config->bm != request->tile))
            continue;
        if (!smallest || config->bm * config->bn < smallest->bm * smallest->bn)
            smallest = config;
    }
    if (!smallest)
        return;
    if (!request->tile && !request->m && !request->n && !request->k && smallest->bm == smallest->bn)
        request->tile = smallest->bm;
    if (reads_along_k(smallest) && !lab_config_is_sparse(smallest)) /* no lesson has copies before the kernel */
        request->trans_b = 1;
    if (!request->m)
        request->m = 2 * smallest->bm;
    if (!request->n)
        request->n = 2 * smallest->bn;
    if (!request->k)
        request->k = default_k(smallest, request->m + request->n);
}

static tsr_status check_config(const tsr_config *config, size_t workspace_bytes)
{
    if (config->kind == TSR_CONFIG_CPU)
        return tsr_fail(TSR_UNSUPPORTED, "%s runs on the CPU; only kernels that run in the emulator can be followed",
                        config->name);
    if (config->tma)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: its loads and products are made by the copy engine and by groups of four "
                        "warps, not by threads that could be followed",
                        config->name);
    if (tsr_op_of(&config->op).a == TSR_F64 && !tsr_config_is_f64_tensor(config))
        return tsr_fail(TSR_UNSUPPORTED, "%s: explained in f32; f64 does the same with twice the bytes", config->name);
    if (lab_config_is_sparse(config) && tsr_op_of(&config->op).compute == TSR_COMPUTE_TF32)
        return tsr_fail(TSR_UNSUPPORTED, "%s: explained in 16 and 8 bits; tf32 does the same with one of each two",
                        config->instance);
    if (lab_config_is_sparse(config) && workspace_bytes > 0)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: explained where B needs no copy before: rows of whole 16 bytes, and in 8 bits layout nt",
                        config->instance);
    if (reads_along_k(config) && workspace_bytes > 0)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: explained where A and B need no copy before: rows of whole 16 bytes, layout nt",
                        config->instance);
    if (config->persistent || workspace_bytes > 0)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: several blocks work on one tile of C; only kernels with one block for "
                        "each tile can be followed",
                        config->name);
    return TSR_OK;
}

static const tsr_config *config_of(const tsr_plan *plan)
{
    return tsr_plan_main(&plan->planned)->config;
}

/* A kernel of another device would only be told "not for the emulator": says it better. */
static tsr_status refuse_cpu(const char *name)
{
    int on_cpu = 0, elsewhere = 0;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        on_cpu |= is_named(config, name) && config->kind == TSR_CONFIG_CPU;
        elsewhere |= is_named(config, name) && config->kind != TSR_CONFIG_CPU;
        if (on_cpu && is_named(config, name))
            return check_config(config, 0);
    }
    return elsewhere ? TSR_OK : tsr_fail(TSR_INVALID_ARGUMENT, "there is no kernel %s", name);
}

static tsr_status make_plan(const lab_lesson_request *request, lesson_run *run)
{
    const char *name = request->kernel;
    tsr_status status = refuse_cpu(name);
    if (status == TSR_OK)
        status = find_instance(request, &name);
    if (status == TSR_OK)
        status = tsr_context_create("emu", NULL, &run->context);
    if (status != TSR_OK)
        return status;
    tsr_gemm_desc desc = tsr_gemm_desc_make(request->types.a, request->m, request->n, request->k);
    desc.a.align_bytes = desc.b.align_bytes = desc.c.align_bytes = desc.d.align_bytes = OPERAND_ALIGN;
    desc.a.trans = request->trans_a ? TSR_T : TSR_N;
    desc.b.trans = request->trans_b ? TSR_T : TSR_N;
    lab_types_put(&request->types, &desc);
    desc.kernel = name;
    desc.flags |= lab_kernel_is_sparse(name) ? TSR_SPARSE24_A : 0;
    status = tsr_plan_create(run->context, &desc, &run->plan);
    return status == TSR_OK ? check_config(config_of(run->plan), tsr_plan_workspace_bytes(run->plan)) : status;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

/* A compressed A, as the kernel reads it: lines along K, padded. */
static tsr_status make_sparse(const lab_lesson *lesson, lesson_run *run)
{
    const size_t bytes = (size_t)(lesson->m * lesson->k * lesson->elem_bytes);
    const int64_t k_padding = TSR_K24_BYTES / lesson->elem_bytes;
    const void *form = NULL;
    run->whole_a = aligned_alloc(OPERAND_ALIGN, (bytes / OPERAND_ALIGN + 1) * OPERAND_ALIGN);
    if (!run->whole_a)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the operands");
    memset(run->whole_a, 0, bytes);
    lab_lesson_fill_sparse(lesson, run->whole_a);
    tsr_status status = tsr_compress24(run->plan, 'a', run->whole_a, &run->prepared_a);
    if (status == TSR_OK)
        status = tsr_prepared_form(run->prepared_a, run->plan, &form);
    run->a = (void *)(uintptr_t)form;
    run->kept_a = (lesson->k + k_padding - 1) / k_padding * k_padding / LESSON_KEPT_STEP;
    run->a_elems = (size_t)((lesson->m + TSR_LINES24 - 1) / TSR_LINES24 * TSR_LINES24 * run->kept_a);
    return status;
}

static tsr_status allocate(const lab_lesson *lesson, lesson_run *run)
{
    run->a_elems = (size_t)(lesson->m * lesson->k);
    run->b_elems = (size_t)(lesson->k * lesson->n);
    run->d_elems = (size_t)(lesson->m * lesson->n);
    const size_t bytes = (size_t)lesson->elem_bytes, bytes_d = (size_t)lesson->elem_bytes_d;
    if ((!lesson->is_sparse_a && tsr_device_alloc(run->context, run->a_elems * bytes + 16, &run->a) != TSR_OK) ||
        tsr_device_alloc(run->context, run->b_elems * bytes + 16, &run->b) != TSR_OK ||
        tsr_device_alloc(run->context, run->d_elems * bytes_d, &run->d) != TSR_OK)
        return TSR_OUT_OF_MEMORY;
    return lesson->is_sparse_a ? make_sparse(lesson, run) : TSR_OK;
}

/* Element (row, column) of op(X) where it is stored. */
static size_t stored_at(int64_t rows, int64_t columns, int trans, int64_t row, int64_t column)
{
    return (size_t)(trans ? column * rows + row : row * columns + column);
}

/* f32 alone; operands of 16 bits are zeros, and told apart by address. */
static void fill_operand(float *to, int64_t rows, int64_t columns, int trans, const float *small, float first_tag)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[stored_at(rows, columns, trans, i, j)] =
                small ? small[i * columns + j] : first_tag + (float)(i * columns + j);
}

static void fill_operands(const lab_lesson *lesson, lesson_run *run, int with_tags)
{
    if (lesson->dtype != TSR_F32) {
        if (!lesson->is_sparse_a) /* else as it was compressed */
            memset(run->a, 0, run->a_elems * (size_t)lesson->elem_bytes);
        memset(run->b, 0, run->b_elems * (size_t)lesson->elem_bytes);
        if (with_tags)
            lab_lesson_tag(lesson, run);
        return;
    }
    fill_operand(run->a, lesson->m, lesson->k, lesson->trans_a, with_tags ? NULL : lesson->a, 1.0f);
    fill_operand(run->b, lesson->k, lesson->n, lesson->trans_b, with_tags ? NULL : lesson->b,
                 1.0f + (float)run->a_elems);
}

static int make_small_values(lab_lesson *lesson)
{
    const size_t a = (size_t)(lesson->m * lesson->k), b = (size_t)(lesson->k * lesson->n);
    lesson->a = calloc(a + 1, sizeof *lesson->a);
    lesson->b = calloc(b + 1, sizeof *lesson->b);
    if (!lesson->a || !lesson->b)
        return 0;
    for (size_t i = 0; i < a; i++)
        lesson->a[i] = (float)(1 + i % SMALL_VALUES);
    for (size_t i = 0; i < b; i++)
        lesson->b[i] = (float)(1 + i % SMALL_VALUES);
    return 1;
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* `lanes` may be NULL. With it, the kernel is the one that is compiled for watching. */
static tsr_status run_once(lesson_run *run, tsr_emu_trace *trace, lesson_lanes *lanes)
{
    tsr_run_args args = tsr_run_args_make(run->prepared_a ? NULL : run->a, run->b, run->d);
    args.prepared_a = run->prepared_a;
    tsr_device *device = &run->context->home->device;
    const tsr_emu_watcher watcher = lab_lesson_watcher(lanes);
    tsr_emu_trace_launches(device, trace);
    tsr_emu_watch_launches(device, lanes ? &watcher : NULL);
    const tsr_status status = tsr_plan_run(run->plan, &args);
    tsr_emu_watch_launches(device, NULL);
    tsr_emu_trace_launches(device, NULL);
    return status;
}

/* Does this CTA write the first element of the wanted tile? Kernels distribute tiles to CTAs as they like. */
static tsr_status try_cta(const lab_lesson *lesson, lesson_run *run, long long cta, int *is_it)
{
    const size_t bytes = (size_t)lesson->elem_bytes_d;
    const size_t at = (size_t)(lesson->block_y * lesson->bm * lesson->n + lesson->block_x * lesson->bn);
    unsigned char *first = (unsigned char *)run->d + at * bytes;
    const unsigned char none[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}; /* a NaN, which no product is */
    tsr_emu_trace trace = {.cta = cta, .alone = 1, .limit = 0};
    memcpy(first, none, bytes);
    const tsr_status status = run_once(run, &trace, NULL);
    *is_it = memcmp(first, none, bytes) != 0;
    return status;
}

static tsr_status find_cta(const lab_lesson *lesson, lesson_run *run, long long *cta)
{
    const long long ctas = lesson->blocks_x * lesson->blocks_y;
    const long long likely = lesson->block_y * lesson->blocks_x + lesson->block_x;
    int is_it = 0;
    tsr_status status = try_cta(lesson, run, likely, &is_it);
    *cta = likely;
    for (long long i = 0; i < ctas && status == TSR_OK && !is_it; i++) {
        *cta = i;
        status = try_cta(lesson, run, i, &is_it);
    }
    if (status == TSR_OK && !is_it)
        status = tsr_fail(TSR_INTERNAL, "%s: no block writes the wanted tile", lesson->instance);
    return status;
}

static tsr_status trace_cta(const lab_lesson *lesson, lesson_run *run, long long cta)
{
    run->tags = run->values = (tsr_emu_trace){.cta = cta, .alone = 1, .limit = EVENTS_MAX};
    fill_operands(lesson, run, 1);
    lesson_lanes again; /* of the second run, which takes the same way */
    tsr_status status = TSR_OK;
    if (!lab_lesson_lanes_make(&again, 0))
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    lesson_products products = {.lesson = run->lesson, .cta = cta};
    const tsr_emu_listener listener = {&products, lab_lesson_see_products};
    if (status == TSR_OK) {
        tsr_emu_listen(&run->context->home->device, lab_lesson_has_tags(lesson) ? &listener : NULL);
        status = run_once(run, &run->tags, run->lanes);
        tsr_emu_listen(&run->context->home->device, NULL);
    }
    if (status == TSR_OK && products.out_of_memory)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    if (status == TSR_OK && run->tags.lost == 0) {
        fill_operands(lesson, run, 0);
        status = run_once(run, &run->values, &again);
    }
    lab_lesson_lanes_free(&again);
    if (status == TSR_OK && run->lanes->out_of_memory)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    if (status != TSR_OK)
        return status;
    if (run->tags.lost > 0)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: the block does more than the %d things that can be followed; take a smaller K",
                        lesson->instance, EVENTS_MAX);
    if (run->values.count != run->tags.count || run->values.lost > 0)
        return tsr_fail(TSR_INTERNAL, "%s: two runs differ", lesson->instance);
    return TSR_OK;
}

static tsr_status describe(const lab_lesson_request *request, const tsr_config *config, lab_lesson *out)
{
    out->kernel = config->name;
    out->instance = config->instance;
    out->summary = config->summary;
    out->source = config->source;
    const lab_types types = lab_types_complete(&request->types);
    out->dtype = types.a;
    out->dtype_b = types.b;
    out->dtype_d = types.d;
    out->m = request->m;
    out->n = request->n;
    out->k = request->k;
    out->trans_a = request->trans_a;
    out->is_sparse_a = lab_config_is_sparse(config);
    out->trans_b = request->trans_b;
    out->bm = config->bm;
    out->bn = config->bn;
    out->bk = config->bk;
    out->threads_x = config->threads_x;
    out->threads_y = config->threads_y;
    out->smem_bytes = config->smem_bytes;
    out->elem_bytes = (int)tsr_dtype_bytes(types.a);
    out->elem_bytes_d = (int)tsr_dtype_bytes(types.d);
    out->blocks_x = (request->n + config->bn - 1) / config->bn;
    out->blocks_y = (request->m + config->bm - 1) / config->bm;
    out->block_x = request->block_x;
    out->block_y = request->block_y;
    if (request->block_x >= out->blocks_x || request->block_y >= out->blocks_y)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "block %" PRId64 ",%" PRId64 ": %s makes C from %" PRId64 " x %" PRId64
                        " blocks (x up to %" PRId64 ", y up to %" PRId64 ")",
                        request->block_x, request->block_y, config->instance, out->blocks_x, out->blocks_y,
                        out->blocks_x - 1, out->blocks_y - 1);
    return TSR_OK;
}

static tsr_status check_sizes(const lab_lesson_request *request)
{
    const double a = (double)request->m * (double)request->k, b = (double)request->k * (double)request->n;
    if (a + b >= TAGS_MAX || (double)request->m * (double)request->n >= TAGS_MAX)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "%" PRId64 " x %" PRId64 " x %" PRId64 " is too large: A and B may have 2^24 elements together",
                        request->m, request->n, request->k);
    return TSR_OK;
}

static tsr_status make(const lab_lesson_request *request, lesson_run *run, lab_lesson *out)
{
    long long cta = 0;
    tsr_status status = check_sizes(request);
    if (status == TSR_OK)
        status = make_plan(request, run);
    if (status == TSR_OK)
        status = describe(request, config_of(run->plan), out);
    if (status == TSR_OK)
        status = allocate(out, run);
    if (status == TSR_OK && !lab_lesson_lanes_make(run->lanes, (unsigned)(out->threads_x * out->threads_y)))
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    if (status == TSR_OK && !make_small_values(out))
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the operands");
    if (status == TSR_OK) {
        fill_operands(out, run, 0);
        status = find_cta(out, run, &cta);
    }
    if (status == TSR_OK)
        status = trace_cta(out, run, cta);
    return status == TSR_OK ? lab_lesson_digest(run, out) : status;
}

tsr_status lab_lesson_make(const lab_lesson_request *asked, lab_lesson *out)
{
    lesson_lanes lanes = {0};
    lesson_run run = {.lanes = &lanes, .lesson = out};
    lab_lesson_request completed = *asked, *const request = &completed;
    fill_in_sizes(request);
    memset(out, 0, sizeof *out);
    const tsr_status status = make(request, &run, out);
    free(run.tags.events);
    free(run.values.events);
    lab_lesson_lanes_free(&lanes);
    tsr_plan_release(run.plan);
    if (run.context) {
        if (!out->is_sparse_a)
            tsr_device_free(run.context, run.a);
        tsr_prepared_release(run.prepared_a);
        free(run.whole_a);
        tsr_device_free(run.context, run.b);
        tsr_device_free(run.context, run.d);
    }
    tsr_context_destroy(run.context);
    if (status != TSR_OK)
        lab_lesson_free(out);
    return status;
}

void lab_lesson_free(lab_lesson *lesson)
{
    for (size_t i = 0; i < lesson->step_count; i++) {
        free(lesson->steps[i].elements);
        free(lesson->steps[i].words);
    }
    free(lesson->steps);
    free(lesson->products);
    free(lesson->warp_products);
    free(lesson->places);
    free(lesson->a);
    free(lesson->b);
    memset(lesson, 0, sizeof *lesson);
}

int64_t lab_lesson_columns(const lab_lesson *lesson, char operand)
{
    return operand == 'A' ? lesson->k : lesson->n;
}

int lab_lesson_pitch(const lab_lesson *lesson, char operand)
{
    return lesson->is_sparse_a && operand == 'A' ? LESSON_KEPT_STEP : 1;
}

int lab_lesson_goes_down(const lab_lesson *lesson, char operand)
{
    return (operand == 'A' && lesson->trans_a && !lesson->is_sparse_a) || (operand == 'B' && lesson->trans_b);
}
