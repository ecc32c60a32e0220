/* The sectors of global memory that one CTA touches, in the order in which they reach the SM's L1: the warps of a CTA
 * take turns between two barriers. */
#ifndef LAB_STREAM_H
#define LAB_STREAM_H

#include <stddef.h>
#include <stdint.h>

typedef enum lab_touch {
    LAB_TOUCH_LOAD,
    LAB_TOUCH_COPY, /* by cp.async: nobody waits for it at once */
    LAB_TOUCH_STORE,
    LAB_TOUCH_STORE_PART, /* lanes share sectors, and leave gaps in them: the rest comes with other instructions */
    LAB_TOUCH_PAST_L1,
    LAB_TOUCH_BARRIER /* not a touch: the warps meet */
} lab_touch;

/* The first item of an instruction says of which warp it is, modulo 32. */
typedef uint64_t lab_stream_item;
enum { LAB_STREAM_FIRST = 1, LAB_STREAM_WARPS = 32 };
#define LAB_STREAM_ITEM(sector, kind, warp, first) \
    ((uint64_t)(sector) << 9 | (uint64_t)(warp) % LAB_STREAM_WARPS << 4 | (uint64_t)(kind) << 1 | (uint64_t)(first))

/* Of the later parts, those that find in L1 what the first one left, where an SM has `ctas` CTAs side by side. L1 keeps
 * what was written in part until it has gone on to L2, which takes the longer the more others there are: read off an
 * H200 as half for one CTA and more for several, whose parts vary between 40 and 100%. */
static inline double lab_parts_that_hit(long long ctas)
{
    return ctas > 1 ? 1 - 0.5 / (double)ctas : 0.5;
}

static inline lab_touch lab_stream_kind(lab_stream_item item)
{
    return (lab_touch)(item >> 1 & 7);
}

static inline unsigned lab_stream_warp(lab_stream_item item)
{
    return (unsigned)(item >> 4) % LAB_STREAM_WARPS;
}

static inline uint64_t lab_stream_sector(lab_stream_item item)
{
    return item >> 9;
}

typedef struct lab_items {
    lab_stream_item *items;
    size_t count, capacity;
} lab_items;

typedef struct lab_stream {
    long long cta;
    lab_items all;
    lab_items segment;        /* since the last barrier, one warp after another */
    size_t warp_starts[1024]; /* where in the segment each warp's part begins */
    unsigned n_warps, last_warp;
    int is_full; /* memory ran out, or the CTA is too long: what is there is its begin */
} lab_stream;

void lab_stream_add(lab_stream *stream, unsigned warp, lab_touch kind, const uint64_t *sectors, unsigned count);
void lab_stream_barrier(lab_stream *stream);
void lab_stream_trim(lab_stream *stream); /* gives back what it does not need once its CTA has ended */
void lab_stream_free(lab_stream *stream); /* and the struct itself; NULL is fine */

typedef struct lab_l1_result {
    double lookups, hits;              /* sectors; hits of parts as far as they count */
    double load_misses, store_sectors; /* that go on to L2 */
} lab_l1_result;

/* The CTAs that share an SM take turns, instruction by instruction, in front of an L1 of `bytes`. 0 when out of memory.
 * Stores go on to L2 and stay in L1; copies past L1 look there and miss. */
int lab_l1_run(lab_stream *const *streams, size_t count, long long bytes, lab_l1_result *out);

#endif
