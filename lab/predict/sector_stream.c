#include "lab/predict/sector_stream.h"

#include <stdlib.h>

#include "lab/predict/gpu_cache.h"

enum { MOST_ITEMS = 8 << 20, MOST_WARP_PARTS = 1024 };

static int add(lab_items *to, lab_stream_item item)
{
    if (to->count == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 4096;
        lab_stream_item *items = capacity <= MOST_ITEMS ? realloc(to->items, capacity * sizeof *items) : NULL;
        if (!items)
            return 0;
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->count++] = item;
    return 1;
}

void lab_stream_add(lab_stream *stream, unsigned warp, lab_touch kind, const uint64_t *sectors, unsigned count)
{
    if (stream->is_full)
        return;
    if (stream->n_warps == 0 || stream->last_warp != warp) {
        if (stream->n_warps == MOST_WARP_PARTS)
            return;
        stream->warp_starts[stream->n_warps++] = stream->segment.count;
        stream->last_warp = warp;
    }
    for (unsigned i = 0; i < count && !stream->is_full; i++)
        stream->is_full = !add(&stream->segment, LAB_STREAM_ITEM(sectors[i], kind, warp, i == 0));
}

/* Copies one instruction from *at on; 0 if there is none before `end`. */
static int copy_one(lab_stream *stream, size_t *at, size_t end)
{
    if (*at >= end)
        return 0;
    do
        stream->is_full |= !add(&stream->all, stream->segment.items[(*at)++]);
    while (*at < end && !(stream->segment.items[*at] & LAB_STREAM_FIRST));
    return 1;
}

void lab_stream_barrier(lab_stream *stream)
{
    size_t *const at = stream->warp_starts;
    size_t ends[MOST_WARP_PARTS / 8]; /* a CTA has at most 32 warps, each with one part */
    const unsigned warps = stream->n_warps < MOST_WARP_PARTS / 8 ? stream->n_warps : MOST_WARP_PARTS / 8;
    for (unsigned w = 0; w < warps; w++)
        ends[w] = w + 1 < stream->n_warps ? stream->warp_starts[w + 1] : stream->segment.count;
    for (int more = 1; more && !stream->is_full;) {
        more = 0;
        for (unsigned w = 0; w < warps; w++)
            more |= copy_one(stream, &at[w], ends[w]);
    }
    if (stream->n_warps > 0 && !stream->is_full)
        stream->is_full = !add(&stream->all, LAB_STREAM_ITEM(0, LAB_TOUCH_BARRIER, 0, 1));
    stream->segment.count = 0;
    stream->n_warps = 0;
}

void lab_stream_trim(lab_stream *stream)
{
    free(stream->segment.items);
    stream->segment = (lab_items){0};
    lab_stream_item *const items = realloc(stream->all.items, (stream->all.count + 1) * sizeof *items);
    if (items) {
        stream->all.items = items;
        stream->all.capacity = stream->all.count + 1;
    }
}

void lab_stream_free(lab_stream *stream)
{
    if (!stream)
        return;
    free(stream->all.items);
    free(stream->segment.items);
    free(stream);
}

static void look_up(lab_cache *cache, lab_stream_item item, double parts_that_hit, lab_l1_result *out)
{
    const lab_touch kind = lab_stream_kind(item);
    if (kind == LAB_TOUCH_BARRIER)
        return;
    const int hit = lab_cache_access(cache, lab_stream_sector(item), kind != LAB_TOUCH_PAST_L1);
    out->lookups++;
    out->hits += kind == LAB_TOUCH_STORE_PART ? parts_that_hit * hit : hit;
    if (kind == LAB_TOUCH_STORE || kind == LAB_TOUCH_STORE_PART)
        out->store_sectors++;
    else
        out->load_misses += !hit;
}

int lab_l1_run(lab_stream *const *streams, size_t count, long long bytes, lab_l1_result *out)
{
    lab_cache cache;
    size_t *at = calloc(count ? count : 1, sizeof *at);
    *out = (lab_l1_result){0};
    if (!at || !lab_cache_make(&cache, bytes)) {
        free(at);
        return 0;
    }
    for (int more = 1; more;) {
        more = 0;
        for (size_t s = 0; s < count; s++) {
            const lab_items *all = &streams[s]->all;
            if (at[s] >= all->count)
                continue;
            more = 1;
            do
                look_up(&cache, all->items[at[s]++], lab_parts_that_hit((long long)count), out);
            while (at[s] < all->count && !(all->items[at[s]] & LAB_STREAM_FIRST));
        }
    }
    lab_cache_free(&cache);
    free(at);
    return 1;
}
