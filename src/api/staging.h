/* What lies between a caller's matrices and a GPU: page-locked slots through which blocks go in both directions, packed
 * and unpacked by threads of their own. Kept by the context from its first large call on; one call uses it at a time.
 */
#ifndef TSR_API_STAGING_H
#define TSR_API_STAGING_H

#include <pthread.h>

#include "core/pool.h"
#include "plan/plan.h"

enum { TSR_LANE_SLOTS = 4, TSR_SLOT_BYTES = 4 << 20 };

/* One direction. */
typedef struct tsr_lane {
    char *slots; /* TSR_LANE_SLOTS of TSR_SLOT_BYTES, page-locked */
    void *events[TSR_LANE_SLOTS];
    int used[TSR_LANE_SLOTS]; /* 1: the event was recorded */
    int next;
    void *stream;
    tsr_pool pool;
} tsr_lane;

typedef struct tsr_staging {
    pthread_mutex_t lock; /* held by the call that uses it */
    tsr_target *target;   /* NULL: not set up yet */
    int threads;          /* of each lane */
    tsr_lane up, down;
} tsr_staging;

/* `rows` rows of a caller's matrix, and the device buffer where they lie more densely. */
typedef struct tsr_block {
    char *host, *device;
    long long rows, row_bytes;
    long long host_pitch, device_pitch; /* bytes from row to row */
} tsr_block;

void tsr_staging_init(tsr_staging *staging);
/* Allocates what is still missing. With the lock held. */
tsr_status tsr_staging_ready(tsr_staging *staging, tsr_target *target);
/* No call may be running. */
void tsr_staging_close(tsr_staging *staging);

/* Packs the block into slots and enqueues their copies on the lane's stream. The caller's memory was read when this
 * returns; the copies may still be under way. */
tsr_status tsr_lane_upload(const tsr_staging *staging, tsr_lane *lane, const tsr_block *block);
/* Waits for the block and writes it to the caller's memory. What the lane's stream followed is over before. */
tsr_status tsr_lane_download(const tsr_staging *staging, tsr_lane *lane, const tsr_block *block);

/* Copies rows between two pitches with the lane's threads. */
void tsr_lane_copy(const tsr_staging *staging, tsr_lane *lane, char *to, long long to_pitch, const char *from,
                   long long from_pitch, long long rows, long long row_bytes);

#endif
