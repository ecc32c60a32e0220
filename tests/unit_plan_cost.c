/* The cost models against times of an H200: for each measured shape, the instance that they prefer among the measured
 * ones is within 5% of the fastest of all candidates, configs or not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "plan/plan.h"
#include "plan/profiles/profiles.h"

typedef struct measured {
    const char *instance; /* NULL: a shape, and its best time */
    tsr_dtype dtype;
    long long m, n, k;
    double time_us;
} measured;

static const measured times[] = {
#define SHAPE(dtype, m, n, k, us)              {NULL, dtype, m, n, k, us},
#define MEASURED(instance, dtype, m, n, k, us) {#instance, dtype, m, n, k, us},
#include "measured_h200.def"
#undef SHAPE
#undef MEASURED
};

enum { COUNT = sizeof times / sizeof times[0] };

static tsr_device h200(void)
{
    return (tsr_device){.kind = TSR_DEVICE_CUDA,
                        .cuda = {.arch = 90,
                                 .sm_count = 132,
                                 .core_clock_khz = 1980000,
                                 .memory_clock_khz = 3201000,
                                 .memory_bus_bits = 6144,
                                 .threads_per_sm = 2048,
                                 .blocks_per_sm = 32,
                                 .smem_per_sm_bytes = 228 << 10},
                        .peak_flops_f32 = 66.9e12,
                        .peak_flops_f64 = 33.5e12,
                        .peak_flops_f64_tensor = 66.9e12,
                        .peak_flops_tensor16 = 1070e12,
                        .peak_flops_tf32 = 535e12,
                        .memory_bytes_per_s = 4.8e12,
                        .launch_ns = 4400};
}

static tsr_problem describe(const measured *at)
{
    const tsr_op op = {at->dtype, at->dtype, at->dtype, at->dtype, .compute = tsr_dtype_compute(at->dtype)};
    return (tsr_problem){
        .op = op, .m = at->m, .n = at->n, .k = at->k, .batch = 1, .workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES};
}

static const tsr_config *find(const char *instance)
{
    for (size_t i = 0; i < tsr_config_count(); i++)
        if (strcmp(tsr_config_at(i)->instance, instance) == 0)
            return tsr_config_at(i);
    fail_msg("no config %s", instance);
    return NULL;
}

/* The price of the schedule that is selected, and that schedule's launch where somebody asks. */
static tsr_price selected(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                          tsr_launch_config *launch)
{
    tsr_launch_config launch_config;
    tsr_price cost;
    assert_true(tsr_select_schedule(config, problem, device, &launch_config, &cost, NULL, 0));
    if (launch)
        *launch = launch_config;
    return cost;
}

static int may_run(const tsr_config *config, const tsr_problem *problem)
{
    return config->align_elems <= 1 || (problem->n % config->align_elems == 0 && problem->k % config->align_elems == 0);
}

static void the_preferred_instance_is_fast(void **state)
{
    (void)state;
    const tsr_device device = h200();
    int shapes = 0, slow = 0;
    for (int i = 0; i < COUNT; shapes++) {
        const measured *const shape = &times[i++];
        const tsr_problem problem = describe(shape);
        const measured *chosen = NULL;
        double least_ns = INFINITY;
        assert_null(shape->instance);
        for (; i < COUNT && times[i].instance; i++) {
            const tsr_config *config = find(times[i].instance);
            if (!may_run(config, &problem))
                continue;
            const tsr_price cost = selected(config, &problem, &device, NULL);
            if (cost.ns < least_ns) {
                least_ns = cost.ns;
                chosen = &times[i];
            }
        }
        assert_non_null(chosen);
        if (chosen->time_us > 1.05 * shape->time_us) {
            print_error("%lld x %lld x %lld: %s took %.1f us, the fastest %.1f\n", shape->m, shape->n, shape->k,
                        chosen->instance, chosen->time_us, shape->time_us);
            slow++;
        }
    }
    assert_int_equal(slow, 0);
    assert_true(shapes >= 19);
}

/* More of everything never costs less. */
static void cost_grows_with_the_problem(void **state)
{
    (void)state;
    const tsr_device device = h200();
    for (size_t r = 0; r < tsr_config_count(); r++) {
        const tsr_config *const config = tsr_config_at(r);
        if (config->kind != TSR_CONFIG_CUDA)
            continue;
        double before = 0;
        for (long long size = 0; size <= 8192; size = size ? 2 * size : 1) {
            const tsr_problem problem = {.op = tsr_op_of(&config->op), .m = size, .n = size, .k = size, .batch = 1};
            tsr_price cost;
            cost = selected(config, &problem, &device, NULL);
            if (!(isfinite(cost.ns) && cost.ns >= before))
                fail_msg("%s costs %g at %lld, %g before", config->instance, cost.ns, size, before);
            /* An edge may cost more than the next size without one. */
            before = size < 256 ? 0 : cost.ns;
        }
    }
}

/* The cheapest config without tensor cores among those that take `align` elements. */
static const tsr_config *cheapest(const tsr_device *device, long long m, long long n, long long k, int align)
{
    const tsr_problem problem = describe(&(measured){NULL, TSR_F32, m, n, k, 0});
    const tsr_config *best = NULL;
    double least_ns = INFINITY;
    for (size_t r = 0; r < tsr_config_count(); r++) {
        const tsr_config *const config = tsr_config_at(r);
        tsr_price cost;
        if (config->kind != TSR_CONFIG_CUDA || !tsr_op_accepts(&config->op, &problem.op, NULL, 0) ||
            config->align_elems > align)
            continue;
        cost = selected(config, &problem, device, NULL);
        if (cost.ns < least_ns) {
            least_ns = cost.ns;
            best = config;
        }
    }
    assert_non_null(best);
    return best;
}

/* Where K must be cut into parts that meet in the workspace, as measured on an H200 (perf/LOG), and where not. */
static void k_is_cut_where_it_pays(void **state)
{
    (void)state;
    static const struct {
        long long m, n, k;
        int align, is_cut;
        const char *kernel;
    } cases[] = {
        {1, 4096, 4096, 4, 1, "thin"},
        {4, 4096, 4096, 4, 1, "thin"},
        {16, 4096, 4096, 4, 0, "cluster-k"},
        {32, 6144, 4096, 4, 1, "stream-k"},
        {64, 2112, 7168, 4, 1, "stream-k"},
        {64, 4096, 14336, 4, 1, "stream-k"},
        {2176, 2048, 2048, 4, 1, "stream-k"},
        {2560, 2560, 2560, 4, 1, "stream-k"},
        {1030, 1030, 1030, 1, 1, "stream-k"},
        {333, 777, 555, 1, 0, "cluster-k"},
        {256, 256, 256, 4, 0, "cluster-k"},
        {2001, 1999, 2003, 1, 0, "warp-specialized"},
        {2048, 2048, 2048, 4, 0, "warp-specialized"},
        {4096, 4096, 4096, 4, 0, "warp-specialized"},
        {8192, 8192, 8192, 4, 0, "warp-specialized"},
    };
    const tsr_device device = h200();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_config *const config = cheapest(&device, cases[i].m, cases[i].n, cases[i].k, cases[i].align);
        const tsr_problem problem = describe(&(measured){NULL, TSR_F32, cases[i].m, cases[i].n, cases[i].k, 0});
        tsr_launch_config launch;
        selected(config, &problem, &device, &launch);
        if (strcmp(config->name, cases[i].kernel) != 0 || (launch.workspace_bytes > 0) != cases[i].is_cut)
            fail_msg("%lld x %lld x %lld: %s, %zu bytes of workspace", problem.m, problem.n, problem.k,
                     config->instance, launch.workspace_bytes);
        assert_true(launch.workspace_bytes <= TSR_WORKSPACE_LIMIT_BYTES);
    }
}

/* A bf16 product of dense operands. */
static double hopper_ns(const char *instance, long long m, long long n, long long k)
{
    const tsr_device device = h200();
    const tsr_config *const config = find(instance);
    tsr_problem problem = describe(&(measured){NULL, TSR_BF16, m, n, k, 0});
    tsr_price cost;
    problem.a.ld = k;
    problem.b.ld = problem.c.ld = problem.d.ld = n;
    problem.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
    cost = selected(config, &problem, &device, NULL);
    assert_true(isfinite(cost.ns) && cost.ns > 0 && cost.bytes >= 0);
    return cost.ns;
}

/* What the kernel relies on (kernels/collective/stream_k.h): every cluster has some of the shared blocks, counters and
 * sums have room. K is whole where rows must not depend on M. */
static void wgmma_shares_what_fits(void **state)
{
    (void)state;
    const tsr_device device = h200();
    int shared = 0;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *const config = tsr_config_at(i);
        if (strcmp(config->name, "wgmma") != 0)
            continue;
        for (long long m = 1; m <= 12000; m += m / 3 + 37)
            for (long long k = 64; k <= 60000; k *= 5) {
                tsr_problem p = describe(&(measured){NULL, TSR_BF16, m, 2112, k, 0});
                p.a.ld = k;
                p.b.ld = p.c.ld = p.d.ld = p.n;
                p.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
                tsr_launch_config launch;
                selected(config, &p, &device, &launch);
                const tsr_schedule *const s = &launch.schedule;
                const int tile_rows = config->bm * config->cluster_m, tile_columns = config->bn * config->cluster_n;
                const long long tiles = ((m + tile_rows - 1) / tile_rows) * ((p.n + tile_columns - 1) / tile_columns);
                const long long cluster = tsr_config_cluster(config);
                if (s->stream_k_units == 0) {
                    assert_true(launch.workspace_bytes == 0);
                    continue;
                }
                shared++;
                assert_true(s->stream_k_tiles <= tiles && launch.grid.x == s->stream_k_units * cluster);
                assert_true(launch.grid.x <= 132 && s->stream_k_tiles * ((k + 63) / 64) >= s->stream_k_units);
                assert_true(s->stream_k_tiles * cluster * 4 <= TSR_WORKSPACE_COUNTER_BYTES);
                assert_true((long long)launch.workspace_bytes ==
                            TSR_WORKSPACE_COUNTER_BYTES + 2 * launch.grid.x * config->bm * config->bn * 4);
                p.flags = TSR_BATCH_INVARIANT;
                selected(config, &p, &device, &launch);
                assert_int_equal(launch.schedule.stream_k_units, 0);
            }
    }
    assert_true(shared > 20);
}

/* What tells Hopper's configs apart, each in its direction as an H200 showed it (perf/LOG). */
static void hopper_rows_differ_as_measured(void **state)
{
    (void)state;
#define SKINNY(id) "wgmma_skinny_bf16_bf16_" id
#define WGMMA(id)  "wgmma_bf16_bf16_" id
    /* Few rows: narrow tiles have a longer ring. */
    assert_true(hopper_ns(SKINNY("16_g1"), 8, 5192, 13504) < hopper_ns(SKINNY("64_g1"), 8, 5192, 13504));
    /* Short rows of B, for which all CTAs ask: clusters along M ask half as often, */
    assert_true(hopper_ns(WGMMA("p128x128_s6_c21"), 15824, 8, 1352) <
                hopper_ns(WGMMA("p128x128_s6_c11"), 15824, 8, 1352));
    /* and parts of K ask for other lines: 16 columns took 0.96 of the time of 64. */
    const double narrow_over_wide =
        hopper_ns(SKINNY("16_g1"), 1336, 16, 1304) / hopper_ns(SKINNY("64_g1"), 1336, 16, 1304);
    assert_true(narrow_over_wide > 0.85 && narrow_over_wide < 1.05);
    /* D's rows begin within lines, which tiles beside each other share. */
    assert_true(hopper_ns(WGMMA("p64x128_s8_c12"), 4696, 7256, 8) < hopper_ns(WGMMA("p64x128_s8_c11"), 4696, 7256, 8));
    /* D by threads: each row of a narrow tile ends within lines twice. */
    assert_true(hopper_ns(WGMMA("p128x128_s6_c11"), 12152, 13506, 71) <
                0.8 * hopper_ns(WGMMA("p64x64_s10_c11"), 12152, 13506, 71));
    /* A tile that four CTAs share wins where K is long, not where D is large. */
    assert_true(hopper_ns(SKINNY("128_g2s4"), 144, 3480, 11960) <
                hopper_ns(WGMMA("p128x128_s6_c21"), 144, 3480, 11960));
    assert_true(hopper_ns(SKINNY("128_g2s4"), 8192, 8192, 8192) >
                hopper_ns(WGMMA("p128x128_s6_c21"), 8192, 8192, 8192));
    /* A second launch that adds pays where K is very long, as a tile that two CTAs share does. */
    assert_true(hopper_ns(SKINNY("128_g1s2"), 128, 128, 65536) < hopper_ns(SKINNY("64_g1"), 128, 128, 65536));
    assert_true(hopper_ns(SKINNY("128_g1s2"), 512, 512, 16384) < hopper_ns(WGMMA("p64x128_s8_c11"), 512, 512, 16384));
    assert_true(hopper_ns(SKINNY("128_g1s2"), 256, 1024, 4096) > hopper_ns(SKINNY("64_g1"), 256, 1024, 4096));
    /* One wave of many steps: half as high a tile takes half of a step, but not where lines are cut. */
    assert_true(hopper_ns(WGMMA("p64x128_s8_c12"), 1024, 1024, 8192) <
                hopper_ns(WGMMA("p128x128_s6_c11"), 1024, 1024, 8192));
    /* Boxes are no higher than the shorter operand: one tile of 128 columns for 96 rows, K in two parts. */
    assert_true(hopper_ns(SKINNY("128_g1"), 96, 4096, 14336) < hopper_ns(SKINNY("64_g1"), 96, 4096, 14336));
    assert_true(hopper_ns(SKINNY("128_g1"), 96, 4096, 14336) < hopper_ns(SKINNY("128_g1s2"), 96, 4096, 14336));
    /* The host takes longer than either, but the one that the GPU needs less time for is preferred: 1.9 and 2.2 us in a
     * graph. */
    assert_true(hopper_ns(WGMMA("p64x64_s10_c11"), 256, 256, 256) < hopper_ns(SKINNY("16_g1"), 256, 256, 256));
    assert_true(hopper_ns(SKINNY("16_g1"), 256, 256, 256) < 1.05 * hopper_ns(WGMMA("p64x64_s10_c11"), 256, 256, 256));
    /* D of odd rows by elements takes wide skinny tiles longer: with A transposed 16 and 8.6 us. */
    assert_true(hopper_ns(WGMMA("p128x128_s6_c11"), 723, 5601, 10) < hopper_ns(SKINNY("192_g3"), 723, 5601, 10));
    /* Few tiles and a long K, dealt out: no cluster has all of the last tile's steps, where boxes are half empty. */
    assert_true(hopper_ns(WGMMA("p64x64_s10_c11"), 144, 8, 10728) <
                1.2 * hopper_ns(WGMMA("p64x64_s10_c11"), 192, 8, 10728));
    /* Products of a few kB are a launch. */
    assert_true(hopper_ns(SKINNY("16_g1"), 8, 8, 8) < 1.1 * hopper_ns(SKINNY("16_g1"), 1, 1, 1));
    /* No K, and the largest extents that configs take. */
    const long long most = 2147483647LL - 512;
    for (size_t r = 0; r < tsr_config_count(); r++) {
        const tsr_config *const config = tsr_config_at(r);
        if (tsr_op_of(&config->op).a != TSR_BF16 || strncmp(config->name, "wgmma", 5) != 0)
            continue;
        hopper_ns(config->instance, 1, 1, 0);
        hopper_ns(config->instance, most, 1, 1);
        hopper_ns(config->instance, 1, most, most);
        hopper_ns(config->instance, most, most, most);
    }
#undef SKINNY
#undef WGMMA
}

/* Into how many parts a cluster cuts K where B is transposed, as an H200 showed it (perf/LOG). */
static void skinny_parts_are_as_measured(void **state)
{
    (void)state;
    static const struct {
        const char *instance;
        long long m, n, k;
        int parts;
    } cases[] = {
        {"wgmma_skinny_bf16_bf16_96_g2", 160, 1536, 8960, 4},  {"wgmma_skinny_bf16_bf16_32_g1d2", 24, 8192, 8192, 1},
        {"wgmma_skinny_bf16_bf16_64_g2", 40, 4608, 3584, 3},   {"wgmma_skinny_bf16_bf16_128_g1", 96, 4096, 4096, 2},
        {"wgmma_skinny_bf16_bf16_128_g1", 96, 6144, 4096, 1},  {"wgmma_skinny_bf16_bf16_128_g1", 96, 4096, 14336, 2},
        {"wgmma_skinny_bf16_bf16_16_g1", 1, 2560, 9728, 5},    {"wgmma_skinny_bf16_bf16_96_g1", 80, 3584, 3584, 2},
        {"wgmma_skinny_bf16_bf16_96_g1", 256, 256, 8192, 8},   {"wgmma_skinny_bf16_bf16_16_g1", 16, 6144, 4096, 1},
        {"wgmma_skinny_bf16_bf16_128_g1", 224, 3584, 3584, 1},
    };
    const tsr_device device = h200();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_config *const config = find(cases[i].instance);
        tsr_problem problem = describe(&(measured){NULL, TSR_BF16, cases[i].m, cases[i].n, cases[i].k, 0});
        problem.b.trans = TSR_T;
        problem.a.ld = problem.b.ld = problem.k;
        problem.c.ld = problem.d.ld = problem.n;
        problem.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
        tsr_launch_config launch;
        selected(config, &problem, &device, &launch);
        if (launch.schedule.split_k != cases[i].parts || launch.schedule.cluster_k != cases[i].parts)
            fail_msg("%s, %lld x %lld x %lld: %d parts, %d in a cluster", config->instance, problem.m, problem.n,
                     problem.k, launch.schedule.split_k, launch.schedule.cluster_k);
        problem.flags = TSR_BATCH_INVARIANT;
        selected(config, &problem, &device, &launch);
        assert_int_equal(launch.schedule.split_k, 1);
    }
    /* K whole at 16 x 4096 x 4096: stages of 64 along K, 10.9 us, are faster than few of 128, 12.2 us. */
    tsr_problem whole = describe(&(measured){NULL, TSR_BF16, 16, 4096, 4096, 0});
    whole.a.ld = whole.b.ld = whole.c.ld = whole.d.ld = 4096;
    whole.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
    whole.flags = TSR_BATCH_INVARIANT;
    const tsr_price narrow = selected(find("wgmma_skinny_bf16_bf16_64_g1"), &whole, &device, NULL);
    const tsr_price deep = selected(find("wgmma_skinny_bf16_bf16_32_g1d2"), &whole, &device, NULL);
    assert_true(narrow.ns < deep.ns);
}

/* Bits depend on which of the CPU's configs runs, so the choice must not depend on what its peaks were measured to be.
 */
static void cpu_rows_never_tie(void **state)
{
    static const long long sizes[] = {1, 2, 5, 44, 300, 5000};
    (void)state;
    for (int at = 0; at < 6 * 6 * 7; at++) {
        tsr_problem p = describe(&(measured){NULL, TSR_F64, sizes[at % 6], sizes[at / 6 % 6], 0, 0});
        p.k = at / 36 ? sizes[at / 36 - 1] : 0;
        for (int tens = 6; tens < 13; tens++)
            for (int more = 6; more < 14; more += 2) {
                const double bandwidth = pow(10, tens), flops = pow(10, more);
                const tsr_device device = {.kind = TSR_DEVICE_CPU,
                                           .threads = 1,
                                           .peak_flops_f32 = flops,
                                           .peak_flops_f64 = flops,
                                           .memory_bytes_per_s = bandwidth,
                                           .launch_ns = 50};
                const tsr_config *sequential = find("cpu_sequential_f64"), *fast = find("cpu_tiled_f64");
                const tsr_price plain = selected(sequential, &p, &device, NULL);
                const tsr_price tiled = selected(fast, &p, &device, NULL);
                if (!(tiled.ns < plain.ns))
                    fail_msg("%lld x %lld x %lld, %g B/s, %g FLOP/s: %g and %g ns", p.m, p.n, p.k, bandwidth, flops,
                             tiled.ns, plain.ns);
            }
    }
}

/* What core knows without a profile is what the driver told of a chip. */
static void clusters_are_the_profiles(void **state)
{
    (void)state;
    const tsr_profile *const f = tsr_profile_h200;
    const struct {
        int m, n;
        double clusters;
    } cases[] = {{1, 1, f->chip_sms}, {2, 1, f->clusters_of_2}, {2, 2, f->clusters_of_4}, {4, 2, f->clusters_of_8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_config config = {.cluster_m = cases[i].m, .cluster_n = cases[i].n};
        assert_int_equal(tsr_config_clusters(&config, (int)f->chip_sms), (int)cases[i].clusters);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_preferred_instance_is_fast), cmocka_unit_test(cost_grows_with_the_problem),
        cmocka_unit_test(hopper_rows_differ_as_measured), cmocka_unit_test(skinny_parts_are_as_measured),
        cmocka_unit_test(k_is_cut_where_it_pays),         cmocka_unit_test(cpu_rows_never_tie),
        cmocka_unit_test(wgmma_shares_what_fits),         cmocka_unit_test(clusters_are_the_profiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
