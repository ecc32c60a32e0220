/* What the warps of a launch do, instruction by instruction, for those who count it.
 *
 * The emulator runs threads one after another; hardware runs the 32 lanes of a warp together. So each thread's accesses
 * are recorded beside the basic blocks that it went through (gcc's -fsanitize-coverage=trace-pc), and put together
 * afterwards as hardware does: lanes that part at a branch go on separately until they meet in the block that all ways
 * from there must pass, its immediate post-dominator. See align.h.
 *
 * Only kernels compiled for it are seen, by src/emu/watched.syms; all others run as if this were not here. Watching
 * changes nothing of what is computed. */
#ifndef TSR_EMU_WATCH_H
#define TSR_EMU_WATCH_H

#include <stdint.h>

#include "core/device.h"
#include "core/device_code.h"

typedef enum tsr_watch_kind {
    TSR_WATCH_GLOBAL_LOAD,
    TSR_WATCH_GLOBAL_STORE,
    TSR_WATCH_GLOBAL_ATOMIC,
    TSR_WATCH_SHARED_LOAD,
    TSR_WATCH_SHARED_STORE,
    TSR_WATCH_COPY,       /* cp.async: address in global memory (0: zeros are stored, nothing is read), and shared */
    TSR_WATCH_BULK_LOAD,  /* one row of a box that the copy engine moves, asked for by one lane; amount: CTAs served */
    TSR_WATCH_BULK_STORE, /* the same to global memory */
    TSR_WATCH_FMA_F32,    /* `amount` multiply-adds of each lane, one after another */
    TSR_WATCH_FMA_F64,
    TSR_WATCH_TENSOR,      /* matrix instructions; amount: FLOP of the warp */
    TSR_WATCH_TENSOR_READ, /* `amount` bytes of shared memory that the tensor cores read for the warp's group */
    TSR_WATCH_CTA_BARRIER  /* all warps of one CTA of a cluster meet; outside clusters `barrier` is called instead */
} tsr_watch_kind;

/* One instruction of one warp. */
typedef struct tsr_watch_event {
    tsr_watch_kind kind;
    unsigned bytes;        /* that each lane moves; 0 where none are */
    unsigned long amount;  /* see kinds */
    uint32_t lanes;        /* that take part, at least one */
    unsigned warp;         /* in its CTA */
    long long cta;         /* in the grid, x fastest */
    const void *place;     /* return address, for tsr_emu_trace_place */
    unsigned long stretch; /* which piece of code without a branch, in the order in which the CTA's warps came to them:
                              events of one have one number. 0: not known */
    const uint64_t *address; /* 32 of them: in global memory, or the offset in the CTA's shared memory */
    const uint64_t *shared;  /* COPY: 32 offsets in the CTA's shared memory; otherwise NULL */
} tsr_watch_event;

/* `state` is what `begin` made for a CTA, or for a cluster of them. Calls for one state come from one thread at a time;
 * begin, end and select come from several threads at once. Callbacks run on small stacks: at most 4 KiB of frames. */
typedef struct tsr_emu_watcher {
    void *user;
    const tsr_emu_code *(*code)(const char *instance); /* the kernel compiled for watching; NULL: there is none */
    int (*select)(void *user, long long cta); /* 0: the CTA (of a cluster, the first) is not run; NULL: all are */
    void *(*begin)(void *user, long long cta);
    void (*event)(void *state, const tsr_watch_event *event);
    /* All warps of the CTA, or of all CTAs of the cluster, have met: what was reported before happened before what
     * comes. Of warps between two such calls nothing is known; their events are reported one warp after another. */
    void (*barrier)(void *state);
    void (*end)(void *user, void *state);
} tsr_emu_watcher;

/* The next launches on this device, which must be an emulator, are watched; NULL: no longer. Not for a device that
 * other threads use at the same time. TSR_UNSUPPORTED from a launch whose kernel was not compiled for it. */
void tsr_emu_watch_launches(tsr_device *device, const tsr_emu_watcher *watcher);

#endif
