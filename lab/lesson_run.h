/* What the files of a lesson share. */
#ifndef LAB_LESSON_RUN_H
#define LAB_LESSON_RUN_H

#include "emu/trace.h"
#include "lab/lesson.h"

/* The traced runs. */
typedef struct lesson_run {
    tsr_context *context;
    tsr_plan *plan;
    long long ctas;  /* of the grid */
    void *a, *b, *d; /* as stored */
    size_t a_elems, b_elems, d_elems;
    tsr_emu_trace tags; /* of the first run, and of the second */
    tsr_emu_trace values;
} lesson_run;

/* Steps and products from the traces. */
tsr_status lab_lesson_digest(const lesson_run *run, lab_lesson *out);

#endif
