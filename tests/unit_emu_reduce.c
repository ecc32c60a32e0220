/* The launch that adds the sums of parts of K: any number of parts and of warps for them, either orientation, edges,
 * batches, C. Sums are small integers, so results must be exact. Mutants (emu/mutants.cmake) must be caught, by the
 * emulator or by a wrong result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config.h"
#include "emu/run_launch.h"
#include "plan/split_reduce.h"

typedef void kernel_reduce(const tsr_reduce_args args);
kernel_reduce unit_emu_reduce_mutant_none;
#define MUTANT(name, says) kernel_reduce unit_emu_reduce_mutant_##name;
#include "mutants.def"
#undef MUTANT
static const struct {
    const char *name;
    kernel_reduce *kernel;
    const char *says;
} mutants[] = {
#define MUTANT(name, says) {#name, unit_emu_reduce_mutant_##name, says},
#include "mutants.def"
#undef MUTANT
};

enum { SHORT = 37, LONG = 201, BATCH = 2, GAP = 3, MOST_PARTS = 70, COLUMNS = 16, ROWS = 128 };
enum { TILES = (SHORT + COLUMNS - 1) / COLUMNS * 2 * BATCH, MOST_D = BATCH * LONG * (LONG + GAP) };

static const tsr_config config = {.bm = COLUMNS, .bn = ROWS, .cluster_m = 1, .cluster_n = 2, .swaps_ab = 1};
static const tsr_config reduce_config = {.threads_x = 256, .threads_y = 1};

typedef struct problem {
    int m, n, parts, beta, epilogue;
} problem;

typedef struct matrices {
    float c[MOST_D], d[MOST_D], bias[LONG + 3]; /* the workspace stays aligned */
    struct {
        unsigned counters[TSR_WORKSPACE_COUNTER_BYTES / 4];
        float sums[TILES * MOST_PARTS * ROWS * COLUMNS];
    } workspace;
} matrices;

static matrices *make_matrices(void)
{
    matrices *m = test_malloc(sizeof *m);
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof m->workspace.sums / sizeof(float); i++)
        m->workspace.sums[i] = (float)((state = state * 1664525u + 1013904223u) >> 25) - 64;
    for (size_t i = 0; i < sizeof m->c / sizeof(float); i++)
        m->c[i] = (float)(i % 5);
    for (int j = 0; j < LONG; j++)
        m->bias[j] = (float)(j % 9 * 50 - 200);
    memset(m->workspace.counters, 0, sizeof m->workspace.counters);
    return m;
}

static tsr_gemm_args args_of(const problem *p, matrices *m)
{
    return (tsr_gemm_args){.c = p->beta ? m->c : NULL,
                           .d = m->d,
                           .workspace = &m->workspace,
                           .m = p->m,
                           .n = p->n,
                           .k = 1,
                           .ldc = p->n + GAP,
                           .ldd = p->n + GAP,
                           .batch_c = (long long)p->m * (p->n + GAP),
                           .batch_d = (long long)p->m * (p->n + GAP),
                           .batch = BATCH,
                           .alpha = 2,
                           .beta = p->beta,
                           .bias = p->epilogue ? m->bias : NULL,
                           .epilogue = p->epilogue,
                           .schedule = {.split_k = p->parts, .cluster_k = 1, .swap_ab = p->m <= p->n}};
}

static tsr_status run(kernel_reduce *kernel, const problem *p, matrices *m, unsigned long long seed)
{
    const tsr_gemm_args product = args_of(p, m);
    const tsr_reduce_args args = tsr_split_reduce_args(&config, &product);
    const tsr_emu_job job = {.name = "reduce",
                             .kernel = (void (*)(const tsr_gemm_args))(void (*)(void))kernel,
                             .is_dependent = 1,
                             .reduce = &args,
                             .dtype_a = TSR_BF16,
                             .dtype_b = TSR_BF16,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = tsr_split_reduce_grid(&reduce_config, &args),
                             .threads_x = 256,
                             .threads_y = 1,
                             .shared_bytes = 8 * 128 * 4,
                             .workspace_bytes = sizeof m->workspace,
                             .seed = seed,
                             .workers = 2};
    memset(m->d, 0x55, sizeof m->d);
    return tsr_emu_run(&job);
}

/* Which four floats of a block of 16 x 8 have row r, column c, and which of the four: kernels/ptx/wgmma.h. */
static int place_of(int r, int c)
{
    return (r % 8 * 4 + c / 2) * 4 + r / 8 * 2 + c % 2;
}

static float expected(const problem *p, const matrices *m, int z, int i, int j)
{
    const int swap_ab = p->m <= p->n, l = swap_ab ? j : i, s = swap_ab ? i : j;
    const int tiles_short = ((swap_ab ? p->m : p->n) + COLUMNS - 1) / COLUMNS;
    const int tile = (z * tiles_short + s / COLUMNS) * 2 + l / ROWS;
    const int eights = COLUMNS / 8;
    const int block = ((tile * (ROWS / 64) + l % ROWS / 64) * eights + s % COLUMNS / 8) * 4 + l % 64 / 16;
    float sum = 0;
    for (int part = 0; part < p->parts; part++)
        sum += m->workspace.sums[(block * p->parts + part) * 128 + place_of(l % 16, s % 8)];
    const int at = (z * p->m + i) * (p->n + GAP) + j;
    const float value = 2 * sum + (p->beta ? (float)p->beta * m->c[at] : 0) + (p->epilogue ? m->bias[j] : 0);
    return p->epilogue == TSR_EPILOGUE_BIAS_RELU && value < 0 ? 0 : value;
}

/* 1 if D is as it must be, and what lies between its rows as it was. */
static int is_exact(const problem *p, const matrices *m)
{
    for (int z = 0; z < BATCH; z++)
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n + GAP; j++) {
                const float have = m->d[(z * p->m + i) * (p->n + GAP) + j];
                uint32_t bits;
                memcpy(&bits, &have, sizeof bits);
                if (j < p->n ? have != expected(p, m, z, i, j) : bits != 0x55555555)
                    return 0;
            }
    return 1;
}

static void parts_add_up(void **state)
{
    (void)state;
    static const int parts[] = {1, 2, 7, 8, 9, 15, 16, 31, 32, 33, MOST_PARTS};
    matrices *m = make_matrices();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (int swap_ab = 0; swap_ab < 2; swap_ab++) {
            const problem p = {swap_ab ? SHORT : LONG, swap_ab ? LONG : SHORT, parts[i], (int)i % 3 - 1,
                               (int)i / 2 % TSR_EPILOGUE_COUNT};
            if (run(unit_emu_reduce_mutant_none, &p, m, i) != TSR_OK)
                fail_msg("%d parts: %s", parts[i], tsr_last_error());
            if (!is_exact(&p, m))
                fail_msg("%d parts, %d x %d: wrong", parts[i], p.m, p.n);
        }
    test_free(m);
}

/* The least D: most of the only block lies beyond it. */
static void one_element(void **state)
{
    (void)state;
    const problem p = {1, 1, 3, 2, TSR_EPILOGUE_BIAS_RELU};
    matrices *m = make_matrices();
    assert_int_equal(run(unit_emu_reduce_mutant_none, &p, m, 5), TSR_OK);
    assert_true(is_exact(&p, m));
    test_free(m);
}

static void every_mutant_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mutants / sizeof mutants[0]; i++) {
        int caught = 0;
        for (unsigned long long seed = 0; seed < 4; seed++) {
            const problem p = {seed % 2 ? SHORT : LONG, seed % 2 ? LONG : SHORT, 63, 0, 1 + (int)(seed / 2)};
            matrices *m = make_matrices();
            const tsr_status status = run(mutants[i].kernel, &p, m, seed);
            caught += status == TSR_KERNEL_FAULT ? strstr(tsr_last_error(), mutants[i].says) != NULL
                                                 : mutants[i].says[0] == '\0' && !is_exact(&p, m);
            test_free(m);
        }
        print_message("%s: %d of 4 seeds\n", mutants[i].name, caught);
        if (caught == 0)
            fail_msg("%s was not caught", mutants[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(one_element),
        cmocka_unit_test(every_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
