/* Tiles of f64 operands in shared memory, for mma in f64, which ldmatrix cannot feed: lanes load element by element.
 *
 * Both operands are seen alike, as rows by K: the rows of op(A), and the columns of op(B). A tile keeps the direction
 * that is contiguous in global memory, so that copies move neighbours as they are:
 *
 *   k contiguous (A as it is, B transposed)        rows contiguous (A transposed, B as it is)
 *   line = row, BK elements                        line = k, `height` elements
 *
 * Half a warp loads 4 rows of 4 k at once: 4 neighbours, a quad of 32 bytes, of each of 4 lines one below the other.
 * The lines' lengths are multiples of all 32 banks, so quads exchange places within a line: the place of quad q is
 * q ^ line % 4, and the four lie in different banks, whichever way the tile lies:
 *
 *   line 0 | 0 1 2 3 4 5 6 7 ...
 *   line 1 | 1 0 3 2 5 4 7 6
 *   line 2 | 2 3 0 1 6 7 4 5
 *   line 3 | 3 2 1 0 7 6 5 4
 *
 * cp.async moves 16 bytes where operands are aligned to them, else 8, which any f64 is.
 *
 * `height`, `bk`, `threads`, `width` (elements a copy: 2 or 1) and `k_contiguous` are constants where these are called.
 * `height`, `bk` and threads / 4 are powers of two and at least 16. */
#ifndef TSR_TILE_F64_TILE_H
#define TSR_TILE_F64_TILE_H

#include "ptx/async_copy.h"
#include "ptx/warp.h"

enum { F64_QUAD = 4, F64_QUAD_BYTES = 32 };

/* Bytes from the tile's begin to element `at` of a line. */
TSR_DEVICE unsigned f64_place(int line, int at, int length)
{
    return (unsigned)(line * length * 8 + (at / F64_QUAD ^ line % 4) * F64_QUAD_BYTES + at % F64_QUAD * 8);
}

/* Threads take neighbouring copies of a line, and at least four lines at once: then all copies of a thread have the
 * same line % 4, and their places differ by constants. A longer line is copied in several parts. */
TSR_DEVICE int f64_threads_of_line(int length, int threads, int width)
{
    return length / width < threads / 4 ? length / width : threads / 4;
}

typedef struct f64_stream {
    const double *next; /* what this thread copies first of the next tile */
    long long step;     /* elements from there to what it copies of its next line in the same tile */
    long long advance;  /* elements from tile to tile */
    int rows;           /* rows of the tile that lie inside the matrix, at most its height */
    unsigned to;        /* the place of the first copy */
} f64_stream;

/* `origin` is element (row 0, k 0) of the operand, which has `rows` rows; the tiles' first row is `first`. */
TSR_DEVICE f64_stream f64_stream_open(const double *origin, long long ld, long long first, long long rows, int height,
                                      int bk, int threads, int thread, int width, int k_contiguous)
{
    const int length = k_contiguous ? bk : height, of_line = f64_threads_of_line(length, threads, width);
    const int line = thread / of_line, at = thread % of_line * width;
    f64_stream s;
    s.next = origin + (k_contiguous ? (first + line) * ld + at : line * ld + first + at);
    s.step = threads / of_line * ld;
    s.advance = k_contiguous ? bk : bk * ld;
    s.rows = rows - first < height ? (int)(rows - first) : height;
    s.to = f64_place(line, at, length);
    return s;
}

/* Copies `inside` elements of `width` (less than 1: none), zeros behind them. */
TSR_DEVICE void f64_copy_one(unsigned char *to, const double *from, int inside, int width)
{
    const int count = inside < 0 ? 0 : inside < width ? inside : width;
    if (width == 2)
        tsr_copy_async_16(to, from, (unsigned)(8 * count));
    else
        tsr_copy_async_8(to, from, (unsigned)(8 * count));
}

/* A tile wholly inside the matrix. */
TSR_DEVICE void f64_copy_whole(f64_stream *s, unsigned char *tile, int height, int bk, int threads, int width,
                               int k_contiguous)
{
    const int length = k_contiguous ? bk : height, lines = height * bk / length;
    const int of_line = f64_threads_of_line(length, threads, width), at_once = threads / of_line;
    const double *from = s->next;
    TSR_UNROLL
    for (int line = 0; line < lines; line += at_once) {
        TSR_UNROLL
        for (int at = 0; at < length; at += of_line * width)
            f64_copy_one(tile + s->to + (line * length + at) * 8, from + at, width, width);
        from += s->step;
    }
    s->next += s->advance;
}

/* A tile with all of bk along K. Rows beyond the matrix become zeros: whole lines where K is contiguous, else the ends
 * of all lines. */
TSR_DEVICE void f64_copy_rows(f64_stream *s, unsigned char *tile, int height, int bk, int threads, int thread,
                              int width, int k_contiguous)
{
    const int length = k_contiguous ? bk : height, lines = height * bk / length;
    const int of_line = f64_threads_of_line(length, threads, width), at_once = threads / of_line;
    /* The thread's number once more: what follows from it shall keep no registers between the calls. */
    const int again = tsr_again(thread), left = s->rows - (k_contiguous ? again / of_line : again % of_line * width);
    const double *from = s->next;
    TSR_UNROLL
    for (int line = 0; line < lines; line += at_once) {
        TSR_UNROLL
        for (int at = 0; at < length; at += of_line * width)
            f64_copy_one(tile + s->to + (line * length + at) * 8, from + at,
                         k_contiguous ? (line < left ? width : 0) : left - at, width);
        from += s->step;
    }
    s->next += s->advance;
}

/* Any tile, `depth` (at most bk) along K. */
TSR_DEVICE void f64_copy_part(f64_stream *s, unsigned char *tile, int height, int bk, int threads, int thread,
                              int depth, int width, int k_contiguous)
{
    const int length = k_contiguous ? bk : height, lines = height * bk / length;
    const int of_line = f64_threads_of_line(length, threads, width), at_once = threads / of_line;
    const int first_line = thread / of_line, first = thread % of_line * width;
    const double *from = s->next;
    TSR_ROLLED
    for (int line = 0; line < lines; line += at_once) {
        const int inside = first_line + line < (k_contiguous ? s->rows : depth) ? (k_contiguous ? depth : s->rows) : 0;
        TSR_UNROLL
        for (int at = 0; at < length; at += of_line * width)
            f64_copy_one(tile + s->to + (line * length + at) * 8, from + at, inside - first - at, width);
        from += s->step;
    }
    s->next += s->advance;
}

/* The next tile. */
TSR_DEVICE void f64_copy(f64_stream *s, unsigned char *tile, int height, int bk, int threads, int thread, int depth,
                         int width, int k_contiguous)
{
    if (depth < bk)
        f64_copy_part(s, tile, height, bk, threads, thread, depth, width, k_contiguous);
    else if (s->rows < height)
        f64_copy_rows(s, tile, height, bk, threads, thread, width, k_contiguous);
    else
        f64_copy_whole(s, tile, height, bk, threads, width, k_contiguous);
}

/* ---- fragments: lane 4 g + t holds elements (row g, k t) of 8 rows by 4 k (ptx/mma_f64.h) ---- */

/* The lane's element of rows `row` (a multiple of 16) to row + 7 and k 0 to 3. */
TSR_DEVICE unsigned f64_lane_offset(int row, int lane, int height, int bk, int k_contiguous)
{
    return k_contiguous ? f64_place(row + lane / 4, lane % 4, bk) : f64_place(lane % 4, row + lane / 4, height);
}

/* The one 8 * `eight` rows and 4 * `four` k further on. */
TSR_DEVICE double f64_load(const unsigned char *tile, unsigned offset, int eight, int four, int height, int bk,
                           int k_contiguous)
{
    const unsigned place = k_contiguous ? (offset ^ (unsigned)(four % 4 * F64_QUAD_BYTES)) +
                                              (unsigned)(four / 4 * 4 * F64_QUAD_BYTES + eight * 8 * bk * 8)
                                        : (offset ^ (unsigned)(eight % 2 * 2 * F64_QUAD_BYTES)) +
                                              (unsigned)(eight / 2 * 4 * F64_QUAD_BYTES + four * 4 * height * 8);
    return *(const double *)(const void *)(tile + place);
}

#endif
