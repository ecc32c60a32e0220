/* Bulk copies and reductions of the copy engine (kernels/ptx/bulk.h, bulk_reduce.h, tma_reduce.h) against what the PTX
 * ISA says of "cp.async.bulk", "cp.reduce.async.bulk" and "cp.reduce.async.bulk.tensor". */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "emu/run_launch.h"
#include "ptx/reduction.h"
#include "twins/operands.h"

typedef void kernel(const tsr_gemm_args args);
typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
kernel bulk_copies, bulk_send, bulk_reduce;
kernel_tma bulk_tma_reduce_integers, bulk_tma_reduce_floats, emu_test_bulk_cluster;

enum { WORDS = TWIN_M * TWIN_N, CASES = TWIN_CASES };

typedef struct batch {
    uint32_t a[CASES][WORDS], c[CASES][WORDS], d[CASES][WORDS];
} batch;

/* ---- what the ISA says of one element ---- */

typedef enum number { U32, S32, U64, S64, F16, BF16, F32, F64 } number;

static int bytes_of(number type)
{
    return type == F16 || type == BF16 ? 2 : type == U64 || type == S64 || type == F64 ? 8 : 4;
}

/* "The .inc and .dec operations return a result in the range [0..x] where x is the value at the source". */
static uint64_t unsigned_result(uint64_t to, uint64_t x, tsr_reduction_operation operation)
{
    switch (operation) {
    case TSR_OPERATION_ADD:
        return to + x;
    case TSR_OPERATION_MIN:
        return to < x ? to : x;
    case TSR_OPERATION_MAX:
        return to < x ? x : to;
    case TSR_OPERATION_INC:
        return to < x ? to + 1 : 0;
    case TSR_OPERATION_DEC:
        return to > 0 && to <= x ? to - 1 : x;
    case TSR_OPERATION_AND:
        return to & x;
    case TSR_OPERATION_OR:
        return to | x;
    case TSR_OPERATION_XOR:
        return to ^ x;
    }
    return 0;
}

static double value_of(number type, uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float f32;
    double f64;
    memcpy(&f32, &word, sizeof f32);
    memcpy(&f64, &bits, sizeof f64);
    switch (type) {
    case F16:
        return (double)tsr_f16_to_f32((uint16_t)bits);
    case BF16:
        return (double)tsr_bf16_to_f32((uint16_t)bits);
    case F32:
        return (double)f32;
    case F64:
        return f64;
    case S32:
        return (double)(int32_t)word;
    default:
        return 0;
    }
}

/* 1 if `bits` is a nearest number of the type to `exact`, and of two the even one; neighbours in magnitude have
 * neighbouring bits. */
static int is_nearest(number type, uint64_t bits, double exact)
{
    const uint64_t sign = 1ull << (8 * bytes_of(type) - 1), magnitude = bits & (sign - 1);
    const double value = value_of(type, bits);
    if (isinf(value)) {
        const double most = fabs(value_of(type, magnitude - 1)), before = fabs(value_of(type, magnitude - 2));
        return fabs(exact) >= most + (most - before) / 2 && signbit(value) == signbit(exact);
    }
    const double distance = fabs(value - exact);
    const double above = fabs(value_of(type, (bits & sign) | (magnitude + 1)) - exact);
    const double below = magnitude ? fabs(value_of(type, (bits & sign) | (magnitude - 1)) - exact) : INFINITY;
    return distance <= above && distance <= below && ((bits & 1) == 0 || (distance < above && distance < below));
}

/* Whether a float's result is right; sums of doubles are rounded by the processor. */
static int is_right_float(number type, uint64_t to, uint64_t x, uint64_t result, tsr_reduction_operation operation)
{
    const double a = value_of(type, to), b = value_of(type, x), r = value_of(type, result);
    if (operation == TSR_OPERATION_ADD) {
        if (isnan(a) || isnan(b) || (isinf(a) && isinf(b) && a != b))
            return isnan(r);
        if (type == F64)
            return a + b == r;
        if (a + b == 0)
            return r == 0 && signbit(r) == signbit(a + b);
        /* Far apart, the larger one stays; else the sum is exact, or nearer to that one than half a step. */
        if (!isinf(a) && !isinf(b) && fabs(a) > 0x1p40 * fabs(b))
            return r == a;
        if (!isinf(a) && !isinf(b) && fabs(b) > 0x1p40 * fabs(a))
            return r == b;
        return isinf(a) || isinf(b) ? r == a + b : is_nearest(type, result, a + b);
    }
    if (isnan(a) && isnan(b))
        return isnan(r);
    if (isnan(a) || isnan(b))
        return result == (isnan(a) ? x : to);
    if (a == b) /* zeros: +0 is above -0 */
        return result == (operation == TSR_OPERATION_MIN ? (to | x) : a == 0 ? (to & x) : to);
    return result == ((a < b) == (operation == TSR_OPERATION_MIN) ? to : x);
}

static int is_right(number type, uint64_t to, uint64_t x, uint64_t result, tsr_reduction_operation operation)
{
    if (type == F16 || type == BF16 || type == F32 || type == F64)
        return is_right_float(type, to, x, result, operation);
    const int bits = 8 * bytes_of(type), has_order = operation == TSR_OPERATION_MIN || operation == TSR_OPERATION_MAX;
    if ((type == S32 || type == S64) && has_order) {
        /* Sign-extended: then as the processor compares. */
        const int64_t a = (int64_t)(to << (64 - bits)), b = (int64_t)(x << (64 - bits));
        return result == ((a < b) == (operation == TSR_OPERATION_MIN) ? to : x);
    }
    const uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    return result == (unsigned_result(to, x, operation) & all);
}

static uint64_t element(const void *array, number type, int i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)array + i * bytes_of(type), (size_t)bytes_of(type));
    return bits;
}

/* Elements [first, end) of a case are reduced, the others are C's. */
static void check_case(const batch *x, int z, number type, tsr_reduction_operation operation, int first_byte,
                       int end_byte)
{
    for (int i = 0; i < 4 * WORDS / bytes_of(type); i++) {
        const uint64_t from = element(x->c[z], type, i), result = element(x->d[z], type, i);
        const int at = i * bytes_of(type);
        if (at < first_byte || at >= end_byte) {
            assert_int_equal(result, from);
            continue;
        }
        const uint64_t with = element((const unsigned char *)x->a[z] - first_byte, type, i);
        if (!is_right(type, from, with, result, operation))
            fail_msg("case %d, element %d: %llx and %llx make %llx by operation %d of type %d", z, i,
                     (unsigned long long)from, (unsigned long long)with, (unsigned long long)result, operation, type);
    }
}

/* ---- running ---- */

static void make_map(tsr_tensor_map *out, tsr_dtype dtype, int is_unsigned, int element_bytes, const batch *x)
{
    const tsr_tensor_spec spec = {.base = x->d,
                                  .dtype = dtype,
                                  .is_unsigned = is_unsigned,
                                  .rank = 3,
                                  .dims = {32 / element_bytes, TWIN_M, CASES},
                                  .strides_bytes = {32, 32 * TWIN_M},
                                  .box = {32 / element_bytes, TWIN_M, 1}};
    tsr_emu_encode(&spec, out);
}

static void run(kernel *function, int cluster, kernel_tma *function_tma, const tsr_tensor_maps *maps, batch *x,
                int seed)
{
    const twin_format words = {seed, 32, 0, 0, 0};
    for (int z = 0; z < CASES; z++) {
        static twin_case one;
        twin_make(&words, z, &one);
        memcpy(x->a[z], one.a, sizeof x->a[z]);
        memcpy(x->c[z], one.c, sizeof x->c[z]);
    }
    memset(x->d, 0x55, sizeof x->d);
    const tsr_gemm_args args = {.a = x->a,
                                .c = x->c,
                                .d = x->d,
                                .m = 1,
                                .n = WORDS,
                                .k = WORDS,
                                .lda = WORDS,
                                .ldc = WORDS,
                                .ldd = WORDS,
                                .batch = CASES,
                                .batch_a = WORDS,
                                .batch_c = WORDS,
                                .batch_d = WORDS,
                                .alpha = 1,
                                .beta = 1};
    const tsr_emu_job job = {.name = "bulk",
                             .kernel = function,
                             .kernel_tma = function_tma,
                             .maps = maps,
                             .args = &args,
                             .arch = 90,
                             .cluster = cluster,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {cluster, 1, CASES},
                             .threads_x = 128,
                             .threads_y = 1,
                             .shared_bytes = TWIN_SHARED_BYTES,
                             .seed = (unsigned long long)seed,
                             .workers = 2};
    if (tsr_emu_run(&job) != TSR_OK)
        fail_msg("%s", tsr_last_error());
}

static void bytes_are_copied(void **state)
{
    (void)state;
    batch *x = test_malloc(sizeof *x);
    run(bulk_copies, TWIN_CLUSTER, NULL, NULL, x, 31);
    for (int z = 0; z < CASES; z++) {
        assert_memory_equal(x->d[z], (const unsigned char *)x->a[z] + 16, 2 * WORDS);
        assert_memory_equal(&x->d[z][WORDS / 2], &x->c[z][WORDS / 2], 2 * WORDS);
    }
    test_free(x);
}

typedef struct reduction {
    tsr_reduction_operation operation;
    number type;
    int in_shared;
} reduction;

static const reduction reductions[] = {
#define ENTRY(name, operation, type, words, in_shared) {TSR_OPERATION_##operation, type, in_shared},
    TSR_REDUCTIONS(ENTRY)
#undef ENTRY
};

static void global_memory_is_reduced(void **state)
{
    (void)state;
    batch *x = test_malloc(sizeof *x);
    for (int seed = 0; seed < 2; seed++) {
        run(bulk_reduce, 1, NULL, NULL, x, 40 + seed);
        for (int z = 0; z < CASES; z++) {
            const reduction *r = &reductions[z % TSR_REDUCTION_COUNT];
            check_case(x, z, r->type, r->operation, 0, 4 * WORDS);
        }
    }
    test_free(x);
}

static void shared_memory_is_reduced(void **state)
{
    (void)state;
    batch *x = test_malloc(sizeof *x);
    run(bulk_send, TWIN_CLUSTER, NULL, NULL, x, 50);
    for (int z = 0; z < CASES; z++) {
        const reduction *r = &reductions[z % TSR_REDUCTION_COUNT];
        check_case(x, z, r->in_shared ? r->type : U32, r->in_shared ? r->operation : TSR_OPERATION_XOR, 0, 4 * WORDS);
    }
    test_free(x);
}

/* Boxes that stick out below, some of them: what is outside is left out. */
static void tensors_are_reduced(void **state)
{
    (void)state;
    static const tsr_reduction_operation of_s32[] = {TSR_OPERATION_ADD, TSR_OPERATION_MIN, TSR_OPERATION_MAX,
                                                     TSR_OPERATION_AND, TSR_OPERATION_OR,  TSR_OPERATION_XOR};
    static const number floats[] = {F16, BF16, F32, F64};
    batch *x = test_malloc(sizeof *x);
    for (int is_float = 0; is_float < 2; is_float++) {
        tsr_tensor_maps maps = {0};
        make_map(&maps.a, is_float ? TSR_F16 : TSR_S32, 1, is_float ? 2 : 4, x);
        make_map(&maps.b, is_float ? TSR_BF16 : TSR_S32, 0, is_float ? 2 : 4, x);
        make_map(&maps.c, TSR_F32, 0, 4, x);
        make_map(&maps.d, TSR_F64, 0, 8, x);
        run(NULL, 1, is_float ? bulk_tma_reduce_floats : bulk_tma_reduce_integers, &maps, x, 60 + is_float);
        for (int z = 0; z < CASES; z++) {
            const int down = (z % 5 < 3 ? 2 : 0) * 32;
            const number type = is_float ? floats[z % 4] : z % 2 ? S32 : U32;
            const tsr_reduction_operation operation =
                is_float ? z % 4 < 2 ? (tsr_reduction_operation)(z / 4 % 3) : TSR_OPERATION_ADD
                : z % 2  ? of_s32[z / 2 % 6]
                         : (tsr_reduction_operation)(z / 2 % 8);
            check_case(x, z, type, operation, down, down + 4 * WORDS);
        }
    }
    test_free(x);
}

static void clusters_send_and_add(void **state)
{
    (void)state;
    enum { CTAS = 8, N = 64 };
    static uint32_t a[CTAS * N], d[CTAS * N], mail[CTAS * 2 * N];
    for (int i = 0; i < CTAS * N; i++)
        a[i] = (uint32_t)i * 2654435761u;
    const tsr_gemm_args args = {
        .a = a, .d = d, .workspace = mail, .m = CTAS, .n = N, .k = N, .lda = N, .ldd = N, .batch = 1, .alpha = 1};
    const tsr_tensor_maps maps = {0};
    for (unsigned long long seed = 0; seed < 12; seed++) {
        const tsr_emu_job job = {.name = "bulk_cluster",
                                 .kernel_tma = emu_test_bulk_cluster,
                                 .maps = &maps,
                                 .args = &args,
                                 .cluster = 4,
                                 .dtype_a = TSR_F32,
                                 .dtype_b = TSR_F32,
                                 .dtype_c = TSR_F32,
                                 .dtype_d = TSR_F32,
                                 .grid = {CTAS, 1, 1},
                                 .threads_x = 64,
                                 .threads_y = 1,
                                 .shared_bytes = 2048,
                                 .workspace_bytes = sizeof mail,
                                 .seed = seed,
                                 .workers = 1 + (int)seed % 2};
        memset(d, 0x55, sizeof d);
        if (tsr_emu_run(&job) != TSR_OK)
            fail_msg("seed %llu: %s", seed, tsr_last_error());
        for (int cta = 0; cta < CTAS; cta++)
            for (int i = 0; i < N; i++) {
                const int first = cta / 4 * 4;
                uint32_t sum = 0;
                for (int r = 0; r < 4; r++)
                    sum += a[(first + r) * N + i];
                assert_int_equal(d[cta * N + i], sum);
                assert_int_equal(mail[cta * 2 * N + i], a[(first + (cta + 1) % 4) * N + i]);
                assert_int_equal(mail[(cta * 2 + 1) * N + i], a[first * N + i]);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_copied),         cmocka_unit_test(global_memory_is_reduced),
        cmocka_unit_test(shared_memory_is_reduced), cmocka_unit_test(tensors_are_reduced),
        cmocka_unit_test(clusters_send_and_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
