/* The public API: every rule of validation with its message, plans and their cache, prepared operands, one-line calls,
 * allocation failure, use from several threads. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera.h"

static tsr_context *cpu(void)
{
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    return context;
}

static void expect(tsr_status got, tsr_status status, const char *message)
{
    if (got != status || (message && !strstr(tsr_last_error(), message)))
        print_error("got %s: \"%s\"; expected %s: \"%s\"\n", tsr_status_text(got), tsr_last_error(),
                    tsr_status_text(status), message);
    assert_int_equal(got, status);
    if (message)
        assert_non_null(strstr(tsr_last_error(), message));
}

/* ---- contexts ---- */

static void contexts_refuse_bad_arguments(void **state)
{
    (void)state;
    tsr_context *context = NULL;
    expect(tsr_context_create(NULL, NULL, &context), TSR_INVALID_ARGUMENT, "device = NULL");
    expect(tsr_context_create("cpu", NULL, NULL), TSR_INVALID_ARGUMENT, "out = NULL");
    const char *names[] = {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "CPU"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        expect(tsr_context_create(names[i], NULL, &context), TSR_INVALID_ARGUMENT, "must be \"auto\", \"cpu\"");
    tsr_context_options options = {.struct_bytes = sizeof options};
    options.threads = -1;
    expect(tsr_context_create("cpu", &options, &context), TSR_INVALID_ARGUMENT, "threads = -1");
    options.threads = 0;
    options.plan_cache_entries = -1;
    expect(tsr_context_create("cpu", &options, &context), TSR_INVALID_ARGUMENT, "plan_cache_entries = -1");
    options.plan_cache_entries = 0;
    options.tuning_file = "x";
    expect(tsr_context_create("cpu", &options, &context), TSR_UNSUPPORTED, "tuning_file");
    options.tuning_file = NULL;
    options.free = (void (*)(void *, void *))(uintptr_t)1;
    expect(tsr_context_create("cpu", &options, &context), TSR_INVALID_ARGUMENT, "both or neither");
    options.free = NULL;
    options.struct_bytes = 8;
    expect(tsr_context_create("cpu", &options, &context), TSR_INVALID_ARGUMENT, "tsr_context_options.struct_bytes = 8");
    assert_null(context);
    tsr_context_destroy(NULL);
    tsr_plan_release(NULL);
    tsr_prepared_release(NULL);
}

/* A newer caller's longer struct is taken if it sets nothing that this version does not know. */
static void longer_structs_are_taken_when_zero(void **state)
{
    (void)state;
    struct {
        tsr_context_options options;
        char more[16];
    } longer;
    memset(&longer, 0, sizeof longer);
    longer.options.struct_bytes = sizeof longer;
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", &longer.options, &context), TSR_OK);
    tsr_context_destroy(context);
    longer.more[3] = 1;
    expect(tsr_context_create("cpu", &longer.options, &context), TSR_UNSUPPORTED, "does not know");
    longer.options.struct_bytes = 55;
    expect(tsr_context_create("cpu", &longer.options, &context), TSR_INVALID_ARGUMENT,
           "tsr_context_options.struct_bytes = 55: must be sizeof(tsr_context_options), which is 56 in version 0.1 and "
           "never less, nor more than 4096");
}

/* What we write into a newer caller's longer structs that we do not know is zero. */
static void longer_structs_are_filled_with_zeros(void **state)
{
    (void)state;
    typedef struct longer {
        tsr_candidate candidate;
        char more[24];
    } longer;
    struct {
        tsr_kernel_info info;
        char more[8];
    } kernel;
    static const char zeros[24];
    longer both[2];
    size_t count = 0;
    tsr_context *context = cpu();
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 64, 64, 64);
    memset(both, 0xff, sizeof both);
    assert_int_equal(tsr_route(context, &desc, (void *)both, sizeof both[0], 2, &count), TSR_OK);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(both[i].candidate.device, "cpu");
        assert_memory_equal(both[i].more, zeros, sizeof both[i].more);
    }
    memset(&kernel, 0xff, sizeof kernel);
    kernel.info.struct_bytes = sizeof kernel;
    assert_int_equal(tsr_kernel(0, &kernel.info), TSR_OK);
    assert_int_equal(kernel.info.struct_bytes, sizeof kernel);
    assert_memory_equal(kernel.more, zeros, sizeof kernel.more);
    tsr_context_destroy(context);
}

/* What is behind a struct that says it ends early, or that never said how long it is, is not read. */
static void sizes_of_structs_are_believed_first(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 8, 4097, (size_t)0xdeadbeefdeadbeef, SIZE_MAX};
    tsr_context *context = cpu(), *other = NULL;
    tsr_plan *plan = NULL, *more = NULL;
    float x[16] = {0}, d[16];
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 4, 4, 4);
    const tsr_run_args args = tsr_run_args_make(x, x, d);
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *short_one = malloc(sizeof sizes[i]); /* the size and nothing more */
        assert_non_null(short_one);
        memcpy(short_one, &sizes[i], sizeof sizes[i]);
        expect(tsr_context_create("cpu", short_one, &other), TSR_INVALID_ARGUMENT, "tsr_context_options.struct_bytes");
        expect(tsr_plan_create(context, short_one, &more), TSR_INVALID_ARGUMENT, "tsr_gemm_desc.struct_bytes");
        expect(tsr_gemm(context, short_one, &args), TSR_INVALID_ARGUMENT, "tsr_gemm_desc.struct_bytes");
        expect(tsr_gemm(context, &desc, short_one), TSR_INVALID_ARGUMENT, "tsr_run_args.struct_bytes");
        expect(tsr_plan_run(plan, short_one), TSR_INVALID_ARGUMENT, "tsr_run_args.struct_bytes");
        expect(tsr_kernel(0, short_one), TSR_INVALID_ARGUMENT, "tsr_kernel_info.struct_bytes");
        free(short_one);
    }
    assert_true(other == NULL && more == NULL);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
}

/* ---- descriptors ---- */

typedef struct bad_desc {
    void (*spoil)(tsr_gemm_desc *desc);
    tsr_status status;
    const char *message;
} bad_desc;

enum { FIRST_DESC_BYTES = 272 }; /* of version 0.1 */

#define SPOIL(name, statement)         \
    static void name(tsr_gemm_desc *d) \
    {                                  \
        statement;                     \
    }
SPOIL(short_struct, d->struct_bytes = FIRST_DESC_BYTES - 1)
SPOIL(negative_m, d->m = -1)
SPOIL(negative_n, d->n = -7)
SPOIL(negative_k, d->k = INT64_MIN)
SPOIL(negative_batch, d->batch_count = -1)
SPOIL(negative_threads, d->threads = -2)
SPOIL(short_lda, d->a.ld = 4)
SPOIL(short_lda_t, (d->a.trans = TSR_T, d->a.ld = 2))
SPOIL(short_ldb, d->b.ld = 3)
SPOIL(short_ldb_t, (d->b.trans = TSR_T, d->b.ld = 4))
SPOIL(short_ldc, d->c.ld = 1)
SPOIL(short_ldd, d->d.ld = -4)
SPOIL(bad_trans, d->a.trans = (tsr_trans)2)
SPOIL(trans_c, d->c.trans = TSR_T)
SPOIL(trans_d, d->d.trans = TSR_T)
SPOIL(bad_memory, d->b.memory = (tsr_memory)5)
SPOIL(bad_dtype, d->a.dtype = (tsr_dtype)77)
SPOIL(no_dtype, d->c.dtype = TSR_DTYPE_NONE)
SPOIL(mixed_dtypes, d->b.dtype = TSR_F64)
SPOIL(wide_result, d->d.dtype = TSR_F64)
SPOIL(odd_addend, d->c.dtype = TSR_S8)
SPOIL(s32_operands, d->a.dtype = d->b.dtype = TSR_S32)
SPOIL(odd_align, d->d.align_bytes = 12)
SPOIL(small_odd_align, d->a.align_bytes = 3)
SPOIL(reserved, d->b.reserved[1] = 1)
SPOIL(bad_compute, d->compute = (tsr_compute)9)
SPOIL(wrong_compute, d->compute = TSR_COMPUTE_F64)
SPOIL(pointer_batch, d->batch_kind = TSR_BATCH_POINTERS)
SPOIL(bad_batch, d->batch_kind = (tsr_batch_kind)3)
SPOIL(unknown_flag, d->flags = 0x80000000u)
SPOIL(epilogue, d->epilogue = "max(x, 0)")
SPOIL(no_kernel, d->kernel = "warp-drive")
SPOIL(negative_stride, d->a.batch_stride = -1)
SPOIL(forgotten_a, (d->batch_count = 2, d->b.batch_stride = d->c.batch_stride = d->d.batch_stride = 20))
SPOIL(forgotten_b, (d->batch_count = 2, d->a.batch_stride = d->c.batch_stride = d->d.batch_stride = 20))
SPOIL(contradicting_b, (d->broadcast = TSR_BROADCAST_B, d->b.batch_stride = 20))
SPOIL(unknown_broadcast, d->broadcast = 8)
SPOIL(reserved_word, d->reserved = 1)
SPOIL(overlapping_batch, (d->batch_count = 2, d->d.batch_stride = 11))
SPOIL(huge_ld, d->a.ld = INT64_MAX / 2)
SPOIL(huge_batch, (d->batch_count = INT64_MAX, d->b.batch_stride = 1000, d->d.batch_stride = 12))
SPOIL(huge_empty, (d->m = d->n = 0, d->k = INT64_MAX, d->a.ld = d->b.ld = d->c.ld = d->d.ld = 0))
SPOIL(huge_k, (d->k = INT64_MAX, d->b.ld = 0, d->a.ld = 0))
SPOIL(cuda_kernel, d->kernel = "tiled")
SPOIL(cuda_kernel_in_tf32, (d->kernel = "mma", d->compute = TSR_COMPUTE_TF32))
#undef SPOIL

static const bad_desc bad_descs[] = {
    {short_struct, TSR_INVALID_ARGUMENT, "tsr_gemm_desc.struct_bytes"},
    {negative_m, TSR_INVALID_ARGUMENT, "m = -1: must not be negative"},
    {negative_n, TSR_INVALID_ARGUMENT, "n = -7: must not be negative"},
    {negative_k, TSR_INVALID_ARGUMENT, "k = -9223372036854775808: must not be negative"},
    {negative_batch, TSR_INVALID_ARGUMENT, "batch_count = -1"},
    {negative_threads, TSR_INVALID_ARGUMENT, "threads = -2"},
    {short_lda, TSR_INVALID_ARGUMENT, "lda = 4: must be at least 5, that is K (A is stored M x K)"},
    {short_lda_t, TSR_INVALID_ARGUMENT, "lda = 2: must be at least 3, that is M (A is stored K x M)"},
    {short_ldb, TSR_INVALID_ARGUMENT, "ldb = 3: must be at least 4, that is N (B is stored K x N)"},
    {short_ldb_t, TSR_INVALID_ARGUMENT, "ldb = 4: must be at least 5, that is K (B is stored N x K)"},
    {short_ldc, TSR_INVALID_ARGUMENT, "ldc = 1: must be at least 4, that is N"},
    {short_ldd, TSR_INVALID_ARGUMENT, "ldd = -4: must be at least 4, that is N"},
    {bad_trans, TSR_INVALID_ARGUMENT, "A.trans = 2"},
    {trans_c, TSR_INVALID_ARGUMENT, "C.trans = TSR_T"},
    {trans_d, TSR_INVALID_ARGUMENT, "D.trans = TSR_T"},
    {bad_memory, TSR_INVALID_ARGUMENT, "B.memory = 5"},
    {bad_dtype, TSR_INVALID_ARGUMENT, "A.dtype = 77"},
    {no_dtype, TSR_INVALID_ARGUMENT, "C.dtype = 0"},
    {mixed_dtypes, TSR_INVALID_ARGUMENT, "B.dtype = f64: must be that of A (f32)"},
    {wide_result, TSR_INVALID_ARGUMENT, "D.dtype = f64: no result of f32 operands"},
    {odd_addend, TSR_INVALID_ARGUMENT, "C.dtype = s8: no addend of f32 products"},
    {s32_operands, TSR_INVALID_ARGUMENT, "A.dtype = s32"},
    {odd_align, TSR_INVALID_ARGUMENT, "D.align_bytes = 12: must be a power of two"},
    {small_odd_align, TSR_INVALID_ARGUMENT, "A.align_bytes = 3: must be a power of two"},
    {reserved, TSR_INVALID_ARGUMENT, "B.reserved[1]"},
    {bad_compute, TSR_INVALID_ARGUMENT, "compute = 9"},
    {wrong_compute, TSR_INVALID_ARGUMENT, "compute = f64: not for f32 operands"},
    {pointer_batch, TSR_UNSUPPORTED, "TSR_BATCH_STRIDED"},
    {bad_batch, TSR_INVALID_ARGUMENT, "batch_kind = 3"},
    {unknown_flag, TSR_INVALID_ARGUMENT, "flags = 0x80000000"},
    {epilogue, TSR_UNSUPPORTED,
     "epilogue = \"max(x, 0)\": only \"acc + bias[n]\" and \"relu(acc + bias[n])\" are supported yet"},
    {no_kernel, TSR_INVALID_ARGUMENT, "kernel = \"warp-drive\": no such kernel"},
    {negative_stride, TSR_INVALID_ARGUMENT, "A.batch_stride = -1"},
    {forgotten_a, TSR_INVALID_ARGUMENT,
     "A.batch_stride = 0: the 2 problems of the batch would share one A; give the stride, or ask for that by broadcast "
     "= "
     "TSR_BROADCAST_A"},
    {forgotten_b, TSR_INVALID_ARGUMENT, "B.batch_stride = 0"},
    {contradicting_b, TSR_INVALID_ARGUMENT, "B.batch_stride = 20: must be 0 with TSR_BROADCAST_B"},
    {unknown_broadcast, TSR_INVALID_ARGUMENT, "broadcast = 0x8"},
    {reserved_word, TSR_INVALID_ARGUMENT, "reserved = 1"},
    {overlapping_batch, TSR_INVALID_ARGUMENT, "D.batch_stride = 11: the 2 problems of the batch would overlap"},
    {huge_ld, TSR_INVALID_ARGUMENT, "A spans more than 2^63 - 1 bytes"},
    {huge_batch, TSR_INVALID_ARGUMENT, "B spans more than 2^63 - 1 bytes"},
    {huge_empty, TSR_INVALID_ARGUMENT, "A spans more than 2^63 - 1 bytes (0 rows, lda = 9223372036854775807)"},
    {huge_k, TSR_INVALID_ARGUMENT, "A spans more than 2^63 - 1 bytes"},
    {cuda_kernel, TSR_UNSUPPORTED, "kernel \"tiled\" does not run f32 x f32 -> f32 on cpu; nearest: tiled_f32"},
    {cuda_kernel_in_tf32, TSR_UNSUPPORTED, "kernel \"mma\" does not run f32 x f32 -> f32 in tf32 on cpu"},
};

static void descriptors_refuse_each_broken_rule(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    for (size_t i = 0; i < sizeof bad_descs / sizeof bad_descs[0]; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 3, 4, 5);
        bad_descs[i].spoil(&desc);
        tsr_plan *plan = NULL;
        expect(tsr_plan_create(context, &desc, &plan), bad_descs[i].status, bad_descs[i].message);
        assert_null(plan);
        float x[4096] = {0}, d[16] = {0};
        const tsr_run_args args = tsr_run_args_make(x, x, d);
        expect(tsr_gemm(context, &desc, &args), bad_descs[i].status, bad_descs[i].message); /* by whatever way */
    }
    tsr_plan *plan = NULL;
    expect(tsr_plan_create(context, NULL, &plan), TSR_INVALID_ARGUMENT, "desc = NULL");
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 3, 4, 5);
    expect(tsr_plan_create(NULL, &desc, &plan), TSR_INVALID_ARGUMENT, "context = NULL");
    expect(tsr_plan_create(context, &desc, NULL), TSR_INVALID_ARGUMENT, "out = NULL");
    tsr_context_destroy(context);
}

/* Problems of a batch side by side within the rows of one matrix do not overlap. */
static void interleaved_batches_are_fine(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 2, 3, 1);
    desc.batch_count = 4;
    desc.d.ld = 12;
    desc.d.batch_stride = 3;
    desc.broadcast = TSR_BROADCAST_A | TSR_BROADCAST_B;
    float a[2] = {1, 10}, b[3] = {1, 2, 3}, d[24];
    memset(d, 0, sizeof d);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    for (int i = 0; i < 24; i++)
        assert_true(d[i] == (i < 12 ? 1.0f : 10.0f) * (float)(i % 3 + 1));
    desc.d.ld = 11;
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT, "overlap");
    /* C is another matter: nobody reads it with beta 0, and whether runs do is not known to the plan. */
    const float c[6] = {100, 100, 100, 100, 100, 100};
    desc.d.ld = 12;
    args.c = c;
    args.beta.value = 1;
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT, "C.batch_stride = 0: the 4 problems of the batch");
    desc.broadcast |= TSR_BROADCAST_C;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    for (int i = 0; i < 24; i++)
        assert_true(d[i] == 100 + (i < 12 ? 1.0f : 10.0f) * (float)(i % 3 + 1));
    /* Without elements there is nothing to share; one problem may say so, too. */
    desc.k = 0;
    desc.broadcast = TSR_BROADCAST_C;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    desc = tsr_gemm_desc_make(TSR_F32, 2, 3, 1);
    desc.broadcast = TSR_BROADCAST_A | TSR_BROADCAST_B | TSR_BROADCAST_C;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    tsr_context_destroy(context);
}

/* ---- runs ---- */

static void runs_refuse_each_broken_rule(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 3, 4, 5);
    desc.a.align_bytes = 16;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    _Alignas(16) float a[32] = {0};
    float b[40] = {0}, c[12] = {0}, d[16] = {0};
    const tsr_run_args good = tsr_run_args_make(a, b, d);
    assert_int_equal(tsr_plan_run(plan, &good), TSR_OK);

    expect(tsr_plan_run(NULL, &good), TSR_INVALID_ARGUMENT, "plan = NULL");
    expect(tsr_plan_run(plan, NULL), TSR_INVALID_ARGUMENT, "args = NULL");
    tsr_run_args args = good;
    args.struct_bytes = 1;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "tsr_run_args.struct_bytes = 1");
    args = good;
    args.a = NULL;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "a = NULL: it is read");
    args = good;
    args.a = a + 1;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "not aligned to the 16 bytes");
    args = good;
    args.b = (const char *)b + 1;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "not aligned to the 4 bytes");
    args = good;
    args.d = NULL;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "d = NULL: it is written");
    args = good;
    args.c = NULL;
    args.beta.value = 1;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "c = NULL: it is read");
    args = good;
    args.d = a + 14;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "d: overlaps A");
    args = good;
    args.d = b + 19; /* its first element is B's last */
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "d: overlaps B");
    args = good;
    args.c = d + 1;
    args.beta.value = 1;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "d: overlaps C");
    args = good;
    args.alpha.device = a;
    expect(tsr_plan_run(plan, &args), TSR_UNSUPPORTED, "alpha.device");
    args = good;
    args.bias = a;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "bias: must be NULL");
    args = good;
    args.metadata_a = a;
    expect(tsr_plan_run(plan, &args), TSR_UNSUPPORTED, "metadata_a");

    /* What is not read may be NULL. */
    args = tsr_run_args_make(NULL, NULL, d);
    args.c = c;
    args.alpha.value = 0;
    args.beta.value = 2;
    c[11] = 21;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    assert_true(d[11] == 42.0f);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
}

static void empty_problems_touch_nothing(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    const int64_t sizes[][3] = {{0, 4, 5}, {3, 0, 5}, {0, 0, 0}};
    for (size_t i = 0; i < 3; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, sizes[i][0], sizes[i][1], sizes[i][2]);
        tsr_run_args args = tsr_run_args_make(NULL, NULL, NULL);
        args.beta.value = 1;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    }
    /* K == 0: D = beta * C. */
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 2, 2, 0);
    float c[4] = {1, 2, 3, 4}, d[4] = {9, 9, 9, 9};
    tsr_run_args args = tsr_run_args_make(NULL, NULL, d);
    args.c = c;
    args.beta.value = -1;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    for (int i = 0; i < 4; i++)
        assert_true(d[i] == -c[i]);
    tsr_context_destroy(context);
}

/* ---- plans ---- */

static void plans_are_cached_and_bounded(void **state)
{
    (void)state;
    tsr_context_options options = {.struct_bytes = sizeof options, .plan_cache_entries = 3};
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 8, 8, 8);
    tsr_plan *first = NULL, *second = NULL;
    assert_int_equal(tsr_plan_create(context, &desc, &first), TSR_OK);
    assert_int_equal(tsr_plan_create(context, &desc, &second), TSR_OK);
    assert_ptr_equal(first, second);
    tsr_plan_release(second);
    /* What differs in any way gets a plan of its own. */
    desc.a.align_bytes = 64;
    assert_int_equal(tsr_plan_create(context, &desc, &second), TSR_OK);
    assert_ptr_not_equal(first, second);
    tsr_plan_release(second);
    desc.a.align_bytes = 0;
    desc.kernel = "cpu-sequential";
    assert_int_equal(tsr_plan_create(context, &desc, &second), TSR_OK);
    assert_string_equal(tsr_plan_kernel(second), "cpu_sequential_f32");
    tsr_plan_release(second);
    desc.kernel = NULL;
    /* Many more than fit: the oldest go, held ones stay alive. */
    for (int64_t n = 1; n <= 50; n++) {
        tsr_plan *plan = NULL;
        desc.n = n;
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        tsr_plan_release(plan);
    }
    float a[64], b[64], d[64];
    for (int i = 0; i < 64; i++)
        a[i] = b[i] = 1;
    const tsr_run_args args = tsr_run_args_make(a, b, d);
    assert_int_equal(tsr_plan_run(first, &args), TSR_OK);
    assert_true(d[63] == 8.0f);
    assert_int_equal(tsr_plan_workspace_bytes(first), 0);
    tsr_plan_release(first);
    expect(tsr_plan_save(NULL, "x"), TSR_UNSUPPORTED, "tsr_plan_save");
    expect(tsr_plan_load(context, "x", &first), TSR_UNSUPPORTED, "tsr_plan_load");
    tsr_context_destroy(context);
}

static void prepared_operands_are_checked(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 70, 90, 50);
    desc.kernel = "cpu-tiled";
    tsr_plan *plan = NULL, *other = NULL, *sequential = NULL;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    desc.n = 91;
    assert_int_equal(tsr_plan_create(context, &desc, &other), TSR_OK);
    desc.kernel = "cpu-sequential";
    assert_int_equal(tsr_plan_create(context, &desc, &sequential), TSR_OK);
    float *a = malloc(sizeof(float) * 70 * 50), *b = malloc(sizeof(float) * 50 * 90);
    float *d = malloc(sizeof(float) * 70 * 90), *expected = malloc(sizeof(float) * 70 * 90);
    for (int i = 0; i < 70 * 50; i++)
        a[i] = sinf((float)i);
    for (int i = 0; i < 50 * 90; i++)
        b[i] = cosf((float)i);
    tsr_run_args args = tsr_run_args_make(a, b, expected);
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);

    tsr_prepared *pa = NULL, *pb = NULL;
    expect(tsr_prepare(NULL, 'b', b, &pb), TSR_INVALID_ARGUMENT, "plan = NULL");
    expect(tsr_prepare(plan, 'c', b, &pb), TSR_INVALID_ARGUMENT, "operand = 'c': must be 'a' or 'b'");
    expect(tsr_prepare(plan, 0, b, &pb), TSR_INVALID_ARGUMENT, "operand = (char)0: must be 'a' or 'b'");
    expect(tsr_prepare(plan, '\n', b, &pb), TSR_INVALID_ARGUMENT, "operand = (char)10: must be 'a' or 'b'");
    expect(tsr_prepare(plan, 'b', NULL, &pb), TSR_INVALID_ARGUMENT, "data = NULL");
    expect(tsr_prepare(plan, 'b', (char *)b + 1, &pb), TSR_INVALID_ARGUMENT, "not aligned");
    expect(tsr_prepare(sequential, 'b', b, &pb), TSR_UNSUPPORTED, "cpu_sequential_f32 has no prepared form");
    assert_int_equal(tsr_prepare(plan, 'b', b, &pb), TSR_OK);
    assert_int_equal(tsr_prepare(plan, 'a', a, &pa), TSR_OK);
    args = tsr_run_args_make(NULL, NULL, d);
    args.prepared_a = pb;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "prepared_a: was prepared as operand b");
    args.prepared_a = pa;
    args.prepared_b = pb;
    expect(tsr_plan_run(other, &args), TSR_INVALID_ARGUMENT,
           "prepared_b: is 1 of 50 x 90 as stored, the plan's is 1 of 50 x 91");
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    assert_memory_equal(d, expected, sizeof(float) * 70 * 90);
    tsr_context *another = cpu();
    tsr_plan *elsewhere = NULL, *transposed = NULL;
    desc = tsr_gemm_desc_make(TSR_F32, 70, 90, 50);
    assert_int_equal(tsr_plan_create(another, &desc, &elsewhere), TSR_OK);
    expect(tsr_plan_run(elsewhere, &args), TSR_INVALID_ARGUMENT, "prepared on cpu of another context");
    desc.b.trans = TSR_T;
    desc.kernel = "cpu-tiled";
    assert_int_equal(tsr_plan_create(context, &desc, &transposed), TSR_OK);
    expect(tsr_plan_run(transposed, &args), TSR_INVALID_ARGUMENT, "prepared_b: is f32, the plan's is f32 transposed");
    desc.b.trans = TSR_N;
    desc.kernel = "cpu-sequential";
    tsr_plan_release(sequential);
    assert_int_equal(tsr_plan_create(context, &desc, &sequential), TSR_OK);
    expect(tsr_plan_run(sequential, &args), TSR_UNSUPPORTED, "cpu_sequential_f32 has no prepared form");
    tsr_plan_release(elsewhere);
    tsr_plan_release(transposed);
    tsr_context_destroy(another);
    /* It needs no plan. */
    tsr_plan_release(plan);
    tsr_prepared_release(pa);
    tsr_prepared_release(pb);
    tsr_plan_release(other);
    tsr_plan_release(sequential);
    free(a);
    free(b);
    free(d);
    free(expected);
    tsr_context_destroy(context);
}

/* Panels of 12 rows or 32 columns for 2, widened: their bytes do not fit 64 bits, and nothing is read or written. (In
 * f32 so few sums need no panels.) */
static void prepared_operands_beyond_any_memory(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 2, 2, 1LL << 59);
    tsr_plan *plan = NULL;
    tsr_prepared *prepared = NULL;
    desc.kernel = "cpu-tiled";
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    expect(tsr_prepare(plan, 'a', (void *)4096, &prepared), TSR_OUT_OF_MEMORY, "no memory for");
    expect(tsr_prepare(plan, 'b', (void *)4096, &prepared), TSR_OUT_OF_MEMORY, "no memory for");
    assert_null(prepared);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
}

/* ---- one-line calls ---- */

/* Every placement of a 2 x 3 view among the rows of a buffer, against every element that A occupies. */
static void views_of_one_buffer_may_interleave(void **state)
{
    (void)state;
    enum { ROWS_A = 3, COLUMNS_A = 2, ROWS_D = 3, COLUMNS_D = 3, PLACES = 60 };
    static float buffer[200];
    float b[COLUMNS_A * COLUMNS_D] = {0};
    for (int64_t ld_a = COLUMNS_A; ld_a < 12; ld_a++)
        for (int64_t ld_d = COLUMNS_D; ld_d < 12; ld_d++)
            for (int at = 0; at < PLACES; at++) {
                const float *a = buffer + 40;
                float *d = buffer + at;
                int meets = 0;
                for (int64_t i = 0; i < ROWS_A * COLUMNS_A; i++)
                    for (int64_t j = 0; j < ROWS_D * COLUMNS_D; j++)
                        meets |= a + i / COLUMNS_A * ld_a + i % COLUMNS_A == d + j / COLUMNS_D * ld_d + j % COLUMNS_D;
                const tsr_status status =
                    tsr_sgemm(TSR_N, TSR_N, ROWS_D, COLUMNS_D, COLUMNS_A, 1, a, ld_a, b, COLUMNS_D, 0, d, ld_d);
                expect(status, meets ? TSR_INVALID_ARGUMENT : TSR_OK, meets ? "overlaps A" : NULL);
            }
}

static void the_default_context_is_one(void **state)
{
    (void)state;
    tsr_context *first = NULL, *second = NULL;
    expect(tsr_default_context(NULL), TSR_INVALID_ARGUMENT, "out = NULL");
    assert_int_equal(tsr_default_context(&first), TSR_OK);
    assert_int_equal(tsr_default_context(&second), TSR_OK);
    assert_ptr_equal(first, second);
}

static void one_line_calls_compute(void **state)
{
    (void)state;
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {7, 8, 9, 10, 11, 12};
    float c[4] = {NAN, NAN, NAN, NAN};
    assert_int_equal(tsr_sgemm(TSR_N, TSR_N, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2), TSR_OK);
    const float expected[4] = {58, 64, 139, 154};
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == expected[i]);
    double da[4] = {1, 2, 3, 4}, db[4] = {5, 6, 7, 8}, dc[4] = {1, 1, 1, 1};
    assert_int_equal(tsr_dgemm(TSR_T, TSR_T, 2, 2, 2, 2, da, 2, db, 2, -1, dc, 2), TSR_OK);
    const double dexpected[4] = {2 * 23 - 1, 2 * 31 - 1, 2 * 34 - 1, 2 * 46 - 1};
    for (int i = 0; i < 4; i++)
        assert_true(dc[i] == dexpected[i]);
    expect(tsr_sgemm(TSR_N, TSR_N, 2, 2, 3, 1, a, 0, b, 2, 0, c, 2), TSR_INVALID_ARGUMENT,
           "lda = 0: must be at least the row length, 3");
    expect(tsr_sgemm(TSR_N, TSR_N, 2, 2, 3, 1, a, 3, b, 1, 0, c, 2), TSR_INVALID_ARGUMENT,
           "ldb = 1: must be at least 2, that is N (B is stored K x N)");
    expect(tsr_dgemm(TSR_N, TSR_N, 2, 2, 2, 1, da, 2, db, 2, 0, dc, 1), TSR_INVALID_ARGUMENT, "ldc = 1");
    expect(tsr_sgemm((tsr_trans)7, TSR_N, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2), TSR_INVALID_ARGUMENT, "trans_a = 7");
    expect(tsr_sgemm(TSR_N, TSR_N, -2, 2, 3, 1, a, 3, b, 2, 0, c, 2), TSR_INVALID_ARGUMENT, "m = -2");
}

/* ---- memory ---- */

typedef struct counting {
    int live, calls, fail_at;
} counting;

static void *counting_alloc(size_t align, size_t bytes, void *user)
{
    counting *count = user;
    if (++count->calls == count->fail_at)
        return NULL;
    void *pointer = NULL;
    if (posix_memalign(&pointer, align, bytes) != 0)
        return NULL;
    count->live++;
    return pointer;
}

static void counting_free(void *pointer, void *user)
{
    ((counting *)user)->live--;
    free(pointer);
}

/* Every allocation of a run fails in turn: a clear status, D untouched, nothing leaked. */
static void failed_allocations_write_nothing(void **state)
{
    (void)state;
    enum { N = 150 };
    float *a = calloc(N * N, sizeof *a), *b = calloc(N * N, sizeof *b), *d = malloc(sizeof *d * N * N);
    int failures = 0, done = 0;
    for (int fail_at = 1; !done; fail_at++) {
        assert_true(fail_at < 100);
        counting count = {.fail_at = fail_at};
        const tsr_context_options options = {
            .struct_bytes = sizeof options, .alloc = counting_alloc, .free = counting_free, .user = &count};
        tsr_context *context = NULL;
        tsr_status status = tsr_context_create("cpu", &options, &context);
        if (status == TSR_OK) {
            tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
            desc.kernel = "cpu-tiled";
            for (int i = 0; i < N * N; i++)
                d[i] = 5;
            const tsr_run_args args = tsr_run_args_make(a, b, d);
            status = tsr_gemm(context, &desc, &args);
            for (int i = 0; i < N * N; i++)
                assert_true(d[i] == (status == TSR_OK ? 0.0f : 5.0f));
            tsr_context_destroy(context);
        }
        if (status != TSR_OK) { /* a call may also do with less memory; then D is right */
            assert_int_equal(status, TSR_OUT_OF_MEMORY);
            failures++;
        }
        done = count.calls < fail_at;
        assert_int_equal(count.live, 0);
    }
    assert_true(failures > 0);
    free(a);
    free(b);
    free(d);
}

static void failed_device_memory_is_not_written(void **state)
{
    (void)state;
    counting count = {0};
    const tsr_context_options options = {
        .struct_bytes = sizeof options, .alloc = counting_alloc, .free = counting_free, .user = &count};
    tsr_context *context = NULL;
    void *pointer = &count;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    count.fail_at = count.calls + 1;
    expect(tsr_device_alloc(context, 100, &pointer), TSR_OUT_OF_MEMORY, "no memory for 100 bytes");
    assert_ptr_equal(pointer, &count);
    tsr_context_destroy(context);
}

static void device_memory_of_the_cpu_is_host_memory(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    void *pointer = NULL;
    assert_int_equal(tsr_device_alloc(context, 100, &pointer), TSR_OK);
    char text[100] = "over and back", back[100];
    assert_int_equal(tsr_upload(context, pointer, text, sizeof text), TSR_OK);
    assert_int_equal(tsr_download(context, back, pointer, sizeof back), TSR_OK);
    assert_string_equal(back, text);
    assert_int_equal(tsr_synchronize(context, NULL), TSR_OK);
    assert_int_equal(tsr_device_free(context, pointer), TSR_OK);
    assert_int_equal(tsr_device_free(context, NULL), TSR_OK);
    expect(tsr_device_alloc(NULL, 1, &pointer), TSR_INVALID_ARGUMENT, "context = NULL");
    expect(tsr_device_alloc(context, 1, NULL), TSR_INVALID_ARGUMENT, "out = NULL");
    expect(tsr_upload(context, NULL, text, 5), TSR_INVALID_ARGUMENT, "device_to = NULL: 5 bytes");
    expect(tsr_download(context, back, NULL, 5), TSR_INVALID_ARGUMENT, "device_from = NULL: 5 bytes");
    assert_int_equal(tsr_upload(context, NULL, NULL, 0), TSR_OK);
    tsr_context_destroy(context);
}

/* ---- threads ---- */

typedef struct worker {
    tsr_context *context;
    int seed, failed;
} worker;

static void *work(void *user)
{
    worker *self = user;
    for (int round = 0; round < 60; round++) {
        const int64_t m = 1 + (round * 7 + self->seed) % 20, n = 1 + (round * 3) % 17, k = 1 + round % 9;
        float a[20 * 9], b[9 * 17], d[20 * 17];
        for (int i = 0; i < m * k; i++)
            a[i] = (float)(i % 5);
        for (int i = 0; i < k * n; i++)
            b[i] = (float)(i % 3);
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, m, n, k);
        const tsr_run_args args = tsr_run_args_make(a, b, d);
        if (tsr_gemm(self->context, &desc, &args) != TSR_OK)
            self->failed++;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                float sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += a[i * k + l] * b[l * n + j];
                self->failed += d[i * n + j] != sum;
            }
    }
    return NULL;
}

/* A machine without a GPU is no failure of "auto". */
static void success_leaves_the_message(void **state)
{
    (void)state;
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("nonsense", NULL, &context), TSR_INVALID_ARGUMENT);
    char before[600];
    snprintf(before, sizeof before, "%s", tsr_last_error());
    assert_int_equal(tsr_context_create("auto", NULL, &context), TSR_OK);
    assert_string_equal(tsr_last_error(), before);
    tsr_context_destroy(context);
}

static void one_context_serves_many_threads(void **state)
{
    (void)state;
    tsr_context_options options = {.struct_bytes = sizeof options, .plan_cache_entries = 8};
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    pthread_t threads[8];
    worker workers[8];
    for (int i = 0; i < 8; i++) {
        workers[i] = (worker){context, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failed, 0);
    }
    tsr_context_destroy(context);
}

/* Calls on the default context, a plan each, until told to stop. */
static void *call_until_stopped(void *user)
{
    enum { MOST = 220 };
    atomic_int *stop = user;
    float *a = calloc(MOST * MOST, sizeof *a), *b = calloc(MOST * MOST, sizeof *b), *c = calloc(MOST * MOST, sizeof *c);
    for (int64_t n = 0; a && b && c && !atomic_load(stop); n++)
        if (tsr_sgemm(TSR_N, TSR_N, 3, 1 + n % 7, 2, 0, a, 2, b, 7, 1, c, 7) != TSR_OK ||
            (n % 64 == 0 && tsr_sgemm(TSR_N, TSR_N, MOST, MOST, MOST, 1, a, MOST, b, MOST, 0, c, MOST) != TSR_OK))
            abort();
    free(a);
    free(b);
    free(c);
    return NULL;
}

/* In a child: products with a plan each, small and shared by threads. 0 if all are right. */
static int products_of_a_child(void)
{
    enum { N = 256 };
    float *a = malloc(sizeof(float) * N * N), *b = malloc(sizeof(float) * N * N), *c = malloc(sizeof(float) * N * N);
    if (!a || !b || !c)
        return 2;
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    for (int64_t n = N - 3; n <= N; n++) {
        if (tsr_sgemm(TSR_N, TSR_T, n, n, n, 1, a, N, b, N, 0, c, N) != TSR_OK)
            return 3;
        for (int64_t i = 0; i < n * n; i++)
            if (c[i / n * N + i % n] != (float)n)
                return 4;
        if (tsr_sgemm(TSR_N, TSR_N, n, n, 0, 1, a, N, b, N, 2, c, N) != TSR_OK || c[0] != (float)(2 * n))
            return 5;
    }
    return 0;
}

/* Forks at any moment of other threads' calls: no child waits for a lock that nobody will give back. */
static void children_may_call_whatever_threads_do(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    enum { CALLERS = 3, FORKS = 15 }; /* each copies a large address space */
#else
    enum { CALLERS = 3, FORKS = 120 };
#endif
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer forbids threads after such a fork */
#endif
    atomic_int stop = 0;
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_until_stopped, &stop), 0);
    fflush(NULL);
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20);
            _exit(products_of_a_child());
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("fork %d: the child ended with status 0x%x", i, status);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- route ---- */

static void route_names_the_choice_and_the_reasons(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 512, 512, 512);
    tsr_candidate candidates[1024];
    size_t count = 0;
    assert_int_equal(tsr_route(context, &desc, candidates, sizeof candidates[0], 1024, &count), TSR_OK);
    size_t kernels = 0;
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    while (tsr_kernel(kernels, &info) == TSR_OK)
        kernels++;
    assert_int_equal(count, kernels);
    assert_true(candidates[0].chosen && candidates[0].applicable);
    assert_string_equal(candidates[0].kernel, "cpu_tiled_f32");
    assert_string_equal(candidates[0].device, "cpu");
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(candidates[i].applicable, candidates[i].reason[0] == '\0');
        assert_true(i == 0 || !candidates[i].chosen);
        if (candidates[i].applicable && i > 0)
            assert_true(candidates[i].cost_ns >= candidates[i - 1].cost_ns);
    }
    assert_int_equal(tsr_route(context, &desc, NULL, 0, 0, &count), TSR_OK);
    assert_int_equal(count, kernels);
    expect(tsr_route(context, &desc, candidates, 8, 1, &count), TSR_INVALID_ARGUMENT, "candidate_bytes = 8");
    expect(tsr_kernel(0, NULL), TSR_INVALID_ARGUMENT, "out = NULL");
    tsr_context_destroy(context);
}

/* Memory from the context can be a workspace at once: its counters are zero. */
static void test_device_memory_begins_with_zeros(void **state)
{
    (void)state;
    tsr_context *context = cpu();
    for (size_t bytes = 1; bytes < 200000; bytes = bytes * 7 + 1) {
        void *memory = NULL;
        assert_int_equal(tsr_device_alloc(context, bytes, &memory), TSR_OK);
        for (size_t i = 0; i < bytes && i < 65536; i++)
            assert_int_equal(((const char *)memory)[i], 0);
        memset(memory, 0xff, bytes); /* so that the next one is not zero by luck */
        assert_int_equal(tsr_device_free(context, memory), TSR_OK);
    }
    tsr_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_memory_begins_with_zeros),
        cmocka_unit_test(contexts_refuse_bad_arguments),
        cmocka_unit_test(longer_structs_are_taken_when_zero),
        cmocka_unit_test(longer_structs_are_filled_with_zeros),
        cmocka_unit_test(sizes_of_structs_are_believed_first),
        cmocka_unit_test(descriptors_refuse_each_broken_rule),
        cmocka_unit_test(interleaved_batches_are_fine),
        cmocka_unit_test(runs_refuse_each_broken_rule),
        cmocka_unit_test(empty_problems_touch_nothing),
        cmocka_unit_test(plans_are_cached_and_bounded),
        cmocka_unit_test(prepared_operands_are_checked),
        cmocka_unit_test(prepared_operands_beyond_any_memory),
        cmocka_unit_test(views_of_one_buffer_may_interleave),
        cmocka_unit_test(the_default_context_is_one),
        cmocka_unit_test(one_line_calls_compute),
        cmocka_unit_test(failed_allocations_write_nothing),
        cmocka_unit_test(failed_device_memory_is_not_written),
        cmocka_unit_test(device_memory_of_the_cpu_is_host_memory),
        cmocka_unit_test(success_leaves_the_message),
        cmocka_unit_test(one_context_serves_many_threads),
        cmocka_unit_test(children_may_call_whatever_threads_do),
        cmocka_unit_test(route_names_the_choice_and_the_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
