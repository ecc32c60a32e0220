#include "emu/shared.h"

#include <string.h>

enum {
    POISON_BYTE = 0xff,    /* a NaN in every float format, and far from any count */
    GUARD_BYTES = 64 << 10 /* nothing else lies near the arena, so that a near miss is known for what it is */
};

static size_t word_count(const emu_shared *shared)
{
    return (shared->count + 3) / 4;
}

/* No word is split, so the shadows of bytes do not matter. */
static void forget_all(emu_shared *shared)
{
    memset(shared->words, 0, word_count(shared) * sizeof *shared->words);
}

int tsr_emu_shared_make(emu_shared *shared, size_t bytes, unsigned n_threads, const tsr_allocator *allocator)
{
    *shared = (emu_shared){.count = bytes, .time = {.n_threads = n_threads, .allocator = allocator}};
    shared->memory = tsr_alloc(allocator, 1024, bytes + 2 * (size_t)GUARD_BYTES);
    shared->words = tsr_alloc(allocator, 64, word_count(shared) * sizeof *shared->words);
    shared->bytewise = tsr_alloc(allocator, 64, word_count(shared) * 4 * sizeof *shared->bytewise);
    if (!shared->memory || !shared->words || !shared->bytewise) {
        tsr_emu_shared_free(shared, allocator);
        return 0;
    }
    shared->bytes = (unsigned char *)shared->memory + GUARD_BYTES;
    forget_all(shared);
    return 1;
}

void tsr_emu_shared_free(emu_shared *shared, const tsr_allocator *allocator)
{
    tsr_free(allocator, shared->memory);
    tsr_free(allocator, shared->words);
    tsr_free(allocator, shared->bytewise);
    tsr_emu_time_free(&shared->time);
    *shared = (emu_shared){0};
}

int tsr_emu_shared_is_near(const emu_shared *shared, const void *address)
{
    return (uintptr_t)address - (uintptr_t)shared->memory < shared->count + 2 * (size_t)GUARD_BYTES;
}

void tsr_emu_shared_begin(emu_shared *shared)
{
    memset(shared->bytes, POISON_BYTE, shared->count);
    /* Enough clocks for a long CTA; a barrier gets new ones, finer synchronisation does not. */
    if (shared->time.latest < EMU_CLOCK_MAX / 2 && tsr_emu_time_begin(&shared->time))
        return;
    forget_all(shared);
    shared->time.latest = 0;
    tsr_emu_time_begin(&shared->time);
}

/* The clocks are used up: all that was written counts as written long ago, and fenced since. */
static void restart_shadows(const emu_time *time, emu_shadow *shadows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (shadows[i].written >= EMU_STAMP_IN_FLIGHT)
            continue;
        const int is_written = shadows[i].written >> EMU_STAMP_SHIFT >= time->first;
        shadows[i] = (emu_shadow){is_written ? 1u << EMU_STAMP_SHIFT | EMU_STAMP_ASYNC : 0, 0, 0};
    }
}

static void restart_clocks(emu_shared *shared)
{
    restart_shadows(&shared->time, shared->words, word_count(shared));
    for (size_t word = 0; word < word_count(shared); word++)
        if (shared->words[word].written == EMU_STAMP_SPLIT)
            restart_shadows(&shared->time, &shared->bytewise[word * 4], 4);
    shared->time.first = shared->time.latest = 1;
}

void tsr_emu_shared_barrier(emu_shared *shared)
{
    if (tsr_emu_time_barrier(&shared->time))
        return;
    restart_clocks(shared);
    tsr_emu_time_barrier(&shared->time);
}

static int fill_race(emu_fault *fault, size_t offset, unsigned other, int other_is_write)
{
    *fault = (emu_fault){.kind = EMU_RACE,
                         .memory = EMU_SHARED,
                         .offset = offset,
                         .other_thread = other,
                         .other_is_write = other_is_write};
    return 0;
}

/* Not written before the last barrier, nor by this very thread and clock: is it still good to read or overwrite? */
static __attribute__((noinline)) int check_write(const emu_shared *shared, size_t offset, emu_stamp written,
                                                 const emu_clock *clock, emu_fault *fault)
{
    const emu_time *time = &shared->time;
    if (written == EMU_STAMP_IN_FLIGHT)
        *fault = (emu_fault){.kind = EMU_IN_FLIGHT, .memory = EMU_SHARED, .offset = offset};
    else if (written >> EMU_STAMP_SHIFT < time->first)
        *fault = (emu_fault){.kind = EMU_POISON, .memory = EMU_SHARED, .offset = offset};
    else if (tsr_emu_clock_has_seen(time, clock, written))
        return 1;
    else
        return fill_race(fault, offset, written & EMU_STAMP_THREAD, 1);
    return 0;
}

/* 1 if the thread has seen the access of some lane of a warp with this number modulo 32, other than its own. */
static int has_seen_warp(const emu_time *time, const emu_clock *clock, unsigned warp, uint32_t when)
{
    for (unsigned first = warp * 32; first < time->n_threads; first += 1024)
        for (unsigned thread = first; thread < first + 32 && thread < time->n_threads; thread++)
            if (tsr_emu_clock_has_seen(time, clock, when << EMU_STAMP_SHIFT | thread))
                return 1;
    return 0;
}

/* Has the writer seen all reads since the last write? */
static __attribute__((noinline)) int check_reads(const emu_shared *shared, size_t offset, const emu_shadow *shadow,
                                                 const emu_clock *clock, emu_fault *fault)
{
    const emu_time *time = &shared->time;
    const emu_stamp read = shadow->read;
    const uint32_t when = read >> EMU_STAMP_SHIFT, who = read & EMU_STAMP_THREAD;
    switch (read & EMU_KIND_MASK) {
    case EMU_KIND_LANES:
        for (unsigned lane = 0; lane < 32; lane++) {
            const unsigned thread = (who & ~31u) + lane;
            if ((shadow->readers >> lane & 1) && !tsr_emu_clock_has_seen(time, clock, when << EMU_STAMP_SHIFT | thread))
                return fill_race(fault, offset, thread, 0);
        }
        return 1;
    case EMU_KIND_WARPS:
        for (unsigned warp = 0; warp < 32; warp++)
            if ((shadow->readers >> warp & 1) && !has_seen_warp(time, clock, warp, when))
                return fill_race(fault, offset, who / 32 % 32 == warp ? who : warp * 32, 0);
        return 1;
    default:
        return tsr_emu_clock_has_seen(time, clock, read) ? 1 : fill_race(fault, offset, who, 0);
    }
}

/* One more reader besides those that are noted and not seen by it. */
static __attribute__((noinline)) void add_reader(const emu_time *time, emu_shadow *shadow, const emu_clock *clock)
{
    const emu_stamp read = shadow->read, mine = clock->stamp;
    const unsigned who = read & EMU_STAMP_THREAD, self = mine & EMU_STAMP_THREAD;
    const emu_stamp kind = read & EMU_KIND_MASK;
    if (kind == EMU_KIND_ONE && tsr_emu_clock_has_seen(time, clock, read)) {
        shadow->read = mine;
        return;
    }
    const uint32_t then = read >> EMU_STAMP_SHIFT, now = mine >> EMU_STAMP_SHIFT;
    const emu_stamp lowest = (then < now ? then : now) << EMU_STAMP_SHIFT | who;
    if (kind != EMU_KIND_WARPS && who / 32 == self / 32) {
        const uint32_t lanes = kind == EMU_KIND_ONE ? 1u << who % 32 : shadow->readers;
        shadow->readers = lanes | 1u << self % 32;
        shadow->read = lowest | EMU_KIND_LANES;
    } else {
        const uint32_t warps = kind == EMU_KIND_WARPS ? shadow->readers : 1u << who / 32 % 32;
        shadow->readers = warps | 1u << self / 32 % 32;
        shadow->read = lowest | EMU_KIND_WARPS;
    }
}

/* What happens to one shadow; the bytes that it stands for start at `offset`. */
typedef int action(emu_shared *shared, emu_shadow *shadow, size_t offset, const emu_clock *clock, emu_fault *fault);

static inline int read_one(emu_shared *shared, emu_shadow *shadow, size_t offset, const emu_clock *clock,
                           emu_fault *fault)
{
    const emu_stamp mine = clock->stamp, written = shadow->written, read = shadow->read;
    const emu_stamp first = shared->time.first << EMU_STAMP_SHIFT, floor = shared->time.floor << EMU_STAMP_SHIFT;
    if (__builtin_expect(written - first >= floor - first && written != mine, 0) &&
        !check_write(shared, offset, written, clock, fault))
        return 0;
    if (read < floor)
        shadow->read = mine;
    else if (read != mine)
        add_reader(&shared->time, shadow, clock);
    return 1;
}

static inline int write_one(emu_shared *shared, emu_shadow *shadow, size_t offset, const emu_clock *clock,
                            emu_fault *fault)
{
    const emu_stamp mine = clock->stamp, written = shadow->written, read = shadow->read;
    const emu_stamp floor = shared->time.floor << EMU_STAMP_SHIFT;
    if (__builtin_expect(written >= floor && written != mine, 0) && !check_write(shared, offset, written, clock, fault))
        return 0;
    if (__builtin_expect(read >= floor && read != mine, 0) && !check_reads(shared, offset, shadow, clock, fault))
        return 0;
    shadow->written = mine;
    shadow->read = 0;
    return 1;
}

/* Reads and writes at once: only what is not atomic races with it, and the bytes must have been written. */
static inline int atomic_one(emu_shared *shared, emu_shadow *shadow, size_t offset, const emu_clock *clock,
                             emu_fault *fault)
{
    const emu_stamp written = shadow->written, read = shadow->read;
    const int among_atomics = (written & EMU_STAMP_ATOMIC) && written >> EMU_STAMP_SHIFT >= shared->time.first &&
                              written < EMU_STAMP_IN_FLIGHT;
    if (!among_atomics && !check_write(shared, offset, written, clock, fault))
        return 0;
    if (read >= shared->time.floor << EMU_STAMP_SHIFT && !check_reads(shared, offset, shadow, clock, fault))
        return 0;
    shadow->written = clock->stamp | EMU_STAMP_ATOMIC;
    shadow->read = 0;
    return 1;
}

static inline int start_one(emu_shared *shared, emu_shadow *shadow, size_t offset, const emu_clock *clock,
                            emu_fault *fault)
{
    if (!write_one(shared, shadow, offset, clock, fault))
        return 0;
    shadow->written = EMU_STAMP_IN_FLIGHT;
    return 1;
}

static inline int land_one(emu_shared *shared, emu_shadow *shadow, size_t offset, const emu_clock *clock,
                           emu_fault *fault)
{
    (void)shared, (void)offset, (void)fault;
    shadow->written = clock->stamp;
    return 1;
}

static __attribute__((noinline)) void split(emu_shared *shared, size_t word)
{
    for (size_t i = 0; i < 4; i++)
        shared->bytewise[word * 4 + i] = shared->words[word];
    shared->words[word].written = EMU_STAMP_SPLIT;
}

/* Bytes that came to share one history again are a word again. 0: they do not. */
static inline int join(emu_shared *shared, size_t word)
{
    const emu_shadow *bytes = &shared->bytewise[word * 4];
    for (size_t i = 1; i < 4; i++)
        if (!tsr_emu_shadows_are_alike(&bytes[0], &bytes[i]))
            return 0;
    shared->words[word] = bytes[0];
    return 1;
}

/* Does it to the shadows of an access: words where the access covers them and they are whole, else bytes. */
static inline __attribute__((always_inline)) int visit(emu_shared *shared, size_t offset, size_t size, action *act,
                                                       const emu_clock *clock, emu_fault *fault)
{
    const size_t end = offset + size;
    while (offset < end) {
        const size_t word = offset / 4;
        if (offset % 4 == 0 && end - offset >= 4 &&
            (__builtin_expect(shared->words[word].written != EMU_STAMP_SPLIT, 1) || join(shared, word))) {
            if (!act(shared, &shared->words[word], offset, clock, fault))
                return 0;
            offset += 4;
            continue;
        }
        if (shared->words[word].written != EMU_STAMP_SPLIT)
            split(shared, word);
        const size_t stop = word * 4 + 4 < end ? word * 4 + 4 : end;
        for (; offset < stop; offset++)
            if (!act(shared, &shared->bytewise[offset], offset, clock, fault))
                return 0;
    }
    return 1;
}

int tsr_emu_shared_read(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault)
{
    return visit(shared, offset, size, read_one, clock, fault);
}

int tsr_emu_shared_write(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault)
{
    return visit(shared, offset, size, write_one, clock, fault);
}

int tsr_emu_shared_atomic(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault)
{
    return visit(shared, offset, size, atomic_one, clock, fault);
}

int tsr_emu_shared_start_copy(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault)
{
    return visit(shared, offset, size, start_one, clock, fault);
}

void tsr_emu_shared_land(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, const void *data)
{
    memcpy(shared->bytes + offset, data, size);
    visit(shared, offset, size, land_one, clock, NULL);
}

/* 1 if the thread `who` fenced after its write at `when`, and our thread saw something later of it than that fence. */
static int is_fenced(const emu_time *time, const emu_clock *clock, const emu_fences *fences, unsigned who,
                     uint32_t when)
{
    uint32_t seen = who == (clock->stamp & EMU_STAMP_THREAD) ? clock->stamp >> EMU_STAMP_SHIFT : time->floor - 1;
    if (clock->seen && clock->seen->clocks[who] > seen)
        seen = clock->seen->clocks[who];
    const unsigned count = fences->count < EMU_FENCES ? fences->count : EMU_FENCES;
    uint32_t oldest = 0;
    for (unsigned i = 1; i <= count; i++) {
        oldest = fences->clocks[(fences->count - i) % EMU_FENCES];
        if (oldest < when)
            return 0;
        if (oldest < seen)
            return 1;
    }
    return count == EMU_FENCES && oldest > when; /* forgotten: it may have been in time */
}

/* Are the writes by ordinary stores that the thread has seen followed by fences, so that the copy engine and the tensor
 * cores may use the bytes? What the thread has not seen is a race, and not for this to say. */
static int are_fenced(const emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                      const emu_fences *fences, emu_fault *fault)
{
    const emu_time *time = &shared->time;
    emu_stamp good = 0; /* neighbours mostly share their history */
    for (size_t at = offset; at < offset + size; at += 4) {
        emu_stamp written = shared->words[at / 4].written;
        if (written == EMU_STAMP_SPLIT)
            written = shared->bytewise[at].written;
        if ((written & EMU_STAMP_ASYNC) || written == good || written == EMU_STAMP_IN_FLIGHT ||
            written >> EMU_STAMP_SHIFT < time->first || !tsr_emu_clock_has_seen(time, clock, written))
            continue;
        const unsigned who = written & EMU_STAMP_THREAD;
        if (!is_fenced(time, clock, &fences[who], who, written >> EMU_STAMP_SHIFT)) {
            *fault = (emu_fault){
                .kind = EMU_UNFENCED, .memory = EMU_SHARED, .offset = at, .other_thread = who, .other_is_write = 1};
            return 0;
        }
        good = written;
    }
    return 1;
}

int tsr_emu_shared_read_async(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                              const emu_fences *fences, emu_fault *fault)
{
    return visit(shared, offset, size, read_one, clock, fault) &&
           are_fenced(shared, offset, size, clock, fences, fault);
}

int tsr_emu_shared_start_async(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                               const emu_fences *fences, emu_fault *fault)
{
    return are_fenced(shared, offset, size, clock, fences, fault) &&
           visit(shared, offset, size, start_one, clock, fault);
}

int tsr_emu_shared_unchanged(const emu_shared *shared, size_t offset, size_t size, const emu_clock *then,
                             uint32_t floor_then, emu_fault *fault)
{
    const unsigned self = then->stamp & EMU_STAMP_THREAD;
    for (size_t at = offset; at < offset + size; at++) {
        const emu_shadow *word = &shared->words[at / 4];
        const emu_stamp written = word->written == EMU_STAMP_SPLIT ? shared->bytewise[at].written : word->written;
        const unsigned who = written & EMU_STAMP_THREAD;
        const uint32_t when = written >> EMU_STAMP_SHIFT;
        if (written == EMU_STAMP_IN_FLIGHT) {
            *fault = (emu_fault){.kind = EMU_IN_FLIGHT, .memory = EMU_SHARED, .offset = at};
            return 0;
        }
        const uint32_t seen = who == self ? then->stamp >> EMU_STAMP_SHIFT : then->seen ? then->seen->clocks[who] : 0;
        if (when >= floor_then && when > seen)
            return fill_race(fault, at, who, 1);
        if (word->written != EMU_STAMP_SPLIT)
            at |= 3; /* the word's other bytes share its history */
    }
    return 1;
}

int tsr_emu_shared_reduce_async(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock,
                                emu_fault *fault)
{
    if (!visit(shared, offset, size, atomic_one, clock, fault))
        return 0;
    const emu_clock landed = {.stamp = clock->stamp | EMU_STAMP_ASYNC | EMU_STAMP_ATOMIC};
    return visit(shared, offset, size, land_one, &landed, fault);
}

void tsr_emu_shared_land_async(emu_shared *shared, size_t offset, size_t size, emu_stamp stamp)
{
    const emu_clock clock = {.stamp = stamp | EMU_STAMP_ASYNC};
    visit(shared, offset, size, land_one, &clock, NULL);
}
