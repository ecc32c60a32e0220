/* Every CUDA config of the table in the emulator, through the backend, against sums in double on integers (exact), with
 * the layouts that a checker of the whole library seldom draws: interleaved batches, operands shared by a batch, C = D.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/backend.h"
#include "core/dtype.h"
#include "plan/applicable.h"
#include "sanitized.h"

#define HOOK(function) NULL
#define CONFIG(...)    {__VA_ARGS__},
static const tsr_config configs[] = {
#include "plan/kernels.def"
};
enum { ROW_COUNT = sizeof configs / sizeof configs[0], MAX_ELEMS = 1 << 15, MAX_BYTES = MAX_ELEMS * 8 };

/* One problem, dtype of the config; d == c when `in_place`. */
typedef struct layout {
    long long m, n, k, batch;
    int trans_a, trans_b, in_place, interleaved, shared_a;
    double alpha, beta;
} layout;

typedef struct buffers {
    unsigned char a[MAX_BYTES], b[MAX_BYTES], c[MAX_BYTES], d[MAX_BYTES];
} buffers;

static tsr_device open_emulator(int threads)
{
    tsr_device device;
    memset(&device, 0, sizeof device);
    const tsr_backend_options options = {.threads = threads};
    assert_int_equal(tsr_emu_backend.open(0, &options, &device), TSR_OK);
    return device;
}

/* The same for the same arguments: a config is filled for many times, and most configs are of few dtypes. */
static void fill(tsr_dtype dtype, void *array, unsigned seed, int is_integer)
{
    enum { SEEDS = 8 };
    static unsigned char *made[TSR_DTYPE_COUNT][SEEDS];
    unsigned char **const at = &made[dtype][seed];
    assert_true(seed < SEEDS && (seed < 5) == is_integer);
    if (!*at) {
        *at = malloc(MAX_BYTES);
        assert_non_null(*at);
        srand(seed);
        for (int i = 0; i < MAX_ELEMS; i++)
            tsr_store_element(dtype, *at, i, is_integer ? rand() % 17 - 8 : rand() / (double)RAND_MAX - 0.5);
    }
    memcpy(array, *at, MAX_ELEMS * tsr_dtype_bytes(dtype));
}

/* The next multiple of what the config asks of leading dimensions. */
static long long up(const tsr_config *config, long long elems)
{
    const int by_16 = config->tma || config->copies_transposed;
    const long long tensor = by_16 ? 16 / (long long)tsr_dtype_bytes(tsr_op_of(&config->op).a) : 1;
    const long long align = config->align_elems > tensor ? config->align_elems : tensor;
    return (elems + align - 1) / align * align;
}

static tsr_gemm_args args_of(const tsr_config *config, const layout *l, buffers *x)
{
    tsr_gemm_args g = {.a = x->a, .b = x->b, .c = l->beta != 0 ? x->c : NULL, .d = l->in_place ? x->c : x->d};
    g.m = l->m, g.n = l->n, g.k = l->k, g.batch = l->batch, g.alpha = l->alpha, g.beta = l->beta;
    g.trans_a = l->trans_a, g.trans_b = l->trans_b;
    const long long width_a = up(config, (l->trans_a ? l->m : l->k) + 3),
                    width_b = up(config, (l->trans_b ? l->k : l->n) + 1);
    const long long width_c = up(config, l->n + 2), width_d = l->in_place ? width_c : up(config, l->n + 5);
    /* Interleaved: row r of problem z lies right after row r of problem z - 1. */
    const long long spread = l->interleaved ? l->batch : 1;
    g.lda = width_a * spread, g.ldb = width_b * spread, g.ldc = width_c * spread, g.ldd = width_d * spread;
    g.batch_a = l->interleaved ? width_a : g.lda * (l->trans_a ? l->k : l->m) + up(config, 7);
    g.batch_b = l->interleaved ? width_b : g.ldb * (l->trans_b ? l->n : l->k) + up(config, 1);
    g.batch_c = l->interleaved ? width_c : g.ldc * l->m;
    g.batch_d = l->in_place ? g.batch_c : l->interleaved ? width_d : g.ldd * l->m + up(config, 2);
    if (l->shared_a)
        g.batch_a = 0;
    g.type_a = g.type_b = (int)tsr_op_of(&config->op).a;
    g.type_d = (int)tsr_op_of(&config->op).d;
    return g;
}

/* 1 if the config says that it runs such a layout. */
static int takes(int number, const layout *l)
{
    const tsr_config *const config = tsr_config_at((size_t)number);
    assert_string_equal(config->instance, configs[number].instance);
    if (tsr_op_of(&config->op).d == TSR_S32 && (l->beta != floor(l->beta) || isinf(l->alpha)))
        return 0; /* results in s32 take whole factors */
    tsr_problem problem = {.m = l->m, .n = l->n, .k = l->k, .batch = l->batch};
    problem.op = tsr_op_of(&config->op);
    problem.a.trans = l->trans_a ? TSR_T : TSR_N;
    problem.b.trans = l->trans_b ? TSR_T : TSR_N;
    return tsr_config_fits(config, &problem, NULL, 0);
}

static tsr_problem problem_of(const tsr_config *config, const tsr_gemm_args *args)
{
    tsr_problem problem = {.m = args->m, .n = args->n, .k = args->k, .batch = args->batch};
    problem.op = tsr_op_of(&config->op);
    problem.a.trans = args->trans_a ? TSR_T : TSR_N;
    problem.b.trans = args->trans_b ? TSR_T : TSR_N;
    return problem;
}

static tsr_status launch_by(tsr_device *device, const tsr_config *config, const tsr_gemm_args *args,
                            const tsr_launch_config *launch_config)
{
    const tsr_problem problem = problem_of(config, args);
    tsr_gemm_args scheduled = *args;
    scheduled.schedule = launch_config->schedule;
    scheduled.schedule.swap_ab |= tsr_config_lies_across(config, &problem.op, args->trans_a);
    const tsr_launch what = {.config = config,
                             .args = &scheduled,
                             .grid = launch_config->grid,
                             .cluster = launch_config->cluster,
                             .problem = &problem};
    return tsr_emu_backend.launch(device, &what);
}

/* By the schedule that a plan would choose. No config needs workspace for so little. */
static tsr_status launch(tsr_device *device, const tsr_config *config, const tsr_gemm_args *args)
{
    const tsr_problem problem = problem_of(config, args);
    tsr_launch_config launch_config;
    tsr_price cost;
    assert_true(tsr_select_schedule(config, &problem, device, &launch_config, &cost, NULL, 0));
    assert_int_equal(launch_config.workspace_bytes, 0);
    return launch_by(device, config, args, &launch_config);
}

/* What D must be: the sum is exact, since all values are small integers. */
static double expected(const tsr_op *op, const tsr_gemm_args *g, const buffers *x, const void *c, long long z,
                       long long i, long long j)
{
    double sum = 0;
    for (long long k = 0; k < g->k; k++)
        sum += tsr_load_element(op->a, x->a, z * g->batch_a + (g->trans_a ? k * g->lda + i : i * g->lda + k)) *
               tsr_load_element(op->a, x->b, z * g->batch_b + (g->trans_b ? j * g->ldb + k : k * g->ldb + j));
    const double product = g->k > 0 ? g->alpha * sum : 0;
    return product + (g->beta != 0 ? g->beta * tsr_load_element(op->d, c, z * g->batch_c + i * g->ldc + j) : 0);
}

/* `config`: how it is scheduled; NULL: as a plan would. */
static void check_layout_by(tsr_device *device, const tsr_config *config, const layout *l,
                            const tsr_launch_config *launch_config, buffers *x)
{
    static unsigned char old_c[MAX_BYTES], want[MAX_BYTES];
    const tsr_op op = tsr_op_of(&config->op);
    fill(op.a, x->a, 1, 1);
    fill(op.a, x->b, 2, 1);
    fill(op.d, x->c, 3, 1);
    fill(op.d, x->d, 4, 1);
    memcpy(old_c, x->c, sizeof old_c);
    const tsr_gemm_args g = args_of(config, l, x);
    memcpy(want, g.d, sizeof want);
    assert_true(((g.batch - 1) * g.batch_d + g.m * g.ldd) < MAX_ELEMS);
    for (long long z = 0; z < g.batch; z++)
        for (long long i = 0; i < g.m; i++)
            for (long long j = 0; j < g.n; j++)
                tsr_store_element(op.d, want, z * g.batch_d + i * g.ldd + j, expected(&op, &g, x, old_c, z, i, j));
    if ((launch_config ? launch_by(device, config, &g, launch_config) : launch(device, config, &g)) != TSR_OK)
        fail_msg("%s: %s", config->instance, tsr_last_error());
    if (memcmp(want, g.d, sizeof want) != 0)
        fail_msg("%s %lldx%lldx%lld trans %d%d split-k %d: wrong result, or written where it must not",
                 config->instance, l->m, l->n, l->k, l->trans_a, l->trans_b,
                 launch_config ? launch_config->schedule.split_k : 0);
}

static void check_layout(tsr_device *device, const tsr_config *config, const layout *l, buffers *x)
{
    check_layout_by(device, config, l, NULL, x);
}

static const layout layouts[] = {
    {1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0},        {33, 9, 17, 1, 0, 0, 0, 0, 0, 1, 0},
    {17, 34, 5, 1, 1, 0, 0, 0, 0, -1, 0.5},   {7, 31, 33, 1, 0, 1, 1, 0, 0, 2, 1},
    {32, 32, 32, 1, 1, 1, 1, 0, 0, 1, -1},    {5, 6, 7, 3, 0, 0, 0, 0, 0, 1, 2},
    {11, 10, 9, 4, 1, 0, 0, 1, 0, 1, 1},      {11, 10, 9, 4, 0, 1, 1, 1, 0, 1, 1},
    {8, 8, 8, 3, 0, 1, 0, 0, 1, 3, 0},        {3, 2, 0, 2, 0, 0, 0, 0, 0, 1, 2},
    {3, 2, 0, 1, 0, 0, 0, 0, 0, INFINITY, 0}, {0, 5, 5, 1, 0, 0, 0, 0, 0, 1, 0},
    {5, 0, 5, 1, 0, 0, 0, 0, 0, 1, 0},        {5, 5, 5, 0, 0, 0, 0, 0, 0, 1, 0},
    {1, 67, 2, 1, 0, 0, 0, 0, 0, 1, 0},       {67, 1, 2, 1, 1, 1, 0, 0, 0, 1, 1},
    {5, 9, 64, 2, 0, 1, 0, 0, 0, 1, 1},
};

/* Operands here are whole matrices; unit_emu_sparse24.c runs configs that take a compressed one. */
static int reads_whole_matrices(const tsr_config *config)
{
    return config->kind == TSR_CONFIG_CUDA && config->op.operands & TSR_TAKES_WHOLE;
}

static void rows_are_exact_on_integers(void **state)
{
    buffers *x = *state;
    tsr_device device = open_emulator(2);
    int checked;
    for (int r = 0; r < ROW_COUNT; r++) {
        if (is_left_out((unsigned)r, 3))
            continue;
        checked = 0;
        for (size_t i = 0; reads_whole_matrices(&configs[r]) && i < sizeof layouts / sizeof layouts[0]; i++)
            if (takes(r, &layouts[i])) {
                check_layout(&device, &configs[r], &layouts[i], x);
                checked++;
            }
        if (reads_whole_matrices(&configs[r]) && checked == 0)
            fail_msg("%s takes no layout", configs[r].instance);
    }
    tsr_emu_backend.close(&device);
}

/* K in as many parts as a cluster may have, columns along either side. The last tile
 * along the longer side has a few rows. */
static void skinny_configs_are_exact_by_every_schedule(void **state)
{
    static const layout wide = {37, 200, 130, 1, 0, 1, 0, 0, 0, 1, 0}, high = {200, 37, 130, 1, 0, 0, 0, 0, 0, 2, 1};
    buffers *x = *state;
    tsr_device device = open_emulator(2);
    int scheduled = 0;
    for (int r = 0; r < ROW_COUNT; r++) {
        const layout *const l = tsr_op_of(&configs[r].op).a == TSR_BF16 ? &wide : &high;
        if (strcmp(configs[r].name, "wgmma_skinny") != 0 || !takes(r, l) || is_left_out((unsigned)r, 7))
            continue;
        const tsr_problem problem = {.m = l->m, .n = l->n, .k = l->k, .batch = l->batch};
        for (int parts = 1; parts <= configs[r].parts; parts++)
            for (int swap_ab = 0; swap_ab <= 1; swap_ab++) {
                const tsr_schedule schedule = {.split_k = parts, .cluster_k = parts, .swap_ab = swap_ab};
                if (!tsr_schedule_is_legal(&configs[r], &problem, &schedule, NULL, 0))
                    continue;
                const tsr_launch_config launch_config = tsr_schedule_launch(&configs[r], &problem, &schedule);
                check_layout_by(&device, &configs[r], l, &launch_config, x);
                scheduled++;
            }
    }
    assert_true(scheduled > (IS_SANITIZED ? 20 : 200));
    tsr_emu_backend.close(&device);
}

/* Sums of a wide tile and those that others send lie where the ring was (kernels/collective/wgmma_reduce.h). */
static void sums_of_wide_tiles_fit_the_ring(void **state)
{
    (void)state;
    int wide = 0;
    for (int r = 0; r < ROW_COUNT; r++) {
        const tsr_config *const config = &configs[r];
        if (strcmp(config->name, "wgmma_skinny") != 0 || config->threads_x != 2 * config->bn + 128)
            continue;
        for (int parts = 2; parts <= config->parts; parts++)
            for (int swap_ab = 0; swap_ab < 2; swap_ab++) {
                const int lines = swap_ab ? config->bm : config->bn,
                          line_bytes = 4 * (swap_ab ? config->bn : config->bm);
                const int staging_bytes = (parts - 1) * ((lines + parts - 1) / parts) * line_bytes;
                assert_true(parts == 7 || 4 * config->bm * config->bn + staging_bytes <= config->ring_bytes);
            }
        wide++;
    }
    assert_true(wide >= 12);
}

/* The first layout that a config takes, of A as it is if it may be, and of B transposed or not as `trans_b` says; 0 if
 * it takes none. */
static int choose_layout(int r, layout *l, int trans_b)
{
    for (l->trans_a = 0; l->trans_a < 2; l->trans_a++)
        for (int other = 0; other < 2; other++) {
            l->trans_b = trans_b ^ other;
            if (takes(r, l))
                return 1;
        }
    l->trans_a = 0;
    l->trans_b = !trans_b;
    return 0;
}

/* A run is a function of its arguments: bits do not depend on the workers, nor on the order of threads. */
static void bits_do_not_depend_on_workers(void **state)
{
    buffers *x = *state;
    static unsigned char first[MAX_BYTES];
    layout l = {50, 37, 29, 2, 0, 1, 0, 0, 0, 1.25, 0.75};
    for (int r = 0; r < ROW_COUNT; r++)
        for (int run = 0; reads_whole_matrices(&configs[r]) && !is_left_out((unsigned)r, 5) && run < 4; run++) {
            fill(tsr_op_of(&configs[r].op).a, x->a, 5, 0);
            fill(tsr_op_of(&configs[r].op).a, x->b, 6, 0);
            fill(tsr_op_of(&configs[r].op).d, x->c, 7, 0);
            memset(x->d, 0, sizeof x->d);
            assert_int_equal(setenv("TESSERA_EMU_SEED", run == 3 ? "12345" : "0", 1), 0);
            tsr_device device = open_emulator(1 + run);
            l.k = 29;
            l.alpha = tsr_op_of(&configs[r].op).d == TSR_S32 ? 2 : 1.25;
            l.beta = tsr_op_of(&configs[r].op).d == TSR_S32 ? 1 : 0.75;
            l.k = choose_layout(r, &l, 1) ? 29 : 64; /* what some configs ask for */
            const tsr_gemm_args g = args_of(&configs[r], &l, x);
            assert_int_equal(launch(&device, &configs[r], &g), TSR_OK);
            if (run == 0)
                memcpy(first, x->d, sizeof first);
            assert_memory_equal(first, x->d, sizeof first);
            tsr_emu_backend.close(&device);
        }
    unsetenv("TESSERA_EMU_SEED");
}

/* An operand that is smaller than the arguments say is not noticed by anybody else: here the emulator is told. */
static void wrong_arguments_are_faults(void **state)
{
    buffers *x = *state;
    tsr_device device = open_emulator(1);
    layout l = {5, 6, 7, 1, 0, 0, 0, 0, 0, 1, 0};
    for (int r = 0; r < ROW_COUNT; r++) {
        if (!reads_whole_matrices(&configs[r]) || configs[r].tma) /* no such map is made: unit_core_tensor_spec.c */
            continue;
        choose_layout(r, &l, 0);
        tsr_gemm_args g = args_of(&configs[r], &l, x);
        g.a = x->a + 1;
        if (tsr_dtype_bytes(tsr_op_of(&configs[r].op).a) > 1 || configs[r].copies_transposed) { /* bytes lie anywhere */
            assert_int_equal(launch(&device, &configs[r], &g), TSR_KERNEL_FAULT);
            assert_true(strstr(tsr_last_error(), "misaligned read") || strstr(tsr_last_error(), "must be multiples"));
        }
        g = args_of(&configs[r], &l, x);
        g.b = NULL;
        assert_int_equal(launch(&device, &configs[r], &g), TSR_KERNEL_FAULT);
        assert_non_null(strstr(tsr_last_error(), "in no operand"));
        g = args_of(&configs[r], &l, x);
        assert_int_equal(launch(&device, &configs[r], &g), TSR_OK);
    }
    tsr_emu_backend.close(&device);
}

/* Counts what is asked of it. */
static void *counted_alloc(size_t align, size_t bytes, void *user)
{
    *(size_t *)user += bytes;
    return tsr_alloc(NULL, align, bytes);
}

static void counted_free(void *pointer, void *user)
{
    (void)user;
    tsr_free(NULL, pointer);
}

/* Kernels that run in turn, as the steps of a product do, find the slots that they left; one that has not run for long
 * does not. */
static void slots_outlive_launches(void **state)
{
    enum { KERNELS = 4, ENOUGH_FOR_A_LAUNCH = 16 << 10 };
    static const char *const names[KERNELS] = {"tiled_f32_t16", "warptile_f32_128x128_a1", "regtile2d_f32",
                                               "uncoalesced_f32"};
    buffers *x = *state;
    size_t total = 0;
    const tsr_allocator allocator = {counted_alloc, counted_free, &total};
    tsr_device device;
    memset(&device, 0, sizeof device);
    const tsr_backend_options options = {.threads = 1, .allocator = &allocator};
    assert_int_equal(tsr_emu_backend.open(0, &options, &device), TSR_OK);
    device.allocator = &allocator;
    const layout l = {5, 6, 7, 1, 0, 0, 0, 0, 0, 1, 0};
    const tsr_config *kernels[KERNELS] = {NULL};
    for (int i = 0; i < KERNELS; i++)
        for (int r = 0; r < ROW_COUNT; r++)
            if (strcmp(configs[r].instance, names[i]) == 0)
                kernels[i] = &configs[r];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) {
            const tsr_gemm_args g = args_of(kernels[i], &l, x);
            const size_t before = total;
            assert_int_equal(launch(&device, kernels[i], &g), TSR_OK);
            assert_int_equal(total - before<ENOUGH_FOR_A_LAUNCH, round> 0);
        }
    for (int i = 1; i <= KERNELS; i++) { /* the first comes again last: three others have run */
        const tsr_gemm_args g = args_of(kernels[i % KERNELS], &l, x);
        const size_t before = total;
        assert_int_equal(launch(&device, kernels[i % KERNELS], &g), TSR_OK);
        assert_int_equal(total - before < ENOUGH_FOR_A_LAUNCH, i == 1);
    }
    tsr_emu_backend.close(&device);
}

static void device_presents_itself(void **state)
{
    (void)state;
    tsr_device device = open_emulator(3);
    assert_int_equal(device.kind, TSR_DEVICE_EMU);
    assert_string_equal(device.id, "emu");
    assert_int_equal(device.cuda.arch, 90);
    assert_int_equal(device.threads, 3);
    char reason[64] = "";
    for (int r = 0; r < ROW_COUNT; r++)
        assert_int_equal(tsr_emu_backend.has_code(&configs[r], &device, reason, sizeof reason),
                         configs[r].kind == TSR_CONFIG_CUDA);
    void *memory;
    assert_int_equal(tsr_emu_backend.alloc(&device, 100, &memory), TSR_OK);
    assert_int_equal((uintptr_t)memory % 256, 0);
    assert_int_equal(tsr_emu_backend.upload(&device, memory, "tile", 5, NULL), TSR_OK);
    char back[5];
    assert_int_equal(tsr_emu_backend.download(&device, back, memory, 5, NULL), TSR_OK);
    assert_string_equal(back, "tile");
    assert_int_equal(tsr_emu_backend.free(&device, memory), TSR_OK);
    tsr_emu_backend.close(&device);
    const tsr_backend_options options = {0};
    assert_int_equal(tsr_emu_backend.open(1, &options, &device), TSR_NO_DEVICE);
    assert_int_equal(setenv("TESSERA_EMU_SEED", "x", 1), 0);
    assert_int_equal(tsr_emu_backend.open(0, &options, &device), TSR_INVALID_ARGUMENT);
    unsetenv("TESSERA_EMU_SEED");
}

static int make_buffers(void **state)
{
    *state = aligned_alloc(64, sizeof(buffers));
    return *state ? 0 : -1;
}

static int free_buffers(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_exact_on_integers),      cmocka_unit_test(skinny_configs_are_exact_by_every_schedule),
        cmocka_unit_test(sums_of_wide_tiles_fit_the_ring), cmocka_unit_test(bits_do_not_depend_on_workers),
        cmocka_unit_test(wrong_arguments_are_faults),      cmocka_unit_test(slots_outlive_launches),
        cmocka_unit_test(device_presents_itself),
    };
    return cmocka_run_group_tests(tests, make_buffers, free_buffers);
}
