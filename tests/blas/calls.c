/* libtessera_blas, linked: every exported name, both widths of integers, both orders, batches, errors, overlapping
 * operands, and what must not be read. Fortran's and cblas' error handlers here are the program's own and must win. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/blas/names.h"

/* ---- the program's handlers ---- */

static struct {
    int calls, info;
    char routine[40];
    jmp_buf *leave; /* where handlers go rather than return, as R's and Octave's do; NULL: they return */
} heard;

static void hear(const char *routine, size_t length, long long info)
{
    heard.calls++;
    heard.info = (int)info;
    snprintf(heard.routine, sizeof heard.routine, "%.*s", (int)length, routine);
    if (heard.leave)
        longjmp(*heard.leave, 1);
}

#define EXPORT __attribute__((visibility("default")))
#ifdef AS_NETLIB
/* Netlib's cblas: row-major calls tell its handlers so, which exchange the arguments of any gemm. */
extern int RowMajorStrg;
EXPORT int RowMajorStrg;

static long long exchanged(const char *routine, long long info)
{
    if (!RowMajorStrg || !strstr(routine, "gemm"))
        return info;
    return info == 4 ? 5 : info == 5 ? 4 : info == 9 ? 11 : info == 11 ? 9 : info;
}
#else
static long long exchanged(const char *routine, long long info)
{
    (void)routine;
    return info;
}
#endif
#define FORTRAN_HANDLER(symbol, type)                                         \
    EXPORT void symbol(const char *routine, const type *info, size_t length); \
    EXPORT void symbol(const char *routine, const type *info, size_t length)  \
    {                                                                         \
        hear(routine, length, *info);                                         \
    }
#define C_HANDLER(symbol, type)                                                 \
    EXPORT void symbol(type info, const char *routine, const char *words, ...); \
    EXPORT void symbol(type info, const char *routine, const char *words, ...)  \
    {                                                                           \
        (void)words;                                                            \
        hear(routine, strlen(routine), exchanged(routine, info));               \
    }
FORTRAN_HANDLER(xerbla_, int32_t)
FORTRAN_HANDLER(xerbla_64_, int64_t)
FORTRAN_HANDLER(scipy_xerbla_, int32_t)
FORTRAN_HANDLER(scipy_xerbla_64_, int64_t)
C_HANDLER(cblas_xerbla, int32_t)
C_HANDLER(cblas_xerbla_64, int64_t)
C_HANDLER(cblas_xerbla64_, int64_t)
C_HANDLER(scipy_cblas_xerbla, int32_t)
C_HANDLER(scipy_cblas_xerbla64_, int64_t)

/* ---- the same call through every name ---- */

typedef struct problem {
    int row_major;
    char trans_a, trans_b;
    long long m, n, k, lda, ldb, ldc;
    double alpha, beta;
} problem;

enum { MOST = 4096 };
typedef struct operands {
    float a32[MOST], b32[MOST], c32[MOST];
    double a64[MOST], b64[MOST], c64[MOST];
} operands;

static int number_of(char trans)
{
    return trans == 'n' || trans == 'N' ? 111 : trans == 't' || trans == 'T' ? 112 : trans == '?' ? 7 : 113;
}

static void call_fortran(const blas_name *name, const problem *p, operands *o)
{
    const int32_t m = (int32_t)p->m, n = (int32_t)p->n, k = (int32_t)p->k;
    const int32_t lda = (int32_t)p->lda, ldb = (int32_t)p->ldb, ldc = (int32_t)p->ldc;
    const int64_t m64 = p->m, n64 = p->n, k64 = p->k, lda64 = p->lda, ldb64 = p->ldb, ldc64 = p->ldc;
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    if (name->kind == FORTRAN_S32)
        name->call.s32(&p->trans_a, &p->trans_b, &m, &n, &k, &alpha, o->a32, &lda, o->b32, &ldb, &beta, o->c32, &ldc);
    else if (name->kind == FORTRAN_D32)
        name->call.d32(&p->trans_a, &p->trans_b, &m, &n, &k, &p->alpha, o->a64, &lda, o->b64, &ldb, &p->beta, o->c64,
                       &ldc);
    else if (name->kind == FORTRAN_S64)
        name->call.s64(&p->trans_a, &p->trans_b, &m64, &n64, &k64, &alpha, o->a32, &lda64, o->b32, &ldb64, &beta,
                       o->c32, &ldc64);
    else
        name->call.d64(&p->trans_a, &p->trans_b, &m64, &n64, &k64, &p->alpha, o->a64, &lda64, o->b64, &ldb64, &p->beta,
                       o->c64, &ldc64);
}

static void call_c(const blas_name *name, const problem *p, operands *o)
{
    const int order = p->row_major < 0 ? 5 : p->row_major ? 101 : 102;
    const int op_a = number_of(p->trans_a), op_b = number_of(p->trans_b);
    const int32_t m = (int32_t)p->m, n = (int32_t)p->n, k = (int32_t)p->k;
    const int32_t lda = (int32_t)p->lda, ldb = (int32_t)p->ldb, ldc = (int32_t)p->ldc;
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    if (name->kind == C_S32)
        name->call.cs32(order, op_a, op_b, m, n, k, alpha, o->a32, lda, o->b32, ldb, beta, o->c32, ldc);
    else if (name->kind == C_D32)
        name->call.cd32(order, op_a, op_b, m, n, k, p->alpha, o->a64, lda, o->b64, ldb, p->beta, o->c64, ldc);
    else if (name->kind == C_S64)
        name->call.cs64(order, op_a, op_b, p->m, p->n, p->k, alpha, o->a32, p->lda, o->b32, p->ldb, beta, o->c32,
                        p->ldc);
    else
        name->call.cd64(order, op_a, op_b, p->m, p->n, p->k, p->alpha, o->a64, p->lda, o->b64, p->ldb, p->beta, o->c64,
                        p->ldc);
}

static int is_c(const blas_name *name)
{
    return name->kind >= C_S32;
}

static void call(const blas_name *name, const problem *p, operands *o)
{
    if (is_c(name))
        call_c(name, p, o);
    else
        call_fortran(name, p, o);
}

/* Small integers, so that every sum is exact in both types. */
static void fill(operands *o)
{
    for (int i = 0; i < MOST; i++) {
        o->a64[i] = (double)(i * 7 % 13) - 6;
        o->b64[i] = (double)(i * 5 % 11) - 5;
        o->c64[i] = (double)(i * 3 % 17) - 8;
        o->a32[i] = (float)o->a64[i];
        o->b32[i] = (float)o->b64[i];
        o->c32[i] = (float)o->c64[i];
    }
}

static double element(const double *x, long long ld, int row_major, char trans, long long i, long long j)
{
    const int flip = number_of(trans) != 111;
    const long long row = flip ? j : i, column = flip ? i : j;
    return row_major ? x[row * ld + column] : x[column * ld + row];
}

static void check_result(const blas_name *name, const problem *p, const operands *before, const operands *after)
{
    const int row_major = is_c(name) && p->row_major, is_double = name->kind % 2;
    double expected[MOST];
    memcpy(expected, before->c64, sizeof expected);
    for (long long i = 0; i < p->m; i++)
        for (long long j = 0; j < p->n; j++) {
            double sum = 0;
            for (long long l = 0; l < p->k; l++)
                sum += element(before->a64, p->lda, row_major, p->trans_a, i, l) *
                       element(before->b64, p->ldb, row_major, p->trans_b, l, j);
            double *c = &expected[row_major ? i * p->ldc + j : j * p->ldc + i];
            *c = p->alpha * sum + p->beta * *c;
        }
    for (int i = 0; i < MOST; i++)
        if ((is_double ? after->c64[i] : (double)after->c32[i]) != expected[i])
            fail_msg("%s %c%c: C[%d] is %g, not %g", name->symbol, p->trans_a, p->trans_b, i,
                     is_double ? after->c64[i] : (double)after->c32[i], expected[i]);
}

static void every_name_computes(void **state)
{
    (void)state;
    static operands before, after;
    fill(&before);
    for (size_t i = 0; i < blas_name_count; i++)
        for (const char *ta = "nNtTcC"; *ta; ta++)
            for (const char *tb = "nTc"; *tb; tb++)
                for (int row_major = 0; row_major < 2; row_major++) {
                    problem p = {row_major, *ta, *tb, 9, 7, 17, 33, 34, 35, 2, 0.5};
                    after = before;
                    call(&blas_names[i], &p, &after);
                    check_result(&blas_names[i], &p, &before, &after);
                }
    assert_int_equal(heard.calls, 0);
}

/* ---- wrong arguments, in the reference's order ---- */

typedef struct wrong {
    problem p;
    int fortran, c; /* the places that handlers are told; 0: no such call */
} wrong;

static const wrong wrongs[] = {
    {{0, '?', '?', -1, -1, -1, 0, 0, 0, 1, 0}, 1, 2}, {{0, 'n', '?', -1, -1, -1, 0, 0, 0, 1, 0}, 2, 3},
    {{0, 'n', 'n', -1, -1, -1, 0, 0, 0, 1, 0}, 3, 4}, {{0, 'n', 'n', 2, -1, -1, 0, 0, 0, 1, 0}, 4, 5},
    {{0, 'n', 'n', 2, 3, -1, 0, 0, 0, 1, 0}, 5, 6},   {{0, 'n', 'n', 2, 3, 4, 1, 0, 0, 1, 0}, 8, 9},
    {{0, 't', 'n', 2, 3, 4, 3, 0, 0, 1, 0}, 8, 9},    {{0, 'n', 'n', 2, 3, 4, 2, 3, 0, 1, 0}, 10, 11},
    {{0, 'n', 'c', 2, 3, 4, 2, 2, 0, 1, 0}, 10, 11},  {{0, 'n', 'n', 2, 3, 4, 2, 4, 1, 1, 0}, 13, 14},
    {{0, 'n', 'n', 0, 0, 0, 0, 1, 1, 1, 0}, 8, 9},    {{1, 'n', 'n', -1, 3, 4, 4, 3, 3, 1, 0}, 0, 4},
    {{1, 'n', 'n', -1, -1, 4, 4, 3, 3, 1, 0}, 0, 5},  {{1, 'n', 'n', 2, 3, 4, 3, 2, 3, 1, 0}, 0, 11},
    {{1, 'n', 'n', 2, 3, 4, 3, 3, 3, 1, 0}, 0, 9},    {{1, 'n', 't', 2, 3, 4, 4, 3, 3, 1, 0}, 0, 11},
    {{1, 'n', 'n', 2, 3, 4, 4, 3, 2, 1, 0}, 0, 14},   {{-1, '?', '?', -1, -1, -1, 0, 0, 0, 1, 0}, 0, 1},
};

static void wrong_arguments_are_told(void **state)
{
    (void)state;
    static operands before, after;
    fill(&before);
    for (size_t i = 0; i < blas_name_count; i++)
        for (size_t w = 0; w < sizeof wrongs / sizeof wrongs[0]; w++) {
            const int expected = is_c(&blas_names[i]) ? wrongs[w].c : wrongs[w].fortran;
            if (!expected)
                continue;
            heard.calls = 0;
            after = before;
            call(&blas_names[i], &wrongs[w].p, &after);
            if (heard.calls != 1 || heard.info != expected || strcmp(heard.routine, blas_names[i].routine) != 0)
                fail_msg("%s, case %zu: %d calls of its handler, the last with %d for \"%s\"; expected %d",
                         blas_names[i].symbol, w, heard.calls, heard.info, heard.routine, expected);
            assert_memory_equal(&after, &before, sizeof after);
        }
}

/* ---- what must not be read, and what returns at once ---- */

static void nothing_is_read_in_vain(void **state)
{
    (void)state;
    static operands before, after;
    const double factors[][2] = {{0, 0}, {0, 1}, {0, 2}, {2, 0}};
    for (size_t i = 0; i < blas_name_count; i++)
        for (size_t f = 0; f < 4; f++)
            for (int size = 1; size < 40; size += 6) {
                problem p = {0, 'n', 't', size, size, size, size, size, size, factors[f][0], factors[f][1]};
                fill(&before);
                for (int j = 0; j < MOST; j++) {
                    if (p.alpha == 0)
                        before.a32[j] = before.b32[j] = NAN, before.a64[j] = before.b64[j] = (double)NAN;
                    if (p.beta == 0)
                        before.c32[j] = NAN, before.c64[j] = (double)NAN;
                }
                after = before;
                call(&blas_names[i], &p, &after);
                for (int j = 0; j < size * size; j++) {
                    const double got = blas_names[i].kind % 2 ? after.c64[j] : (double)after.c32[j];
                    if (isnan(got))
                        fail_msg("%s, alpha %g, beta %g, size %d: C[%d] is NaN", blas_names[i].symbol, p.alpha, p.beta,
                                 size, j);
                    if (p.alpha == 0 && p.beta != 0)
                        assert_true(got == p.beta * before.c64[j]);
                }
            }
}

/* M = 0, N = 0, or K = 0 with beta 1: pointers may be anything. */
static void returns_at_once(void **state)
{
    (void)state;
    const double c_before = -0.0;
    double c = c_before;
    const int32_t none = 0, one = 1;
    const double alpha = 1, beta = 1;
    dgemm_("n", "n", &none, &one, &one, &alpha, NULL, &one, NULL, &one, &beta, NULL, &one);
    dgemm_("n", "n", &one, &none, &one, &alpha, NULL, &one, NULL, &one, &beta, NULL, &one);
    dgemm_("n", "n", &one, &one, &none, &alpha, NULL, &one, NULL, &one, &beta, &c, &one);
    assert_memory_equal(&c, &c_before, sizeof c); /* not even its sign */
}

/* ---- views of one buffer ---- */

/* The update of a blocked factorisation: A, B and C are blocks of one matrix. */
static void blocks_of_one_matrix(void **state)
{
    (void)state;
    enum { N = 300, STEP = 64 };
    double *x = malloc(N * N * sizeof *x), *expected = malloc(N * N * sizeof *x);
    assert_true(x && expected);
    for (int i = 0; i < N * N; i++)
        expected[i] = x[i] = (double)(i * 7 % 13) - 6;
    const int32_t m = N - STEP, k = STEP, ld = N;
    const double minus = -1, one = 1;
    dgemm_("n", "n", &m, &m, &k, &minus, x + STEP, &ld, x + STEP * N, &ld, &one, x + STEP * N + STEP, &ld);
    for (int j = STEP; j < N; j++)
        for (int i = STEP; i < N; i++)
            for (int l = 0; l < STEP; l++)
                expected[j * N + i] -= expected[l * N + i] * expected[j * N + l];
    assert_memory_equal(x, expected, N * N * sizeof *x);
    free(x);
    free(expected);
}

/* C is also A: undefined by the standard, but no reason to do nothing. */
static void overlapping_operands_still_compute(void **state)
{
    (void)state;
    float x[4] = {1, 2, 3, 4}, b[4] = {0, 0, 0, 0}, alpha = 1, beta = 0;
    const int32_t two = 2;
    sgemm_("n", "n", &two, &two, &two, &alpha, x, &two, b, &two, &beta, x, &two);
    for (int i = 0; i < 4; i++)
        assert_true(x[i] == 0.0f);
}

/* ---- batches ---- */

static void batches(void **state)
{
    (void)state;
    enum { M = 5, N = 6, K = 7, COUNT = 4 };
    static const struct {
        long long a, b, c;
    } strides[] = {{M * K, K * N, M * N}, {0, K * N, M * N}, {M * K + 3, -K * N, M * N + 1}, {1, 2, -M * N}};
    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++)
        for (int row_major = 0; row_major < 2; row_major++)
            for (size_t f = 0; f < blas_batch_count; f++) {
                double a[BATCH_ELEMENTS], b[BATCH_ELEMENTS], c[BATCH_ELEMENTS], expected[BATCH_ELEMENTS];
                for (int i = 0; i < BATCH_ELEMENTS; i++) {
                    a[i] = i * 7 % 13 - 6;
                    b[i] = i * 5 % 11 - 5;
                    expected[i] = c[i] = i * 3 % 17 - 8;
                }
                const int lda = row_major ? K : M, ldb = row_major ? N : K, ldc = row_major ? N : M;
                const double *b0 = strides[s].b < 0 ? b + K * N * (COUNT - 1) : b;
                const long long c0 = strides[s].c < 0 ? M * N * (COUNT - 1) : 0;
                for (int z = 0; z < COUNT; z++)
                    for (int i = 0; i < M; i++)
                        for (int j = 0; j < N; j++) {
                            double sum = 0;
                            for (int l = 0; l < K; l++)
                                sum += (a + z * strides[s].a)[row_major ? i * K + l : l * M + i] *
                                       (b0 + z * strides[s].b)[row_major ? l * N + j : j * K + l];
                            double *out = &expected[c0 + z * strides[s].c + (row_major ? i * N + j : j * M + i)];
                            *out = 2 * sum - *out;
                        }
                blas_batch_arrays.a = a;
                blas_batch_arrays.b = b;
                blas_batch_arrays.c = c;
                blas_batches[f].call(row_major ? 101 : 102, M, N, K, 2, a, lda, strides[s].a, b0, ldb, strides[s].b, -1,
                                     c + c0, ldc, strides[s].c, COUNT);
                for (int i = 0; i < BATCH_ELEMENTS; i++)
                    if (c[i] != expected[i])
                        fail_msg("%s, strides %zu: C[%d] is %g, not %g", blas_batches[f].symbol, s, i, c[i],
                                 expected[i]);
            }
}

/* A handler that does not return leaves nothing behind: a call after it works, and a thread may be cancelled. */
static void handlers_that_leave(void **state)
{
    (void)state;
    jmp_buf here;
    static double a[BATCH_ELEMENTS] = {2}, c[BATCH_ELEMENTS];
    static size_t f; /* longjmp may lose what a register holds */
    blas_batch_arrays.a = blas_batch_arrays.b = a;
    blas_batch_arrays.c = c;
    for (f = 0; f < blas_batch_count; f++) {
        heard.calls = 0;
        heard.leave = &here;
        if (setjmp(here) == 0) {
            blas_batches[f].call(102, -1, 1, 1, 1, a, 1, 1, a, 1, 1, 0, c, 1, 1, 1);
            fail_msg("%s: the handler returned", blas_batches[f].symbol);
        }
        heard.leave = NULL;
        assert_int_equal(heard.calls, 1);
        blas_batches[f].call(102, 1, 1, 1, 1, a, 1, 1, a, 1, 1, 0, c, 1, 1, 1);
        assert_true(c[0] == 4);
        c[0] = 0;
    }
    int cancel = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
    assert_int_equal(cancel, PTHREAD_CANCEL_ENABLE);
}

/* Places in the arguments of a batch; a batch of none touches nothing. */
static void wrong_batches(void **state)
{
    (void)state;
    static const struct {
        int order, m, lda, ldb, ldc, count, place;
    } cases[] = {{5, 1, 1, 1, 1, 1, 1},    {102, -1, 1, 1, 1, 1, 4}, {102, 1, 0, 1, 1, 1, 9},
                 {102, 1, 1, 0, 1, 1, 12}, {102, 1, 1, 1, 0, 1, 16}, {102, 1, 1, 1, 1, -1, 18},
                 {102, 1, 1, 1, 1, 0, 0},  {101, 1, 0, 1, 1, 1, 9},  {101, 1, 1, 0, 1, 1, 12},
                 {101, 1, 1, 1, 0, 1, 16}, {101, -1, 1, 1, 1, 1, 4}, {101, 1, 1, 1, 1, -1, 18}};
    double a[BATCH_ELEMENTS] = {2}, b[BATCH_ELEMENTS] = {3}, c[BATCH_ELEMENTS] = {7}, before[BATCH_ELEMENTS] = {7};
    blas_batch_arrays.a = a;
    blas_batch_arrays.b = b;
    blas_batch_arrays.c = c;
    for (size_t f = 0; f < blas_batch_count; f++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            heard.calls = heard.info = 0;
            blas_batches[f].call(cases[i].order, cases[i].m, 1, 1, 1, a, cases[i].lda, 1, b, cases[i].ldb, 1, 0, c,
                                 cases[i].ldc, 1, cases[i].count);
            assert_int_equal(heard.calls, cases[i].place != 0);
            if (heard.info != cases[i].place || (heard.calls && strcmp(heard.routine, blas_batches[f].routine) != 0))
                fail_msg("%s, case %zu: place %d of \"%s\", not %d of \"%s\"", blas_batches[f].symbol, i, heard.info,
                         heard.routine, cases[i].place, blas_batches[f].routine);
            assert_memory_equal(c, before, sizeof c);
        }
}

/* ---- no memory ---- */

static long long allocations_left = -1; /* -1: all succeed */

static int may_allocate(void)
{
    if (allocations_left > 0)
        allocations_left--;
    if (allocations_left == 0)
        errno = ENOMEM;
    return allocations_left != 0;
}

/* This program's own come before the C library's, for libtessera too. Sanitizers have their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAVE_ALLOCATIONS_TO_FAIL 1
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

EXPORT void *malloc(size_t bytes)
{
    return may_allocate() ? __libc_malloc(bytes) : NULL;
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    return may_allocate() ? __libc_calloc(count, bytes) : NULL;
}

EXPORT int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *memory = may_allocate() ? __libc_memalign(align, bytes) : NULL;
    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}

#endif

/* A BLAS cannot say that it failed: whatever allocation fails, the result is right. */
static void no_memory_no_matter(void **state)
{
    (void)state;
#ifndef HAVE_ALLOCATIONS_TO_FAIL
    skip();
#endif
    enum { N = 260 };
    double *a = malloc(sizeof(double) * N * N), *b = malloc(sizeof(double) * N * N),
           *c = malloc(sizeof(double) * N * N);
    const double one = 1;
    int refused = 0;
    assert_true(a && b && c);
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 7 - 3;
        b[i] = 1;
    }
    for (int nth = 1, done = 0; !done; nth++) {
        const int32_t n = N - nth % 3, ld = N; /* plans that the cache does not have */
        for (int i = 0; i < N * N; i++)
            c[i] = 5;
        allocations_left = nth;
        dgemm_("t", "n", &n, &n, &n, &one, a, &ld, b, &ld, &one, c, &ld);
        done = allocations_left > 0;
        refused += !done;
        allocations_left = -1;
        for (int i = 0; i < n; i++) {
            double sum = 5;
            for (int l = 0; l < n; l++)
                sum += a[i * N + l];
            for (int j = 0; j < n; j++)
                if (c[j * N + i] != sum)
                    fail_msg("allocation %d fails: C[%d][%d] is %g, not %g", nth, i, j, c[j * N + i], sum);
        }
        assert_true(nth < 1000);
    }
    assert_true(refused > 1);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_computes),
        cmocka_unit_test(wrong_arguments_are_told),
        cmocka_unit_test(nothing_is_read_in_vain),
        cmocka_unit_test(returns_at_once),
        cmocka_unit_test(blocks_of_one_matrix),
        cmocka_unit_test(overlapping_operands_still_compute),
        cmocka_unit_test(batches),
        cmocka_unit_test(wrong_batches),
        cmocka_unit_test(handlers_that_leave),
        cmocka_unit_test(no_memory_no_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
