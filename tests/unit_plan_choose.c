/* Choosing a kernel is quick because of what it leaves out: reasons, ways to cut K that are no better for certain,
 * terms that are known. None of that may change the choice, or what it is expected to take. */
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
#include "lab_gpu_choices.h"
#include "plan/plan.h"
#include "plan/price.h"
#include "plan/price_common.h"
#include "plan/schedules.h"

static int has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    (void)config, (void)device, (void)reason, (void)reason_bytes;
    return 1;
}

/* A config that cannot be loaded. */
static const tsr_config *missing;

static tsr_status load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    (void)device;
    *out = NULL;
    return config == missing ? TSR_UNSUPPORTED : TSR_OK;
}

static const tsr_backend backend = {.has_code = has_code, .load = load};

static tsr_target h200(void)
{
    return (tsr_target){.backend = &backend,
                        .device = {.kind = TSR_DEVICE_CUDA,
                                   .cuda = {.arch = 90,
                                            .sm_count = 132,
                                            .core_clock_khz = 1980000,
                                            .memory_clock_khz = 3201000,
                                            .memory_bus_bits = 6144,
                                            .threads_per_block = 1024,
                                            .threads_per_sm = 2048,
                                            .blocks_per_sm = 32,
                                            .smem_per_block_bytes = 227 << 10,
                                            .smem_per_sm_bytes = 228 << 10},
                                   .peak_flops_f32 = 66.9e12,
                                   .peak_flops_f64 = 33.5e12,
                                   .peak_flops_tensor16 = 1070e12,
                                   .peak_flops_tf32 = 535e12,
                                   .memory_bytes_per_s = 4.9e12,
                                   .launch_ns = TSR_CUDA_LAUNCH_NS}};
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(*state >> 8) * below) >> 24);
}

static long long draw_extent(uint32_t *state)
{
    const long long extent = 1 + draw(state, 2u << draw(state, 14));
    return draw(state, 3) ? (extent + 7) / 8 * 8 : extent;
}

static tsr_problem draw_problem(uint32_t *state)
{
    static const size_t limits[] = {0, 1 << 20, TSR_WORKSPACE_LIMIT_BYTES, TSR_WORKSPACE_LIMIT_BYTES};
    tsr_problem p = {.m = draw_extent(state), .n = draw_extent(state), .k = draw_extent(state), .batch = 1};
    p.op = (tsr_op){.a = TSR_BF16, .b = TSR_BF16, .c = TSR_BF16, .d = TSR_BF16, .compute = TSR_COMPUTE_F32};
    p.workspace_limit_bytes = limits[draw(state, 4)];
    p.flags = draw(state, 5) == 0 ? TSR_BATCH_INVARIANT : 0;
    p.a = p.b = p.c = p.d = (tsr_matrix){.memory = TSR_DEVICE, .align_bytes = 256};
    p.a.trans = draw(state, 2) ? TSR_T : TSR_N;
    p.b.trans = draw(state, 2) ? TSR_T : TSR_N;
    p.a.ld = (p.a.trans == TSR_T ? p.m : p.k) + (draw(state, 4) ? 0 : draw(state, 50));
    p.b.ld = (p.b.trans == TSR_T ? p.k : p.n) + (draw(state, 4) ? 0 : draw(state, 50));
    p.c.ld = p.d.ld = p.n;
    return p;
}

static void assert_same_launch(const tsr_launch_config *one, const tsr_launch_config *other)
{
    assert_memory_equal(&one->schedule, &other->schedule, sizeof one->schedule);
    assert_int_equal(one->grid.x, other->grid.x);
    assert_int_equal(one->cluster, other->cluster);
    assert_int_equal(one->workspace_bytes, other->workspace_bytes);
    assert_int_equal(one->reduces, other->reduces);
}

static void plans_take_what_is_listed_first(void **state)
{
    enum { PROBLEMS = 600 };
    (void)state;
    const size_t room = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *const all = malloc(room * sizeof *all), *const applicable = malloc(room * sizeof *applicable);
    tsr_target target = h200();
    uint32_t seed = 5;
    int chosen = 0, sliced = 0, padded = 0, cut = 0;
    assert_true(all && applicable);
    for (int i = 0; i < PROBLEMS; i++) {
        const tsr_problem p = draw_problem(&seed);
        const size_t count = tsr_select_all(&p, &target, 1, all, room);
        const size_t few = tsr_select_applicable(&p, &target, 1, applicable, room);
        tsr_planned plan;
        assert_true(few <= count);
        for (size_t c = 0; c < count; c++)
            assert_int_equal(all[c].applicable, c < few);
        for (size_t c = 1; c < few; c++)
            assert_true(tsr_comes_before(&all[c - 1], &all[c]) && !tsr_comes_before(&all[c], &all[c - 1]));
        for (size_t c = 0; c < few; c++) {
            size_t at = 0;
            while (at < few && all[at].config != applicable[c].config)
                at++;
            assert_true(at < few && all[at].cost.ns == applicable[c].cost.ns);
            assert_same_launch(&all[at].launch, &applicable[c].launch);
        }
        missing = NULL;
        assert_int_equal(tsr_plan_build(&p, &target, 1, &plan), few > 0 ? TSR_OK : TSR_UNSUPPORTED);
        if (few == 0)
            continue;
        chosen++;
        assert_ptr_equal(tsr_plan_main(&plan)->config, all[0].config);
        if (!tsr_is_sliced(plan.slices))
            assert_same_launch(&tsr_plan_main(&plan)->launch, &all[0].launch);
        sliced += tsr_is_sliced(plan.slices);
        padded += plan.pads != 0;
        cut +=
            plan.slice_launch[1][1][1].schedule.split_k > 1 || plan.slice_launch[1][1][1].schedule.stream_k_units > 0;
        /* The second takes the place of a first that cannot be loaded. */
        missing = all[0].config;
        assert_int_equal(tsr_plan_build(&p, &target, 1, &plan), few > 1 ? TSR_OK : TSR_UNSUPPORTED);
        if (few > 1)
            assert_ptr_equal(tsr_plan_main(&plan)->config, all[1].config);
    }
    assert_true(chosen > PROBLEMS * 3 / 4 && sliced > 5 && padded > 50 && cut > 50);
    free(all);
    free(applicable);
}

/* A price is that of the schedule, whatever was priced before it, and no candidate has a lower one. */
static void prices_do_not_depend_on_each_other(void **state)
{
    enum { PROBLEMS = 1500 };
    (void)state;
    const tsr_target target = h200();
    const tsr_device *const device = &target.device;
    uint32_t seed = 7;
    int partitioned = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        const tsr_problem p = draw_problem(&seed);
        for (size_t r = 0; r < tsr_config_count(); r++) {
            const tsr_config *const config = tsr_config_at(r);
            tsr_launch_config launch;
            tsr_schedule all[TSR_MOST_SCHEDULES];
            tsr_pricing pricing;
            tsr_price found, alone;
            if (tsr_op_of(&config->op).a != TSR_BF16 || tsr_op_of(&config->op).d != TSR_BF16 ||
                strncmp(config->name, "wgmma", 5) != 0)
                continue;
            assert_true(tsr_select_schedule(config, &p, device, &launch, &found, NULL, 0));
            tsr_pricing_begin(&pricing, config, &p, device);
            tsr_price_launch(&pricing, &launch, INFINITY, &alone);
            if (!(isfinite(found.ns) && found.ns == alone.ns && found.bytes == alone.bytes))
                fail_msg("%s, %lld x %lld x %lld: %.17g, alone %.17g", config->instance, p.m, p.n, p.k, found.ns,
                         alone.ns);
            const int count = tsr_schedule_candidates(config, &p, device, all);
            for (int c = count - 1; c >= 0; c--) {
                const tsr_launch_config other = tsr_schedule_launch(config, &p, &all[c]);
                tsr_price_launch(&pricing, &other, INFINITY, &alone);
                assert_true(alone.ns >= found.ns || other.workspace_bytes > p.workspace_limit_bytes);
            }
            partitioned += launch.schedule.split_k > 1 || launch.schedule.stream_k_units > 0;
        }
    }
    assert_true(partitioned > 1000);
}

/* A schedule that is left out early is one that takes longer. */
static void nothing_better_is_left_out(void **state)
{
    (void)state;
    for (int i = 0; i < 50 * 50; i++) {
        const int row = i / 50, column = i % 50;
        const tsr_parts parts = {.launches = 1 + i % 2,
                                 .before_ns = i % 3 * 500.,
                                 .floor_ns = 3000,
                                 .fill_ns = 300,
                                 .work_ns = 100. * column,
                                 .memory_ns = 70. * row,
                                 .after_ns = i % 7,
                                 .sharpness = 2.56};
        tsr_price all = {0}, some = {0};
        settle(tsr_profile_h200, &parts, INFINITY, &all);
        settle(tsr_profile_h200, &parts, all.ns, &some);
        assert_true(some.ns == all.ns);
        settle(tsr_profile_h200, &parts, all.ns * 0.99, &some);
        assert_true(some.ns == all.ns || some.ns == INFINITY);
        settle(tsr_profile_h200, &parts, 2000, &some);
        assert_true(some.ns == INFINITY);
    }
}

/* Where a GPU's tensor cores do not multiply f64, or only as slowly as its other units, configs that need them do not
 * apply; elsewhere a large product gets one, and a batch-invariant one too. */
static void f64_goes_to_tensor_cores_made_for_it(void **state)
{
    (void)state;
    const size_t room = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *const choices = malloc(room * sizeof *choices);
    tsr_problem p = {.m = 4096, .n = 4096, .k = 4096, .batch = 1};
    p.op = (tsr_op){.a = TSR_F64, .b = TSR_F64, .c = TSR_F64, .d = TSR_F64, .compute = TSR_COMPUTE_F64};
    p.a = p.b = p.c = p.d = (tsr_matrix){.memory = TSR_DEVICE, .align_bytes = 256, .ld = 4096};
    assert_non_null(choices);
    for (int i = 0; i < 4; i++) {
        tsr_target target = h200();
        const int on_tensor_cores = i / 2;
        target.device.peak_flops_f64_tensor = on_tensor_cores ? 66.9e12 : 0;
        p.flags = i % 2 ? TSR_BATCH_INVARIANT : 0;
        int refused = 0;
        const size_t count = tsr_select_all(&p, &target, 1, choices, room);
        for (size_t c = 0; c < count; c++)
            refused += !choices[c].applicable && strstr(choices[c].reason, "f64 needs the tensor cores") != NULL;
        assert_true(on_tensor_cores ? refused == 0 : refused > 0);
        assert_true(choices[0].applicable);
        const char *const without = p.flags ? "tiled" : "thin"; /* which adds parts of K where it is not bound to M */
        assert_string_equal(choices[0].config->name, on_tensor_cores ? "mma-f64" : without);
    }
    free(choices);
}

/* Who allows a less accurate arithmetic gets a GPU that has it, however small the product, and a CPU's f32 where none
 * has. */
static void a_cpu_stands_in_where_no_gpu_does(void **state)
{
    static const struct {
        tsr_dtype ab, d;
        tsr_compute compute;
        int arch, on_cpu;
        const char *kernel;
    } cases[] = {
        {TSR_F32, TSR_F32, TSR_COMPUTE_F32, 90, 1, NULL},    {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, 90, 0, NULL},
        {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, 80, 0, NULL},   {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, 75, 1, NULL},
        {TSR_E4M3, TSR_BF16, TSR_COMPUTE_F32, 90, 1, NULL},  {TSR_E4M3, TSR_BF16, TSR_COMPUTE_FAST, 90, 0, NULL},
        {TSR_E4M3, TSR_BF16, TSR_COMPUTE_FAST, 80, 1, NULL}, {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, 90, 1, "cpu-tiled"}};
    (void)state;
    const size_t room = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *const all = malloc(room * sizeof *all), *const applicable = malloc(room * sizeof *applicable);
    assert_true(all && applicable);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const size_t at = i / 2;
        const int is_invariant = i % 2;
        tsr_problem p = {.m = 16, .n = 16, .k = 16, .batch = 1, .kernel = cases[at].kernel};
        p.op = (tsr_op){cases[at].ab, cases[at].ab, cases[at].d, cases[at].d, .compute = cases[at].compute};
        p.a = p.b = p.c = p.d = (tsr_matrix){.memory = TSR_HOST, .align_bytes = 256, .ld = 16};
        p.b.trans = TSR_T;
        p.flags = is_invariant ? TSR_BATCH_INVARIANT : 0;
        p.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
        tsr_target targets[2] = {{.backend = &backend,
                                  .gpu_beside = 1,
                                  .device = {.kind = TSR_DEVICE_CPU,
                                             .threads = 1,
                                             .peak_flops_f32 = 1e11,
                                             .memory_bytes_per_s = 1e10,
                                             .l2_bytes = 1 << 20}},
                                 h200()};
        targets[1].device.cuda.arch = cases[at].arch;
        targets[1].device.transfer_bytes_per_s = 5e10;
        const size_t count = tsr_select_all(&p, targets, 2, all, room);
        const size_t few = tsr_select_applicable(&p, targets, 2, applicable, room);
        int refused = 0;
        for (size_t c = 0; c < count; c++) {
            assert_int_equal(all[c].applicable, c < few);
            refused += strncmp(all[c].reason, "does not stand in for a GPU that has ", 37) == 0;
        }
        /* Of kernels that keep to one order of sums a GPU's come first, at any size. */
        const int is_default = cases[at].compute == TSR_COMPUTE_F32,
                  on_cpu = cases[at].on_cpu && !(is_default && is_invariant);
        assert_true(few > 0);
        assert_int_equal(all[0].config->kind, on_cpu ? TSR_CONFIG_CPU : TSR_CONFIG_CUDA);
        assert_int_equal(refused > 0, !is_default && !on_cpu && !is_invariant);
    }
    free(all);
    free(applicable);
}

/* Configs for results that no other config has apply to nothing else, whatever they cost. */
static void results_that_others_have_are_theirs(void **state)
{
    static const tsr_dtype operands[] = {TSR_F16, TSR_BF16},
                           results[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_E4M3, TSR_E5M2};
    (void)state;
    const size_t room = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *const found = malloc(room * sizeof *found);
    assert_non_null(found);
    for (size_t i = 0; i < 2 * 5; i++) {
        tsr_problem p = {.m = 512, .n = 512, .k = 512, .batch = 1, .workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES};
        tsr_target target = h200();
        p.op = (tsr_op){.a = operands[i % 2], .b = operands[i % 2], .compute = TSR_COMPUTE_F32};
        p.op.c = p.op.d = results[i / 2];
        p.a = p.b = p.c = p.d = (tsr_matrix){.memory = TSR_DEVICE, .align_bytes = 256, .ld = 512};
        const int is_usual = p.op.d == p.op.a || p.op.d == TSR_F32;
        const size_t count = tsr_select_applicable(&p, &target, 1, found, room);
        assert_true(count > (is_usual ? 10 : 0));
        for (size_t c = 0; c < count; c++)
            assert_int_equal((found[c].config->op.cd & (TSR_TYPE_BIT(TSR_F32) | TSR_TYPE_BIT(p.op.a))) != 0, is_usual);
    }
    free(found);
}

static size_t constants_that_differ(const tsr_profile *x, const tsr_profile *y)
{
    size_t differ = 0;
    for (size_t i = 0; i < sizeof *x / sizeof(double); i++)
        differ += ((const double *)(const void *)x)[i] != ((const double *)(const void *)y)[i];
    return differ;
}

/* Constants that an H100's profile does not name are the H200's; so are all of a chip that has no file. */
static void chips_have_profiles(void **state)
{
    (void)state;
    const tsr_profile *const h200 = tsr_profile_named("NVIDIA H200"), *const h100 =
                                                                          tsr_profile_named("NVIDIA H100 XYZ");
    assert_ptr_equal(h200, tsr_profile_h200);
    assert_ptr_equal(tsr_profile_named("NVIDIA H100 80GB HBM3"), h100);
    assert_ptr_equal(tsr_profile_named("Some GPU"), h200);
    assert_ptr_equal(tsr_profile_named("NVIDIA A4000"), h200); /* which is no A40 */
    assert_ptr_not_equal(tsr_profile_named("NVIDIA A40"), h200);
    assert_int_equal(constants_that_differ(tsr_profile_named("NVIDIA A40"), h200), 0);
    const size_t differ = constants_that_differ(h100, h200);
    assert_true(differ > 0 && differ <= 12);
    assert_true(h100->wgmma_l2_bytes < h200->wgmma_l2_bytes);
    assert_true(h100->host_first_ns == h200->host_first_ns);
}

/* A chip's file has the name that the command gives it. */
static void chips_have_their_files_names(void **state)
{
    (void)state;
    char ids[256] = "";
    for (size_t i = 0; tsr_chip_at(i) != NULL; i++)
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%s", i > 0 ? "|" : "", tsr_chip_at(i)->id);
    assert_string_equal(ids, LAB_GPU_CHOICES);
}

/* As many tiles may be shared as the workspace has counters for: one for each group of warps that adds up sums of its
 * own. */
static void shared_tiles_have_counters(void **state)
{
    (void)state;
    static const struct {
        const char *instance;
        int of_tile;
    } cases[] = {{"wgmma_bf16_bf16_p128x128_s6_c11", 1}, {"wgmma_bf16_bf16_p128x128_s6_c21", 2},
                 {"wgmma_bf16_bf16_u128x256_s3", 2},     {"wgmma_kmajor_tf32_64x64_c1", 1},
                 {"wgmma_kmajor_tf32_p128x192_c2", 4},   {"wgmma_kmajor_int8_128x128_c1", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_config *config = NULL;
        for (size_t c = 0; c < tsr_config_count(); c++)
            if (strcmp(tsr_config_at(c)->instance, cases[i].instance) == 0)
                config = tsr_config_at(c);
        assert_non_null(config);
        const tsr_problem p = {.m = 1 << 20, .n = 1 << 20, .k = 4096, .batch = 1, .op = tsr_op_of(&config->op)};
        const int most = TSR_WORKSPACE_COUNTER_BYTES / 4 / cases[i].of_tile;
        tsr_schedule s = {.split_k = 1, .cluster_k = 1, .stream_k_tiles = most, .stream_k_units = 64};
        assert_true(tsr_schedule_is_legal(config, &p, &s, NULL, 0));
        s.stream_k_tiles = most + 1;
        char reason[160];
        assert_false(tsr_schedule_is_legal(config, &p, &s, reason, sizeof reason));
        assert_non_null(strstr(reason, "counters"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_take_what_is_listed_first),   cmocka_unit_test(prices_do_not_depend_on_each_other),
        cmocka_unit_test(nothing_better_is_left_out),        cmocka_unit_test(f64_goes_to_tensor_cores_made_for_it),
        cmocka_unit_test(a_cpu_stands_in_where_no_gpu_does), cmocka_unit_test(results_that_others_have_are_theirs),
        cmocka_unit_test(shared_tiles_have_counters),        cmocka_unit_test(chips_have_profiles),
        cmocka_unit_test(chips_have_their_files_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
