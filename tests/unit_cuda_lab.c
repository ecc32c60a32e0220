/* The lab's GPU timer and its cuBLAS peer, on a driver and a cuBLASLt that only pretend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/dtype.h"
#include "core/error.h"
#include "fake_cublas_lt.h"
#include "fake_cuda.h"
#include "lab/bench/measure.h"
#include "lab/common/nvml.h"
#include "lab/common/timer.h"
#include "lab/peers/peer.h"

static fake_cuda_access cuda;
static fake_lt_access lt;

#define assert_error(text)                                               \
    do {                                                                 \
        if (!strstr(tsr_last_error(), text))                             \
            fail_msg("\"%s\" is not in \"%s\"", text, tsr_last_error()); \
    } while (0)

static int fresh(void **unused)
{
    (void)unused;
    cuda.reset();
    lt.reset();
    unsetenv("TESSERA_CUBLAS_PATH");
    return 0;
}

/* Nothing is left behind, and every call had the GPU's context. */
static int check_clean(void **unused)
{
    (void)unused;
    return cuda.state->retained != 0 || cuda.state->events != 0 || cuda.state->allocations != 0 ||
           cuda.state->context_errors != 0 || cuda.depth() != 0 || lt.state->handles != 0 || lt.state->objects != 0 ||
           lt.state->context_errors != 0;
}

/* ---- timer ------------------------------------------------------------------------------------------------------- */

static void timer_measures_between_events(void **unused)
{
    static char stream;
    lab_timer timer;
    lab_clocks clocks = {1, 1};
    double ns = 0;
    (void)unused;
    assert_int_equal(lab_timer_open("cuda:0", &timer), TSR_OK);
    assert_string_equal(timer.ops->kind, "cuda");
    assert_int_equal(cuda.state->events, 2);
    cuda.push(cuda.foreign);
    assert_int_equal(timer.ops->begin(timer.state, &stream), TSR_OK);
    assert_int_equal(cuda.state->synchronizes, 1); /* earlier work is over before the first event */
    assert_int_equal(timer.ops->end(timer.state, &stream, &ns), TSR_OK);
    assert_true(cuda.current() == cuda.foreign);
    cuda.pop();
    assert_true(ns == 1.5e6);
    timer.ops->sample(timer.state, &clocks);
    assert_true(isnan(clocks.clock_mhz) && isnan(clocks.power_w)); /* the fake's bus id is no real GPU's */
    lab_timer_close(&timer);
}

static tsr_status captured_call(void *user, const lab_operand_set *set)
{
    assert_non_null(set);
    int *seen = user;
    seen[cuda.state->capturing != 0]++;
    return seen[1] > seen[2] ? tsr_fail(TSR_UNSUPPORTED, "one call too many in the graph") : TSR_OK;
}

/* Calls are made while a graph is captured, and then only replayed; a call that fails there strikes one contestant out,
 * and no graph is left behind. */
static void captured_calls_are_replayed(void **unused)
{
    (void)unused;
    lab_timer timer;
    lab_operand_set set = {0};
    const lab_operands operands = {.sets = &set, .count = 1};
    cuda.reset();
    assert_int_equal(lab_timer_open("cuda:0", &timer), TSR_OK);
    int seen[2][3] = {{0, 0, 1000}, {0, 0, 3}};
    lab_contestant contestants[2] = {{.call = captured_call, .user = seen[0]},
                                     {.call = captured_call, .user = seen[1]}};
    lab_measure_options options = {.timer = &timer,
                                   .stream = timer.ops->stream(timer.state),
                                   .captured = 1,
                                   .rounds = 5,
                                   .round_ns = 1e9,
                                   .warm_ns = 1e7,
                                   .budget_ns = 1e18};
    assert_int_equal(lab_measure(&options, &operands, contestants, 2), TSR_OK);
    assert_int_equal(contestants[0].status, TSR_OK);
    assert_int_equal(contestants[0].rounds, 5);
    assert_int_equal(seen[0][1], 200);
    assert_int_equal(contestants[0].calls, contestants[0].replays * 200);
    assert_int_equal(cuda.state->graph_launches, contestants[0].replays * 6); /* one more to warm up */
    assert_int_equal(contestants[1].status, TSR_UNSUPPORTED);
    assert_non_null(strstr(contestants[1].message, "one call too many"));
    assert_int_equal(seen[1][1], 4);
    lab_contestant_clear(&contestants[0]);
    lab_contestant_clear(&contestants[1]);

    cuda.state->fail_call = "cuGraphInstantiateWithFlags";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    seen[0][1] = 0;
    assert_int_equal(lab_measure(&options, &operands, contestants, 1), TSR_OK);
    assert_int_equal(contestants[0].status, TSR_OUT_OF_MEMORY);
    lab_contestant_clear(&contestants[0]);
    lab_timer_close(&timer);
    assert_int_equal(cuda.state->graphs, 0);
    assert_int_equal(cuda.state->streams, 0);
    assert_int_equal(cuda.state->context_errors, 0);
}

static void timer_errors(void **unused)
{
    static const char *const calls[] = {"cuStreamSynchronize", "cuEventRecord", "cuEventSynchronize",
                                        "cuEventElapsedTime"};
    lab_timer timer;
    (void)unused;
    cuda.state->fail_call = "cuEventCreate";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    cuda.state->fail_from = 1; /* the second event */
    assert_int_equal(lab_timer_open("cuda:0", &timer), TSR_OUT_OF_MEMORY);
    assert_int_equal(cuda.state->retained, 0);
    assert_int_equal(lab_timer_open("cuda:1", &timer), TSR_NO_DEVICE);
    assert_error("cuda:1: the driver shows 1 GPU");

    fresh(NULL);
    assert_int_equal(lab_timer_open("cuda:0", &timer), TSR_OK);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        double ns = -1;
        cuda.state->fail_call = calls[i];
        cuda.state->fail_from = cuda.state->seen_failing = 0;
        cuda.state->fail_result = TSR_CU_ILLEGAL_ADDRESS;
        const tsr_status begun = timer.ops->begin(timer.state, NULL);
        const tsr_status ended = timer.ops->end(timer.state, NULL, &ns);
        assert_true(begun == TSR_DRIVER_ERROR || ended == TSR_DRIVER_ERROR);
        assert_error("CUDA_ERROR_ILLEGAL_ADDRESS");
        if (ended != TSR_OK)
            assert_true(ns == -1);
        assert_int_equal(cuda.depth(), 0);
    }
    cuda.state->fail_call = NULL;
    lab_timer_close(&timer);
}

/* ---- peer -------------------------------------------------------------------------------------------------------- */

enum { M = 5, N = 4, K = 3, BATCH = 2, PAD = 2 };

static tsr_gemm_desc describe(tsr_dtype dtype, tsr_trans trans_a, tsr_trans trans_b, int pad, int batch)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, M, N, K);
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.a.trans = trans_a;
    desc.b.trans = trans_b;
    if (pad) {
        desc.a.ld = (trans_a ? M : K) + PAD;
        desc.b.ld = (trans_b ? K : N) + PAD;
        desc.c.ld = N + PAD;
        desc.d.ld = N + PAD + 1;
    }
    desc.batch_count = batch;
    if (batch > 1) {
        desc.a.batch_stride = 60;
        desc.b.batch_stride = 0; /* one B for all */
        desc.broadcast = TSR_BROADCAST_B;
        desc.c.batch_stride = 50;
        desc.d.batch_stride = 55;
    }
    return desc;
}

static double at(const tsr_operand *operand, const void *data, int columns, int z, int i, int j)
{
    const int row = operand->trans ? j : i, column = operand->trans ? i : j;
    const int64_t ld = operand->ld ? operand->ld : columns;
    return tsr_load_element(operand->dtype, data, z * operand->batch_stride + row * ld + column);
}

/* Small integers, so that every sum is exact and every element out of place shows. */
static void fill(tsr_dtype dtype, void *data, int count, int step)
{
    for (int i = 0; i < count; i++)
        tsr_store_element(dtype, data, i, (i * step) % 17 - 8);
}

static void check_product(const lab_peer_ops *peer, void *state, const tsr_gemm_desc *desc, double beta)
{
    double a[160], b[160], c[160], d[160];
    static char stream;
    void *problem = NULL;
    int choices = 0;
    fill(desc->a.dtype, a, 160, 5);
    fill(desc->b.dtype, b, 160, 7);
    fill(desc->c.dtype, c, 160, 3);
    fill(desc->d.dtype, d, 160, 0);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    args.c = beta != 0 ? c : NULL;
    args.alpha.value = 0.5;
    args.beta.value = beta;
    args.stream = &stream;
    assert_int_equal(peer->prepare(state, desc, &problem, &choices), TSR_OK);
    assert_int_equal(choices, 3);
    assert_int_equal(peer->run(problem, 1, &args), TSR_OK);
    assert_int_equal(lt.state->algo, 101);
    assert_ptr_equal(lt.state->stream, &stream);
    assert_false(lt.state->c_was_null);
    int written = 0;
    for (int z = 0; z < desc->batch_count; z++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < K; k++)
                    sum += at(&desc->a, a, desc->a.trans ? M : K, z, i, k) *
                           at(&desc->b, b, desc->b.trans ? K : N, z, k, j);
                sum *= 0.5;
                if (beta != 0)
                    sum += beta * at(&desc->c, c, N, z, i, j);
                assert_true(at(&desc->d, d, N, z, i, j) == sum);
                written += sum != -8;
            }
    int changed = 0;
    for (int i = 0; i < 160; i++)
        changed += tsr_load_element(desc->d.dtype, d, i) != -8;
    assert_int_equal(changed, written); /* and nothing beside D was touched */
    peer->release(problem);
}

static void peer_computes_our_layouts(void **unused)
{
    const lab_peer_ops *peer = &lab_peer_cublas;
    void *state = NULL;
    char text[64];
    (void)unused;
    assert_true(peer->is_cuda);
    assert_int_equal(peer->open(0, 0, &state), TSR_OK);
    peer->version(state, text, sizeof text);
    assert_string_equal(text, "cuBLASLt 13.1.2");
    assert_int_equal(cuda.state->last_alloc_bytes, 64 << 20);
    for (int variant = 0; variant < 64; variant++) {
        const tsr_gemm_desc desc = describe(variant & 1 ? TSR_F64 : TSR_F32, variant & 2 ? TSR_T : TSR_N,
                                            variant & 4 ? TSR_T : TSR_N, variant & 8, variant & 16 ? BATCH : 1);
        check_product(peer, state, &desc, variant & 32 ? 2.0 : 0.0);
    }
    peer->close(state);
}

static void *open_peer(void)
{
    void *state = NULL;
    assert_int_equal(lab_peer_cublas.open(0, 0, &state), TSR_OK);
    return state;
}

static void prepare_and_release(void *state, const tsr_gemm_desc *desc)
{
    void *problem = NULL;
    int choices = 0;
    assert_int_equal(lab_peer_cublas.prepare(state, desc, &problem, &choices), TSR_OK);
    lab_peer_cublas.release(problem);
}

static void peer_tells_alignments_and_workspace(void **unused)
{
    void *state = open_peer();
    tsr_gemm_desc desc = describe(TSR_F32, TSR_N, TSR_N, 0, 1);
    (void)unused;
    desc.a.align_bytes = 16;
    desc.b.align_bytes = 32;
    desc.c.align_bytes = 0;
    desc.d.align_bytes = 4096;
    prepare_and_release(state, &desc);
    assert_int_equal(lt.state->align_bytes[0], 32); /* the library's A is our B */
    assert_int_equal(lt.state->align_bytes[1], 16);
    assert_int_equal(lt.state->align_bytes[2], 4);
    assert_int_equal(lt.state->align_bytes[3], 256);
    assert_int_equal(lt.state->workspace_limit_bytes, 64 << 20);
    assert_int_equal(lt.state->wanted, LAB_PEER_CHOICES_MAX);
    lab_peer_cublas.close(state);
}

static void peer_computes_in_the_type_asked_for(void **unused)
{
    static const struct {
        tsr_dtype ab, cd;
        tsr_compute compute;
        unsigned compute_type, scale_type;
    } cases[] = {
        {TSR_F32, TSR_F32, TSR_COMPUTE_DEFAULT, LAB_CUBLAS_COMPUTE_32F, LAB_CUDA_R_32F},
        {TSR_F32, TSR_F32, TSR_COMPUTE_F32, LAB_CUBLAS_COMPUTE_32F, LAB_CUDA_R_32F},
        {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, LAB_CUBLAS_COMPUTE_32F_FAST_TF32, LAB_CUDA_R_32F},
        {TSR_F64, TSR_F64, TSR_COMPUTE_DEFAULT, LAB_CUBLAS_COMPUTE_64F, LAB_CUDA_R_64F},
        {TSR_BF16, TSR_BF16, TSR_COMPUTE_DEFAULT, LAB_CUBLAS_COMPUTE_32F, LAB_CUDA_R_32F},
        {TSR_F16, TSR_F32, TSR_COMPUTE_DEFAULT, LAB_CUBLAS_COMPUTE_32F, LAB_CUDA_R_32F},
        {TSR_E4M3, TSR_BF16, TSR_COMPUTE_DEFAULT, LAB_CUBLAS_COMPUTE_32F, LAB_CUDA_R_32F},
        {TSR_S8, TSR_S32, TSR_COMPUTE_DEFAULT, LAB_CUBLAS_COMPUTE_32I, LAB_CUDA_R_32I},
    };
    void *state = open_peer();
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tsr_gemm_desc desc = describe(cases[i].ab, TSR_N, TSR_N, 0, 1);
        desc.c.dtype = desc.d.dtype = cases[i].cd;
        desc.compute = cases[i].compute;
        prepare_and_release(state, &desc);
        assert_int_equal(lt.state->compute_type, cases[i].compute_type);
        assert_int_equal(lt.state->scale_type, cases[i].scale_type);
    }
    lab_peer_cublas.close(state);
}

/* The heuristic learns that there will be scales; each run has its own. The library's A is our B. */
static void peer_is_given_scales(void **unused)
{
    void *state = open_peer(), *problem = NULL;
    tsr_gemm_desc desc = describe(TSR_E4M3, TSR_N, TSR_T, 0, 1);
    static float a[160], b[160], d[160], scale_a[M], scale_b[N];
    tsr_run_args args = tsr_run_args_make(a, b, d);
    int choices = 0;
    (void)unused;
    desc.c.dtype = desc.d.dtype = TSR_BF16;
    prepare_and_release(state, &desc);
    assert_true(!lt.state->scales[0] && !lt.state->scales[1]);
    static const struct {
        tsr_scale_mode a, b;
        int32_t theirs[2]; /* of their A, which is our B, and of their B */
    } modes[] = {{TSR_SCALE_TENSOR, TSR_SCALE_TENSOR, {0, 0}},
                 {TSR_SCALE_VECTOR, TSR_SCALE_VECTOR, {LAB_LT_SCALE_OUTER_VEC, LAB_LT_SCALE_OUTER_VEC}},
                 {TSR_SCALE_1X128, TSR_SCALE_1X128, {LAB_LT_SCALE_VEC128, LAB_LT_SCALE_VEC128}},
                 {TSR_SCALE_1X128, TSR_SCALE_128X128, {LAB_LT_SCALE_BLK128X128, LAB_LT_SCALE_VEC128}}};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        desc.scale_mode_a = modes[m].a;
        desc.scale_mode_b = modes[m].b;
        assert_int_equal(lab_peer_cublas.prepare_scaled(state, &desc, &problem, &choices), TSR_OK);
        assert_true(lt.state->scales[0] && lt.state->scales[1]);
        args.scale_a = scale_a;
        args.scale_b = scale_b;
        assert_int_equal(lab_peer_cublas.run(problem, 0, &args), TSR_OK);
        assert_ptr_equal(lt.state->scales[0], scale_b);
        assert_ptr_equal(lt.state->scales[1], scale_a);
        for (int i = 0; i < 2; i++)
            assert_int_equal(lt.state->scale_modes[i], modes[m].theirs[i]);
        lab_peer_cublas.release(problem);
    }
    desc.batch_count = 2;
    desc.a.batch_stride = desc.b.batch_stride = desc.c.batch_stride = desc.d.batch_stride = 1000;
    problem = NULL;
    assert_int_equal(lab_peer_cublas.prepare_scaled(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("cuBLASLt does not say where scales of blocks lie for a batch");
    desc.batch_count = 1;
    lt.state->version = 120800;
    assert_int_equal(lab_peer_cublas.prepare_scaled(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("cuBLASLt has scales of blocks from 12.9 on, and this is 12.8");
    desc.scale_mode_a = desc.scale_mode_b = TSR_SCALE_VECTOR;
    assert_int_equal(lab_peer_cublas.prepare_scaled(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("cuBLASLt has scales of rows and columns from 12.9 on, and this is 12.8");
    desc.scale_mode_a = desc.scale_mode_b = TSR_SCALE_TENSOR;
    assert_int_equal(lab_peer_cublas.prepare_scaled(state, &desc, &problem, &choices), TSR_OK);
    lab_peer_cublas.release(problem);
    desc = describe(TSR_S8, TSR_N, TSR_T, 0, 1);
    desc.c.dtype = desc.d.dtype = TSR_BF16;
    problem = NULL;
    assert_int_equal(lab_peer_cublas.prepare_scaled(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("cuBLASLt has scales of 8-bit floats, not of s8");
    assert_null(problem);
    lab_peer_cublas.close(state);
}

static void peer_leaves_out_unusable_algorithms(void **unused)
{
    void *state = open_peer(), *problem = NULL;
    const tsr_gemm_desc desc = describe(TSR_F32, TSR_N, TSR_N, 0, 1);
    float a[M * K] = {0}, b[K * N] = {0}, d[M * N];
    const tsr_run_args args = tsr_run_args_make(a, b, d);
    int choices = 0;
    (void)unused;
    lt.state->unusable = 0;
    assert_int_equal(lab_peer_cublas.prepare(state, &desc, &problem, &choices), TSR_OK);
    assert_int_equal(choices, 2);
    assert_int_equal(lab_peer_cublas.run(problem, 0, &args), TSR_OK);
    assert_int_equal(lt.state->algo, 101);
    assert_int_equal(lab_peer_cublas.run(problem, 2, &args), TSR_INVALID_ARGUMENT);
    assert_int_equal(lab_peer_cublas.run(problem, -1, &args), TSR_INVALID_ARGUMENT);
    lt.state->fail_call = "cublasLtMatmul";
    lt.state->fail_status = 13;
    assert_int_equal(lab_peer_cublas.run(problem, 0, &args), TSR_DRIVER_ERROR);
    assert_error("cublasLtMatmul: CUBLAS_STATUS_OTHER (13)");
    lab_peer_cublas.release(problem);
    lab_peer_cublas.close(state);
}

static void peer_refuses_what_it_cannot_compute(void **unused)
{
    void *state = open_peer(), *problem = NULL;
    const tsr_gemm_desc good = describe(TSR_F32, TSR_N, TSR_N, 0, BATCH);
    tsr_gemm_desc desc = good;
    int choices = 0;
    (void)unused;
    desc.k = 0;
    assert_int_equal(lab_peer_cublas.prepare(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("no empty matrices");
    desc = good;
    desc.b.memory = TSR_HOST;
    assert_int_equal(lab_peer_cublas.prepare(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("B lies in host memory");
    desc = good;
    desc.batch_count = (int64_t)1 << 31;
    assert_int_equal(lab_peer_cublas.prepare(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
    lt.state->proposed = 0;
    assert_int_equal(lab_peer_cublas.prepare(state, &good, &problem, &choices), TSR_UNSUPPORTED);
    assert_error("no algorithm");
    lt.state->fail_status = LAB_CUBLAS_NOT_SUPPORTED;
    static const char *const calls[] = {"cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulPreferenceSetAttribute",
                                        "cublasLtMatmulPreferenceCreate", "cublasLtMatrixLayoutSetAttribute",
                                        "cublasLtMatrixLayoutCreate",     "cublasLtMatmulDescSetAttribute",
                                        "cublasLtMatmulDescCreate"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        lt.state->fail_call = calls[i];
        assert_int_equal(lab_peer_cublas.prepare(state, &good, &problem, &choices), TSR_UNSUPPORTED);
        assert_error("CUBLAS_STATUS_NOT_SUPPORTED (15)");
    }
    assert_null(problem);
    lt.state->fail_call = NULL;
    lab_peer_cublas.close(state);
}

static void peer_that_does_not_start(void **unused)
{
    void *state = NULL;
    (void)unused;
    setenv("TESSERA_CUBLAS_PATH", "/nowhere/at-all", 1);
    assert_int_equal(lab_peer_cublas.open(0, 0, &state), TSR_NO_DEVICE);
    assert_error("TESSERA_CUBLAS_PATH = \"/nowhere/at-all\" is no library");
    setenv("TESSERA_CUBLAS_PATH", FAKE_CUDA_DIR, 1); /* a folder */
    assert_int_equal(lab_peer_cublas.open(1, 0, &state), TSR_NO_DEVICE);
    assert_error("cuda:1");
    setenv("TESSERA_CUBLAS_PATH", FAKE_CUDA_DIR "/libcublasLt.so.13", 1); /* and a file */
    lt.state->fail_call = "cublasLtCreate";
    lt.state->fail_status = 3;
    assert_int_equal(lab_peer_cublas.open(0, 0, &state), TSR_DRIVER_ERROR);
    assert_error("cublasLtCreate");
    lt.state->fail_call = NULL;
    cuda.state->fail_call = "cuMemAlloc";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    assert_int_equal(lab_peer_cublas.open(0, 0, &state), TSR_OUT_OF_MEMORY);
    setenv("TESSERA_CUBLAS_PATH", FAKE_CUDA_DIR "/libcuda.so.1", 1);
    assert_int_equal(lab_peer_cublas.open(0, 0, &state), TSR_UNSUPPORTED);
    assert_error("cuBLASLt has no cublasLtCreate");
    assert_null(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, check_clean)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(timer_measures_between_events),
        TEST(timer_errors),
        TEST(captured_calls_are_replayed),
        TEST(peer_computes_our_layouts),
        TEST(peer_tells_alignments_and_workspace),
        TEST(peer_computes_in_the_type_asked_for),
        TEST(peer_is_given_scales),
        TEST(peer_leaves_out_unusable_algorithms),
        TEST(peer_refuses_what_it_cannot_compute),
        TEST(peer_that_does_not_start),
    };
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    cuda = fake_cuda_find();
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NODELETE);
    const fake_lt_access *access_points = library ? dlsym(library, "fake_lt_access_points") : NULL;
    if (!access_points) {
        fprintf(stderr, "libcublasLt.so.13 is not the fake library\n");
        return 1;
    }
    lt = *access_points;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
