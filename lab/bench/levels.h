/* Latency and bandwidth of each level of this machine's memory, measured. */
#ifndef LAB_LEVELS_H
#define LAB_LEVELS_H

#include "lab/common/device_facts.h"

enum { LAB_LEVELS = 4 };

typedef struct lab_level {
    const char *name; /* "L1", "L2", "L3", "DRAM" */
    int is_shared;    /* by all cores; 0: each core has one */
    int64_t bytes;    /* of the working set, which fits this level (DRAM: fits no cache); of one thread unless shared */
    double latency_ns; /* from one load to the next that needs its value, lines of 64 bytes in random order */
    double one_bytes_per_s, all_bytes_per_s; /* reading, by one thread and by all */
} lab_level;

/* Takes some seconds, most of them for DRAM. `cpu` is a CPU as lab_device_describe tells it; levels whose size it does
 * not tell, and those for which memory runs out, are left out. Returns how many there are. Pages are as the system
 * gives them: where they are small, the latency of large levels contains the search for them. */
int lab_measure_levels(const lab_device *cpu, lab_level out[LAB_LEVELS]);

#endif
