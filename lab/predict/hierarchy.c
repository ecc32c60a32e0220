#include "lab/predict/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "lab/predict/gpu_cache.h"

enum { GPCS = 8, MOST_PARTITIONS = 2 };

/* What an SM runs at the moment. */
typedef struct slot {
    const lab_items *items; /* NULL: nothing */
    size_t at;
    unsigned loads, since;                 /* of all warps, not waited for; the round in which they began */
    unsigned char worst[LAB_STREAM_WARPS]; /* of them, what each warp waits for */
} slot;

typedef struct hierarchy {
    const lab_hierarchy_options *options;
    lab_cache *l1; /* of each SM */
    lab_cache l2[MOST_PARTITIONS];
    slot *slots; /* of all SMs, those of one after the other */
    int *order;  /* SMs, as they become free */
    uint64_t random;
    unsigned round;
    double parts_that_hit;
    lab_hierarchy_result sum;
} hierarchy;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7FB5D329728EA185ull;
    x = (x ^ x >> 27) * 0x81DADEF4BC2DD44Dull;
    return x ^ x >> 33;
}

static int partitions_of(const hierarchy *h)
{
    return h->options->gpu->l2_partitions;
}

static int partition_of_sm(const hierarchy *h, int sm)
{
    return sm % GPCS * partitions_of(h) / GPCS;
}

static int home_of(const hierarchy *h, uint64_t sector)
{
    return (int)(mix(sector / LAB_CACHE_LINE_SECTORS) % (unsigned)partitions_of(h));
}

/* What a hit waits for: nothing more, or what is still under way for somebody else. */
static lab_wait wait_of_hit(lab_cache *cache, uint64_t sector, unsigned since, lab_wait otherwise)
{
    const lab_cache_line *line = lab_cache_find(cache, sector);
    return line && line->from > (unsigned)otherwise && line->fetched >= since ? (lab_wait)line->from : otherwise;
}

/* Loads that began to be issued in round `since` ask a partition. */
static lab_wait read_l2(hierarchy *h, int partition, uint64_t sector, unsigned since)
{
    const int home = home_of(h, sector);
    lab_wait wait = LAB_WAIT_DRAM;
    h->sum.l2_reads++;
    if (lab_cache_read(&h->l2[partition], sector, &h->sum.dram_writes))
        return wait_of_hit(&h->l2[partition], sector, since, LAB_WAIT_L2);
    h->sum.l2_misses++;
    if (home != partition) {
        h->sum.home_reads++;
        if (lab_cache_read(&h->l2[home], sector, &h->sum.dram_writes)) {
            wait = wait_of_hit(&h->l2[home], sector, since, LAB_WAIT_L2);
        } else {
            h->sum.home_misses++;
            h->sum.dram_reads++;
            lab_cache_note(&h->l2[home], sector, h->round, LAB_WAIT_DRAM);
        }
    } else {
        h->sum.dram_reads++;
    }
    lab_cache_note(&h->l2[partition], sector, h->round, wait);
    return wait;
}

static void write_l2(hierarchy *h, int partition, uint64_t sector)
{
    const int home = home_of(h, sector);
    /* Of so much of D as belongs to the share of K. */
    if ((double)(mix(sector / LAB_CACHE_LINE_SECTORS + 1) >> 40) >= h->options->share * (double)(1 << 24))
        return;
    h->sum.l2_writes++;
    h->sum.home_writes += home != partition;
    lab_cache_write(&h->l2[home], sector, &h->sum.dram_writes);
}

static lab_wait look_up(hierarchy *h, int sm, unsigned since, lab_stream_item item)
{
    const lab_touch kind = lab_stream_kind(item);
    const uint64_t sector = lab_stream_sector(item);
    const int hit = lab_cache_access(&h->l1[sm], sector, kind != LAB_TOUCH_PAST_L1);
    if (kind == LAB_TOUCH_STORE || kind == LAB_TOUCH_STORE_PART) {
        h->sum.store_lookups++;
        h->sum.store_hits += kind == LAB_TOUCH_STORE_PART ? h->parts_that_hit * hit : hit;
        write_l2(h, partition_of_sm(h, sm), sector);
        return LAB_WAIT_L1;
    }
    h->sum.load_lookups++;
    h->sum.load_hits += hit;
    if (hit)
        return wait_of_hit(&h->l1[sm], sector, since, LAB_WAIT_L1);
    const lab_wait wait = read_l2(h, partition_of_sm(h, sm), sector, since);
    lab_cache_note(&h->l1[sm], sector, h->round, wait);
    return wait;
}

/* The loads so far have come: at a barrier all warps wait for the slowest, else each for itself. */
static void end_wait(hierarchy *h, slot *s, int at_barrier)
{
    const unsigned warps = h->options->warps < LAB_STREAM_WARPS ? h->options->warps : LAB_STREAM_WARPS;
    unsigned char worst = LAB_WAIT_L1;
    for (unsigned w = 0; w < warps && s->loads > 0; w++) {
        worst = worst < s->worst[w] ? s->worst[w] : worst;
        if (!at_barrier)
            h->sum.waits[s->worst[w]] += 1.0 / warps;
    }
    if (at_barrier && s->loads > 0)
        h->sum.waits[worst]++;
    memset(s->worst, LAB_WAIT_L1, sizeof s->worst);
    s->loads = 0;
}

/* One instruction of a CTA; 0 if it has no more. */
static int step(hierarchy *h, int sm, slot *s)
{
    if (!s->items || s->at >= s->items->count)
        return 0;
    const lab_stream_item first = s->items->items[s->at];
    const int is_load = lab_stream_kind(first) == LAB_TOUCH_LOAD;
    if (lab_stream_kind(first) == LAB_TOUCH_BARRIER) {
        end_wait(h, s, 1);
        s->at++;
        return 1;
    }
    if (is_load && h->options->at_once > 0 && s->loads == h->options->at_once * h->options->warps)
        end_wait(h, s, 0);
    if (is_load && s->loads++ == 0)
        s->since = h->round;
    unsigned char *const worst = &s->worst[lab_stream_warp(first)];
    do {
        const lab_wait wait = look_up(h, sm, s->since, s->items->items[s->at++]);
        if (is_load && *worst < wait)
            *worst = (unsigned char)wait;
    } while (s->at < s->items->count && !(s->items->items[s->at] & LAB_STREAM_FIRST));
    return 1;
}

static void run_wave(hierarchy *h)
{
    const int sms = h->options->gpu->sms;
    for (int more = 1; more;) {
        more = 0;
        h->round++;
        for (long long held = 0; held < h->options->held; held++)
            for (int sm = 0; sm < sms; sm++)
                more |= step(h, sm, &h->slots[sm * h->options->held + held]);
    }
}

static void shuffle(hierarchy *h)
{
    for (int i = h->options->gpu->sms - 1; i > 0; i--) {
        h->random = mix(h->random + 0x9E3779B97F4A7C15ull);
        const int j = (int)(h->random % (unsigned)(i + 1)), kept = h->order[i];
        h->order[i] = h->order[j];
        h->order[j] = kept;
    }
}

/* Distributes the CTAs from `first` on. What an L1 holds from the CTAs before is gone by the time that they have walked
 * all of K, of which the streams may have only a part. */
static void distribute(hierarchy *h, lab_stream *const *streams, long long first, long long count)
{
    const int sms = h->options->gpu->sms;
    for (long long held = 0; held < h->options->held; held++) {
        if (first > 0)
            shuffle(h);
        for (int i = 0; i < sms; i++) {
            const long long cta = first + held * sms + i;
            h->slots[h->order[i] * h->options->held + held] =
                (slot){.items = cta < count && streams[cta] ? &streams[cta]->all : NULL};
        }
    }
    for (int sm = 0; sm < sms && h->options->share < 1; sm++)
        lab_cache_empty(&h->l1[sm]);
}

static void add_scaled(lab_hierarchy_result *to, const lab_hierarchy_result *now, const lab_hierarchy_result *before,
                       double scale)
{
#define ADD(field) to->field += scale * (now->field - before->field)
    ADD(load_lookups);
    ADD(load_hits);
    ADD(store_lookups);
    ADD(store_hits);
    ADD(l2_reads);
    ADD(l2_misses);
    ADD(home_reads);
    ADD(home_misses);
    ADD(home_writes);
    ADD(l2_writes);
    ADD(dram_reads);
    ADD(dram_writes);
    for (int i = 0; i < LAB_WAITS; i++)
        ADD(waits[i]);
#undef ADD
}

static int make(hierarchy *h)
{
    const lab_gpu_spec *gpu = h->options->gpu;
    const size_t sms = (size_t)gpu->sms;
    int good = 1;
    h->l1 = calloc(sms, sizeof *h->l1);
    h->slots = calloc(sms * (size_t)h->options->held, sizeof *h->slots);
    h->order = calloc(sms, sizeof *h->order);
    if (!h->l1 || !h->slots || !h->order)
        return 0;
    for (size_t i = 0; i < sms; i++) {
        h->order[i] = (int)i;
        good &= lab_cache_make(&h->l1[i], h->options->l1_bytes);
    }
    const long long partition_bytes = gpu->l2_bytes / partitions_of(h);
    for (int p = 0; p < partitions_of(h); p++)
        good &= lab_cache_make(&h->l2[p], (long long)((double)partition_bytes * h->options->share));
    return good;
}

static void drop(hierarchy *h)
{
    for (int i = 0; h->l1 && i < h->options->gpu->sms; i++)
        lab_cache_free(&h->l1[i]);
    for (int p = 0; p < MOST_PARTITIONS; p++)
        lab_cache_free(&h->l2[p]);
    free(h->l1);
    free(h->slots);
    free(h->order);
}

long long lab_ctas_side_by_side(long long ctas, long long held, const lab_gpu_spec *gpu)
{
    const long long of_an_sm = (ctas + gpu->sms - 1) / gpu->sms;
    return of_an_sm < held ? of_an_sm : held;
}

int lab_hierarchy_run(lab_stream *const *streams, long long count, const lab_hierarchy_options *options,
                      lab_hierarchy_result *out)
{
    hierarchy h = {.options = options,
                   .parts_that_hit =
                       lab_parts_that_hit(lab_ctas_side_by_side(options->ctas, options->held, options->gpu))};
    const long long wave = options->held * options->gpu->sms;
    const int good = make(&h);
    *out = (lab_hierarchy_result){0};
    for (long long first = 0; good && first < count; first += wave) {
        const lab_hierarchy_result before = h.sum;
        const int is_last = first + wave >= count;
        const long long here = is_last ? count - first : wave, rest = is_last ? options->ctas - count : 0;
        distribute(&h, streams, first, count);
        run_wave(&h);
        add_scaled(out, &h.sum, &before, 1 + (double)rest / (double)here);
    }
    out->l2_writes /= options->share;
    out->home_writes /= options->share;
    drop(&h);
    return good;
}
