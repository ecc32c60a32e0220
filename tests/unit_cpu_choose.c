/* The CPU's algorithm is chosen in one place, and each call asks there once: neither the small path nor the plan nor
 * what runs it asks again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/context.h"
#include "cpu/choose.h"

static int asked;
static tsr_algorithm answered;

tsr_cpu_choice __real_tsr_cpu_algorithm(const tsr_device *device, tsr_dtype dtype, const tsr_gemm_args *args,
                                        unsigned conditions, int threads);
tsr_cpu_choice __wrap_tsr_cpu_algorithm(const tsr_device *device, tsr_dtype dtype, const tsr_gemm_args *args,
                                        unsigned conditions, int threads);

tsr_cpu_choice __wrap_tsr_cpu_algorithm(const tsr_device *device, tsr_dtype dtype, const tsr_gemm_args *args,
                                        unsigned conditions, int threads)
{
    const tsr_cpu_choice choice = __real_tsr_cpu_algorithm(device, dtype, args, conditions, threads);
    asked++;
    answered = choice.algorithm;
    return choice;
}

typedef struct trial {
    int64_t m, n, k;
    tsr_algorithm algorithm;
} trial;

/* With the caches and threads that open_context pins. */
static const trial trials[] = {
    {1, 300, 200, TSR_GEMV},     {300, 1, 200, TSR_GEMV},      {3, 1500, 500, TSR_SKINNY},
    {1, 1000, 1000, TSR_SKINNY}, {40, 60, 200, TSR_SMALL},     {300, 300, 130, TSR_SMALL},
    {1500, 1200, 4, TSR_RANK_K}, {520, 500, 490, TSR_BLOCKED}, {600, 600, 600, TSR_BLOCKED},
};

enum { TRIALS = sizeof trials / sizeof trials[0], MOST_ELEMS = 1500 * 1500 };

static float *a, *b, *c;

static int asked_by(tsr_status status)
{
    const int count = asked;
    assert_int_equal(status, TSR_OK);
    asked = 0;
    return count;
}

static tsr_status one_line(const trial *t)
{
    return tsr_sgemm(TSR_N, TSR_N, t->m, t->n, t->k, 1, a, t->k, b, t->n, 0, c, t->n);
}

static void calls_ask_once(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        asked = 0;
        assert_int_equal(one_line(&trials[i]), TSR_OK); /* makes the plan, if there is to be one */
        asked = 0;
        assert_int_equal(asked_by(one_line(&trials[i])), 1);
        assert_int_equal(answered, trials[i].algorithm);
    }
}

/* So few steps that the answer is known. */
static void smallest_calls_ask_nothing(void **state)
{
    static const trial smallest[] = {{5, 5, 5, TSR_SMALL}, {16, 16, 16, TSR_SMALL}, {40, 60, 30, TSR_SMALL}};
    (void)state;
    asked = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(asked_by(one_line(&smallest[i])), 0);
}

static void descriptors_ask_once(void **state)
{
    tsr_context *const context = *state;
    const tsr_run_args args = tsr_run_args_make(a, b, c);
    for (int i = 0; i < TRIALS; i++) {
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, trials[i].m, trials[i].n, trials[i].k);
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        asked = 0;
        assert_int_equal(asked_by(tsr_gemm(context, &desc, &args)), 1);
    }
}

/* A plan asks when it is made, for runs without C and with it. */
static void plans_remember(void **state)
{
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16};
    tsr_context *const context = *state;
    for (int i = 0; i < 2 * TRIALS; i++) {
        const trial *const t = &trials[i / 2];
        tsr_gemm_desc desc = tsr_gemm_desc_make(dtypes[i % 2], t->m, t->n, t->k);
        tsr_run_args args = tsr_run_args_make(a, b, c);
        tsr_plan *plan = NULL;
        desc.workspace_limit_bytes = (size_t)i; /* a plan of its own */
        asked = 0;
        assert_int_equal(asked_by(tsr_plan_create(context, &desc, &plan)), 2);
        assert_int_equal(asked_by(tsr_plan_run(plan, &args)), 0);
        args.beta.value = 1;
        assert_int_equal(asked_by(tsr_plan_run(plan, &args)), 0);
        args.alpha.value = 0;
        assert_int_equal(asked_by(tsr_plan_run(plan, &args)), 0);
        tsr_plan_release(plan);
    }
}

/* What knows of no form gets small products alone, whose D is little beside them; the plan asks and remembers as ever.
 */
static void forms_go_where_they_are_taken(void **state)
{
    static const trial formed[] = {
        {1, 300, 200, TSR_GEMV},      {300, 1, 200, TSR_GEMV},      {3, 1500, 500, TSR_SKINNY},
        {40, 60, 200, TSR_SMALL},     {300, 300, 130, TSR_BLOCKED}, {1500, 1200, 4, TSR_BLOCKED},
        {520, 500, 490, TSR_BLOCKED},
    };
    tsr_context *const context = *state;
    for (size_t i = 0; i < sizeof formed / sizeof formed[0]; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, formed[i].m, formed[i].n, formed[i].k);
        tsr_run_args args = tsr_run_args_make(a, b, c);
        tsr_plan *plan = NULL;
        desc.epilogue = "acc + bias[n]";
        args.bias = a;
        asked = 0;
        assert_int_equal(asked_by(tsr_plan_create(context, &desc, &plan)), 2);
        assert_int_equal(answered, formed[i].algorithm);
        assert_int_equal(asked_by(tsr_plan_run(plan, &args)), 0);
        tsr_plan_release(plan);
    }
}

static int open_context(void **state)
{
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 1};
    const tsr_cpu_profile profile = {.isa = "plain", .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20};
    a = calloc(MOST_ELEMS, sizeof *a);
    b = calloc(MOST_ELEMS, sizeof *b);
    c = calloc(MOST_ELEMS, sizeof *c);
    if (!a || !b || !c || tsr_context_open("cpu", &options, &profile, (tsr_context **)state) != TSR_OK)
        return 1;
    tsr_default_context_exchange(*state);
    return 0;
}

static int close_context(void **state)
{
    tsr_default_context_exchange(NULL);
    tsr_context_destroy(*state);
    free(a);
    free(b);
    free(c);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_ask_once),
        cmocka_unit_test(smallest_calls_ask_nothing),
        cmocka_unit_test(descriptors_ask_once),
        cmocka_unit_test(plans_remember),
        cmocka_unit_test(forms_go_where_they_are_taken),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
