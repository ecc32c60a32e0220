/* From the events of a trace to the steps and products of a lesson. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/explain/lesson_run.h"

enum { PLACES_MAX = 512, THREADS_MAX = 1024 };

/* Of a thread to a place of the source. */
typedef struct visit {
    uint32_t count; /* how often it, or its warp, was there */
    uint32_t step;  /* one more than the index, in this stage, of the step in which it was there last */
} visit;

/* Threads meet in a step by where in the source they are, and how often their warp was there in this stage. */
typedef struct digest {
    const lesson_run *run;
    lab_lesson *lesson;
    int threads;
    size_t step_capacity, product_capacity;
    const void *sites[PLACES_MAX];
    visit *visits;           /* site x thread: in this stage */
    unsigned *orders;        /* thread: events in this stage */
    int *stages;             /* thread: barriers passed */
    size_t stage_first_step; /* of this stage */
    int stage;
    float *sums;               /* of the elements of D */
    int out_of_memory, is_odd; /* is_odd: the two runs differ, or a sum is wrong */
} digest;

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* The element of op(X) that is stored `index` elements after the start. */
static int32_t element_at(int64_t rows, int64_t columns, int trans, int64_t index)
{
    if (!trans)
        return (int32_t)index;
    return (int32_t)(index % rows * columns + index / rows);
}

/* Whose element the address is: 'A' to 'D', and which; 0 if nobody's. */
static char element_of(const digest *d, uintptr_t address, int64_t plus, int32_t *element)
{
    const lab_lesson *l = d->lesson;
    const lesson_run *r = d->run;
    const uintptr_t a = address - (uintptr_t)r->a, b = address - (uintptr_t)r->b, c = address - (uintptr_t)r->d;
    if (l->is_sparse_a && a < r->a_elems * (size_t)l->elem_bytes) {
        const int64_t value = (int64_t)a / l->elem_bytes + plus, row = value / r->kept_a,
                      column = value % r->kept_a * LESSON_KEPT_STEP + LESSON_KEPT_FIRST;
        const int is_padding = row >= l->m || column >= l->k;
        *element = is_padding ? LAB_ZERO : (int32_t)(row * l->k + column);
        return is_padding ? 'Z' : 'A';
    }
    if (a < r->a_elems * (size_t)l->elem_bytes) {
        *element = element_at(l->m, l->k, l->trans_a, (int64_t)a / l->elem_bytes + plus);
        return 'A';
    }
    if (b < r->b_elems * (size_t)l->elem_bytes) {
        *element = element_at(l->k, l->n, l->trans_b, (int64_t)b / l->elem_bytes + plus);
        return 'B';
    }
    const int is_d = c < r->d_elems * (size_t)l->elem_bytes_d;
    *element = is_d ? (int32_t)((int64_t)c / l->elem_bytes_d + plus) : LAB_UNKNOWN;
    return is_d ? 'D' : '\0';
}

/* The same by the tag that the element held in the first run. */
static char element_of_tag(const digest *d, float tag, int32_t *element)
{
    const size_t number = tag >= 1.0f ? (size_t)tag : 0;
    *element = LAB_ZERO;
    if (number == 0)
        return 'Z';
    *element = (int32_t)(number - 1);
    if (number - 1 < d->run->a_elems)
        return 'A';
    *element = (int32_t)(number - 1 - d->run->a_elems);
    if ((size_t)*element < d->run->b_elems)
        return 'B';
    *element = LAB_UNKNOWN;
    return '\0';
}

/* The operand of a step of which one more element is known. */
static char merge_operand(char before, char now, int is_first)
{
    if (is_first || before == now || before == 'Z')
        return now;
    return now == 'Z' ? before : before == '\0' || now == '\0' ? '\0' : 'M';
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static unsigned site_of(digest *d, const void *place)
{
    const size_t count = d->lesson->place_count;
    for (size_t i = 0; i < count; i++)
        if (d->sites[i] == place)
            return (unsigned)i;
    if (count == PLACES_MAX)
        return PLACES_MAX - 1;
    d->sites[count] = place;
    d->lesson->place_count++;
    return (unsigned)count;
}

static lab_step_kind kind_of(const tsr_trace_event *event)
{
    switch (event->kind) {
    case TSR_TRACE_COPY:
        return LAB_STEP_COPY;
    case TSR_TRACE_READ:
        return event->is_shared ? LAB_STEP_READ : LAB_STEP_LOAD;
    case TSR_TRACE_WRITE:
        return event->is_shared ? LAB_STEP_FILL : LAB_STEP_STORE;
    default:
        return LAB_STEP_WARP;
    }
}

static lab_step *add_step(digest *d, const tsr_trace_event *event, unsigned site, unsigned order)
{
    lab_lesson *l = d->lesson;
    if (l->step_count == d->step_capacity) {
        const size_t capacity = d->step_capacity ? 2 * d->step_capacity : 256;
        lab_step *steps = realloc(l->steps, capacity * sizeof *steps);
        if (!steps)
            return NULL;
        l->steps = steps;
        d->step_capacity = capacity;
    }
    lab_step *step = &l->steps[l->step_count];
    *step = (lab_step){.kind = kind_of(event), .stage = d->stage, .order = order, .place = site, .bytes = event->bytes};
    const int elem_bytes = step->kind == LAB_STEP_STORE ? l->elem_bytes_d : l->elem_bytes;
    step->width = (unsigned)(event->bytes > elem_bytes ? event->bytes / elem_bytes : 1);
    const size_t elements = (size_t)d->threads * step->width;
    step->elements = malloc(elements * sizeof *step->elements);
    const int has_words = step->kind == LAB_STEP_FILL || step->kind == LAB_STEP_COPY || step->kind == LAB_STEP_READ;
    step->words = has_words ? malloc((size_t)d->threads * sizeof *step->words) : NULL;
    l->step_count++;
    if (!step->elements || (has_words && !step->words))
        return NULL;
    for (size_t i = 0; i < elements; i++)
        step->elements[i] = LAB_NO_THREAD;
    for (int i = 0; has_words && i < d->threads; i++)
        step->words[i] = LAB_NO_THREAD;
    return step;
}

static lab_step *find_step(digest *d, const tsr_trace_event *event, unsigned site, uint32_t turn, size_t first)
{
    for (size_t i = first; i < d->lesson->step_count; i++) {
        lab_step *step = &d->lesson->steps[i];
        if (step->place == site && step->turn == turn && step->kind == kind_of(event) && step->bytes == event->bytes)
            return step;
    }
    return NULL;
}

/* How often the thread's warp was there. Where that is not known, how often the thread was. */
static uint32_t turn_of(digest *d, const tsr_trace_event *event, uint32_t visits)
{
    uint32_t turn;
    const int is_seen = lab_lesson_turn(d->run->lanes, event->thread, event->place, event->at, &turn);
    return is_seen ? turn : visits;
}

/* The step of this stage in which the thread takes part by the event. */
static lab_step *step_of(digest *d, const tsr_trace_event *event, unsigned order)
{
    const unsigned site = site_of(d, event->place);
    visit *v = &d->visits[(size_t)site * THREADS_MAX + event->thread];
    const uint32_t turn = turn_of(d, event, v->count);
    v->count = turn + 1;
    lab_step *step = find_step(d, event, site, turn, d->stage_first_step + v->step);
    if (!step && v->step > 0)
        step = find_step(d, event, site, turn, d->stage_first_step);
    if (!step) {
        step = add_step(d, event, site, order);
        if (!step)
            return NULL;
        step->turn = turn;
    }
    v->step = (uint32_t)((size_t)(step - d->lesson->steps) - d->stage_first_step + 1);
    step->order = order > step->order ? order : step->order;
    return step;
}

/* What of the operands the event touches: `element` number j of its access. */
static char touched(const digest *d, const tsr_trace_event *event, unsigned j, int32_t *element)
{
    const size_t elem_bytes = (size_t)d->lesson->elem_bytes;
    *element = LAB_UNKNOWN;
    if (event->kind == TSR_TRACE_COPY) {
        *element = LAB_ZERO;
        return j * elem_bytes < event->from_bytes ? element_of(d, event->from, j, element) : 'Z';
    }
    if (!event->is_shared)
        return element_of(d, event->at, j, element);
    float tag = 0;
    if (d->lesson->dtype != TSR_F32 || event->bytes < 4)
        return '\0';
    memcpy(&tag, event->value.bytes + 4 * j, sizeof tag);
    return element_of_tag(d, tag, element);
}

static void add_access(digest *d, const tsr_trace_event *event)
{
    lab_step *step = step_of(d, event, d->orders[event->thread]);
    if (!step) {
        d->out_of_memory = 1;
        return;
    }
    for (unsigned j = 0; j < step->width; j++) {
        int32_t element = LAB_UNKNOWN;
        const char operand = event->kind == TSR_TRACE_WARP ? '\0' : touched(d, event, j, &element);
        step->elements[event->thread * step->width + j] = element;
        step->operand = merge_operand(step->operand, operand, step->active == 0 && j == 0);
    }
    if (step->words)
        step->words[event->thread] = (int32_t)(event->at / (uintptr_t)d->lesson->elem_bytes);
    step->active++;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

static void add_product(digest *d, const tsr_trace_event *tags, const tsr_trace_event *values)
{
    lab_lesson *l = d->lesson;
    if (l->product_count == d->product_capacity) {
        const size_t capacity = d->product_capacity ? 2 * d->product_capacity : 4096;
        lab_product *products = realloc(l->products, capacity * sizeof *products);
        if (!products) {
            d->out_of_memory = 1;
            return;
        }
        l->products = products;
        d->product_capacity = capacity;
    }
    int32_t x = 0, y = 0;
    const char of_x = element_of_tag(d, tags->value.f32[0], &x), of_y = element_of_tag(d, tags->value.f32[1], &y);
    const int is_swapped = of_x == 'B' && of_y == 'A';
    const int32_t a = is_swapped ? y : x, b = is_swapped ? x : y;
    lab_product product = {.row = -1, .column = -1, .k = -1, .stage = d->stage, .thread = tags->thread};
    product.a = values->value.f32[is_swapped];
    product.b = values->value.f32[!is_swapped];
    product.sum = values->value.f32[3];
    product.order = d->orders[tags->thread];
    if ((of_x == 'A' && of_y == 'B') || is_swapped) {
        product.row = (int32_t)(a / l->k);
        product.column = (int32_t)(b % l->n);
        product.k = (int32_t)(a % l->k);
        d->is_odd |= b / l->n != product.k; /* a product of elements that do not belong together */
        d->is_odd |= product.a != l->a[a] || product.b != l->b[b];
        float *sum = &d->sums[(int64_t)product.row * l->n + product.column];
        *sum = fmaf(product.a, product.b, *sum);
        d->is_odd |= product.sum != *sum;
    } else {
        d->is_odd |= of_x != 'Z' && of_y != 'Z';
    }
    l->products[l->product_count++] = product;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static void next_stage(digest *d, int stage)
{
    d->stage = stage;
    d->stage_first_step = d->lesson->step_count;
    memset(d->visits, 0, (size_t)PLACES_MAX * THREADS_MAX * sizeof *d->visits);
    memset(d->orders, 0, THREADS_MAX * sizeof *d->orders);
}

static void take_event(digest *d, size_t index)
{
    const tsr_trace_event *tags = &d->run->tags.events[index], *values = &d->run->values.events[index];
    d->is_odd |= tags->kind != values->kind || tags->thread != values->thread || tags->at != values->at ||
                 tags->bytes != values->bytes;
    if (tags->kind == TSR_TRACE_BARRIER) {
        d->stages[tags->thread]++;
        return;
    }
    if (d->stages[tags->thread] > d->stage)
        next_stage(d, d->stages[tags->thread]);
    if (tags->kind == TSR_TRACE_FMA)
        add_product(d, tags, values);
    else
        add_access(d, tags);
    d->orders[tags->thread]++;
}

static int compare_steps(const void *left, const void *right)
{
    const lab_step *a = left, *b = right;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static tsr_status name_places(digest *d)
{
    lab_lesson *l = d->lesson;
    l->places = calloc(l->place_count + 1, sizeof *l->places);
    for (size_t i = 0; l->places && i < l->place_count; i++)
        tsr_emu_trace_place(d->sites[i], l->places[i], sizeof l->places[i]);
    return l->places ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
}

/* ---- whose zeros --------------------------------------------------------------------------------------------------
 */

static int is_own(char operand)
{
    return operand == 'A' || operand == 'B';
}

static int puts_in_shared(const lab_step *step)
{
    return step->kind == LAB_STEP_FILL || step->kind == LAB_STEP_COPY;
}

/* Whose steps the other ones at this place are: 'A' or 'B', 0 if nobody's or both operands'. */
static char operand_there(const lab_lesson *l, const lab_step *step, int by_instruction)
{
    char found = '\0';
    for (size_t i = 0; i < l->step_count; i++) {
        const lab_step *other = &l->steps[i];
        const int is_there =
            by_instruction ? other->place == step->place : strcmp(l->places[other->place], l->places[step->place]) == 0;
        if (!is_there || other->kind != step->kind || !is_own(other->operand))
            continue;
        if (found && found != other->operand)
            return '\0';
        found = other->operand;
    }
    return found;
}

/* The operand of most of the words that a step touches. */
static char operand_of_words(const digest *d, const lab_step *step, const char *owners, int32_t word_count)
{
    int a = 0, b = 0;
    for (int thread = 0; step->words && thread < d->threads; thread++)
        for (int32_t j = 0; step->words[thread] >= 0 && j < (int32_t)step->width; j++) {
            const int32_t word = step->words[thread] + j;
            a += word < word_count && owners[word] == 'A';
            b += word < word_count && owners[word] == 'B';
        }
    return a > b ? 'A' : b > a ? 'B' : '\0';
}

static int32_t count_words(const digest *d)
{
    int32_t count = 0;
    for (size_t i = 0; i < d->lesson->step_count; i++) {
        const lab_step *step = &d->lesson->steps[i];
        for (int thread = 0; step->words && thread < d->threads; thread++)
            if (step->words[thread] + (int32_t)step->width > count)
                count = step->words[thread] + (int32_t)step->width;
    }
    return count;
}

/* Notes for each word of shared memory whose elements are put there. */
static void note_owners(const digest *d, char *owners)
{
    for (size_t i = 0; i < d->lesson->step_count; i++) {
        const lab_step *step = &d->lesson->steps[i];
        if (!puts_in_shared(step) || !is_own(step->operand))
            continue;
        for (int thread = 0; thread < d->threads; thread++)
            if (step->words[thread] >= 0)
                memset(owners + step->words[thread], step->operand, step->width);
    }
}

/* Steps in which only zeros were seen pad an operand's tile: that of the elements that the same instruction puts into
 * shared memory at other times, or that lie where it reads. */
static int name_zeros(digest *d)
{
    lab_lesson *l = d->lesson;
    const int32_t words = count_words(d);
    char *owners = calloc((size_t)words + 1, 1);
    const int is_whole = owners != NULL;
    for (int by_instruction = 1; owners && by_instruction >= 0; by_instruction--)
        for (size_t i = 0; i < l->step_count; i++)
            if (l->steps[i].operand == 'Z' && puts_in_shared(&l->steps[i])) {
                const char found = operand_there(l, &l->steps[i], by_instruction);
                l->steps[i].operand = found ? found : 'Z';
            }
    for (int round = 0; owners && round < 2; round++) { /* then what those that were named just now put there */
        note_owners(d, owners);
        for (size_t i = 0; i < l->step_count; i++)
            if (l->steps[i].operand == 'Z') {
                const char found = operand_of_words(d, &l->steps[i], owners, words);
                l->steps[i].operand = found ? found : 'Z';
            }
    }
    free(owners);
    return is_whole;
}

/* ---- from the first event to the last -----------------------------------------------------------------------------
 */

tsr_status lab_lesson_digest(const lesson_run *run, lab_lesson *out)
{
    digest *d = calloc(1, sizeof *d);
    if (d) {
        *d = (digest){.run = run, .lesson = out, .threads = out->threads_x * out->threads_y};
        d->visits = calloc((size_t)PLACES_MAX * THREADS_MAX, sizeof *d->visits);
        d->orders = calloc(THREADS_MAX, sizeof *d->orders);
        d->stages = calloc(THREADS_MAX, sizeof *d->stages);
        d->sums = calloc(run->d_elems, sizeof *d->sums);
    }
    tsr_status status = TSR_OK;
    if (!d || !d->visits || !d->orders || !d->stages || !d->sums)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    for (size_t i = 0; i < run->tags.count && status == TSR_OK; i++) {
        take_event(d, i);
        if (d->out_of_memory)
            status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
        else if (d->is_odd)
            status =
                tsr_fail(TSR_INTERNAL, "%s: two runs differ, or its sums are made in a way that cannot be followed",
                         out->instance);
    }
    out->has_products = out->product_count > 0;
    if (status == TSR_OK)
        status = name_places(d);
    if (status == TSR_OK) {
        qsort(out->steps, out->step_count, sizeof *out->steps, compare_steps);
        status = name_zeros(d) ? lab_lesson_find_phases(out) : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    }
    if (d) {
        free(d->visits);
        free(d->orders);
        free(d->stages);
        free(d->sums);
    }
    free(d);
    return status;
}
