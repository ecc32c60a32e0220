/* The twins of instructions against an H200's answers (twins/h200.def, made by tools/gpu-twins): bit for bit, NaNs and
 * infinities and all. For instructions that have not been compared with hardware yet, twins/predicted.def has what the
 * twins say; tools/gpu-twins compares that with the first GPU that it meets. `unit_emu_twins --predict` writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/run_launch.h"
#include "twins/operands.h"

typedef void kernel(const tsr_gemm_args args);
typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
#define DECLARE(name, ...)     kernel twin_##name;
#define DECLARE_TMA(name, ...) kernel_tma twin_##name;
TWINS(DECLARE)
CLUSTER_TWINS(DECLARE)
TMA_TWINS(DECLARE_TMA)
/* A from registers: the same operands, so the same answers. */
kernel twin_register_bf16, twin_register_tf32, twin_register_e4m3, twin_register_s8;
kernel twin_register_f16_f16, twin_register_e4m3_f16;

typedef struct twin {
    const char *name;
    kernel *function;
    kernel_tma *function_tma; /* the other one is NULL */
    int cluster;
    twin_format format;
    uint64_t hashes[TWIN_CASES]; /* of the hardware's answers, or of predictions; 0: there is none */
    int is_predicted;
} twin;

enum {
#define NUMBER(name, ...) TWIN_##name,
    TWINS(NUMBER) CLUSTER_TWINS(NUMBER) TMA_TWINS(NUMBER) TWIN_COUNT
};

static twin twins[] = {
#define ENTRY(name, ...)         {#name, twin_##name, NULL, 1, {__VA_ARGS__}, {0}, 0},
#define ENTRY_CLUSTER(name, ...) {#name, twin_##name, NULL, TWIN_CLUSTER, {__VA_ARGS__}, {0}, 0},
#define ENTRY_TMA(name, ...)     {#name, NULL, twin_##name, 1, {__VA_ARGS__}, {0}, 0},
    TWINS(ENTRY) CLUSTER_TWINS(ENTRY_CLUSTER) TMA_TWINS(ENTRY_TMA)};

typedef struct batch {
    uint32_t a[TWIN_CASES][TWIN_M * TWIN_ROW_WORDS], b[TWIN_CASES][TWIN_N * TWIN_ROW_WORDS];
    uint32_t c[TWIN_CASES][TWIN_M * TWIN_N], d[TWIN_CASES][TWIN_M * TWIN_N];
} batch;

/* D as rows of 32 bytes of one type; as tests/twins/gpu.cu has it. */
static void make_map(tsr_tensor_map *out, tsr_dtype dtype, int is_unsigned, int element_bytes, const batch *x)
{
    const tsr_tensor_spec spec = {.base = x->d,
                                  .dtype = dtype,
                                  .is_unsigned = is_unsigned,
                                  .rank = 3,
                                  .dims = {32 / element_bytes, TWIN_M, TWIN_CASES},
                                  .strides_bytes = {32, 32 * TWIN_M},
                                  .box = {32 / element_bytes, TWIN_M, 1}};
    assert_null(tsr_tensor_spec_fault(&spec));
    tsr_emu_encode(&spec, out);
}

static void make_maps(const twin *t, tsr_tensor_maps *maps, const batch *x)
{
    memset(maps, 0, sizeof *maps);
    if (t == &twins[TWIN_tma_reduce_integers]) {
        make_map(&maps->a, TSR_S32, 1, 4, x);
        make_map(&maps->b, TSR_S32, 0, 4, x);
    } else {
        make_map(&maps->a, TSR_F16, 0, 2, x);
        make_map(&maps->b, TSR_BF16, 0, 2, x);
        make_map(&maps->c, TSR_F32, 0, 4, x);
        make_map(&maps->d, TSR_F64, 0, 8, x);
    }
}

static void run(const twin *t, batch *x)
{
    for (int i = 0; i < TWIN_CASES; i++) {
        static twin_case one;
        twin_make(&t->format, i, &one);
        memcpy(x->a[i], one.a, sizeof one.a);
        memcpy(x->b[i], one.b, sizeof one.b);
        memcpy(x->c[i], one.c, sizeof one.c);
    }
    /* Kernels other than products see each operand as one row. */
    const int is_flat = t->format.bits == 32 && t->format.exponent_bits == 0;
    const int columns = is_flat ? TWIN_M * TWIN_N : TWIN_N;
    tsr_tensor_maps maps;
    if (t->function_tma)
        make_maps(t, &maps, x);
    const tsr_gemm_args args = {.a = x->a,
                                .b = x->b,
                                .c = x->c,
                                .d = x->d,
                                .m = is_flat ? 1 : TWIN_M,
                                .n = columns,
                                .k = is_flat ? TWIN_M * TWIN_ROW_WORDS : TWIN_ROW_WORDS,
                                .lda = is_flat ? TWIN_M * TWIN_ROW_WORDS : TWIN_ROW_WORDS,
                                .ldb = is_flat ? columns : TWIN_ROW_WORDS,
                                .ldc = columns,
                                .ldd = columns,
                                .batch = TWIN_CASES,
                                .batch_a = TWIN_M * TWIN_ROW_WORDS,
                                .batch_b = TWIN_N * TWIN_ROW_WORDS,
                                .batch_c = TWIN_M * TWIN_N,
                                .batch_d = TWIN_M * TWIN_N,
                                .alpha = 1,
                                .beta = 1,
                                .trans_b = 1};
    const tsr_emu_job job = {.name = t->name,
                             .kernel = t->function,
                             .kernel_tma = t->function_tma,
                             .maps = t->function_tma ? &maps : NULL,
                             .arch = 90,
                             .args = &args,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .cluster = t->cluster,
                             .grid = {t->cluster, 1, TWIN_CASES},
                             .threads_x = 128,
                             .threads_y = 1,
                             .shared_bytes = TWIN_SHARED_BYTES,
                             .workers = 2};
    if (tsr_emu_run(&job) != TSR_OK)
        fail_msg("%s: %s", t->name, tsr_last_error());
}

static int count_different(const twin *t, const batch *x)
{
    int different = 0;
    for (int i = 0; i < TWIN_CASES; i++)
        different += twin_hash(x->d[i], TWIN_M * TWIN_N) != t->hashes[i];
    print_message("%s: %d of %d cases (%d words each) differ from %s\n", t->name, different, TWIN_CASES,
                  TWIN_M * TWIN_N, t->is_predicted ? "the prediction" : "an H200's");
    return different;
}

static void read_hashes(void)
{
#define TWIN(name, number, hash)              \
    twins[TWIN_##name].hashes[number] = hash; \
    twins[TWIN_##name].is_predicted = 1;
#include "twins/predicted.def"
#undef TWIN
#define TWIN(name, number, hash)              \
    twins[TWIN_##name].hashes[number] = hash; \
    twins[TWIN_##name].is_predicted = 0;
#include "twins/h200.def"
#undef TWIN
}

/* What the twins say of instructions that have no answers of hardware. */
static void write_predictions(void)
{
    read_hashes();
    batch *x = malloc(sizeof *x);
    if (!x)
        return;
    printf("/* What the twins say of instructions that have not been compared with hardware yet: by\n"
           " * `unit_emu_twins --predict`. tools/gpu-twins compares. */\n");
    for (int t = 0; t < TWIN_COUNT; t++) {
        if (twins[t].hashes[0] && !twins[t].is_predicted)
            continue;
        run(&twins[t], x);
        for (int i = 0; i < TWIN_CASES; i++)
            printf("TWIN(%s, %d, 0x%016llx)\n", twins[t].name, i,
                   (unsigned long long)twin_hash(x->d[i], TWIN_M * TWIN_N));
    }
    free(x);
}

static void twins_answer_as_the_hardware(void **state)
{
    (void)state;
    read_hashes();
    batch *x = test_malloc(sizeof *x);
    int wrong = 0;
    for (int t = 0; t < TWIN_COUNT; t++) {
        run(&twins[t], x);
        wrong += count_different(&twins[t], x);
    }
    static const struct {
        int as;
        const char *name;
        kernel *function;
    } registers[] = {{TWIN_wgmma_bf16, "register_bf16", twin_register_bf16},
                     {TWIN_wgmma_tf32, "register_tf32", twin_register_tf32},
                     {TWIN_wgmma_e4m3, "register_e4m3", twin_register_e4m3},
                     {TWIN_wgmma_s8, "register_s8", twin_register_s8},
                     {TWIN_wgmma_f16_f16, "register_f16_f16", twin_register_f16_f16},
                     {TWIN_wgmma_e4m3_f16, "register_e4m3_f16", twin_register_e4m3_f16}};
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++) {
        twin t = twins[registers[i].as];
        t.name = registers[i].name;
        t.function = registers[i].function;
        run(&t, x);
        wrong += count_different(&t, x);
    }
    assert_int_equal(wrong, 0);
    test_free(x);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--predict") == 0) {
        write_predictions();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(twins_answer_as_the_hardware)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
