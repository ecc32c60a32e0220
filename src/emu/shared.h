/* The shared memory of one CTA, with a shadow that knows who wrote and read each byte. Private to src/emu.
 *
 * The shadow keeps for each byte (for each word of 4, as long as its bytes are only used together) the stamp of the
 * last write and that of the reads since: of a single thread, or of several. A read must have seen the last write, a
 * write both (see clock.h). A write stamp from before the CTA's first clock means that the byte was never written. */
#ifndef TSR_EMU_SHARED_H
#define TSR_EMU_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"
#include "emu/clock.h"
#include "emu/fault.h"

/* What the kind bits of a stamp say. Of several readers in one warp we know the lanes, of several warps the warps.
 * Their stamp has the lowest clock of them all, so that nothing is reported that is not a race. */
enum { EMU_KIND_ONE = 0u << 12, EMU_KIND_LANES = 1u << 12, EMU_KIND_WARPS = 2u << 12, EMU_KIND_MASK = 3u << 12 };

/* The write stamp of bytes that a cp.async has not delivered yet: later than any clock, so that no access is good. */
#define EMU_STAMP_IN_FLIGHT (0xffffffffu << EMU_STAMP_SHIFT)

/* Of a write stamp: an atomic operation wrote, with which others do not race. */
#define EMU_STAMP_ATOMIC EMU_KIND_LANES

/* Of a write stamp: the copy engine wrote, so that its own later reads and those of the tensor cores need no fence. */
#define EMU_STAMP_ASYNC EMU_KIND_WARPS

/* The write stamp of a word whose bytes do not share one history: each byte has a shadow of its own from then on. */
#define EMU_STAMP_SPLIT (EMU_STAMP_IN_FLIGHT | EMU_KIND_LANES)

typedef struct emu_shadow {
    emu_stamp written, read;
    uint32_t readers; /* lanes, or warps modulo 32, where read is of several */
} emu_shadow;

typedef struct emu_shared {
    void *memory; /* the arena between two guards */
    unsigned char *bytes;
    size_t count;
    emu_shadow *words;    /* one for each 4 bytes */
    emu_shadow *bytewise; /* one for each byte, where `words` says EMU_STAMP_SPLIT */
    emu_time time;
} emu_shared;

/* When a thread executed fence.proxy.async: its clocks, the latest ones in a ring. */
enum { EMU_FENCES = 16 };
typedef struct emu_fences {
    uint32_t clocks[EMU_FENCES];
    unsigned count;
} emu_fences;

/* 0 when out of memory. */
int tsr_emu_shared_make(emu_shared *shared, size_t bytes, unsigned n_threads, const tsr_allocator *allocator);
void tsr_emu_shared_free(emu_shared *shared, const tsr_allocator *allocator);

/* 1 if the address lies in the arena or just outside it. */
int tsr_emu_shared_is_near(const emu_shared *shared, const void *address);

/* A new CTA: nothing is written, everything is poison. The caller resets the threads' clocks. */
void tsr_emu_shared_begin(emu_shared *shared);

/* All threads of the CTA met. The caller resets their clocks. */
void tsr_emu_shared_barrier(emu_shared *shared);

/* Records the access of `size` bytes at `offset`, which lie inside. On a fault fills kind, offset and the other thread,
 * and returns 0. */
int tsr_emu_shared_read(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault);
int tsr_emu_shared_write(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault);

/* The usual cases of the same for a shadow of its own: what was written is this thread's own or seen by it, and who
 * reads it since the last barrier is known, or this thread alone. 0: it is not so, nothing is recorded. */
static inline int tsr_emu_shadow_read_quickly(emu_shadow *shadow, const emu_time *time, const emu_clock *clock)
{
    const emu_stamp mine = clock->stamp, written = shadow->written, read = shadow->read;
    const emu_stamp first = time->first << EMU_STAMP_SHIFT, floor = time->floor << EMU_STAMP_SHIFT;
    if (written - first >= floor - first && written != mine &&
        (written < first || written >= EMU_STAMP_IN_FLIGHT || !tsr_emu_clock_has_seen(time, clock, written)))
        return 0;
    if (read < floor || read == mine) {
        shadow->read = mine;
        return 1;
    }
    /* One more of several readers; the earliest of them is noted already. */
    const unsigned self = mine & EMU_STAMP_THREAD, who = read & EMU_STAMP_THREAD;
    if (read >> EMU_STAMP_SHIFT > mine >> EMU_STAMP_SHIFT)
        return 0;
    if ((read & EMU_KIND_MASK) == EMU_KIND_WARPS)
        shadow->readers |= 1u << self / 32 % 32;
    else if ((read & EMU_KIND_MASK) == EMU_KIND_LANES && who / 32 == self / 32)
        shadow->readers |= 1u << self % 32;
    else
        return 0;
    return 1;
}

static inline int tsr_emu_shadow_write_quickly(emu_shadow *shadow, const emu_time *time, const emu_clock *clock)
{
    const emu_stamp mine = clock->stamp, written = shadow->written, read = shadow->read;
    const emu_stamp floor = time->floor << EMU_STAMP_SHIFT;
    if (read >= floor && read != mine)
        return 0;
    if (written >= floor && written != mine &&
        (written >= EMU_STAMP_IN_FLIGHT || !tsr_emu_clock_has_seen(time, clock, written)))
        return 0;
    shadow->written = mine;
    shadow->read = 0;
    return 1;
}

/* Of a whole word, offset a multiple of 4. */
static inline int tsr_emu_shared_access_quickly(emu_shared *shared, size_t offset, int is_write, const emu_clock *clock)
{
    emu_shadow *shadow = &shared->words[offset / 4];
    return is_write ? tsr_emu_shadow_write_quickly(shadow, &shared->time, clock)
                    : tsr_emu_shadow_read_quickly(shadow, &shared->time, clock);
}

static inline int tsr_emu_shadows_are_alike(const emu_shadow *a, const emu_shadow *b)
{
    return a->written == b->written && a->read == b->read && a->readers == b->readers;
}

/* Of half a word whose bytes share their history, though the word's do not; offset a multiple of 2. */
static inline int tsr_emu_shared_access_half_quickly(emu_shared *shared, size_t offset, int is_write,
                                                     const emu_clock *clock)
{
    emu_shadow *shadow = &shared->bytewise[offset];
    if (shared->words[offset / 4].written != EMU_STAMP_SPLIT || !tsr_emu_shadows_are_alike(&shadow[0], &shadow[1]) ||
        !(is_write ? tsr_emu_shadow_write_quickly(shadow, &shared->time, clock)
                   : tsr_emu_shadow_read_quickly(shadow, &shared->time, clock)))
        return 0;
    shadow[1] = shadow[0];
    return 1;
}

/* An atomic operation reads and writes; two of them do not race. */
int tsr_emu_shared_atomic(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault);

/* An asynchronous copy by that thread starts: a write, which has not ended. Until tsr_emu_shared_land nobody may touch
 * the bytes. */
int tsr_emu_shared_start_copy(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault);
/* Reads by the copy engine or the tensor cores on behalf of a thread: what ordinary stores wrote must have been
 * followed by fence.proxy.async in the writer, before the synchronisation by which the thread saw it (`fences`, one for
 * each thread). */
int tsr_emu_shared_read_async(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                              const emu_fences *fences, emu_fault *fault);
/* A copy by the copy engine starts: as tsr_emu_shared_start_copy, with the same rule for what it overwrites. */
int tsr_emu_shared_start_async(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                               const emu_fences *fences, emu_fault *fault);
/* The copy engine delivered the bytes, asked by the thread of the stamp. */
void tsr_emu_shared_land_async(emu_shared *shared, size_t offset, size_t size, emu_stamp stamp);

/* A late read: were the bytes last written before the thread asked for it, as its clock and the floor were then? On a
 * fault the other thread is who wrote since. */
int tsr_emu_shared_unchanged(const emu_shared *shared, size_t offset, size_t size, const emu_clock *then,
                             uint32_t floor_then, emu_fault *fault);

/* The copy engine reads and writes for a reduction, as an atomic operation does: what the thread of the clock had not
 * seen when it asked must be another reduction. */
int tsr_emu_shared_reduce_async(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                                emu_fault *fault);

void tsr_emu_shared_land(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, const void *data);

#endif
