/* Work shared out to a few threads. */
#ifndef LAB_PARALLEL_H
#define LAB_PARALLEL_H

#include <stdint.h>

/* Calls work(user, index) for each 0 <= index < count, each once, in any order, on up to `threads` threads (0: one for
 * each processor that the process may use). Returns when all are done. Where threads cannot be made, fewer do it. */
void lab_parallel(int64_t count, int threads, void (*work)(void *user, int64_t index), void *user);

/* Processors that the process may use. */
int lab_processors(void);

#endif
