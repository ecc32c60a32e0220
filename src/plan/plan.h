/* From a problem to the kernel that runs it: the table of configs, who applies and at what cost, and the plan. */
#ifndef TSR_PLAN_PLAN_H
#define TSR_PLAN_PLAN_H

#include "core/backend.h"
#include "core/config.h"
#include "core/problem.h"
#include "plan/schedules.h"

/* One device of a context and the backend that drives it. */
typedef struct tsr_target {
    const tsr_backend *backend;
    tsr_device device;
    int gpu_beside; /* a CPU beside a GPU: TSR_DEVICE operands lie in the GPU's memory, out of its reach */
} tsr_target;

#define TSR_MAX_TARGETS 2

/* ---- the table ---- */

size_t tsr_config_count(void);
const tsr_config *tsr_config_at(size_t index); /* NULL past the end */
/* 1 if `kernel` is the name of a kernel or of an instance. */
int tsr_config_exists(const char *kernel);

/* 1 if `kernel` names the config: by kernel or instance, with or without a schedule behind an "@". */
int tsr_config_is_named(const tsr_config *config, const char *kernel);

/* ---- who applies, at what cost ---- */

/* A product in slices, one after the other, whose copies share one place in the workspace: columns of D, rows, or both,
 * or parts of K, of which all but the first add to D. The slices of some rows follow each other. */
typedef struct tsr_slices {
    long long rows, columns, depth; /* of a slice, along M, N and K; 0: all */
} tsr_slices;

/* Where a slice begins. */
typedef struct tsr_corner {
    long long row, column, k;
} tsr_corner;

static inline int tsr_is_sliced(tsr_slices slices)
{
    return slices.rows > 0 || slices.columns > 0 || slices.depth > 0;
}

/* A config on a target. */
typedef struct tsr_plan_candidate {
    const tsr_config *config;
    tsr_target *target;
    int applicable;
    unsigned pads;     /* operands that are copied to aligned rows first */
    tsr_slices slices; /* in which that is done */
    char reason[120];
    tsr_price cost;           /* if applicable; copies included */
    double transfer_ns;       /* copying host operands of a GPU there and back */
    tsr_launch_config launch; /* of the whole product: not where it is sliced */
} tsr_plan_candidate;

/* The schedule with the lowest price, of those whose workspace is within the problem's limit, and that price; or the
 * one that problem->kernel asks for ("thin@split-k=4"). 0 and the reason if that is not legal. `problem` is as the
 * config will see it, padding included. */
int tsr_select_schedule(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                        tsr_launch_config *launch, tsr_price *cost, char *reason, size_t reason_bytes);

/* Each config on each target of its kind: at most `capacity` candidates, sorted: applicable ones first, by time, those
 * whose last_choice_arch it is behind the rest; then the others in table order, with their reasons. Returns
 * how many there are in all. The number never exceeds tsr_config_count() * TSR_MAX_TARGETS. */
size_t tsr_select_all(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_plan_candidate *out,
                      size_t capacity);
/* The applicable ones alone, in no order and without the others' reasons. */
size_t tsr_select_applicable(const tsr_problem *problem, tsr_target *targets, size_t target_count,
                             tsr_plan_candidate *out, size_t capacity);
/* 1 if `one` is to be preferred: the order of tsr_select_all. */
int tsr_comes_before(const tsr_plan_candidate *one, const tsr_plan_candidate *other);

/* ---- the problem as the device sees it ---- */

/* Host operands of a GPU are copied to tight, aligned device buffers, so the kernel sees another problem than the
 * caller described. Operands that a GPU or the emulator reads in place and that are one row, or of A and B one tight
 * column, are seen as a row with an aligned leading dimension. Elsewhere the problem is the same. */
tsr_problem tsr_device_problem(const tsr_problem *problem, const tsr_device *device);
/* 1 if this operand ("abcd") lies in host memory and the device cannot read it there. */
int tsr_operand_staged(const tsr_problem *problem, const tsr_device *device, char which);

/* ---- plans ---- */

typedef enum tsr_step_kind { TSR_STEP_PAD, TSR_STEP_TRANSPOSE, TSR_STEP_MAIN, TSR_STEP_REDUCE } tsr_step_kind;

/* Where things lie in a plan's workspace: what the main config needs comes first, counters included; then the copies.
 */
typedef struct tsr_workspace {
    size_t main_bytes;
    size_t copy_at[2]; /* of A and B */
    size_t total_bytes;
} tsr_workspace;

enum { TSR_SLICE_OPTIONS = 6 };

/* Slices with which the copies of A and B fit into limit_bytes, where they do not fit whole: the widest of columns or
 * of rows, or if there are none some of both; and some of K where D can hold the sums of a part of K (f32 of operands
 * without scales, not batch-invariant, by a config that adds to D as fast as it writes). Returns how many. Batches are
 * never sliced. `given`: the problem before padding.
 */
int tsr_slice_options(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                      size_t limit_bytes, tsr_slices out[TSR_SLICE_OPTIONS]);
/* The problem of the slice that begins there. */
tsr_problem tsr_slice_of(const tsr_problem *problem, tsr_slices slices, tsr_corner at);
/* Which of the copies in `pads` that slice needs: the others lie in the workspace since the slice before it. */
unsigned tsr_slice_copies(tsr_slices slices, unsigned pads, tsr_corner at);
/* How far slices along M, N or K are apart, and where the last one begins. */
static inline long long tsr_slice_step(long long extent, long long width)
{
    return width > 0 ? width : extent > 0 ? extent : 1;
}
static inline long long tsr_last_slice(long long extent, long long width)
{
    return extent > 0 ? (extent - 1) / tsr_slice_step(extent, width) * tsr_slice_step(extent, width) : 0;
}

/* `padded` is the problem as the config will see it, `launch` how it runs. */
tsr_workspace tsr_lay_out_workspace(const tsr_launch_config *launch, const tsr_problem *padded, unsigned pads);
/* The problem on aligned copies of `pads`; what these leave of the workspace limit is for the config's schedule. */
tsr_problem tsr_copied_problem(const tsr_problem *given, unsigned pads);

/* One launch of a plan. */
typedef struct tsr_step {
    tsr_step_kind kind;
    const tsr_config *config;
    const tsr_loaded *loaded;
    tsr_launch_config launch;
    tsr_algorithms algorithms; /* of CPU configs */
} tsr_step;

#define TSR_MAX_STEPS 4

/* Immutable once made, but for the number of references. */
typedef struct tsr_planned {
    tsr_problem problem;        /* as the caller described it */
    tsr_problem device_problem; /* as the first step sees it */
    tsr_problem padded_problem; /* as the main step sees it */
    tsr_target *target;
    unsigned pads;
    tsr_slices slices;
    /* Of slices; indices: 1 if the slice has D's last rows, its last columns, the end of K, and so may be narrower. */
    tsr_launch_config slice_launch[2][2][2];
    tsr_workspace workspace; /* of a slice, if there are any */
    int named;               /* the kernel was asked for by name */
    tsr_step steps[TSR_MAX_STEPS];
    int step_count;
    size_t workspace_bytes;
    int is_makeshift; /* there was no memory for the code of a better candidate just now */
} tsr_planned;

/* Chooses the cheapest applicable config and makes it resident. TSR_UNSUPPORTED names the nearest miss. */
tsr_status tsr_plan_build(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_planned *out);

/* The step that makes the product; at most one that adds its sums comes after it. */
const tsr_step *tsr_plan_main(const tsr_planned *plan);

/* What a run needs beside the plan. Pointers are the device's. */
typedef struct tsr_plan_inputs {
    const void *a, *b, *c;
    void *d, *workspace;
    const void *bias;                /* NULL without a form */
    const void *packed_a, *packed_b; /* prepared operands, used instead of a and b */
    unsigned packed_transposed; /* those of them that lie the other way than device_problem's: TSR_TRANSPOSE_A, _B */
    double alpha, beta;
    const float *scale_a, *scale_b; /* of the whole operand; NULL: 1 */
    /* Where other scales lie: a, b, c, d, amax, zero_a, zero_b; the plan fills in the rest. */
    tsr_scaling scaling;
    void *stream;
} tsr_plan_inputs;

/* Runs the steps. Allocates nothing on a GPU and does not wait there. */
tsr_status tsr_plan_execute(const tsr_planned *plan, const tsr_plan_inputs *inputs);

/* Bytes of the prepared form of operand 'a' or 'b' on a GPU: its padded copy. 0 if the plan copies it not. */
size_t tsr_plan_prepared_bytes(const tsr_planned *plan, char which);
/* Makes it from the operand at `data`, which lies where the kernels can read it; does not wait. */
tsr_status tsr_plan_prepare(const tsr_planned *plan, char which, const void *data, void *prepared, void *stream);

#endif
