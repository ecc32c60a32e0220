/* The instructions of kernels/ptx in the emulator, by kernels (tests/emu) whose results follow from plain arithmetic.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "emu/run_launch.h"

typedef void kernel(const tsr_gemm_args args);
kernel emu_test_vector, emu_test_warp, emu_test_async_copy, emu_test_ldmatrix, emu_test_convert;
kernel emu_test_stmatrix, emu_test_cluster;
kernel emu_test_named_0, emu_test_named_1, emu_test_named_2, emu_test_named_3;
kernel emu_test_handover, emu_test_pipeline;
kernel emu_test_mma_bf16, emu_test_mma_f16, emu_test_mma_tf32, emu_test_wmma_bf16, emu_test_wmma_f16;
kernel emu_test_mma_int8_00, emu_test_mma_int8_01, emu_test_mma_int8_10, emu_test_mma_int8_11;
kernel emu_test_mma_f64_8_4, emu_test_mma_f64_16_4, emu_test_mma_f64_16_8, emu_test_mma_f64_16_16;

typedef struct setup {
    const char *name;
    kernel *function;
    tsr_dtype dtype; /* of A and B; C and D are f32 */
    unsigned threads_x, threads_y;
    size_t shared_bytes;
    int cluster;
} setup;

static tsr_status try_kernel(const setup *s, const tsr_gemm_args *args, unsigned long long seed, int ctas, int workers,
                             size_t workspace_bytes)
{
    const tsr_emu_job job = {.name = s->name,
                             .kernel = s->function,
                             .args = args,
                             .cluster = s->cluster,
                             .dtype_a = s->dtype,
                             .dtype_b = s->dtype,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {ctas, 1, 1},
                             .threads_x = s->threads_x,
                             .threads_y = s->threads_y,
                             .shared_bytes = s->shared_bytes,
                             .seed = seed,
                             .workers = workers,
                             .workspace_bytes = workspace_bytes};
    return tsr_emu_run(&job);
}

static void run_kernel(const setup *s, const tsr_gemm_args *args, unsigned long long seed)
{
    if (try_kernel(s, args, seed, 1, 1, 0) != TSR_OK)
        fail_msg("%s", tsr_last_error());
}

static void vectors_move(void **state)
{
    (void)state;
    enum { ROWS = 16, N = 64, LD = 68 };
    _Alignas(16) float a[ROWS * LD], d[ROWS * LD];
    for (int i = 0; i < ROWS * LD; i++)
        a[i] = (float)i;
    const setup s = {"vector", emu_test_vector, TSR_F32, 16, ROWS, ROWS * N * sizeof(float), 0};
    const tsr_gemm_args args = {
        .a = a, .d = d, .m = ROWS, .n = N, .k = N, .lda = LD, .ldd = LD, .batch = 1, .alpha = 1};
    run_kernel(&s, &args, 0);
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < N; col++) {
            const int from = (15 - col / 4) * 4 + col % 4;
            assert_true(d[row * LD + col] == a[row * LD + from] + (from < N / 2 ? 1.0f : 0.0f));
        }
}

static void warps_exchange(void **state)
{
    (void)state;
    enum { ROWS = 13, N = 64 };
    float a[N], d[ROWS][N];
    for (int i = 0; i < N; i++)
        a[i] = (float)(i * i % 101);
    const setup s = {"warp", emu_test_warp, TSR_F32, 64, 1, N * sizeof(float), 0};
    const tsr_gemm_args args = {.a = a, .d = d, .m = ROWS, .n = N, .k = N, .lda = N, .ldd = N, .batch = 1, .alpha = 1};
    for (unsigned long long seed = 0; seed < 10; seed++) {
        run_kernel(&s, &args, seed);
        for (int x = 0; x < N; x++) {
            const int lane = x % 32;
            const float *warp = &a[x - lane];
            float sum = 0;
            for (int i = 0; i < 32; i++)
                sum += warp[i];
            unsigned thirds = 0;
            for (int i = 0; i < 16; i++)
                thirds |= (unsigned)((x - lane + i) % 3 == 0) << i;
            float other_sum = 0;
            for (int i = 0; i < 32; i++)
                other_sum += a[(x / 32 ? 0 : 32) + i];
            assert_true(d[0][x] == (float)lane);
            assert_true(d[1][x] == warp[(7 * lane + 3) % 32]);
            assert_true(d[2][x] == warp[lane ^ 21]);
            assert_true(d[3][x] == warp[lane + 5 < 32 ? lane + 5 : lane]);
            assert_true(d[4][x] == warp[lane >= 6 ? lane - 6 : lane]);
            assert_true(d[5][x] == (float)thirds);
            assert_true(d[6][x] == warp[lane ^ 2]);
            assert_true(d[7][x] == (lane < 16 ? 15.0f : 0.0f));
            assert_true(d[8][x] == sum);
            for (int round = 0; round < 3; round++)
                assert_true(d[9 + round][x] == sum + (float)((x ^ 1) + round));
            assert_true(d[12][x] == other_sum + (float)(63 - x + 2));
        }
    }
}

static void copies_land(void **state)
{
    (void)state;
    enum { ROWS = 9, WIDTH = 64 };
    _Alignas(16) float a[ROWS * WIDTH];
    float d[ROWS][WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        a[i] = (float)(i + 1);
    const setup s = {"async_copy", emu_test_async_copy, TSR_F32, 16, 1, 3 * WIDTH * sizeof(float), 0};
    for (int k = 1; k <= WIDTH; k++)
        for (int rows = 1; rows <= ROWS; rows += 4) {
            const tsr_gemm_args args = {
                .a = a, .d = d, .m = rows, .n = WIDTH, .k = k, .lda = WIDTH, .ldd = WIDTH, .batch = 1, .alpha = 1};
            run_kernel(&s, &args, (unsigned long long)k);
            for (int row = 0; row < rows; row++)
                for (int col = 0; col < WIDTH; col++)
                    assert_true(d[row][col] == (col < k ? a[row * WIDTH + col] : 0.0f));
        }
}

static void matrices_load(void **state)
{
    (void)state;
    uint16_t a[32 * 8];
    float d[32][32]; /* A has 32 rows, so D does too; 28 are used */
    for (int i = 0; i < 32 * 8; i++)
        a[i] = (uint16_t)(1000 + i);
    const setup s = {"ldmatrix", emu_test_ldmatrix, TSR_F16, 32, 1, 512, 0};
    const tsr_gemm_args args = {.a = a, .d = d, .m = 32, .n = 32, .k = 8, .lda = 8, .ldd = 32, .batch = 1, .alpha = 1};
    run_kernel(&s, &args, 1);
    int row = 0;
    for (int transposed = 0; transposed < 2; transposed++)
        for (int count = 1; count <= 4; count *= 2)
            for (int matrix = 0; matrix < count; matrix++)
                for (int half = 0; half < 2; half++, row++)
                    for (int lane = 0; lane < 32; lane++) {
                        const int i = transposed ? lane % 4 * 2 + half : lane / 4;
                        const int j = transposed ? lane / 4 : lane % 4 * 2 + half;
                        assert_true(d[row][lane] == (float)a[(8 * matrix + i) * 8 + j]);
                    }
    assert_int_equal(row, 28);
}

/* stmatrix is what undoes ldmatrix; rows of lanes that give no address stay as they were. */
static void matrices_are_stored(void **state)
{
    (void)state;
    enum { ROWS = 192, STALE = 7 };
    uint16_t a[ROWS][32];
    static float d[ROWS * 32]; /* A has as many rows as D */
    for (int i = 0; i < ROWS * 32; i++)
        a[i / 32][i % 32] = (uint16_t)(1000 + i);
    const setup s = {"stmatrix", emu_test_stmatrix, TSR_F16, 32, 1, 512, 0};
    const tsr_gemm_args args = {
        .a = a, .d = d, .m = ROWS, .n = 32, .k = 32, .lda = 32, .ldd = 32, .batch = 1, .alpha = 1};
    run_kernel(&s, &args, 1);
    int from = 0;
    for (int kind = 0; kind < 6; kind++) {
        const int count = 1 << kind % 3, transposed = kind / 3;
        for (int matrix = 0; matrix < 4; matrix++)
            for (int i = 0; i < 64; i++) {
                const int row = i / 8, column = i % 8;
                const int r = transposed ? column : row, c = transposed ? row : column;
                const int pair = c / 2;
                const float expected = matrix < count ? (float)a[from + 2 * matrix + c % 2][4 * r + pair] : STALE;
                /* The lane that read it back was the neighbour. */
                assert_true(d[(32 * kind + ((8 * matrix + row) ^ 1)) * 32 + column] == expected);
            }
        from += 2 * count;
    }
}

static void clusters_share_memory(void **state)
{
    (void)state;
    enum { CTAS = 12, N = 64 };
    float a[CTAS][N], d[CTAS][N];
    for (int i = 0; i < CTAS * N; i++)
        a[i / N][i % N] = (float)(i * 7 % 31);
    const setup s = {"cluster", emu_test_cluster, TSR_F32, N, 1, 16 * N, 4};
    const tsr_gemm_args args = {.a = a, .d = d, .m = CTAS, .n = N, .k = N, .lda = N, .ldd = N, .batch = 1, .alpha = 1};
    for (unsigned long long seed = 0; seed < 10; seed++) {
        if (try_kernel(&s, &args, seed, CTAS, 2, 0) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        for (int c = 0; c < CTAS; c += 4)
            for (int x = 0; x < N; x++) {
                float sum = 0, odd = 0;
                for (int r = 0; r < 4; r++) {
                    sum += a[c + r][x];
                    odd += (float)((int)a[c + r][x] % 2);
                }
                assert_true(d[c][x] == sum);
                assert_true(d[c + 1][x] == (float)(N - 1 - x));
                assert_true(d[c + 2][x] == sum);
                assert_true(d[c + 3][x] == odd);
            }
    }
}

/* Small integers: every product and sum is exact, in whatever order. */
static void fill(tsr_dtype dtype, void *array, int count, unsigned seed)
{
    srand(seed);
    for (int i = 0; i < count; i++)
        tsr_store_element(dtype, array, i, rand() % 31 - 15);
}

static void check_product(const setup *s, int m, int n, int k, int trans_a, int trans_b, double alpha, int with_c)
{
    double a[512], b[512]; /* storage for any dtype */
    float c[256], d[256];
    const int lda = trans_a ? m : k, ldb = trans_b ? k : n;
    for (unsigned seed = 0; seed < 4; seed++) {
        fill(s->dtype, a, m * k, 10 + seed);
        fill(s->dtype, b, k * n, 20 + seed);
        fill(TSR_F32, c, m * n, 30 + seed);
        const tsr_gemm_args args = {.a = a,
                                    .b = b,
                                    .c = c,
                                    .d = d,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .lda = lda,
                                    .ldb = ldb,
                                    .ldc = n,
                                    .ldd = n,
                                    .batch = 1,
                                    .alpha = alpha,
                                    .beta = with_c,
                                    .trans_a = trans_a,
                                    .trans_b = trans_b};
        run_kernel(s, &args, seed);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int x = 0; x < k; x++)
                    sum += tsr_load_element(s->dtype, a, trans_a ? x * lda + i : i * lda + x) *
                           tsr_load_element(s->dtype, b, trans_b ? j * ldb + x : x * ldb + j);
                assert_true((double)d[i * n + j] == alpha * sum + (with_c ? (double)c[i * n + j] : 0));
            }
    }
}

static void mma_multiplies(void **state)
{
    (void)state;
    const setup bf16 = {"mma_bf16", emu_test_mma_bf16, TSR_BF16, 32, 1, 512, 0};
    const setup f16 = {"mma_f16", emu_test_mma_f16, TSR_F16, 32, 1, 512, 0};
    const setup tf32 = {"mma_tf32", emu_test_mma_tf32, TSR_F32, 32, 1, 0, 0};
    check_product(&bf16, 16, 8, 32, 0, 0, 1, 1);
    check_product(&f16, 16, 8, 32, 0, 0, 1, 1);
    check_product(&tf32, 16, 8, 16, 0, 0, 1, 1);
}

/* Every mix of s8 and u8, with all their values, and sums that wrap. */
static void mma_int8_multiplies(void **state)
{
    (void)state;
    enum { M = 16, N = 8, K = 32 };
    static const struct {
        const char *name;
        kernel *function;
        tsr_dtype dtype_a, dtype_b;
    } mixes[] = {{"s8 x s8", emu_test_mma_int8_00, TSR_S8, TSR_S8},
                 {"s8 x u8", emu_test_mma_int8_01, TSR_S8, TSR_U8},
                 {"u8 x s8", emu_test_mma_int8_10, TSR_U8, TSR_S8},
                 {"u8 x u8", emu_test_mma_int8_11, TSR_U8, TSR_U8}};
    unsigned char a[M * K], b[K * N];
    int32_t c[M * N], d[M * N];
    srand(6);
    for (int i = 0; i < M * K; i++)
        a[i] = (unsigned char)(rand() >> 4);
    for (int i = 0; i < K * N; i++)
        b[i] = (unsigned char)(rand() >> 4);
    for (int i = 0; i < M * N; i++)
        c[i] = i % 3 == 0 ? INT32_MAX - i : i % 3 == 1 ? INT32_MIN + i : i;
    const tsr_gemm_args args = {.a = a,
                                .b = b,
                                .c = c,
                                .d = d,
                                .m = M,
                                .n = N,
                                .k = K,
                                .lda = K,
                                .ldb = N,
                                .ldc = N,
                                .ldd = N,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 1};
    for (size_t s = 0; s < sizeof mixes / sizeof mixes[0]; s++) {
        const tsr_emu_job job = {.name = mixes[s].name,
                                 .kernel = mixes[s].function,
                                 .args = &args,
                                 .dtype_a = mixes[s].dtype_a,
                                 .dtype_b = mixes[s].dtype_b,
                                 .dtype_c = TSR_S32,
                                 .dtype_d = TSR_S32,
                                 .grid = {1, 1, 1},
                                 .threads_x = 32,
                                 .threads_y = 1,
                                 .workers = 1};
        memset(d, 0, sizeof d);
        if (tsr_emu_run(&job) != TSR_OK)
            fail_msg("%s: %s", mixes[s].name, tsr_last_error());
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                uint32_t sum = (uint32_t)c[i * N + j];
                for (int k = 0; k < K; k++)
                    sum += (uint32_t)((int)tsr_load_element(mixes[s].dtype_a, a, i * K + k) *
                                      (int)tsr_load_element(mixes[s].dtype_b, b, k * N + j));
                assert_int_equal((uint32_t)d[i * N + j], sum);
            }
    }
}

/* Random fractions: each shape sums by rising k, with one rounding to nearest for each product. */
static void mma_f64_multiplies(void **state)
{
    (void)state;
    enum { M = 16, N = 8, K = 16 };
    static const struct {
        const char *name;
        kernel *function;
    } shapes[] = {{"m8n8k4", emu_test_mma_f64_8_4},
                  {"m16n8k4", emu_test_mma_f64_16_4},
                  {"m16n8k8", emu_test_mma_f64_16_8},
                  {"m16n8k16", emu_test_mma_f64_16_16}};
    double a[M * K], b[K * N], c[M * N], d[M * N];
    srand(5);
    for (int i = 0; i < M * K; i++)
        a[i] = rand() / (double)RAND_MAX - 0.5;
    for (int i = 0; i < K * N; i++)
        b[i] = rand() / (double)RAND_MAX - 0.5;
    for (int i = 0; i < M * N; i++)
        c[i] = rand() / (double)RAND_MAX - 0.5;
    const tsr_gemm_args args = {.a = a,
                                .b = b,
                                .c = c,
                                .d = d,
                                .m = M,
                                .n = N,
                                .k = K,
                                .lda = K,
                                .ldb = N,
                                .ldc = N,
                                .ldd = N,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 1};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const tsr_emu_job job = {.name = shapes[s].name,
                                 .kernel = shapes[s].function,
                                 .args = &args,
                                 .dtype_a = TSR_F64,
                                 .dtype_b = TSR_F64,
                                 .dtype_c = TSR_F64,
                                 .dtype_d = TSR_F64,
                                 .grid = {1, 1, 1},
                                 .threads_x = 32,
                                 .threads_y = 1,
                                 .workers = 1};
        memset(d, 0, sizeof d);
        if (tsr_emu_run(&job) != TSR_OK)
            fail_msg("%s: %s", shapes[s].name, tsr_last_error());
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = c[i * N + j];
                for (int k = 0; k < K; k++)
                    sum = fma(a[i * K + k], b[k * N + j], sum);
                assert_true(d[i * N + j] == sum);
            }
    }
}

static void wmma_multiplies(void **state)
{
    (void)state;
    const size_t shared_bytes = 2 * 16 * 24 * 2 + 16 * 20 * 4;
    const setup bf16 = {"wmma_bf16", emu_test_wmma_bf16, TSR_BF16, 32, 1, shared_bytes, 0};
    const setup f16 = {"wmma_f16", emu_test_wmma_f16, TSR_F16, 32, 1, shared_bytes, 0};
    for (int trans = 0; trans < 4; trans++) {
        check_product(&bf16, 16, 16, 16, trans & 1, trans >> 1, 3, 0);
        check_product(&f16, 16, 16, 16, trans & 1, trans >> 1, 3, 0);
    }
}

/* The bits, but all NaNs are alike. */
static uint32_t f32_key(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? 0x7fc00000u : bits;
}

static void conversions_round(void **state)
{
    (void)state;
    enum { N = 65536 };
    float *a = malloc(N * sizeof *a), *d = malloc(5 * N * sizeof *d);
    const setup s = {"convert", emu_test_convert, TSR_F32, 1024, 1, 0, 0};
    const tsr_gemm_args args = {.a = a, .d = d, .m = 5, .n = N, .k = N, .lda = N, .ldd = N, .batch = 1, .alpha = 1};
    srand(7);
    for (int x = 0; x < N; x++) {
        /* Around every f16, at every distance from the halfway points, then anything. */
        const float near_f16 = tsr_f16_to_f32((uint16_t)x) * (1.0f + (float)(rand() % 9 - 4) * 0x1p-12f);
        const uint32_t any = (uint32_t)rand() * 2u ^ (uint32_t)rand();
        memcpy(&a[x], &any, sizeof any);
        if (x % 4)
            a[x] = near_f16;
    }
    run_kernel(&s, &args, 0);
    for (int x = 0; x < N; x++) {
        assert_int_equal(f32_key(d[x]), f32_key(tsr_f16_to_f32((uint16_t)x)));
        assert_int_equal(f32_key(d[N + x]), f32_key(tsr_bf16_to_f32((uint16_t)x)));
        const uint16_t f16 = (uint16_t)d[2 * N + x], bf16 = (uint16_t)d[3 * N + x];
        assert_int_equal(f16, isnan(a[x]) ? 0x7fff : tsr_f32_to_f16(a[x]));
        assert_int_equal(bf16, isnan(a[x]) ? 0x7fff : tsr_f32_to_bf16(a[x]));
        /* tf32 has 11 bits of mantissa with the hidden one: the distance is at most half of its last place. */
        const double value = (double)a[x], tf32 = (double)d[4 * N + x];
        if (isfinite(tf32) && isfinite(value)) {
            int exponent;
            frexp(value, &exponent);
            assert_true(fabs(tf32 - value) <= ldexp(0.5, (exponent < -125 ? -125 : exponent) - 11));
            assert_int_equal(f32_key(d[4 * N + x]) & 0x1fff, 0);
        }
    }
    free(a);
    free(d);
}

/* Warps with different parts, and what is said of them when they do not agree. */
static void named_barriers_order(void **state)
{
    (void)state;
    enum { ROWS = 9, N = 32 };
    float a[ROWS * N], d[ROWS * N];
    for (int i = 0; i < ROWS * N; i++)
        a[i] = (float)i;
    const tsr_gemm_args args = {.a = a, .d = d, .m = ROWS, .n = N, .k = N, .lda = N, .ldd = N, .batch = 1, .alpha = 1};
    kernel *const kernels[] = {emu_test_named_0, emu_test_named_1, emu_test_named_2, emu_test_named_3};
    for (int bug = 0; bug < 4; bug++)
        for (unsigned long long seed = 0; seed < 8; seed++) {
            const setup s = {"named", kernels[bug], TSR_F32, 96, 1, 2 * N * sizeof(float), 0};
            const tsr_status status = try_kernel(&s, &args, seed, 1, 1, 0);
            if (status != (bug ? TSR_KERNEL_FAULT : TSR_OK))
                fail_msg("bug %d, seed %llu: %s", bug, seed, tsr_last_error());
            for (int i = 0; i < ROWS * N && !bug; i++)
                assert_true(d[i] == 2 * a[i]);
            const char *expected[] = {"", "shared memory", "shared memory", "different counts"};
            if (bug && !strstr(tsr_last_error(), expected[bug]))
                fail_msg("bug %d: %s", bug, tsr_last_error());
        }
}

/* Copies, matrix loads and products in one kernel: no fault where there is no bug, and exact sums at every edge. */
static void a_pipeline_multiplies(void **state)
{
    (void)state;
    enum { LD = 136, MOST = 130 };
    static _Alignas(16) uint16_t a[MOST * LD], b[MOST * LD];
    static float d[MOST * LD];
    static const int shapes[][3] = {{64, 64, 32}, {1, 1, 1}, {63, 65, 31}, {130, 70, 130}, {66, 128, 97}};
    const setup s = {"pipeline", emu_test_pipeline, TSR_BF16, 128, 1, 3 * (64 * 40 + 32 * 72) * 2, 0};
    fill(TSR_BF16, a, MOST * LD, 1);
    fill(TSR_BF16, b, MOST * LD, 2);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
        const tsr_gemm_args args = {
            .a = a, .b = b, .d = d, .m = m, .n = n, .k = k, .lda = LD, .ldb = LD, .ldd = LD, .batch = 1, .alpha = 1};
        if (try_kernel(&s, &args, i, (m + 63) / 64 * ((n + 63) / 64), 2, 0) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        for (int row = 0; row < m; row++)
            for (int col = 0; col < n; col++) {
                double sum = 0;
                for (int x = 0; x < k; x++)
                    sum += (double)tsr_bf16_to_f32(a[row * LD + x]) * (double)tsr_bf16_to_f32(b[x * LD + col]);
                assert_true((double)d[row * LD + col] == sum);
            }
    }
}

/* CTAs that wait for each other, in both directions, on one worker and on several. */
static void ctas_hand_over(void **state)
{
    (void)state;
    enum { MOST = 300, N = 40 };
    static float a[MOST * N], d[MOST * N];
    static unsigned workspace[MOST + MOST * N + 2];
    for (int i = 0; i < MOST * N; i++)
        a[i] = (float)(i % 7);
    const setup s = {"handover", emu_test_handover, TSR_F32, 64, 1, 64 * sizeof(float), 0};
    for (int ctas = 1; ctas <= MOST; ctas += ctas < 10 ? 3 : 145)
        for (int backwards = 0; backwards < 2; backwards++)
            for (int workers = 1; workers <= 3; workers++) {
                memset(workspace, 0, sizeof workspace);
                const tsr_gemm_args args = {.a = a,
                                            .d = d,
                                            .workspace = workspace,
                                            .m = ctas,
                                            .n = N,
                                            .k = N,
                                            .lda = backwards ? ctas : N,
                                            .ldd = N,
                                            .batch = 1,
                                            .alpha = 1,
                                            .trans_a = backwards};
                if (try_kernel(&s, &args, 5, ctas, workers, sizeof workspace) != TSR_OK)
                    fail_msg("%s", tsr_last_error());
                float sums[N] = {0};
                for (int place = 0; place < ctas; place++) {
                    const int cta = backwards ? ctas - 1 - place : place;
                    for (int x = 0; x < N; x++) {
                        sums[x] += backwards ? a[x * ctas + cta] : a[cta * N + x];
                        assert_true(d[cta * N + x] == sums[x]);
                    }
                }
                assert_int_equal(workspace[ctas + ctas * N], 0);
                assert_int_equal(workspace[ctas + ctas * N + 1], (unsigned)sums[0]);
            }
}

/* A grid that only works if more CTAs are resident than the GPU holds is a deadlock, as it would be there. */
static void gpu_is_finite(void **state)
{
    (void)state;
    enum { CTAS = 132 * 2 + 1, N = 4 };
    static float a[CTAS * N], d[CTAS * N];
    static unsigned workspace[CTAS + CTAS * N + 2];
    /* So much shared memory that two CTAs fit on an SM. */
    const setup s = {"handover", emu_test_handover, TSR_F32, 64, 1, 100 << 10, 0};
    for (int workers = 1; workers <= 2; workers++)
        for (int missing = 0; missing < 2; missing++) {
            const int ctas = CTAS - missing;
            memset(workspace, 0, sizeof workspace);
            const tsr_gemm_args args = {.a = a,
                                        .d = d,
                                        .workspace = workspace,
                                        .m = ctas,
                                        .n = N,
                                        .k = N,
                                        .lda = ctas,
                                        .ldd = N,
                                        .batch = 1,
                                        .alpha = 1,
                                        .trans_a = 1};
            assert_int_equal(try_kernel(&s, &args, 5, ctas, workers, sizeof workspace),
                             missing ? TSR_OK : TSR_KERNEL_FAULT);
            assert_true(missing || strstr(tsr_last_error(), "deadlock"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_move),          cmocka_unit_test(warps_exchange),
        cmocka_unit_test(copies_land),           cmocka_unit_test(matrices_load),
        cmocka_unit_test(mma_multiplies),        cmocka_unit_test(mma_f64_multiplies),
        cmocka_unit_test(mma_int8_multiplies),   cmocka_unit_test(wmma_multiplies),
        cmocka_unit_test(conversions_round),     cmocka_unit_test(named_barriers_order),
        cmocka_unit_test(a_pipeline_multiplies), cmocka_unit_test(ctas_hand_over),
        cmocka_unit_test(gpu_is_finite),         cmocka_unit_test(matrices_are_stored),
        cmocka_unit_test(clusters_share_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
