/* The copy engine's twin: boxes of 1 to 5 dimensions that are moved or added, every swizzle, boxes that stick out on
 * any side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/run_launch.h"

typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
kernel_tma emu_test_tma_1, emu_test_tma_2, emu_test_tma_3, emu_test_tma_4, emu_test_tma_5;
kernel_tma emu_test_tma_add_1, emu_test_tma_add_2, emu_test_tma_add_3, emu_test_tma_add_4, emu_test_tma_add_5;
static kernel_tma *const kernels[2][5] = {
    {emu_test_tma_1, emu_test_tma_2, emu_test_tma_3, emu_test_tma_4, emu_test_tma_5},
    {emu_test_tma_add_1, emu_test_tma_add_2, emu_test_tma_add_3, emu_test_tma_add_4, emu_test_tma_add_5}};

enum { RANKS = 5, TOTAL = 12 * 3 * 5 * 2 * 3, SHARED_BYTES = 16384 + 8, FREE = -7 };

static const int dims[RANKS] = {12, 3, 5, 2, 3};

typedef struct tensors {
    float d[TOTAL], box[16384 / 4];
    float a[TOTAL]; /* a multiple of 16 bytes from the start */
} tensors;

static tsr_tensor_spec spec_of(const float *base, int rank, const int box[RANKS], int swizzle_bytes)
{
    tsr_tensor_spec spec = {.base = base, .dtype = TSR_F32, .rank = rank, .swizzle_bytes = (short)swizzle_bytes};
    long long stride = 4;
    for (int i = 0; i < rank; i++) {
        spec.dims[i] = dims[i];
        spec.box[i] = box[i];
        stride *= dims[i];
        if (i + 1 < rank)
            spec.strides_bytes[i] = stride;
    }
    return spec;
}

/* Element `index` of the box, or -1 where it lies outside; stores of partly covered 16 bytes are avoided: all extents
 * are multiples of 4 elements along x. */
static int element_of(int rank, const int box[RANKS], const int at[RANKS], int index)
{
    int element = 0, stride = 1;
    for (int i = 0; i < rank; i++) {
        const int place = at[i] + index % box[i];
        index /= box[i];
        if (place < 0 || place >= dims[i])
            return -1;
        element += place * stride;
        stride *= dims[i];
    }
    return element;
}

/* PTX ISA, "Swizzling modes": 16-byte chunks change places by exclusive or with the number of their 128 bytes. */
static int place_of(int index, int swizzle_bytes)
{
    const int chunk = index / 4, spans = swizzle_bytes / 16;
    return ((spans ? chunk ^ (chunk / 8 % spans) : chunk) * 4) + index % 4;
}

/* D gets the box where it lay, but not before its first element. With `adds` what was stored is added once more. */
static void check_box(int rank, const int box[RANKS], const int at[RANKS], int swizzle_bytes, int adds)
{
    static _Alignas(128) tensors t;
    int count = 1;
    for (int i = 0; i < rank; i++)
        count *= box[i];
    for (int i = 0; i < TOTAL; i++) {
        t.a[i] = (float)(i + 1);
        t.d[i] = FREE;
    }
    const tsr_tensor_spec from = spec_of(t.a, rank, box, swizzle_bytes), to = spec_of(t.d, rank, box, swizzle_bytes);
    assert_null(tsr_tensor_spec_fault(&from));
    tsr_tensor_maps maps = {0};
    tsr_emu_encode(&from, &maps.a);
    tsr_emu_encode(&to, &maps.d);
    const tsr_gemm_args args = {.a = t.a,
                                .d = t.d,
                                .workspace = t.box,
                                .m = 1,
                                .n = TOTAL,
                                .k = TOTAL,
                                .lda = TOTAL,
                                .ldd = TOTAL,
                                .ldb = 4 * count,
                                .batch = 1,
                                .batch_a = at[0],
                                .batch_b = at[1],
                                .batch_c = at[2],
                                .batch_d = at[3],
                                .ldc = at[4],
                                .alpha = 1};
    const tsr_emu_job job = {.name = "tma",
                             .kernel_tma = kernels[adds][rank - 1],
                             .maps = &maps,
                             .args = &args,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {1, 1, 1},
                             .threads_x = 32,
                             .threads_y = 1,
                             .shared_bytes = SHARED_BYTES,
                             .workspace_bytes = sizeof t.box,
                             .workers = 1};
    if (tsr_emu_run(&job) != TSR_OK)
        fail_msg("rank %d, swizzle %d: %s", rank, swizzle_bytes, tsr_last_error());
    static float expected[TOTAL];
    int stored_at[RANKS];
    for (int i = 0; i < RANKS; i++)
        stored_at[i] = at[i] < 0 ? 0 : at[i];
    for (int i = 0; i < TOTAL; i++)
        expected[i] = FREE;
    for (int i = 0; i < count; i++) {
        const int element = element_of(rank, box, at, i);
        if (t.box[place_of(i, swizzle_bytes)] != (element < 0 ? 0.0f : (float)(element + 1)))
            fail_msg("rank %d, swizzle %d, x %d: element %d of the box is %g", rank, swizzle_bytes, at[0], i,
                     (double)t.box[place_of(i, swizzle_bytes)]);
        const int target = element_of(rank, box, stored_at, i);
        if (target >= 0)
            expected[target] = (float)(element + 1) * (adds ? 2 : 1);
    }
    assert_memory_equal(t.d, expected, sizeof expected);
}

static void boxes_of_every_rank_move(void **state)
{
    (void)state;
    static const int places[][RANKS] = {{0, 0, 0, 0, 0}, {4, 1, 2, 1, 1},  {-4, -1, -2, -1, -1},
                                        {8, 2, 4, 1, 2}, {12, 0, 0, 0, 0}, {-8, 3, 0, 0, 0}};
    for (int rank = 1; rank <= RANKS; rank++)
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
            for (int swizzle = 0; swizzle <= 128; swizzle = swizzle ? 2 * swizzle : 32) {
                /* Rows as long as the swizzle spans, and shorter ones; whole patterns of the swizzle. */
                const int widest[RANKS] = {swizzle ? swizzle / 4 : 20, 2, 3, 2, 2}, narrow[RANKS] = {4, 2, 2, 2, 4};
                for (int adds = 0; adds < 2; adds++) {
                    check_box(rank, widest, places[i], swizzle, adds);
                    check_box(rank, narrow, places[i], swizzle, adds);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_of_every_rank_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
