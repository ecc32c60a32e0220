#include "lab/cache.h"

#include <stdlib.h>

enum { LINE_BYTES = 128 };

int lab_cache_make(lab_cache *cache, long long bytes)
{
    *cache = (lab_cache){.sets = (size_t)(bytes > 0 ? bytes : 0) / (LAB_CACHE_WAYS * LINE_BYTES)};
    if (cache->sets == 0)
        return 1;
    cache->lines = calloc(cache->sets * LAB_CACHE_WAYS, sizeof *cache->lines);
    return cache->lines != NULL;
}

void lab_cache_free(lab_cache *cache)
{
    free(cache->lines);
    *cache = (lab_cache){0};
}

/* Addresses that are powers of two apart must not all fall into one set. */
static size_t set_of(const lab_cache *cache, uint64_t line)
{
    return (size_t)(((line * 0x9E3779B97F4A7C15ull) >> 20) % cache->sets);
}

int lab_cache_access(lab_cache *cache, uint64_t sector, int keep)
{
    if (cache->sets == 0)
        return 0;
    const uint64_t line = sector / LAB_CACHE_LINE_SECTORS + 1;
    const unsigned bit = 1u << sector % LAB_CACHE_LINE_SECTORS;
    lab_cache_line *const set = cache->lines + set_of(cache, line) * LAB_CACHE_WAYS, *oldest = set;
    for (lab_cache_line *way = set; way < set + LAB_CACHE_WAYS; way++) {
        if (way->line == line) {
            const int hit = (way->sectors & bit) != 0;
            way->used = ++cache->now;
            way->sectors |= keep ? bit : 0;
            return hit;
        }
        oldest = way->used < oldest->used ? way : oldest;
    }
    if (keep)
        *oldest = (lab_cache_line){line, ++cache->now, bit};
    return 0;
}
