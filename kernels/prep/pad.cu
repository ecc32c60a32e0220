/* pad: copies A, B or both to rows that begin at multiples of 16 bytes, for kernels that need such rows.
 *
 * The copy engine and 16-byte copies want bases and leading dimensions that are multiples of 16 bytes. Where a caller's
 * are not, a plan runs this first. It moves each byte once from and once to memory, at the memory's rate although
 * source rows begin anywhere.
 *
 * A row is cut into chunks of 16 bytes as they will lie in the copy. All chunks of a row lie equally askew in the
 * source: `skew` bytes past a multiple of 16. A thread loads the two aligned pieces that its chunk straddles and
 * shifts:
 *
 *      source   |.....aaa|bbbbbbbb|cccccccc|d.......|       skew = 5 (in units of 2 bytes), chunk 1 = bbb bbb bb|ccc
 *                    ^ row begins
 *      copy     |aaabbbbb|bbbccccc|cccd0000|
 *
 * Neighbouring lanes take neighbouring chunks; the piece that two of them share comes from L1 the second time. Pieces
 * that reach past the row are read only where the rows lie tight, so that their neighbours are the matrix, too; else,
 * and at the ends of the matrix, elements are read one by one. What the last chunk has beyond the row becomes zero.
 *
 *   ELEM_BYTES   1, 2 or 4     UNROLL   chunks of a thread whose loads are under way at once
 *   CTAS         that an SM should hold
 *
 * Arguments: tsr_copy_args. An operand that is shared by the batch (stride 0) is copied once.
 * Assumes: to_lda, to_ldb, to_batch_a, to_batch_b and the copies are multiples of 16 bytes; M, N, K below 2^31.
 * Bound by: device memory, or L2 where the operands fit there. */
#define TSR_SHARED_ALIGN 16
#define TSR_ARGS         tsr_copy_args

#include "core/copy_args.h"
#include "prep/element.h"
#include "ptx/funnel.h"
#include "ptx/grid.h"
#include "ptx/vector.h"
#include "ptx/warp.h"

#if ELEM_BYTES == 1
#define PART_MASK(bytes) ((1u << (8 * (bytes))) - 1)
#else
#define PART_MASK(bytes) 0xffffu /* the only part of a word there is */
#endif

enum { THREADS = 256, CHUNK = 16, CHUNK_ELEMS = CHUNK / ELEM_BYTES, SPAN = 32 * UNROLL };

/* One operand: rows of all problems, one after the other. */
typedef struct matrix {
    const elem *from;
    unsigned char *to;
    long long ld, batch_stride;            /* of the source, in elements */
    long long pitch_bytes, to_batch_bytes; /* of the copy */
    long long rows, all_rows;              /* of a problem; of all */
    unsigned columns, chunks;              /* of a row */
    int tight;                             /* a row follows the other without a gap */
} matrix;

/* Part of a chunk: 8 words of source, or the finished chunk if `skew` is 0. */
typedef struct piece {
    unsigned word[8];
    unsigned skew;
} piece;

TSR_DEVICE matrix matrix_of(const void *from, const void *to, long long rows, long long columns, long long ld,
                            long long pitch, long long batch, long long batch_stride, long long to_batch_stride)
{
    const long long problems = batch_stride == 0 ? 1 : batch;
    matrix x;
    x.from = (const elem *)from;
    x.to = (unsigned char *)to;
    x.ld = ld;
    x.batch_stride = batch_stride;
    x.pitch_bytes = pitch * ELEM_BYTES;
    x.to_batch_bytes = to_batch_stride * ELEM_BYTES;
    x.rows = rows;
    x.all_rows = rows * problems;
    x.columns = (unsigned)columns;
    x.chunks = (unsigned)((columns + CHUNK_ELEMS - 1) / CHUNK_ELEMS);
    x.tight = ld == columns && (problems == 1 || batch_stride == rows * columns);
    return x;
}

/* Where a chunk comes from and goes to. */
typedef struct chunk {
    const elem *from;
    unsigned char *to;      /* NULL: past the last one */
    const elem *low, *high; /* the elements that may be read: the row, or the whole matrix where it is tight */
    unsigned elems;         /* of the row that are left */
} chunk;

/* Chunk number `index` of all. Divisions are most of a small copy's instructions: they are of 32 bits if they can. */
TSR_DEVICE chunk find_chunk(const matrix *x, unsigned long long index)
{
    const int is_short = index >> 32 == 0;
    long long row = is_short ? (long long)((unsigned)index / x->chunks) : (long long)(index / x->chunks), z = 0;
    const unsigned at = (unsigned)(index - (unsigned long long)row * x->chunks);
    chunk c;
    c.to = 0;
    if (row >= x->all_rows)
        return c;
    if (x->all_rows != x->rows) {
        z = row / x->rows;
        row -= z * x->rows;
    }
    c.low = x->from + z * x->batch_stride + row * x->ld;
    c.high = c.low + x->columns;
    c.from = c.low + (unsigned long long)at * CHUNK_ELEMS;
    c.to = x->to + z * x->to_batch_bytes + row * x->pitch_bytes + (unsigned long long)at * CHUNK;
    c.elems = x->columns - at * CHUNK_ELEMS;
    if (x->tight) {
        c.low = x->from;
        c.high = x->from + x->all_rows * x->columns;
    }
    return c;
}

TSR_DEVICE void load_piece(const chunk *c, piece *p)
{
    const unsigned long long at = (unsigned long long)c->from;
    const unsigned skew = (unsigned)at % CHUNK;
    const unsigned *const aligned = (const unsigned *)((const unsigned char *)c->from - skew);
    const unsigned long long end = at - skew + (skew ? 2 * CHUNK : CHUNK);
    TSR_UNROLL
    for (int i = 0; i < 8; i++)
        p->word[i] = 0;
    p->skew = skew;
    if (at - skew >= (unsigned long long)c->low && end <= (unsigned long long)c->high) {
        const tsr_u32x4 first = tsr_load_u32x4(aligned);
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            p->word[i] = tsr_lane(first, i);
        if (skew) {
            const tsr_u32x4 second = tsr_load_u32x4(aligned + 4);
            TSR_UNROLL
            for (int i = 0; i < 4; i++)
                p->word[4 + i] = tsr_lane(second, i);
        }
        return;
    }
    p->skew = 0;
    TSR_UNROLL
    for (int i = 0; i < CHUNK_ELEMS; i++)
        if ((unsigned)i < c->elems)
            p->word[i * ELEM_BYTES / 4] |= (unsigned)c->from[i] << (8 * (i * ELEM_BYTES % 4));
}

/* Shifts the 8 words down by skew bytes, clears what lies beyond the row, and stores. */
TSR_DEVICE void store_piece(const chunk *c, piece *p)
{
    const unsigned bits = 8 * (p->skew % 4);
    tsr_u32x4 out;
    if (p->skew & 8)
        TSR_UNROLL
    for (int i = 0; i < 6; i++)
        p->word[i] = p->word[i + 2];
    if (p->skew & 4)
        TSR_UNROLL
    for (int i = 0; i < 5; i++)
        p->word[i] = p->word[i + 1];
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        unsigned word = tsr_funnel_right(p->word[i], p->word[i + 1], bits);
        if (c->elems < CHUNK_ELEMS) {
            const int left = (int)c->elems * ELEM_BYTES - 4 * i; /* bytes of this word that are the row's */
            word = left >= 4 ? word : left <= 0 ? 0 : word & PART_MASK(left);
        }
        tsr_lane(out, i) = word;
    }
    tsr_store_u32x4((unsigned *)c->to, out);
}

TSR_DEVICE void copy_span(const matrix *x, long long span, unsigned lane)
{
    const unsigned long long first = (unsigned long long)span * SPAN + lane;
    chunk c[UNROLL];
    piece p[UNROLL];
    TSR_UNROLL
    for (int i = 0; i < UNROLL; i++) {
        c[i] = find_chunk(x, first + 32u * (unsigned)i);
        if (c[i].to)
            load_piece(&c[i], &p[i]);
    }
    TSR_UNROLL
    for (int i = 0; i < UNROLL; i++)
        if (c[i].to)
            store_piece(&c[i], &p[i]);
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    /* One operand for each y; the first is A unless only B is copied. */
    const int is_a = args.a && blockIdx.y == 0;
    const matrix x = is_a ? matrix_of(args.a, args.to_a, args.trans_a ? args.k : args.m, args.trans_a ? args.m : args.k,
                                      args.lda, args.to_lda, args.batch, args.batch_a, args.to_batch_a)
                          : matrix_of(args.b, args.to_b, args.trans_b ? args.n : args.k, args.trans_b ? args.k : args.n,
                                      args.ldb, args.to_ldb, args.batch, args.batch_b, args.to_batch_b);
    const long long spans = (x.all_rows * x.chunks + SPAN - 1) / SPAN, warps = (long long)gridDim.x * (THREADS / 32);
    tsr_grid_launch_dependents();
    tsr_grid_wait();
    for (long long span = (long long)blockIdx.x * (THREADS / 32) + threadIdx.x / 32; span < spans; span += warps)
        copy_span(&x, span, tsr_lane_id());
}
