/* The caches of a whole GPU in front of the CTAs that it runs side by side: an L1 for each SM, and an L2 in partitions.
 *
 * Documented by NVIDIA for the A100 and later: an SM asks the partition of L2 that it is connected to; what has its
 * home in another partition is kept in both. Chosen here, because nobody documents it: 16 ways, the oldest goes out,
 * hashed addresses; CTAs go to the SMs of 8 GPCs in turn, half of the GPCs to each partition; the SMs, and the CTAs of
 * an SM, take turns instruction by instruction; from the second wave on SMs become free in random order.
 * docs/EMULATOR.md. */
#ifndef LAB_HIERARCHY_H
#define LAB_HIERARCHY_H

#include "lab/common/gpus.h"
#include "lab/predict/sector_stream.h"

/* What loads wait for. What one SM fetches, the others that ask meanwhile wait for as long. */
typedef enum lab_wait { LAB_WAIT_L1, LAB_WAIT_L2, LAB_WAIT_DRAM, LAB_WAITS } lab_wait;

typedef struct lab_hierarchy_options {
    const lab_gpu_spec *gpu;
    long long l1_bytes; /* of each SM */
    long long held;     /* CTAs that an SM holds at once */
    long long ctas;     /* of the launch; streams are those of the first ones */
    unsigned warps;     /* of a CTA */
    unsigned at_once;   /* plain loads of a warp before it waits for them, 0: as many as there are before a barrier */
    double share;       /* how much of its way along K the streams have of each CTA, 1: all. L2 is made as much
                           smaller, and sees as many of the stores. */
} lab_hierarchy_options;

/* Sectors. Those of loads are for K as in the streams, those of stores for all of D; both for the whole launch: waves
 * of CTAs that have no streams are taken to be like the last one that has. */
typedef struct lab_hierarchy_result {
    double load_lookups, load_hits;   /* in L1 */
    double store_lookups, store_hits; /* likewise */
    double l2_reads, l2_misses;       /* by SMs */
    double home_reads, home_misses;   /* one partition asking another, which has the home of the address */
    double home_writes;               /* of l2_writes, those that go on to the other partition */
    double l2_writes;
    double dram_reads, dram_writes;
    double waits[LAB_WAITS]; /* of CTAs, for plain loads, by what the slowest of them waits for */
} lab_hierarchy_result;

/* streams[0 .. count - 1] are the CTAs of the launch from the first on, whole waves of them or all. 0 when out of
 * memory. */
int lab_hierarchy_run(lab_stream *const *streams, long long count, const lab_hierarchy_options *options,
                      lab_hierarchy_result *out);

/* CTAs of an SM at the same time, in the middle of a launch of `ctas` of which an SM can hold `held`. */
long long lab_ctas_side_by_side(long long ctas, long long held, const lab_gpu_spec *gpu);

#endif
