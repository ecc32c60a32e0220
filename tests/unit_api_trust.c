/* The promises of docs/TRUST.md on the CPU, through the one-line calls that most programs use: each test has the number
 * of its rule. The kernels for GPUs are held to the same rules by the checker. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "lab/common/random.h"
#include "tessera.h"

/* ---- memory that fails on demand: the linker leads the library's calls here ---- */

static long long allocations_left = -1; /* -1: all succeed */

static int may_allocate(void)
{
    if (allocations_left > 0)
        allocations_left--;
    return allocations_left != 0;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
int __real_posix_memalign(void **out, size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return may_allocate() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return may_allocate() ? __real_calloc(count, bytes) : NULL;
}

int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
    return may_allocate() ? __real_posix_memalign(out, align, bytes) : 12;
}

/* ---- products ---- */

typedef struct product {
    tsr_dtype dtype;
    int trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
} product;

static tsr_status run(const product *p, const void *a, const void *b, void *c)
{
    const tsr_trans ta = p->trans_a ? TSR_T : TSR_N, tb = p->trans_b ? TSR_T : TSR_N;
    return p->dtype == TSR_F32
               ? tsr_sgemm(ta, tb, p->m, p->n, p->k, (float)p->alpha, a, p->lda, b, p->ldb, (float)p->beta, c, p->ldc)
               : tsr_dgemm(ta, tb, p->m, p->n, p->k, p->alpha, a, p->lda, b, p->ldb, p->beta, c, p->ldc);
}

static double get(tsr_dtype dtype, const void *x, int64_t i)
{
    return dtype == TSR_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void set(tsr_dtype dtype, void *x, int64_t i, double value)
{
    if (dtype == TSR_F32)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

static product tight(tsr_dtype dtype, int variant, int64_t m, int64_t n, int64_t k)
{
    product p = {.dtype = dtype, .trans_a = variant & 1, .trans_b = variant >> 1 & 1, .m = m, .n = n, .k = k};
    p.lda = p.trans_a ? m : k;
    p.ldb = p.trans_b ? k : n;
    p.ldc = n;
    p.lda += p.lda == 0;
    p.ldb += p.ldb == 0;
    p.alpha = 1;
    return p;
}

static int64_t index_a(const product *p, int64_t i, int64_t l)
{
    return p->trans_a ? l * p->lda + i : i * p->lda + l;
}

static int64_t index_b(const product *p, int64_t l, int64_t j)
{
    return p->trans_b ? j * p->ldb + l : l * p->ldb + j;
}

/* Mapped memory whose last byte is followed by a page that may not be touched; `mapped` is for unmapping. */
typedef struct flush_end {
    void *mapped, *first;
    size_t bytes;
} flush_end;

static flush_end end_at_a_page(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    flush_end f = {.bytes = whole + page};
    f.mapped = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.mapped != MAP_FAILED);
    assert_int_equal(mprotect((char *)f.mapped + whole, page, PROT_NONE), 0);
    f.first = (char *)f.mapped + whole - bytes;
    return f;
}

static void *forbidden(size_t bytes)
{
    void *x = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(x != MAP_FAILED);
    return x;
}

/* Shapes of every path: at once, in registers, small, packed, one row, one column, threads. */
static const int64_t shapes[][3] = {{1, 1, 1},       {3, 5, 7},     {13, 33, 17},  {48, 64, 65},
                                    {100, 90, 257},  {1, 300, 200}, {300, 1, 9},   {16, 500, 31},
                                    {200, 210, 300}, {33, 1000, 2}, {500, 13, 400}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };
static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64};

/* ---- 1: beta == 0 never reads C ---- */

static void rule_1_beta_zero(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int variant = 0; variant < 8; variant++) {
            product p = tight(dtypes[variant >> 2], variant & 3, shapes[s][0], shapes[s][1], shapes[s][2]);
            const size_t bytes = tsr_dtype_bytes(p.dtype);
            void *a = calloc((size_t)(p.m * p.k), bytes), *b = calloc((size_t)(p.k * p.n), bytes);
            void *c = malloc((size_t)(p.m * p.n) * bytes);
            assert_true(a && b && c);
            for (int64_t i = 0; i < p.m * p.n; i++)
                set(p.dtype, c, i, (double)NAN);
            assert_int_equal(run(&p, a, b, c), TSR_OK);
            for (int64_t i = 0; i < p.m * p.n; i++)
                assert_true(get(p.dtype, c, i) == 0);
            /* And where C is another matrix than D, it need not even be there. */
            tsr_gemm_desc desc = tsr_gemm_desc_make(p.dtype, p.m, p.n, p.k);
            desc.a.trans = p.trans_a ? TSR_T : TSR_N;
            desc.b.trans = p.trans_b ? TSR_T : TSR_N;
            tsr_run_args args = tsr_run_args_make(a, b, c);
            args.c = NULL;
            tsr_context *context = NULL;
            assert_int_equal(tsr_default_context(&context), TSR_OK);
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            free(a);
            free(b);
            free(c);
        }
}

/* ---- 2: alpha == 0 or K == 0 never reads A or B ---- */

static void rule_2_alpha_zero(void **state)
{
    (void)state;
    void *nowhere = forbidden((size_t)1 << 30);
    for (int s = 0; s < SHAPES; s++)
        for (int variant = 0; variant < 8; variant++)
            for (int no_k = 0; no_k < 2; no_k++) {
                product p =
                    tight(dtypes[variant >> 2], variant & 3, shapes[s][0], shapes[s][1], no_k ? 0 : shapes[s][2]);
                const int64_t count = p.m * p.n;
                void *c = malloc((size_t)count * tsr_dtype_bytes(p.dtype));
                assert_non_null(c);
                p.alpha = no_k;
                for (int b = 0; b < 3; b++) {
                    p.beta = b;
                    for (int64_t i = 0; i < count; i++)
                        set(p.dtype, c, i, b ? (double)(i % 17) : (double)NAN);
                    assert_int_equal(run(&p, nowhere, nowhere, c), TSR_OK);
                    for (int64_t i = 0; i < count; i++)
                        assert_true(get(p.dtype, c, i) == p.beta * (double)(i % 17));
                }
                free(c);
            }
    munmap(nowhere, (size_t)1 << 30);
}

/* ---- 3: NaN and infinities end up where three loops would put them ---- */

static int class_of(double x)
{
    return isnan(x) ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

static void compare_patterns(const product *p, const void *a, const void *b, const void *c)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += get(p->dtype, a, index_a(p, i, l)) * get(p->dtype, b, index_b(p, l, j));
            if (class_of(get(p->dtype, c, i * p->ldc + j)) != class_of(p->alpha * sum))
                fail_msg("%s %lldx%lldx%lld variant %d%d: D[%lld][%lld] is %g, three loops give %g",
                         tsr_dtype_name(p->dtype), (long long)p->m, (long long)p->n, (long long)p->k, p->trans_a,
                         p->trans_b, (long long)i, (long long)j, get(p->dtype, c, i * p->ldc + j), p->alpha * sum);
        }
}

/* Sizes around the tiles' edges of every instruction set (6, 8, 12, 16, 32, 48, 256); specials at the last and the
 * first place along each dimension, and zeros opposite to them, so that infinity times zero occurs too. */
static void rule_3_specials(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{5, 15, 7},    {6, 16, 8},   {7, 17, 9},    {11, 31, 255}, {12, 32, 256},
                                       {13, 33, 257}, {25, 65, 31}, {49, 49, 513}, {1, 47, 16},   {47, 1, 16}};
    static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int variant = 0; variant < 8; variant++)
            for (int place = 0; place < 12; place++) {
                product p = tight(dtypes[variant >> 2], variant & 3, sizes[s][0], sizes[s][1], sizes[s][2]);
                const size_t bytes = tsr_dtype_bytes(p.dtype);
                void *a = malloc((size_t)(p.m * p.k) * bytes), *b = malloc((size_t)(p.k * p.n) * bytes);
                void *c = malloc((size_t)(p.m * p.n) * bytes);
                assert_true(a && b && c);
                for (int64_t i = 0; i < p.m * p.k; i++)
                    set(p.dtype, a, i, (double)(i % 5) - 2);
                for (int64_t i = 0; i < p.k * p.n; i++)
                    set(p.dtype, b, i, (double)(i % 3) - 1);
                const int64_t i = place & 1 ? p.m - 1 : 0, l = place & 2 ? p.k - 1 : 0, j = place & 1 ? 0 : p.n - 1;
                set(p.dtype, a, index_a(&p, i, l), specials[place / 4]);
                set(p.dtype, b, index_b(&p, l, j), 0);
                set(p.dtype, b, index_b(&p, p.k - 1 - l, j), specials[(place + 1) % 3]);
                p.alpha = place % 2 ? -1 : 1;
                assert_int_equal(run(&p, a, b, c), TSR_OK);
                compare_patterns(&p, a, b, c);
                free(a);
                free(b);
                free(c);
            }
}

/* ---- 4: how the error grows with K ---- */

static double unit_of(tsr_dtype dtype)
{
    return dtype == TSR_F64   ? ldexp(1, -53)
           : dtype == TSR_F32 ? ldexp(1, -24)
           : dtype == TSR_F16 ? ldexp(1, -11)
                              : ldexp(1, -8);
}

/* 16-bit elements as floats; frees them. */
static float *widened(tsr_dtype dtype, uint16_t *x, int64_t count)
{
    float *const wide = malloc((size_t)count * sizeof *wide);
    assert_non_null(wide);
    for (int64_t i = 0; i < count; i++)
        wide[i] = dtype == TSR_F16 ? tsr_f16_to_f32(x[i]) : tsr_bf16_to_f32(x[i]);
    free(x);
    return wide;
}

/* There are one-line calls for f32 and f64 only. */
static void multiply(const product *p, const void *a, const void *b, void *c)
{
    if (p->dtype == TSR_F32 || p->dtype == TSR_F64) {
        assert_int_equal(run(p, a, b, c), TSR_OK);
        return;
    }
    tsr_context *context = NULL;
    const tsr_gemm_desc desc = tsr_gemm_desc_make(p->dtype, p->m, p->n, p->k);
    const tsr_run_args args = tsr_run_args_make(a, b, c);
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    tsr_context_destroy(context);
}

/* The worst error over u |A||B| of a 13 x 17 product. The sums are compared with long double, 64 bits of mantissa. */
static double worst_error(tsr_dtype dtype, int64_t k)
{
    enum { ROWS = 13, COLUMNS = 17, STEPS = 256 };
    product p = tight(dtype, 0, ROWS, COLUMNS, k);
    const size_t bytes = tsr_dtype_bytes(dtype);
    void *a = malloc((size_t)(p.m * k) * bytes), *b = malloc((size_t)(k * p.n) * bytes);
    void *c = malloc(ROWS * COLUMNS * bytes);
    double worst = 0;
    assert_true(a && b && c);
    lab_fill(LAB_FILL_NORMAL, 0.0, dtype, a, p.m * k, (uint64_t)k);
    lab_fill(LAB_FILL_NORMAL, 0.0, dtype, b, k * p.n, (uint64_t)k + 1);
    multiply(&p, a, b, c);
    if (bytes == 2) {
        a = widened(dtype, a, p.m * k);
        b = widened(dtype, b, k * p.n);
        c = widened(dtype, c, p.m * p.n);
        dtype = TSR_F32;
    }
    long double sums[ROWS * COLUMNS] = {0}, sizes[ROWS * COLUMNS] = {0};
    for (int64_t l = 0; l < k; l += STEPS) {
        static double lines[ROWS + COLUMNS][STEPS]; /* rows of A, columns of B: these steps of them */
        const int64_t steps = k - l < STEPS ? k - l : STEPS;
        for (int64_t s = 0; s < steps; s++) {
            for (int64_t i = 0; i < ROWS; i++)
                lines[i][s] = get(dtype, a, i * k + l + s);
            for (int64_t j = 0; j < COLUMNS; j++)
                lines[ROWS + j][s] = get(dtype, b, (l + s) * COLUMNS + j);
        }
        for (int64_t at = 0; at < ROWS * COLUMNS; at++) {
            const double *const x = lines[at / COLUMNS], *const y = lines[ROWS + at % COLUMNS];
            long double sum = sums[at], size = sizes[at];
            for (int64_t s = 0; s < steps; s++) {
                const long double one = (long double)x[s] * (long double)y[s];
                sum += one;
                size += fabsl(one);
            }
            sums[at] = sum;
            sizes[at] = size;
        }
    }
    for (int64_t at = 0; at < ROWS * COLUMNS; at++) {
        const double error =
            fabs((double)((long double)get(dtype, c, at) - sums[at])) / (double)sizes[at] / unit_of(p.dtype);
        worst = !(error <= worst) ? error : worst; /* NaN counts */
    }
    free(a);
    free(b);
    free(c);
    return worst;
}

/* At most K units, and at most 8 whatever K is: rounding errors of random sums cancel as a random walk does, and long
 * sums run in blocks. 16-bit elements are summed in f32 and rounded once: hardly more than one of their units. The
 * measured figures are in docs/TRUST.md; TESSERA_TRUST_TABLE=1 prints them. */
static void rule_4_error_growth(void **state)
{
    (void)state;
    static const tsr_dtype all[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
    for (int d = 0; d < 4; d++)
        for (int64_t k = 1; k <= 1 << 20; k *= 4) {
            const double worst = worst_error(all[d], k);
            if (getenv("TESSERA_TRUST_TABLE"))
                print_message("%s K = %lld: %.3f u |A||B|\n", tsr_dtype_name(all[d]), (long long)k, worst);
            if (!(worst <= fmin((double)k, tsr_dtype_bytes(all[d]) == 2 ? 1.01 : 8)))
                fail_msg("%s, K = %lld: %g units", tsr_dtype_name(all[d]), (long long)k, worst);
        }
}

/* ---- 5: the same bits, run after run and for every number of threads ---- */

static void rule_5_bits(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{37, 41, 300}, {200, 301, 257}, {513, 100, 700}, {1, 2000, 900}, {3, 1500, 800}};
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int variant = 0; variant < 8; variant++) {
            const product p = tight(dtypes[variant >> 2], variant & 3, sizes[s][0], sizes[s][1], sizes[s][2]);
            const size_t bytes = tsr_dtype_bytes(p.dtype), c_bytes = (size_t)(p.m * p.n) * bytes;
            void *a = malloc((size_t)(p.m * p.k) * bytes), *b = malloc((size_t)(p.k * p.n) * bytes);
            void *first = malloc(c_bytes), *next = malloc(c_bytes);
            assert_true(a && b && first && next);
            lab_fill(LAB_FILL_NORMAL, 0.0, p.dtype, a, p.m * p.k, s);
            lab_fill(LAB_FILL_NORMAL, 0.0, p.dtype, b, p.k * p.n, s + 1);
            tsr_gemm_desc desc = tsr_gemm_desc_make(p.dtype, p.m, p.n, p.k);
            desc.a.trans = p.trans_a ? TSR_T : TSR_N;
            desc.b.trans = p.trans_b ? TSR_T : TSR_N;
            for (int threads = 1; threads <= 8; threads++) {
                desc.threads = threads;
                void *to = threads == 1 ? first : next;
                tsr_run_args args = tsr_run_args_make(a, b, to);
                memset(to, 0x5a, c_bytes);
                assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
                assert_memory_equal(first, to, c_bytes);
            }
            assert_int_equal(run(&p, a, b, next), TSR_OK); /* the one-line call too */
            assert_memory_equal(first, next, c_bytes);
            free(a);
            free(b);
            free(first);
            free(next);
        }
    tsr_context_destroy(context);
}

/* ---- 6: no memory: a clear status, and nothing written ---- */

static void rule_6_no_memory(void **state)
{
    (void)state;
    int refused = 0;
    for (int s = 0; s < SHAPES; s++)
        for (int d = 0; d < 2; d++) {
            product p = tight(dtypes[d], 1, shapes[s][0], shapes[s][1], shapes[s][2]);
            const size_t bytes = tsr_dtype_bytes(p.dtype), c_bytes = (size_t)(p.m * p.n) * bytes;
            void *a = __real_calloc((size_t)(p.m * p.k), bytes), *b = __real_calloc((size_t)(p.k * p.n), bytes);
            char *c = __real_malloc(c_bytes), *before = __real_malloc(c_bytes);
            assert_true(a && b && c && before);
            memset(before, 0x3c, c_bytes);
            lab_fill(LAB_FILL_NORMAL, 0.0, p.dtype, a, p.m * p.k, 1); /* so that D is not C */
            lab_fill(LAB_FILL_NORMAL, 0.0, p.dtype, b, p.k * p.n, 2);
            p.beta = 1;
            tsr_gemm_desc desc = tsr_gemm_desc_make(p.dtype, p.m, p.n, p.k);
            desc.a.trans = TSR_T;
            for (int nth = 1, done = 0; !done; nth++) {
                tsr_context *context = NULL;
                tsr_run_args args = tsr_run_args_make(a, b, c);
                args.beta.value = 1;
                memcpy(c, before, c_bytes);
                allocations_left = nth;
                tsr_status status = tsr_context_create("cpu", NULL, &context);
                if (status == TSR_OK)
                    status = tsr_gemm(context, &desc, &args);
                done = allocations_left > 0;
                allocations_left = -1;
                tsr_context_destroy(context);
                if (status == TSR_OK)
                    continue; /* it can do with less */
                refused++;
                assert_int_equal(status, TSR_OUT_OF_MEMORY);
                assert_non_null(strstr(tsr_last_error(), "no "));
                assert_memory_equal(c, before, c_bytes);
                assert_true(nth < 1000);
            }
            free(a);
            free(b);
            free(c);
            free(before);
        }
    assert_true(refused > 50);
}

/* Products that are several on the CPU, of which the first could be written before the last finds no memory: blocks of
 * D and problems of a batch whose elements are widened, and parts of a compressed operand. */
typedef struct blocks_case {
    tsr_dtype a, d;
    int64_t m, n, k, batch;
    unsigned sparse24;
    int scale_mode; /* of both operands */
} blocks_case;

static void rule_6_no_memory_of_blocks(void **state)
{
    (void)state;
    static const blocks_case cases[] = {
        {TSR_E4M3, TSR_F32, 637, 125, 2100, 1, 0, 0}, /* the last block cuts K, the first one does not */
        {TSR_E4M3, TSR_F32, 600, 300, 200, 1, 0, 0},
        {TSR_E5M2, TSR_E5M2, 40, 1500, 100, 1, 0, 0},
        {TSR_E4M3, TSR_BF16, 100, 120, 2200, 3, 0, 0},
        {TSR_E4M3, TSR_BF16, 3, 1200, 2100, 2, 0, 0},
        {TSR_E4M3, TSR_F16, 530, 20, 300, 1, 0, TSR_SCALE_1X128},
        {TSR_BF16, TSR_F32, 520, 1030, 64, 1, 0, 0},
        {TSR_F16, TSR_E4M3, 64, 1, 2000, 4, 0, 0},
        {TSR_F32, TSR_F32, 1100, 90, 64, 1, TSR_SPARSE24_A, 0},
        {TSR_BF16, TSR_BF16, 70, 2100, 64, 1, TSR_SPARSE24_B, 0},
        {TSR_S8, TSR_F32, 1100, 90, 64, 1, TSR_SPARSE24_A, 0},
        {TSR_E4M3, TSR_F32, 1100, 90, 64, 1, TSR_SPARSE24_A, 0},
        {TSR_S8, TSR_S32, 100, 2100, 1200, 1, TSR_SPARSE24_B, 0},
    };
    int refused = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int layout = 0; layout < 4; layout++) {
            const blocks_case *const x = &cases[i];
            tsr_gemm_desc desc = tsr_gemm_desc_make(x->a, x->m, x->n, x->k);
            const size_t d_bytes = (size_t)(x->batch * x->m * x->n) * tsr_dtype_bytes(x->d);
            const int64_t a_count = x->m * x->k, b_count = x->k * x->n;
            void *a = malloc((size_t)(x->batch * a_count) * tsr_dtype_bytes(x->a)),
                 *b = malloc((size_t)(x->batch * b_count) * tsr_dtype_bytes(x->a));
            char *d = malloc(d_bytes), *before = malloc(d_bytes);
            float *scales = malloc((size_t)(20 * (x->m + x->n)) * sizeof *scales);
            assert_true(a && b && d && before && scales);
            desc.c.dtype = desc.d.dtype = x->d;
            desc.a.trans = layout & 1 ? TSR_T : TSR_N;
            desc.b.trans = layout & 2 ? TSR_T : TSR_N;
            desc.batch_count = x->batch;
            desc.a.batch_stride = x->batch > 1 ? a_count : 0;
            desc.b.batch_stride = x->batch > 1 ? b_count : 0;
            desc.c.batch_stride = desc.d.batch_stride = x->batch > 1 ? x->m * x->n : 0;
            desc.scale_mode_a = desc.scale_mode_b = (tsr_scale_mode)x->scale_mode;
            lab_fill(LAB_FILL_NORMAL, 0.0, x->a, a, x->batch * a_count, i);
            lab_fill(LAB_FILL_NORMAL, 0.0, x->a, b, x->batch * b_count, i + 1);
            for (int64_t s = 0; s < 20 * (x->m + x->n); s++)
                scales[s] = 2;
            if (x->sparse24)
                assert_int_equal(tsr_prune24(&desc, x->sparse24 == TSR_SPARSE24_A ? 'a' : 'b',
                                             x->sparse24 == TSR_SPARSE24_A ? a : b, NULL),
                                 TSR_OK);
            desc.flags = x->sparse24;
            memset(before, 0x77, d_bytes);
            for (int nth = 1, done = 0; !done; nth++) {
                tsr_context *context = NULL;
                tsr_plan *plan = NULL;
                tsr_prepared *prepared = NULL;
                tsr_run_args args = tsr_run_args_make(a, b, d);
                assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
                assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
                if (x->sparse24 == TSR_SPARSE24_A)
                    assert_int_equal(tsr_compress24(plan, 'a', a, &prepared), TSR_OK);
                if (x->sparse24 == TSR_SPARSE24_B)
                    assert_int_equal(tsr_compress24(plan, 'b', b, &prepared), TSR_OK);
                *(x->sparse24 == TSR_SPARSE24_B ? &args.prepared_b : &args.prepared_a) = prepared;
                if (x->sparse24)
                    *(x->sparse24 == TSR_SPARSE24_B ? &args.b : &args.a) = NULL;
                if (x->scale_mode)
                    args.scale_a = args.scale_b = scales;
                memcpy(d, before, d_bytes);
                allocations_left = nth;
                const tsr_status status = tsr_plan_run(plan, &args);
                done = allocations_left > 0;
                allocations_left = -1;
                if (status == TSR_OK) {
                    assert_memory_not_equal(d, before, d_bytes);
                } else {
                    refused++;
                    assert_int_equal(status, TSR_OUT_OF_MEMORY);
                    assert_non_null(strstr(tsr_last_error(), "no memory"));
                    if (memcmp(d, before, d_bytes) != 0)
                        fail_msg("case %zu, layout %d: a part of D is written without allocation %d", i, layout, nth);
                }
                tsr_prepared_release(prepared);
                tsr_plan_release(plan);
                tsr_context_destroy(context);
                assert_true(nth < 1000);
            }
            free(a);
            free(b);
            free(d);
            free(before);
            free(scales);
        }
    assert_true(refused > 100);
}

/* ---- 7: denormals are numbers ---- */

static void rule_7_denormals(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int d = 0; d < 2; d++)
            for (int inputs = 0; inputs < 2; inputs++) {
                const product p = tight(dtypes[d], 0, shapes[s][0], shapes[s][1], shapes[s][2]);
                const size_t bytes = tsr_dtype_bytes(p.dtype);
                const int least = p.dtype == TSR_F32 ? -149 : -1074; /* the exponent of the smallest number */
                /* Denormal inputs and normal results, or the other way round: all exact. */
                const double x = ldexp(1, inputs ? least : -100), y = ldexp(1, inputs ? 100 : least + 100);
                void *a = malloc((size_t)(p.m * p.k) * bytes), *b = malloc((size_t)(p.k * p.n) * bytes);
                void *c = malloc((size_t)(p.m * p.n) * bytes);
                assert_true(a && b && c);
                for (int64_t i = 0; i < p.m * p.k; i++)
                    set(p.dtype, a, i, x);
                for (int64_t i = 0; i < p.k * p.n; i++)
                    set(p.dtype, b, i, y);
                assert_int_equal(run(&p, a, b, c), TSR_OK);
                for (int64_t i = 0; i < p.m * p.n; i++)
                    assert_true(get(p.dtype, c, i) == (double)p.k * (inputs ? ldexp(1, least + 100) : ldexp(1, least)));
                free(a);
                free(b);
                free(c);
            }
}

/* ---- 8: element alignment is enough, and nothing behind the last element is touched ---- */

static void rule_8_alignment_and_ends(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int variant = 0; variant < 8; variant++)
            for (int64_t pad = 0; pad < 4; pad += 3) {
                product p = tight(dtypes[variant >> 2], variant & 3, shapes[s][0], shapes[s][1], shapes[s][2]);
                const size_t bytes = tsr_dtype_bytes(p.dtype);
                const int64_t rows_a = p.trans_a ? p.k : p.m, rows_b = p.trans_b ? p.n : p.k;
                const int64_t row_a = p.lda, row_b = p.ldb, row_c = p.ldc;
                p.lda += pad;
                p.ldb += pad;
                p.ldc += pad;
                flush_end a = end_at_a_page((size_t)((rows_a - 1) * p.lda + row_a) * bytes);
                flush_end b = end_at_a_page((size_t)((rows_b - 1) * p.ldb + row_b) * bytes);
                flush_end c = end_at_a_page((size_t)((p.m - 1) * p.ldc + row_c) * bytes);
                memset(c.first, 0x77, (size_t)((p.m - 1) * p.ldc + row_c) * bytes);
                const double kept = get(p.dtype, c.first, 0);
                for (int64_t i = 0; i < p.m; i++)
                    for (int64_t l = 0; l < p.k; l++)
                        set(p.dtype, a.first, index_a(&p, i, l), (double)((i + 2 * l) % 5) - 2);
                for (int64_t l = 0; l < p.k; l++)
                    for (int64_t j = 0; j < p.n; j++)
                        set(p.dtype, b.first, index_b(&p, l, j), (double)((3 * l + j) % 7) - 3);
                assert_int_equal(run(&p, a.first, b.first, c.first), TSR_OK);
                for (int64_t i = 0; i < p.m; i++) {
                    for (int64_t j = 0; j < p.n; j++) {
                        double sum = 0;
                        for (int64_t l = 0; l < p.k; l++)
                            sum += ((double)((i + 2 * l) % 5) - 2) * ((double)((3 * l + j) % 7) - 3);
                        assert_true(get(p.dtype, c.first, i * p.ldc + j) == sum);
                    }
                    for (int64_t j = row_c; j < p.ldc && i < p.m - 1; j++) /* padding keeps its bytes */
                        assert_true(get(p.dtype, c.first, i * p.ldc + j) == kept);
                }
                munmap(a.mapped, a.bytes);
                munmap(b.mapped, b.bytes);
                munmap(c.mapped, c.bytes);
            }
}

/* ---- 9: more than 2^31 elements ---- */

static void *sparse(int64_t elements, tsr_dtype dtype)
{
    void *x = mmap(NULL, (size_t)elements * tsr_dtype_bytes(dtype), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return x == MAP_FAILED ? NULL : x;
}

/* Rows further apart than 2^31 elements; only the pages of the elements themselves are ever there. */
static void rule_9_long_strides(void **state)
{
    (void)state;
    enum { M = 3, N = 40, K = 5 };
    const int64_t far = (1LL << 31) + 13, span = (K + N) * far;
    for (int variant = 0; variant < 4; variant++) {
        product p = tight(TSR_F32, variant, M, N, K);
        p.lda = p.ldb = p.ldc = far;
        float *a = sparse(span, TSR_F32), *b = sparse(span, TSR_F32), *c = sparse(span, TSR_F32);
        if (!a || !b || !c)
            fail_msg("no address space for %lld elements", (long long)span);
        for (int64_t i = 0; i < M; i++)
            for (int64_t l = 0; l < K; l++)
                a[index_a(&p, i, l)] = (float)(i + 2 * l);
        for (int64_t l = 0; l < K; l++)
            for (int64_t j = 0; j < N; j++)
                b[index_b(&p, l, j)] = (float)(3 * l - j);
        assert_int_equal(run(&p, a, b, c), TSR_OK);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                float sum = 0;
                for (int64_t l = 0; l < K; l++)
                    sum += (float)(i + 2 * l) * (float)(3 * l - j);
                assert_true(c[i * far + j] == sum);
            }
        munmap(a, (size_t)span * sizeof *a);
        munmap(b, (size_t)span * sizeof *b);
        munmap(c, (size_t)span * sizeof *c);
    }
}

/* K itself above 2^31. Untouched pages read as one page of zeros, so this takes address space and no memory. */
static void rule_9_long_sum(void **state)
{
    (void)state;
    const product p = tight(TSR_F32, 2, 1, 1, (1LL << 31) + 77);
    float *a = sparse(p.k, TSR_F32), *b = sparse(p.k, TSR_F32), c = 0;
    assert_true(a && b);
    const int64_t places[] = {0, (1LL << 31) - 1, 1LL << 31, p.k - 1};
    for (int i = 0; i < 4; i++) {
        a[places[i]] = (float)(i + 1);
        b[places[i]] = 10;
    }
    assert_int_equal(run(&p, a, b, &c), TSR_OK);
    assert_true(c == 100);
    munmap(a, (size_t)p.k * sizeof *a);
    munmap(b, (size_t)p.k * sizeof *b);
}

/* D of more than 2^31 elements in 32 MiB: the same 16 MiB of it again and again, whose rows repeat, but for the last of
 * them, which have memory of their own. What is written outside ends the test. */
static void rule_9_large_result(void **state)
{
    (void)state;
    enum { N = 1 << 16, CHUNK = 64, CHUNKS = 513 };
    const size_t chunk_bytes = (size_t)CHUNK * N * sizeof(float), page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t span = (CHUNKS - 1) * chunk_bytes + 4 * N * sizeof(float); /* the last chunk has 4 rows */
    const int64_t rows = (CHUNKS - 1) * (int64_t)CHUNK + 4;
    assert_true(rows * N > 1LL << 31);
    const int memory = memfd_create("rows of D", MFD_CLOEXEC);
    assert_true(memory >= 0);
    assert_int_equal(ftruncate(memory, (off_t)chunk_bytes), 0);
    char *const space = mmap(NULL, span + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(space != MAP_FAILED);
    float *const d = (float *)(void *)(space + page), *const last = d + (CHUNKS - 1) * (int64_t)CHUNK * N;
    for (size_t i = 0; i + 1 < CHUNKS; i++)
        assert_true(mmap((char *)d + i * chunk_bytes, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                         memory, 0) != MAP_FAILED);
    assert_int_equal(mprotect(last, 4 * N * sizeof(float), PROT_READ | PROT_WRITE), 0);
#ifdef __SANITIZE_ADDRESS__
    const int64_t most_k = 1; /* so many checks of addresses take a while */
#else
    const int64_t most_k = 17;
#endif
    for (int64_t k = 1; k <= most_k; k += 16) { /* past the caches, and by tiles */
        float *a = malloc((size_t)(rows * k) * sizeof *a), *b = malloc((size_t)(N * k) * sizeof *b);
        assert_true(a && b);
        for (int64_t i = 0; i < rows * k; i++)
            a[i] = (float)(i / k % CHUNK + 1);
        for (int64_t i = 0; i < N * k; i++)
            b[i] = (float)(i % N % 1021);
        for (int64_t i = 0; i < CHUNK * (int64_t)N; i++)
            d[i] = i < 4 * (int64_t)N ? (last[i] = NAN) : NAN;
        const product p = {.dtype = TSR_F32, .m = rows, .n = N, .k = k, .lda = k, .ldb = N, .ldc = N, .alpha = 1};
        assert_int_equal(run(&p, a, b, d), TSR_OK);
        for (int64_t i = 0; i < CHUNK; i++)
            for (int64_t j = 0; j < N; j++) {
                const float expected = (float)(k * (i + 1) * (j % 1021));
                if (d[i * N + j] != expected || (i < 4 && last[i * N + j] != expected))
                    fail_msg("K = %lld, row %lld, column %lld: %g and %g, not %g", (long long)k, (long long)i,
                             (long long)j, (double)d[i * N + j], i < 4 ? (double)last[i * N + j] : 0, (double)expected);
            }
        free(a);
        free(b);
    }
    munmap(space, span + 2 * page);
    close(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_1_beta_zero),
        cmocka_unit_test(rule_2_alpha_zero),
        cmocka_unit_test(rule_3_specials),
        cmocka_unit_test(rule_4_error_growth),
        cmocka_unit_test(rule_5_bits),
        cmocka_unit_test(rule_6_no_memory),
        cmocka_unit_test(rule_6_no_memory_of_blocks),
        cmocka_unit_test(rule_7_denormals),
        cmocka_unit_test(rule_8_alignment_and_ends),
        cmocka_unit_test(rule_9_long_strides),
        cmocka_unit_test(rule_9_long_sum),
        cmocka_unit_test(rule_9_large_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
