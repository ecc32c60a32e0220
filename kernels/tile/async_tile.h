/* Tiles of an operand on their way from global to shared memory by cp.async, one after the other along K.
 *
 * Both operands are seen alike, as rows by K: the rows of op(A), and the columns of op(B). In shared memory a tile lies
 * as tile[k][row], `pitch` elements from k to k + 1, so that a thread reads neighbouring rows of one k as 16-byte
 * vectors. In global memory either k or the rows are contiguous:
 *
 *   k contiguous (A as it is, B transposed):      rows contiguous (A transposed, B as it is):
 *   4-byte copies turn the tile. A warp takes     16-byte copies where everything is aligned, else
 *   8 k x 4 rows: whole 32-byte sectors of        4-byte copies; a warp takes neighbours of one k.
 *   global memory, and with pitch = 4 (mod 32)
 *   all 32 banks of shared memory.
 *
 * The loops of both unroll to copies with constant offsets. Tiles at the edge of the matrix take the same paths, but
 * cut each copy where the matrix ends (`whole` = 0) and fill with zeros. The tile that takes what K leaves over a
 * multiple of BK is copied element by element.
 *
 * `height` (rows), `bk`, `pitch`, `threads` and `width` are constants where these are called. */
#ifndef TSR_TILE_ASYNC_TILE_H
#define TSR_TILE_ASYNC_TILE_H

#include "ptx/async_copy.h"
#include "tile/element.h"

typedef struct tile_stream {
    const elem *next; /* element (row 0, k 0) of the next tile; the same in all threads */
    long long ld;     /* elements between neighbours in the direction that is not contiguous */
    int rows;         /* rows of the tile that lie inside the matrix, at most its height */
    int k_contiguous;
} tile_stream;

/* `origin` is element (row 0, k 0) of the operand, which has `rows` rows; the tiles' first row is `first`. */
TSR_DEVICE tile_stream tile_stream_open(const elem *origin, long long ld, int k_contiguous, long long first,
                                        long long rows, int height)
{
    tile_stream stream;
    stream.next = origin + first * (k_contiguous ? ld : 1);
    stream.ld = ld;
    stream.rows = rows - first < height ? (int)(rows - first) : height;
    stream.k_contiguous = k_contiguous;
    return stream;
}

/* Any tile, `depth` (at most bk) along K. */
TSR_DEVICE void tile_copy_part(tile_stream *s, elem *tile, int height, int bk, int pitch, int threads, int thread,
                               int depth)
{
    const long long row_stride = s->k_contiguous ? s->ld : 1, k_stride = s->k_contiguous ? 1 : s->ld;
    int row = s->k_contiguous ? thread / bk : thread % height, k = s->k_contiguous ? thread % bk : thread / height;
    const int row_step = s->k_contiguous ? threads / bk : threads % height;
    const int k_step = s->k_contiguous ? 0 : threads / height;
    const elem *from = s->next + row * row_stride + k * k_stride;
    elem *to = tile + k * pitch + row;
    TSR_ROLLED
    for (int i = 0; i < height * bk / threads; i++) {
        tsr_copy_async_4(to, from, row < s->rows && k < depth ? 4 : 0);
        from += row_step * row_stride + k_step * k_stride;
        to += k_step * pitch + row_step;
        row += row_step;
        k += k_step;
        if (height > threads && row >= height) { /* on to the next k */
            from += k_stride - height * row_stride;
            to += pitch - height;
            row -= height;
            k++;
        }
    }
    s->next += depth * k_stride;
}

/* A whole step along K, k contiguous. */
TSR_DEVICE void tile_copy_transposed(tile_stream *s, elem *tile, int height, int bk, int pitch, int threads, int thread,
                                     int whole)
{
    const int k = thread % 8, row = thread / 8, rows = threads / 8; /* `rows` at a time */
    const elem *from = s->next + row * s->ld + k;
    elem *to = tile + k * pitch + row;
    TSR_UNROLL
    for (int i = 0; i < height / rows; i++) {
        const unsigned bytes = whole || row + i * rows < s->rows ? 4 : 0;
        TSR_UNROLL
        for (int j = 0; j < bk; j += 8)
            tsr_copy_async_4(to + j * pitch + i * rows, from + j, bytes);
        from += rows * s->ld;
    }
    s->next += bk;
}

/* Bytes of `width` neighbours of which `inside`, if any, lie in the matrix. */
TSR_DEVICE unsigned tile_copy_bytes(int inside, int width)
{
    return inside >= width ? 4 * (unsigned)width : inside > 0 ? 4 * (unsigned)inside : 0;
}

/* A whole step along K, rows contiguous, `width` elements a copy: 4 (everything aligned to 16 bytes) or 1. */
TSR_DEVICE void tile_copy_straight(tile_stream *s, elem *tile, int height, int bk, int pitch, int threads, int thread,
                                   int width, int whole)
{
    const int per_k = height / width; /* copies that one k takes */
    const int ks = threads > per_k ? threads / per_k : 1, parts = threads > per_k ? 1 : per_k / threads;
    const int k = thread / per_k, row = thread % per_k * width;
    const elem *from = s->next + k * s->ld + row;
    elem *to = tile + k * pitch + row;
    TSR_UNROLL
    for (int i = 0; i < bk; i += ks) {
        TSR_UNROLL
        for (int j = 0; j < parts; j++) {
            const int at = j * threads * width;
            const unsigned bytes = tile_copy_bytes(whole ? width : s->rows - row - at, width);
            if (width == 4)
                tsr_copy_async_16(to + i * pitch + at, from + at, bytes);
            else
                tsr_copy_async_4(to + i * pitch + at, from + at, bytes);
        }
        from += ks * s->ld;
    }
    s->next += bk * s->ld;
}

/* The next whole step along K. Tiles at the edge take the fast paths, cut. */
TSR_DEVICE void tile_copy_cut(tile_stream *s, elem *tile, int height, int bk, int pitch, int threads, int thread,
                              int width)
{
    if (s->k_contiguous) {
        if (s->rows == height)
            tile_copy_transposed(s, tile, height, bk, pitch, threads, thread, 1);
        else
            tile_copy_transposed(s, tile, height, bk, pitch, threads, thread, 0);
    } else if (s->rows == height) {
        tile_copy_straight(s, tile, height, bk, pitch, threads, thread, width, 1);
    } else {
        tile_copy_straight(s, tile, height, bk, pitch, threads, thread, width, 0);
    }
}

/* The same with fewer registers: tiles at the edge go element by element. */
TSR_DEVICE void tile_copy(tile_stream *s, elem *tile, int height, int bk, int pitch, int threads, int thread, int width)
{
    if (s->rows < height)
        tile_copy_part(s, tile, height, bk, pitch, threads, thread, bk);
    else if (s->k_contiguous)
        tile_copy_transposed(s, tile, height, bk, pitch, threads, thread, 1);
    else
        tile_copy_straight(s, tile, height, bk, pitch, threads, thread, width, 1);
}

#endif
