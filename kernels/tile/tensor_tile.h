/* Tiles of 16-bit or tf32 operands, and of 8-bit ones along K, in shared memory, for ldmatrix and mma.
 *
 * Both operands are seen alike, as rows by K: the rows of op(A), and the columns of op(B). A tile keeps the direction
 * that is contiguous in global memory, so that chunks of 16 bytes move as they are:
 *
 *   k contiguous (A as it is, B transposed)        rows contiguous (A transposed, B as it is)
 *   line = row, BK elements; ldmatrix              line = k, `height` elements; ldmatrix.trans
 *
 * Chunks exchange places within a line, so that the eight chunks that ldmatrix reads at once, one below the other, lie
 * in different banks. The places of chunk c, in banks (4 to a chunk), by line:
 *
 *   128-byte lines: c ^ line % 8                   64-byte lines: c ^ line / 2 % 4
 *   line 0 | 0 1 2 3 4 5 6 7                       lines 0, 1 | 0 1 2 3 | 0 1 2 3
 *   line 1 | 1 0 3 2 5 4 7 6                       lines 2, 3 | 1 0 3 2 | 1 0 3 2
 *   line 2 | 2 3 0 1 6 7 4 5                       lines 4, 5 | 2 3 0 1 | 2 3 0 1
 *
 * tf32 with rows contiguous: ldmatrix cannot transpose 32-bit elements. Lanes read one by one, 4 k by 8 rows, which is
 * two chunks in each of four lines: c ^ 2 (line % 4).
 *
 * `height`, `bk`, `threads` and `k_contiguous` are constants where these are called. `height` is at least 64, `threads`
 * at least 8 times the chunks of a line (4 times in tf32). */
#ifndef TSR_TILE_TENSOR_TILE_H
#define TSR_TILE_TENSOR_TILE_H

#include "ptx/async_copy.h"
#include "ptx/vector.h"
#if !defined(TSR_TILE_SPARSE_ELEMENT_H) && !defined(TSR_TILE_INT8_ELEMENT_H)
#include "tile/tensor_element.h"
#endif

/* Bytes from the tile's begin to the chunk that holds (row, k). */
TSR_DEVICE unsigned tensor_place(int row, int k, int height, int bk, int k_contiguous)
{
    if (k_contiguous) {
        const int chunks = bk / CHUNK;
        const int swap = chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;
        return (unsigned)(row * chunks + (k / CHUNK ^ swap)) * 16;
    }
    const int swap = sizeof(elem) == 2 ? k % 8 : 2 * (k % 4);
    return (unsigned)(k * (height / CHUNK) + (row / CHUNK ^ swap)) * 16;
}

typedef struct tensor_stream {
    const elem *next;  /* this thread's first chunk of the next tile */
    long long step;    /* elements from one of this thread's chunks to its next in the same tile */
    long long advance; /* elements from tile to tile */
    int rows;          /* rows of the tile that lie inside the matrix, at most its height */
    unsigned to;       /* the first chunk's place; the others follow threads * 16 bytes apart */
} tensor_stream;

/* `origin` is element (row 0, k 0) of the operand, which has `rows` rows; the tiles' first row is `first`. */
TSR_DEVICE tensor_stream tensor_stream_open(const elem *origin, long long ld, long long first, long long rows,
                                            int height, int bk, int threads, int thread, int k_contiguous)
{
    const int line = (k_contiguous ? bk : height) / CHUNK;
    const int row = k_contiguous ? thread / line : thread % line * CHUNK;
    const int k = k_contiguous ? thread % line * CHUNK : thread / line;
    tensor_stream s;
    s.next = origin + (k_contiguous ? (first + row) * ld + k : k * ld + first + row);
    s.step = threads / line * ld;
    s.advance = k_contiguous ? bk : bk * ld;
    s.rows = rows - first < height ? (int)(rows - first) : height;
    s.to = tensor_place(row, k, height, bk, k_contiguous);
    return s;
}

/* A tile wholly inside the matrix, of an operand aligned to 16 bytes. */
TSR_DEVICE void tensor_copy_whole(tensor_stream *s, unsigned char *tile, int height, int bk, int threads)
{
    TSR_UNROLL
    for (int i = 0; i < height * bk / CHUNK / threads; i++)
        tsr_copy_async_16(tile + s->to + i * threads * 16, s->next + i * s->step, 16);
    s->next += s->advance;
}

/* One chunk of which `inside` elements lie in the matrix (less than 1: none), zeros behind them. */
TSR_DEVICE void tensor_copy_chunk(unsigned char *to, const elem *from, int inside, int aligned)
{
    if (aligned) {
        const int count = inside < 0 ? 0 : inside < CHUNK ? inside : CHUNK;
        tsr_copy_async_16(to, from, (unsigned)(count * (int)sizeof(elem)));
        return;
    }
#if defined(ELEM_tf32)
    TSR_UNROLL
    for (int j = 0; j < CHUNK; j++)
        tsr_copy_async_4(to + 4 * j, from + j, j < inside ? 4 : 0);
#else
    tsr_u32x4 chunk;
    TSR_UNROLL
    for (int j = 0; j < 4; j++) {
        const unsigned low = 2 * j < inside ? from[2 * j] : 0, high = 2 * j + 1 < inside ? from[2 * j + 1] : 0;
        tsr_lane(chunk, j) = low | high << 16;
    }
    tsr_store_u32x4((unsigned *)(void *)to, chunk);
#endif
}

/* Any tile, of any alignment, `depth` (at most bk) along K. Without alignment 16-bit elements pass through registers
 * and are in place when this returns, else they are when the copies have landed. */
TSR_DEVICE void tensor_copy_part(tensor_stream *s, unsigned char *tile, int height, int bk, int threads, int thread,
                                 int depth, int k_contiguous, int aligned)
{
    const int line = (k_contiguous ? bk : height) / CHUNK, lines = threads / line;
    const int row0 = k_contiguous ? thread / line : thread % line * CHUNK;
    const int k0 = k_contiguous ? thread % line * CHUNK : thread / line;
    TSR_ROLLED
    for (int i = 0; i < height * bk / CHUNK / threads; i++) {
        const int row = row0 + (k_contiguous ? i * lines : 0), k = k0 + (k_contiguous ? 0 : i * lines);
        const int inside = k_contiguous ? (row < s->rows ? depth - k : 0) : k < depth ? s->rows - row : 0;
        tensor_copy_chunk(tile + s->to + i * threads * 16, s->next + i * s->step, inside, aligned);
    }
    s->next += s->advance;
}

/* The next tile, by the fastest path that it allows. */
TSR_DEVICE void tensor_copy(tensor_stream *s, unsigned char *tile, int height, int bk, int threads, int thread,
                            int depth, int k_contiguous, int aligned)
{
    if (aligned && s->rows == height && depth >= bk)
        tensor_copy_whole(s, tile, height, bk, threads);
    else
        tensor_copy_part(s, tile, height, bk, threads, thread, depth < bk ? depth : bk, k_contiguous, aligned);
}

#endif
