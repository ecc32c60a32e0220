/* From counters to a time and the percentages that a profiler shows, by one model for every kernel (docs/EMULATOR.md).
 */
#ifndef LAB_PREDICT_H
#define LAB_PREDICT_H

#include "lab/predict/counters.h"
#include "lab/predict/occupancy.h"

/* The eight numbers of `tessera profile`; NAN where one is not known. */
typedef struct lab_eight {
    double sm, memory, l1, l2, dram; /* percent of the peak */
    double l1_hit, l2_hit;           /* percent of sectors */
    double memory_gbps;              /* of DRAM, both ways */
} lab_eight;

enum { LAB_EIGHT = 8 };
extern const char *const lab_eight_names[LAB_EIGHT]; /* in the order of the struct, with units */
double lab_eight_value(const lab_eight *eight, int index);

typedef enum lab_limiter {
    LAB_LIMIT_ISSUE,  /* warp instructions started */
    LAB_LIMIT_FMA,    /* multiply-add units */
    LAB_LIMIT_TENSOR, /* tensor cores */
    LAB_LIMIT_LSU,    /* L1 and shared memory: one wavefront a cycle */
    LAB_LIMIT_L2,
    LAB_LIMIT_DRAM,
    LAB_LIMIT_LATENCY, /* nobody is busy: a CTA waits for loads, or there are too few warps */
    LAB_LIMITERS
} lab_limiter;
extern const char *const lab_limiter_names[LAB_LIMITERS];

typedef struct lab_prediction {
    lab_occupancy occupancy;
    double ns;         /* of the product's launch */
    double prepare_ns; /* of those before it */
    lab_limiter limiter;
    double instructions;            /* of warps, estimated */
    double busy[LAB_LIMIT_LATENCY]; /* cycles of the whole launch on an SM, by unit; of all SMs for L2 and DRAM */
    double l2_read_sectors, l2_miss_sectors;
    double l2_lookup_sectors; /* writes, and one half asking the other, too */
    double dram_bytes;
    lab_eight eight;
} lab_prediction;

/* The constants of the model of time that were fitted. Cycles are those of a warp, or of a CTA, that nobody disturbs.
 */
typedef struct lab_time_constants {
    double load_cycles;         /* of a warp: a plain load, with what leads to its address */
    double store_cycles;        /* to global memory, with the code in front of it, which is walked through once */
    double mma_cycles;          /* an mma.sync of 4096 FLOP, where the tensor cores could take it sooner */
    double dram_wait_cycles;    /* of a CTA: for plain loads, and for the first copies */
    double step_cycles;         /* from a barrier at which warps wait for each other to the first sum behind it */
    double branch_instructions; /* for a condition before a store */
    double prepare_share;       /* of DRAM's rate, that launches which copy operands reach */
} lab_time_constants;

extern const lab_time_constants lab_time; /* what lab_predict uses */

/* Clocks in which all SMs together take the kernel's accesses through L1 and shared memory: passes of 128 bytes, and
 * lanes started. */
double lab_lsu_clocks(const lab_counters *counters, const lab_gpu_spec *gpu);

/* `desc` is the problem that was counted: its operands are what DRAM must deliver at least. */
void lab_predict(const lab_counters *counters, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_prediction *out);
/* The same by other constants, to fit them. */
void lab_predict_by(const lab_time_constants *constants, const lab_counters *counters, const tsr_gemm_desc *desc,
                    const lab_gpu_spec *gpu, lab_prediction *out);

#endif
