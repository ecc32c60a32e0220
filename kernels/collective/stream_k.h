/* Which tiles, or blocks of BK along K of them, each cluster of a persistent grid multiplies.
 *
 * Whole tiles go round: cluster c has tiles c, c + clusters, ... Where the last round would leave clusters idle, the
 * first `stream_k_tiles` tiles are taken out of it, and their blocks along K, tile after tile, distributed evenly
 * ("stream-K": Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023):
 *
 *     blocks of tile   | 0 . . . . . . . | 1 . . . . . . . | 2 . . . . . . . |
 *     cluster          | 0 0 0 0 0 0 1 1 | 1 1 1 1 2 2 2 2 | 2 2 3 3 3 3 3 3 |     3 tiles, 4 clusters
 *
 * Every cluster comes to these parts first, and to its whole tiles then. Nothing here depends on time: who multiplies
 * what follows from the sizes alone. */
#ifndef TSR_COLLECTIVE_STREAM_K_H
#define TSR_COLLECTIVE_STREAM_K_H

#include "ptx/language.h"
#include "ptx/shared.h"

/* What a cluster needs to know, as words of its shared memory: beside accumulators, or in a producer of few registers,
 * there is no room for it. */
typedef enum tile_stream_k {
    STREAM_K_TILES,
    STREAM_K_K_BLOCKS,
    STREAM_K_CLUSTER,
    STREAM_K_CLUSTERS,
    STREAM_K_START,  /* the cluster's whole tile of index i, counted through all its units, is START + i * CLUSTERS */
    STREAM_K_BLOCKS, /* of the stream-K ones each cluster has so many, */
    STREAM_K_MORE,   /* the first MORE clusters one more; */
    STREAM_K_FROM,   /* this one has those from FROM to TO, counted through all stream-K tiles, */
    STREAM_K_TO,
    STREAM_K_FIRST, /* from this tile on, */
    STREAM_K_PARTS, /* in so many tiles */
    STREAM_K_WORDS
} tile_stream_k;

enum { TILE_STREAM_K_BYTES = 48 };

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

TSR_DEVICE unsigned tile_stream_k_word(unsigned at, tile_stream_k which)
{
    return tsr_shared_load_u32(at + 4 * (unsigned)which);
}

/* Writes the words to `at`: one thread, before a barrier. `stream_k_tiles` * `k_blocks` is below 2^31 and, if not 0, at
 * least `clusters`: the host's rule. */
TSR_DEVICE void tile_stream_k_make(unsigned at, unsigned tiles, unsigned k_blocks, unsigned stream_k_tiles,
                                   unsigned cluster, unsigned clusters)
{
    unsigned word[STREAM_K_WORDS] = {tiles, k_blocks, cluster, clusters, 0, 0, 0, 0, 0, 0, 0};
    if (stream_k_tiles > 0) { /* divisions are slow, and most launches need none */
        word[STREAM_K_BLOCKS] = stream_k_tiles * k_blocks / clusters;
        word[STREAM_K_MORE] = stream_k_tiles * k_blocks % clusters;
        word[STREAM_K_FROM] =
            cluster * word[STREAM_K_BLOCKS] + (cluster < word[STREAM_K_MORE] ? cluster : word[STREAM_K_MORE]);
        word[STREAM_K_TO] = word[STREAM_K_FROM] + word[STREAM_K_BLOCKS] + (cluster < word[STREAM_K_MORE]);
        word[STREAM_K_FIRST] = word[STREAM_K_FROM] / k_blocks;
        word[STREAM_K_PARTS] = (word[STREAM_K_TO] - 1) / k_blocks - word[STREAM_K_FIRST] + 1;
    }
    word[STREAM_K_START] = stream_k_tiles + cluster - word[STREAM_K_PARTS] * clusters;
    TSR_UNROLL
    for (unsigned i = 0; i < STREAM_K_WORDS; i++)
        tsr_shared_store_u32(at + 4 * i, word[i]);
}

/* 1 if the cluster has a unit of this index. */
TSR_DEVICE int tile_has_unit(unsigned at, unsigned index)
{
    return index < tile_stream_k_word(at, STREAM_K_PARTS) ||
           tile_stream_k_word(at, STREAM_K_START) + index * tile_stream_k_word(at, STREAM_K_CLUSTERS) <
               tile_stream_k_word(at, STREAM_K_TILES);
}

TSR_DEVICE tile_unit tile_unit_of(unsigned at, unsigned index)
{
    const unsigned k_blocks = tile_stream_k_word(at, STREAM_K_K_BLOCKS);
    tile_unit u = {0, 0, (int)k_blocks};
    if (index < tile_stream_k_word(at, STREAM_K_PARTS)) {
        u.tile = tile_stream_k_word(at, STREAM_K_FIRST) + index;
        const int tile_at = (int)(u.tile * k_blocks), from = (int)tile_stream_k_word(at, STREAM_K_FROM) - tile_at,
                  to = (int)tile_stream_k_word(at, STREAM_K_TO) - tile_at;
        u.first = from > 0 ? from : 0;
        u.count = (to < (int)k_blocks ? to : (int)k_blocks) - u.first;
    } else {
        u.tile = tile_stream_k_word(at, STREAM_K_START) + index * tile_stream_k_word(at, STREAM_K_CLUSTERS);
    }
    return u;
}

/* The cluster that has this one of the stream-K blocks. */
TSR_DEVICE unsigned tile_stream_k_cluster(unsigned at, unsigned block)
{
    const unsigned blocks = tile_stream_k_word(at, STREAM_K_BLOCKS), more = tile_stream_k_word(at, STREAM_K_MORE);
    const unsigned longer = more * (blocks + 1);
    return block < longer ? block / (blocks + 1) : more + (block - longer) / blocks;
}

TSR_DEVICE tile_parts tile_parts_of(unsigned at, unsigned tile)
{
    const unsigned k_blocks = tile_stream_k_word(at, STREAM_K_K_BLOCKS), tile_at = tile * k_blocks;
    const unsigned first = tile_stream_k_cluster(at, tile_at), last = tile_stream_k_cluster(at, tile_at + k_blocks - 1);
    const tile_parts all = {first, (int)(tile_stream_k_word(at, STREAM_K_CLUSTER) - first), (int)(last - first) + 1};
    return all;
}

#endif
