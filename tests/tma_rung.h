/* A rung that the copy engine feeds, on small problems of every kind, as it is and with bugs in it (tma_mutants.h):
 * each mutant must be caught, by a fault of the emulator with the right words or by a wrong result. */
#ifndef TESTS_TMA_RUNG_H
#define TESTS_TMA_RUNG_H

#include "core/config.h"
#include "tma_mutants.h"

typedef struct shape {
    int m, n, k, batch, shares_b, trans_a, trans_b, pad_d, gap_d;
    double beta;
} shape;

/* C and D are f32; CTAs walk over tiles, or each tile has one. */
typedef struct tma_rung {
    tsr_config config;
    int threads, shared_bytes;
    int ctas; /* 0: one for each tile of a problem of the batch */
    const shape *shapes;
    int shape_count;
} tma_rung;

enum { SEEDS = 2, MOST = 1 << 17, ROW_BYTES = 16 /* rows of A and B begin at multiples of it */ };

typedef struct matrices {
    unsigned char stored_a[MOST * 4], stored_b[MOST * 4]; /* as the kernel reads them */
    float a[MOST], b[MOST], c[MOST], d[MOST], bias[MOST];
} matrices;

/* 0 to 3: sums are exact. */
static matrices *make_matrices(const tma_rung *rung)
{
    matrices *x = aligned_alloc(ROW_BYTES, sizeof *x);
    assert_non_null(x);
    uint32_t state = 1;
    for (int i = 0; i < MOST; i++) {
        x->a[i] = (float)((state = state * 1664525u + 1013904223u) >> 30);
        x->b[i] = (float)((state = state * 1664525u + 1013904223u) >> 30);
        x->c[i] = (float)(i % 5);
        x->bias[i] = (float)(i % 6 * -100);
        tsr_store_element(tsr_op_of(&rung->config.op).a, x->stored_a, i, (double)x->a[i]);
        tsr_store_element(tsr_op_of(&rung->config.op).a, x->stored_b, i, (double)x->b[i]);
    }
    return x;
}

static tsr_gemm_args args_of(const tma_rung *rung, const shape *s, matrices *x)
{
    const long long whole = ROW_BYTES / (long long)tsr_dtype_bytes(tsr_op_of(&rung->config.op).a);
    const long long lda = ((s->trans_a ? s->m : s->k) + whole - 1) / whole * whole;
    const long long ldb = ((s->trans_b ? s->k : s->n) + whole - 1) / whole * whole;
    const long long ldd = s->n + s->pad_d;
    return (tsr_gemm_args){.a = x->stored_a,
                           .b = x->stored_b,
                           .c = s->beta != 0 ? x->c : NULL,
                           .d = x->d,
                           .m = s->m,
                           .n = s->n,
                           .k = s->k,
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = ldd,
                           .ldd = ldd,
                           .batch = s->batch,
                           .batch_a = lda * (s->trans_a ? s->k : s->m),
                           .batch_b = s->shares_b ? 0 : ldb * (s->trans_b ? s->n : s->k),
                           .batch_c = ldd * s->m + s->gap_d,
                           .batch_d = ldd * s->m + s->gap_d,
                           .alpha = 1,
                           .beta = s->beta,
                           .trans_a = s->trans_a,
                           .trans_b = s->trans_b,
                           .type_a = (int)tsr_op_of(&rung->config.op).a,
                           .type_b = (int)tsr_op_of(&rung->config.op).a,
                           .type_d = (int)tsr_op_of(&rung->config.op).d,
                           .bias = x->bias,
                           .epilogue = (int)((s - rung->shapes) % TSR_EPILOGUE_COUNT)};
}

static tsr_status run(const tma_rung *rung, kernel_tma *kernel, const tsr_gemm_args *g, unsigned long long seed)
{
    const tsr_config *config = &rung->config;
    const long long tiles = (g->m + config->bm - 1) / config->bm * ((g->n + config->bn - 1) / config->bn);
    const tsr_emu_job job = {.grid = {rung->ctas > 0 ? rung->ctas : tiles, 1, 1},
                             .threads_x = rung->threads,
                             .shared_bytes = rung->shared_bytes,
                             .seed = seed,
                             .workers = 2};
    return run_mutant(kernel, config, g, NULL, job);
}

static int is_right(const tsr_gemm_args *g, const matrices *x)
{
    for (long long z = 0; z < g->batch; z++)
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j++) {
                const float *const a = x->a + z * g->batch_a, *const b = x->b + z * g->batch_b;
                const long long at = z * g->batch_d + i * g->ldd + j;
                float sum = g->beta != 0 ? (float)g->beta * x->c[at] : 0;
                for (long long k = 0; k < g->k; k++)
                    sum += a[g->trans_a ? k * g->lda + i : i * g->lda + k] *
                           b[g->trans_b ? j * g->ldb + k : k * g->ldb + j];
                if (g->epilogue)
                    sum += x->bias[j];
                if (g->epilogue == TSR_EPILOGUE_BIAS_RELU && sum < 0)
                    sum = 0;
                if (x->d[at] != sum)
                    return 0;
            }
    return 1;
}

/* 1 if some run fails as `says` tells; what was said last. */
static int is_caught(const tma_rung *rung, kernel_tma *kernel, const char *says, matrices *x, char said[300])
{
    snprintf(said, 300, "passes");
    for (int s = 0; s < rung->shape_count; s++)
        for (unsigned long long seed = 0; seed < SEEDS; seed++) {
            const tsr_gemm_args g = args_of(rung, &rung->shapes[s], x);
            memset(x->d, 0x7f, sizeof x->d);
            const tsr_status status = run(rung, kernel, &g, seed);
            if (status == TSR_OK && is_right(&g, x))
                continue;
            snprintf(said, 300, "%s", status == TSR_OK ? "wrong result" : tsr_last_error());
            if ((status == TSR_OK || status == TSR_KERNEL_FAULT) && strstr(said, says))
                return 1;
        }
    return 0;
}

/* Tests of cmocka; their state is the rung. */
static void the_kernel_is_right(void **state)
{
    matrices *x = make_matrices(*state);
    char said[300];
    is_caught(*state, MUTANT_KERNEL(none), "", x, said);
    assert_string_equal(said, "passes");
    free(x);
}

static void every_mutant_is_caught(void **state)
{
    int missed = 0;
    matrices *x = make_matrices(*state);
    for (int i = 0; i < MUTANTS; i++) {
        const int is_equivalent = strcmp(mutants[i].says, "equivalent") == 0;
        char said[300];
        const int caught = is_caught(*state, mutants[i].kernel, is_equivalent ? "" : mutants[i].says, x, said);
        print_message("%s: %s\n", mutants[i].name, said);
        if (caught == is_equivalent)
            print_error("%s: expected \"%s\", but: %s\n", mutants[i].name, mutants[i].says, said);
        missed += caught == is_equivalent;
    }
    free(x);
    print_message("%d mutants\n", MUTANTS);
    assert_int_equal(missed, 0);
}

static int run_tests_of(tma_rung *rung)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_kernel_is_right, rung),
        cmocka_unit_test_prestate(every_mutant_is_caught, rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
