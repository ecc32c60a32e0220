/* The mutants of a test's kernel (emu/mutants.cmake), as a table, and how they are run. Before it is included
 * MUTANT_KERNEL(name) must be the symbol of one; MUTANT_KERNEL(none) is the kernel as it is. It brings cmocka and what
 * that needs. */
#ifndef TESTS_TMA_MUTANTS_H
#define TESTS_TMA_MUTANTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/scaling.h"
#include "core/tensor_map.h"
#include "core/tensor_spec.h"
#include "emu/run_launch.h"
#include "sanitized.h"

#if defined(MUTANTS_SCALED) /* they take tsr_scaling, too */
typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling);
#else
typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
#endif
kernel_tma MUTANT_KERNEL(none);
#define MUTANT(name, says) kernel_tma MUTANT_KERNEL(name);
#include "mutants.def"
#undef MUTANT

/* What must be said of it: "" for any fault or a wrong result; "equivalent" if nothing must. */
typedef struct mutant {
    const char *name;
    kernel_tma *kernel;
    const char *says;
} mutant;
static const mutant mutants[] = {
#define MUTANT(name, says) {#name, MUTANT_KERNEL(name), says},
#include "mutants.def"
#undef MUTANT
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0] };

/* How a test tries a kernel: in `ways`, each with seeds from 0 on. */
typedef struct mutant_trials {
    int ways, seeds;
    void (*make)(int way, void *matrices); /* the same each time */
    tsr_status (*run)(kernel_tma *kernel, int way, void *matrices, unsigned long long seed);
    size_t d, exact, bytes; /* of the matrices: where D and what it must be to the bit lie */
    size_t matrices_bytes;
} mutant_trials;

/* The maps that the config gives the arguments. */
static inline void encode_maps(const tsr_config *config, const tsr_gemm_args *args, tsr_tensor_maps *maps)
{
    tsr_tensor_spec specs[4];
    tsr_tensor_map *const all[4] = {&maps->a, &maps->b, &maps->c, &maps->d};
    memset(maps, 0, sizeof *maps);
    tsr_config_tensor_specs(config, args, specs);
    for (int i = 0; i < 4; i++)
        if (specs[i].base) {
            assert_null(tsr_tensor_spec_fault(&specs[i]));
            tsr_emu_encode(&specs[i], all[i]);
        }
}

/* Runs one. `job` has the grid, threads along x, shared memory, cluster and seed, and what else is not the arguments'.
 */
static inline tsr_status run_mutant(kernel_tma *kernel, const tsr_config *config, const tsr_gemm_args *args,
                                    const tsr_scaling *scaling, tsr_emu_job job)
{
    tsr_tensor_maps maps;
    encode_maps(config, args, &maps);
#if defined(MUTANTS_SCALED)
    job.kernel_scaled = kernel;
#else
    job.kernel_tma = kernel;
#endif
    job.name = config->instance;
    job.scaling = scaling;
    job.maps = &maps;
    job.args = args;
    job.dtype_a = (tsr_dtype)args->type_a;
    job.dtype_b = (tsr_dtype)args->type_b;
    job.dtype_c = job.dtype_d = (tsr_dtype)args->type_d;
    job.is_dependent = 1;
    job.arch = 90;
    job.threads_y = 1;
    job.workers = job.workers ? job.workers : 1;
    return tsr_emu_run(&job);
}

static inline int is_exact_in_trials(const mutant_trials *t, const void *matrices)
{
    const char *const at = matrices;
    return memcmp(at + t->d, at + t->exact, t->bytes) == 0;
}

/* As `make` does. What D must be takes longer than a mutant's run: each way is made once, and then copied. */
static inline void make_once(const mutant_trials *t, int way, void *matrices)
{
    enum { MOST_WAYS = 32 };
    static void *made[MOST_WAYS];
    assert_true(way < MOST_WAYS);
    if (made[way]) {
        memcpy(matrices, made[way], t->matrices_bytes);
        return;
    }
    t->make(way, matrices);
    made[way] = malloc(t->matrices_bytes);
    assert_non_null(made[way]);
    memcpy(made[way], matrices, t->matrices_bytes);
}

/* 1 if some run fails as `says` tells, or, where that is "", is not exact; what was said last. */
static inline int is_caught_in_trials(const mutant_trials *t, kernel_tma *kernel, const char *says, void *matrices,
                                      char said[300])
{
    snprintf(said, 300, "passes");
    for (int way = 0; way < t->ways; way++) {
        make_once(t, way, matrices);
        for (int seed = 0; seed < t->seeds; seed++)
            if (t->run(kernel, way, matrices, (unsigned long long)seed) != TSR_OK) {
                snprintf(said, 300, "way %d: %s", way, tsr_last_error());
                if (strstr(said, says))
                    return 1;
            } else if (!*says && !is_exact_in_trials(t, matrices)) {
                snprintf(said, 300, "way %d: wrong result", way);
                return 1;
            }
    }
    return 0;
}

static inline void expect_right(const mutant_trials *t, void *matrices)
{
    char said[300];
    if (is_caught_in_trials(t, MUTANT_KERNEL(none), "", matrices, said))
        fail_msg("%s", said);
}

static inline void expect_all_caught(const mutant_trials *t, void *matrices)
{
    int missed = 0;
    for (int i = 0; i < MUTANTS; i++) {
        char said[300];
        const int is_equivalent = strcmp(mutants[i].says, "equivalent") == 0;
        const int caught =
            is_caught_in_trials(t, mutants[i].kernel, is_equivalent ? "" : mutants[i].says, matrices, said);
        print_message("%s: %s\n", mutants[i].name, said);
        if (caught == is_equivalent)
            print_error("%s: expected \"%s\"\n", mutants[i].name, mutants[i].says);
        missed += caught == is_equivalent;
    }
    print_message("%d mutants\n", MUTANTS);
    assert_int_equal(missed, 0);
}

/* A test that is nothing but trials. */
static inline void the_kernel_passes_its_trials(void **state)
{
    const mutant_trials *const trials = *state;
    void *const matrices = test_malloc(trials->matrices_bytes);
    expect_right(trials, matrices);
    test_free(matrices);
}

static inline void every_mutant_fails_its_trials(void **state)
{
    const mutant_trials *const trials = *state;
    void *const matrices = test_malloc(trials->matrices_bytes);
    expect_all_caught(trials, matrices);
    test_free(matrices);
}

/* The main function of a test whose `matrices` have D as `d` and what it must be as `exact`. */
#define MUTANT_TEST(ways, seeds, matrices, make, run)      \
    int main(void)                                         \
    {                                                      \
        mutant_trials trials = {ways,                      \
                                seeds,                     \
                                make,                      \
                                run,                       \
                                offsetof(matrices, d),     \
                                offsetof(matrices, exact), \
                                sizeof((matrices *)0)->d,  \
                                sizeof(matrices)};         \
        return run_mutant_test(&trials);                   \
    }

static inline int run_mutant_test(mutant_trials *trials)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_kernel_passes_its_trials, trials),
        cmocka_unit_test_prestate(every_mutant_fails_its_trials, trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
