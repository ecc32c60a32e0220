/* Which tiles, or blocks of BK along K of them, each cluster of a persistent grid multiplies.
 *
 * Whole tiles go round: cluster c has tiles c, c + clusters, ... Where the last round would leave clusters idle, the
 * first `dealt` tiles are taken out of it, and their blocks along K, tile after tile, dealt out evenly ("stream-K":
 * Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023):
 *
 *     blocks of tile   | 0 . . . . . . . | 1 . . . . . . . | 2 . . . . . . . |
 *     cluster          | 0 0 0 0 0 0 1 1 | 1 1 1 1 2 2 2 2 | 2 2 3 3 3 3 3 3 |     3 tiles, 4 clusters
 *
 * Every cluster comes to these parts first, and to its whole tiles then. Nothing here depends on time: who multiplies
 * what follows from the sizes alone. */
#ifndef TSR_TILE_DEAL_H
#define TSR_TILE_DEAL_H

#include "ptx/language.h"
#include "ptx/shared.h"

/* What a cluster needs to know, as words of its shared memory: beside accumulators, or in a producer of few registers,
 * there is no room for it. */
typedef enum tile_deal {
    DEAL_TILES,
    DEAL_K_BLOCKS,
    DEAL_CLUSTER,
    DEAL_CLUSTERS,
    DEAL_START,  /* the cluster's whole tile of index i, counted through all its units, is START + i * CLUSTERS */
    DEAL_BLOCKS, /* of the dealt ones each cluster has so many, */
    DEAL_MORE,   /* the first MORE clusters one more; */
    DEAL_FROM,   /* this one has those from FROM to TO, counted through all dealt tiles, */
    DEAL_TO,
    DEAL_FIRST, /* from this tile on, */
    DEAL_PARTS, /* in so many tiles */
    DEAL_WORDS
} tile_deal;

enum { TILE_DEAL_BYTES = 48 };

/* Some blocks along K of a tile. */
typedef struct tile_unit {
    unsigned tile;
    int first, count;
} tile_unit;

/* Who has parts of a tile. */
typedef struct tile_parts {
    unsigned cluster; /* that has the first part; the next ones have the others */
    int part, parts;  /* this cluster's; how many there are */
} tile_parts;

TSR_DEVICE unsigned tile_deal_word(unsigned at, tile_deal which)
{
    return tsr_shared_load_u32(at + 4 * (unsigned)which);
}

/* Writes the words to `at`: one thread, before a barrier. `dealt` * `k_blocks` is below 2^31 and, if not 0, at least
 * `clusters`: the host's rule. */
TSR_DEVICE void tile_deal_make(unsigned at, unsigned tiles, unsigned k_blocks, unsigned dealt, unsigned cluster,
                               unsigned clusters)
{
    unsigned word[DEAL_WORDS] = {tiles, k_blocks, cluster, clusters, 0, 0, 0, 0, 0, 0, 0};
    if (dealt > 0) { /* divisions are slow, and most launches need none */
        word[DEAL_BLOCKS] = dealt * k_blocks / clusters;
        word[DEAL_MORE] = dealt * k_blocks % clusters;
        word[DEAL_FROM] = cluster * word[DEAL_BLOCKS] + (cluster < word[DEAL_MORE] ? cluster : word[DEAL_MORE]);
        word[DEAL_TO] = word[DEAL_FROM] + word[DEAL_BLOCKS] + (cluster < word[DEAL_MORE]);
        word[DEAL_FIRST] = word[DEAL_FROM] / k_blocks;
        word[DEAL_PARTS] = (word[DEAL_TO] - 1) / k_blocks - word[DEAL_FIRST] + 1;
    }
    word[DEAL_START] = dealt + cluster - word[DEAL_PARTS] * clusters;
    TSR_UNROLL
    for (unsigned i = 0; i < DEAL_WORDS; i++)
        tsr_shared_store_u32(at + 4 * i, word[i]);
}

/* 1 if the cluster has a unit of this index. */
TSR_DEVICE int tile_has_unit(unsigned at, unsigned index)
{
    return index < tile_deal_word(at, DEAL_PARTS) ||
           tile_deal_word(at, DEAL_START) + index * tile_deal_word(at, DEAL_CLUSTERS) < tile_deal_word(at, DEAL_TILES);
}

TSR_DEVICE tile_unit tile_unit_of(unsigned at, unsigned index)
{
    const unsigned k_blocks = tile_deal_word(at, DEAL_K_BLOCKS);
    tile_unit u = {0, 0, (int)k_blocks};
    if (index < tile_deal_word(at, DEAL_PARTS)) {
        u.tile = tile_deal_word(at, DEAL_FIRST) + index;
        const int tile_at = (int)(u.tile * k_blocks), from = (int)tile_deal_word(at, DEAL_FROM) - tile_at,
                  to = (int)tile_deal_word(at, DEAL_TO) - tile_at;
        u.first = from > 0 ? from : 0;
        u.count = (to < (int)k_blocks ? to : (int)k_blocks) - u.first;
    } else {
        u.tile = tile_deal_word(at, DEAL_START) + index * tile_deal_word(at, DEAL_CLUSTERS);
    }
    return u;
}

/* The cluster that has this one of the dealt blocks. */
TSR_DEVICE unsigned tile_deal_cluster(unsigned at, unsigned block)
{
    const unsigned blocks = tile_deal_word(at, DEAL_BLOCKS), more = tile_deal_word(at, DEAL_MORE);
    const unsigned longer = more * (blocks + 1);
    return block < longer ? block / (blocks + 1) : more + (block - longer) / blocks;
}

TSR_DEVICE tile_parts tile_parts_of(unsigned at, unsigned tile)
{
    const unsigned k_blocks = tile_deal_word(at, DEAL_K_BLOCKS), tile_at = tile * k_blocks;
    const unsigned first = tile_deal_cluster(at, tile_at), last = tile_deal_cluster(at, tile_at + k_blocks - 1);
    const tile_parts all = {first, (int)(tile_deal_word(at, DEAL_CLUSTER) - first), (int)(last - first) + 1};
    return all;
}

#endif
