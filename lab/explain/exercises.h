/* Exercises of the course (docs/COURSE.md), with answers that are computed when they are wanted: counted in the
 * emulator, or from a GPU's figures as the other commands have them. */
#ifndef LAB_EXERCISES_H
#define LAB_EXERCISES_H

#include <stddef.h>

#include "tessera.h"

typedef struct lab_exercise {
    const char *name; /* "naive-loads" */
    int lesson;       /* of the course, from 1 */
    const char *task;
    const char *unit; /* of the answer: "elements" */
    const char *hint; /* for a wrong answer: where to look */
    const char *why;  /* for the right one: how it comes about */
    double tolerance; /* relative; 0: exact */
    /* TSR_NO_DEVICE or TSR_UNSUPPORTED where this build lacks the emulator. */
    tsr_status (*answer)(double *out);
} lab_exercise;

/* In the order of the course; NULL past the last. */
const lab_exercise *lab_exercise_at(size_t index);
const lab_exercise *lab_exercise_find(const char *name); /* NULL: there is none */

/* 1 if `given` is the answer `right`, within the exercise's tolerance. */
int lab_exercise_accepts(const lab_exercise *exercise, double right, double given);

#endif
