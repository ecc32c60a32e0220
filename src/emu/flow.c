#include "emu/flow.h"

#include <string.h>

emu_flow *tsr_emu_flow_make(const tsr_allocator *allocator)
{
    emu_flow *flow = tsr_alloc(allocator, 64, sizeof *flow);
    if (!flow)
        return NULL;
    memset(flow->table, 0xff, sizeof flow->table);
    flow->n_blocks = 2;
    flow->n_steps = 0;
    flow->is_stale = 1;
    flow->stretches = 0;
    for (unsigned i = 0; i < flow->n_blocks; i++)
        flow->blocks[i] = (emu_block){.first_step = EMU_BLOCK_NONE, .last_next = EMU_BLOCK_NONE};
    return flow;
}

void tsr_emu_flow_free(emu_flow *flow, const tsr_allocator *allocator)
{
    tsr_free(allocator, flow);
}

unsigned tsr_emu_flow_block(emu_flow *flow, uint64_t place)
{
    enum { MASK = 2 * EMU_BLOCKS - 1 };
    unsigned at = (unsigned)((place * 0x9E3779B97F4A7C15ull) >> 40) & MASK;
    for (; flow->table[at] != EMU_BLOCK_NONE; at = (at + 1) & MASK)
        if (flow->blocks[flow->table[at]].place == place)
            return flow->table[at];
    if (flow->n_blocks == EMU_BLOCKS)
        return EMU_BLOCK_NONE;
    const unsigned block = flow->n_blocks++;
    flow->table[at] = (uint16_t)block;
    flow->blocks[block] = (emu_block){.place = place, .first_step = EMU_BLOCK_NONE, .last_next = EMU_BLOCK_NONE};
    flow->is_stale = 1;
    return block;
}

int tsr_emu_flow_step(emu_flow *flow, unsigned from, unsigned to)
{
    emu_block *block = &flow->blocks[from];
    if (block->last_next == to)
        return 1;
    for (unsigned i = block->first_step; i != EMU_BLOCK_NONE; i = flow->steps[i].other)
        if (flow->steps[i].to == to) {
            block->last_next = (uint16_t)to;
            return 1;
        }
    if (flow->n_steps == EMU_STEPS)
        return 0;
    flow->steps[flow->n_steps] = (emu_step){(uint16_t)to, block->first_step};
    block->first_step = (uint16_t)flow->n_steps++;
    block->last_next = (uint16_t)to;
    flow->is_stale = 1;
    return 1;
}

static void turn_round(emu_flow *flow)
{
    unsigned count = 0;
    memset(flow->first_back, 0xff, sizeof flow->first_back);
    for (unsigned from = 0; from < flow->n_blocks; from++)
        for (unsigned i = flow->blocks[from].first_step; i != EMU_BLOCK_NONE; i = flow->steps[i].other) {
            const unsigned to = flow->steps[i].to;
            flow->back[count] = (emu_step){(uint16_t)from, flow->first_back[to]};
            flow->first_back[to] = (uint16_t)count++;
        }
}

/* Depth first from the end, against the steps; `walk` gets the blocks as they are left. Returns how many. A block's
 * order is its place in `walk`. While blocks are on the stack, first_back says which way back comes next. */
static unsigned walk_back(emu_flow *flow)
{
    unsigned depth = 0, count = 0;
    for (unsigned i = 0; i < flow->n_blocks; i++)
        flow->blocks[i].order = EMU_BLOCK_NONE;
    flow->blocks[EMU_BLOCK_END].order = 0;
    flow->stack[depth++] = EMU_BLOCK_END;
    while (depth > 0) {
        const unsigned block = flow->stack[depth - 1], way = flow->first_back[block];
        if (way == EMU_BLOCK_NONE) {
            depth--;
            flow->walk[count] = (uint16_t)block;
            flow->blocks[block].order = (uint16_t)count++;
            continue;
        }
        flow->first_back[block] = flow->back[way].other;
        const unsigned from = flow->back[way].to;
        if (flow->blocks[from].order == EMU_BLOCK_NONE) {
            flow->blocks[from].order = 0;
            flow->stack[depth++] = (uint16_t)from;
        }
    }
    return count;
}

static unsigned meet(const emu_flow *flow, unsigned x, unsigned y)
{
    while (x != y) {
        while (flow->blocks[x].order < flow->blocks[y].order)
            x = flow->blocks[x].meets;
        while (flow->blocks[y].order < flow->blocks[x].order)
            y = flow->blocks[y].meets;
    }
    return x;
}

/* Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm" (2001), on the graph turned round. */
void tsr_emu_flow_solve(emu_flow *flow)
{
    if (!flow->is_stale)
        return;
    turn_round(flow);
    const unsigned count = walk_back(flow);
    for (unsigned i = 0; i < flow->n_blocks; i++)
        flow->blocks[i].meets = EMU_BLOCK_NONE;
    flow->blocks[EMU_BLOCK_END].meets = EMU_BLOCK_END;
    for (int changed = 1; changed;) {
        changed = 0;
        for (unsigned i = count - 1; i-- > 0;) {
            emu_block *block = &flow->blocks[flow->walk[i]];
            unsigned found = EMU_BLOCK_NONE;
            for (unsigned s = block->first_step; s != EMU_BLOCK_NONE; s = flow->steps[s].other) {
                const unsigned to = flow->steps[s].to;
                if (flow->blocks[to].meets != EMU_BLOCK_NONE)
                    found = found == EMU_BLOCK_NONE ? to : meet(flow, found, to);
            }
            changed |= block->meets != found;
            block->meets = (uint16_t)found;
        }
    }
    flow->is_stale = 0;
}
