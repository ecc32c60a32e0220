/* Tensor maps of configs: extents, strides, boxes; the driver's rules; grids of clusters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/tensor_spec.h"

static const tsr_config config = {
    .bm = 128, .bn = 192, .bk = 64, .cluster_m = 2, .cluster_n = 1, .persistent = 1, .tma = 1};

static tsr_gemm_args args_of(int trans_a, int trans_b)
{
    return (tsr_gemm_args){.a = (void *)0x1000,
                           .b = (void *)0x2000,
                           .c = (void *)0x3000,
                           .d = (void *)0x4000,
                           .m = 1000,
                           .n = 512,
                           .k = 300,
                           .lda = 1008,
                           .ldb = 520,
                           .ldc = 512,
                           .ldd = 520,
                           .batch_a = 0,
                           .batch_b = 520 * 512,
                           .batch_c = 512 * 1000,
                           .batch_d = 520 * 1000,
                           .batch = 3,
                           .alpha = 1,
                           .beta = 1,
                           .trans_a = trans_a,
                           .trans_b = trans_b};
}

static void check(const tsr_tensor_spec *s, uintptr_t base, long long x, long long y, long long z, long long stride_y,
                  long long stride_z, int box_x, int box_y)
{
    assert_int_equal((uintptr_t)s->base, base);
    assert_int_equal(s->dims[0], x);
    assert_int_equal(s->dims[1], y);
    assert_int_equal(s->dims[2], z);
    assert_int_equal(s->strides_bytes[0], stride_y);
    assert_int_equal(s->strides_bytes[1], stride_z);
    assert_int_equal(s->box[0], box_x);
    assert_int_equal(s->box[1], box_y);
    assert_null(tsr_tensor_spec_fault(s));
}

static void maps_follow_layout_and_cluster(void **state)
{
    (void)state;
    tsr_tensor_spec specs[4];
    tsr_gemm_args args = args_of(0, 0);
    args.type_a = args.type_b = TSR_BF16;
    args.type_d = TSR_F32;
    tsr_config_tensor_specs(&config, &args, specs);
    /* A is shared by the batch: one layer. Both CTAs of a cluster need the same columns of B: 32 of 64 along K each. */
    check(&specs[0], 0x1000, 300, 1000, 1, 2016, 2016, 64, 128);
    check(&specs[1], 0x2000, 512, 300, 3, 1040, 1040 * 512, 64, 32);
    check(&specs[2], 0x3000, 512, 1000, 3, 2048, 2048000, 32, 64);
    check(&specs[3], 0x4000, 512, 1000, 3, 2080, 2080000, 32, 64);
    assert_int_equal(specs[0].dtype, TSR_BF16);
    assert_int_equal(specs[3].dtype, TSR_F32);

    args = args_of(1, 1);
    args.type_a = args.type_b = TSR_F16;
    args.type_d = TSR_F16;
    tsr_config_tensor_specs(&config, &args, specs);
    check(&specs[0], 0x1000, 1000, 300, 1, 2016, 2016, 64, 64);
    check(&specs[1], 0x2000, 300, 512, 3, 1040, 1040 * 512, 64, 96);
    check(&specs[3], 0x4000, 512, 1000, 3, 1040, 1040000, 64, 64);
}

/* Tiles of rows that turn are equally high along the shorter side, if that operand lies along K. */
static void boxes_are_no_higher_than_needed(void **state)
{
    (void)state;
    static const struct {
        int share;
        long long m, n;
        int trans_a, trans_b, rows;
    } cases[] = {
        {1, 1, 512, 0, 0, 8},     {1, 8, 512, 0, 1, 8},      {1, 9, 512, 0, 0, 16},    {2, 9, 512, 0, 0, 16},
        {2, 17, 512, 0, 0, 32},   {4, 70, 512, 0, 0, 96},    {1, 128, 512, 0, 0, 128}, {1, 129, 512, 0, 0, 72},
        {2, 129, 512, 0, 0, 80},  {1, 300, 1000, 0, 1, 104}, {1, 8, 512, 1, 1, 128},   {1, 1000, 24, 0, 1, 24},
        {1, 1000, 24, 1, 0, 128}, {1, 40, 40, 0, 0, 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_config turns = {
            .bm = 128, .bn = 64, .bk = 64, .cluster_m = 1, .cluster_n = cases[i].share, .swaps_ab = 1, .tma = 1};
        tsr_gemm_args args = args_of(cases[i].trans_a, cases[i].trans_b);
        tsr_tensor_spec specs[4];
        args.m = cases[i].m;
        args.n = cases[i].n;
        args.lda = args.ldb = 1024;
        args.schedule = tsr_config_whole(&turns, args.m, args.n);
        args.type_a = args.type_b = TSR_BF16;
        args.type_d = TSR_BF16;
        tsr_config_tensor_specs(&turns, &args, specs);
        const int swap_ab = args.m > args.n, along_k = swap_ab ? args.trans_b : !args.trans_a;
        assert_int_equal(tsr_config_short_tile(&turns, &args), cases[i].rows);
        assert_int_equal(specs[swap_ab].box[1], (along_k ? cases[i].rows : 64) / cases[i].share);
        assert_int_equal(specs[!swap_ab].box[1], 64);
        assert_int_equal(specs[!swap_ab].box[0], 64);
    }
}

static void what_is_not_read_has_no_map(void **state)
{
    (void)state;
    tsr_tensor_spec specs[4];
    tsr_gemm_args args = args_of(0, 0);
    args.k = 0;
    args.beta = 0;
    args.c = NULL;
    args.type_a = args.type_b = TSR_BF16;
    args.type_d = TSR_BF16;
    tsr_config_tensor_specs(&config, &args, specs);
    assert_null(specs[0].base);
    assert_null(specs[1].base);
    assert_null(specs[2].base);
    assert_non_null(specs[3].base);
}

static void outputs_that_do_not_suit_have_no_map(void **state)
{
    (void)state;
    tsr_tensor_spec specs[4];
    tsr_gemm_args args = args_of(0, 0);
    assert_true(tsr_tensor_output_fits(&args, TSR_BF16));
    args.n = 511; /* the copy engine would write zeros behind the row */
    assert_false(tsr_tensor_output_fits(&args, TSR_BF16));
    args.type_a = args.type_b = TSR_BF16;
    args.type_d = TSR_BF16;
    tsr_config_tensor_specs(&config, &args, specs);
    assert_non_null(specs[0].base);
    assert_null(specs[2].base);
    assert_null(specs[3].base);
    args.n = 508; /* 16 bytes of f32, not of bf16 */
    assert_false(tsr_tensor_output_fits(&args, TSR_BF16));
    assert_true(tsr_tensor_output_fits(&args, TSR_F32));
    args = args_of(0, 0);
    args.d = (void *)0x4002;
    assert_false(tsr_tensor_output_fits(&args, TSR_BF16));
    args = args_of(0, 0);
    args.ldd = 521;
    assert_false(tsr_tensor_output_fits(&args, TSR_BF16));
    args = args_of(0, 0);
    args.batch_d++;
    assert_false(tsr_tensor_output_fits(&args, TSR_BF16));
    args = args_of(0, 0);
    args.c = (void *)0x3008;
    assert_false(tsr_tensor_output_fits(&args, TSR_BF16));
    args.beta = 0; /* C is not read then */
    assert_true(tsr_tensor_output_fits(&args, TSR_BF16));
}

static void each_rule_of_the_driver_is_checked(void **state)
{
    (void)state;
    const tsr_tensor_spec good = {.base = (void *)0x1000,
                                  .dtype = TSR_BF16,
                                  .rank = 3,
                                  .swizzle_bytes = 128,
                                  .dims = {1ll << 32, 1, 1},
                                  .strides_bytes = {16, (1ll << 40) - 16},
                                  .box = {64, 256, 1}};
    assert_null(tsr_tensor_spec_fault(&good));
    tsr_tensor_spec s = good;
    s.base = (void *)0x1008;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.dims[1] = 0;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.dims[0]++;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.strides_bytes[0] = 24;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.strides_bytes[1] = 1ll << 40;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.box[1] = 257;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.box[0] = 60;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.box[0] = 72; /* 144 bytes do not fit the swizzle */
    assert_non_null(tsr_tensor_spec_fault(&s));
    s.swizzle_bytes = 0;
    assert_null(tsr_tensor_spec_fault(&s));
    s.swizzle_bytes = 16;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s = good;
    s.rank = 6;
    assert_non_null(tsr_tensor_spec_fault(&s));
    s.rank = 0;
    assert_non_null(tsr_tensor_spec_fault(&s));
}

static void persistent_grids_are_whole_clusters(void **state)
{
    (void)state;
    tsr_gemm_args args = args_of(0, 0); /* 4 x 3 cluster tiles of 256 x 192, three problems: 36 */
    tsr_grid grid = tsr_config_grid(&config, &args, 132);
    assert_int_equal(grid.x, 72);
    assert_int_equal(grid.y * grid.z, 1);
    assert_int_equal(tsr_config_grid(&config, &args, 15).x, 14);
    assert_int_equal(tsr_config_grid(&config, &args, 1).x, 2);
    args.m = 0;
    assert_int_equal(tsr_config_grid(&config, &args, 132).x, 0);
    assert_int_equal(tsr_config_cluster(&config), 2);
    const tsr_config plain = {.bm = 16, .bn = 16};
    assert_int_equal(tsr_config_cluster(&plain), 1);
    args.m = 17;
    grid = tsr_config_grid(&plain, &args, 132);
    assert_int_equal(grid.x, 2 * 32);
    assert_int_equal(grid.z, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_follow_layout_and_cluster),     cmocka_unit_test(boxes_are_no_higher_than_needed),
        cmocka_unit_test(what_is_not_read_has_no_map),        cmocka_unit_test(outputs_that_do_not_suit_have_no_map),
        cmocka_unit_test(each_rule_of_the_driver_is_checked), cmocka_unit_test(persistent_grids_are_whole_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
