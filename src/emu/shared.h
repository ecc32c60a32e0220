/* The shared memory of one CTA, with a shadow that knows who wrote and read each byte. Private to src/emu.
 *
 * Threads of a CTA are ordered by barriers only: two accesses to one byte, at least one of them a write, by different
 * threads and with no barrier between them, are a race, whatever the order in which fibers happen to run. The shadow
 * keeps for each byte the last write and the last reads as a stamp: the clock (which every barrier advances) and the
 * thread. A stamp with the present clock and another thread is a race; a write stamp from before the CTA started means
 * that the byte was never written. */
#ifndef TSR_EMU_SHARED_H
#define TSR_EMU_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"
#include "emu/fault.h"

/* clock << 11 | several << 10 | thread. `several` (reads only): more threads than that one read in this clock. */
typedef uint32_t emu_stamp;

#define EMU_STAMP_CLOCK_SHIFT 11
#define EMU_STAMP_SEVERAL     (1u << 10)
#define EMU_STAMP_THREAD_MASK 1023u
#define EMU_CLOCK_MAX         ((1u << (32 - EMU_STAMP_CLOCK_SHIFT)) - 1)

typedef struct emu_shadow {
    emu_stamp written, read;
} emu_shadow;

typedef struct emu_shared {
    void *memory; /* the arena between two guards */
    unsigned char *bytes;
    size_t count;
    emu_shadow *shadow;   /* one for each byte */
    uint32_t clock;       /* now */
    uint32_t first_clock; /* when this CTA started */
} emu_shared;

/* 0 when out of memory. */
int tsr_emu_shared_make(emu_shared *shared, size_t bytes, const tsr_allocator *allocator);
void tsr_emu_shared_free(emu_shared *shared, const tsr_allocator *allocator);

/* 1 if the address lies in the arena or just outside it. */
int tsr_emu_shared_is_near(const emu_shared *shared, const void *address);

/* A new CTA: nothing is written, everything is poison. */
void tsr_emu_shared_begin(emu_shared *shared);

/* All threads of the CTA met. */
void tsr_emu_shared_barrier(emu_shared *shared);

/* Records the access of `size` bytes at `offset`, which lie inside. On a fault fills kind, offset and the other thread,
 * and returns 0. */
int tsr_emu_shared_read(emu_shared *shared, size_t offset, size_t size, unsigned thread, emu_fault *fault);
int tsr_emu_shared_write(emu_shared *shared, size_t offset, size_t size, unsigned thread, emu_fault *fault);

#endif
