/* 2:4 structured sparsity on the host: an operand of which at most two of four neighbours along K are not zero, as the
 * public header lays its compressed form out ("2:4 structured sparsity"). Of f32 that is multiplied in tf32 at most one
 * of two neighbours may be: a case of 2:4, with the same compressed form. */
#ifndef TSR_CORE_SPARSE24_H
#define TSR_CORE_SPARSE24_H

#include <stdint.h>

#include "core/problem.h"

static inline unsigned tsr_sparse24_flag(char which)
{
    return which == 'a' ? TSR_SPARSE24_A : which == 'b' ? TSR_SPARSE24_B : 0;
}

/* An operand as lines along K: rows of op(A), columns of op(B). */
typedef struct tsr_lines24 {
    tsr_dtype dtype;
    long long lines, k;          /* of one matrix */
    long long line_step, k_step; /* elements from line to line, and from k to k + 1 */
    long long matrices, matrix_step;
    int is_1of2; /* the pattern is 1:2: a group of four keeps one element of each half */
} tsr_lines24;

/* Neighbours along K of which at most half may not be zero. */
static inline int tsr_span24(const tsr_lines24 *o)
{
    return o->is_1of2 ? 2 : 4;
}

tsr_lines24 tsr_lines24_of(const tsr_problem *problem, char which);

/* 1 if matrices of this type have a compressed form. */
int tsr_has_sparse24(tsr_dtype dtype);

/* Values that a line keeps, and bytes of its metadata. */
static inline long long tsr_kept24(long long k)
{
    return (k / 4 + (k % 4 != 0)) * 2;
}
static inline long long tsr_indices24_bytes(long long k)
{
    return k / 8 + (k % 8 != 0);
}

/* 1 if the bytes of all forms, and their offsets, fit in 64 bits. */
int tsr_fits24(const tsr_lines24 *o);
/* Bytes of all matrices' values and metadata. */
long long tsr_values24_bytes(const tsr_lines24 *o);
long long tsr_metadata24_bytes(const tsr_lines24 *o);

/* Where the first group lies that breaks a rule. */
typedef struct tsr_group24 {
    long long matrix, line, k; /* its first k */
    int count;                 /* elements that are not zero, or, of metadata, its four bits */
} tsr_group24;

/* 1 if at most half of each tsr_span24 neighbours are not zero; else *first. */
int tsr_keeps24(const tsr_lines24 *o, const void *data, tsr_group24 *first);
/* 1 if the two indices of each group of four ascend and, of 1:2, name one element of each half; else *first. */
int tsr_ascends24(const tsr_lines24 *o, const void *metadata, tsr_group24 *first);

/* Keeps the largest half of each tsr_span24 neighbours; *lost gets the share of the Frobenius norm that went. */
void tsr_drop24(const tsr_lines24 *o, void *data, double *lost);

/* To and from the compressed form of an operand that keeps the pattern. */
void tsr_squeeze24(const tsr_lines24 *o, const void *data, void *values, void *metadata);
void tsr_spread24(const tsr_lines24 *o, const void *values, const void *metadata, void *data);

/* Lines [first, first + count) of matrix `matrix`, spread to `to`: line_step and k_step apart there. */
void tsr_spread24_lines(const tsr_lines24 *o, const void *values, const void *metadata, long long matrix,
                        long long first, long long count, void *to, long long line_step, long long k_step);

/* ---- as kernels read it, sparse24.cu and wgmma_sparse24.cu: types of 16 and 8 bits, and f32 for tf32 ----
 *
 * Lines are padded to a multiple of TSR_LINES24 and K to a multiple of TSR_K24_BYTES, with zeros. A matrix is its
 * values, line by line, and then, for each 16 lines and each tsr_lanes24_k elements along K, the 32 words that the
 * lanes of a warp hold as metadata, which are the same for mma.sp and wgmma.sp (kernels/ptx/mma_sparse.h,
 * wgmma_sparse.h). */
#define TSR_LINES24   128
#define TSR_K24_BYTES 256
#define TSR_LANES24   32 /* words for 16 lines */

/* 64; of f32, which has the metadata of two halves of 16 bits each, 32. */
int tsr_lanes24_k(tsr_dtype dtype);

typedef struct tsr_form24 {
    long long lines, k;            /* padded */
    long long values_bytes, bytes; /* of one matrix: its values, and all of it */
} tsr_form24;

/* Lines of a box of a tile of `bm`, a multiple of 64 or a divisor of TSR_LINES24: a form has all of a box or nothing.
 */
static inline int tsr_box24_lines(int bm)
{
    return TSR_LINES24 % bm == 0 ? bm : bm % TSR_LINES24 == 0 ? TSR_LINES24 : 64;
}

tsr_form24 tsr_form24_of(tsr_dtype dtype, long long lines, long long k);

/* Bytes of one matrix. */
long long tsr_device24_bytes(const tsr_lines24 *o);
/* All matrices, from the compressed form. */
void tsr_device24(const tsr_lines24 *o, const void *values, const void *metadata, void *to);

#endif
