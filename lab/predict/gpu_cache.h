/* A set-associative cache of lines with sectors, least recently used out first: a model of L1 and L2 of NVIDIA GPUs,
 * whose replacement and hashing are not documented. */
#ifndef LAB_CACHE_H
#define LAB_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { LAB_CACHE_WAYS = 16, LAB_CACHE_LINE_SECTORS = 4 };

typedef struct lab_cache_line {
    uint64_t line; /* address / 128, plus 1; 0: empty */
    uint64_t used; /* when */
    unsigned sectors, dirty;
    unsigned fetched, from; /* what lab_cache_note was last told */
} lab_cache_line;

typedef struct lab_cache {
    size_t sets;
    lab_cache_line *lines; /* sets of LAB_CACHE_WAYS */
    uint64_t now;
} lab_cache;

/* 0 when out of memory. A cache of no bytes never hits. */
int lab_cache_make(lab_cache *cache, long long bytes);
void lab_cache_free(lab_cache *cache);
void lab_cache_empty(lab_cache *cache);

/* Looks a sector (address / 32) up: 1 if it is there. If not, it is fetched, unless `keep` is 0. */
int lab_cache_access(lab_cache *cache, uint64_t sector, int keep);

/* What the caller wants to know of a line again that is there: when something of it was last fetched, and from where.
 */
void lab_cache_note(lab_cache *cache, uint64_t sector, unsigned fetched, unsigned from);
/* The line of a sector; NULL if it is not there. */
const lab_cache_line *lab_cache_find(lab_cache *cache, uint64_t sector);

/* The same for a cache that writes back: a sector that is read and not there is fetched; one that is written is there
 * afterwards, and goes to memory when its line must make room: *written counts such sectors. */
int lab_cache_read(lab_cache *cache, uint64_t sector, double *written);
void lab_cache_write(lab_cache *cache, uint64_t sector, double *written);

#endif
