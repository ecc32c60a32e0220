/* What the files of a lesson share. */
#ifndef LAB_LESSON_RUN_H
#define LAB_LESSON_RUN_H

#include "emu/trace.h"
#include "emu/watch.h"
#include "lab/lesson.h"

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
    tsr_emu_trace tags; /* of the first run, and of the second */
    tsr_emu_trace values;
    lesson_lanes *lanes; /* of the first run */
} lesson_run;

/* Steps and products from the traces. */
tsr_status lab_lesson_digest(const lesson_run *run, lab_lesson *out);

/* Numbers stages, which barriers end, from 0 without those in which nothing happens, and groups them to phases. */
tsr_status lab_lesson_find_phases(lab_lesson *lesson);

#endif
