/* Memory of launches: slots, each of one resident CTA or cluster, and tables of zeroes. Fresh memory costs thousands of
 * page faults, so both outlive a launch in the device's pool. Private to src/emu. */
#ifndef TSR_EMU_SLOT_H
#define TSR_EMU_SLOT_H

#include "emu/run_launch.h"

struct emu_cta;

/* All that a slot's memory depends on. */
typedef struct emu_shape {
    unsigned cluster;     /* CTAs, at least 1 */
    unsigned cta_threads; /* of a CTA */
    unsigned n_threads;   /* of the slot */
    unsigned threads_x;
    size_t shared_bytes;  /* of a CTA */
    size_t window_stride; /* from CTA to CTA in the slot's shared memory */
    int is_hopper;        /* the kernel may use what compute capability 9.0 brought */
    const tsr_allocator *allocator;
} emu_shape;

/* A slot of this shape, from the pool if there is a pool and it has one. NULL when out of memory. */
struct emu_cta *tsr_emu_slot_make(const emu_shape *shape, tsr_emu_pool *pool);
void tsr_emu_slot_free(struct emu_cta *slot);

/* Gives a slot back whose CTA has ended well; freed if there is no pool or it is full. */
void tsr_emu_slot_keep(struct emu_cta *slot, tsr_emu_pool *pool);

/* Memory of zeroes, at page boundaries; from the pool where it is small, else only what is touched costs memory. NULL
 * for no bytes, and when there is no memory. The same bytes and pool to give it back; NULL is fine. */
void *tsr_emu_zeroes_take(tsr_emu_pool *pool, size_t bytes);
void tsr_emu_zeroes_give(tsr_emu_pool *pool, void *memory, size_t bytes);

#endif
