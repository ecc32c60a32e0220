#include "emu/far.h"

#include <string.h>

static void drop(emu_known *known, const tsr_allocator *allocator)
{
    if (known && atomic_fetch_sub(&known->references, 1) == 1)
        tsr_free(allocator, known);
}

static emu_known *share(emu_known *known)
{
    if (known)
        atomic_fetch_add(&known->references, 1);
    return known;
}

/* A copy of what the thread has seen; NULL when out of memory. */
static emu_known *copy_seen(const emu_time *time, const emu_seen *seen)
{
    const size_t bytes = time->n_threads * sizeof seen->clocks[0];
    emu_known *known = tsr_alloc(time->allocator, 64, sizeof *known + bytes);
    if (!known)
        return NULL;
    atomic_init(&known->references, 1);
    known->n_threads = time->n_threads;
    memcpy(known->clocks, seen->clocks, bytes);
    return known;
}

void tsr_emu_far_forget(emu_far *far, const tsr_allocator *allocator)
{
    for (unsigned i = 0; i < far->count; i++)
        drop(far->items[i].known, allocator);
    far->count = 0;
}

void tsr_emu_far_free(emu_far *far, const tsr_allocator *allocator)
{
    tsr_emu_far_forget(far, allocator);
    tsr_free(allocator, far->items);
    *far = (emu_far){0};
}

static emu_stamp thread_of(emu_stamp stamp)
{
    return stamp & EMU_STAMP_THREAD;
}

static emu_stamp later(emu_stamp a, emu_stamp b)
{
    return a > b ? a : b;
}

static int add(emu_far *far, const emu_news *news, const tsr_allocator *allocator)
{
    if (far->count == far->capacity) {
        const unsigned capacity = far->capacity ? 2 * far->capacity : 8;
        emu_news *items = tsr_alloc(allocator, 64, capacity * sizeof *items);
        if (!items)
            return 0;
        if (far->count)
            memcpy(items, far->items, far->count * sizeof *items);
        tsr_free(allocator, far->items);
        far->items = items;
        far->capacity = capacity;
    }
    far->items[far->count] = *news;
    far->items[far->count++].known = share(news->known);
    return 1;
}

/* Of the same thread: the later release knows all that the earlier one did. */
static void update(emu_news *old, const emu_news *news, const tsr_allocator *allocator)
{
    old->floor = later(old->floor, news->floor);
    if (news->releaser <= old->releaser)
        return;
    old->releaser = news->releaser;
    drop(old->known, allocator);
    old->known = share(news->known);
}

/* A board has one entry for each releasing thread, which only grows. */
static int add_to_board(emu_far *board, const emu_news *news, const tsr_allocator *allocator)
{
    for (unsigned i = 0; i < board->count; i++) {
        emu_news *old = &board->items[i];
        if (old->cta == news->cta && thread_of(old->releaser) == thread_of(news->releaser)) {
            update(old, news, allocator);
            return 1;
        }
    }
    return add(board, news, allocator);
}

int tsr_emu_far_release(emu_far *board, const emu_far *own, long long cta, emu_time *time, emu_clock *clock)
{
    emu_news mine = {.cta = cta, .floor = time->floor << EMU_STAMP_SHIFT, .releaser = clock->stamp};
    if (clock->seen && !(mine.known = copy_seen(time, clock->seen)))
        return 0;
    int enough = add_to_board(board, &mine, time->allocator);
    drop(mine.known, time->allocator);
    for (unsigned i = 0; i < own->count && enough; i++)
        if (tsr_emu_clock_has_seen(time, clock, own->items[i].acquired))
            enough = add_to_board(board, &own->items[i], time->allocator);
    return enough && tsr_emu_clock_advance(time, clock);
}

int tsr_emu_far_acquire(emu_far *own, const emu_far *board, long long cta, emu_time *time, emu_clock *clock)
{
    for (unsigned i = 0; i < board->count; i++) {
        emu_news news = board->items[i];
        int is_known = news.cta == cta;
        if (is_known && thread_of(news.releaser) != thread_of(clock->stamp) &&
            !tsr_emu_clock_learn(time, clock, news.releaser, news.known ? news.known->clocks : NULL))
            return 0;
        for (unsigned j = 0; j < own->count && !is_known; j++) {
            const emu_news *old = &own->items[j];
            is_known = old->cta == news.cta && thread_of(old->releaser) == thread_of(news.releaser) &&
                       old->floor >= news.floor && old->releaser >= news.releaser &&
                       tsr_emu_clock_has_seen(time, clock, old->acquired);
        }
        news.acquired = clock->stamp;
        if (!is_known && !add(own, &news, time->allocator))
            return 0;
    }
    return 1;
}

static int tells_of(const emu_news *news, emu_stamp stamp)
{
    const unsigned thread = thread_of(stamp);
    return stamp < news->floor || (thread == thread_of(news->releaser) && stamp <= news->releaser) ||
           (news->known && thread < news->known->n_threads && stamp >> EMU_STAMP_SHIFT <= news->known->clocks[thread]);
}

int tsr_emu_far_has_seen(const emu_far *own, const emu_time *time, const emu_clock *clock, long long cta,
                         emu_stamp stamp)
{
    for (unsigned i = 0; i < own->count; i++) {
        const emu_news *news = &own->items[i];
        if (news->cta == cta && tells_of(news, stamp) && tsr_emu_clock_has_seen(time, clock, news->acquired))
            return 1;
    }
    return 0;
}

void tsr_emu_far_barrier(emu_far *own, const tsr_allocator *allocator)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < own->count; i++) {
        const emu_news *news = &own->items[i];
        unsigned j = 0;
        while (j < kept &&
               (own->items[j].cta != news->cta || thread_of(own->items[j].releaser) != thread_of(news->releaser)))
            j++;
        if (j == kept) {
            own->items[kept++] = *news;
            continue;
        }
        update(&own->items[j], news, allocator);
        drop(news->known, allocator);
    }
    own->count = kept;
}
