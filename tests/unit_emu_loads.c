/* The Hopper kernel whose threads load rows that begin anywhere: every layout, rows with and without gaps, bases and
 * problems between multiples of 16 bytes, K whole and cut. Inputs are small integers, so results must be exact; what is
 * no element of A, B or C is NaN. Mutants (emu/mutants.cmake) must be caught. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "emu/run.h"

typedef void kernel(const tsr_gemm_args args);
kernel unit_emu_loads_mutant_none;
#define MUTANT(name, says) kernel unit_emu_loads_mutant_##name;
#include "mutants.def"
#undef MUTANT

typedef struct mutant {
    const char *name;
    kernel *kernel;
    const char *says;
} mutant;
static const mutant mutants[] = {
#define MUTANT(name, says) {#name, unit_emu_loads_mutant_##name, says},
#include "mutants.def"
#undef MUTANT
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0] };

enum { TILE = 64, STAGES = 3, M = 130, N = 75, K = 203, BATCH = 2, OFFSET = 3, MOST_GAP = 9 };
enum { MOST_ELEMS = OFFSET + BATCH * (K + MOST_GAP) * (K + MOST_GAP) };
enum { TILES = ((M + TILE - 1) / TILE) * ((N + TILE - 1) / TILE) * BATCH, MOST_SPLIT = 2, BF16_NAN = 0x7fff };

typedef struct problem {
    int trans_a, trans_b, gap, split;
    double beta;
} problem;

typedef struct workspace {
    _Alignas(256) unsigned counters[TSR_WORKSPACE_COUNTER_BYTES / 4];
    float sums[TILES * MOST_SPLIT * TILE * TILE];
} workspace;

typedef struct matrices {
    workspace workspace;
    uint16_t a[MOST_ELEMS], b[MOST_ELEMS], c[MOST_ELEMS], d[MOST_ELEMS];
} matrices;

static tsr_gemm_args args_of(const problem *p, matrices *m)
{
    const int lda = (p->trans_a ? M : K) + p->gap, ldb = (p->trans_b ? K : N) + p->gap, ldd = N + p->gap;
    return (tsr_gemm_args){.a = m->a + OFFSET,
                           .b = m->b + OFFSET,
                           .c = p->beta != 0 ? m->c + OFFSET : NULL,
                           .d = m->d + OFFSET,
                           .workspace = &m->workspace,
                           .m = M,
                           .n = N,
                           .k = K,
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = ldd,
                           .ldd = ldd,
                           .batch_a = (long long)lda * (p->trans_a ? K : M),
                           .batch_b = (long long)ldb * (p->trans_b ? N : K),
                           .batch_c = (long long)ldd * M,
                           .batch_d = (long long)ldd * M,
                           .batch = BATCH,
                           .alpha = 0.5,
                           .beta = p->beta,
                           .trans_a = p->trans_a,
                           .trans_b = p->trans_b,
                           .split = p->split};
}

/* -1, 0, 1 or 2 for elements of the operand, NaN around them. */
static void fill(uint16_t *array, long long rows, long long columns, long long ld, uint32_t state)
{
    for (int i = 0; i < MOST_ELEMS; i++)
        array[i] = BF16_NAN;
    for (long long row = 0; row < rows * BATCH; row++)
        for (long long column = 0; column < columns; column++)
            array[OFFSET + row * ld + column] =
                tsr_f32_to_bf16((float)((state = state * 1664525u + 1013904223u) >> 30) - 1.0f);
}

static matrices *make_matrices(const problem *p)
{
    matrices *m = aligned_alloc(_Alignof(matrices), sizeof *m);
    assert_non_null(m);
    const tsr_gemm_args g = args_of(p, m);
    fill(m->a, p->trans_a ? K : M, p->trans_a ? M : K, g.lda, 1);
    fill(m->b, p->trans_b ? N : K, p->trans_b ? K : N, g.ldb, 2);
    fill(m->c, M, N, g.ldc, 3);
    memset(m->d, 0x55, sizeof m->d);
    memset(&m->workspace, 0, sizeof m->workspace.counters);
    memset(m->workspace.sums, 0xff, sizeof m->workspace.sums);
    return m;
}

static tsr_status run(kernel *function, const problem *p, matrices *m, unsigned long long seed)
{
    const tsr_gemm_args args = args_of(p, m);
    const tsr_emu_job job = {.name = "loads",
                             .kernel = function,
                             .arch = 90,
                             .is_dependent = 1,
                             .args = &args,
                             .dtype_a = TSR_BF16,
                             .dtype_b = TSR_BF16,
                             .dtype_c = TSR_BF16,
                             .dtype_d = TSR_BF16,
                             .reads_across = 1,
                             .grid = {3, 1, 1},
                             .threads_x = 512,
                             .threads_y = 1,
                             .shared_bytes = STAGES * 2 * TILE * 128 + 2 * 8192 + 16 * STAGES + 8,
                             .workspace_bytes = p->split > 1 ? sizeof m->workspace : 0,
                             .seed = seed,
                             .workers = 2};
    return tsr_emu_run(&job);
}

static float element(const void *matrix, long long index)
{
    return tsr_bf16_to_f32(((const uint16_t *)matrix)[index]);
}

/* D as it must be; the columns between rows of D, and what lies around it, as they were. */
static void assert_exact(const problem *p, matrices *m)
{
    const tsr_gemm_args g = args_of(p, m);
    for (int z = 0; z < BATCH; z++)
        for (int i = 0; i < M; i++) {
            const long long at = OFFSET + z * g.batch_d + i * g.ldd;
            for (int j = 0; j < N; j++) {
                float sum = 0;
                for (int k = 0; k < K; k++)
                    sum += element(g.a, z * g.batch_a + (g.trans_a ? k * g.lda + i : i * g.lda + k)) *
                           element(g.b, z * g.batch_b + (g.trans_b ? j * g.ldb + k : k * g.ldb + j));
                const float c = p->beta != 0 ? element(g.c, z * g.batch_c + i * g.ldc + j) : 0;
                assert_int_equal(m->d[at + j], tsr_f32_to_bf16(0.5f * sum + (float)p->beta * c));
                m->d[at + j] = 0x5555;
            }
        }
    for (int i = 0; i < MOST_ELEMS; i++)
        assert_int_equal(m->d[i], 0x5555);
    for (size_t i = 0; i < sizeof m->workspace.counters / sizeof(unsigned); i++)
        assert_int_equal(m->workspace.counters[i], 0);
}

static void rows_may_begin_anywhere(void **state)
{
    (void)state;
    static const int gaps[] = {0, 1, 4, MOST_GAP};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++)
        for (int trans = 0; trans < 4; trans++)
            for (int split = 1; split <= MOST_SPLIT; split++) {
                const problem p = {.trans_a = trans & 1,
                                   .trans_b = trans >> 1,
                                   .gap = gaps[i],
                                   .split = split,
                                   .beta = (trans + split) % 2};
                matrices *m = make_matrices(&p);
                const tsr_status status = run(unit_emu_loads_mutant_none, &p, m, i);
                if (status != TSR_OK)
                    fail_msg("gap %d, %d parts, trans %d: %s", p.gap, split, trans, tsr_last_error());
                assert_exact(&p, m);
                free(m);
            }
}

/* Caught is a fault with the right words; a wrong result without one is not enough. */
static void every_mutant_is_caught(void **state)
{
    (void)state;
    for (int i = 0; i < MUTANTS; i++) {
        int caught = 0;
        char message[600] = "no fault";
        for (unsigned long long seed = 0; seed < 4; seed++) {
            const problem p = {.trans_b = seed % 2, .gap = seed < 2 ? 0 : 1, .split = 1};
            matrices *m = make_matrices(&p);
            if (run(mutants[i].kernel, &p, m, seed) == TSR_KERNEL_FAULT) {
                if (!caught)
                    snprintf(message, sizeof message, "%s", tsr_last_error());
                caught += strstr(tsr_last_error(), mutants[i].says) != NULL;
            }
            free(m);
        }
        print_message("%s: %d of 4 seeds: %s\n", mutants[i].name, caught, message);
        if (caught == 0)
            fail_msg("%s: expected \"%s\", got: %s", mutants[i].name, mutants[i].says, message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_may_begin_anywhere),
        cmocka_unit_test(every_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
