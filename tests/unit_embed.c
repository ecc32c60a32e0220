/* What programs that embed the library count on: what outlives what, signals, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera.h"

/* ---- what outlives what ---- */

static void *counting_alloc(size_t align, size_t bytes, void *user)
{
    void *pointer = NULL;
    if (posix_memalign(&pointer, align, bytes) != 0)
        return NULL;
    atomic_fetch_add((atomic_int *)user, 1);
    return pointer;
}

static void counting_free(void *pointer, void *user)
{
    atomic_fetch_sub((atomic_int *)user, 1);
    free(pointer);
}

/* A prepared operand keeps its context open, whichever of the two is let go first. */
static void prepared_operands_keep_their_context(void **state)
{
    (void)state;
    enum { N = 100 };
    atomic_int live = 0;
    const tsr_context_options options = {
        .struct_bytes = sizeof options, .threads = 2, .alloc = counting_alloc, .free = counting_free, .user = &live};
    float *const b = calloc(N * N, sizeof *b), *const a = calloc(N * N, sizeof *a), *const d = calloc(N * N, sizeof *d);
    assert_true(a && b && d);
    for (int destroyed_first = 0; destroyed_first < 2; destroyed_first++) {
        tsr_context *context = NULL;
        tsr_plan *plan = NULL;
        tsr_prepared *pa = NULL, *pb = NULL;
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
        assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(tsr_prepare(plan, 'a', a, &pa), TSR_OK);
        assert_int_equal(tsr_prepare(plan, 'b', b, &pb), TSR_OK);
        tsr_plan_release(plan);
        const int before = atomic_load(&live);
        if (destroyed_first) {
            tsr_context_destroy(context);
            assert_int_equal(atomic_load(&live), before);
        }
        tsr_prepared_release(pa);
        assert_int_equal(atomic_load(&live), before - 1);
        tsr_prepared_release(pb);
        if (!destroyed_first)
            tsr_context_destroy(context);
        assert_int_equal(atomic_load(&live), 0);
    }
    free(a);
    free(b);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared_operands_keep_their_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
