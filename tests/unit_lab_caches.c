/* The model of L1s and L2, on streams of sectors made by hand, and what is read out of machine code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/predict/count_run.h"
#include "lab/predict/gpu_cache.h"
#include "lab/predict/hierarchy.h"
#include "lab/predict/machine_code.h"

/* ---- a cache that writes back ---- */

static void writes_back_what_was_written(void **unused)
{
    (void)unused;
    lab_cache cache;
    double written = 0;
    assert_true(lab_cache_make(&cache, 16 * 128)); /* one set */
    lab_cache_write(&cache, 0, &written);
    lab_cache_write(&cache, 1, &written);
    assert_int_equal(lab_cache_read(&cache, 1, &written), 1); /* written is there */
    assert_int_equal(lab_cache_read(&cache, 2, &written), 0); /* of the same line, but not fetched */
    for (uint64_t line = 1; line < 16; line++)
        assert_int_equal(lab_cache_read(&cache, 4 * line, &written), 0);
    assert_true(written == 0);
    lab_cache_read(&cache, 4 * 16, &written);
    assert_true(written == 2); /* line 0 went, with two sectors that differ from memory */
    lab_cache_empty(&cache);
    assert_int_equal(lab_cache_read(&cache, 4 * 16, &written), 0);
    lab_cache_free(&cache);
}

/* ---- CTAs on SMs ---- */

enum { SMS = 8 };

static lab_gpu_spec small_gpu(int partitions)
{
    lab_gpu_spec gpu = *lab_gpu_spec_at(0);
    gpu.sms = SMS;
    gpu.l2_partitions = partitions;
    gpu.l2_bytes = 1 << 20;
    return gpu;
}

/* Reads sectors first .. first + count - 1, one an instruction, or writes them. */
static lab_stream *stream_of(uint64_t first, unsigned count, lab_touch kind)
{
    lab_stream *stream = calloc(1, sizeof *stream);
    assert_non_null(stream);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t sector = first + i;
        lab_stream_add(stream, 0, kind, &sector, 1);
    }
    lab_stream_barrier(stream);
    lab_stream_trim(stream);
    return stream;
}

static lab_hierarchy_result run(lab_stream **streams, long long count, const lab_hierarchy_options *options)
{
    lab_hierarchy_result found;
    assert_true(lab_hierarchy_run(streams, count, options, &found));
    for (long long i = 0; i < count; i++)
        lab_stream_free(streams[i]);
    return found;
}

/* SM 0 and SM 4 are in different halves: each half must get the sectors, DRAM gives them once. */
static void two_halves_keep_a_sector_each(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(2);
    lab_stream *streams[5];
    for (int i = 0; i < 5; i++)
        streams[i] = stream_of(0, i % 4 == 0 ? 64 : 0, LAB_TOUCH_LOAD);
    const lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 1 << 16, .held = 1, .ctas = 5, .share = 1};
    const lab_hierarchy_result found = run(streams, 5, &options);
    assert_true(found.load_lookups == 128 && found.load_hits == 0 && found.l2_reads == 128);
    assert_true(found.l2_misses + found.home_misses == 128);
    assert_true(found.home_reads == 64); /* each sector is far from one of the two */
    assert_true(found.dram_reads == 64 && found.dram_writes == 0);
    /* Of the 16 lines some have their home here and some there. */
    assert_true(found.home_misses > 0 && found.home_misses < 64);
}

static void one_half_asks_nobody(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(1);
    lab_stream *streams[5];
    for (int i = 0; i < 5; i++)
        streams[i] = stream_of(0, i % 4 == 0 ? 64 : 0, LAB_TOUCH_LOAD);
    const lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 1 << 16, .held = 1, .ctas = 5, .share = 1};
    const lab_hierarchy_result found = run(streams, 5, &options);
    assert_true(found.l2_reads == 128 && found.l2_misses == 64 && found.home_reads == 0 && found.dram_reads == 64);
}

/* CTA 8 is dealt to SM 0, beside CTA 0: it finds in L1 what that one read just before. */
static void neighbours_on_an_sm_share_its_l1(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(1);
    lab_stream *streams[SMS + 1];
    for (int i = 0; i <= SMS; i++)
        streams[i] = stream_of(0, i % SMS == 0 ? 16 : 0, LAB_TOUCH_LOAD);
    const lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 1 << 16, .held = 2, .ctas = SMS + 1, .share = 1};
    const lab_hierarchy_result found = run(streams, SMS + 1, &options);
    assert_true(found.load_lookups == 32 && found.load_hits == 16 && found.l2_reads == 16);
}

static void stores_go_home(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(2);
    lab_stream *streams[1] = {stream_of(0, 256, LAB_TOUCH_STORE)};
    const lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 1 << 16, .held = 1, .ctas = 1, .share = 1};
    const lab_hierarchy_result found = run(streams, 1, &options);
    assert_true(found.store_lookups == 256 && found.store_hits == 0 && found.l2_writes == 256);
    assert_true(found.home_writes > 64 && found.home_writes < 192); /* about half of the lines are the other half's */
    assert_true(found.dram_reads == 0 && found.dram_writes == 0);
}

/* What does not fit is fetched again, and goes back if it was written. */
static void a_full_l2_writes_back(void **unused)
{
    (void)unused;
    lab_gpu_spec gpu = small_gpu(1);
    gpu.l2_bytes = 16 * 128 * 4; /* 256 sectors */
    lab_stream *streams[1] = {stream_of(0, 4096, LAB_TOUCH_STORE)};
    const lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 0, .held = 1, .ctas = 1, .share = 1};
    const lab_hierarchy_result found = run(streams, 1, &options);
    assert_true(found.dram_writes == 4096 - 256);
}

/* Streams of one wave stand for all four; of a quarter of K, L2 has a quarter of its size. */
static void waves_stand_for_the_rest(void **unused)
{
    (void)unused;
    lab_gpu_spec gpu = small_gpu(1);
    gpu.l2_bytes = 16 * 128 * 8; /* 512 sectors; 128 for a quarter */
    lab_stream *streams[SMS];
    for (int i = 0; i < SMS; i++)
        streams[i] = stream_of(0, 160, LAB_TOUCH_LOAD);
    lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 0, .held = 1, .ctas = 4ll * SMS, .share = 1};
    lab_hierarchy_result found = run(streams, SMS, &options);
    assert_true(found.load_lookups == 4 * SMS * 160.0 && found.l2_reads == found.load_lookups);
    assert_true(found.dram_reads == 4 * 160.0); /* each wave is like the first one */
    for (int i = 0; i < SMS; i++)               /* twice over 160 sectors: they fit whole, and not in a quarter */
        streams[i] = stream_of(0, 160, LAB_TOUCH_LOAD);
    lab_stream *twice[2 * SMS];
    for (int i = 0; i < SMS; i++) {
        twice[i] = streams[i];
        twice[SMS + i] = stream_of(0, 160, LAB_TOUCH_LOAD);
    }
    options.ctas = 2ll * SMS;
    options.share = 0.25;
    found = run(twice, 2ll * SMS, &options);
    assert_true(found.dram_reads > 160);
}

static void second_wave_finds_what_the_first_left(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(1);
    lab_stream *streams[2 * SMS];
    for (int i = 0; i < 2 * SMS; i++)
        streams[i] = stream_of(0, 32, LAB_TOUCH_PAST_L1);
    const lab_hierarchy_options options = {.gpu = &gpu, .l1_bytes = 1 << 16, .held = 1, .ctas = 6ll * SMS, .share = 1};
    const lab_hierarchy_result found = run(streams, 2ll * SMS, &options);
    assert_true(found.load_hits == 0); /* past L1 */
    assert_true(found.l2_reads == 6 * SMS * 32.0);
    assert_true(found.dram_reads == 32); /* waves 3 to 6 are like the second */
}

/* ---- machine code ---- */

static lab_counters counted(void)
{
    lab_counters c = {.ctas = 2, .threads = 64};                                           /* 4 warps */
    c.store = c.wide_store = (lab_traffic){.requests = 64, .sectors = 1024, .lines = 256}; /* 16 of a thread */
    c.shared_tiles = 8; /* 4 of a CTA, 16 of its warps */
    c.shared_load_merged = (lab_shared_traffic){.requests = 16 * 80, .wavefronts = 16 * 144};
    c.shared_load_narrow = (lab_shared_traffic){.requests = 16 * 16, .wavefronts = 16 * 16};
    c.load_stores = 8 * 4;
    c.waits = 8;
    return c;
}

/* A CTA of two warps, each of which loads `per_warp` sectors from its own first one on, one an instruction, `rounds`
 * times with a barrier behind. */
static lab_stream *two_warps(uint64_t first_0, uint64_t first_1, unsigned per_warp, unsigned rounds)
{
    lab_stream *stream = calloc(1, sizeof *stream);
    assert_non_null(stream);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 2 * per_warp; i++) {
            const uint64_t sector = i < per_warp ? first_0 + i : first_1 + i - per_warp;
            lab_stream_add(stream, i / per_warp, LAB_TOUCH_LOAD, &sector, 1);
        }
        lab_stream_barrier(stream);
    }
    lab_stream_trim(stream);
    return stream;
}

/* What is read for the first time comes from DRAM, and whoever asks meanwhile waits as long; in the next round it is in
 * L1, where there is one, or in L2. */
static void waits_are_told_apart(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(1);
    for (int has_l1 = 0; has_l1 < 2; has_l1++) {
        lab_stream *streams[2] = {two_warps(0, 100, 4, 3), two_warps(0, 100, 4, 3)};
        const lab_hierarchy_options options = {
            .gpu = &gpu, .l1_bytes = has_l1 << 16, .held = 1, .ctas = 2, .warps = 2, .share = 1};
        const lab_hierarchy_result found = run(streams, 2, &options);
        assert_true(found.waits[LAB_WAIT_DRAM] == 2);
        assert_true(found.waits[LAB_WAIT_L2] == (has_l1 ? 0 : 4) && found.waits[LAB_WAIT_L1] == (has_l1 ? 4 : 0));
    }
}

/* Between barriers warps wait for their own loads, at a barrier for everybody's. */
static void warps_wait_for_themselves(void **unused)
{
    (void)unused;
    const lab_gpu_spec gpu = small_gpu(1);
    lab_hierarchy_options options = {
        .gpu = &gpu, .l1_bytes = 1 << 16, .held = 1, .ctas = 1, .warps = 2, .at_once = 2, .share = 1};
    /* Warp 1 reads over and over what comes with its first load. */
    lab_stream *stream = calloc(1, sizeof *stream);
    assert_non_null(stream);
    for (unsigned i = 0; i < 16; i++) {
        const uint64_t sector = i < 8 ? 4 * i : 4000;
        lab_stream_add(stream, i / 8, LAB_TOUCH_LOAD, &sector, 1);
    }
    lab_stream_barrier(stream);
    lab_stream *const once[1] = {stream};
    lab_hierarchy_result found;
    assert_true(lab_hierarchy_run(once, 1, &options, &found));
    /* Four waits: in the first both for DRAM, in the next two only warp 0; the last one is the barrier's. */
    assert_true(found.waits[LAB_WAIT_DRAM] == 1 + 0.5 + 0.5 + 1 && found.waits[LAB_WAIT_L1] == 1);
    options.at_once = 0; /* one wait, the barrier's */
    assert_true(lab_hierarchy_run(once, 1, &options, &found));
    assert_true(found.waits[LAB_WAIT_DRAM] == 1 && found.waits[LAB_WAIT_L1] == 0);
    lab_stream_free(stream);
}

static void split_stores_are_counted(void **unused)
{
    (void)unused;
    lab_counters c = counted();
    const lab_machine_code half = {.store = {96, 0, 8}};
    lab_machine_code_apply(&half, &c);
    assert_true(c.store.requests == 32 + 4 * 32 && c.store.sectors == 512 + 4 * 512);
    assert_true(c.split_store_sectors == 3 * 512);
    c = counted();
    const lab_machine_code none = {.store = {64, 0, 16}}; /* the narrow ones are for edges */
    lab_machine_code_apply(&none, &c);
    assert_true(c.store.requests == 64 && c.split_store_sectors == 0);
    c = counted();
    const lab_machine_code rolled = {.store = {8, 0, 4}}; /* a loop: too few narrow ones */
    lab_machine_code_apply(&rolled, &c);
    assert_true(c.store.requests == 64);
}

static void loads_that_come_again_are_counted(void **unused)
{
    (void)unused;
    lab_counters c = counted();
    const lab_machine_code again = {.shared_load = {56, 0, 64}};
    lab_machine_code_apply(&again, &c);
    assert_true(c.shared_load_merged.requests == 16 * 120 && c.shared_load_merged.wavefronts == 16 * (144 + 40));
    c = counted();
    const lab_machine_code unrolled = {.shared_load = {112, 0, 128}}; /* two tiles: no doubt is left only of one */
    lab_machine_code_apply(&unrolled, &c);
    assert_true(c.shared_load_merged.requests == 16 * 80);
}

static void groups_wait_one_by_one(void **unused)
{
    (void)unused;
    lab_counters c = counted();
    const lab_machine_code each = {.load_groups = 4, .group_stores = 4};
    lab_machine_code_apply(&each, &c);
    assert_true(c.waits == 32);
    c = counted();
    const lab_machine_code together = {.load_groups = 1, .group_stores = 8};
    lab_machine_code_apply(&together, &c);
    assert_true(c.waits == 8);
}

static void records_are_of_this_code(void **unused)
{
    (void)unused;
    const lab_machine_code *code = lab_machine_code_of("tiled_f32_t16");
    if (!code) /* the kernel has changed since */
        skip();
    assert_true(code->registers > 16 && code->load[LAB_NARROW] >= 2 && code->shared_load[LAB_WIDE] == 4);
    assert_null(lab_machine_code_of("no_such_kernel"));
}

/* ---- a kernel ---- */

static void a_kernel_reads_its_operands_once(void **unused)
{
    (void)unused;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 64, 64, 64);
    lab_counters c;
    desc.kernel = "tiled_f32_t16";
    const tsr_status status = lab_count(&desc, NULL, &c);
    if (status == TSR_UNSUPPORTED)
        skip();
    assert_int_equal(status, TSR_OK);
    assert_true(c.l2.is_known);
    assert_true(c.l2.dram_reads == 2 * 64 * 64 * 4 / 32.0 && c.l2.dram_writes == 0);
    /* 16 CTAs on 16 SMs, each alone: nothing hits in L1. */
    assert_true(c.l1_hit_rate == 0 && c.l2.reads == c.load.sectors && c.l2.writes == c.store.sectors);
}

static void copies_to_aligned_rows_are_not_counted(void **unused)
{
    (void)unused;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 64, 64, 65);
    lab_counters padded, aligned;
    desc.kernel = "mma_bf16_128x128_a8";
    if (lab_count(&desc, NULL, &padded) == TSR_UNSUPPORTED)
        skip();
    desc.k = 72; /* what K is copied to */
    assert_int_equal(lab_count(&desc, NULL, &aligned), TSR_OK);
    assert_true(padded.ctas == 1 && aligned.ctas == 1 && padded.load.requests == aligned.load.requests);
    assert_true(padded.tensor_flops == aligned.tensor_flops && padded.store.requests == aligned.store.requests);
}

/* ---- an estimate ---- */

static int is_near(double x, double y, double share)
{
    return x >= y * (1 - share) && x <= y * (1 + share);
}

static void the_line_through_two_short_ones_is_exact(void **unused)
{
    (void)unused;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 130, 256, 1216);
    const lab_count_options one_cta = {.sample_ctas = 1, .seed = 1, .is_quick = 1};
    static const char *const kernels[] = {"padded_f32", "double_buffered_f32_s3_a4", "tiled_f32_t32"};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        lab_counters whole, quick;
        desc.kernel = kernels[i];
        if (lab_count(&desc, &one_cta, &whole) == TSR_UNSUPPORTED)
            skip();
        assert_int_equal(lab_count_quick(&desc, NULL, &quick), TSR_OK);
        assert_string_equal(quick.instance, whole.instance);
        assert_true(quick.ctas == whole.ctas);
        assert_true(is_near(quick.flops, whole.flops, 1e-9) && is_near(quick.fma_f32, whole.fma_f32, 1e-9));
        assert_true(is_near(lab_counters_sectors(&quick), lab_counters_sectors(&whole), 1e-9));
        assert_true(is_near(quick.shared_load.wavefronts, whole.shared_load.wavefronts, 1e-9));
    }
}

static void few_rows_stand_for_all_where_ctas_need_each_other(void **unused)
{
    (void)unused;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 640, 512, 96);
    lab_counters whole, quick;
    desc.kernel = "stream_k_f32_64x128_a4";
    if (lab_count(&desc, NULL, &whole) == TSR_UNSUPPORTED)
        skip();
    assert_int_equal(lab_count_quick(&desc, NULL, &quick), TSR_OK);
    assert_true(quick.ctas == whole.ctas && is_near(quick.flops, whole.flops, 1e-9));
    assert_true(is_near(quick.load.bytes + quick.copy.bytes, whole.load.bytes + whole.copy.bytes, 0.1));
}

/* Of a persistent grid some CTAs have a tile more than others: a few of them stand for all by their tiles. */
static void a_persistent_grid_has_its_tiles(void **unused)
{
    static const char *const kernels[] = {"wgmma_bf16_bf16_p64x64_s10_c11", "wgmma_bf16_bf16_p128x128_s6_c21",
                                          "mma_tma_bf16_128x128"};
    (void)unused;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 3000, 1000, 64);
        const lab_count_options few = {.sample_ctas = 1, .seed = 1, .is_quick = 1}, all = {.seed = 1, .is_quick = 1};
        lab_counters whole, sample;
        desc.kernel = kernels[i];
        desc.workspace_limit_bytes = 0;
        if (lab_count(&desc, &all, &whole) == TSR_UNSUPPORTED)
            skip();
        assert_int_equal(lab_count(&desc, &few, &sample), TSR_OK);
        assert_true(sample.counted_ctas < sample.ctas && whole.counted_ctas == whole.ctas);
        if (!is_near(sample.flops, whole.flops, 1e-9))
            fail_msg("%s: %g FLOP by %d of %d CTAs, %g by all", kernels[i], sample.flops, (int)sample.counted_ctas,
                     (int)sample.ctas, whole.flops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_to_aligned_rows_are_not_counted),
        cmocka_unit_test(the_line_through_two_short_ones_is_exact),
        cmocka_unit_test(few_rows_stand_for_all_where_ctas_need_each_other),
        cmocka_unit_test(a_persistent_grid_has_its_tiles),
        cmocka_unit_test(writes_back_what_was_written),
        cmocka_unit_test(two_halves_keep_a_sector_each),
        cmocka_unit_test(one_half_asks_nobody),
        cmocka_unit_test(neighbours_on_an_sm_share_its_l1),
        cmocka_unit_test(stores_go_home),
        cmocka_unit_test(a_full_l2_writes_back),
        cmocka_unit_test(waves_stand_for_the_rest),
        cmocka_unit_test(second_wave_finds_what_the_first_left),
        cmocka_unit_test(waits_are_told_apart),
        cmocka_unit_test(warps_wait_for_themselves),
        cmocka_unit_test(split_stores_are_counted),
        cmocka_unit_test(loads_that_come_again_are_counted),
        cmocka_unit_test(groups_wait_one_by_one),
        cmocka_unit_test(records_are_of_this_code),
        cmocka_unit_test(a_kernel_reads_its_operands_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
