/* Which fragments the tensor cores multiply. Elements of 16 bits are told apart by patterns of bits, those of f64 by
 * whole numbers that a float holds: no other element of A or B has the same, none is 0, infinite or no number, and the
 * emulator hands them to the product unchanged. */
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "lab/explain/lesson_run.h"

enum { SIGN = 0x8000 };

/* Normal numbers of the type without their sign are patterns from `first` to `end` - 1. */
static void limits(tsr_dtype dtype, int64_t *first, int64_t *end)
{
    *first = dtype == TSR_BF16 ? 0x0080 : 0x0400;
    *end = dtype == TSR_BF16 ? 0x7f80 : 0x7c00;
}

int lab_lesson_has_tags(const lab_lesson *lesson)
{
    int64_t first, end;
    if (lesson->dtype == TSR_F64)
        return (lesson->m + lesson->n) * lesson->k < 1 << 24;
    limits(lesson->dtype, &first, &end);
    return (lesson->dtype == TSR_BF16 || lesson->dtype == TSR_F16) &&
           lab_lesson_a_elems(lesson) + lesson->n * lesson->k <= 2 * (end - first);
}

static int64_t kept(const lab_lesson *lesson)
{
    return lesson->is_sparse_a ? lesson->k / LESSON_KEPT_STEP : lesson->k;
}

int64_t lab_lesson_a_elems(const lab_lesson *lesson)
{
    return lesson->m * kept(lesson);
}

/* Of element `index` of A, or of B behind all of A, and back; -1: of none. */
static uint16_t tag_of(tsr_dtype dtype, int64_t index)
{
    int64_t first, end;
    limits(dtype, &first, &end);
    return (uint16_t)(index < end - first ? first + index : SIGN + first + (index - (end - first)));
}

static int64_t index_of(tsr_dtype dtype, float value)
{
    int64_t first, end;
    if (dtype == TSR_F64)
        return (int64_t)value - 1;
    limits(dtype, &first, &end);
    const int64_t bits = dtype == TSR_BF16 ? tsr_f32_to_bf16(value) : tsr_f32_to_f16(value), magnitude = bits % SIGN;
    if (magnitude < first || magnitude >= end)
        return -1;
    return magnitude - first + (bits >= SIGN ? end - first : 0);
}

static void tag(void *to, const lab_lesson *l, int64_t rows, int64_t columns, int trans, int64_t first)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = trans ? j * rows + i : i * columns + j, index = first + i * columns + j;
            if (l->dtype == TSR_F64)
                ((double *)to)[at] = (double)(index + 1);
            else
                ((uint16_t *)to)[at] = tag_of(l->dtype, index);
        }
}

void lab_lesson_tag(const lab_lesson *lesson, const lesson_run *run)
{
    if (!lab_lesson_has_tags(lesson))
        return;
    if (!lesson->is_sparse_a)
        tag(run->a, lesson, lesson->m, lesson->k, lesson->trans_a, 0);
    tag(run->b, lesson, lesson->k, lesson->n, lesson->trans_b, lab_lesson_a_elems(lesson));
}

/* A matrix of which the kept elements have their tags, or are not 0, and the others are 0. */
void lab_lesson_fill_sparse(const lab_lesson *l, void *whole)
{
    const int has_tags = lab_lesson_has_tags(l);
    for (int64_t i = 0; i < l->m; i++)
        for (int64_t j = 0; j < kept(l); j++) {
            const int64_t column = LESSON_KEPT_STEP * j + LESSON_KEPT_FIRST;
            const int64_t at = l->trans_a ? column * l->m + i : i * l->k + column;
            if (l->elem_bytes == 1)
                ((unsigned char *)whole)[at] = 1;
            else
                ((uint16_t *)whole)[at] = tag_of(l->dtype, has_tags ? i * kept(l) + j : 0);
        }
}

static void widen(int *first, int *last, int64_t at)
{
    if (*last < *first) {
        *first = *last = (int)at;
        return;
    }
    *first = at < *first ? (int)at : *first;
    *last = at > *last ? (int)at : *last;
}

/* The emulator's mma.sp multiplies row by row, since each has elements of B of its own: 1 if the row was added to the
 * instruction before. */
static int is_next_row(lab_lesson *l, const tsr_event_fragments *f, const lab_warp_product *p)
{
    enum { ROWS = 16 };
    lab_warp_product *const last = l->warp_product_count ? &l->warp_products[l->warp_product_count - 1] : NULL;
    if (!l->is_sparse_a || f->rows != 1 || !last || last->warp != p->warp || last->row1 + 1 != p->row0 ||
        last->row1 - last->row0 + 1 == ROWS || last->k0 != p->k0 || last->k1 != p->k1 || last->column0 != p->column0 ||
        last->column1 != p->column1)
        return 0;
    last->row1 = p->row1;
    return 1;
}

void lab_lesson_see_products(void *products, const tsr_event *event)
{
    lesson_products *seen = products;
    lab_lesson *l = seen->lesson;
    const tsr_event_fragments *f = event->fragments;
    const int64_t a_elems = lab_lesson_a_elems(l), in_line = kept(l);
    if (event->kind != TSR_EVENT_FRAGMENTS || event->cta != seen->cta || seen->out_of_memory)
        return;
    if (l->warp_product_count == seen->capacity) {
        const size_t capacity = seen->capacity ? 2 * seen->capacity : 256;
        lab_warp_product *grown = realloc(l->warp_products, capacity * sizeof *grown);
        seen->out_of_memory = grown == NULL;
        if (!grown)
            return;
        l->warp_products = grown;
        seen->capacity = capacity;
    }
    lab_warp_product p = {(int)event->thread / 32, 0, -1, 0, -1, 0, -1};
    for (int i = 0; i < f->rows * f->k; i++) {
        const int64_t index = index_of(l->dtype, f->a[i]);
        if (index < 0 || index >= a_elems)
            continue;
        widen(&p.row0, &p.row1, index / in_line);
        widen(&p.k0, &p.k1, l->is_sparse_a ? index % in_line * LESSON_KEPT_STEP : index % l->k);
        if (l->is_sparse_a) /* the instruction goes along two of K for each value */
            widen(&p.k0, &p.k1, index % in_line * LESSON_KEPT_STEP + LESSON_KEPT_FIRST);
    }
    for (int i = 0; i < f->k * f->columns; i++) {
        const int64_t index = index_of(l->dtype, f->b[i]) - a_elems;
        if (index >= 0)
            widen(&p.column0, &p.column1, index % l->n);
    }
    if (!is_next_row(l, f, &p))
        l->warp_products[l->warp_product_count++] = p;
}
