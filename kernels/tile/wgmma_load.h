/* Filling a stage of the Hopper kernels by threads: rows that begin anywhere, to the layout that wgmma reads.
 *
 * One operand's part of a stage is ELEMS x 64 elements along M or N and K, in lines of 128 bytes: K-major, a line for
 * each row along M or N; MN-major, slabs of 64 elements along M or N, a line for each of 64 steps along K. In both,
 * line l lies at 128 l, its 16-byte chunk q at place q ^ (l % 8).
 *
 * The 128 threads of a group take chunks in turn: thread t takes chunk t % 8 of lines t / 8, t / 8 + 16, ... So its
 * chunks lie 2048 bytes apart in the stage and, since 16 rows are a multiple of 16 bytes for any leading dimension,
 * all equally far (`skew`) past a multiple of 16 bytes in memory. Each chunk is two aligned loads, shifted:
 *
 *      memory   |.....aaa|bbbbbbbb|          skew = 5 (of 8 elements)
 *      chunk          |aaabbbbb|
 *
 * The second load finds in L1 what the neighbouring lane asked for as its first. A load reads past its row only where
 * rows lie tight, so that what is there is the operand, too; else, and at the operand's ends, elements are read one by
 * one. What lies outside of the operand becomes zero. */
#ifndef TSR_TILE_WGMMA_LOAD_H
#define TSR_TILE_WGMMA_LOAD_H

#include "ptx/funnel.h"
#include "ptx/shared_wide.h"
#include "ptx/vector.h"

enum {
    LOAD_LINES = 16, /* that the threads of a group take at once */
    LOAD_STEP = 128 * LOAD_LINES,
    LOAD_CHUNK = 8 /* elements */
};

/* An operand, and a thread's place in it. */
typedef struct load_operand {
    const unsigned short *base;
    long long ld, batch;     /* elements from row to row, from problem to problem (0: all share one) */
    long long rows, columns; /* as stored */
    int by_k;                /* K-major: columns are K */
    int tight;               /* a row follows the other without a gap */
    int line, chunk;         /* of the thread's first chunk */
} load_operand;

TSR_DEVICE load_operand load_operand_of(const void *base, long long ld, long long batch, long long problems,
                                        long long mn, long long k, int by_k, int thread)
{
    load_operand o;
    o.base = (const unsigned short *)base;
    o.ld = ld;
    o.batch = batch;
    o.rows = by_k ? mn : k;
    o.columns = by_k ? k : mn;
    o.by_k = by_k;
    o.tight = ld == o.columns && (problems <= 1 || batch == 0 || batch == o.rows * o.columns);
    o.line = thread / 8;
    o.chunk = thread % 8;
    return o;
}

/* A part of an operand, as a thread fetches it: its first chunk is at `from`, row `row` and column `column`. */
typedef struct load_place {
    const unsigned short *from;
    long long row, column;
    unsigned skew; /* bytes past a multiple of 16 */
    int edges;     /* 1: not all chunks, nor what their loads touch beside them, are the operand's */
} load_place;

/* ELEMS along M or N from `mn` on, 64 along K from `k` on. */
TSR_DEVICE load_place load_place_of(const load_operand *o, int elems, int z, long long mn, long long k)
{
    const long long row = o->by_k ? mn : k, column = o->by_k ? k : mn;
    const long long end = row + (o->by_k ? elems : 64), right = column + (o->by_k ? 64 : elems);
    load_place p;
    p.row = row + o->line;
    p.column = column + o->chunk * LOAD_CHUNK;
    p.from = o->base + z * o->batch + p.row * o->ld + p.column;
    p.skew = (unsigned)((unsigned long long)p.from % 16);
    p.edges = !(end <= o->rows && right <= o->columns && (column >= LOAD_CHUNK || (o->tight && row > 0)) &&
                (right + LOAD_CHUNK <= o->columns || (o->tight && end < o->rows)));
    return p;
}

/* A chunk on its way: 32 bytes of memory from a multiple of 16 on, of which it begins `skew` bytes later. */
typedef struct load_piece {
    unsigned word[8];
    unsigned skew;
} load_piece;

/* The thread's chunk number `i` of a part. */
TSR_DEVICE void load_fetch(const load_operand *o, const load_place *at, int i, load_piece *p)
{
    const int down = o->by_k ? i * LOAD_LINES : i % 4 * LOAD_LINES, along = o->by_k ? 0 : i / 4 * 64;
    const unsigned short *const from = at->from + down * o->ld + along;
    const unsigned *const aligned = (const unsigned *)((const unsigned char *)from - at->skew);
    TSR_UNROLL
    for (int j = 0; j < 8; j++)
        p->word[j] = 0;
    p->skew = at->skew;
    if (at->edges) {
        const long long row = at->row + down, column = at->column + along;
        const long long left = row < o->rows ? o->columns - column : 0; /* elements of the row */
        const long long before = o->tight ? row * o->ld + column : column;
        const long long after = o->tight ? o->rows * o->ld - before : left;
        if (left <= 0 || 2 * before < at->skew || 2 * after < (at->skew ? 32 : 16) - (int)at->skew) {
            p->skew = 0;
            TSR_UNROLL
            for (int j = 0; j < LOAD_CHUNK; j++)
                if (j < left)
                    p->word[j / 2] |= (unsigned)from[j] << (16 * (j % 2));
            return;
        }
    }
    const tsr_u32x4 first = tsr_load_u32x4(aligned);
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        p->word[j] = tsr_lane(first, j);
    if (at->skew) {
        const tsr_u32x4 second = tsr_load_u32x4(aligned + 4);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            p->word[4 + j] = tsr_lane(second, j);
    }
}

/* Shifts the chunk down, clears what lies beyond its row, and stores it in the part of the stage at `to`. */
TSR_DEVICE void load_put(const load_operand *o, const load_place *at, int i, load_piece *p, unsigned to)
{
    const unsigned place = to + (unsigned)(o->line * 128 + (o->chunk ^ o->line % 8) * 16 + i * LOAD_STEP);
    unsigned out[4];
    TSR_UNROLL
    for (int j = 0; j < 6; j++)
        p->word[j] = p->skew & 8 ? p->word[j + 2] : p->word[j];
    TSR_UNROLL
    for (int j = 0; j < 5; j++)
        p->word[j] = p->skew & 4 ? p->word[j + 1] : p->word[j];
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        out[j] = tsr_funnel_right(p->word[j], p->word[j + 1], 8 * (p->skew & 2));
    if (at->edges) {
        const long long left = o->columns - at->column - (o->by_k ? 0 : i / 4 * 64);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            out[j] = left >= 2 * j + 2 ? out[j] : left == 2 * j + 1 ? out[j] & 0xffff : 0;
    }
    tsr_shared_store_u32x4(place, out);
}

#endif
