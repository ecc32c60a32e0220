/* Few rows times a bf16 matrix along whose rows K runs, in the order of tiles (tsr_store.steps): squares of 16 rows and
 * 8 pairs of steps are transposed in registers, and nothing is packed. Two squares at a time: each sum waits for its
 * own chain of multiply-adds. */
#ifndef TSR_CPU_ISA_AVX512_STEPS_H
#define TSR_CPU_ISA_AVX512_STEPS_H

#include <immintrin.h>

#include "cpu/isa/avx512_transpose.h"
#include "cpu/isa/micro.h"

enum {
    TSR_SQUARE_ROWS = 16,
    TSR_SQUARE_STEPS = 16,
    TSR_SQUARES = 2,
    TSR_COPIED_BYTES = 256, /* of each row where rows would leave L1 before the second half of a line is read, */
    TSR_COPY_ROW = TSR_COPIED_BYTES + 64 /* to where they do not */
};

/* 16 steps of rows `low` and `high` of a square; of the last ones `steps` exist, and `rows` rows. */
static inline __attribute__((always_inline)) __m512i tsr_bf16_two_rows(const char *matrix, int64_t step_bytes, int low,
                                                                       int high, int rows, int steps, const int whole)
{
    __m256i half[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    const __mmask16 some = (__mmask16)((1u << (unsigned)steps) - 1u);
    if (whole)
        half[0] = _mm256_loadu_si256((const __m256i *)(const void *)(matrix + low * step_bytes));
    else if (low < rows)
        half[0] = _mm256_maskz_loadu_epi16(some, matrix + low * step_bytes);
    if (whole)
        half[1] = _mm256_loadu_si256((const __m256i *)(const void *)(matrix + high * step_bytes));
    else if (high < rows)
        half[1] = _mm256_maskz_loadu_epi16(some, matrix + high * step_bytes);
    return _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
}

/* to[q]: pair q of all 16 rows. */
static inline __attribute__((always_inline)) void tsr_bf16_square(__m512i to[8], const char *matrix, int64_t step_bytes,
                                                                  int rows, int steps, const int whole)
{
    __m512i r[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = tsr_bf16_two_rows(matrix, step_bytes, i < 4 ? i : i + 4, i < 4 ? i + 4 : i + 8, rows, steps, whole);
    tsr_transpose_quarters(r);
    tsr_transpose_quarters(r + 4);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        to[i] = _mm512_shuffle_i64x2(r[i], r[i + 4], 0x88);
        to[i + 4] = _mm512_shuffle_i64x2(r[i], r[i + 4], 0xdd);
    }
}

/* Steps p and on of `squares` squares, at most 16, which lie at `matrix`. */
static inline __attribute__((always_inline)) void tsr_bf16_add_steps(__m512 (*acc)[TSR_STEPS_ROWS],
                                                                     const tsr_many_dots *d, const char *matrix,
                                                                     int64_t step_bytes, int64_t p, int rows, int steps,
                                                                     const int squares, const int few, const int whole)
{
    const int64_t x_row = d->x_row_bytes / (int)sizeof(float);
    const float *const x = (const float *)d->x + p;
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000u);
    __m512i pairs[TSR_SQUARES][8];
#pragma GCC unroll 2
    for (int g = 0; g < squares; g++)
        tsr_bf16_square(pairs[g], matrix + g * TSR_SQUARE_ROWS * step_bytes, step_bytes, rows, steps, whole);
#pragma GCC unroll 8
    for (int q = 0; q < 8; q++) {
        const int is_there = whole || 2 * q < steps, has_later = whole || 2 * q + 1 < steps;
#pragma GCC unroll 2
        for (int g = 0; g < squares && has_later; g++)
#pragma GCC unroll 4
            for (int i = 0; i < few; i++)
                acc[g][i] = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(pairs[g][q], upper)),
                                            _mm512_set1_ps(x[i * x_row + 2 * q + 1]), acc[g][i]);
#pragma GCC unroll 2
        for (int g = 0; g < squares && is_there; g++)
#pragma GCC unroll 4
            for (int i = 0; i < few; i++)
                acc[g][i] = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(pairs[g][q], 16)),
                                            _mm512_set1_ps(x[i * x_row + 2 * q]), acc[g][i]);
    }
}

/* What is asked for ahead: the rows that follow, one after the other, as memory has them. */
typedef struct tsr_bf16_ahead {
    const char *row;
    int64_t at, row_bytes, step_bytes;
} tsr_bf16_ahead;

static inline __attribute__((always_inline)) void tsr_bf16_ask(tsr_bf16_ahead *ahead, int lines)
{
    for (int i = 0; i < lines; i++, ahead->at += 64) {
        if (ahead->at >= ahead->row_bytes) {
            ahead->row += ahead->step_bytes;
            ahead->at = 0;
        }
        __builtin_prefetch(ahead->row + ahead->at, 0, 2);
    }
}

/* TSR_COPIED_BYTES of the rows of all squares. */
static inline __attribute__((always_inline)) void tsr_bf16_copy(char *to, const char *matrix, int64_t step_bytes,
                                                                const int squares)
{
    for (int i = 0; i < squares * TSR_SQUARE_ROWS; i++, to += TSR_COPY_ROW, matrix += step_bytes)
#pragma GCC unroll 4
        for (int line = 0; line < TSR_COPIED_BYTES; line += 64)
            _mm512_store_si512(to + line, _mm512_loadu_si512(matrix + line));
}

/* Sums j and on of `squares` squares, of the last of which `rows` rows exist. */
static inline __attribute__((always_inline)) void tsr_bf16_sum_squares(const tsr_many_dots *d, int64_t j, int rows,
                                                                       const int squares, const int few)
{
    enum { LINES = TSR_SQUARE_ROWS * TSR_SQUARE_STEPS * 2 / 64 }; /* of a square */
    _Alignas(64) char copy[TSR_SQUARES * TSR_SQUARE_ROWS * TSR_COPY_ROW];
    const char *const matrix = (const char *)d->matrix + j * d->step_bytes;
    const __mmask16 some = (__mmask16)((1u << (unsigned)rows) - 1u);
    const int64_t copied =
        d->step_bytes % TSR_CONFLICT_BYTES == 0 ? d->k / (TSR_COPIED_BYTES / 2) * (TSR_COPIED_BYTES / 2) : 0;
    tsr_bf16_ahead ahead = {matrix + squares * TSR_SQUARE_ROWS * d->step_bytes, 0, 2 * d->k, d->step_bytes};
    __m512 acc[TSR_SQUARES][TSR_STEPS_ROWS];
    int64_t p = 0;
#pragma GCC unroll 2
    for (int g = 0; g < squares; g++)
#pragma GCC unroll 4
        for (int i = 0; i < few; i++)
            acc[g][i] = _mm512_setzero_ps();
    if (rows == TSR_SQUARE_ROWS) {
        while (p < copied) {
            tsr_bf16_copy(copy, matrix + 2 * p, d->step_bytes, squares);
            for (int at = 0; at < TSR_COPIED_BYTES; at += 2 * TSR_SQUARE_STEPS, p += TSR_SQUARE_STEPS) {
                tsr_bf16_add_steps(acc, d, copy + at, TSR_COPY_ROW, p, rows, TSR_SQUARE_STEPS, squares, few, 1);
                tsr_bf16_ask(&ahead, squares * LINES);
            }
        }
        for (; p + TSR_SQUARE_STEPS <= d->k; p += TSR_SQUARE_STEPS) {
            tsr_bf16_add_steps(acc, d, matrix + 2 * p, d->step_bytes, p, rows, TSR_SQUARE_STEPS, squares, few, 1);
            tsr_bf16_ask(&ahead, squares * LINES);
        }
    }
    for (; p < d->k; p += TSR_SQUARE_STEPS)
        tsr_bf16_add_steps(acc, d, matrix + 2 * p, d->step_bytes, p, rows,
                           d->k - p < TSR_SQUARE_STEPS ? (int)(d->k - p) : TSR_SQUARE_STEPS, squares, few, 0);
#pragma GCC unroll 2
    for (int g = 0; g < squares; g++)
#pragma GCC unroll 4
        for (int i = 0; i < few; i++)
            _mm512_mask_storeu_ps((char *)d->sum + i * d->sum_step_bytes +
                                      (j + g * TSR_SQUARE_ROWS) * (int64_t)sizeof(float),
                                  some, acc[g][i]);
}

static inline __attribute__((always_inline)) void tsr_bf16_steps_of(const tsr_many_dots *d, const int few)
{
    int64_t j = 0;
    for (; j + TSR_SQUARES * TSR_SQUARE_ROWS <= d->count; j += TSR_SQUARES * TSR_SQUARE_ROWS)
        tsr_bf16_sum_squares(d, j, TSR_SQUARE_ROWS, TSR_SQUARES, few);
    for (; j < d->count; j += TSR_SQUARE_ROWS)
        tsr_bf16_sum_squares(d, j, d->count - j < TSR_SQUARE_ROWS ? (int)(d->count - j) : TSR_SQUARE_ROWS, 1, few);
}

static void tsr_bf16_steps(const tsr_many_dots *d)
{
    switch (d->rows) {
    case 1:
        tsr_bf16_steps_of(d, 1);
        return;
    case 2:
        tsr_bf16_steps_of(d, 2);
        return;
    case 3:
        tsr_bf16_steps_of(d, 3);
        return;
    default:
        tsr_bf16_steps_of(d, TSR_STEPS_ROWS);
    }
}

#endif
