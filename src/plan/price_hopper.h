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
    SLAB_LINES = 64, /* rows of a box, of which each is a line along K */
    SLAB_BYTES = SLAB_LINES * LINE_BYTES,
    FLOP_BYTES_PER_CLOCK = 8192, /* of an SM's tensor cores: 4096 with elements of 2 bytes, 8192 with those of 1 */
};

/* Of A and B, which are equally wide here. */
static inline double element_bytes(const tsr_problem *p)
{
    return (double)tsr_dtype_bytes(p->op.a);
}

static inline double line_elems(const tsr_problem *p)
{
    return LINE_BYTES / element_bytes(p);
}

/* How sharply the longer of two things beside each other decides, as q = 2^SHARPNESS. */
enum {
    STEP_SHARPNESS = 2, /* of a step's four limits, of groups that take turns, and of L2 for all SMs beside the steps */
    FLOOR_SHARPNESS = 4 /* of a launch's shortest time beside what it does */
};

static inline double longest_of(const double ns[4])
{
    return overlapped(STEP_SHARPNESS, overlapped(STEP_SHARPNESS, ns[0], ns[1]),
                      overlapped(STEP_SHARPNESS, ns[2], ns[3]));
}

static inline double clock_ghz(const tsr_device *device)
{
    return device->cuda.core_clock_khz * 1e-6;
}

/* The pins' rate in bytes per ns. By clocks, so that the emulated device chooses as the GPU does. */
static inline double memory_rate(const tsr_device *device)
{
    return 2 * device->cuda.memory_clock_khz * 1e3 * device->cuda.memory_bus_bits / 8 * 1e-9;
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
                          .further = lies_along_k(p, which) ? 0 : fmax(0, line_elems(p) / ld - 1),
                          .covered = fmin(1, (double)p->k / line_elems(p))};
}

/* How many further CTAs wait for each line of an operand whose rows lie along M or N and are shorter than a line: all
 * of `ctas` walk along the same part of K together, and ask for a line once for each of its rows. */
static inline double waiting_of(const tsr_requests *requests, double ctas)
{
    return requests->further > 0 ? ctas / requests->sharers * requests->further * requests->covered : 0;
}

/* A stage's way from memory where `waiting` CTAs wait for the same lines. */
static inline double with_waiting(const tsr_profile *f, double latency_ns, double waiting)
{
    return latency_ns + f->hopper_waiting_ns * waiting;
}

/* An operand from memory, at this share of the pins' rate; rows that begin within lines take so much longer for each
 * further line of a piece. */
static inline double operand_ns(const tsr_problem *p, const tsr_device *device, char which, double share,
                                double parts_of_lines)
{
    const double elems = (double)(which == 'a' ? p->m : p->n) * (double)p->k * (double)p->batch;
    return element_bytes(p) * elems / (share * memory_rate(device)) *
           (1 + parts_of_lines * (tsr_lines_touched(p, which) - 1));
}

/* What 128 bytes cost of the lines that they touch: one where rows begin with lines; else two, mostly, and less where
 * rows begin with a sector of 32 bytes than where they begin within. */
typedef struct tsr_line_shares {
    double whole, by_sectors, within_sectors;
} tsr_line_shares;

/* Of a piece of 128 bytes of an operand, in lines. */
static inline double lines_of(const tsr_problem *p, char which, tsr_line_shares shares)
{
    const double lines = tsr_lines_touched(p, which);
    if (lines <= 1)
        return shares.whole;
    const int by_sectors = tsr_problem_operand(p, which)->ld * tsr_problem_element(p, which) % SECTOR_BYTES == 0;
    return lines * (by_sectors ? shares.by_sectors : shares.within_sectors);
}

/* What boxes of `rows` of A and `columns` of B cost in a step along K, in bytes. */
static inline double step_bytes(const tsr_problem *p, double rows, double columns, tsr_line_shares shares)
{
    return LINE_BYTES * (rows * lines_of(p, 'a', shares) + columns * lines_of(p, 'b', shares));
}

#define ALL_LINES ((tsr_line_shares){1, 1, 1})

/* What boxes of `tile` rows or columns of an operand cost, of which `extent` are there, in pieces of 128 bytes. Along M
 * or N boxes are 64 wide and have as many pieces whatever is there of them, those with nothing too. Rows that are not
 * there, along K: hopper_idle_row_clocks. */
static inline double pieces_of(const tsr_profile *f, const tsr_problem *p, char which, double tile, double extent)
{
    const double part_share = f->hopper_part_share, idle_share = f->hopper_idle_share, there = fmin(tile, extent);
    if (lies_along_k(p, which))
        return there;
    const double begun = ceil(there / line_elems(p)) * line_elems(p), all = ceil(tile / line_elems(p)) * line_elems(p);
    return there + part_share * (begun - there) + idle_share * (all - begun);
}

/* How often a CTA's first boxes of an operand ask for each of its lines: more than once where rows begin within lines,
 * or several are in one. */
static inline double requests_for_lines(const tsr_problem *p, char which)
{
    const double ld = fmax(1, (double)tsr_problem_operand(p, which)->ld), lines = tsr_lines_touched(p, which);
    return lies_along_k(p, which) ? fmax(line_elems(p) / ld, lines) : lines;
}

/* What the first boxes wait, where `requests` times a line is requested by all CTAs that begin together, and `waiting`
 * of them go on to ask for the same lines (waiting_of). */
static inline double first_request_ns(const tsr_profile *f, double requests, double waiting)
{
    const double request_ns = f->hopper_request_ns, walk_ns = f->hopper_walk_ns;
    return request_ns * requests + walk_ns * waiting;
}

/* What the GPU takes for a product, in parts: one after the other, but for work beside memory, and no less in all than
 * launches follow each other without a host. */
typedef struct tsr_parts {
    int launches;
    double before_ns, floor_ns; /* beside nothing; the shortest time of the launches */
    double fill_ns, work_ns, memory_ns, after_ns;
    double sharpness; /* of work beside memory */
} tsr_parts;

/* *out, if that is less than best_ns, another way's; otherwise INFINITY, found out sooner. */
static inline void settle(const tsr_profile *f, const tsr_parts *parts, double best_ns, tsr_price *out)
{
    const double fixed_ns = parts->fill_ns + parts->after_ns, rounding = 1e-9; /* more than that of all that follows */
    const double least_busy_ns = fixed_ns + fmax(parts->work_ns, parts->memory_ns);
    if (tsr_launched_least_ns(f, parts->launches, parts->before_ns + fmax(parts->floor_ns, least_busy_ns)) >
        best_ns * (1 + rounding)) {
        out->ns = INFINITY;
        return;
    }
    const double busy_ns = fixed_ns + overlapped_by(parts->sharpness, parts->work_ns, parts->memory_ns);
    out->gpu_ns = parts->before_ns + overlapped(FLOOR_SHARPNESS, parts->floor_ns, busy_ns);
    out->launches = parts->launches;
    out->ns = tsr_launched_ns(f, parts->launches, out->gpu_ns);
    out->limiter = parts->floor_ns > busy_ns || tsr_host_ns(f, parts->launches) > out->gpu_ns ? "launch"
                   : parts->work_ns > parts->memory_ns                                        ? "compute"
                                                                                              : "memory";
}

/* ---- the prices ---- */

/* What a product takes with a config of `wgmma`, as far as it does not depend on the schedule. */
typedef struct tsr_wgmma {
    const tsr_config *config;
    const tsr_profile *f;
    double ghz;
    double cluster, fit;                     /* CTAs of a cluster; clusters on the device at once */
    double tiles, steps;                     /* of clusters; of a tile along K */
    double step_bytes, stages;               /* of L2's lines in a step; of the ring */
    double lines_ns, multiply_ns, engine_ns; /* of a step: on the way, on the tensor cores, in the copy engine */
    double idle, edge_idle;                  /* rows that boxes have and operands not, of all tiles and of the last */
    double edge_share, edge_waves;           /* of a cluster's tiles: lower edges among those of the last waves */
    double all_bytes, l2_ns, memory_ns;      /* of all tiles' lines; of each operand once */
    double output_ns;                        /* D to memory */
    double stored_ns, path_ns;               /* of a tile's values: by threads; on the SM's way to L2 */
    double requests;                         /* of one CTA's boxes, for lines that others ask for as well */
    double early_ns;                         /* as in tsr_price */
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
    int swap_ab, across;      /* columns lie along M; along the longer side of D */
    double element_bytes;     /* of A and B */
    double ctas, parts, left; /* parts of K that meet in a cluster; that a second launch adds */
    double sms;               /* of the device */
    double resident, waves;   /* CTAs on the device at once */
    double together;          /* CTAs of an SM at once */
    double steps, stages;     /* along K of a CTA; of the ring */
    double step_bytes;        /* of L2's lines in a step */
    double l2_bytes;          /* what they are worth to L2, as whole lines come faster */
    double shared_bytes;      /* that go in and out of shared memory in a step */
    double idle_rows;         /* of a tile's boxes of the longer operand; of the last tile where it counts */
    double waiting;           /* CTAs that wait for lines that others wait for */
    double short_tiles, long_tiles;
    double per_sm;                /* CTAs for which an SM has room */
    double requests;              /* of one CTA's boxes, for lines that others ask for as well */
    double operands_ns, again_ns; /* of reading once and storing D; of one more reading by each further tile */
    double output_ns;             /* of storing D, where nothing is beside */
    tsr_requests requests_shorter, requests_longer;
} tsr_skinny;

/* What does not depend on how K is partitioned; for tiles that lie by swap_ab. */
void tsr_skinny_begin(tsr_skinny *s, const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                      int swap_ab);
/* The price, if that is less than best_ns. *uncut is from tsr_skinny_begin, which is called again where the schedule
 * lays tiles the other way. */
void tsr_price_skinny(tsr_skinny *uncut, const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                      const tsr_launch_config *launch, double best_ns, tsr_price *out);

/* That of a config of `wgmma-kmajor` (price_kmajor.c). */
void tsr_price_kmajor(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                      const tsr_launch_config *launch, tsr_price *out);

/* Those of kernels in f32 that partition K (price_split.c). */
void tsr_price_stream_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                        const tsr_launch_config *launch, tsr_price *out);
void tsr_price_cluster_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                         const tsr_launch_config *launch, tsr_price *out);
void tsr_price_thin(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                    const tsr_launch_config *launch, tsr_price *out);

#endif
