/* What a pipeline says of kernels, against what their sources promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lab/explain/pipeline.h"

static lab_pipeline made;

/* Skips where the build has no emulator. */
static void make(const char *kernel, int64_t m, int64_t n, int64_t k, int tile, int64_t cta)
{
    const lab_lesson_request request = {.kernel = kernel,
                                        .types = {.a = lab_pipeline_dtype(kernel, TSR_COMPUTE_DEFAULT)},
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .tile = tile};
    int is_simple = 0;
    const tsr_status status = lab_pipeline_make(&request, cta, &is_simple, &made);
    if (status == TSR_NO_DEVICE)
        skip();
    if (status != TSR_OK)
        print_message("%s: %s\n", kernel, tsr_last_error());
    assert_int_equal(status, TSR_OK);
    assert_int_equal(is_simple, 0);
}

static double all_products(void)
{
    double sum = 0;
    for (size_t i = 0; i < made.unit_count; i++)
        sum += made.units[i].multiply_adds;
    return sum;
}

static void assert_extent(const lab_pipe_extent *e, int64_t row0, int64_t row1, int64_t column0, int64_t column1)
{
    assert_int_equal(e->row0, row0);
    assert_int_equal(e->row1, row1);
    assert_int_equal(e->column0, column0);
    assert_int_equal(e->column1, column1);
}

/* Boxes are asked for, arrive, are read, and their stage is given back, in this order; a stage is asked for again when
 * it has been given back. */
static void check_order(void)
{
    assert_true(made.step_count > 0);
    for (size_t i = 0; i < made.step_count; i++) {
        const lab_pipe_step *s = &made.steps[i];
        assert_true(s->asked >= 0 && s->asked < s->landed);
        assert_true(s->landed <= s->full && s->full <= s->read_from);
        assert_true(s->read_from < s->read_to);
        assert_true(s->free < 0 || s->read_to <= s->free);
        assert_in_range(s->stage, 0, made.stages - 1);
        for (size_t j = 0; j < i; j++)
            if (made.steps[j].stage == s->stage)
                assert_true(made.steps[j].free >= 0 && made.steps[j].free <= s->asked);
    }
    assert_true(made.most_in_flight <= made.stages);
}

/* The steps of a CTA's units follow each other along K. */
static void check_steps_along_k(int64_t stride)
{
    for (size_t i = 1; i < made.step_count; i++) {
        const lab_pipe_step *last = &made.steps[i - 1], *s = &made.steps[i];
        assert_int_equal(s->a.column0, s->b.row0);
        if (last->unit == s->unit)
            assert_int_equal(s->b.row0, last->b.row0 + stride);
    }
}

static void wgmma_takes_turns(void **unused)
{
    (void)unused;
    /* more tiles than SMs: CTA 0 has two, one for each warp group */
    make("wgmma_bf16_bf16_p64x64_s10_c11", 0, 0, 768, 0, -1);
    assert_int_equal(made.stages, 10);
    assert_int_equal(made.most_in_flight, 10);
    assert_int_equal(made.step_count, 24);
    assert_int_equal(made.batch_count, 24);
    assert_int_equal(made.most_batches, 2); /* one stays in flight while the next is issued */
    assert_int_equal(made.full_arrivals, 1);
    assert_int_equal(made.empty_arrivals, 4);
    check_order();
    check_steps_along_k(64);
    for (size_t i = 0; i < made.step_count; i++) {
        assert_int_equal(made.steps[i].bytes, 2 * 64 * 64 * 2);
        assert_int_equal(made.steps[i].readers, i < 12 ? 1 : 2); /* the groups take turns */
        assert_int_equal(made.batches[i].products, 64 / 16);
    }
    assert_true(all_products() == (double)made.m * (double)made.n * (double)made.k);
    assert_int_equal(made.roles[0].registers, 232);
    assert_int_equal(made.roles[2].kind, LAB_ROLE_PRODUCER);
    assert_int_equal(made.roles[2].registers, 40);
    lab_pipeline_free(&made);
    make("wgmma", 0, 0, 0, 0, -1); /* so short by default that both groups' turns are seen */
    assert_int_equal(made.step_count, 12);
    for (size_t i = 0; i < made.step_count; i++)
        assert_int_equal(made.steps[i].readers, i < 6 ? 1 : 2);
    lab_pipeline_free(&made);
}

/* Two CTAs with the same columns of B load half of them each and send it to both. */
static void wgmma_shares_boxes(void **unused)
{
    (void)unused;
    make("wgmma_bf16_bf16_p128x128_s6_c21", 256, 128, 512, 0, -1);
    assert_int_equal(made.cluster, 2);
    assert_int_equal(made.stages, 6);
    check_order();
    for (size_t i = 0; i < made.step_count; i++) {
        assert_int_equal(made.steps[i].bytes, (128 + 128) * 64 * 2);
        assert_int_equal(made.steps[i].multicast, 2); /* two slabs of 64 columns, 32 rows of each */
        assert_extent(&made.steps[i].b, (int64_t)i * 64, (int64_t)i * 64 + 63, 0, 127);
    }
    assert_int_equal(made.empty_arrivals, 4 * 2);
    lab_pipeline_free(&made);
}

static void other_rings_keep_order(void **unused)
{
    static const struct {
        const char *kernel;
        int stages, k_stride, m, n, k; /* whole tiles: products with zeros count, too */
    } kernels[] = {                    /* the CTAs of wgmma_skinny's cluster take the steps in turns */
                   {"mma_tma_bf16_256x128", 4, 64, 256, 128, 512},
                   {"warp_specialized_f32_128x256", 6, 16, 128, 256, 192},
                   {"wgmma_kmajor_fp8_64x64_c1", 8, 128, 64, 128, 2048},
                   {"wgmma_skinny_bf16_bf16_64_g1@cluster-k=2", 0, 2 * 64, 64, 256, 2048}};
    (void)unused;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        make(kernels[i].kernel, kernels[i].m, kernels[i].n, kernels[i].k, 0, -1);
        if (kernels[i].stages)
            assert_int_equal(made.stages, kernels[i].stages);
        check_order();
        check_steps_along_k(kernels[i].k_stride);
        assert_true(all_products() == (double)kernels[i].m * kernels[i].n * kernels[i].k);
        lab_pipeline_free(&made);
    }
}

/* A is transposed in shared memory before it is full: later than its bytes. */
static void transposing_comes_before_full(void **unused)
{
    (void)unused;
    make("warp-specialized", 0, 0, 0, 0, -1);
    int transposers = 0;
    for (size_t i = 0; i < made.role_count; i++)
        transposers += made.roles[i].kind == LAB_ROLE_TRANSPOSER ? made.roles[i].warps : 0;
    assert_int_equal(transposers, 3);
    for (size_t i = 0; i < made.step_count; i++)
        assert_true(made.steps[i].full > made.steps[i].landed);
    lab_pipeline_free(&made);
}

/* 2 tiles of 12 steps of 16, 3 units: 8 steps each. */
static void stream_k_cuts_the_line(void **unused)
{
    (void)unused;
    make("stream_k_f32_16x128_a4@stream-k=2/3", 16, 256, 192, 0, -1);
    assert_int_equal(made.ctas, 3);
    assert_int_equal(made.unit_count, 4);
    static const int64_t wanted[4][4] = {{0, 0, 0, 127}, {1, 0, 128, 191}, {1, 128, 0, 63}, {2, 128, 64, 191}};
    for (size_t i = 0; i < 4; i++) {
        const lab_pipe_unit *u = &made.units[i];
        const int is_last = i % 2 == 1;
        assert_int_equal(u->cta, wanted[i][0]);
        assert_extent(&u->b, wanted[i][2], wanted[i][3], wanted[i][1], wanted[i][1] + 127);
        assert_int_equal(u->counter, is_last);
        assert_int_equal((int)u->left_bytes, 16 * 128 * 4);
        assert_int_equal((int)u->taken_bytes, is_last ? 2 * 16 * 128 * 4 : 0);
        assert_true((double)(u->b.row1 - u->b.row0 + 1) * 16 * 128 == u->multiply_adds);
        if (is_last)
            assert_extent(&u->d, 0, 15, wanted[i][1], wanted[i][1] + 127);
        else
            assert_true(u->d.row1 < u->d.row0);
    }
    lab_pipeline_free(&made);
}

static void wgmma_adds_parts_of_a_tile(void **unused)
{
    (void)unused;
    make("wgmma_bf16_bf16_p64x64_s10_c11@stream-k=3/2", 64, 192, 512, 0, -1);
    assert_int_equal(made.unit_count, 4);
    assert_int_equal(made.units[1].cta, 0);
    assert_extent(&made.units[1].b, 0, 255, 64, 127);
    assert_int_equal(made.units[1].counter, 0);
    assert_true(made.units[1].d.row1 < made.units[1].d.row0);
    assert_int_equal(made.units[2].cta, 1);
    assert_extent(&made.units[2].b, 256, 511, 64, 127);
    assert_int_equal(made.units[2].counter, 1);
    assert_int_equal((int)made.units[2].taken_bytes, 64 * 64 * 4); /* the other part: its own is in registers */
    assert_extent(&made.units[2].d, 0, 63, 64, 127);
    lab_pipeline_free(&made);
}

/* Three CTAs multiply a third of K each, and add a third of the tile. */
static void cluster_k_adds_shares(void **unused)
{
    (void)unused;
    make("cluster-k", 0, 0, 0, 0, 1);
    assert_int_equal(made.cluster, 3);
    assert_int_equal(made.cta, 1);
    int64_t next = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_extent(&made.units[i].b, (int64_t)i * 64, (int64_t)i * 64 + 63, 0, 127);
        assert_true(made.units[i].d.row0 <= next && made.units[i].d.row1 >= next);
        next = made.units[i].d.row1;
    }
    assert_int_equal(next, 15);
    assert_true(made.cluster_reads > 0);
    lab_pipeline_free(&made);
}

static void structure_is_that_of_the_hardware(void **unused)
{
    (void)unused;
    int row, column;
    lab_wgmma_place(0, 0, &row, &column);
    assert_true(row == 0 && column == 0);
    lab_wgmma_place(37, 6, &row, &column); /* warp 1, lane 5: g 1, t 1; the second row and the second eight columns */
    assert_true(row == 16 + 1 + 8 && column == 8 + 2);
    lab_wgmma_place(127, 127, &row, &column);
    assert_true(row == 63 && column == 255);
    const lab_mma_place a = lab_mma_place_of('A', 13, 3), b = lab_mma_place_of('B', 13, 1),
                        c = lab_mma_place_of('C', 13, 3); /* g 3, t 1 */
    assert_true(a.row == 11 && a.column == 10);
    assert_true(b.row == 10 && b.column == 3);
    assert_true(c.row == 11 && c.column == 3);
    const lab_pipe_box box = {.operand = 'A', .at = 8192, .swizzle_bytes = 128, .row_bytes = 128};
    for (int r = 0; r < 16; r++)
        for (int chunk = 0; chunk < 8; chunk++)
            assert_int_equal(lab_box_chunk(&box, r, chunk), chunk ^ (r % 8));
    const lab_pipe_box narrow = {.operand = 'A', .at = 0, .swizzle_bytes = 64, .row_bytes = 64};
    assert_int_equal(lab_box_chunk(&narrow, 5, 3), 3 ^ 2);
}

static void simple_kernels_are_left_to_lessons(void **unused)
{
    (void)unused;
    lab_lesson_request request = {.kernel = "tiled", .types = {.a = TSR_F32}};
    int is_simple = 0;
    const tsr_status status = lab_pipeline_make(&request, -1, &is_simple, &made);
    if (status == TSR_NO_DEVICE)
        skip();
    assert_int_equal(status, TSR_OK);
    assert_int_equal(is_simple, 1);
    lab_pipeline_free(&made);
    request = (lab_lesson_request){.kernel = "thin@split-k=2", .types = {.a = TSR_F32}, .m = 1, .n = 128, .k = 512};
    assert_int_equal(lab_pipeline_make(&request, 9, &is_simple, &made), TSR_INVALID_ARGUMENT);
    assert_non_null(strstr(tsr_last_error(), "runs on 2 CTAs, 0 to 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wgmma_takes_turns),
        cmocka_unit_test(wgmma_shares_boxes),
        cmocka_unit_test(other_rings_keep_order),
        cmocka_unit_test(transposing_comes_before_full),
        cmocka_unit_test(stream_k_cuts_the_line),
        cmocka_unit_test(wgmma_adds_parts_of_a_tile),
        cmocka_unit_test(cluster_k_adds_shares),
        cmocka_unit_test(structure_is_that_of_the_hardware),
        cmocka_unit_test(simple_kernels_are_left_to_lessons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
