#include "cpu/reserve.h"

#include <string.h>

#include "core/memory.h"

void tsr_reserve_begin(tsr_reserve *reserve, tsr_scratch *scratch)
{
    *reserve = (tsr_reserve){.scratch = scratch, .is_rehearsal = 1};
    pthread_mutex_init(&reserve->lock, NULL);
}

void tsr_reserve_next(tsr_reserve *reserve, size_t takes)
{
    for (size_t i = 0; i < reserve->count; i++)
        if (reserve->items[i].taken > takes)
            reserve->items[i].taken = 0;
}

void tsr_reserve_rehearsed(tsr_reserve *reserve)
{
    tsr_reserve_next(reserve, 0);
    reserve->is_rehearsal = 0;
}

void tsr_reserve_end(tsr_reserve *reserve)
{
    for (size_t i = 0; i < reserve->count; i++)
        tsr_scratch_give(reserve->scratch, reserve->items[i].buffer);
    tsr_free(reserve->scratch->allocator, reserve->items);
    pthread_mutex_destroy(&reserve->lock);
}

/* The smallest that does. */
static tsr_reserved *find(const tsr_reserve *reserve, size_t bytes)
{
    tsr_reserved *best = NULL;
    for (size_t i = 0; i < reserve->count; i++) {
        tsr_reserved *const item = &reserve->items[i];
        if (!item->taken && item->bytes >= bytes && (!best || item->bytes < best->bytes))
            best = item;
    }
    return best;
}

static tsr_reserved *add(tsr_reserve *reserve, size_t bytes)
{
    if (reserve->count == reserve->room) {
        const size_t room = 2 * reserve->room + 8;
        tsr_reserved *const items = tsr_alloc(reserve->scratch->allocator, _Alignof(max_align_t), room * sizeof *items);
        if (!items)
            return NULL;
        if (reserve->count)
            memcpy(items, reserve->items, reserve->count * sizeof *items);
        tsr_free(reserve->scratch->allocator, reserve->items);
        reserve->items = items;
        reserve->room = room;
    }
    void *const buffer = tsr_scratch_take(reserve->scratch, bytes);
    if (!buffer)
        return NULL;
    reserve->items[reserve->count] = (tsr_reserved){.buffer = buffer, .bytes = bytes};
    return &reserve->items[reserve->count++];
}

void *tsr_reserve_take(tsr_reserve *reserve, tsr_scratch *scratch, size_t bytes)
{
    if (!reserve)
        return tsr_scratch_take(scratch, bytes);
    pthread_mutex_lock(&reserve->lock);
    tsr_reserved *item = find(reserve, bytes);
    if (!item && reserve->is_rehearsal)
        item = add(reserve, bytes);
    if (item)
        item->taken = ++reserve->takes;
    void *const buffer = item ? item->buffer : NULL;
    pthread_mutex_unlock(&reserve->lock);
    return buffer;
}

void tsr_reserve_give(tsr_reserve *reserve, tsr_scratch *scratch, void *buffer)
{
    if (!reserve) {
        tsr_scratch_give(scratch, buffer);
        return;
    }
    pthread_mutex_lock(&reserve->lock);
    for (size_t i = 0; i < reserve->count && !reserve->is_rehearsal; i++)
        if (reserve->items[i].buffer == buffer)
            reserve->items[i].taken = 0;
    pthread_mutex_unlock(&reserve->lock);
}
