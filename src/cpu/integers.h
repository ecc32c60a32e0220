/* cpu-tiled for 8-bit integers, whose sums are exact modulo 2^32 in any order. */
#ifndef TSR_CPU_INTEGERS_H
#define TSR_CPU_INTEGERS_H

#include "cpu/end.h"
#include "cpu/job.h"
#include "cpu/widen.h"

/* One operand of all problems of the batch: where it lies, and its zero points. */
typedef struct tsr_bytes {
    const uint8_t *at;
    long long batch, ld; /* elements from problem to problem, from stored row to stored row */
    int is_signed;
    const uint8_t *zeros; /* of the operand's type; NULL: none */
    long long zeros_batch, zeros_first;
    int zeros_differ; /* one for each row of A or column of B; else one for all */
} tsr_bytes;

static inline int tsr_byte_value(const tsr_bytes *operand, uint8_t bits)
{
    return operand->is_signed ? (int8_t)bits : bits;
}

/* The zero point of row of A, or column of B, `outer` of problem z. */
static inline int16_t tsr_byte_zero(const tsr_bytes *operand, long long z, long long outer)
{
    const long long at = z * operand->zeros_batch + operand->zeros_first + outer;
    return operand->zeros ? (int16_t)tsr_byte_value(operand, operand->zeros[operand->zeros_differ ? at : 0]) : 0;
}

typedef struct tsr_integer_job {
    const tsr_job *job;
    const tsr_integers *code;
    const tsr_scaling *scaling; /* may be NULL */
    tsr_bytes a, b;
    tsr_dtype dtype_d;
    tsr_widener of_d; /* reads C and the bias, but of s32 */
} tsr_integer_job;

/* Sums that wait to become a part of D. */
typedef struct tsr_integer_end {
    const tsr_integer_job *job;
    tsr_end end;
    const void *c; /* of one problem, element (0, 0); c NULL: not read */
    void *d;
    const float *bias; /* of all columns as f32; NULL: none */
} tsr_integer_end;

/* `bias` has room for N numbers; NULL where there is no bias. */
tsr_integer_end tsr_integer_end_of(const tsr_integer_job *job, long long z, float *bias);
/* D's row i, columns j .. j + n - 1, from its sums. */
void tsr_integer_end_row(const tsr_integer_end *e, long long i, long long j, long long n, const int32_t *sums);

/* The two algorithms, M, N, K above 0. TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_integer_blocks(const tsr_integer_job *job); /* blocked/integer_blocks.c */
tsr_status tsr_integer_few(const tsr_integer_job *job);    /* skinny/integer_few.c: TSR_INTEGER_ROWS rows or columns */

#endif
