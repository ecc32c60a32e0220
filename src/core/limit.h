/* How many threads callers let products have, beside what contexts and descriptors say. */
#ifndef TSR_CORE_LIMIT_H
#define TSR_CORE_LIMIT_H

/* At most `wanted` threads: what tsr_set_threads and tsr_set_threads_here leave of them. */
int tsr_allowed_threads(int wanted);

/* 1 if the calling thread is one of several that run an OpenMP program's parallel region: each of them may call, so one
 * thread is what a call gets. Asks whichever OpenMP runtimes the process has loaded by now. */
int tsr_in_parallel_region(void);

#endif
