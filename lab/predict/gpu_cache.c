#include "lab/predict/gpu_cache.h"

#include <stdlib.h>
#include <string.h>

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

void lab_cache_empty(lab_cache *cache)
{
    if (cache->lines)
        memset(cache->lines, 0, cache->sets * LAB_CACHE_WAYS * sizeof *cache->lines);
}

/* Addresses that are powers of two apart must not all fall into one set. */
static size_t set_of(const lab_cache *cache, uint64_t line)
{
    return (size_t)(((line * 0x9E3779B97F4A7C15ull) >> 20) % cache->sets);
}

/* The way that holds the line, or else the one that it would take. */
static lab_cache_line *find(lab_cache *cache, uint64_t line)
{
    lab_cache_line *const set = cache->lines + set_of(cache, line) * LAB_CACHE_WAYS, *oldest = set;
    for (lab_cache_line *way = set; way < set + LAB_CACHE_WAYS; way++) {
        if (way->line == line)
            return way;
        oldest = way->used < oldest->used ? way : oldest;
    }
    return oldest;
}

static int touch(lab_cache *cache, uint64_t sector, int keep, int is_write, double *written)
{
    if (cache->sets == 0)
        return 0;
    const uint64_t line = sector / LAB_CACHE_LINE_SECTORS + 1;
    const unsigned bit = 1u << sector % LAB_CACHE_LINE_SECTORS;
    lab_cache_line *const way = find(cache, line);
    int is_hit = 0;
    if (way->line == line) {
        is_hit = (way->sectors & bit) != 0;
    } else if (keep) {
        *written += __builtin_popcount(way->dirty);
        *way = (lab_cache_line){.line = line};
    } else {
        return 0;
    }
    way->used = ++cache->now;
    way->sectors |= keep ? bit : 0;
    way->dirty |= is_write ? bit : 0;
    return is_hit;
}

const lab_cache_line *lab_cache_find(lab_cache *cache, uint64_t sector)
{
    const uint64_t line = sector / LAB_CACHE_LINE_SECTORS + 1;
    const lab_cache_line *way = cache->sets > 0 ? find(cache, line) : NULL;
    return way && way->line == line ? way : NULL;
}

void lab_cache_note(lab_cache *cache, uint64_t sector, unsigned fetched, unsigned from)
{
    lab_cache_line *const way = (lab_cache_line *)lab_cache_find(cache, sector);
    if (!way)
        return;
    way->fetched = fetched;
    way->from = from;
}

int lab_cache_access(lab_cache *cache, uint64_t sector, int keep)
{
    double written = 0;
    return touch(cache, sector, keep, 0, &written);
}

int lab_cache_read(lab_cache *cache, uint64_t sector, double *written)
{
    return touch(cache, sector, 1, 0, written);
}

void lab_cache_write(lab_cache *cache, uint64_t sector, double *written)
{
    touch(cache, sector, 1, 1, written);
}
