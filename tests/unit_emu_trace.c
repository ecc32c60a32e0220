/* The emulator's trace: what one CTA does, event by event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/context.h"
#include "emu/trace.h"
#include "tessera.h"

enum { SIZE_MAX_ELEMS = 64 };

typedef struct traced {
    float a[SIZE_MAX_ELEMS], b[SIZE_MAX_ELEMS], d[SIZE_MAX_ELEMS];
    tsr_emu_trace trace;
} traced;

/* D = A B, m x n x k, with A = 1, 2, ... and B = 101, 102, ... */
static void run(traced *t, const char *kernel, int m, int n, int k)
{
    tsr_context *context;
    assert_int_equal(tsr_context_create("emu", NULL, &context), TSR_OK);
    for (int i = 0; i < SIZE_MAX_ELEMS; i++) {
        t->a[i] = (float)(1 + i);
        t->b[i] = (float)(101 + i);
        t->d[i] = -1.0f;
    }
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, m, n, k);
    desc.kernel = kernel;
    const tsr_run_args args = tsr_run_args_make(t->a, t->b, t->d);
    tsr_emu_trace_launches(&context->home->device, &t->trace);
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    tsr_emu_trace_launches(&context->home->device, NULL);
    tsr_context_destroy(context);
}

/* The n-th event of a thread. */
static const tsr_trace_event *event_of(const tsr_emu_trace *trace, unsigned thread, unsigned n)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->events[i].thread == thread && n-- == 0)
            return &trace->events[i];
    return NULL;
}

static size_t count_of(const tsr_emu_trace *trace, tsr_trace_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++)
        count += trace->events[i].kind == kind;
    return count;
}

static void test_one_thread_of_tiled(void **state)
{
    (void)state;
    traced t = {.trace = {.cta = 3, .limit = 10000}};
    run(&t, "tiled_f32_t2", 4, 4, 4);
    const tsr_emu_trace *trace = &t.trace;
    /* CTA 3 of 2 x 2 makes rows 2, 3 and columns 2, 3; thread 1 is (1, 0): D[2, 3]. */
    const struct {
        tsr_trace_kind kind;
        int is_shared;
        uintptr_t at;
        float value[4];
    } expected[] = {
        {TSR_TRACE_READ, 0, (uintptr_t)&t.a[2 * 4 + 1], {10}},
        {TSR_TRACE_WRITE, 1, 4, {10}},
        {TSR_TRACE_READ, 0, (uintptr_t)&t.b[3], {104}},
        {TSR_TRACE_WRITE, 1, 20, {104}},
        {TSR_TRACE_BARRIER, 0, 0, {0}},
        {TSR_TRACE_READ, 1, 0, {9}},
        {TSR_TRACE_READ, 1, 20, {104}},
        {TSR_TRACE_FMA, 0, 0, {9, 104, 0, 936}},
        {TSR_TRACE_READ, 1, 4, {10}},
        {TSR_TRACE_READ, 1, 28, {108}},
        {TSR_TRACE_FMA, 0, 0, {10, 108, 936, 2016}},
        {TSR_TRACE_BARRIER, 0, 0, {0}},
        {TSR_TRACE_READ, 0, (uintptr_t)&t.a[2 * 4 + 3], {12}},
    };
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const tsr_trace_event *event = event_of(trace, 1, i);
        assert_non_null(event);
        if (expected[i].kind == TSR_TRACE_READ && expected[i].is_shared) { /* of two factors, either may come first */
            const unsigned pair = expected[i - 1].kind == TSR_TRACE_READ ? i - 1 : i;
            const tsr_trace_event *first = event_of(trace, 1, pair), *second = event_of(trace, 1, pair + 1);
            event = (first->at < second->at) == (i == pair) ? first : second;
        }
        assert_int_equal(event->kind, expected[i].kind);
        assert_int_equal(event->is_shared, expected[i].is_shared);
        assert_int_equal(event->at, expected[i].at);
        if (event->kind == TSR_TRACE_FMA)
            assert_memory_equal(event->value.f32, expected[i].value, sizeof expected[i].value);
        else if (event->kind != TSR_TRACE_BARRIER)
            assert_true(event->bytes == 4 && event->value.f32[0] == expected[i].value[0]);
    }
    /* Of all four threads: 2 phases x 2 loads, 2 x 2 stores, 2 x 2 x 2 reads, 1 store to D; 2 x 2 products. */
    assert_int_equal(trace->lost, 0);
    assert_int_equal(count_of(trace, TSR_TRACE_FMA), 4 * 4);
    assert_int_equal(count_of(trace, TSR_TRACE_READ), 4 * (4 + 8));
    assert_int_equal(count_of(trace, TSR_TRACE_WRITE), 4 * (4 + 1));
    assert_int_equal(count_of(trace, TSR_TRACE_BARRIER), 4 * 4);
    const tsr_trace_event *last = &trace->events[trace->count - 1];
    assert_true(last->kind == TSR_TRACE_WRITE && !last->is_shared);
    assert_true(last->value.f32[0] == *(const float *)last->at); /* a write's value is that after it */
    char place[256];
    tsr_emu_trace_place(event_of(trace, 1, 0)->place, place, sizeof place);
    assert_non_null(strstr(place, "kernels/gemm/tiled.cu:"));
    assert_true(t.d[0] == 1 * 101 + 2 * 105 + 3 * 109 + 4 * 113); /* the other CTAs ran too */
    free(t.trace.events);
}

static void test_copies(void **state)
{
    (void)state;
    traced t = {.trace = {.cta = 0, .limit = 1000000}};
    run(&t, "double_buffered_f32_s3_a1", 3, 3, 8);
    size_t real = 0, zeros = 0;
    for (size_t i = 0; i < t.trace.count; i++) {
        const tsr_trace_event *event = &t.trace.events[i];
        if (event->kind != TSR_TRACE_COPY)
            continue;
        assert_true(event->is_shared && event->from_bytes <= event->bytes);
        for (unsigned b = 0; b < event->from_bytes; b++)
            assert_int_equal(event->value.bytes[b], ((const unsigned char *)event->from)[b]);
        real += event->from_bytes / 4;
        zeros += (event->bytes - event->from_bytes) / 4;
    }
    assert_int_equal(real, 3 * 8 + 8 * 3);
    assert_int_equal(real + zeros, 2 * 128 * 8);
    free(t.trace.events);
}

static void test_alone_and_limit(void **state)
{
    (void)state;
    traced t = {.trace = {.cta = 1, .alone = 1, .limit = 10}};
    run(&t, "tiled_f32_t2", 4, 4, 4);
    assert_int_equal(t.trace.count, 10);
    assert_true(t.trace.lost > 0);
    assert_true(t.d[0] == -1.0f && t.d[2] != -1.0f && t.d[8] == -1.0f && t.d[10] == -1.0f);
    free(t.trace.events);

    traced none = {.trace = {.cta = 99, .limit = 10}}; /* no such CTA */
    run(&none, "tiled_f32_t2", 4, 4, 4);
    assert_int_equal(none.trace.count, 0);
    assert_true(none.d[0] != -1.0f);
}

static void test_warps(void **state)
{
    (void)state;
    tsr_context *context;
    static uint16_t a[16 * 16], b[16 * 16], d[16 * 16];
    tsr_emu_trace trace = {.cta = 0, .limit = 1000000};
    assert_int_equal(tsr_context_create("emu", NULL, &context), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 16, 16, 16);
    desc.kernel = "wmma";
    const tsr_run_args args = tsr_run_args_make(a, b, d);
    tsr_emu_trace_launches(&context->home->device, &trace);
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    tsr_context_destroy(context);
    const size_t meetings = count_of(&trace, TSR_TRACE_WARP);
    assert_true(meetings > 0 && meetings % 32 == 0); /* all lanes of a warp */
    free(trace.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_of_tiled),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_alone_and_limit),
        cmocka_unit_test(test_warps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
