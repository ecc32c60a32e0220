/* Parts of what a product takes with a config of `wgmma` (price_wgmma.c) or `wgmma_skinny` (price_skinny.c), the same
 * for both. */
#ifndef TSR_PLAN_PRICE_HOPPER_H
#define TSR_PLAN_PRICE_HOPPER_H

#include <math.h>

#include "plan/price_common.h"
#include "plan/schedules.h"

enum {
    LINE_BYTES = 128,
    SECTOR_BYTES = 32,
    LINE_ELEMS = 64,
    SLAB_BYTES = 8192,
    FLOPS_PER_CLOCK = 4096,
    ELEMENT_BYTES = 2
};

/* How sharply the longer of two things beside each other decides, as q = 2^SHARPNESS. */
enum {
    STEP_SHARPNESS = 2, /* of a step's limits, of groups that take turns, and of L2 for all SMs beside the steps */
    HARD_SHARPNESS = 16 /* q itself: the longer of two things, and little more where both are equally long */
};

static inline double clock_ghz(const tsr_device *device)
{
    return device->cuda.core_clock_khz * 1e-6;
}

/* Bytes per ns that memory gives: 0.92 of the pins' rate, as an H200's counters show (perf/LOG/choice.md, "skinny rows
 * by counters"). By clocks, so that the emulated device chooses as the GPU does. */
static inline double memory_rate(const tsr_device *device)
{
    const double of_pins = 0.92;
    return of_pins * 2 * device->cuda.memory_clock_khz * 1e3 * device->cuda.memory_bus_bits / 8 * 1e-9;
}

static inline int lies_along_k(const tsr_problem *p, char which)
{
    return (which == 'a') == (tsr_problem_operand(p, which)->trans == TSR_N);
}

/* Of an operand: how many CTAs ask for it once, how many further rows each of its lines has, and how much of a line K
 * covers. */
typedef struct tsr_requests {
    double sharers, further, covered;
} tsr_requests;

static inline tsr_requests requests_of(const tsr_problem *p, char which, double sharers)
{
    const double ld = fmax(1, (double)tsr_problem_operand(p, which)->ld);
    return (tsr_requests){.sharers = sharers,
                          .further = lies_along_k(p, which) ? 0 : fmax(0, LINE_ELEMS / ld - 1),
                          .covered = fmin(1, (double)p->k / LINE_ELEMS)};
}

/* How many further CTAs wait for each line of an operand whose rows lie along M or N and are shorter than a line: all
 * of `ctas` walk along the same part of K together, and ask for a line once for each of its rows. */
static inline double waiting_of(const tsr_requests *requests, double ctas)
{
    return requests->further > 0 ? ctas / requests->sharers * requests->further * requests->covered : 0;
}

/* All of an operand or of D. */
static inline double operand_ns(const tsr_problem *p, const tsr_device *device, char which)
{
    const double elems = (double)(which == 'a' ? p->m : p->n) * (double)p->k * (double)p->batch;
    return ELEMENT_BYTES * elems / memory_rate(device);
}

static inline double stores_ns(const tsr_problem *p, const tsr_device *device)
{
    const double element = (double)tsr_dtype_bytes(p->op.d);
    return element * (double)p->m * (double)p->n * (double)p->batch / memory_rate(device);
}

/* Lines that a piece of 128 bytes of an operand touches: one where rows begin with lines; else two, mostly, which cost
 * `within_share` of two lines where rows begin within sectors of 32 bytes. */
static inline double lines_of(const tsr_problem *p, char which, double within_share)
{
    const double lines = tsr_lines_touched(p, which);
    const int by_sectors = tsr_problem_operand(p, which)->ld * ELEMENT_BYTES % SECTOR_BYTES == 0;
    return lines <= 1 || by_sectors ? lines : lines * within_share;
}

/* What boxes of `rows` of A and `columns` of B cost in a step along K, in bytes. */
static inline double step_bytes(const tsr_problem *p, double rows, double columns, double within_share)
{
    return LINE_BYTES * (rows * lines_of(p, 'a', within_share) + columns * lines_of(p, 'b', within_share));
}

/* Pieces of 128 bytes in boxes of `tile` rows or columns of an operand, of which `extent` are there. Along M or N boxes
 * are 64 wide and have as many pieces whatever is there of them. Rows that are not there, along K:
 * hopper_idle_row_clocks. */
static inline double pieces_of(const tsr_problem *p, char which, double tile, double extent)
{
    return lies_along_k(p, which) ? fmin(tile, extent) : ceil(tile / LINE_ELEMS) * LINE_ELEMS;
}

/* How much longer products take where tensor cores would be busy for `busy_ns` in all at their full clock: all that
 * multiplies for long waits for power. */
static inline double power_skew(const tsr_profile *f, double busy_ns)
{
    const double waits = busy_ns / (busy_ns + f->hopper_power_ns);
    return 1 / (1 - (1 - f->hopper_long_share) * waits);
}

/* What the GPU takes for a product, in parts: one after the other, but for work beside memory. */
typedef struct tsr_parts {
    int launches;
    double fill_ns, work_ns, memory_ns, after_ns;
    double sharpness; /* of work beside memory */
} tsr_parts;

/* *out, if that is less than best_ns, another way's; otherwise INFINITY, found out sooner. */
static inline void settle(const tsr_profile *f, const tsr_parts *parts, double best_ns, tsr_price *out)
{
    const double fixed_ns = parts->fill_ns + parts->after_ns, rounding = 1e-9; /* more than that of all that follows */
    const double least_ns = fixed_ns + fmax(parts->work_ns, parts->memory_ns);
    if (tsr_launched_least_ns(f, parts->launches, least_ns) > best_ns * (1 + rounding)) {
        out->ns = INFINITY;
        return;
    }
    out->gpu_ns = fixed_ns + overlapped_by(parts->sharpness, parts->work_ns, parts->memory_ns);
    out->launches = parts->launches;
    out->ns = tsr_launched_ns(f, parts->launches, out->gpu_ns);
    out->limiter = tsr_host_ns(f, parts->launches) > out->gpu_ns ? "launch"
                   : parts->work_ns > parts->memory_ns           ? "compute"
                                                                 : "memory";
}

/* ---- the prices ---- */

/* What a product takes with a config of `wgmma`, as far as it does not depend on the schedule. */
typedef struct tsr_wgmma {
    const tsr_config *config;
    const tsr_profile *f;
    double ghz;
    double cluster, fit;                /* CTAs of a cluster; clusters on the device at once */
    double tiles, steps;                /* of clusters; of a tile along K */
    double step_bytes, stages;          /* of L2's lines in a step; of the ring */
    double multiply_ns, engine_ns;      /* of a step: on the tensor cores, in the copy engine */
    double idle, edge_idle;             /* rows that boxes have and operands not, of all tiles and of the last */
    double edge_share, edge_waves;      /* of a cluster's tiles: lower edges among those of the last waves */
    double all_bytes, l2_ns, memory_ns; /* of all tiles' lines; of each operand once */
    double stored_ns;                   /* of a tile's values, beside nothing of its own group */
    tsr_requests requests_a, requests_b;
    double waiting, step_ns, edge_ns; /* of the partition priced last: CTAs that wait; a step; the last tile's, more */
} tsr_wgmma;

void tsr_wgmma_begin(tsr_wgmma *t, const tsr_config *config, const tsr_problem *problem, const tsr_device *device);
/* The price, launched by an H200's host, if that is less than best_ns. */
void tsr_price_wgmma(tsr_wgmma *t, const tsr_launch_config *launch, double best_ns, tsr_price *out);

/* How the CTAs of a skinny config lie over the device, and what a step of one is. */
typedef struct tsr_skinny {
    const tsr_profile *f;
    char shorter, longer;     /* operands: of a tile's columns, and of its rows */
    int rows;                 /* of a tile along the shorter side */
    int swap_ab;              /* columns lie along M */
    double ctas, parts, left; /* parts of K that meet in a cluster; that a second launch adds */
    double sms;               /* of the device */
    double resident, waves;   /* CTAs on the device at once */
    double together;          /* CTAs of an SM at once */
    double steps, stages;     /* along K of a CTA; of the ring */
    double step_bytes;        /* of a step's lines in the copy engine */
    double l2_bytes;          /* that L2 gives in a step */
    double idle_rows;         /* of a tile's boxes of the longer operand */
    double waiting;           /* CTAs that wait for lines that others wait for */
    double per_sm;            /* CTAs for which an SM has room */
    double memory_ns;         /* of reading once and storing D */
    tsr_requests requests_shorter, requests_longer;
} tsr_skinny;

/* What does not depend on how K is partitioned; for tiles that lie by swap_ab. */
void tsr_skinny_begin(tsr_skinny *s, const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                      int swap_ab);
/* The price, if that is less than best_ns. *uncut is from tsr_skinny_begin, which is called again where the schedule
 * lays tiles the other way. */
void tsr_price_skinny(tsr_skinny *uncut, const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                      const tsr_launch_config *launch, double best_ns, tsr_price *out);

/* Those of kernels in f32 that partition K (price_split.c). */
void tsr_price_stream_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                        const tsr_launch_config *launch, tsr_price *out);
void tsr_price_cluster_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                         const tsr_launch_config *launch, tsr_price *out);
void tsr_price_thin(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                    const tsr_launch_config *launch, tsr_price *out);

#endif
