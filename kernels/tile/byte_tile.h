/* Tiles of bytes for ldmatrix and mma, lines of which lie along K in shared memory (tile/tensor_tile.h), of operands
 * that lie any way and begin anywhere: byte by byte through registers. Neighbouring threads take neighbouring bytes of
 * memory, as far as the operand has them: chunks of a line that lies along K, else lines.
 *
 * `height`, `bk` and `threads` are constants where these are called. */
#ifndef TSR_TILE_BYTE_TILE_H
#define TSR_TILE_BYTE_TILE_H

#include "tile/int8_element.h" /* before the next, which takes its types */
#include "tile/tensor_tile.h"

typedef struct byte_stream {
    const elem *next;          /* line 0, k 0 of the next tile */
    long long line_step, step; /* elements from line to line, and along K */
    int lines;                 /* of the tile that lie inside the matrix, at most its height */
} byte_stream;

/* `origin` is element (line 0, k 0) of the operand, which has `lines` lines; the tiles' first one is `first`. */
TSR_DEVICE byte_stream byte_stream_open(const elem *origin, long long ld, long long first, long long lines, int height,
                                        int is_along_k)
{
    byte_stream s;
    s.line_step = is_along_k ? ld : 1;
    s.step = is_along_k ? 1 : ld;
    s.next = origin + first * s.line_step;
    s.lines = lines - first < height ? (int)(lines - first) : height;
    return s;
}

/* The next tile, `depth` (at most bk) along K; zeros beyond. It is in place when this returns. */
TSR_DEVICE void byte_copy(byte_stream *s, unsigned char *tile, int height, int bk, int threads, int thread, int depth)
{
    const int chunks = bk / CHUNK, is_along_k = s->step == 1;
    TSR_ROLLED
    for (int i = thread; i < height * chunks; i += threads) {
        const int line = is_along_k ? i / chunks : i % height, k = (is_along_k ? i % chunks : i / height) * CHUNK;
        const int inside = line < s->lines ? depth - k : 0;
        const elem *const from = s->next + line * s->line_step + k * s->step;
        tsr_u32x4 chunk;
        TSR_UNROLL
        for (int j = 0; j < 4; j++) {
            unsigned word = 0;
            TSR_UNROLL
            for (int b = 0; b < 4; b++)
                word |= (4 * j + b < inside ? (unsigned)from[(4 * j + b) * s->step] : 0) << 8 * b;
            tsr_lane(chunk, j) = word;
        }
        tsr_store_u32x4((unsigned *)(void *)(tile + tensor_place(line, k, height, bk, 1)), chunk);
    }
    s->next += bk * s->step;
}

#endif
