/* transpose: copies A, B or both transposed, to rows that begin at multiples of 16 bytes, for kernels that read
 * operands along K alone (kernels/gemm/wgmma_kmajor.cu).
 *
 *      source, 32 * GROUP rows                    shared memory              copy
 *      +--------------------------+               +-------------+            +---------------
 *   rows | lane q loads a word of |   GROUP words | a line is a |  a warp    | row of the copy,
 *   4 g..| GROUP columns from each|   change rows | column of   |  stores a  | 128 bytes
 *      + | of GROUP rows          |   and columns | the source  |  line      |
 *      +--------------------------+               +-------------+            +---------------
 *
 * A word has GROUP elements. Words of a line exchange places by exclusive or with the lane that wrote them, so that
 * neither the columns that are written at once nor the lines that are read lie in one bank.
 *
 *   ELEM_BYTES   1, 2 or 4     CTAS   that an SM should hold
 *
 * Arguments: tsr_copy_args; the rows of a copy are the columns of the operand as stored.
 * Assumes: to_lda, to_ldb, to_batch_a, to_batch_b and the copies are multiples of 16 bytes; M, N, K below 2^31.
 * Bound by: device memory, or L2 where the operands fit there. */
#define TSR_SHARED_ALIGN 128
#define TSR_ARGS         tsr_copy_args

#include "core/copy_args.h"
#include "prep/element.h"
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/shared.h"

enum { THREADS = 256, WARPS = THREADS / 32, GROUP = 4 / ELEM_BYTES, TILE = 32 * GROUP, EACH = 32 / WARPS };

/* One operand, as it is stored and as it will be. */
typedef struct matrix {
    const elem *from;
    unsigned *to;
    long long ld, batch_stride, pitch_words, to_batch_words;
    int rows, columns; /* of the source */
    int padded;        /* elements of a row of the copy that are written: rows, and zeros to a multiple of 16 bytes */
    long long tiles_down, tiles, problems;
} matrix;

TSR_DEVICE matrix matrix_of(const void *from, const void *to, long long rows, long long columns, long long ld,
                            long long pitch, long long batch, long long batch_stride, long long to_batch_stride)
{
    matrix x;
    x.from = (const elem *)from;
    x.to = (unsigned *)to;
    x.ld = ld;
    x.batch_stride = batch_stride;
    x.pitch_words = pitch / GROUP;
    x.to_batch_words = to_batch_stride / GROUP;
    x.rows = (int)rows;
    x.columns = (int)columns;
    x.padded = (int)(rows + 16 / ELEM_BYTES - 1) / (16 / ELEM_BYTES) * (16 / ELEM_BYTES);
    x.tiles_down = (rows + TILE - 1) / TILE;
    x.tiles = x.tiles_down * ((columns + TILE - 1) / TILE);
    x.problems = batch_stride == 0 ? 1 : batch;
    return x;
}

/* GROUP neighbours of a row from `column` on, zeros where the matrix ends. */
TSR_DEVICE unsigned load_word(const matrix *x, const elem *problem, int row, int column)
{
    const elem *const from = problem + row * x->ld + column;
    unsigned word = 0;
    if (row >= x->rows || column >= x->columns)
        return 0;
    if (column + GROUP <= x->columns && (unsigned long long)from % 4 == 0)
        return *(const unsigned *)(const void *)from;
    TSR_UNROLL
    for (int i = 0; i < GROUP; i++)
        if (column + i < x->columns)
            word |= (unsigned)from[i] << (8 * ELEM_BYTES * i);
    return word;
}

/* Element `i` of a word. */
TSR_DEVICE unsigned element_of(unsigned word, int i)
{
    return GROUP == 1 ? word : word >> (8 * ELEM_BYTES * i) & ((1u << (8 * ELEM_BYTES % 32)) - 1);
}

TSR_DEVICE void copy_tile(const matrix *x, long long index, unsigned shared)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const long long z = index / x->tiles, tile = index - z * x->tiles;
    const int row0 = (int)(tile % x->tiles_down) * TILE, column0 = (int)(tile / x->tiles_down) * TILE;
    const elem *const problem = x->from + z * x->batch_stride;
    unsigned word[EACH][GROUP];
    TSR_UNROLL
    for (int i = 0; i < EACH; i++)
        TSR_UNROLL
    for (int g = 0; g < GROUP; g++)
        word[i][g] = load_word(x, problem, row0 + (warp + i * WARPS) * GROUP + g, column0 + lane * GROUP);
    tsr_barrier(); /* the tile before has left */
    TSR_UNROLL
    for (int i = 0; i < EACH; i++)
        TSR_UNROLL
    for (int j = 0; j < GROUP; j++) {
        unsigned packed = 0;
        TSR_UNROLL
        for (int g = 0; g < GROUP; g++)
            packed |= element_of(word[i][g], j) << (8 * ELEM_BYTES * g);
        tsr_shared_store_u32(shared + (unsigned)((lane * GROUP + j) * 32 + ((warp + i * WARPS) ^ lane)) * 4, packed);
    }
    tsr_barrier();
    TSR_UNROLL
    for (int i = 0; i < TILE / WARPS; i++) {
        const int line = warp + i * WARPS;
        if (column0 + line < x->columns && row0 + lane * GROUP < x->padded)
            x->to[z * x->to_batch_words + (column0 + line) * x->pitch_words + row0 / GROUP + lane] =
                tsr_shared_load_u32(shared + (unsigned)(line * 32 + (lane ^ (line / GROUP))) * 4);
    }
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    /* One operand for each y; the first is A unless only B is copied. */
    const int is_a = args.a && blockIdx.y == 0;
    const matrix x = is_a ? matrix_of(args.a, args.to_a, args.trans_a ? args.k : args.m, args.trans_a ? args.m : args.k,
                                      args.lda, args.to_lda, args.batch, args.batch_a, args.to_batch_a)
                          : matrix_of(args.b, args.to_b, args.trans_b ? args.n : args.k, args.trans_b ? args.k : args.n,
                                      args.ldb, args.to_ldb, args.batch, args.batch_b, args.to_batch_b);
    const unsigned shared = tsr_shared_address(TSR_SHARED);
    tsr_grid_launch_dependents();
    tsr_grid_wait();
    for (long long index = blockIdx.x; index < x.tiles * x.problems; index += gridDim.x)
        copy_tile(&x, index, shared);
}
