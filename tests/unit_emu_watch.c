/* Counting real kernels: no bit of any result changes, a sample agrees with the whole, the counts are those of the
 * kernels' descriptions; and the models of L1 and occupancy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "emu/watch.h"
#include "lab/common/operands.h"
#include "lab/predict/gpu_cache.h"
#include "lab/predict/ncu.h"
#include "lab/predict/occupancy.h"
#include "lab/predict/predict.h"
#include "lab/predict/sector_stream.h"
#include "lab/predict/watched.h"

/* Counts are whole numbers: exact. */
#define equal(found, wanted) equal_at(found, wanted, #found, __LINE__)
static void equal_at(double found, double wanted, const char *what, int line)
{
    if (found != wanted)
        fail_msg("line %d: %s is %.17g, not %.17g", line, what, found, wanted);
}

/* ---- the same bits ---- */

static const tsr_emu_code *code_of(const char *instance)
{
    for (const tsr_emu_code *code = lab_watched_codes; code->instance; code++)
        if (strcmp(code->instance, instance) == 0)
            return code;
    return NULL;
}
static void *begin(void *user, long long cta)
{
    (void)cta;
    return user;
}
static void event(void *state, const tsr_watch_event *e)
{
    __atomic_fetch_add((long *)state, e->lanes != 0, __ATOMIC_RELAXED);
}
static void barrier(void *state)
{
    (void)state;
}
static void end(void *user, void *state)
{
    (void)user, (void)state;
}

static tsr_gemm_desc problem(const char *kernel, tsr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, m, n, k);
    desc.kernel = kernel;
    return lab_aligned_desc(&desc);
}

static void watching_changes_no_bit(void **state)
{
    (void)state;
    const struct {
        const char *kernel;
        tsr_dtype dtype;
    } cases[] = {{"uncoalesced_f32", TSR_F32},        {"tiled_f64_t16", TSR_F64},
                 {"regtile2d_f32", TSR_F32},          {"double_buffered_f32_s3_a1", TSR_F32},
                 {"warptile_f32_16x128_a1", TSR_F32}, {"wmma_bf16_a1", TSR_BF16},
                 {"mma_bf16_128x128_a1", TSR_BF16},   {"wgmma", TSR_BF16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int is_wgmma = strcmp(cases[i].kernel, "wgmma") == 0;
        const tsr_gemm_desc desc =
            is_wgmma ? problem("wgmma", TSR_BF16, 72, 96, 80) : problem(cases[i].kernel, cases[i].dtype, 67, 93, 51);
        tsr_context *context;
        tsr_plan *plan;
        lab_operands operands;
        assert_int_equal(tsr_context_create("emu", NULL, &context), TSR_OK);
        if (tsr_plan_create(context, &desc, &plan) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        assert_int_equal(lab_operands_create(context, &desc, 0, 7, &operands), TSR_OK);
        const size_t bytes = (size_t)(desc.m * desc.n) * tsr_dtype_bytes(desc.d.dtype);
        const lab_operand_set *set = &operands.sets[0];
        const tsr_run_args args = tsr_run_args_make(set->a, set->b, set->d);
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        void *plain = malloc(bytes);
        memcpy(plain, set->d, bytes);
        memset(set->d, 0xff, bytes);

        long events = 0;
        const tsr_emu_watcher watcher = {
            .user = &events, .code = code_of, .begin = begin, .event = event, .barrier = barrier, .end = end};
        tsr_emu_watch_launches(&context->home->device, &watcher);
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        tsr_emu_watch_launches(&context->home->device, NULL);
        assert_memory_equal(plain, set->d, bytes);
        assert_true(events > 0);
        free(plain);
        lab_operands_free(&operands);
        tsr_plan_release(plan);
        tsr_context_destroy(context);
    }
}

/* ---- counts ---- */

static lab_counters counted(const tsr_gemm_desc *desc, long long sample)
{
    const lab_count_options options = {.sample_ctas = sample};
    lab_counters c;
    if (lab_count(desc, &options, &c) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    return c;
}

/* 64 x 64 x 64 by 16 x 16: 16 CTAs, 4 phases. A warp is two rows of 16 threads. Each phase, a warp loads once from A
 * and once from B, 2 x 64 bytes each; reads 16 elements of A, joined 4 by 4, and 16 of B; multiplies 16 times. */
static void tiled_as_described(void **state)
{
    (void)state;
    const tsr_gemm_desc desc = problem("tiled_f32_t16", TSR_F32, 64, 64, 64);
    const lab_counters c = counted(&desc, 0);
    const double warps = 16 * 8, phases = 4;
    assert_int_equal(c.ctas, 16);
    assert_int_equal(c.counted_ctas, 16);
    equal(c.fma_f32, 64 * 64 * 64);
    equal(c.warp_fma, warps * phases * 16);
    equal(c.load.requests, warps * phases * 2);
    equal(c.load.sectors, warps * phases * 2 * 4);
    equal(c.store.requests, warps);
    equal(c.store.sectors, warps * 4);
    equal(c.shared_store.requests, warps * phases * 2);
    equal(c.shared_load.requests, warps * phases * 32);
    equal(c.shared_load_merged.requests, warps * phases * (4 + 16));
    equal(c.shared_load_merged.wavefronts, warps * phases * (2 * 4 + 16));
    equal(c.shared_load.conflicts, 0);
    equal(c.barriers, 16 * phases * 2);
    equal(c.flops, 2.0 * 64 * 64 * 64);
}

static void bulk_copies_and_tensor_cores(void **state)
{
    (void)state;
    const tsr_gemm_desc desc = problem("wgmma", TSR_BF16, 128, 128, 64);
    const lab_counters c = counted(&desc, 0);
    equal(c.tensor_flops, 2.0 * 128 * 128 * 64);
    equal(c.fma_f32, 0);
    equal(c.load.requests + c.copy.requests, 0);
    /* Every CTA reads what it needs of A and B, multicast or not; D is written once. */
    assert_true(c.bulk_load.bytes >= 2.0 * 2 * 128 * 64);
    equal(c.bulk_store.bytes + c.store.bytes, 2.0 * 128 * 128);
}

static void a_sample_is_like_the_whole(void **state)
{
    (void)state;
    const struct {
        const char *kernel;
        int64_t m, n, k;
        double within;
    } cases[] = {{"tiled_f32_t16", 256, 256, 64, 0},
                 {"padded_f32", 512, 512, 32, 0},
                 {"tiled_f32_t16", 250, 243, 61, 0.06},
                 {"naive_f32", 250, 243, 61, 0.1},
                 {"regtile2d_f32", 450, 420, 21, 0.25}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_gemm_desc desc = problem(cases[i].kernel, TSR_F32, cases[i].m, cases[i].n, cases[i].k);
        const lab_counters all = counted(&desc, 0), some = counted(&desc, 12);
        assert_true(some.counted_ctas < all.counted_ctas && some.counted_ctas >= 12);
        assert_int_equal(some.ctas, all.ctas);
        const double sectors = lab_counters_sectors(&some) / lab_counters_sectors(&all) - 1;
        const double fma = some.fma_f32 / all.fma_f32 - 1;
        if (fabs(sectors) > cases[i].within || fabs(fma) > cases[i].within)
            fail_msg("%s: sectors off by %g, multiply-adds by %g", cases[i].kernel, sectors, fma);
        /* The error that it states is what it is worth: within four of it. */
        if (fabs(sectors) > 4 * some.sample_error + 1e-12)
            fail_msg("%s: off by %g, stated %g", cases[i].kernel, sectors, some.sample_error);
        const double wavefronts = some.shared_load.wavefronts / fmax(all.shared_load.wavefronts, 1) - 1;
        if (all.shared_load.wavefronts > 0 && fabs(wavefronts) > 4 * some.sample_error + 1e-12)
            fail_msg("%s: wavefronts off by %g, stated %g", cases[i].kernel, wavefronts, some.sample_error);
        /* Ragged problems have unequal CTAs, so a sample must say that it may be off. */
        if ((cases[i].within > 0) != (some.sample_error > 0))
            fail_msg("%s: stated %g", cases[i].kernel, some.sample_error);
    }
}

static void unknown_kernels_are_refused(void **state)
{
    (void)state;
    lab_counters c;
    tsr_gemm_desc desc = problem("warptile_f32_64x64_a4", TSR_F32, 33, 33, 33);
    assert_int_not_equal(lab_count(&desc, NULL, &c), TSR_OK); /* rows are not aligned to 16 bytes */
    desc.kernel = "no-such-kernel";
    assert_int_not_equal(lab_count(&desc, NULL, &c), TSR_OK);
}

/* Every CTA is begun once, under its own number, whoever runs it. */
typedef struct roll {
    int begun[64], events[64];
} roll;
typedef struct mark {
    roll *roll;
    long long cta;
} mark;

static void *begin_mark(void *user, long long cta)
{
    mark *m = malloc(sizeof *m);
    *m = (mark){user, cta};
    __atomic_fetch_add(&m->roll->begun[cta], 1, __ATOMIC_RELAXED);
    return m;
}
static void event_mark(void *state, const tsr_watch_event *e)
{
    mark *m = state;
    m->roll->events[m->cta] += e->cta == m->cta ? 1 : -1000000;
}
static void end_mark(void *user, void *state)
{
    (void)user;
    free(state);
}

static void states_belong_to_their_ctas(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 16; threads *= 4) {
        const tsr_gemm_desc desc = problem("tiled_f32_t16", TSR_F32, 128, 128, 16);
        const tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
        roll r = {{0}, {0}};
        tsr_context *context;
        tsr_plan *plan;
        lab_operands operands;
        assert_int_equal(tsr_context_create("emu", &options, &context), TSR_OK);
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(lab_operands_create(context, &desc, 0, 7, &operands), TSR_OK);
        const tsr_emu_watcher watcher = {
            .user = &r, .code = code_of, .begin = begin_mark, .event = event_mark, .barrier = barrier, .end = end_mark};
        tsr_emu_watch_launches(&context->home->device, &watcher);
        const tsr_run_args args = tsr_run_args_make(operands.sets[0].a, operands.sets[0].b, operands.sets[0].d);
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        for (int i = 0; i < 64; i++) {
            assert_int_equal(r.begun[i], 1);
            assert_true(r.events[i] > 0);
        }
        lab_operands_free(&operands);
        tsr_plan_release(plan);
        tsr_context_destroy(context);
    }
}

/* ---- models ---- */

static void cache_of_few_lines(void **state)
{
    (void)state;
    lab_cache cache;
    assert_true(lab_cache_make(&cache, 16 * 128)); /* one set */
    assert_int_equal(lab_cache_access(&cache, 0, 1), 0);
    assert_int_equal(lab_cache_access(&cache, 0, 1), 1);
    assert_int_equal(lab_cache_access(&cache, 1, 1), 0); /* another sector of the line */
    assert_int_equal(lab_cache_access(&cache, 1, 1), 1);
    assert_int_equal(lab_cache_access(&cache, 400, 0), 0); /* looked for, not kept */
    assert_int_equal(lab_cache_access(&cache, 400, 1), 0);
    for (uint64_t line = 1; line < 16; line++)
        lab_cache_access(&cache, 4 * line, 1);
    assert_int_equal(lab_cache_access(&cache, 60, 1), 1);
    assert_int_equal(lab_cache_access(&cache, 0, 1), 0); /* 17 lines: the oldest went */
    lab_cache_free(&cache);
    assert_true(lab_cache_make(&cache, 0));
    assert_int_equal(lab_cache_access(&cache, 0, 1), 0);
    assert_int_equal(lab_cache_access(&cache, 0, 1), 0);
    lab_cache_free(&cache);
}

/* Two warps touch the same sectors; they take turns, so the second one finds what the first one fetched. */
static void warps_share_l1(void **state)
{
    (void)state;
    lab_stream *stream = calloc(1, sizeof *stream);
    for (unsigned warp = 0; warp < 2; warp++)
        for (uint64_t i = 0; i < 100; i++) {
            const uint64_t sectors[2] = {1000 + 2 * i, 1001 + 2 * i};
            lab_stream_add(stream, warp, LAB_TOUCH_LOAD, sectors, 2);
        }
    lab_stream_barrier(stream);
    const uint64_t past = 1000, written = 5000;
    lab_stream_add(stream, 0, LAB_TOUCH_PAST_L1, &past, 1);
    lab_stream_add(stream, 0, LAB_TOUCH_STORE, &written, 1);
    lab_stream_add(stream, 0, LAB_TOUCH_STORE, &written, 1);
    lab_stream_barrier(stream);
    lab_l1_result found;
    assert_true(lab_l1_run(&stream, 1, 4096, &found)); /* too small for a warp's 6400 bytes */
    equal(found.lookups, 403);
    equal(found.hits, 200 + 1);
    equal(found.load_misses, 200 + 1);
    equal(found.store_sectors, 2);
    lab_stream_free(stream);
}

static void occupancies(void **state)
{
    (void)state;
    const lab_gpu_spec *gpu = lab_gpu_spec_find("h200");
    const struct {
        int threads, registers, shared, ctas;
        const char *limit;
    } cases[] = {
        /* As ncu found them on an H200. */
        {256, 40, 0, 6, "registers"},      {256, 38, 2048, 6, "registers"},
        {64, 40, 512, 24, "registers"},    {1024, 54, 8192, 1, "registers"},
        {256, 128, 8192, 2, "registers"},  {256, 235, 75264, 1, "registers"},
        {64, 207, 34816, 4, "registers"},  {64, 167, 38912, 5, "shared memory"},
        {128, 128, 52224, 4, "registers"}, {1024, 32, 0, 2, "threads"},
        {32, 16, 0, 32, "CTAs"},           {128, 0, 100 << 10, 2, "shared memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lab_occupancy o = lab_occupancy_of(gpu, cases[i].threads, cases[i].registers, cases[i].shared);
        if (o.ctas != cases[i].ctas || strcmp(o.limit, cases[i].limit) != 0)
            fail_msg("case %zu: %d CTAs by %s", i, o.ctas, o.limit);
    }
}

static void numbers_of_ncu(void **state)
{
    (void)state;
    char text[] = "==PROF== Connected\n"
                  "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"l1tex__t_sector_hit_rate.pct\","
                  "\"dram__bytes.sum.per_second\"\n"
                  "\"\",\"\",\"ns\",\"%\",\"byte/s\"\n"
                  "\"0\",\"first\",\"1\",\"2\",\"3\"\n"
                  "\"1\",\"last\",\"12,345.5\",\"87.5\",\"21,500,000,000\"\n";
    lab_eight eight;
    double ns;
    assert_true(lab_ncu_parse(text, &eight, &ns));
    equal(ns, 12345.5);
    equal(eight.l1_hit, 87.5);
    equal(eight.memory_gbps, 21.5);
    assert_true(isnan(eight.sm) && isnan(eight.l2_hit));
    char nothing[] = "==ERROR== ERR_NVGPUCTRPERM\n\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"broken";
    assert_false(lab_ncu_parse(nothing, &eight, &ns));
    char empty[] = "";
    assert_false(lab_ncu_parse(empty, &eight, &ns));
}

static void predictions_are_sane(void **state)
{
    (void)state;
    for (size_t i = 0; lab_gpu_spec_at(i); i++) {
        const tsr_gemm_desc desc = problem("tiled_f32_t16", TSR_F32, 256, 256, 64);
        const lab_count_options options = {.gpu = lab_gpu_spec_at(i)};
        lab_counters c;
        lab_prediction p;
        assert_int_equal(lab_count(&desc, &options, &c), TSR_OK);
        lab_predict(&c, &desc, lab_gpu_spec_at(i), &p);
        assert_true(p.ns > 1000 && p.ns < 1e6);
        for (int e = 0; e < LAB_EIGHT; e++)
            assert_true(lab_eight_value(&p.eight, e) >= 0);
        assert_true(p.eight.sm < 100 && p.eight.memory < 100 && p.eight.l1_hit < 100 && p.eight.l2_hit < 100);
        assert_true(p.dram_bytes >= 2 * 256 * 64 * 4);
    }
    assert_true(isnan(lab_eight_value(&(lab_eight){0}, LAB_EIGHT)));
}

/* Of one CTA on each SM with as much for the multiply-add units as for shared memory to do, in cycles of an SM. */
static double predicted_cycles(const lab_counters *c)
{
    const lab_gpu_spec *const gpu = lab_gpu_spec_at(0);
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 1, 1);
    const double launch_ns = 4000;
    lab_prediction p;
    lab_predict(c, &desc, gpu, &p);
    return (p.ns - launch_ns) * gpu->clock_hz * 1e-9;
}

static void close_to(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 0.001 * wanted))
        fail_msg("%g, not %g", value, wanted);
}

/* Third root of the sum of what a warp takes by itself and of what units do for others, in cubes. */
static double together(double alone, double behind_others)
{
    return cbrt(alone * alone * alone + behind_others);
}

/* A lone warp of a scheduler takes as long as it takes; L1 has four of them to serve. Of 16 warps each unit serves the
 * others meanwhile. Waits come on top, by where the loads come from. */
static void times_follow_the_counters(void **state)
{
    (void)state;
    enum { CYCLES = 1000000 };
    const double to_start = 1000, cube = pow(CYCLES, 3);
    const lab_gpu_spec *const gpu = lab_gpu_spec_at(0);
    lab_counters c = {.ctas = gpu->sms, .threads = 128, .l2 = {.is_known = 1}};
    c.fma_f32 = (double)gpu->sms * gpu->fma_per_clock * CYCLES;
    close_to(predicted_cycles(&c), to_start + CYCLES);
    c.shared_load_merged.wavefronts = (double)gpu->sms * CYCLES;
    close_to(predicted_cycles(&c), together(to_start + CYCLES, cube - cube / (4 * 4 * 4)));
    c.threads = 512;
    close_to(predicted_cycles(&c),
             together(to_start + CYCLES / 4.0, cube - cube / (4 * 4 * 4) + cube - cube / (16 * 16 * 16)));
    c.shared_load_merged.wavefronts = 0;
    close_to(predicted_cycles(&c), together(to_start + CYCLES / 4.0, cube - cube / (4 * 4 * 4)));
    c.fma_f32 = 0;
    c.waits = 1000.0 * gpu->sms;
    c.dram_waits = 0.25;
    c.l2_waits = 0.5;
    close_to(predicted_cycles(&c), to_start + 1000 * (0.25 * lab_time.dram_wait_cycles + 0.5 * 270));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_belong_to_their_ctas),
        cmocka_unit_test(watching_changes_no_bit),
        cmocka_unit_test(tiled_as_described),
        cmocka_unit_test(bulk_copies_and_tensor_cores),
        cmocka_unit_test(a_sample_is_like_the_whole),
        cmocka_unit_test(unknown_kernels_are_refused),
        cmocka_unit_test(cache_of_few_lines),
        cmocka_unit_test(warps_share_l1),
        cmocka_unit_test(occupancies),
        cmocka_unit_test(predictions_are_sane),
        cmocka_unit_test(times_follow_the_counters),
        cmocka_unit_test(numbers_of_ncu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
