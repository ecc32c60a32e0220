/* The tensor cores' twins against an H200's answers (twins/h200.def, made by tools/gpu-twins): bit for bit, NaNs and
 * infinities and all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emu/run.h"
#include "twins/operands.h"

typedef void kernel(const tsr_gemm_args args);
#define DECLARE(name, ...) kernel twin_##name;
TWINS(DECLARE)
/* A from registers: the same operands, so the same answers. */
kernel twin_register_bf16, twin_register_tf32, twin_register_e4m3, twin_register_s8;
kernel twin_register_f16_f16, twin_register_e4m3_f16;

typedef struct twin {
    const char *name;
    kernel *function;
    twin_format format;
    uint64_t hashes[TWIN_CASES]; /* of the hardware's answers; 0: there is none */
} twin;

enum {
#define NUMBER(name, ...) TWIN_##name,
    TWINS(NUMBER) TWIN_COUNT
};

static twin twins[] = {
#define ENTRY(name, ...) {#name, twin_##name, {__VA_ARGS__}, {0}},
    TWINS(ENTRY)};

typedef struct batch {
    uint32_t a[TWIN_CASES][TWIN_M * TWIN_ROW_WORDS], b[TWIN_CASES][TWIN_N * TWIN_ROW_WORDS];
    uint32_t c[TWIN_CASES][TWIN_M * TWIN_N], d[TWIN_CASES][TWIN_M * TWIN_N];
} batch;

static void run(const twin *t, batch *x)
{
    for (int i = 0; i < TWIN_CASES; i++) {
        static twin_case one;
        twin_make(&t->format, i, &one);
        memcpy(x->a[i], one.a, sizeof one.a);
        memcpy(x->b[i], one.b, sizeof one.b);
        memcpy(x->c[i], one.c, sizeof one.c);
    }
    const tsr_gemm_args args = {.a = x->a,
                                .b = x->b,
                                .c = x->c,
                                .d = x->d,
                                .m = TWIN_M,
                                .n = TWIN_N,
                                .k = TWIN_ROW_WORDS,
                                .lda = TWIN_ROW_WORDS,
                                .ldb = TWIN_ROW_WORDS,
                                .ldc = TWIN_N,
                                .ldd = TWIN_N,
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
                             .arch = 90,
                             .args = &args,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {1, 1, TWIN_CASES},
                             .threads_x = 128,
                             .threads_y = 1,
                             .shared_bytes = 4096,
                             .workers = 2};
    if (tsr_emu_run(&job) != TSR_OK)
        fail_msg("%s: %s", t->name, tsr_last_error());
}

static int count_different(const twin *t, const batch *x)
{
    int different = 0;
    for (int i = 0; i < TWIN_CASES; i++)
        different += twin_hash(x->d[i], TWIN_M * TWIN_N) != t->hashes[i];
    print_message("%s: %d of %d cases (%d sums each) differ\n", t->name, different, TWIN_CASES, TWIN_M * TWIN_N);
    return different;
}

static void twins_answer_as_the_hardware(void **state)
{
    (void)state;
#define TWIN(name, number, hash) twins[TWIN_##name].hashes[number] = hash;
#include "twins/h200.def"
#undef TWIN
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twins_answer_as_the_hardware)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
