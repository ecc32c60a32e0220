#include "emu/shared.h"

#include <string.h>

enum {
    POISON_BYTE = 0xff,    /* a NaN in every float format, and far from any count */
    GUARD_BYTES = 64 << 10 /* nothing else lies near the arena, so that a near miss is known for what it is */
};

int tsr_emu_shared_make(emu_shared *shared, size_t bytes, const tsr_allocator *allocator)
{
    *shared = (emu_shared){.count = bytes};
    shared->memory = tsr_alloc(allocator, 1024, bytes + 2 * (size_t)GUARD_BYTES);
    shared->shadow = tsr_alloc(allocator, 64, bytes * sizeof *shared->shadow);
    if (!shared->memory || !shared->shadow) {
        tsr_emu_shared_free(shared, allocator);
        return 0;
    }
    shared->bytes = (unsigned char *)shared->memory + GUARD_BYTES;
    memset(shared->shadow, 0, bytes * sizeof *shared->shadow);
    return 1;
}

void tsr_emu_shared_free(emu_shared *shared, const tsr_allocator *allocator)
{
    tsr_free(allocator, shared->memory);
    tsr_free(allocator, shared->shadow);
    *shared = (emu_shared){0};
}

int tsr_emu_shared_is_near(const emu_shared *shared, const void *address)
{
    return (uintptr_t)address - (uintptr_t)shared->memory < shared->count + 2 * (size_t)GUARD_BYTES;
}

void tsr_emu_shared_begin(emu_shared *shared)
{
    if (shared->clock >= EMU_CLOCK_MAX - 1) {
        memset(shared->shadow, 0, shared->count * sizeof *shared->shadow);
        shared->clock = 0;
    }
    shared->first_clock = ++shared->clock;
    memset(shared->bytes, POISON_BYTE, shared->count);
}

/* The clock is used up: all that was written counts as written long ago. */
static void restart_clock(emu_shared *shared)
{
    for (size_t i = 0; i < shared->count; i++) {
        emu_shadow *shadow = &shared->shadow[i];
        const int is_written = shadow->written >> EMU_STAMP_CLOCK_SHIFT >= shared->first_clock;
        *shadow = (emu_shadow){is_written ? 1u << EMU_STAMP_CLOCK_SHIFT : 0, 0};
    }
    shared->first_clock = 1;
    shared->clock = 1;
}

void tsr_emu_shared_barrier(emu_shared *shared)
{
    if (shared->clock == EMU_CLOCK_MAX)
        restart_clock(shared);
    shared->clock++;
}

static void fill_race(emu_fault *fault, size_t offset, emu_stamp other, int other_is_write)
{
    *fault = (emu_fault){.kind = EMU_RACE,
                         .memory = EMU_SHARED,
                         .offset = offset,
                         .other_thread = other & EMU_STAMP_THREAD_MASK,
                         .other_is_write = other_is_write};
}

int tsr_emu_shared_read(emu_shared *shared, size_t offset, size_t size, unsigned thread, emu_fault *fault)
{
    const emu_stamp now = shared->clock << EMU_STAMP_CLOCK_SHIFT, mine = now | thread;
    const emu_stamp first = shared->first_clock << EMU_STAMP_CLOCK_SHIFT;
    for (size_t i = 0; i < size; i++) {
        emu_shadow *shadow = &shared->shadow[offset + i];
        const emu_stamp written = shadow->written, read = shadow->read;
        /* Good: written by this CTA before the last barrier, or by this very thread. */
        if (__builtin_expect(written - first >= now - first && written != mine, 0)) {
            if (written < first)
                *fault = (emu_fault){.kind = EMU_POISON, .memory = EMU_SHARED, .offset = offset + i};
            else
                fill_race(fault, offset + i, written, 1);
            return 0;
        }
        shadow->read = read < now ? mine : read == mine ? read : read | EMU_STAMP_SEVERAL;
    }
    return 1;
}

int tsr_emu_shared_write(emu_shared *shared, size_t offset, size_t size, unsigned thread, emu_fault *fault)
{
    const emu_stamp now = shared->clock << EMU_STAMP_CLOCK_SHIFT, mine = now | thread;
    for (size_t i = 0; i < size; i++) {
        emu_shadow *shadow = &shared->shadow[offset + i];
        const emu_stamp written = shadow->written, read = shadow->read;
        if (__builtin_expect(written >= now && written != mine, 0)) {
            fill_race(fault, offset + i, written, 1);
            return 0;
        }
        if (__builtin_expect(read >= now && read != mine, 0)) {
            fill_race(fault, offset + i, read, 0);
            return 0;
        }
        shadow->written = mine;
    }
    return 1;
}
