/* Cluster reduction: the sum of a tile of which each CTA of a cluster has multiplied a part of K. Lines of the tile, as
 * they lie in D, are shared out over the ranks. Every CTA leaves its sums in a buffer of its shared memory (outgoing),
 * and the copy engine sends each rank's lines to the staging buffer of that rank, where their bytes count down at an
 * mbarrier: no barrier of the cluster, whose release would be a fence of the whole GPU, and no load that waits for
 * another SM. Each rank then adds its lines over all ranks, in their order, and stores them. For kernels whose tiles
 * are LONG x BN, of CONSUMERS threads; `swap_ab` if LONG lies along N; clusters of up to PARTS parts. The staging
 * buffer of a large tile lies where the ring was, behind the outgoing sums (WIDE), and nobody may send before its owner
 * has said that the ring is empty.
 *
 *     CTA 0                  CTA 1                  BN lines of LONG floats if swap_ab, else LONG lines of BN floats,
 *     outgoing | 0 | 1 |     outgoing | 0 | 1 |     as they lie in D. Quads of a line are swapped, so that the 32
 *                    \________________________      values that a warp stores at once lie in different banks.
 *              ________________/              \
 *     staging  | 0 of 1 |    staging  | 1 of 0 |
 *
 * All this is code that runs once, at ten cycles an instruction, with the tensor cores idle: what can be known before
 * is found before (tile_reduce_of), and the rest are few instructions. */
#ifndef TSR_COLLECTIVE_WGMMA_REDUCE_H
#define TSR_COLLECTIVE_WGMMA_REDUCE_H

#include "ptx/bulk.h"
#include "ptx/cluster.h"
#include "ptx/prefetch.h"
#include "ptx/shared.h"
#include "ptx/shared_vector.h"
#include "ptx/vector.h"
#include "ptx/words.h"

#include "collective/quotient.h"
#include "tile/either_element.h"

/* By D's type: an element's bytes, and a sum of two sums. */
#if defined(OUT_any)
#define tile_type_bytes any_bytes
#else
#define tile_type_bytes(type) tile_bytes((type) == TSR_TYPE_F32)
#endif
#if defined(ELEM_int8)
typedef int sum_type; /* whose bits lie where floats do */
#define tile_add(a, b) tsr_f32_of_bits(tsr_bits_of_f32(a) + tsr_bits_of_f32(b))
#define tile_float     any_bits
#else
typedef float sum_type;
#define tile_add(a, b)  ((a) + (b))
#define tile_float(sum) (sum)
#endif

enum {
    SWAPPED_QUADS = LONG / 4, /* of a line */
    PLAIN_QUADS = BN / 4,
    SWAPPED_STEP = CONSUMERS / SWAPPED_QUADS, /* lines that all threads take at once */
    PLAIN_STEP = CONSUMERS / PLAIN_QUADS >= 32   ? 32
                 : CONSUMERS / PLAIN_QUADS >= 16 ? 16
                 : CONSUMERS / PLAIN_QUADS >= 8  ? 8
                 : CONSUMERS / PLAIN_QUADS >= 4  ? 4
                                                 : 2,
    PLAIN_PERIOD = PLAIN_STEP < 4 ? PLAIN_STEP : 4, /* lines after which the keys repeat */
    PLAIN_KEYS = PLAIN_QUADS % 8 == 0   ? 7 /* swapped within eights or fours of quads, if a line is of whole ones */
                 : PLAIN_QUADS % 4 == 0 ? 3
                                        : 0,
    TILE_BYTES = LONG * BN * 4,
    /* The rank's lines of all others. Clusters of 7, which would need more for 16 lines, are not asked for. */
    STAGING_BYTES = PARTS > 4   ? TILE_BYTES
                    : PARTS > 1 ? TILE_BYTES / 4 * 3
                                : 0
};

/* Of one of `size` ranks, if `lines` are shared out; the last ones may have fewer. */
TSR_DEVICE int tile_lines_each(int lines, unsigned size)
{
    return (int)tile_quotient((unsigned)lines + size - 1, size);
}

TSR_DEVICE int tile_lines_of(int lines, int each, unsigned rank)
{
    const int left = lines - (int)rank * each;
    return left < 0 ? 0 : left < each ? left : each;
}

/* What a thread does with its CTA's sums, and what a rank adds up and stores: lines that are contiguous in D. A thread
 * takes the same four elements of every `step`th line. */
typedef struct tile_reduce {
    unsigned char *d; /* the thread's first element */
    const unsigned char *c;
    long long ldd, ldc;                          /* bytes from one of its lines to the next */
    unsigned leave_at[2], leave_key, line_bytes; /* of the accumulators' two rows */
    unsigned take_at, staging_at; /* the thread's four elements of its own sums, and of the first slice */
    unsigned slice_bytes;         /* of the rank's lines, from each of the others */
    int first, end, step;         /* its first line, and the end of the rank's */
    int lines, each;              /* of the tile, that D has; of a rank */
    int left;                     /* elements from its first one to the end of the line in D */
    int takes_four, gives_four;   /* D takes four elements at once, and C gives them so */
    int column;                   /* of the first element, in D */
    epilogue e;
} tile_reduce;

/* Rank `rank` of CTAs with outgoing sums and a staging buffer, of which each adds up `each` lines or what is left of
 * them; the tile begins at `short_at` and `long_at` and has `rows_short` of BN, and `lines` that are in D. `row` and
 * `column` are those of the thread's first accumulator. */
TSR_DEVICE tile_reduce tile_reduce_of(const tsr_gemm_args *args, unsigned outgoing, unsigned staging, int swap_ab,
                                      int short_at, int rows_short, int long_at, int z, int lines, int each,
                                      unsigned rank, int row, int column)
{
    const int thread = (int)threadIdx.x, quads = swap_ab ? SWAPPED_QUADS : PLAIN_QUADS;
    const int in_step = swap_ab ? thread / SWAPPED_QUADS : thread / PLAIN_QUADS, quad = thread - in_step * quads;
    const long long m = swap_ab ? short_at : long_at, n = swap_ab ? long_at : short_at, columns_left = args->n - n;
    const int width = swap_ab ? LONG : rows_short, before = (int)rank * each;
    const long long bytes = tile_type_bytes(args->type_d);
    tile_reduce mine;
    mine.lines = lines;
    mine.each = each;
    mine.step = swap_ab ? SWAPPED_STEP : PLAIN_STEP;
    mine.line_bytes = 16u * (unsigned)quads;
    mine.slice_bytes = (unsigned)tile_lines_of(lines, each, rank) * mine.line_bytes;
    mine.leave_key = (unsigned)(2 * (row & (PLAIN_PERIOD - 1)) & PLAIN_KEYS) * 16;
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const int at = row + 8 * h; /* swap_ab: the key is that of the column, which is the line */
        mine.leave_at[h] = outgoing + (swap_ab ? (unsigned)column * mine.line_bytes +
                                                     (unsigned)((at >> 2) ^ column) * 16 + (unsigned)(at & 3) * 4
                                               : (unsigned)at * mine.line_bytes + (unsigned)(column & 6) * 4);
    }

    mine.first = before + in_step;
    mine.end = columns_left <= 0 || in_step >= mine.step ? 0 : before + tile_lines_of(lines, each, rank);
    const int key = swap_ab ? mine.first & 6 : 2 * (mine.first & (PLAIN_PERIOD - 1)) & PLAIN_KEYS;
    const unsigned in_line = (unsigned)(quad ^ key) * 16;
    mine.take_at = outgoing + (unsigned)mine.first * mine.line_bytes + in_line;
    mine.staging_at = staging + (unsigned)in_step * mine.line_bytes + in_line;
    mine.left = (columns_left < width ? (int)columns_left : width) - 4 * quad;
    mine.d = (unsigned char *)args->d + (z * args->batch_d + (m + mine.first) * args->ldd + n + 4 * quad) * bytes;
    mine.c = (const unsigned char *)args->c + (z * args->batch_c + (m + mine.first) * args->ldc + n + 4 * quad) * bytes;
    mine.ldd = mine.step * args->ldd * bytes;
    mine.ldc = mine.step * args->ldc * bytes;
    mine.column = (int)n + 4 * quad;
    mine.e = epilogue_of(args);
    mine.takes_four =
        ((unsigned long long)args->d | (unsigned long long)((args->ldd | args->batch_d) * bytes)) % (4 * bytes) == 0 &&
        mine.left >= 4;
    mine.gives_four =
        ((unsigned long long)args->c | (unsigned long long)((args->ldc | args->batch_c) * bytes)) % (4 * bytes) == 0 &&
        mine.left >= 4;
    return mine;
}

/* C's lines that the thread will add come to L2, while products run. */
TSR_DEVICE void tile_reduce_prefetch_c(const tile_reduce *mine)
{
    const unsigned char *c = mine->c;
    if (!mine->e.reads_c || mine->left <= 0)
        return;
    TSR_ROLLED
    for (int line = mine->first; line < mine->end; line += mine->step, c += mine->ldc)
        tsr_prefetch_l2(c);
}

/* A thread's accumulators to the outgoing sums. */
TSR_DEVICE void tile_reduce_leave(const tile_reduce *mine, int swap_ab, const sum_type *sum)
{
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        unsigned at = mine->leave_at[h];
        TSR_UNROLL
        for (int j = 0; j < BN / 8; j++) {
            const float low = tile_float(sum[4 * j + 2 * h]), high = tile_float(sum[4 * j + 2 * h + 1]);
            if (swap_ab) {
                tsr_shared_store_f32(at, low);
                tsr_shared_store_f32(at + mine->line_bytes, high);
                at += 8 * mine->line_bytes;
            } else {
                tsr_shared_store_f32x2(at + ((unsigned)(32 * j) ^ mine->leave_key), low, high);
            }
        }
    }
}

/* One thread sends their lines to all other ranks. Rank r of the cluster's CTAs is `cta` + r * `step`; `bar` counts an
 * staging buffer's bytes. In it slices lie in the order of the ranks, without the own one. */
TSR_DEVICE void tile_reduce_send(const tile_reduce *mine, unsigned outgoing, unsigned staging, unsigned bar,
                                 unsigned rank, unsigned size, unsigned cta, unsigned step)
{
    unsigned to = rank;
    TSR_ROLLED
    for (unsigned i = 1; i < size; i++) {
        to = to + 1 == size ? 0 : to + 1;
        const unsigned bytes = (unsigned)tile_lines_of(mine->lines, mine->each, to) * mine->line_bytes;
        const unsigned there = cta + to * step, place = rank < to ? rank : rank - 1;
        if (bytes != 0)
            tsr_bulk_send(tsr_cluster_map(staging + place * bytes, there),
                          outgoing + to * (unsigned)mine->each * mine->line_bytes, bytes, tsr_cluster_map(bar, there));
    }
}

/* A warp group's sums of part `index` to the workspace, for a launch that adds all parts: 16 bytes of each lane side by
 * side, for each 8 columns, and the same of all parts next to each other. `group` counts the groups of all tiles. */
TSR_DEVICE void tile_leave_to_next(const tsr_gemm_args *args, unsigned group, int rows_short, int index,
                                   const sum_type *sum)
{
    enum { BLOCK = 128 }; /* floats of a warp's 8 columns */
    const unsigned eights = (unsigned)rows_short / 8, block = group * eights * 4 + threadIdx.x / 32 % 4;
    float *to = (float *)((char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
                ((long long)block * args->schedule.split_k + index) * BLOCK + 4 * (threadIdx.x % 32);
    TSR_UNROLL
    for (int i = 0; i < BN / 8; i++) {
        if (i >= (int)eights)
            break;
        tsr_f32x4 four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(four, j) = tile_float(sum[4 * i + j]);
        tsr_store_f32x4(to, four);
        to += 4 * BLOCK * args->schedule.split_k;
    }
}

/* Lines of a thread that are under way together, so that one latency covers them. */
enum { REDUCE_LINES = 4 };

/* 1 if the thread has line `line` + `i` steps. */
TSR_DEVICE int tile_reduce_has(const tile_reduce *mine, int line, int i)
{
    return line + i * mine->step < mine->end;
}

/* The thread's four elements of its lines from `line` on, added over `size` ranks in their order. */
TSR_DEVICE void tile_reduce_add(const tile_reduce *mine, int line, unsigned rank, unsigned size,
                                float total[REDUCE_LINES][4])
{
    const unsigned on = (unsigned)(line - mine->first) * mine->line_bytes, own = mine->take_at + on;
    const unsigned pitch = (unsigned)mine->step * mine->line_bytes;
    unsigned other = mine->staging_at + on;
    TSR_UNROLL
    for (int i = 0; i < REDUCE_LINES; i++)
        if (tile_reduce_has(mine, line, i))
            tsr_shared_load_f32x4((rank == 0 ? own : other) + (unsigned)i * pitch, total[i]);
    other += rank == 0 ? 0 : mine->slice_bytes;
    TSR_ROLLED
    for (unsigned r = 1; r < size; r++) {
        float more[REDUCE_LINES][4];
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++)
            if (tile_reduce_has(mine, line, i))
                tsr_shared_load_f32x4((r == rank ? own : other) + (unsigned)i * pitch, more[i]);
        other += r == rank ? 0 : mine->slice_bytes;
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++)
            if (tile_reduce_has(mine, line, i))
                TSR_UNROLL
        for (int j = 0; j < 4; j++)
            total[i][j] = tile_add(total[i][j], more[i][j]);
    }
}

#if defined(OUT_any)
/* Adds the rank's lines of the tile over the cluster, and stores them, whatever D is; line 0 of the tile is `row` of D.
 */
TSR_DEVICE void tile_reduce_finish_any(const tile_reduce *mine, const any_scaled *e, long long row, unsigned rank,
                                       unsigned size)
{
    unsigned amax = 0;
    TSR_ROLLED
    for (int line = mine->first; line < mine->end; line += REDUCE_LINES * mine->step) {
        float total[REDUCE_LINES][4];
        tile_reduce_add(mine, line, rank, size, total);
        TSR_ROLLED
        for (int i = 0; tile_reduce_has(mine, line, i) && i < REDUCE_LINES; i++) {
            const long long at = row + line + i * mine->step;
            if (mine->left > 0 && e->out.type == TSR_TYPE_S32)
                any_output(&e->out, at, mine->column, total[0]);
            else if (mine->left > 0)
                any_scaled_output(e, at, mine->column, total[0], &amax);
            TSR_UNROLL
            for (int j = 0; j + 1 < REDUCE_LINES; j++)
                TSR_UNROLL
            for (int k = 0; k < 4; k++)
                total[j][k] = total[j + 1][k];
        }
    }
    any_scaled_close(e->scaling, amax);
}

/* 1 if tile_reduce_finish_quads may be called. */
TSR_DEVICE int tile_reduce_is_quads(const any_scaled *e, const tsr_gemm_args *args)
{
    return e->out.bytes > 1 && (e->out.quads || any_quads_of_c(&e->out, args));
}

/* The same where D takes four neighbours at once, and C gives them so. `columns`: of the thread's, loaded before. */
TSR_DEVICE void tile_reduce_finish_quads(const tile_reduce *mine, const any_scaled *e, const any_columns *columns,
                                         long long row, unsigned rank, unsigned size)
{
    unsigned char *d = mine->d;
    const unsigned char *c = mine->c;
    if (mine->left <= 0)
        return;
    TSR_ROLLED
    for (int line = mine->first; line < mine->end; line += REDUCE_LINES * mine->step) {
        unsigned old[REDUCE_LINES][4] = {{0}};
        float factors[REDUCE_LINES], total[REDUCE_LINES][4];
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++, c += mine->ldc) {
            factors[i] = tile_reduce_has(mine, line, i) ? any_row_factor(e, row + line + i * mine->step) : 0;
            if (e->out.form.reads_c && tile_reduce_has(mine, line, i))
                tsr_load_words(e->out.bytes == 4, c, old[i]); /* floats are made later: that waits for the load */
        }
        tile_reduce_add(mine, line, rank, size, total);
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++, d += mine->ldd)
            if (tile_reduce_has(mine, line, i)) {
                float more[4];
                any_quad_of(e->out.type, old[i], more);
                if (e->out.type == TSR_TYPE_S32)
                    any_store_quad(&e->out, TSR_TYPE_S32, d, more, 0, total[i]);
                else
                    any_scaled_store_quad(e, e->out.type, d, factors[i], columns, more, total[i]);
            }
    }
}
#else
/* The lines of a thread whose values are the sums but for their scale, and leave by fours. */
TSR_DEVICE void tile_reduce_finish_plain(const tile_reduce *mine, int wide, unsigned rank, unsigned size)
{
    unsigned char *d = mine->d;
    TSR_ROLLED
    for (int line = mine->first; line < mine->end; line += REDUCE_LINES * mine->step) {
        float total[REDUCE_LINES][4];
        tile_reduce_add(mine, line, rank, size, total);
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++, d += mine->ldd)
            if (tile_reduce_has(mine, line, i)) {
                float value[4];
                epilogue_scale(&mine->e, 4, total[i], value);
                tile_store_four(wide, d, value);
            }
    }
}

/* Four neighbours of C from `from` on, or as many as there are, as they lie in memory: what makes floats of them would
 * wait for each load. */
TSR_DEVICE void tile_reduce_load_c(const tile_reduce *mine, int wide, const unsigned char *from, unsigned c[4])
{
    if (mine->gives_four)
        tsr_load_words(wide, from, c);
    else
        TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (i < mine->left)
            c[i] = wide ? ((const unsigned *)(const void *)from)[i] : ((const unsigned short *)(const void *)from)[i];
}

/* The same as floats. */
TSR_DEVICE void tile_reduce_c_of(const tile_reduce *mine, int wide, const unsigned bits[4], float c[4])
{
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        const unsigned half = mine->gives_four ? bits[i / 2] >> 16 * (i % 2) : bits[i];
        c[i] = wide ? tsr_f32_of_bits(bits[i]) : tile_widen((unsigned short)half);
    }
}

TSR_DEVICE void tile_reduce_store(const tile_reduce *mine, int wide, unsigned char *to, const float value[4])
{
    if (mine->takes_four)
        tile_store_four(wide, to, value);
    else
        TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (i < mine->left)
            tile_store(wide, to + i * tile_bytes(wide), value[i]);
}

/* The same where C or a bias is added, or elements are stored one by one. */
TSR_DEVICE void tile_reduce_finish_added(const tile_reduce *mine, int wide, unsigned rank, unsigned size)
{
    const int has_form = mine->e.form != TSR_EPILOGUE_NONE;
    unsigned char *d = mine->d;
    const unsigned char *c = mine->c;
    float bias[4] = {0, 0, 0, 0};
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (has_form && i < mine->left)
            bias[i] = tile_load(wide, mine->e.bias + (mine->column + i) * tile_bytes(wide));
    TSR_ROLLED
    for (int line = mine->first; line < mine->end; line += REDUCE_LINES * mine->step) {
        unsigned old[REDUCE_LINES][4] = {{0}};
        float total[REDUCE_LINES][4];
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++, c += mine->ldc)
            if (mine->e.reads_c && tile_reduce_has(mine, line, i))
                tile_reduce_load_c(mine, wide, c, old[i]);
        tile_reduce_add(mine, line, rank, size, total);
        TSR_UNROLL
        for (int i = 0; i < REDUCE_LINES; i++, d += mine->ldd)
            if (tile_reduce_has(mine, line, i)) {
                float value[4];
                epilogue_scale(&mine->e, 4, total[i], value);
                if (mine->e.reads_c) {
                    float more[4];
                    tile_reduce_c_of(mine, wide, old[i], more);
                    epilogue_add_c(&mine->e, 4, more, value);
                }
                if (has_form)
                    epilogue_form(&mine->e, 4, bias, value);
                tile_reduce_store(mine, wide, d, value);
            }
    }
}

/* Adds the rank's lines of the tile over the cluster, and stores them. */
TSR_DEVICE void tile_reduce_finish(const tsr_gemm_args *args, const tile_reduce *mine, unsigned rank, unsigned size)
{
    if (mine->takes_four && !mine->e.reads_c && mine->e.form == TSR_EPILOGUE_NONE)
        tile_reduce_finish_plain(mine, tile_is_wide(args), rank, size);
    else
        tile_reduce_finish_added(mine, tile_is_wide(args), rank, size);
}
#endif

#endif
