/* The lab's cuSPARSELt peer, on a driver and a cuSPARSELt that only pretend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/dtype.h"
#include "core/error.h"
#include "fake_cuda.h"
#include "fake_cusparse_lt.h"
#include "lab/common/compress.h"
#include "lab/common/random.h"
#include "lab/peers/peer.h"

static fake_cuda_access cuda;
static fake_slt_access slt;

#define OLD_DIR FAKE_CUDA_DIR "/old"

#define assert_error(text)                                               \
    do {                                                                 \
        if (!strstr(tsr_last_error(), text))                             \
            fail_msg("\"%s\" is not in \"%s\"", text, tsr_last_error()); \
    } while (0)

static int fresh(void **unused)
{
    (void)unused;
    cuda.reset();
    slt.reset();
    unsetenv("TESSERA_CUSPARSELT_PATH");
    return 0;
}

/* Nothing is left behind, every call had the GPU's context and good objects, and what was compressed kept the pattern.
 */
static int check_clean(void **unused)
{
    (void)unused;
    const fake_slt *const s = slt.state;
    return cuda.state->retained != 0 || cuda.state->allocations != 0 || cuda.state->context_errors != 0 ||
           cuda.depth() != 0 || s->handles != 0 || s->matrices != 0 || s->algorithms != 0 || s->plans != 0 ||
           s->context_errors != 0 || s->object_errors != 0 || s->broken_groups != 0;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

enum { PAD = 32, GAP = 64, MARK = 77, BATCH = 2 };

typedef struct problem_case {
    tsr_dtype ab, d;
    int m, n, k;
    tsr_compute compute;
    unsigned compute_type; /* the library's */
    double within;         /* of the sum of magnitudes */
} problem_case;

static const problem_case cases[] = {
    {TSR_BF16, TSR_BF16, 16, 32, 48, TSR_COMPUTE_DEFAULT, LAB_SLT_COMPUTE_32F, 0.01},
    {TSR_F32, TSR_F32, 16, 32, 48, TSR_COMPUTE_TF32, LAB_SLT_COMPUTE_32F, 1e-6},
    {TSR_S8, TSR_S32, 32, 64, 96, TSR_COMPUTE_DEFAULT, LAB_SLT_COMPUTE_32I, 0},
    {TSR_S8, TSR_BF16, 32, 64, 96, TSR_COMPUTE_DEFAULT, LAB_SLT_COMPUTE_32I, 0.01},
    {TSR_E4M3, TSR_F32, 32, 64, 96, TSR_COMPUTE_DEFAULT, LAB_SLT_COMPUTE_32F, 1e-6},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int64_t stored_elements(const tsr_operand *x, int64_t rows, int64_t columns)
{
    return (x->trans ? columns : rows) * x->ld;
}

/* Bits of `variant`: B is compressed; A is transposed; B is; rows are padded; a batch; one of the matrices serves all
 * of it. */
static tsr_gemm_desc describe(const problem_case *c, int variant)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(c->ab, c->m, c->n, c->k);
    const int pad = variant & 8 ? PAD : 0, shares_b = variant & 32;
    desc.compute = c->compute;
    desc.c.dtype = desc.d.dtype = c->d;
    desc.flags = variant & 1 ? TSR_SPARSE24_B : TSR_SPARSE24_A;
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.a.trans = variant & 2 ? TSR_T : TSR_N;
    desc.b.trans = variant & 4 ? TSR_T : TSR_N;
    desc.a.ld = (variant & 2 ? c->m : c->k) + pad;
    desc.b.ld = (variant & 4 ? c->k : c->n) + pad;
    desc.c.ld = desc.d.ld = c->n + pad;
    if (variant & 16) {
        desc.batch_count = BATCH;
        desc.a.batch_stride = shares_b ? stored_elements(&desc.a, c->m, c->k) + GAP : 0;
        desc.b.batch_stride = shares_b ? 0 : stored_elements(&desc.b, c->k, c->n) + GAP;
        desc.broadcast = shares_b ? TSR_BROADCAST_B : TSR_BROADCAST_A;
        desc.c.batch_stride = desc.d.batch_stride = stored_elements(&desc.d, c->m, c->n) + GAP;
    }
    return desc;
}

static void *numbers(tsr_dtype dtype, int64_t count, uint64_t seed)
{
    void *const data = aligned_alloc(256, ((size_t)count * tsr_dtype_bytes(dtype) / 256 + 1) * 256);
    assert_non_null(data);
    if (seed)
        lab_fill(LAB_FILL_NORMAL, 0, dtype, data, count, seed);
    else
        for (int64_t i = 0; i < count; i++)
            tsr_store_element(dtype, data, i, MARK);
    return data;
}

static double at(const tsr_operand *x, const void *data, int z, int i, int j)
{
    const int row = x->trans ? j : i, column = x->trans ? i : j;
    return tsr_load_element(x->dtype, data, z * x->batch_stride + row * x->ld + column);
}

/* D against the sum over the whole, pruned matrix; elements beside D are as they were. */
static void check_result(const problem_case *c, const tsr_gemm_desc *desc, const void *a, const void *b, const void *c0,
                         const void *d, double alpha, double beta)
{
    const int64_t all = (desc->batch_count - 1) * desc->d.batch_stride + c->m * desc->d.ld;
    int64_t changed = 0;
    for (int z = 0; z < desc->batch_count; z++)
        for (int i = 0; i < c->m; i++)
            for (int j = 0; j < c->n; j++) {
                double sum = 0, size = 0;
                for (int k = 0; k < c->k; k++) {
                    const double product = at(&desc->a, a, z, i, k) * at(&desc->b, b, z, k, j);
                    sum += product;
                    size += fabs(product);
                }
                sum *= alpha;
                if (beta != 0) {
                    sum += beta * at(&desc->c, c0, z, i, j);
                    size += fabs(beta * at(&desc->c, c0, z, i, j));
                }
                if (fabs(at(&desc->d, d, z, i, j) - sum) > c->within * size)
                    fail_msg("D[%d](%d, %d) = %g, not %g", z, i, j, at(&desc->d, d, z, i, j), sum);
            }
    for (int64_t i = 0; i < all; i++) {
        const int64_t in = desc->batch_count > 1 ? i % desc->d.batch_stride : i;
        const int is_element = in < c->m * desc->d.ld && in % desc->d.ld < c->n;
        changed += !is_element && tsr_load_element(desc->d.dtype, d, i) != MARK;
    }
    assert_int_equal(changed, 0);
}

static void check_product(void *state, const problem_case *c, int variant, double beta)
{
    const tsr_gemm_desc desc = describe(c, variant);
    const char which = desc.flags & TSR_SPARSE24_B ? 'b' : 'a', other = which == 'a' ? 'b' : 'a';
    const int64_t all_d = (desc.batch_count - 1) * desc.d.batch_stride + c->m * desc.d.ld;
    const double alpha = c->d == TSR_S32 ? 2 : 0.5;
    static char stream;
    void *problem = NULL, *pruned = NULL;
    size_t pruned_bytes = 0;
    int choices = 0;
    assert_int_equal(lab_pruned(&desc, which, &pruned, &pruned_bytes), TSR_OK);
    assert_int_equal(pruned_bytes, lab_operand_count(&desc, which) * (int64_t)tsr_dtype_bytes(c->ab));
    void *const whole = numbers(c->ab, lab_operand_count(&desc, other), 5), *const c0 = numbers(c->d, all_d, 6);
    const void *const a = which == 'a' ? pruned : whole, *const b = which == 'a' ? whole : pruned;
    if (lab_peer_cusparselt.prepare(state, &desc, &problem, &choices) != TSR_OK)
        fail_msg("variant %d: %s", variant, tsr_last_error());
    assert_int_equal(choices, 2);
    assert_int_equal(slt.state->compute_type, c->compute_type);
    for (int choice = 0; choice < choices; choice++) {
        void *const d = numbers(c->d, all_d, 0);
        tsr_run_args args = tsr_run_args_make(which == 'a' ? NULL : whole, which == 'b' ? NULL : whole, d);
        args.c = beta != 0 ? c0 : NULL;
        args.alpha.value = alpha;
        args.beta.value = beta;
        args.stream = &stream;
        assert_int_equal(lab_peer_cusparselt.run(problem, choice, &args), TSR_OK);
        assert_int_equal(slt.state->ran_searched, choice);
        assert_int_equal(slt.state->stream_count, 1);
        assert_ptr_equal(slt.state->stream, &stream);
        assert_false(slt.state->c_was_null);
        check_result(c, &desc, a, b, c0, d, alpha, beta);
        free(d);
    }
    lab_peer_cusparselt.release(problem);
    free(pruned);
    free(whole);
    free(c0);
}

static void peer_computes_our_layouts(void **unused)
{
    void *state = NULL;
    char text[64];
    (void)unused;
    assert_true(lab_peer_cusparselt.is_cuda);
    assert_null(lab_peer_cusparselt.prepare_scaled);
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_OK);
    lab_peer_cusparselt.version(state, text, sizeof text);
    assert_string_equal(text, "cuSPARSELt 0.8.1");
    assert_int_equal(cuda.state->last_alloc_bytes, 64 << 20);
    int products = 0;
    for (int i = 0; i < CASES; i++)
        for (int variant = 0; variant < 64; variant++) {
            const int is_8_bit = tsr_dtype_bytes(cases[i].ab) == 1, is_batch = variant & 16;
            if ((is_8_bit && (variant & 6) != 4) || (!is_batch && variant & 32))
                continue; /* the first is not supported, the second nothing new */
            check_product(state, &cases[i], variant, products % 2 ? 2 : 0);
            products++;
        }
    assert_int_equal(slt.state->compressions, products);
    assert_int_equal(slt.state->searches, products);
    lab_peer_cusparselt.close(state);
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

static void *open_peer(void)
{
    void *state = NULL;
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_OK);
    return state;
}

static void refused(void *state, const tsr_gemm_desc *desc, const char *text)
{
    void *problem = NULL;
    int choices = 0;
    assert_int_equal(lab_peer_cusparselt.prepare(state, desc, &problem, &choices), TSR_UNSUPPORTED);
    assert_null(problem);
    assert_error(text);
}

static void peer_says_what_it_lacks(void **unused)
{
    void *state = open_peer();
    const tsr_gemm_desc good = describe(&cases[0], 0), eight = describe(&cases[2], 4);
    tsr_gemm_desc desc = good;
    (void)unused;
    desc.flags = 0;
    refused(state, &desc, "cuSPARSELt multiplies a compressed operand and a whole one, and here both are whole");
    desc = good;
    desc.k = 0;
    refused(state, &desc, "no empty matrices");
    desc = good;
    desc.batch_count = (int64_t)1 << 31;
    refused(state, &desc, "counts problems of a batch in 32 bits");
    desc = good;
    desc.epilogue = "acc + bias[n]";
    refused(state, &desc, "cuSPARSELt adds a bias to rows of D, not to columns");
    desc = good;
    desc.d.memory = TSR_HOST;
    refused(state, &desc, "D lies in host memory; cuSPARSELt needs GPU memory");
    desc = good;
    desc.c.dtype = desc.d.dtype = TSR_F32;
    refused(state, &desc, "cuSPARSELt has no product of bf16 with results in f32");
    desc = good;
    desc.d.ld += 64;
    refused(state, &desc, "cuSPARSELt needs a C that lies as D does");
    desc = describe(&cases[1], 0);
    desc.compute = TSR_COMPUTE_DEFAULT;
    refused(state, &desc, "cuSPARSELt multiplies f32 in tf32 alone");
    desc = eight;
    desc.b.dtype = TSR_U8;
    refused(state, &desc, "cuSPARSELt multiplies operands of one type, not s8 by u8");
    desc.a.dtype = TSR_U8;
    refused(state, &desc, "cuSPARSELt has no product of u8 with results in s32");
    desc = eight;
    desc.b.trans = TSR_N;
    desc.b.ld = desc.n;
    refused(state, &desc, "cuSPARSELt reads 8-bit operands along K alone: layout nt");
    /* 32 bytes of the compressed operand, 16 of the others. */
    desc = good;
    desc.m = 24;
    refused(state, &desc, "cuSPARSELt needs rows, columns and leading dimension of A in multiples of 16");
    desc = good;
    desc.b.ld += 4;
    refused(state, &desc, "cuSPARSELt needs rows, columns and leading dimension of B in multiples of 8");
    desc = good;
    desc.b.align_bytes = 8;
    refused(state, &desc, "cuSPARSELt needs B aligned to 16 bytes");
    lab_peer_cusparselt.close(state);
}

static void calls_that_fail_are_named(void **unused)
{
    static const char *const calls[] = {"cusparseLtStructuredDescriptorInit",
                                        "cusparseLtDenseDescriptorInit",
                                        "cusparseLtMatDescSetAttribute",
                                        "cusparseLtMatmulDescriptorInit",
                                        "cusparseLtMatmulAlgSelectionInit",
                                        "cusparseLtMatmulPlanInit",
                                        "cusparseLtMatmulGetWorkspace",
                                        "cusparseLtSpMMACompressedSize",
                                        "cusparseLtSpMMACompress",
                                        "cusparseLtMatmulSearch"};
    const tsr_gemm_desc desc = describe(&cases[0], 16);
    void *state = open_peer(), *problem = NULL;
    char text[100];
    int choices = 0;
    (void)unused;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        slt.state->fail_call = calls[i];
        slt.state->fail_status = 7;
        assert_int_equal(lab_peer_cusparselt.prepare(state, &desc, &problem, &choices), TSR_DRIVER_ERROR);
        snprintf(text, sizeof text, "%s: CUSPARSE_STATUS_OTHER (7)", calls[i]);
        assert_string_equal(tsr_last_error(), text);
        slt.state->fail_status = LAB_CUSPARSE_NOT_SUPPORTED;
        if (strcmp(calls[i], "cusparseLtMatmulSearch") == 0)
            break; /* then there is no second choice */
        assert_int_equal(lab_peer_cusparselt.prepare(state, &desc, &problem, &choices), TSR_UNSUPPORTED);
        snprintf(text, sizeof text, "%s: CUSPARSE_STATUS_NOT_SUPPORTED (10)", calls[i]);
        assert_string_equal(tsr_last_error(), text);
    }
    assert_null(problem);
    assert_int_equal(lab_peer_cusparselt.prepare(state, &desc, &problem, &choices), TSR_OK);
    assert_int_equal(choices, 1);
    float d[1];
    const tsr_run_args args = tsr_run_args_make(d, d, d);
    assert_int_equal(lab_peer_cusparselt.run(problem, 1, &args), TSR_INVALID_ARGUMENT);
    assert_error("choice = 1: there is 1");
    assert_int_equal(lab_peer_cusparselt.run(problem, -1, &args), TSR_INVALID_ARGUMENT);
    slt.state->fail_call = "cusparseLtMatmul";
    slt.state->fail_status = 6;
    void *const operand = numbers(TSR_BF16, 4096, 1);
    const tsr_run_args good = tsr_run_args_make(operand, operand, operand);
    assert_int_equal(lab_peer_cusparselt.run(problem, 0, &good), TSR_DRIVER_ERROR);
    assert_string_equal(tsr_last_error(), "cusparseLtMatmul: CUSPARSE_STATUS_OTHER (6)");
    free(operand);
    lab_peer_cusparselt.release(problem);
    lab_peer_cusparselt.close(state);
}

/* Without room for the operand to compress there is no product; without room to search, one choice. */
static void memory_runs_short(void **unused)
{
    const tsr_gemm_desc desc = describe(&cases[0], 0);
    void *state = open_peer(), *problem = NULL;
    int choices = 0;
    (void)unused;
    cuda.state->fail_call = "cuMemAlloc";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    for (int from = 0; from < 5; from++) {
        cuda.state->fail_from = from;
        cuda.state->seen_failing = 0;
        const tsr_status status = lab_peer_cusparselt.prepare(state, &desc, &problem, &choices);
        assert_int_equal(status, from < 3 ? TSR_OUT_OF_MEMORY : TSR_OK);
        if (status == TSR_OK) {
            assert_int_equal(choices, 1);
            lab_peer_cusparselt.release(problem);
        }
    }
    cuda.state->fail_call = NULL;
    /* More workspace than every problem has is the problem's own. */
    slt.state->workspace_bytes[1] = ((size_t)64 << 20) + 1;
    assert_int_equal(lab_peer_cusparselt.prepare(state, &desc, &problem, &choices), TSR_OK);
    assert_int_equal(choices, 2);
    assert_int_equal(cuda.state->last_alloc_bytes, (64 << 20) + 1);
    lab_peer_cusparselt.release(problem);
    lab_peer_cusparselt.close(state);
}

static void peer_that_does_not_start(void **unused)
{
    void *state = NULL;
    (void)unused;
    setenv("TESSERA_CUSPARSELT_PATH", "/nowhere/at-all", 1);
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_NO_DEVICE);
    assert_error("cuSPARSELt: TESSERA_CUSPARSELT_PATH = \"/nowhere/at-all\" is no library, and no folder with one");
    setenv("TESSERA_CUSPARSELT_PATH", FAKE_CUDA_DIR, 1); /* a folder */
    assert_int_equal(lab_peer_cusparselt.open(1, 0, &state), TSR_NO_DEVICE);
    assert_error("cuda:1");
    setenv("TESSERA_CUSPARSELT_PATH", FAKE_CUDA_DIR "/libcusparseLt.so.0", 1); /* and a file */
    slt.state->fail_call = "cusparseLtInit";
    slt.state->fail_status = 4;
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_DRIVER_ERROR);
    assert_string_equal(tsr_last_error(), "cusparseLtInit: CUSPARSE_STATUS_OTHER (4)");
    slt.state->fail_call = NULL;
    slt.state->version = 502;
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_UNSUPPORTED);
    assert_string_equal(tsr_last_error(), "cuSPARSELt 0.5.2: versions before 0.6 are not known here");
    slt.state->version = 1000;
    cuda.state->fail_call = "cuMemAlloc";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_OUT_OF_MEMORY);
    setenv("TESSERA_CUSPARSELT_PATH", FAKE_CUDA_DIR "/libcuda.so.1", 1);
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_UNSUPPORTED);
    assert_error("cuSPARSELt has no cusparseLtInit");
    assert_null(state);
}

static void versions_are_read(void **unused)
{
    static const struct {
        int number;
        const char *text;
    } versions[] = {{600, "cuSPARSELt 0.6.0"},
                    {801, "cuSPARSELt 0.8.1"},
                    {1002, "cuSPARSELt 0.10.2"},
                    {1000203, "cuSPARSELt 1.2.3"}};
    void *state = open_peer();
    char text[64];
    (void)unused;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        slt.state->version = versions[i].number;
        lab_peer_cusparselt.version(state, text, sizeof text);
        assert_string_equal(text, versions[i].text);
    }
    lab_peer_cusparselt.close(state);
}

/* 0.6 names no statuses, and has nothing to destroy an algorithm with. */
static void older_library_works_too(void **unused)
{
    void *const library = dlopen(OLD_DIR "/libcusparseLt.so.0", RTLD_NOW | RTLD_NODELETE), *state = NULL, *problem;
    const fake_slt_access *const old = library ? dlsym(library, "fake_slt_access_points") : NULL;
    char text[64];
    int choices = 0;
    (void)unused;
    assert_non_null(old);
    setenv("TESSERA_CUSPARSELT_PATH", OLD_DIR, 1);
    assert_int_equal(lab_peer_cusparselt.open(0, 0, &state), TSR_OK);
    lab_peer_cusparselt.version(state, text, sizeof text);
    assert_string_equal(text, "cuSPARSELt 0.6.3");
    const tsr_gemm_desc desc = describe(&cases[0], 0);
    assert_int_equal(lab_peer_cusparselt.prepare(state, &desc, &problem, &choices), TSR_OK);
    assert_int_equal(choices, 2);
    lab_peer_cusparselt.release(problem);
    old->state->fail_call = "cusparseLtMatmulPlanInit";
    old->state->fail_status = 3;
    assert_int_equal(lab_peer_cusparselt.prepare(state, &desc, &problem, &choices), TSR_DRIVER_ERROR);
    assert_string_equal(tsr_last_error(), "cusparseLtMatmulPlanInit: status (3)");
    lab_peer_cusparselt.close(state);
    assert_int_equal(old->state->handles + old->state->matrices + old->state->plans + old->state->object_errors, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, check_clean)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(peer_computes_our_layouts), TEST(peer_says_what_it_lacks),  TEST(calls_that_fail_are_named),
        TEST(memory_runs_short),         TEST(peer_that_does_not_start), TEST(versions_are_read),
        TEST(older_library_works_too),
    };
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    cuda = fake_cuda_find();
    void *library = dlopen("libcusparseLt.so.0", RTLD_NOW | RTLD_NODELETE);
    const fake_slt_access *access_points = library ? dlsym(library, "fake_slt_access_points") : NULL;
    if (!access_points) {
        fprintf(stderr, "libcusparseLt.so.0 is not the fake library\n");
        return 1;
    }
    slt = *access_points;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
