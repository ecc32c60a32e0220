/* What the files of a pipeline share. */
#ifndef LAB_PIPELINE_RUN_H
#define LAB_PIPELINE_RUN_H

#include "emu/listen.h"
#include "lab/explain/pipeline.h"

enum { PIPE_WARPS = 128 /* of a cluster */, PIPE_BARRIERS = 256, PIPE_NAMED = 16, PIPE_KEYS = 4 };

/* An operand, or the workspace, in device memory. */
typedef struct pipe_region {
    uintptr_t at;
    size_t bytes;
    int64_t rows, columns, ld; /* as it is stored; elements */
    int elem_bytes, is_transposed;
} pipe_region;

/* An mbarrier of one CTA. */
typedef struct pipe_barrier {
    uintptr_t at;
    int arrivals, phases; /* that a phase counts; complete so far */
    int capacity;
    double pending, *done; /* latest of this phase; when each was complete */
} pipe_barrier;

/* A barrier of some threads. */
typedef struct pipe_meeting {
    unsigned come;
    double latest, done;
} pipe_meeting;

/* A thread: the lanes of a warp do at one time what the emulator does one after the other. */
typedef struct pipe_thread {
    double now;
    int asks, multiplies, turns, registers;    /* what it ever did */
    int has_multiplied, has_written, has_read; /* since it last synchronised */
    int has_stored;                            /* sums, and loaded nothing since */
    int step;                                  /* that it multiplied last; -1: none */
    uint64_t passed;                           /* key of the mbarrier's phase that it waited for last */
    uint64_t arrived[2];                       /* of those where it arrived since */
    int unit;                                  /* without boxes: the step of its CTA that it works on */
} pipe_thread;

/* What a CTA did with the sums of a step, and those before it. */
typedef struct pipe_end {
    lab_pipe_extent d;
    double multiply_adds, left_bytes, taken_bytes;
    int counter;
    uint64_t keys[PIPE_KEYS]; /* mbarriers' phases that stand for the step: A's boxes, B's, others */
} pipe_end;

/* One CTA of the cluster that runs. */
typedef struct pipe_cta {
    pipe_barrier barriers[PIPE_BARRIERS];
    int barrier_count;
    pipe_meeting named[PIPE_NAMED], sync;
    double engine; /* the copy engine is free from then on */
    lab_pipe_step *steps;
    pipe_end *ends; /* of each step */
    size_t step_count, step_capacity;
    lab_pipe_mark *marks; /* `role` is a thread of the cluster until the roles are known */
    size_t mark_count, mark_capacity;
    lab_pipe_batch *batches; /* likewise */
    size_t batch_count, batch_capacity;
    int has_boxes, open_products[PIPE_WARPS / 4], open_step[PIPE_WARPS / 4], committed[PIPE_WARPS / 4];
    double tensor_free[PIPE_WARPS / 4], cluster_reads, sent_bytes;
    lab_pipe_box box_a, box_b;
} pipe_cta;

typedef struct pipe_listener {
    lab_pipeline *out;
    pipe_region a, b, d, workspace;
    int64_t cluster; /* that runs; -1: none yet */
    int warps;       /* of a CTA */
    pipe_cta *ctas;  /* of the cluster: out->cluster of them */
    pipe_meeting cluster_meeting;
    pipe_thread *threads; /* of the cluster */
    size_t unit_capacity;
    int64_t wanted_cta, wanted_row, wanted_column; /* -1: any CTA; element of D that it stores */
    int is_kept, out_of_memory;
} pipe_listener;

/* Follows the cluster that runs: an event of tsr_emu_listener, whose user is a pipe_listener. */
void lab_pipe_event(void *listener, const tsr_event *event);
/* The cluster has ended: its units are noted and, if it is the wanted one, all that it did. */
void lab_pipe_keep(pipe_listener *listener);
/* Each thread of the cluster's CTA `rank` has ended: what it did since it last synchronised is noted. */
void lab_pipe_end_threads(pipe_listener *listener, int rank);
/* Forgets the cluster. */
void lab_pipe_reset(pipe_listener *listener);

/* Room for one more of `bytes` in an array of *capacity; NULL when out of memory. */
void *lab_pipe_grow(void *items, size_t count, size_t *capacity, size_t bytes);
pipe_barrier *lab_pipe_barrier(pipe_cta *cta, uintptr_t at);

static inline uint64_t lab_pipe_key(uintptr_t barrier, int phase)
{
    return (uint64_t)barrier << 32 | (uint32_t)(phase + 1);
}

static inline int lab_pipe_is_empty(const lab_pipe_extent *extent)
{
    return extent->row1 < extent->row0;
}
void lab_pipe_join(lab_pipe_extent *to, const lab_pipe_extent *more);
lab_pipe_extent lab_pipe_nothing(void);

#endif
