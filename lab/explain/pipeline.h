/* A pipeline: what the parties of a kernel do beside each other, taken from a run in the emulator that is listened to
 * (emu/listen.h). Parties are warps, the copy engine and the tensor cores; a lesson (lab/explain/lesson.h) follows
 * single threads, which fits kernels without such parties better.
 *
 * The emulator has no time. What happened is laid on a scale of ticks: whoever waits goes on when the last one for
 * which it waits is done, a box takes two ticks on its way (of which the copy engine begins one step in each), a step
 * of products two, and what a thread does between two synchronisations of the end of a tile one. Which comes before
 * which is the kernel's doing; how long it takes is not known here. */
#ifndef LAB_PIPELINE_H
#define LAB_PIPELINE_H

#include "lab/explain/lesson.h"

/* First and last row and column of op(A), M x K, of op(B), K x N, or of D; row1 < row0: nothing. */
typedef struct lab_pipe_extent {
    int64_t row0, row1, column0, column1;
} lab_pipe_extent;

/* One filling of a stage of the ring: what is multiplied together. */
typedef struct lab_pipe_step {
    int stage; /* of the ring, numbered as they are filled first */
    int turn;  /* how often the stage was filled before */
    int unit;  /* index of lab_pipeline.units */
    lab_pipe_extent a, b;
    int64_t at, bytes;               /* in shared memory; bytes that came, by all who sent */
    int boxes, multicast;            /* of this CTA's; those that went to several CTAs */
    int64_t full_at, empty_at;       /* the stage's mbarriers, offsets in shared memory; -1: none was seen */
    int full_phase;                  /* which phase of `full` this was */
    double asked, landed, full;      /* ticks; -1: it did not happen */
    double read_from, read_to, free; /* first and last multiplied; `empty` complete */
    int readers;                     /* bit g: consumer group g */
} lab_pipe_step;

/* What one CTA does for one tile of D: steps first to last, in order. */
typedef struct lab_pipe_unit {
    int64_t cta;
    lab_pipe_extent a, b, d; /* read, and stored by this CTA */
    int steps;               /* fillings of a stage; 0: the kernel has no ring */
    int64_t k_count;         /* of K that it multiplies, */
    int64_t k_stride;        /*   from the begin of a step to that of the next; 0: one step */
    double multiply_adds;
    double left_bytes, taken_bytes; /* of sums, to and from the workspace or other CTAs' shared memory */
    int counter;                    /* what the tile's counter held when this CTA counted; -1: it counts nowhere */
} lab_pipe_unit;

typedef enum lab_pipe_role_kind {
    LAB_ROLE_IDLE,
    LAB_ROLE_PRODUCER,   /* asks for boxes */
    LAB_ROLE_TRANSPOSER, /* turns what has come before others read it */
    LAB_ROLE_CONSUMER    /* multiplies */
} lab_pipe_role_kind;

typedef struct lab_pipe_role {
    lab_pipe_role_kind kind;
    int first_warp, warps;
    int asks;      /* it asks for boxes, whatever else it does */
    int registers; /* that setmaxnreg gives a thread; 0: as launched */
} lab_pipe_role;

typedef enum lab_pipe_mark_kind {
    LAB_MARK_ASK,      /* boxes of a step are asked for */
    LAB_MARK_MULTIPLY, /* a step */
    LAB_MARK_TURN,     /* transposes what a step brought */
    LAB_MARK_END       /* brings a tile, or sums, to where they belong */
} lab_pipe_mark_kind;

typedef struct lab_pipe_mark {
    lab_pipe_mark_kind kind;
    int role, step; /* step: -1 for END */
    int unit;
    double from, to;
} lab_pipe_mark;

/* A batch of wgmma of one warp group. */
typedef struct lab_pipe_batch {
    int role, number, step, products, n, k;
    double issued, done, waited; /* waited: when the group had waited for it */
} lab_pipe_batch;

/* A box as it lies in shared memory, the first of A and of B. */
typedef struct lab_pipe_box {
    char operand;        /* 'A', 'B'; 0: none was seen */
    int64_t row, column; /* of its first element as the operand is stored, */
    int64_t rows, columns;
    int64_t at;        /* in shared memory */
    int swizzle_bytes; /* 0: none */
    int row_bytes;     /* of the box */
} lab_pipe_box;

typedef struct lab_pipeline {
    const char *kernel, *instance, *summary, *source;
    char schedule[64];
    lab_types types; /* none is left out */
    int64_t m, n, k;
    int trans_a, trans_b;
    int is_sparse_a; /* A is compressed 2:4: its boxes are of the values that are kept */
    int bm, bn, bk, threads, smem_bytes, elem_bytes, cluster;
    int64_t ctas, cta, rank;           /* of the grid; the one that is followed, and its rank in its cluster */
    int stages;                        /* of the ring; 0: none */
    int full_arrivals, empty_arrivals; /* that a phase of `full`, of `empty` counts */
    int has_wgmma, wgmma_n, wgmma_k, mn_major_a, mn_major_b;
    int most_in_flight; /* steps asked for and not yet given back */
    int most_batches;   /* of wgmma of one group in flight */
    int has_mma;
    int reduces;          /* CTAs leave the sums of their parts of K, and a split-K reduce, a second launch, stores D */
    double cluster_reads; /* bytes read from other CTAs' shared memory */
    double sent_bytes;    /* that the copy engine brings to them */
    double ticks;
    lab_pipe_role *roles;
    size_t role_count;
    lab_pipe_step *steps; /* of the CTA */
    size_t step_count;
    lab_pipe_mark *marks;
    size_t mark_count;
    lab_pipe_batch *batches;
    size_t batch_count;
    lab_pipe_unit *units; /* of all CTAs */
    size_t unit_count;
    lab_pipe_box box_a, box_b;
} lab_pipeline;

/* Makes the pipeline of the CTA that makes (the last part of) tile `block_x`, `block_y`, or of CTA `cta` where that is
 * not negative. *is_simple is 1, and nothing else is set, where a lesson follows the kernel better. */
tsr_status lab_pipeline_make(const lab_lesson_request *asked, int64_t cta, int *is_simple, lab_pipeline *out);
/* The type of elements that the kernel is explained with where nobody names one: f32 where it computes in f32. */
tsr_dtype lab_pipeline_dtype(const char *kernel, tsr_compute compute);
void lab_pipeline_free(lab_pipeline *pipeline); /* a zeroed struct is fine */

/* Element of D's tile of a warp group that register `index` of thread `thread` of 128 holds (wgmma). */
void lab_wgmma_place(int thread, int index, int *row, int *column);
/* The same of the first element of register `index` of a lane in mma.sync's operand of 16-bit elements: 'A', 16 x 16,
 * two to a register; 'B', 16 x 8; and of 'C', the sums, 16 x 8. */
typedef struct lab_mma_place {
    int row, column;
} lab_mma_place;
lab_mma_place lab_mma_place_of(char operand, int lane, int index);
/* Where the 16-byte chunk `chunk` of row `row` of the box lies in its row of shared memory. */
int lab_box_chunk(const lab_pipe_box *box, int row, int chunk);

#endif
