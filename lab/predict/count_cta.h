/* Counting one CTA, or one cluster of them, as its warps' instructions come in. */
#ifndef LAB_COUNT_CTA_H
#define LAB_COUNT_CTA_H

#include "emu/watch.h"
#include "lab/predict/counters.h"
#include "lab/predict/sector_stream.h"
#include "lab/predict/warp_cost.h"

/* Loads of shared memory by one instruction of the source, which the compiler may join. */
typedef struct lab_joined {
    const void *place; /* NULL: empty */
    uint32_t lanes;
    unsigned bytes, most_bytes; /* of a lane, so far and by alignment */
    uint64_t offset[32];
} lab_joined;

enum { LAB_JOINED = 128 };

/* What one warp after the other does between two barriers: the one that is looked at, and the one that did most. */
typedef struct lab_of_warp {
    unsigned warp, count, most;
} lab_of_warp;

enum { LAB_PLACES = 8 };

/* The copies that a warp has started since the last barrier, by their place in the code: those of one operand have one
 * place where the emulator's compiler keeps their loop, as it does but for loops of two steps. */
typedef struct lab_copies {
    unsigned warp, used;
    const void *place[LAB_PLACES];
    unsigned count[LAB_PLACES];
    int is_cut[LAB_PLACES]; /* some lane had nothing to copy, or less than the others */
} lab_copies;

typedef struct lab_cta_count {
    lab_counters sum;   /* of this CTA alone */
    lab_stream *stream; /* NULL: not recorded */
    unsigned warp;      /* whose loads are being joined */
    long long cta;
    lab_joined joined[LAB_JOINED], fresh;
    lab_banks banks;
    uint64_t sectors[LAB_WARP_SECTORS];
    int reads_shared; /* since the last barrier */
    unsigned loads;   /* of the warp that made most of them since the last barrier */
    unsigned warp_loads, loading_warp;
    unsigned stores, warp_stores, storing_warp; /* the same, of shared memory */
    lab_copies copies;
    lab_of_warp cut_copies, store_branches; /* see lab_counters */
    unsigned last_warp;
    unsigned long last_stretch; /* of the instruction before */
} lab_cta_count;

void lab_cta_count_event(lab_cta_count *count, const tsr_watch_event *event);
/* Loads on both sides of a barrier are never joined. */
void lab_cta_count_barrier(lab_cta_count *count);
void lab_cta_count_end(lab_cta_count *count);

/* *to += scale * *from, but for what is not counted. */
void lab_counters_add(lab_counters *to, const lab_counters *from, double scale);

#endif
