/* What the files of a run by tiles share: stream.c runs it, stream_memory.c has its memory. */
#ifndef TSR_API_STREAM_RUN_H
#define TSR_API_STREAM_RUN_H

#include <pthread.h>

#include "api/context.h"
#include "api/staging.h"
#include "plan/tiles.h"

/* A buffer of the device, and which part of its matrix lies there. */
typedef struct tsr_tile_buffer {
    void *memory;
    void *idle; /* event: the kernels that read it are done */
    int used;   /* `idle` was recorded */
    long long key[3];
} tsr_tile_buffer;

typedef struct tsr_tile_run {
    tsr_plan *plan;
    const tsr_plan_inputs *inputs;
    tsr_staging *staging;
    tsr_target *target;
    tsr_tiles_of tiles;
    long long tile_count;
    int product;   /* A and B are read */
    void *kernels; /* stream */
    void *arrived; /* event: what was copied in so far is there */
    void *computed[2];
    tsr_tile_buffer a[2], b[2], d[2];
    int last_a, last_b; /* buffers filled last */
    void *bias;         /* all of it, on the device; NULL without a form */
    void *workspace;
    size_t workspace_bytes;
    char *kept; /* C's tiles that D's overwrote, tight; NULL: C need not be kept */

    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t moved;
    long long enqueued, fetched; /* tiles of D */
    long long kept_count;
    tsr_status status;
    char message[600];
} tsr_tile_run;

/* Opens the staging lanes, chooses the tiles, and allocates buffers, events and room to keep C in; `plan`, `inputs`,
 * `staging`, `target` and `product` are filled in. Whatever it returns, tsr_tile_run_end must follow. */
tsr_status tsr_tile_run_begin(tsr_tile_run *run);
/* Waits for what is under way, and frees everything. */
void tsr_tile_run_end(tsr_tile_run *run);

#endif
