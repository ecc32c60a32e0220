#include "lab/lesson.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/error.h"
#include "lab/lesson_run.h"

enum {
    EVENTS_MAX = 5 << 20, /* of 48 bytes, twice */
    TAGS_MAX = 1 << 24,   /* whole numbers that f32 holds exactly */
    SMALL_VALUES = 17
};

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static int is_named(const tsr_row *row, const char *kernel)
{
    return strcmp(row->name, kernel) == 0 || strcmp(row->instance, kernel) == 0;
}

/* The tiles that the kernel's instances have, "2, 4, 8". */
static void list_tiles(const lab_lesson_request *request, char *text, size_t bytes)
{
    size_t used = 0;
    int last = 0;
    text[0] = '\0';
    for (size_t i = 0; i < tsr_row_count() && used < bytes; i++) {
        const tsr_row *row = tsr_row_at(i);
        if (!is_named(row, request->kernel) || row->dtype_ab != request->dtype || row->bm != row->bn || row->bm == last)
            continue;
        last = row->bm;
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", used ? ", " : "", row->bm);
    }
}

/* The instance that the request names by its tile, or the kernel as it was named. */
static tsr_status find_instance(const lab_lesson_request *request, const char **name)
{
    *name = request->kernel;
    if (request->tile == 0)
        return TSR_OK;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        if (is_named(row, request->kernel) && row->dtype_ab == request->dtype && row->bm == request->tile &&
            row->bn == request->tile) {
            *name = row->instance;
            return TSR_OK;
        }
    }
    char tiles[160];
    list_tiles(request, tiles, sizeof tiles);
    return tsr_fail(TSR_INVALID_ARGUMENT, "%s has no instance with tiles of %d x %d in %s; there are: %s",
                    request->kernel, request->tile, request->tile, tsr_dtype_name(request->dtype),
                    tiles[0] ? tiles : "none that are square");
}

/* Sizes that were left out: two blocks each way and some steps of K, of the kernel's smallest tile. */
static void fill_in_sizes(lab_lesson_request *request)
{
    const tsr_row *smallest = NULL;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        if (!is_named(row, request->kernel) || row->dtype_ab != request->dtype || row->bm == 0 ||
            (request->tile && row->bm != request->tile))
            continue;
        if (!smallest || row->bm * row->bn < smallest->bm * smallest->bn)
            smallest = row;
    }
    if (!smallest)
        return;
    if (!request->tile && !request->m && !request->n && !request->k && smallest->bm == smallest->bn)
        request->tile = smallest->bm;
    if (!request->m)
        request->m = 2 * smallest->bm;
    if (!request->n)
        request->n = 2 * smallest->bn;
    if (!request->k)
        request->k = smallest->bk == 1 ? 4 : smallest->bk == smallest->bm ? 2 * smallest->bk : 4 * smallest->bk;
}

static tsr_status judge_row(const tsr_row *row, size_t workspace_bytes)
{
    if (row->kind == TSR_ROW_CPU)
        return tsr_fail(TSR_UNSUPPORTED, "%s runs on the CPU; only kernels that run in the emulator can be followed",
                        row->name);
    if (row->tma)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: its loads and products are made by the copy engine and by groups of four "
                        "warps, not by threads that could be followed",
                        row->name);
    if (row->dtype_ab == TSR_F64)
        return tsr_fail(TSR_UNSUPPORTED, "%s: explained in f32; f64 does the same with twice the bytes", row->name);
    if (row->persistent || workspace_bytes > 0)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: several blocks work on one tile of C; only kernels with one block for "
                        "each tile can be followed",
                        row->name);
    return TSR_OK;
}

static const tsr_row *row_of(const tsr_plan *plan)
{
    return tsr_plan_main(&plan->planned)->row;
}

/* A kernel of another device would only be told "not for the emulator": says it better. */
static tsr_status refuse_cpu(const char *name)
{
    int on_cpu = 0, elsewhere = 0;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        on_cpu |= is_named(row, name) && row->kind == TSR_ROW_CPU;
        elsewhere |= is_named(row, name) && row->kind != TSR_ROW_CPU;
        if (on_cpu && is_named(row, name))
            return judge_row(row, 0);
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
    tsr_gemm_desc desc = tsr_gemm_desc_make(request->dtype, request->m, request->n, request->k);
    desc.a.align_bytes = desc.b.align_bytes = desc.c.align_bytes = desc.d.align_bytes = 256;
    desc.a.trans = request->trans_a ? TSR_T : TSR_N;
    desc.b.trans = request->trans_b ? TSR_T : TSR_N;
    desc.compute = request->compute;
    desc.kernel = name;
    status = tsr_plan_create(run->context, &desc, &run->plan);
    return status == TSR_OK ? judge_row(row_of(run->plan), tsr_plan_workspace_bytes(run->plan)) : status;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

static tsr_status allocate(const lab_lesson *lesson, lesson_run *run)
{
    run->a_elems = (size_t)(lesson->m * lesson->k);
    run->b_elems = (size_t)(lesson->k * lesson->n);
    run->d_elems = (size_t)(lesson->m * lesson->n);
    const size_t bytes = (size_t)lesson->elem_bytes, bytes_d = (size_t)lesson->elem_bytes_d;
    if (tsr_device_alloc(run->context, run->a_elems * bytes + 16, &run->a) != TSR_OK ||
        tsr_device_alloc(run->context, run->b_elems * bytes + 16, &run->b) != TSR_OK ||
        tsr_device_alloc(run->context, run->d_elems * bytes_d, &run->d) != TSR_OK)
        return TSR_OUT_OF_MEMORY;
    return TSR_OK;
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
        memset(run->a, 0, run->a_elems * (size_t)lesson->elem_bytes);
        memset(run->b, 0, run->b_elems * (size_t)lesson->elem_bytes);
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
    tsr_run_args args = tsr_run_args_make(run->a, run->b, run->d);
    tsr_device *device = &run->context->home->device;
    const tsr_emu_watcher watcher = lab_lesson_watcher(lanes);
    tsr_emu_trace_launches(device, trace);
    tsr_emu_watch_launches(device, lanes ? &watcher : NULL);
    const tsr_status status = tsr_plan_run(run->plan, &args);
    tsr_emu_watch_launches(device, NULL);
    tsr_emu_trace_launches(device, NULL);
    return status;
}

/* Does this CTA write the first element of the wanted tile? Kernels deal tiles to CTAs as they like. */
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
    if (status == TSR_OK)
        status = run_once(run, &run->tags, run->lanes);
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

static tsr_status describe(const lab_lesson_request *request, const tsr_row *row, lab_lesson *out)
{
    out->kernel = row->name;
    out->instance = row->instance;
    out->summary = row->summary;
    out->source = row->source;
    out->dtype = row->dtype_ab;
    out->dtype_d = row->dtype_cd;
    out->m = request->m;
    out->n = request->n;
    out->k = request->k;
    out->trans_a = request->trans_a;
    out->trans_b = request->trans_b;
    out->bm = row->bm;
    out->bn = row->bn;
    out->bk = row->bk;
    out->threads_x = row->threads_x;
    out->threads_y = row->threads_y;
    out->smem_bytes = row->smem_bytes;
    out->elem_bytes = (int)tsr_dtype_bytes(row->dtype_ab);
    out->elem_bytes_d = (int)tsr_dtype_bytes(row->dtype_cd);
    out->blocks_x = (request->n + row->bn - 1) / row->bn;
    out->blocks_y = (request->m + row->bm - 1) / row->bm;
    out->block_x = request->block_x;
    out->block_y = request->block_y;
    if (request->block_x >= out->blocks_x || request->block_y >= out->blocks_y)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "block %" PRId64 ",%" PRId64 ": %s makes C from %" PRId64 " x %" PRId64
                        " blocks (x up to %" PRId64 ", y up to %" PRId64 ")",
                        request->block_x, request->block_y, row->instance, out->blocks_x, out->blocks_y,
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
        status = describe(request, row_of(run->plan), out);
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
    lesson_run run = {.lanes = &lanes};
    lab_lesson_request completed = *asked, *const request = &completed;
    fill_in_sizes(request);
    memset(out, 0, sizeof *out);
    const tsr_status status = make(request, &run, out);
    free(run.tags.events);
    free(run.values.events);
    lab_lesson_lanes_free(&lanes);
    tsr_plan_release(run.plan);
    if (run.context) {
        tsr_device_free(run.context, run.a);
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
    free(lesson->places);
    free(lesson->a);
    free(lesson->b);
    memset(lesson, 0, sizeof *lesson);
}

int64_t lab_lesson_columns(const lab_lesson *lesson, char operand)
{
    return operand == 'A' ? lesson->k : lesson->n;
}
