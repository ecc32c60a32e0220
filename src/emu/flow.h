/* The control flow graph that lanes were seen to follow, and its post-dominators. Private to src/emu. */
#ifndef TSR_EMU_FLOW_H
#define TSR_EMU_FLOW_H

#include "core/memory.h"
#include "emu/align.h"

enum {
    EMU_BLOCKS = 4096, /* of a kernel */
    EMU_STEPS = 4 * EMU_BLOCKS,
    EMU_BLOCK_END = 0,   /* not a block: where all ways end */
    EMU_BLOCK_START = 1, /* not a block: where they start */
    EMU_BLOCK_NONE = 0xffff
};

typedef struct emu_block {
    uint64_t place;
    uint16_t first_step, last_next; /* first of the steps out of it; where it was last seen to lead */
    uint16_t meets;                 /* its immediate post-dominator */
    uint16_t order;                 /* working space */
} emu_block;

typedef struct emu_step {
    uint16_t to, other; /* another step out of the same block */
} emu_step;

struct emu_flow {
    unsigned n_blocks, n_steps;
    int is_stale;            /* steps were added since `meets` was computed */
    unsigned long stretches; /* that warps have begun: each time one of them entered a block */
    emu_block blocks[EMU_BLOCKS];
    emu_step steps[EMU_STEPS];
    uint16_t table[2 * EMU_BLOCKS]; /* from places to blocks */
    /* Working space: the graph turned round, and the order in which it is walked. */
    uint16_t first_back[EMU_BLOCKS], walk[EMU_BLOCKS], stack[EMU_BLOCKS];
    emu_step back[EMU_STEPS];
};

/* The block that starts at this place, EMU_BLOCK_NONE if there are too many. */
unsigned tsr_emu_flow_block(emu_flow *flow, uint64_t place);

/* A lane went from one block to another. 0 if there are too many such steps. */
int tsr_emu_flow_step(emu_flow *flow, unsigned from, unsigned to);

/* Brings `meets` up to date. */
void tsr_emu_flow_solve(emu_flow *flow);

#endif
