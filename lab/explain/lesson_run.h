/* What the files of a lesson share. */
#ifndef LAB_LESSON_RUN_H
#define LAB_LESSON_RUN_H

#include "core/config.h"
#include "emu/listen.h"
#include "emu/trace.h"
#include "emu/watch.h"
#include "lab/explain/lesson.h"

/* An access of a thread: the warp's instruction there was the `turn`-th since the last barrier. */
typedef struct lesson_turn {
    const void *place;
    uint64_t at; /* as an event of a trace has it */
    uint32_t turn;
} lesson_turn;

typedef struct lesson_turns {
    lesson_turn *items; /* in the order of the thread's program */
    size_t count, capacity, next;
} lesson_turns;

typedef struct lesson_lanes {
    lesson_turns *of_thread;
    unsigned threads;
    int out_of_memory;
} lesson_lanes;

int lab_lesson_lanes_make(lesson_lanes *lanes, unsigned threads); /* 0 when out of memory */
void lab_lesson_lanes_free(lesson_lanes *lanes);
/* Fills `lanes` by the one CTA of the launches that it watches. */
tsr_emu_watcher lab_lesson_watcher(lesson_lanes *lanes);
/* The turn of the thread's next access, which was at `place` and touched `at`. 0 if it was not seen: what the twins of
 * matrix instructions touch is nobody's access. */
int lab_lesson_turn(lesson_lanes *lanes, unsigned thread, const void *place, uint64_t at, uint32_t *turn);

/* The traced runs. */
typedef struct lesson_run {
    tsr_context *context;
    tsr_plan *plan;
    long long ctas;  /* of the grid */
    void *a, *b, *d; /* as stored */
    size_t a_elems, b_elems, d_elems;
    void *whole_a;            /* of a compressed A: the matrix, */
    tsr_prepared *prepared_a; /* what the kernel reads, whose values lie at `a`, */
    int64_t kept_a;           /* and values in one of its lines */
    tsr_emu_trace tags;       /* of the first run, and of the second */
    tsr_emu_trace values;
    lesson_lanes *lanes; /* of the first run */
    lab_lesson *lesson;
} lesson_run;

/* Element number j of a line of a compressed A is column 2 j + 1 of A. */
enum { LESSON_KEPT_STEP = 2, LESSON_KEPT_FIRST = 1 };

/* 1 if it multiplies operands alone that are compressed 2:4. */

/* Elements of A that the kernel has: all, or those that are kept. */
int64_t lab_lesson_a_elems(const lab_lesson *lesson);

/* 1 if each element of 16-bit A and B can have a pattern of bits of its own, and the operands so. */
int lab_lesson_has_tags(const lab_lesson *lesson);
void lab_lesson_tag(const lab_lesson *lesson, const lesson_run *run);
/* Fills all of A for a compressed one; elements that are not kept must be 0. */
void lab_lesson_fill_sparse(const lab_lesson *lesson, void *whole);

/* What the warps of a CTA multiply, told as it happens: adds to the lesson's warp_products. */
typedef struct lesson_products {
    lab_lesson *lesson;
    long long cta;
    size_t capacity;
    int out_of_memory;
} lesson_products;
void lab_lesson_see_products(void *products, const tsr_event *event);

/* Steps and products from the traces. */
tsr_status lab_lesson_digest(const lesson_run *run, lab_lesson *out);

/* Numbers stages, which barriers end, from 0 without those in which nothing happens, and groups them to phases. */
tsr_status lab_lesson_find_phases(lab_lesson *lesson);

#endif
