/* Adding up as a step of a plan: which problems get it, what a run needs, and products on the emulator that must be
 * exact, with either orientation, padding before, C, batches and any type of D. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/backend.h"
#include "core/dtype.h"
#include "plan/plan.h"
#include "plan/split_reduce.h"

typedef struct shape {
    const char *kernel;
    long long m, n, k, batch;
    int trans_a, trans_b, pad; /* pad: leading dimensions that the copy engine cannot take */
    double beta;
    int is_f32; /* D is */
} shape;

static const shape shapes[] = {
    {"wgmma_skinny_bf16_bf16_128_g1s2", 40, 70, 9000, 1, 0, 0, 0, 0, 0},
    {"wgmma_skinny_bf16_bf16_128_g1s2", 129, 100, 6400, 1, 1, 1, 0, 2, 0},
    {"wgmma_skinny_bf16_bf16_64_g1@split-k=24", 60, 100, 24000, 2, 0, 1, 0, -1, 0},
    {"wgmma_skinny_bf16_bf16_128_g1s2", 100, 64, 9001, 1, 1, 0, 3, 1, 0},
    {"wgmma_skinny_bf16_bf16_128_g1", 33, 50, 9000, 1, 0, 0, 0, 2, 1},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static tsr_target open_target(void)
{
    tsr_target target = {.backend = &tsr_emu_backend};
    const tsr_backend_options options = {.threads = 2};
    if (tsr_emu_backend.open(0, &options, &target.device) != TSR_OK)
        skip();
    return target;
}

static tsr_problem problem_of(const shape *s)
{
    const tsr_dtype out = s->is_f32 ? TSR_F32 : TSR_BF16;
    const uint32_t align = s->pad ? 2 : 16;
    tsr_problem p = {.m = s->m, .n = s->n, .k = s->k, .batch = s->batch};
    p.op = (tsr_op){.a = TSR_BF16, .b = TSR_BF16, .c = out, .d = out, .compute = TSR_COMPUTE_F32};
    p.kernel = s->kernel;
    p.workspace_limit_bytes = 64 << 20;
    p.a = p.b = (tsr_matrix){.memory = TSR_DEVICE, .align_bytes = align};
    p.c = p.d = (tsr_matrix){.memory = TSR_DEVICE, .align_bytes = 4, .ld = s->n};
    p.a.trans = s->trans_a ? TSR_T : TSR_N;
    p.b.trans = s->trans_b ? TSR_T : TSR_N;
    p.a.ld = ((s->trans_a ? s->m : s->k) + 7) / 8 * 8 + s->pad;
    p.b.ld = ((s->trans_b ? s->k : s->n) + 7) / 8 * 8 + s->pad;
    p.a.batch_stride = p.a.ld * (s->trans_a ? s->k : s->m);
    p.b.batch_stride = p.b.ld * (s->trans_b ? s->n : s->k);
    p.c.batch_stride = p.d.batch_stride = s->m * s->n;
    return p;
}

/* -1, 0, 1 or 2 in bf16. */
static uint16_t *small_integers(long long count, uint32_t state)
{
    uint16_t *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (long long i = 0; i < count; i++)
        out[i] = tsr_f32_to_bf16((float)((state = state * 1664525u + 1013904223u) >> 30) - 1.0f);
    return out;
}

static float value(const void *matrix, tsr_dtype dtype, long long i)
{
    return dtype == TSR_F32 ? ((const float *)matrix)[i] : tsr_bf16_to_f32(((const uint16_t *)matrix)[i]);
}

/* A line of an operand along K for each row of D, or column, as floats. */
static float *widened(const uint16_t *operand, const tsr_matrix *at, long long lines, long long k, int along_k,
                      long long batch)
{
    float *out = malloc((size_t)(batch * lines * k) * sizeof *out), *to = out;
    assert_non_null(out);
    for (long long z = 0; z < batch; z++)
        for (long long line = 0; line < lines; line++)
            for (long long i = 0; i < k; i++)
                *to++ =
                    tsr_bf16_to_f32(operand[z * at->batch_stride + (along_k ? line * at->ld + i : i * at->ld + line)]);
    return out;
}

/* What D must be, problem after problem. The sums are integers, so that their order does not matter. */
static float *wanted(const shape *s, const tsr_problem *p, const uint16_t *a, const uint16_t *b, const void *c)
{
    float *const rows = widened(a, &p->a, s->m, s->k, !s->trans_a, s->batch), *const columns =
                                                                                  widened(b, &p->b, s->n, s->k,
                                                                                          s->trans_b, s->batch);
    float *const out = malloc((size_t)(s->batch * s->m * s->n) * sizeof *out), *to = out;
    assert_non_null(out);
    for (long long z = 0; z < s->batch; z++)
        for (long long i = 0; i < s->m; i++)
            for (long long j = 0; j < s->n; j++) {
                const float *const row = rows + (z * s->m + i) * s->k, *const column = columns + (z * s->n + j) * s->k;
                float sum[8] = {0};
                for (long long k = 0; k < s->k; k++)
                    sum[k % 8] += row[k] * column[k];
                const float all = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
                const long long at = z * p->d.batch_stride + i * p->d.ld + j;
                const float want = 0.5f * all + (s->beta != 0 ? (float)s->beta * value(c, p->op.c, at) : 0);
                *to++ = p->op.d == TSR_F32 ? want : tsr_bf16_to_f32(tsr_f32_to_bf16(want));
            }
    free(rows), free(columns);
    return out;
}

static void assert_exact(const shape *s, const tsr_problem *p, const float *want, const void *d)
{
    for (long long z = 0; z < s->batch; z++)
        for (long long i = 0; i < s->m; i++)
            for (long long j = 0; j < s->n; j++, want++) {
                const float got = value(d, p->op.d, z * p->d.batch_stride + i * p->d.ld + j);
                if (got != *want)
                    fail_msg("%s: D[%lld](%lld, %lld) is %g, not %g", s->kernel, z, i, j, (double)got, (double)*want);
            }
}

/* Twice in one workspace, of which the second run finds what the first one left. */
static void products_are_exact(void **state)
{
    (void)state;
    tsr_target target = open_target();
    for (int i = 0; i < SHAPES; i++) {
        const shape *s = &shapes[i];
        const tsr_problem p = problem_of(s);
        tsr_planned plan;
        assert_int_equal(tsr_plan_build(&p, &target, 1, &plan), TSR_OK);
        if (!tsr_plan_main(&plan)->launch.reduces)
            fail_msg("%s, K %lld: no second launch", s->kernel, s->k);
        assert_int_equal(plan.step_count, s->pad ? 3 : 2);
        assert_int_equal(plan.steps[plan.step_count - 1].kind, TSR_STEP_REDUCE);
        assert_true(tsr_config_is_named(tsr_plan_main(&plan)->config, s->kernel));
        const long long d_elems = p.d.batch_stride * s->batch;
        uint16_t *a = small_integers(p.a.batch_stride * s->batch, 1);
        uint16_t *b = small_integers(p.b.batch_stride * s->batch, 2);
        float *c = malloc((size_t)d_elems * sizeof *c), *d = malloc((size_t)d_elems * sizeof *d);
        unsigned char *workspace = malloc(plan.workspace_bytes);
        assert_true(c && d && workspace);
        for (long long e = 0; e < d_elems; e++)
            if (p.op.c == TSR_F32)
                c[e] = (float)(e % 7);
            else
                ((uint16_t *)(void *)c)[e] = tsr_f32_to_bf16((float)(e % 7));
        memset(workspace, 0xff, plan.workspace_bytes);
        memset(workspace, 0, TSR_WORKSPACE_COUNTER_BYTES);
        const tsr_plan_inputs inputs = {
            .a = a, .b = b, .c = c, .d = d, .workspace = workspace, .alpha = 0.5, .beta = s->beta};
        float *const want = wanted(s, &p, a, b, c);
        for (int run = 0; run < 2; run++) {
            memset(d, 0x55, (size_t)d_elems * sizeof *d);
            if (tsr_plan_execute(&plan, &inputs) != TSR_OK)
                fail_msg("%s: %s", s->kernel, tsr_last_error());
            assert_exact(s, &p, want, d);
        }
        free(a), free(b), free(c), free(d), free(want), free(workspace);
    }
    target.backend->close(&target.device);
}

/* alpha = 0: no product, but D is beta C all the same. */
static void without_a_product(void **state)
{
    (void)state;
    tsr_target target = open_target();
    const shape s = {"wgmma_skinny_bf16_bf16_128_g1", 20, 30, 9000, 1, 0, 0, 0, 3, 1};
    const tsr_problem p = problem_of(&s);
    tsr_planned plan;
    assert_int_equal(tsr_plan_build(&p, &target, 1, &plan), TSR_OK);
    assert_true(tsr_plan_main(&plan)->launch.reduces);
    float c[600], d[600];
    for (int i = 0; i < 600; i++)
        c[i] = (float)i;
    unsigned char *workspace = calloc(1, plan.workspace_bytes);
    assert_non_null(workspace);
    const tsr_plan_inputs inputs = {.c = c, .d = d, .workspace = workspace, .alpha = 0, .beta = 3};
    assert_int_equal(tsr_plan_execute(&plan, &inputs), TSR_OK);
    for (int i = 0; i < 600; i++)
        assert_true(d[i] == 3 * (float)i);
    free(workspace);
    target.backend->close(&target.device);
}

/* Neither where there is no room for the sums, nor where K must stay whole, nor where a cluster is done sooner than a
 * host launches twice. */
static void only_where_it_may(void **state)
{
    (void)state;
    tsr_target target = open_target();
    tsr_problem p = problem_of(&shapes[0]);
    tsr_planned plan;
    p.workspace_limit_bytes = 0;
    assert_int_equal(tsr_plan_build(&p, &target, 1, &plan), TSR_OK);
    assert_false(tsr_plan_main(&plan)->launch.reduces);
    assert_int_equal(plan.step_count, 1);
    const shape brief = {"wgmma_skinny_bf16_bf16_16_g1", 8, 8, 5456, 1, 0, 0, 0, 0, 0};
    const tsr_problem short_k = problem_of(&brief);
    assert_int_equal(tsr_plan_build(&short_k, &target, 1, &plan), TSR_OK);
    assert_false(tsr_plan_main(&plan)->launch.reduces);
    assert_true(tsr_plan_main(&plan)->launch.schedule.split_k >= 4);
    p.workspace_limit_bytes = 64 << 20;
    p.flags = TSR_BATCH_INVARIANT;
    assert_int_equal(tsr_plan_build(&p, &target, 1, &plan), TSR_OK);
    assert_false(tsr_plan_main(&plan)->launch.reduces);
    assert_null(tsr_split_reduce_config(TSR_F64));
    target.backend->close(&target.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(without_a_product),
        cmocka_unit_test(only_where_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
