#include "emu/align.h"

#include "emu/flow.h"

/* One warp while it is put together. */
typedef struct emu_warp {
    emu_flow *flow;
    emu_lane *lanes;
    size_t next[32];    /* record of each lane */
    uint16_t block[32]; /* where each lane is */
    const tsr_emu_watcher *watcher;
    void *state;
    tsr_watch_event *event;
    uint64_t address[32], shared[32];
} emu_warp;

#define FOR_LANES(lane, mask) \
    for (uint32_t rest_ = (mask), lane; rest_ && (lane = (uint32_t)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

void tsr_emu_lanes_begin(emu_lane *lanes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lanes[i].count = 0;
        lanes[i].is_paused = 0;
        lanes[i].block = EMU_BLOCK_START;
    }
}

/* Learns the steps of a lane; its block records get the block's number as value. */
static int learn(emu_flow *flow, emu_lane *lane)
{
    unsigned at = lane->block;
    for (size_t i = 0; i < lane->count; i++) {
        emu_record *record = &lane->records[i];
        if (EMU_RECORD_KIND(record->tag) != EMU_RECORD_BLOCK)
            continue;
        const unsigned block = tsr_emu_flow_block(flow, record->tag);
        if (block == EMU_BLOCK_NONE || !tsr_emu_flow_step(flow, at, block))
            return 0;
        record->value = at = block;
    }
    /* It stopped here, at a barrier or at its end: no lane goes on from here before all have come. */
    return tsr_emu_flow_step(flow, at, EMU_BLOCK_END);
}

static const emu_record *peek(const emu_warp *warp, unsigned lane)
{
    const emu_lane *own = &warp->lanes[lane];
    return warp->next[lane] < own->count ? &own->records[warp->next[lane]] : NULL;
}

/* The lanes do the instruction of their next records, which are alike. */
static void issue(emu_warp *warp, uint32_t lanes, uint64_t tag)
{
    tsr_watch_event *event = warp->event;
    event->kind = (tsr_watch_kind)EMU_RECORD_KIND(tag);
    event->bytes = (unsigned)(tag >> 48 & 0xff);
    event->place = (const void *)(uintptr_t)(tag & 0xffffffffffffu);
    event->lanes = lanes;
    event->address = warp->address;
    event->shared = event->kind == TSR_WATCH_COPY ? warp->shared : NULL;
    FOR_LANES(lane, lanes)
    {
        const emu_record *record = &warp->lanes[lane].records[warp->next[lane]++];
        warp->address[lane] = record->value;
        if (event->kind == TSR_WATCH_COPY)
            warp->shared[lane] = warp->lanes[lane].records[warp->next[lane]++].value;
    }
    event->amount = (unsigned long)warp->address[__builtin_ctz(lanes)];
    if (event->kind == TSR_WATCH_BULK_LOAD) {
        event->amount = (unsigned long)(event->amount >> 56);
        warp->address[__builtin_ctz(lanes)] &= 0xffffffffffffffu;
    }
    warp->watcher->event(warp->state, event);
}

/* Runs the rest of the lanes' block. */
static void run_block(emu_warp *warp, uint32_t lanes)
{
    warp->event->stretch = ++warp->flow->stretches;
    for (uint32_t here = lanes; here;) {
        uint32_t alike = 0;
        uint64_t tag = 0;
        FOR_LANES(lane, here)
        {
            const emu_record *record = peek(warp, lane);
            if (!record || EMU_RECORD_KIND(record->tag) == EMU_RECORD_BLOCK) {
                here &= ~(1u << lane);
                continue;
            }
            if (!alike)
                tag = record->tag;
            if (record->tag == tag)
                alike |= 1u << lane;
        }
        if (alike)
            issue(warp, alike, tag);
    }
}

/* Those of the lanes that go on to the same block as the first of them do; they enter it. */
static uint32_t enter(emu_warp *warp, uint32_t lanes, unsigned *block)
{
    uint32_t entered = 0;
    *block = (unsigned)peek(warp, (unsigned)__builtin_ctz(lanes))->value;
    FOR_LANES(lane, lanes)
    {
        if (peek(warp, lane)->value != *block)
            continue;
        entered |= 1u << lane;
        warp->block[lane] = (uint16_t)*block;
        warp->next[lane]++;
    }
    return entered;
}

/* The lanes are at the start of one block; runs them until they are at the start of `stop`, or have no more records.
 * Each recursion has fewer lanes. */
static void run(emu_warp *warp, uint32_t lanes, unsigned stop)
{
    while (lanes) {
        const unsigned at = warp->block[__builtin_ctz(lanes)];
        run_block(warp, lanes);
        FOR_LANES(lane, lanes)
        {
            if (!peek(warp, lane))
                lanes &= ~(1u << lane);
        }
        const unsigned join = warp->flow->blocks[at].meets;
        uint32_t waiting = 0;
        while (lanes) {
            unsigned block;
            const uint32_t group = enter(warp, lanes, &block);
            if (group == lanes && !waiting) { /* nobody parted */
                if (block == stop)
                    return;
                waiting = lanes;
                break;
            }
            lanes &= ~group;
            waiting |= group;
            if (block != join)
                run(warp, group, join);
        }
        if (lanes == waiting)
            continue;
        /* Parted, and met again, but for those that ended on the way. */
        FOR_LANES(lane, waiting)
        {
            if (warp->block[lane] == join)
                lanes |= 1u << lane;
        }
        if (join == stop)
            return;
    }
}

int tsr_emu_align(emu_flow *flow, emu_lane *lanes, unsigned count, const tsr_emu_watcher *watcher, void *state,
                  tsr_watch_event *event)
{
    for (unsigned i = 0; i < count; i++)
        if (!learn(flow, &lanes[i]))
            return 0;
    tsr_emu_flow_solve(flow);
    emu_warp warp = {.flow = flow, .lanes = lanes, .watcher = watcher, .state = state, .event = event};
    uint32_t rest = 0;
    for (unsigned i = 0; i < count; i++) {
        warp.block[i] = (uint16_t)lanes[i].block;
        rest |= 1u << i;
    }
    while (rest) {
        uint32_t group = 0;
        FOR_LANES(lane, rest)
        {
            if (warp.block[lane] == warp.block[__builtin_ctz(rest)])
                group |= 1u << lane;
        }
        rest &= ~group;
        run(&warp, group, EMU_BLOCK_END);
    }
    for (unsigned i = 0; i < count; i++) {
        lanes[i].block = warp.block[i];
        lanes[i].count = 0;
    }
    return 1;
}
