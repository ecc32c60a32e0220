/* The bounded plan cache: a hash table with chains over a fixed array of entries. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/process.h"

#define KERNEL_NAME_BYTES (TSR_KERNEL_NAME_BYTES + 1)

/* A problem by value: the kernel's name instead of the pointer. */
typedef struct cache_key {
    tsr_problem problem;
    char kernel[KERNEL_NAME_BYTES];
} cache_key;

typedef struct cache_entry {
    cache_key key;
    tsr_plan *plan; /* NULL: free */
    size_t next;    /* in its chain; NONE ends it */
    unsigned long long used;
} cache_entry;

#define NONE ((size_t)-1)

struct tsr_plan_cache {
    pthread_mutex_t mutex;
    int process; /* that made it (core/process.h) */
    size_t entry_count, bucket_count;
    unsigned long long clock;
    size_t *buckets;
    cache_entry *entries;
};

static void make_key(const tsr_problem *problem, cache_key *key)
{
    memset(key, 0, sizeof *key);
    memcpy(&key->problem, problem, sizeof *problem);
    key->problem.kernel = NULL;
    if (problem->kernel)
        strncpy(key->kernel, problem->kernel, sizeof key->kernel - 1);
}

/* FNV-1a over 8-byte words (Fowler, Noll, Vo), folded. */
static size_t bucket_of(const tsr_plan_cache *cache, const cache_key *key)
{
    _Static_assert(sizeof(cache_key) % 8 == 0, "keys are hashed by words");
    unsigned long long hash = 14695981039346656037ULL;
    for (size_t i = 0; i < sizeof *key; i += 8) {
        unsigned long long word;
        memcpy(&word, (const char *)key + i, sizeof word);
        hash = (hash ^ word) * 1099511628211ULL;
        hash ^= hash >> 29;
    }
    return (size_t)(hash % cache->bucket_count);
}

tsr_plan_cache *tsr_plan_cache_create(size_t entries)
{
    tsr_plan_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->process = tsr_process();
    cache->entry_count = entries;
    cache->bucket_count = 2 * entries + 1;
    cache->entries = calloc(entries, sizeof *cache->entries);
    cache->buckets = malloc(cache->bucket_count * sizeof *cache->buckets);
    if (!cache->entries || !cache->buckets || pthread_mutex_init(&cache->mutex, NULL) != 0) {
        free(cache->entries);
        free(cache->buckets);
        free(cache);
        return NULL;
    }
    for (size_t i = 0; i < cache->bucket_count; i++)
        cache->buckets[i] = NONE;
    return cache;
}

void tsr_plan_cache_destroy(tsr_plan_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->entry_count; i++)
        tsr_plan_release(cache->entries[i].plan);
    pthread_mutex_destroy(&cache->mutex);
    free(cache->entries);
    free(cache->buckets);
    free(cache);
}

/* 0 in the child of a fork where the mutex is held, perhaps by a thread that only the parent has, and then for ever,
 * with the table half changed: there, such calls do without the cache. */
static int lock(tsr_plan_cache *cache)
{
    if (pthread_mutex_trylock(&cache->mutex) == 0)
        return 1;
    return tsr_process() == cache->process && pthread_mutex_lock(&cache->mutex) == 0;
}

static cache_entry *find_locked(tsr_plan_cache *cache, const cache_key *key, size_t bucket)
{
    for (size_t i = cache->buckets[bucket]; i != NONE; i = cache->entries[i].next)
        if (memcmp((const void *)&cache->entries[i].key, (const void *)key, sizeof *key) == 0) /* padding is zeroed */
            return &cache->entries[i];
    return NULL;
}

static tsr_plan *take(tsr_plan_cache *cache, cache_entry *entry)
{
    entry->used = ++cache->clock;
    atomic_fetch_add(&entry->plan->references, 1);
    return entry->plan;
}

tsr_plan *tsr_plan_cache_find(tsr_plan_cache *cache, const tsr_problem *problem)
{
    cache_key key;
    make_key(problem, &key);
    const size_t bucket = bucket_of(cache, &key);
    if (!lock(cache))
        return NULL;
    cache_entry *entry = find_locked(cache, &key, bucket);
    tsr_plan *plan = entry ? take(cache, entry) : NULL;
    pthread_mutex_unlock(&cache->mutex);
    return plan;
}

/* A free entry, or the least recently used one, taken out of its chain. */
static size_t make_room_locked(tsr_plan_cache *cache, tsr_plan **evicted)
{
    size_t oldest = 0;
    for (size_t i = 0; i < cache->entry_count; i++) {
        if (!cache->entries[i].plan)
            return i;
        if (cache->entries[i].used < cache->entries[oldest].used)
            oldest = i;
    }
    size_t *link = &cache->buckets[bucket_of(cache, &cache->entries[oldest].key)];
    while (*link != oldest)
        link = &cache->entries[*link].next;
    *link = cache->entries[oldest].next;
    *evicted = cache->entries[oldest].plan;
    return oldest;
}

tsr_plan *tsr_plan_cache_insert(tsr_plan_cache *cache, const tsr_problem *problem, tsr_plan *plan)
{
    cache_key key;
    make_key(problem, &key);
    const size_t bucket = bucket_of(cache, &key);
    tsr_plan *evicted = NULL;
    if (!lock(cache))
        return plan;
    cache_entry *entry = find_locked(cache, &key, bucket);
    if (entry) {
        evicted = plan;
        plan = take(cache, entry);
    } else {
        const size_t index = make_room_locked(cache, &evicted);
        entry = &cache->entries[index];
        entry->key = key;
        entry->plan = plan;
        entry->next = cache->buckets[bucket];
        entry->used = ++cache->clock;
        cache->buckets[bucket] = index;
        atomic_fetch_add(&plan->references, 1);
    }
    pthread_mutex_unlock(&cache->mutex);
    tsr_plan_release(evicted);
    return plan;
}
