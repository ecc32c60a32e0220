/* From what each lane of a warp did to what the warp did. Private to src/emu.
 *
 * The blocks that lanes went through, and the steps between them, are a control flow graph: not that of the kernel, but
 * the part of it that was run. Where lanes of a group go on to different blocks, each part runs on by itself until it
 * reaches the immediate post-dominator of the block where they parted; there they go on together. That is what
 * hardware does since the first GPUs (Fung et al., "Dynamic Warp Formation", MICRO 2007, describe it). Loops need no
 * counting: lanes of one group are in the same iteration. */
#ifndef TSR_EMU_ALIGN_H
#define TSR_EMU_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"
#include "emu/watch.h"

/* kind << 56 | bytes << 48 | place */
typedef struct emu_record {
    uint64_t tag, value;
} emu_record;

enum { EMU_RECORD_BLOCK = 100, EMU_RECORD_TO = 101 /* second half of a COPY */ };

#define EMU_RECORD_TAG(kind, bytes, place) \
    ((uint64_t)(kind) << 56 | (uint64_t)(bytes) << 48 | ((uint64_t)(uintptr_t)(place)&0xffffffffffffu))
#define EMU_RECORD_KIND(tag) ((unsigned)((tag) >> 56))

/* What one thread did since its warp was last put together. */
typedef struct emu_lane {
    emu_record *records;
    size_t count, capacity;
    int is_paused;  /* it works for others */
    unsigned block; /* the one that it was in when its first record was made */
} emu_lane;

typedef struct emu_flow emu_flow;

emu_flow *tsr_emu_flow_make(const tsr_allocator *allocator); /* NULL when out of memory */
void tsr_emu_flow_free(emu_flow *flow, const tsr_allocator *allocator);

/* Lanes are where a kernel starts. */
void tsr_emu_lanes_begin(emu_lane *lanes, unsigned count);

/* Reports what the `count` (at most 32) lanes of a warp did and empties their records. `event` has cta and warp.
 * 0 when out of memory. */
int tsr_emu_align(emu_flow *flow, emu_lane *lanes, unsigned count, const tsr_emu_watcher *watcher, void *state,
                  tsr_watch_event *event);

#endif
