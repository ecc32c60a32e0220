/* What the block of a lesson did in all. */
#include <stdlib.h>

#include "lab/explain/lesson.h"

enum { WARP = 32 };

/* What is counted on the way. */
typedef struct tally {
    const lab_lesson *lesson;
    int warp;
    double *of_thread; /* kind x thread */
    unsigned char *is_working;
    unsigned char *is_seen; /* elements of A, then of B: bit 0 by the block, bit 1 by the warp */
    lab_lesson_totals *out;
} tally;

static int is_bringing(const lab_step *step)
{
    return step->kind == LAB_STEP_LOAD || step->kind == LAB_STEP_COPY;
}

static void see_element(const tally *t, lab_lesson_kind kind, int thread, int32_t element)
{
    const size_t at = (size_t)element + (kind == LAB_COUNT_LOADS_B ? (size_t)(t->lesson->m * t->lesson->k) : 0);
    unsigned char *seen = &t->is_seen[at];
    lab_lesson_count *count = &t->out->of[kind];
    count->different += *seen & 1 ? 0 : 1;
    *seen |= 1;
    if (thread / WARP == t->warp) {
        count->of_warp += *seen & 2 ? 0 : 1;
        *seen |= 2;
    }
}

static void add(const tally *t, lab_lesson_kind kind, int thread)
{
    t->of_thread[(int)kind * t->out->threads + thread]++;
}

static void add_element(const tally *t, const lab_step *step, int thread, int32_t element)
{
    if (element == LAB_NO_THREAD)
        return;
    if (is_bringing(step) && element >= 0 && (step->operand == 'A' || step->operand == 'B')) {
        const lab_lesson_kind kind = step->operand == 'A' ? LAB_COUNT_LOADS_A : LAB_COUNT_LOADS_B;
        add(t, kind, thread);
        see_element(t, kind, thread, element);
    }
    if (step->kind == LAB_STEP_FILL || step->kind == LAB_STEP_COPY)
        add(t, LAB_COUNT_FILLS, thread);
    if (step->kind == LAB_STEP_READ)
        add(t, LAB_COUNT_READS, thread);
    if (element >= 0 && (is_bringing(step) || step->kind == LAB_STEP_STORE))
        t->is_working[thread] = 1;
}

static void add_all(const tally *t)
{
    const lab_lesson *l = t->lesson;
    for (size_t i = 0; i < l->step_count; i++)
        for (int thread = 0; thread < t->out->threads && l->steps[i].kind != LAB_STEP_WARP; thread++)
            for (unsigned j = 0; j < l->steps[i].width; j++)
                add_element(t, &l->steps[i], thread, l->steps[i].elements[(unsigned)thread * l->steps[i].width + j]);
    for (size_t i = 0; i < l->product_count; i++) {
        const lab_product *p = &l->products[i];
        add(t, p->row >= 0 ? LAB_COUNT_PRODUCTS : LAB_COUNT_ZEROS, p->thread);
        t->is_working[p->thread] |= p->row >= 0;
    }
}

static void sum_up(const tally *t, lab_lesson_kind kind)
{
    lab_lesson_count *count = &t->out->of[kind];
    count->bytes = kind == LAB_COUNT_PRODUCTS || kind == LAB_COUNT_ZEROS ? 0 : t->lesson->elem_bytes;
    int is_first = 1;
    double of_working = 0;
    for (int thread = 0; thread < t->out->threads; thread++) {
        const double own = t->of_thread[(int)kind * t->out->threads + thread];
        count->elements += own;
        if (!t->is_working[thread])
            continue;
        of_working += own;
        count->least = is_first || own < count->least ? own : count->least;
        count->most = is_first || own > count->most ? own : count->most;
        is_first = 0;
    }
    count->average = t->out->working ? of_working / t->out->working : 0;
}

int lab_lesson_total(const lab_lesson *lesson, int warp, lab_lesson_totals *out)
{
    const size_t elements = (size_t)(lesson->m * lesson->k + lesson->k * lesson->n);
    *out = (lab_lesson_totals){.threads = lesson->threads_x * lesson->threads_y};
    tally t = {.lesson = lesson, .warp = warp, .out = out};
    t.of_thread = calloc((size_t)LAB_COUNTS * (size_t)out->threads, sizeof *t.of_thread);
    t.is_working = calloc((size_t)out->threads, 1);
    t.is_seen = calloc(elements + 1, 1);
    const int whole = t.of_thread && t.is_working && t.is_seen;
    if (whole) {
        add_all(&t);
        for (int thread = 0; thread < out->threads; thread++)
            out->working += t.is_working[thread];
        for (lab_lesson_kind kind = 0; kind < LAB_COUNTS; kind++)
            sum_up(&t, kind);
    }
    free(t.of_thread);
    free(t.is_working);
    free(t.is_seen);
    return whole;
}
