/* One cell of a benchmark: a problem on a device, all kernels and peers that run it, timed together. */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include "lab/bench/baseline.h"
#include "lab/bench/calls.h"
#include "lab/bench/measure.h"
#include "lab/bench/report.h"
#include "lab/common/device_facts.h"
#include "lab/common/product_types.h"
#include "lab/common/shapes.h"
#include "lab/peers/peer.h"

#define LAB_BENCH_PEERS_MAX 6

typedef struct lab_bench_peer {
    const lab_peer_ops *ops;
    void *state;
    char version[64];
} lab_bench_peer;

/* A device opened for measuring. Used by one thread. */
typedef struct lab_bench {
    lab_device device;
    char label[96]; /* as results name it: the device's name, and the number of threads of a CPU */
    tsr_context *context;
    lab_timer timer;
    lab_bench_peer peers[LAB_BENCH_PEERS_MAX];
    size_t peer_count;
    int threads;          /* of a CPU */
    int captured;         /* measures captured graphs */
    unsigned flags;       /* of every descriptor, */
    const char *epilogue; /*  and NULL or an epilogue */
    double beta;          /* of all calls but logged ones; C is D */
} lab_bench;

/* Opens "cpu" or "cuda:N"; `threads` as in tsr_context_options. TSR_UNSUPPORTED for the emulator, whose times mean
 * nothing. */
tsr_status lab_bench_open(const char *device, int threads, lab_bench *out);
/* From now on calls are captured in a graph and its replays are timed: what the GPU needs, without the host's share.
 * TSR_UNSUPPORTED on a CPU. */
tsr_status lab_bench_capture(lab_bench *bench);
/* Flags of all problems from now on, besides those that were set before; results name them behind the device:
 * "NVIDIA H200, A 2:4". With TSR_SPARSE24_A or _B the operand is random numbers, pruned and compressed, which stay hot;
 * libraries that do not compress operands multiply whole ones. */
void lab_bench_set_flags(lab_bench *bench, unsigned flags);
/* The flags that a result's device names. */
unsigned lab_label_flags(const char *label);
/* An epilogue of all problems from now on, the caller's text, with a bias of random numbers. TSR_UNSUPPORTED if it is
 * none. */
tsr_status lab_bench_set_epilogue(lab_bench *bench, const char *epilogue);
/* D = A * B + beta * D from now on, in all calls but logged ones; results name it. */
void lab_bench_set_beta(lab_bench *bench, double beta);
void lab_bench_close(lab_bench *bench); /* a zeroed struct is fine */
/* Adds a peer that runs on this kind of device. When it is not there, the status says so and tsr_last_error() why;
 * the benchmark goes on without. */
tsr_status lab_bench_add_peer(lab_bench *bench, const lab_peer_ops *ops);

/* Scales of A and B, where the operands lie. */
typedef enum lab_scales_given {
    LAB_SCALES_NONE,
    LAB_SCALES_TENSOR,       /* one each */
    LAB_SCALES_VECTOR,       /* one for each row of A and each column of B */
    LAB_SCALES_1X128,        /* one for 128 steps of K of each of these */
    LAB_SCALES_1X128_128X128 /* the same of A; of B one for 128 steps of K of 128 columns */
} lab_scales_given;

/* The descriptor's modes. */
void lab_scales_put(lab_scales_given scales, tsr_gemm_desc *desc);
/* As options and results name them. */
const char *lab_scales_word(lab_scales_given scales);
/* The one that a result names, "" and "none" none; 0 if there is no such. */
int lab_scales_named(const char *word, lab_scales_given *out);
/* Whether operands of such types take them. TSR_UNSUPPORTED and the rule. */
tsr_status lab_scales_check(lab_scales_given scales, const lab_types *types);

/* One kernel in a cell. */
typedef struct lab_entry {
    const char *kernel; /* as asked for: a kernel's name or an instance's, with a schedule behind an @ or without, or
                         * NULL for the library's choice */
    char instance[LAB_INSTANCE_BYTES]; /* what ran, with the schedule if one was asked for; "" if the library refused */
    char reason[200];                  /* why nothing was measured; "" if something was */
    int wrong_type; /* refused because its configs are of other dtypes: not worth a word when all were asked for */
    lab_contestant timing;
} lab_entry;

/* A peer in a cell: what a plain user gets, and the best of its algorithms if it has several. */
typedef struct lab_rival {
    const lab_bench_peer *peer;
    char reason[200]; /* why nothing was measured; "" if something was */
    int choices;
    lab_contestant first, best; /* best has no rounds when there is one choice, or the first is the best */
    int first_is_best;          /* of several */
} lab_rival;

typedef struct lab_cell {
    lab_types types;
    lab_scales_given scales;
    int trans_a, trans_b;
    lab_shape shape;
    const lab_logged_call
        *call; /* leading dimensions, factors and batch as a program had them; NULL: tight, 1, 0, none */
    /* Results. */
    lab_entry *entries; /* the caller's array; kernel is set */
    size_t entry_count;
    lab_rival rivals[LAB_BENCH_PEERS_MAX]; /* one for each peer of the bench */
    size_t rival_count;
    int cold; /* operands rotated through more memory than the caches hold */
} lab_cell;

typedef struct lab_bench_options {
    size_t rounds;
    double budget_s; /* of one contestant; slow ones get fewer rounds, but always one */
    uint64_t seed;
    const volatile sig_atomic_t *stop; /* may be NULL */
} lab_bench_options;

/* The problem of a cell as the library gets it. */
tsr_gemm_desc lab_cell_desc(const lab_bench *bench, const lab_cell *cell);

/* Measures. Refusals and failures of one contestant are in its reason; the status is for what stops everything. */
tsr_status lab_cell_measure(lab_bench *bench, lab_cell *cell, const lab_bench_options *options);
/* Frees what measuring allocated in entries and rivals. */
void lab_cell_clear(lab_cell *cell);

/* The line for one entry, against one rival (NULL: none). `baseline` is the cpu-sequential time. */
lab_record lab_cell_record(const lab_bench *bench, const lab_cell *cell, const lab_entry *entry, const lab_rival *rival,
                           const lab_baseline *baseline, const lab_bench_options *options);

#endif
