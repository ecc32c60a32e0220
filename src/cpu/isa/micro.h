/* All that is written once for each instruction set: register tiles, packing, matrix-vector loops. A tsr_isa is one
 * instruction set; cpuid decides at run time which is used. The loops around these (blocked/blocked.c,
 * skinny/few_rows.c) know nothing of element types: they move by bytes. */
#ifndef TSR_CPU_ISA_MICRO_H
#define TSR_CPU_ISA_MICRO_H

#include <stddef.h>
#include <stdint.h>

#include "core/epilogue.h"
#include "tessera.h"

/* One register tile: D[i][j] = alpha * sum over p of A[i][p] * B[p][j] + beta * C[i][j], j < n. The sum starts at zero
 * and runs in the order of p, one multiply-add a step, so that all tiles of one instruction set give an element the
 * same bits, wherever in a tile it falls. Steps are in bytes, so that packed panels and the caller's matrices look
 * alike. */
typedef struct tsr_micro {
    int64_t k; /* > 0 */
    const void *a;
    int64_t a_row_bytes, a_k_bytes; /* from A[i][p] to A[i + 1][p], to A[i][p + 1] */
    const void *b;
    int64_t b_k_bytes; /* from B[p][j] to B[p + 1][j]; B[p][j + 1] is the next element */
    const void *c;     /* not read when beta is 0 */
    int64_t c_row_bytes;
    void *d;
    int64_t d_row_bytes;
    double alpha, beta;
    int n;           /* columns, 1 .. vectors * lanes */
    int fetch;       /* D is not in L1: fetch its lines while the last steps run, or */
    int ahead_bytes; /* those of a tile that comes so much later in the same rows */
    int past_cache;  /* beta is 0: whole tiles are written past the caches; whole vectors of D are aligned;
                      * TSR_STREAM_END  follows */
} tsr_micro;

typedef void tsr_micro_run(const tsr_micro *tile);

/* Up to TSR_NARROW_COLUMNS columns of `rows` rows of D, from rows of A in which K runs along: a_k_bytes is an
 * element's. B is packed, in rows of 4 or, beyond 4 columns, 8 elements. The bits of tiles. `rows` is at least two
 * vectors' lanes: the last block begins early, among rows that others have, where rows do not fill its vectors. */
#define TSR_NARROW_COLUMNS 8
typedef void tsr_narrow_run(const tsr_micro *tile, int64_t rows);

/* Ends a run of tsr_rank_k_run, or of tiles: what they wrote is seen before what is written next. */
#if defined(__x86_64__)
#define TSR_STREAMS      1 /* there are stores past the caches */
#define TSR_STREAM_END() __builtin_ia32_sfence()
#else
#define TSR_STREAMS      0
#define TSR_STREAM_END() ((void)0)
#endif

/* Packs a panel: to[p * width + j] = from(p, j) for p < k, j < n, in the compute type; what the rest of a row
 * holds is not read.
 * In pack_rows from(p, j) is element j of the row at from + p * step_bytes; in pack_columns it is element p of the row
 * at from + j * step_bytes. */
typedef void tsr_pack_run(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes);

/* k up to which pack_columns gathers elements, where it can, rather than transpose squares of them. */
#define TSR_GATHERED 4

/* `count` dot products, in the compute type: sum[i] = sum over p of matrix(i, p) * x[p], row i at
 * matrix + i * step_bytes; x is contiguous, of the stored type. */
typedef struct tsr_dots {
    int64_t count, k;
    const void *matrix;
    int64_t step_bytes;
    const void *x;
    void *sum;
    int zen4; /* 1: the matrix comes from memory, to a Zen 4 (tsr_cpu_is_zen4) */
} tsr_dots;

typedef void tsr_dots_run(const tsr_dots *dots);

/* The same with several x, of the compute type as the matrix is: sum(i, r) = sum over p of matrix(i, p) * x(r, p), x(r,
 * p) at x + r * x_row_bytes, the sums at sum + i * sum_row_bytes + r * sum_step_bytes. */
#define TSR_DOTS_ROWS 48 /* x, at most */
#define TSR_NEAR_ROWS 8  /* with so few, sums of a matrix in a cache stay in registers */

typedef struct tsr_many_dots {
    int64_t count, k;
    const void *matrix;
    int64_t step_bytes;
    int rows;
    const void *x;
    int64_t x_row_bytes;
    void *sum;
    int64_t sum_row_bytes, sum_step_bytes;
    int in_step; /* 1: a step of K is in the same lane for any number of rows, so that sums do not depend on it */
    int zen4;    /* as in tsr_dots */
} tsr_many_dots;

typedef void tsr_many_dots_run(const tsr_many_dots *dots);

/* tsr_store.steps: such sums in the order of tiles, one step of K after the other (of each two, where the instruction
 * set has pairs of them, the later first). The matrix is of the stored type, and is transposed in registers, a square
 * at a time. sum_row_bytes is an element's. */
#define TSR_STEPS_ROWS 4 /* x, at most */

#define TSR_CONFLICT_BYTES 2048 /* rows that lie a multiple of this apart push each other's lines out of L1 */

/* Adds `k` rows of a matrix, row p at matrix + p * step_bytes, to `rows` rows of sums of `count` elements:
 * sum(i, j) += x(i, p) * matrix(p, j), in the order of p. The sums and x are of the compute
 * type; x lies in groups of TSR_GROUP steps: x(i, p) at (p / TSR_GROUP * rows + i) * TSR_GROUP + p % TSR_GROUP. */
typedef struct tsr_update {
    int64_t count;
    int rows, k;
    const void *matrix;
    int64_t step_bytes;
    const void *next; /* the columns of the rows that will be read after these, or of any others */
    const void *x;
    void *sum;
    int64_t sum_step_bytes;
    int zen4; /* as in tsr_dots */
} tsr_update;

#define TSR_GROUP      8
#define TSR_FEWER_ROWS 16 /* with more, arithmetic is the limit, not reading the matrix; `next` is for those */

typedef void tsr_update_run(const tsr_update *update);

/* sum(i, j) = sum over p of x(i, p) * matrix(p, j), j < count, for so few i and j (tsr_is_chains) that one chain of
 * multiply-adds for each would wait for itself: each vector of sums has several chains, which are added up every
 * TSR_CHAINS_STEPS steps. Rows of the matrix follow at step_bytes; elements are not widened. */
#define TSR_CHAINS_STEPS   128
#define TSR_CHAINS_VECTORS 4 /* of sums, at most, of 64 bytes */

typedef struct tsr_chains {
    int64_t count, k;
    int rows;
    const void *matrix;
    int64_t step_bytes;
    const void *x;
    int64_t x_row_bytes, x_step_bytes; /* from x(i, p) to x(i + 1, p), to x(i, p + 1) */
    void *sum;
    int64_t sum_row_bytes;
} tsr_chains;

typedef void tsr_chains_run(const tsr_chains *chains);

/* D[j] = alpha * sum[j] + beta * C[j], j < n, rounded to the stored type once; C is not read when beta is 0. */
typedef void tsr_finish_run(void *d, const void *c, double alpha, double beta, const void *sum, int64_t n);
/* The same in a form (tsr_epilogue, not NONE) with the bias of these columns, of the stored type. `sum` may be `d`
 * where elements are not widened. */
typedef void tsr_finish_form_run(void *d, const void *c, double alpha, double beta, const void *sum, int64_t n,
                                 const void *bias, int epilogue);

/* A product of few steps: D[i][j] = alpha * sum over p < k of A[i][p] * B[p][j], j < n; A and B are of the compute
 * type. Either a_k_bytes or a_row_bytes is an element's. The bits of tiles. */
#define TSR_RANK_K_STEPS      8 /* more only where elements are not widened, and D not past the caches */
#define TSR_RANK_K_ROWS       4 /* at once */
#define TSR_RANK_K_DOWN_STEPS 4 /* from 2 on; instruction sets with tiles that write D transposed have code for it */

typedef struct tsr_rank_k {
    int64_t rows, n;
    int k;
    int past_cache;      /* D is written past the caches where the processor can; a_k_bytes is an element's then */
    int one_by_one;      /* because rows of D do not begin at the same place of a vector, past the caches */
    int down;            /* two vectors of D at most, TSR_RANK_K_DOWN_STEPS at most, which A's columns have */
    int64_t ahead_bytes; /* 0, or D is not in L1: fetch its lines so far ahead */
    double alpha;
    const void *a;
    int64_t a_row_bytes, a_k_bytes;
    const void *b;
    int64_t b_k_bytes;
    void *d;
    int64_t d_row_bytes;
} tsr_rank_k;

/* How far, where a row of D has so many bytes: to the next four, or within long ones. */
static inline int64_t tsr_rank_k_ahead(int64_t row_bytes)
{
    return row_bytes <= 2048 ? TSR_RANK_K_ROWS * row_bytes : 512;
}

typedef void tsr_rank_k_run(const tsr_rank_k *rows);

/* What depends on how elements are stored. */
typedef struct tsr_store {
    tsr_pack_run *pack_rows, *pack_columns;
    tsr_dots_run *dots;
    tsr_dots_run *dots_in_step;   /* with the sums of many_dots, in_step; x is of the compute type */
    tsr_many_dots_run *many_dots; /* NULL where elements are widened */
    tsr_chains_run *chains;       /* the same */
    tsr_update_run *update;
    tsr_finish_run *finish;
    tsr_finish_form_run *finish_form;
    tsr_rank_k_run *rank_k;
    tsr_many_dots_run *steps; /* the order of tiles; NULL: none */
} tsr_store;

/* The row of a type that store_tmpl.h made under the names prefix_... */
#define TSR_STORE(prefix, many_dots, chains, steps)                                                         \
    {                                                                                                       \
        prefix##_pack_rows, prefix##_pack_columns, prefix##_dots, prefix##_dots_in_step, many_dots, chains, \
            prefix##_update, prefix##_finish, prefix##_finish_form, prefix##_rank_k, steps                  \
    }

#define TSR_TILE_VECTORS 3  /* columns of the widest tile, in vectors */
#define TSR_TILE_ROWS    16 /* rows of the highest */

/* Tiles of one width, by rows - 1; with the last vector whole or partly used. */
typedef tsr_micro_run *const tsr_tiles_of_width[2][TSR_TILE_ROWS];

/* The register tiles of one compute type. */
typedef struct tsr_tiles {
    int mr, nr;                      /* rows and columns of the tile that packed panels are for: two vectors wide */
    int lanes;                       /* elements of a vector */
    int kc;                          /* steps of K between two write-backs, see docs/CPU.md */
    int rows[TSR_TILE_VECTORS];      /* the highest tile of each width; rows[1] is mr */
    const tsr_tiles_of_width *width; /* by vectors - 1 */
    tsr_micro_run *const *half; /* for half a vector of columns at most, by rows - 1, as high as rows[0], where that
                                 * takes half as long; else NULL */
    const struct tsr_tiles *transposed; /* tiles that write the sum of row i and column j to D[j][i]; NULL: none */
    tsr_narrow_run *narrow;             /* NULL: none */
} tsr_tiles;

/* Products of bf16 elements two steps of K at a time: tiles and packing of panels whose 32-bit lanes hold the elements
 * of steps 2p (lower half) and 2p + 1 (upper half, 0 past the end), as they lie in memory where K runs along it. The
 * later of two steps is added first. Subnormals count as zeros. */
typedef struct tsr_pairs {
    tsr_tiles tiles;  /* tsr_micro.k counts pairs; D and C are f32 */
    tsr_tiles narrow; /* the same, D and C are bf16 */
    /* As tsr_pack_run, and give what `lowest` gives for the elements packed. */
    unsigned (*pack_rows)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes);
    unsigned (*pack_columns)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes);
    /* The smallest magnitude, as stored, of the elements of a matrix that are not zero, less 1; 0xffff: all are. */
    unsigned (*lowest)(const void *matrix, long long rows, long long columns, long long row_bytes);
} tsr_pairs;

#define TSR_PAIRS_KC 4096 /* steps of K between two write-backs of bf16 products, see docs/CPU.md */

/* 1 if no product of elements of A and B, no sum of such products, and no element itself is subnormal: with exponents
 * that add to this, products are multiples of the smallest normal number, and so are all sums: the exponents' bias
 * twice, less 126, plus the 14 bits of a product below its first. */
static inline int tsr_pairs_are_exact(unsigned lowest_a, unsigned lowest_b)
{
    enum { LEAST = 254 - 126 + 14, NORMAL = 0x80 };
    return (lowest_a == 0xffff || lowest_a + 1 >= NORMAL) && (lowest_b == 0xffff || lowest_b + 1 >= NORMAL) &&
           (lowest_a == 0xffff || lowest_b == 0xffff || (lowest_a + 1) / NORMAL + (lowest_b + 1) / NORMAL >= LEAST);
}

/* Products of 8-bit integers, modulo 2^32. Operands are widened to 16 bits while they are packed, two neighbours along
 * K to a 32-bit lane, which one multiply-add takes together. What a lane holds, and in which order a vector has them,
 * is the instruction set's own affair. `is_signed` tells s8 from u8. A last step without a neighbour has 0 there.
 *
 * Packed panels are as tsr_pack_run has them, but in pairs; those as wide as tiles.nr are of B, others of A. `n`
 * elements of a row of A or B may be read, which may be more than the panel takes; vectors are written whole, up to
 * TSR_INTEGER_SLACK bytes past the panel. */
#define TSR_INTEGER_SLACK 64

typedef void tsr_integer_pack_run(int16_t *to, int width, long long n, int64_t k, const void *from, int64_t step_bytes,
                                  int is_signed);

/* Few rows times a matrix: sum(i, j) += sum over p < k of x(i, p) * matrix(p, j), j < count, i < rows; x is in rows as
 * widen_rows leaves them, x_row elements apart, and so are the sums, whose rows are whole vectors. */
#define TSR_INTEGER_ROWS 4 /* at most */

typedef struct tsr_integer_rows {
    int64_t count, k;
    int rows, is_signed;
    const void *matrix;
    int64_t step_bytes; /* `updates`: from step to step of K, with neighbours along a row of D; `dots`: from one of
                         * `count` to the next, with neighbours along K */
    const int16_t *x;
    int64_t x_row;
    int32_t *sum;
    int64_t sum_row;
} tsr_integer_rows;

/* The same by products of u8 by s8, four neighbours along K to a 32-bit lane, which one multiply-add takes together.
 * Bytes of the other sign have their sign bit flipped, an offset of 128; sums of rows and columns compensate for it.
 * Packed panels are as those of pairs, in groups of four steps; zeros fill up the last. `n` elements of a row may be
 * read; vectors are written whole, up to TSR_INTEGER_SLACK bytes past the panel. */
typedef void tsr_quads_pack_run(uint8_t *to, int width, long long n, int64_t k, const void *from, int64_t step_bytes,
                                int flip);

/* What becomes of a row of sums: y and sums_b are those of its columns; NULL: zeros. */
typedef struct tsr_quads_end {
    const uint32_t *y, *sums_b;
    uint32_t sum_a, x, alpha, beta;
} tsr_quads_end;

typedef struct tsr_quads {
    tsr_tiles tiles; /* tsr_micro.k counts groups of four; A is u8, B is s8 */
    tsr_quads_pack_run *pack_rows, *pack_columns;
    /* Rows along K as they lie, to_row bytes apart, which is at least k rounded up to 64; those are filled up. */
    void (*copy_rows)(uint8_t *to, int64_t to_row, int64_t rows, int64_t k, const void *from, int64_t step_bytes,
                      int flip);
    /* Adds the bytes of rows that copy_rows wrote, which are u8; of the n columns of a packed panel, u8 or s8. */
    void (*add_rows)(uint32_t *sums, int64_t rows, int64_t k, const uint8_t *copied, int64_t row_bytes);
    void (*add_panel)(uint32_t *sums, int n, int width, int64_t k, const uint8_t *panel, int is_signed);
    /* to[j] = alpha * (sums[j] - y[j] * sum_a - x * sums_b[j]) + beta * c[j], modulo 2^32; c NULL: without. `to` may be
     * `sums`. */
    void (*finish)(const tsr_quads_end *end, uint32_t *to, const uint32_t *c, const uint32_t *sums, int64_t n);
} tsr_quads;

typedef struct tsr_integers {
    const tsr_quads *quads; /* NULL: none */
    tsr_tiles tiles;        /* tsr_micro.k counts pairs; D and C are 32-bit integers, alpha and beta whole numbers */
    tsr_integer_pack_run *pack_rows, *pack_columns;
    /* Rows along K as they lie, to_row elements apart, which is at least k rounded up to whole vectors; those are
     * filled up with zeros. Tiles read a pair of row i at to + i * to_row + p. */
    void (*widen_rows)(int16_t *to, int64_t to_row, int64_t rows, int64_t k, const void *from, int64_t step_bytes,
                       int is_signed);
    void (*updates)(const tsr_integer_rows *rows);
    void (*dots)(const tsr_integer_rows *rows); /* sums are set, not added to */
    /* to[j] = factor * columns[j] * sum[j] in f32, in this order; columns NULL: factor * sum[j]. */
    void (*scale)(float *to, const int32_t *sum, int64_t n, float factor, const float *columns);
} tsr_integers;

typedef struct tsr_isa {
    const char *name;                 /* "avx512" */
    int zen4;                         /* 1: as a Zen 4 likes it best (tsr_cpu_is_zen4); the same bits */
    tsr_tiles f32, f64;               /* by compute type */
    tsr_store store[TSR_DTYPE_COUNT]; /* by stored type; zeros where there is none */
    const tsr_pairs *pairs;           /* for bf16, where the processor has it; see tsr_isa_pairs. Without it too, bf16
                                       * is summed in the order of pairs */
    const tsr_integers *integers;     /* for s8 and u8, */
    const tsr_integers *vnni;         /* and where the processor has it; see tsr_isa_integers */
} tsr_isa;

/* Vectors that hold so many columns, of a tile. */
static inline int tsr_vectors_of(const tsr_tiles *tiles, long long columns)
{
    return columns > 2 * tiles->lanes ? 3 : columns > tiles->lanes ? 2 : 1;
}

/* The tiles for 1 .. 3 * lanes columns, by rows - 1. */
static inline tsr_micro_run *const *tsr_tiles_across(const tsr_tiles *tiles, long long columns)
{
    const int vectors = tsr_vectors_of(tiles, columns);
    return tiles->half && 2 * columns <= tiles->lanes ? tiles->half
                                                      : tiles->width[vectors - 1][columns != vectors * tiles->lanes];
}

/* The tile for rows x columns, 1 .. tiles->rows[vectors - 1] and 1 .. 3 * lanes. */
static inline tsr_micro_run *tsr_tile_of(const tsr_tiles *tiles, long long rows, long long columns)
{
    return tsr_tiles_across(tiles, columns)[rows - 1];
}

/* All instruction sets of this build, the best first, NULL at the end; the last one runs everywhere. */
const tsr_isa *const *tsr_isa_all(void);
/* 1 if this processor and its system can run it. */
int tsr_isa_runs(const tsr_isa *isa);
/* The first that runs; one for a Zen 4 only there. */
const tsr_isa *tsr_isa_best(void);
/* isa->pairs if this processor can run them, else NULL. */
const tsr_pairs *tsr_isa_pairs(const tsr_isa *isa);
/* isa->vnni if this processor can run it, else isa->integers: the same bits. */
const tsr_integers *tsr_isa_integers(const tsr_isa *isa);
/* By name; NULL if this build or this processor lacks it. */
const tsr_isa *tsr_isa_find(const char *name);

#endif
