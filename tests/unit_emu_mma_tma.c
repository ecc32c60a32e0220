/* mma.sync fed by the copy engine: the mma-tma rung as it is, with a warp that asks for boxes between its products, and
 * mutants of it (emu/mutants.cmake), each of which must be caught: by a fault of the emulator with the right words, or
 * by a wrong result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/row.h"
#include "emu/run.h"

typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
kernel_tma unit_emu_mma_tma_mutant_none;
#define MUTANT(name, says) kernel_tma unit_emu_mma_tma_mutant_##name;
#include "mutants.def"
#undef MUTANT

/* What must be said of it: "" for any fault or a wrong result; "equivalent" if nothing must. */
typedef struct mutant {
    const char *name;
    kernel_tma *kernel;
    const char *says;
} mutant;
static const mutant mutants[] = {
#define MUTANT(name, says) {#name, unit_emu_mma_tma_mutant_##name, says},
#include "mutants.def"
#undef MUTANT
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0] };

/* The constants of emu/mutants.cmake. */
enum { BM = 128, BN = 64, BK = 64, WARPS = 2, STAGES = 3, LINES = 8, PITCH = 64 + 8 };

static const tsr_row row = {.instance = "mma_tma",
                            .kind = TSR_ROW_CUDA,
                            .dtype_ab = TSR_BF16,
                            .dtype_cd = TSR_F32,
                            .bm = BM,
                            .bn = BN,
                            .bk = BK,
                            .tma = 1,
                            .cluster_m = 1,
                            .cluster_n = 1};

/* Every transpose; tails along all of M, N and K; more steps along K than stages, and none; several tiles; batches, one
 * of which shares B; D in whole accesses and in single elements, because of its rows or of its batch. */
typedef struct shape {
    int m, n, k, batch, shares_b, trans_a, trans_b, pad_d, gap_d;
    double beta;
} shape;
static const shape shapes[] = {{140, 72, 264, 2, 0, 0, 0, 0, 0, 0}, {136, 33, 330, 1, 0, 1, 0, 3, 0, 1},
                               {37, 63, 72, 2, 0, 0, 1, 1, 0, 0},   {128, 68, 392, 1, 0, 1, 1, 0, 0, 1},
                               {6, 136, 8, 3, 1, 1, 0, 0, 1, 0},    {20, 8, 0, 1, 0, 0, 0, 0, 0, 1}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], SEEDS = 2, MOST = 1 << 17 };

typedef struct matrices {
    uint16_t a[MOST], b[MOST];
    float c[MOST], d[MOST];
} matrices;

/* 0 to 3 as bf16: sums are exact. */
static const uint16_t of_int[4] = {0, 0x3f80, 0x4000, 0x4040};

static float to_float(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static matrices *make_matrices(void)
{
    matrices *x = aligned_alloc(16, sizeof *x);
    assert_non_null(x);
    uint32_t state = 1;
    for (int i = 0; i < MOST; i++) {
        x->a[i] = of_int[(state = state * 1664525u + 1013904223u) >> 30];
        x->b[i] = of_int[(state = state * 1664525u + 1013904223u) >> 30];
        x->c[i] = (float)(i % 5);
    }
    return x;
}

static long long eights(int elements)
{
    return (elements + 7) / 8 * 8;
}

static tsr_gemm_args args_of(const shape *s, matrices *x)
{
    const long long lda = eights(s->trans_a ? s->m : s->k), ldb = eights(s->trans_b ? s->k : s->n),
                    ldd = s->n + s->pad_d;
    return (tsr_gemm_args){.a = x->a,
                           .b = x->b,
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
                           .trans_b = s->trans_b};
}

/* Fewer CTAs than tiles, so that each does some. */
static tsr_status run(kernel_tma *kernel, const tsr_gemm_args *g, unsigned long long seed)
{
    tsr_tensor_spec specs[4];
    tsr_tensor_maps maps;
    memset(&maps, 0, sizeof maps);
    tsr_row_tensor_specs(&row, g, TSR_BF16, TSR_F32, specs);
    tsr_tensor_map *const all[2] = {&maps.a, &maps.b};
    for (int i = 0; i < 2; i++)
        if (specs[i].base) {
            assert_null(tsr_tensor_spec_fault(&specs[i]));
            tsr_emu_encode(&specs[i], all[i]);
        }
    const tsr_emu_job job = {.name = "mma_tma",
                             .kernel_tma = kernel,
                             .maps = &maps,
                             .arch = 90,
                             .is_dependent = 1,
                             .args = g,
                             .dtype_a = TSR_BF16,
                             .dtype_b = TSR_BF16,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {2, 1, 1},
                             .threads_x = WARPS * 32,
                             .threads_y = 1,
                             .shared_bytes = STAGES * (2 * BK * (BM + BN) + 16) + WARPS * LINES * PITCH * sizeof(float),
                             .seed = seed,
                             .workers = 2};
    return tsr_emu_run(&job);
}

static int is_right(const tsr_gemm_args *g, const matrices *x)
{
    for (long long z = 0; z < g->batch; z++)
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j++) {
                const uint16_t *const a = x->a + z * g->batch_a, *const b = x->b + z * g->batch_b;
                const long long at = z * g->batch_d + i * g->ldd + j;
                float sum = g->beta != 0 ? (float)g->beta * x->c[at] : 0;
                for (long long k = 0; k < g->k; k++)
                    sum += to_float(a[g->trans_a ? k * g->lda + i : i * g->lda + k]) *
                           to_float(b[g->trans_b ? j * g->ldb + k : k * g->ldb + j]);
                if (x->d[at] != sum)
                    return 0;
            }
    return 1;
}

/* 1 if some run fails as `says` tells; what was said last. */
static int is_caught(kernel_tma *kernel, const char *says, matrices *x, char said[300])
{
    snprintf(said, 300, "passes");
    for (int s = 0; s < SHAPES; s++)
        for (unsigned long long seed = 0; seed < SEEDS; seed++) {
            const tsr_gemm_args g = args_of(&shapes[s], x);
            memset(x->d, 0x7f, sizeof x->d);
            const tsr_status status = run(kernel, &g, seed);
            if (status == TSR_OK && is_right(&g, x))
                continue;
            snprintf(said, 300, "%s", status == TSR_OK ? "wrong result" : tsr_last_error());
            if ((status == TSR_OK || status == TSR_KERNEL_FAULT) && strstr(said, says))
                return 1;
        }
    return 0;
}

static void the_kernel_is_right(void **state)
{
    (void)state;
    matrices *x = make_matrices();
    char said[300];
    is_caught(unit_emu_mma_tma_mutant_none, "", x, said);
    assert_string_equal(said, "passes");
    free(x);
}

static void every_mutant_is_caught(void **state)
{
    (void)state;
    int missed = 0;
    matrices *x = make_matrices();
    for (int i = 0; i < MUTANTS; i++) {
        const int is_equivalent = strcmp(mutants[i].says, "equivalent") == 0;
        char said[300];
        const int caught = is_caught(mutants[i].kernel, is_equivalent ? "" : mutants[i].says, x, said);
        print_message("%s: %s\n", mutants[i].name, said);
        if (caught == is_equivalent)
            print_error("%s: expected \"%s\", but: %s\n", mutants[i].name, mutants[i].says, said);
        missed += caught == is_equivalent;
    }
    free(x);
    print_message("%d mutants\n", MUTANTS);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_is_right),
        cmocka_unit_test(every_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
