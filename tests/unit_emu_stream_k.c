/* Kernels that cut K (stream-k, thin, mma-f64), in the emulator: how the plan deals out a problem, that cuts fall
 * inside tiles and across them, that runs after each other in one workspace give the same bits, and that its counters
 * end at zero.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/backend.h"
#include "plan/plan.h"

typedef struct shape {
    const char *instance;
    long long m, n, k, batch;
    int trans_a, trans_b;
    const char *schedule; /* NULL: the planner's */
} shape;

/* A few tiles with a long K; more tiles than units take; batches whose tiles share units; a K tail of every length. Of
 * f64 parts that are added in one round, in two by groups of 4, and by groups of 8; whole tiles beside. */
static const shape shapes[] = {
    {"stream_k_f32_16x128_a1", 16, 128, 1031, 1, 0, 0, NULL},
    {"stream_k_f32_16x128_a1", 33, 257, 519, 1, 1, 0, NULL},
    {"stream_k_f32_16x128_a1", 5, 130, 700, 3, 0, 1, NULL},
    {"stream_k_f32_16x128_a4", 48, 256, 640, 2, 1, 1, NULL},
    {"stream_k_f32_64x64_a1", 65, 63, 901, 1, 0, 0, NULL},
    {"stream_k_f32_64x64_a4", 64, 200, 1024, 1, 0, 1, NULL},
    {"thin_f32_1_a4", 1, 260, 1024, 1, 0, 0, NULL},
    {"thin_f32_4_a1", 3, 131, 777, 2, 1, 0, NULL},
    {"thin_f32_16_a4", 17, 128, 512, 1, 0, 0, NULL},
    {"thin_f32_4t_a1", 3, 131, 777, 2, 1, 1, NULL},
    {"thin_f32_8t_a4", 9, 260, 1024, 1, 0, 1, NULL},
    {"mma_f64_64x64_a1", 65, 63, 901, 1, 0, 0, NULL},
    {"mma_f64_64x64_a1", 65, 63, 301, 1, 1, 0, "stream-k=2/5"},
    {"mma_f64_64x64_a1", 33, 70, 515, 2, 0, 1, "stream-k=3/29"},
    {"mma_f64_64x64_a2", 64, 64, 384, 1, 1, 1, "stream-k=1/22"},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], RUNS = 5 };

typedef struct fixture {
    tsr_device device;
    const tsr_config *config;
    tsr_problem problem;
    tsr_launch_config launch;
    size_t element_bytes; /* 4: float, 8: double */
    void *a, *b, *d, *first;
    unsigned char *workspace;
    size_t d_elems;
} fixture;

static const tsr_config *find(const char *instance)
{
    for (size_t i = 0; i < tsr_config_count(); i++)
        if (strcmp(tsr_config_at(i)->instance, instance) == 0)
            return tsr_config_at(i);
    fail_msg("no config %s", instance);
    return NULL;
}

static double value_at(const fixture *f, const void *values, long long i)
{
    return f->element_bytes == 8 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

static void *values(const fixture *f, long long count, int is_integer)
{
    void *const out = malloc((size_t)count * f->element_bytes);
    assert_non_null(out);
    for (long long i = 0; i < count; i++) {
        const float value = is_integer ? (float)(rand() % 17 - 8) : (float)rand() / (float)RAND_MAX - 0.5f;
        if (f->element_bytes == 8)
            ((double *)out)[i] = (double)value / (is_integer ? 1 : 3);
        else
            ((float *)out)[i] = value;
    }
    return out;
}

static void open_fixture(fixture *f, const shape *s, int is_integer)
{
    memset(f, 0, sizeof *f);
    const tsr_backend_options options = {.threads = 2};
    assert_int_equal(tsr_emu_backend.open(0, &options, &f->device), TSR_OK);
    f->config = find(s->instance);
    f->problem = (tsr_problem){.m = s->m, .n = s->n, .k = s->k, .batch = s->batch};
    f->problem.op = tsr_op_of(&f->config->op);
    f->problem.a.trans = s->trans_a ? TSR_T : TSR_N;
    f->problem.b.trans = s->trans_b ? TSR_T : TSR_N;
    f->problem.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
    f->element_bytes = tsr_dtype_bytes(f->problem.op.d);
    char kernel[80], reason[160];
    snprintf(kernel, sizeof kernel, "%s@%s", s->instance, s->schedule ? s->schedule : "");
    if (s->schedule)
        f->problem.kernel = kernel;
    tsr_price cost;
    if (!tsr_select_schedule(f->config, &f->problem, &f->device, &f->launch, &cost, reason, sizeof reason))
        fail_msg("%s: %s", kernel, reason);
    f->problem.kernel = NULL;
    srand(11);
    f->d_elems = (size_t)(s->m * s->n * s->batch);
    f->a = values(f, s->m * s->k * s->batch, is_integer);
    f->b = values(f, s->k * s->n * s->batch, is_integer);
    f->d = values(f, (long long)f->d_elems, 0);
    f->first = values(f, (long long)f->d_elems, 0);
    f->workspace = malloc(f->launch.workspace_bytes);
    assert_non_null(f->workspace);
    memset(f->workspace, 0xff, f->launch.workspace_bytes);
    memset(f->workspace, 0, TSR_WORKSPACE_COUNTER_BYTES);
}

static void close_fixture(fixture *f)
{
    free(f->a);
    free(f->b);
    free(f->d);
    free(f->first);
    free(f->workspace);
    tsr_emu_backend.close(&f->device);
}

static tsr_status run(fixture *f, double alpha, long long k)
{
    const tsr_problem *p = &f->problem;
    const tsr_gemm_args args = {.a = f->a,
                                .b = f->b,
                                .d = f->d,
                                .workspace = f->workspace,
                                .m = p->m,
                                .n = p->n,
                                .k = k,
                                .lda = p->a.trans == TSR_T ? p->m : p->k,
                                .ldb = p->b.trans == TSR_T ? p->k : p->n,
                                .ldc = p->n,
                                .ldd = p->n,
                                .batch_a = p->m * p->k,
                                .batch_b = p->k * p->n,
                                .batch_d = p->m * p->n,
                                .batch = p->batch,
                                .alpha = alpha,
                                .trans_a = p->a.trans == TSR_T,
                                .trans_b = p->b.trans == TSR_T,
                                .schedule = f->launch.schedule};
    const tsr_launch launch = {.config = f->config,
                               .args = &args,
                               .grid = f->launch.grid,
                               .workspace_bytes = f->launch.workspace_bytes,
                               .problem = p};
    const tsr_status status = tsr_emu_backend.launch(&f->device, &launch);
    for (size_t i = 0; i < TSR_WORKSPACE_COUNTER_BYTES; i++)
        if (f->workspace[i] != 0)
            fail_msg("%s left byte %zu of the counters at %u", f->config->instance, i, f->workspace[i]);
    return status;
}

/* Integers: the sum is exact in whatever order, so every element of A and B must be there once. */
static void every_step_is_made_once(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        fixture f;
        open_fixture(&f, &shapes[i], 1);
        const shape *const s = &shapes[i];
        assert_true(f.launch.schedule.split_k > 1 || f.launch.schedule.stream_k_units > 1);
        if (run(&f, 1, s->k) != TSR_OK)
            fail_msg("%s: %s", s->instance, tsr_last_error());
        for (long long at = 0; at < (long long)f.d_elems; at++) {
            const long long z = at / (s->m * s->n), row = at / s->n % s->m, col = at % s->n;
            const long long a0 = z * s->m * s->k, b0 = z * s->k * s->n;
            double sum = 0;
            for (long long k = 0; k < s->k; k++)
                sum += value_at(&f, f.a, a0 + (s->trans_a ? k * s->m + row : row * s->k + k)) *
                       value_at(&f, f.b, b0 + (s->trans_b ? col * s->k + k : k * s->n + col));
            if (value_at(&f, f.d, at) != sum)
                fail_msg("%s: D[%lld, %lld] of problem %lld is %g, not %g", s->instance, row, col, z,
                         value_at(&f, f.d, at), sum);
        }
        close_fixture(&f);
    }
}

/* Whoever comes last adds up, in whatever order the others came: the bits are the same, run after run. */
static void bits_are_the_same_in_every_run(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        fixture f;
        open_fixture(&f, &shapes[i], 0);
        for (int r = 0; r < RUNS; r++) {
            char seed[8];
            snprintf(seed, sizeof seed, "%d", 100 * r);
            assert_int_equal(setenv("TESSERA_EMU_SEED", seed, 1), 0);
            memset(f.d, 0xff, f.d_elems * f.element_bytes);
            assert_int_equal(run(&f, 0.75, shapes[i].k), TSR_OK);
            if (r == 0)
                memcpy(f.first, f.d, f.d_elems * f.element_bytes);
            assert_memory_equal(f.first, f.d, f.d_elems * f.element_bytes);
        }
        unsetenv("TESSERA_EMU_SEED");
        close_fixture(&f);
    }
}

/* alpha == 0 reaches a plan made for the whole K as k = 0: D is written all the same, A and B are not read. */
static void no_product_with_a_plan_for_one(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        fixture f;
        open_fixture(&f, &shapes[i], 0);
        free(f.a);
        f.a = NULL;
        memset(f.d, 0xff, f.d_elems * f.element_bytes);
        assert_int_equal(run(&f, INFINITY, 0), TSR_OK);
        for (size_t at = 0; at < f.d_elems; at++)
            assert_true(value_at(&f, f.d, (long long)at) == 0);
        close_fixture(&f);
    }
}

/* What each candidate promises, for many shapes: no more counters than there are, workspace for every part, no idle
 * CTA. */
static void candidates_fit(void **state)
{
    (void)state;
    static const long long sizes[] = {1, 16, 63, 129, 1030, 2176, 4096, 50257};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    tsr_device device;
    const tsr_backend_options options = {.threads = 1};
    memset(&device, 0, sizeof device);
    assert_int_equal(tsr_emu_backend.open(0, &options, &device), TSR_OK);
    int partitioned = 0;
    for (size_t r = 0; r < tsr_config_count(); r++) {
        const tsr_config *const config = tsr_config_at(r);
        if (config->family != TSR_FAMILY_STREAM_K && config->family != TSR_FAMILY_THIN &&
            config->family != TSR_FAMILY_MMA_F64)
            continue;
        for (int i = 0; i < SIZES * SIZES * SIZES; i++) {
            const tsr_problem p = {.m = sizes[i % SIZES],
                                   .n = sizes[i / SIZES % SIZES],
                                   .k = sizes[i / SIZES / SIZES],
                                   .batch = 1 + i % 3};
            const long long tiles =
                (p.m + config->bm - 1) / config->bm * ((p.n + config->bn - 1) / config->bn) * p.batch;
            const size_t sum_bytes = config->op.a & TSR_TYPE_BIT(TSR_F64) ? sizeof(double) : sizeof(float);
            const size_t tile_bytes = (size_t)config->bm * (size_t)config->bn * sum_bytes;
            tsr_schedule all[TSR_MOST_SCHEDULES];
            const int count = tsr_schedule_candidates(config, &p, &device, all);
            assert_true(count >= 1);
            for (int c = 0; c < count; c++) {
                const tsr_launch_config l = tsr_schedule_launch(config, &p, &all[c]);
                char reason[120];
                if (!tsr_schedule_is_legal(config, &p, &all[c], reason, sizeof reason))
                    fail_msg("%s %lld x %lld x %lld: %s", config->instance, p.m, p.n, p.k, reason);
                assert_true(l.grid.x >= tiles && l.grid.y == 1 && l.grid.z == 1);
                if (l.workspace_bytes == 0) {
                    assert_true(l.grid.x == tiles && all[c].split_k == 1 && all[c].stream_k_units == 0);
                    continue;
                }
                partitioned++;
                const long long slots = (long long)((l.workspace_bytes - TSR_WORKSPACE_COUNTER_BYTES) / tile_bytes);
                const long long units = all[c].stream_k_units, shared = all[c].stream_k_tiles;
                if (config->family == TSR_FAMILY_THIN) {
                    assert_true(l.grid.x == tiles * all[c].split_k && slots == l.grid.x);
                    assert_true(tiles <= TSR_WORKSPACE_COUNTER_BYTES / 4);
                    assert_true(all[c].split_k <= (p.k + config->bk - 1) / config->bk);
                } else {
                    const int is_f64 = config->family == TSR_FAMILY_MMA_F64;
                    const long long counters = shared * (is_f64 ? 9 : 1), least_steps = is_f64 ? 4 : 8;
                    assert_true(shared > 0 && shared <= units && counters <= TSR_WORKSPACE_COUNTER_BYTES / 4);
                    assert_true(l.grid.x == units + tiles - shared && slots >= shared + units - 1);
                    assert_true(least_steps * units <= shared * ((p.k + config->bk - 1) / config->bk));
                }
            }
        }
    }
    assert_true(partitioned > 1000);
    tsr_emu_backend.close(&device);
}

/* A single tile, and two, have many units, but never a tile more parts than counters: with 127 units of two tiles one
 * would have 65. */
static void few_tiles_have_many_units(void **state)
{
    (void)state;
    tsr_device device;
    const tsr_backend_options options = {.threads = 1};
    memset(&device, 0, sizeof device);
    assert_int_equal(tsr_emu_backend.open(0, &options, &device), TSR_OK);
    device.cuda.sm_count = 132;
    const tsr_config *const config = find("mma_f64_32x32x32_a2");
    for (int tiles = 1; tiles <= 2; tiles++) {
        const tsr_problem p = {.m = 32 * tiles, .n = 32, .k = 65536, .batch = 1};
        tsr_schedule all[TSR_MOST_SCHEDULES];
        const int count = tsr_schedule_candidates(config, &p, &device, all);
        int most = 0;
        for (int i = 0; i < count; i++)
            most = all[i].stream_k_units > most ? all[i].stream_k_units : most;
        assert_int_equal(most, 64 * tiles);
    }
    const tsr_problem two = {.m = 64, .n = 32, .k = 65536, .batch = 1};
    tsr_schedule s = tsr_config_whole(config, two.m, two.n);
    char reason[120];
    s.stream_k_tiles = 2;
    s.stream_k_units = 125;
    assert_true(tsr_schedule_is_legal(config, &two, &s, reason, sizeof reason));
    s.stream_k_units = 127;
    assert_false(tsr_schedule_is_legal(config, &two, &s, reason, sizeof reason));
    assert_string_equal(reason, "stream-k: more than 126 units for 2 tiles");
    s.stream_k_units = 128;
    assert_true(tsr_schedule_is_legal(config, &two, &s, reason, sizeof reason));
    tsr_emu_backend.close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_made_once),        cmocka_unit_test(bits_are_the_same_in_every_run),
        cmocka_unit_test(no_product_with_a_plan_for_one), cmocka_unit_test(candidates_fit),
        cmocka_unit_test(few_tiles_have_many_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
