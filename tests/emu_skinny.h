/* The memory-bound Hopper kernel with K cut into parts: sums of a cluster through shared memory; of more parts than
 * that through the workspace, where a second launch adds them. Inputs are small integers, so results must be exact.
 * Mutants (emu/mutants.cmake) must be caught. For tests that say whether the kernel's tiles are WIDE and may leave
 * WHOLE, and name its mutants (MUTANT_KERNEL). */
#ifndef TSR_TESTS_EMU_SKINNY_H
#define TSR_TESTS_EMU_SKINNY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/device_code.h"
#include "core/dtype.h"
#include "emu/hopper.h"
#include "emu/run_launch.h"
#include "plan/split_reduce.h"
#include "sanitized.h"

#include "tma_mutants.h"

enum {
    BM = WHOLE ? 72 : 32, /* 72: the last 8 columns leave by an instruction of their own */
    BN = 64,
    RING_BYTES = 49152,
    STAGES = RING_BYTES / (128 * (BM + BN)),
    SHORT = WHOLE ? 70 : 10,
    LONG = 200,
    K = 616,
    BATCH = 2,
    PAD = 8
};
enum { SHARE = WHOLE ? 1 : 2, PARTS = 4, STAGING_BYTES = BM * BN * 3 };
enum { MOST_LD = K + PAD, MOST_ROWS = K, MOST_SPLIT = 70, TILES = (LONG + BN - 1) / BN * BATCH };

static const tsr_config config = {.instance = "skinny",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 64,
                                  .cluster_m = 1,
                                  .cluster_n = SHARE,
                                  .swaps_ab = 1,
                                  .tma = 1};

typedef struct problem {
    /* cluster: parts of K in one, for each of the SHARE tiles; outers: clusters that share a tile */
    int m, n, trans_a, trans_b, cluster, outers;
    double beta;
} problem;

typedef struct matrices {
    uint16_t a[BATCH * MOST_ROWS * MOST_LD], b[BATCH * MOST_ROWS * MOST_LD], d[BATCH * LONG * MOST_LD];
    uint16_t c[BATCH * LONG * MOST_LD], bias[LONG];
    struct {
        unsigned counters[TSR_WORKSPACE_COUNTER_BYTES / 4];
        float sums[TILES * MOST_SPLIT * BM * BN];
    } workspace;
} matrices;

static int tight(int columns)
{
    return (columns + 7) / 8 * 8;
}

/* -1, 0, 1 or 2: whatever K up to 616, sums of products fit into the 24 bits of a float. */
static matrices *make_matrices(void)
{
    matrices *m = test_malloc(sizeof *m);
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof m->a / sizeof m->a[0]; i++) {
        m->a[i] = tsr_f32_to_bf16((float)((state = state * 1664525u + 1013904223u) >> 30) - 1.0f);
        m->b[i] = tsr_f32_to_bf16((float)((state = state * 1664525u + 1013904223u) >> 30) - 1.0f);
    }
    for (size_t i = 0; i < sizeof m->c / sizeof m->c[0]; i++)
        m->c[i] = tsr_f32_to_bf16((float)(i % 5));
    for (int j = 0; j < LONG; j++)
        m->bias[j] = tsr_f32_to_bf16((float)(j % 7 * -40));
    memset(&m->workspace, 0, sizeof m->workspace.counters);
    memset(m->workspace.sums, 0xff, sizeof m->workspace.sums);
    return m;
}

/* What is left whole to one end has no form: another end would do it. */
static int form_of(const problem *p)
{
    return WHOLE ? TSR_EPILOGUE_NONE : (p->trans_a + 2 * p->trans_b) % TSR_EPILOGUE_COUNT;
}

static tsr_gemm_args args_of(const problem *p, matrices *m)
{
    const int lda = tight(p->trans_a ? p->m : K), ldb = tight(p->trans_b ? K : p->n),
              ldd = WHOLE ? tight(p->n + 3) : p->n + 3;
    return (tsr_gemm_args){
        .a = m->a,
        .b = m->b,
        .c = p->beta != 0 ? m->c : NULL,
        .d = m->d,
        .workspace = &m->workspace,
        .m = p->m,
        .n = p->n,
        .k = K,
        .lda = lda,
        .ldb = ldb,
        .ldc = ldd,
        .ldd = ldd,
        .batch_a = (long long)lda * (p->trans_a ? K : p->m),
        .batch_b = (long long)ldb * (p->trans_b ? p->n : K),
        .batch_c = (long long)ldd * p->m,
        .batch_d = (long long)ldd * p->m,
        .batch = BATCH,
        .alpha = 0.5,
        .beta = p->beta,
        .trans_a = p->trans_a,
        .trans_b = p->trans_b,
        .bias = m->bias,
        .epilogue = form_of(p),
        .schedule = {.split_k = p->cluster * p->outers, .cluster_k = p->cluster, .swap_ab = p->m <= p->n}};
}

static tsr_status run_reduce(const tsr_gemm_args *product, matrices *m, unsigned long long seed)
{
    const tsr_config *reduce = tsr_split_reduce_config(TSR_BF16);
    const tsr_emu_code *code = tsr_find_emu_code(tsr_emu_codes, reduce->instance);
    const tsr_reduce_args args = tsr_split_reduce_args(&config, product);
    assert_non_null(code);
    const tsr_emu_job job = {.name = reduce->instance,
                             .kernel = code->kernel,
                             .cluster = 1,
                             .is_dependent = 1,
                             .reduce = &args,
                             .dtype_a = TSR_BF16,
                             .dtype_b = TSR_BF16,
                             .dtype_c = TSR_BF16,
                             .dtype_d = TSR_BF16,
                             .grid = tsr_split_reduce_grid(reduce, &args),
                             .threads_x = (unsigned)reduce->threads_x,
                             .threads_y = 1,
                             .shared_bytes = (size_t)reduce->smem_bytes,
                             .workspace_bytes = sizeof m->workspace,
                             .seed = seed,
                             .workers = 2};
    return tsr_emu_run(&job);
}

static tsr_status run(kernel_tma *kernel, const problem *p, matrices *m, unsigned long long seed)
{
    tsr_gemm_args args = args_of(p, m);
    tsr_tensor_spec specs[4];
    tsr_tensor_maps maps;
    tsr_tensor_map *const all[4] = {&maps.a, &maps.b, &maps.c, &maps.d};
    memset(m->d, 0x55, sizeof m->d);
    memset(&maps, 0, sizeof maps);
    args.type_a = args.type_b = TSR_BF16;
    args.type_d = TSR_BF16;
    tsr_config_tensor_specs(&config, &args, specs);
    assert_null(specs[2].base);
    assert_null(specs[3].base);
    for (int i = 0; i < 2; i++) {
        assert_null(tsr_tensor_spec_fault(&specs[i]));
        tsr_emu_encode(&specs[i], all[i]);
    }
    const tsr_emu_job job = {.name = "skinny",
                             .kernel_tma = kernel,
                             .maps = &maps,
                             .cluster = p->cluster * SHARE,
                             .args = &args,
                             .dtype_a = TSR_BF16,
                             .dtype_b = TSR_BF16,
                             .dtype_c = TSR_BF16,
                             .dtype_d = TSR_BF16,
                             .grid = {TILES * args.schedule.split_k, 1, 1},
                             .threads_x = WIDE ? 256 : 160,
                             .threads_y = 1,
                             .shared_bytes = RING_BYTES + (WIDE ? 0 : STAGING_BYTES) + 16 * STAGES + 16,
                             .workspace_bytes = p->outers > 1 ? sizeof m->workspace : 0,
                             .seed = seed,
                             .workers = 2};
    const tsr_status status = tsr_emu_run(&job);
    return status == TSR_OK && p->outers > 1 ? run_reduce(&args, m, seed) : status;
}

static float element(const uint16_t *matrix, long long index)
{
    return tsr_bf16_to_f32(matrix[index]);
}

/* D as it must be; the columns between rows of D as they were. */
static void assert_exact(const problem *p, matrices *m)
{
    const tsr_gemm_args g = args_of(p, m);
    for (int z = 0; z < BATCH; z++)
        for (int i = 0; i < p->m; i++) {
            const long long at = z * g.batch_d + i * g.ldd;
            for (int j = 0; j < p->n; j++) {
                float sum = 0;
                for (int k = 0; k < K; k++)
                    sum += element(m->a, z * g.batch_a + (g.trans_a ? k * g.lda + i : i * g.lda + k)) *
                           element(m->b, z * g.batch_b + (g.trans_b ? j * g.ldb + k : k * g.ldb + j));
                const float c = p->beta != 0 ? element(m->c, z * g.batch_c + i * g.ldc + j) : 0;
                float value = 0.5f * sum + (float)p->beta * c + (g.epilogue ? element(m->bias, j) : 0);
                if (g.epilogue == TSR_EPILOGUE_BIAS_RELU && value < 0)
                    value = 0;
                assert_int_equal(m->d[at + j], tsr_f32_to_bf16(value));
            }
            for (long long j = p->n; j < g.ldd; j++)
                assert_int_equal(m->d[at + j], 0x5555);
        }
    for (size_t i = 0; i < sizeof m->workspace.counters / sizeof(unsigned); i++)
        assert_int_equal(m->workspace.counters[i], 0);
}

static void parts_add_up(void **state)
{
    (void)state;
    static const int deals[][2] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {1, 3}, {2, 2}, {4, 3}};
    matrices *m = make_matrices();
    for (size_t i = 0; i < sizeof deals / sizeof deals[0]; i++)
        for (int swap_ab = 0; swap_ab < 2; swap_ab++)
            for (int trans = 0; trans < 4; trans++) {
                if (is_left_out(8 * i + 4 * (size_t)swap_ab + (size_t)trans, 5))
                    continue;
                const problem p = {.m = swap_ab ? SHORT : LONG,
                                   .n = swap_ab ? LONG : SHORT,
                                   .trans_a = trans & 1,
                                   .trans_b = trans >> 1,
                                   .cluster = deals[i][0],
                                   .outers = deals[i][1],
                                   .beta = (trans + swap_ab) % 2};
                const tsr_status status = run(MUTANT_KERNEL(none), &p, m, i);
                if (status != TSR_OK)
                    fail_msg("cluster %d, %d clusters, trans %d: %s", p.cluster, p.outers, trans, tsr_last_error());
                assert_exact(&p, m);
            }
    test_free(m);
}

/* As many parts as there are ways to share them among the warps that add. */
static void many_parts_add_up(void **state)
{
    (void)state;
    static const int parts[] = {2, 7, 8, 9, 12, 16, 31, 32, MOST_SPLIT};
    matrices *m = make_matrices();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (int swap_ab = 0; swap_ab < 2; swap_ab++) {
            const problem p = {.m = swap_ab ? SHORT : LONG,
                               .n = swap_ab ? LONG : SHORT,
                               .cluster = 1,
                               .outers = parts[i],
                               .beta = swap_ab ? 2 : 0};
            if (run(MUTANT_KERNEL(none), &p, m, i) != TSR_OK)
                fail_msg("%d parts: %s", parts[i], tsr_last_error());
            assert_exact(&p, m);
        }
    test_free(m);
}

/* More parts than steps along K: some CTAs have nothing to multiply. */
static void empty_parts_count_as_zero(void **state)
{
    (void)state;
    const problem p = {.m = SHORT, .n = LONG, .cluster = 4, .outers = 3, .beta = 1};
    matrices *m = make_matrices();
    assert_true((K + 63) / 64 < 12);
    if (run(MUTANT_KERNEL(none), &p, m, 3) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    assert_exact(&p, m);
    test_free(m);
}

/* Caught is a fault with the right words; a wrong result without one is not enough. */
static void every_mutant_is_caught(void **state)
{
    (void)state;
    for (int i = 0; i < MUTANTS; i++) {
        int caught = 0;
        char message[600] = "no fault";
        for (unsigned long long seed = 0; seed < 4; seed++) {
            const problem p = {.m = SHORT, .n = LONG, .cluster = WHOLE ? 1 : 2, .outers = 1};
            matrices *m = make_matrices();
            if (run(mutants[i].kernel, &p, m, seed) == TSR_KERNEL_FAULT) {
                if (!caught)
                    snprintf(message, sizeof message, "%s", tsr_last_error());
                caught += strstr(tsr_last_error(), mutants[i].says) != NULL;
            }
            test_free(m);
        }
        print_message("%s: %d of 4 seeds: %s\n", mutants[i].name, caught, message);
        if (caught == 0)
            fail_msg("%s: expected \"%s\", got: %s", mutants[i].name, mutants[i].says, message);
    }
}

static int run_skinny_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(many_parts_add_up),
        cmocka_unit_test(empty_parts_count_as_zero),
        cmocka_unit_test(every_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
