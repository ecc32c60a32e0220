/* The CUDA backend on a driver that only pretends: modules, launches, memory, errors, the caller's context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "core/device_code.h"
#include "cuda/impl.h"
#include "fake_cuda.h"

static fake_cuda_access fake;
static const tsr_backend_options options;
static tsr_device device;

#define ROW_FIELDS .kind = TSR_CONFIG_CUDA, .min_arch = 80, .bm = 16, .bn = 8, .threads_x = 32, .threads_y = 4
static const tsr_config config = {.name = "probe", .instance = "probe_f32", .smem_bytes = 2048, ROW_FIELDS};
static const tsr_config big_config = {.name = "big", .instance = "big_f32", .smem_bytes = 200000, ROW_FIELDS};
static const tsr_config huge_config = {.name = "huge", .instance = "huge_f32", .smem_bytes = 300000, ROW_FIELDS};
static const tsr_config cpu_config = {.name = "cpu", .instance = "cpu_f32", .kind = TSR_CONFIG_CPU};

#define assert_error(text)                                               \
    do {                                                                 \
        if (!strstr(tsr_last_error(), text))                             \
            fail_msg("\"%s\" is not in \"%s\"", text, tsr_last_error()); \
    } while (0)

static int open_fresh(void **unused)
{
    (void)unused;
    fake.reset();
    return tsr_cuda_open(0, &options, &device) != TSR_OK;
}

/* Whatever a test did, the device lets go of everything and this thread's stack of contexts is as before. */
static int close_and_check(void **unused)
{
    (void)unused;
    fake.state->fail_call = NULL;
    tsr_cuda_close(&device);
    return fake.state->retained != 0 || fake.state->modules != 0 || fake.state->context_errors != 0 ||
           fake.depth() != 0;
}

static void fail_with(const char *call, unsigned result)
{
    fake.state->fail_call = call;
    fake.state->fail_result = result;
    fake.state->fail_from = 0;
    fake.state->seen_failing = 0;
}

static tsr_status load(const tsr_config *which, const tsr_loaded **out)
{
    return tsr_cuda_load_image(&device, which, which->instance, out);
}

static const tsr_loaded *loaded_row(void)
{
    const tsr_loaded *loaded = NULL;
    assert_int_equal(load(&config, &loaded), TSR_OK);
    assert_non_null(loaded);
    return loaded;
}

static void loading_is_once_and_eager(void **unused)
{
    (void)unused;
    const tsr_loaded *first = loaded_row();
    assert_int_equal(fake.state->function_loads, 1);
    assert_int_equal(fake.state->raised_smem_bytes, 0); /* 2 KiB need no opt-in */
    assert_ptr_equal(loaded_row(), first);
    assert_int_equal(fake.state->module_loads, 1);

    const tsr_loaded *big = NULL;
    assert_int_equal(load(&big_config, &big), TSR_OK);
    assert_int_equal(fake.state->raised_smem_bytes, 200000);
    assert_int_equal(fake.state->modules, 2);
    assert_int_equal(fake.depth(), 0);
}

static void kernels_of_one_image_share_a_module(void **unused)
{
    const tsr_loaded *first = NULL, *second = NULL;
    (void)unused;
    fake.state->any_function = 1;
    assert_int_equal(tsr_cuda_load_image(&device, &config, config.instance, &first), TSR_OK);
    fail_with("cuModuleGetFunction", 500); /* what fails leaves the module to the entry that has it */
    assert_int_equal(tsr_cuda_load_image(&device, &big_config, config.instance, &second), TSR_DRIVER_ERROR);
    assert_int_equal(fake.state->modules, 1);
    fake.state->fail_call = NULL;
    assert_int_equal(tsr_cuda_load_image(&device, &big_config, config.instance, &second), TSR_OK);
    assert_ptr_not_equal(first, second);
    assert_int_equal(fake.state->module_loads, 1);
    assert_int_equal(fake.state->modules, 1); /* close_and_check: unloaded once */
    assert_int_equal(fake.state->raised_smem_bytes, 200000);
}

static void failing_loads_say_why_and_keep_nothing(void **unused)
{
    const tsr_loaded *loaded = NULL;
    (void)unused;
    fail_with("cuModuleLoadDataEx", 218);
    fake.state->compiler_log = "ptxas fatal: line 3";
    assert_int_equal(load(&config, &loaded), TSR_DRIVER_ERROR);
    assert_error("cuda:0: probe_f32: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX");
    assert_error("ptxas fatal: line 3");
    fake.state->compiler_log = NULL;
    fail_with("cuModuleLoadDataEx", TSR_CU_NO_BINARY_FOR_GPU);
    assert_int_equal(load(&config, &loaded), TSR_UNSUPPORTED);
    assert_error("code 209");
    fail_with("cuModuleLoadDataEx", TSR_CU_OUT_OF_MEMORY);
    assert_int_equal(load(&config, &loaded), TSR_OUT_OF_MEMORY);
    fail_with("cuModuleGetFunction", 500);
    assert_int_equal(load(&config, &loaded), TSR_DRIVER_ERROR);
    assert_error("cuModuleGetFunction: CUDA_ERROR_NOT_FOUND");
    fail_with("cuFuncLoad", TSR_CU_OUT_OF_MEMORY);
    assert_int_equal(load(&config, &loaded), TSR_OUT_OF_MEMORY);
    fail_with("cuFuncSetAttribute", 1);
    assert_int_equal(load(&big_config, &loaded), TSR_DRIVER_ERROR);
    assert_error("cuFuncSetAttribute");
    assert_null(loaded);
    assert_int_equal(fake.state->modules, 0);

    fake.state->fail_call = NULL; /* and the next try may succeed */
    assert_non_null(loaded_row());
}

static void limits_are_checked_when_loading(void **unused)
{
    const tsr_loaded *loaded = NULL;
    (void)unused;
    assert_int_equal(load(&huge_config, &loaded), TSR_UNSUPPORTED);
    assert_error("huge_f32 needs 300000 bytes of shared memory a block, the GPU has 232448");
    fake.state->function_most_threads = 64;
    assert_int_equal(load(&config, &loaded), TSR_UNSUPPORTED);
    assert_error("probe_f32 has 128 threads a block, its registers allow 64");
    assert_int_equal(fake.state->modules, 0);
}

#define THREADS 8

static void *load_in_thread(void *unused)
{
    const tsr_loaded *loaded = NULL;
    (void)unused;
    return load(&config, &loaded) == TSR_OK ? (void *)(uintptr_t)loaded : NULL;
}

static void threads_load_one_module(void **unused)
{
    pthread_t threads[THREADS];
    void *results[THREADS];
    (void)unused;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_in_thread, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], &results[i]);
    for (int i = 0; i < THREADS; i++)
        assert_ptr_equal(results[i], loaded_row());
    assert_int_equal(fake.state->module_loads, 1);
}

static void launches_pass_everything_on(void **unused)
{
    static char stream;
    const tsr_gemm_args args = {.m = 33, .n = 17, .k = 5, .batch = 70000, .alpha = 2.5};
    const tsr_launch launch = {.config = &config, .loaded = loaded_row(), .args = &args, .stream = &stream};
    (void)unused;
    const int waits = fake.state->synchronizes;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launches, 1);
    assert_int_equal(fake.state->launch.grid[0], 3 * 3); /* ceil(33 / 16) x ceil(17 / 8) */
    assert_int_equal(fake.state->launch.grid[1], 1);
    assert_int_equal(fake.state->launch.grid[2], 65535);
    assert_int_equal(fake.state->launch.block[0], 32);
    assert_int_equal(fake.state->launch.block[1], 4);
    assert_int_equal(fake.state->launch.block[2], 1);
    assert_int_equal(fake.state->launch.smem_bytes, 2048);
    assert_ptr_equal(fake.state->launch.stream, &stream);
    assert_memory_equal(&fake.state->launch.args, &args, sizeof args);
    assert_int_equal(fake.state->synchronizes, waits);
    assert_int_equal(fake.state->allocations, 0);
}

static void empty_and_oversized_grids(void **unused)
{
    tsr_gemm_args args = {.m = 0, .n = 17, .k = 5, .batch = 1};
    const tsr_launch launch = {.config = &config, .loaded = loaded_row(), .args = &args};
    (void)unused;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    args.m = 16;
    args.batch = 0;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launches, 0);
    args.batch = 1;
    args.m = 16LL << 31;
    args.n = 8;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_UNSUPPORTED);
    assert_error("2147483648 x 1 x 1 blocks");
    assert_int_equal(fake.state->launches, 0);
}

/* Clusters that are chosen at launch, and grids that may start early, are the driver's attributes; others have none. */
static void launches_say_what_is_special(void **unused)
{
    const tsr_gemm_args args = {.m = 1, .n = 1, .k = 1, .batch = 1, .schedule = {.split_k = 4, .cluster_k = 4}};
    const tsr_loaded *loaded = loaded_row();
    tsr_loaded early_loaded = *loaded;
    tsr_config early = config;
    early.dependent_launch = 1;
    early_loaded.config = &early;
    const tsr_cu_launch_attribute *attributes = fake.state->launch.attributes;
    (void)unused;
    tsr_launch launch = {.config = &config, .loaded = loaded, .args = &args};
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launch.attribute_count, 0);

    launch.grid = (tsr_grid){24, 1, 1};
    launch.cluster = 4;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launch.grid[0], 24);
    assert_int_equal(fake.state->launch.attribute_count, 1);
    assert_int_equal(attributes[0].id, TSR_CU_LAUNCH_CLUSTER_DIMENSION);
    assert_int_equal(attributes[0].value.cluster.x, 4);
    assert_int_equal(attributes[0].value.cluster.y, 1);
    assert_int_equal(attributes[0].value.cluster.z, 1);

    launch.config = &early;
    launch.loaded = &early_loaded;
    const int arch = device.cuda.arch;
    device.cuda.arch = 80; /* has no early grids */
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launch.attribute_count, 1);
    device.cuda.arch = 90;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launch.attribute_count, 2);
    assert_int_equal(attributes[1].id, TSR_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION);
    assert_int_equal(attributes[1].value.allowed, 1);
    device.cuda.arch = arch;
}

/* Clusters that do not all run at the same time would take twice as long: the driver's number counts, where it is less
 * than the SMs let expect. Pairs find room on each TPC, and grids of a schedule are the planner's. */
static void persistent_grids_have_no_cluster_too_many(void **unused)
{
    tsr_config large = config, pairs = config;
    const tsr_gemm_args args = {.m = 16 * 1000, .n = 8 * 4, .k = 5, .batch = 1};
    const struct {
        int clusters;
        const char *missing_call, *fail_call;
        unsigned grid;
    } cases[] = {{15, NULL, NULL, 120},
                 {14, NULL, NULL, 112},
                 {16, NULL, NULL, 120},
                 {0, NULL, NULL, 120},
                 {14, "cuOccupancyMaxActiveClusters", NULL, 120},
                 {14, NULL, "cuOccupancyMaxActiveClusters", 120}};
    (void)unused;
    large.persistent = pairs.persistent = 1;
    large.cluster_m = pairs.cluster_m = 2;
    large.cluster_n = 4;
    pairs.cluster_n = 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_loaded *loaded = NULL;
        tsr_cuda_close(&device);
        fake.state->missing_call = cases[i].missing_call;
        assert_int_equal(tsr_cuda_open(0, &options, &device), TSR_OK);
        fake.state->missing_call = NULL;
        fake.state->clusters = cases[i].clusters;
        fail_with(cases[i].fail_call, 1);
        assert_int_equal(load(&large, &loaded), TSR_OK);
        tsr_launch launch = {.config = &large, .loaded = loaded, .args = &args};
        assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
        assert_int_equal(fake.state->launch.grid[0], cases[i].grid);
        launch.grid = (tsr_grid){16 * 8, 1, 1};
        assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
        assert_int_equal(fake.state->launch.grid[0], 16 * 8);
    }
    assert_int_equal(fake.state->clusters_asked_of.block_x, 32);
    assert_int_equal(fake.state->clusters_asked_of.block_y, 4);
    assert_int_equal(fake.state->clusters_asked_of.smem_bytes, 2048);
    fake.state->fail_call = NULL;
    fake.state->clusters = 1;
    const tsr_loaded *loaded = NULL;
    assert_int_equal(load(&pairs, &loaded), TSR_OK);
    const tsr_launch launch = {.config = &pairs, .loaded = loaded, .args = &args};
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
    assert_int_equal(fake.state->launch.grid[0], 132);
}

static void launch_needs_the_rows_own_code(void **unused)
{
    const tsr_gemm_args args = {.m = 1, .n = 1, .k = 1, .batch = 1};
    tsr_launch launch = {.config = &big_config, .args = &args};
    (void)unused;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_INTERNAL);
    launch.loaded = loaded_row();
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_INTERNAL);
    assert_int_equal(fake.state->launches, 0);
}

static void a_failing_launch_is_no_death(void **unused)
{
    const tsr_gemm_args args = {.m = 1, .n = 1, .k = 1, .batch = 1};
    const tsr_launch launch = {.config = &config, .loaded = loaded_row(), .args = &args};
    (void)unused;
    fail_with("cuLaunchKernelEx", 701);
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_DRIVER_ERROR);
    assert_error("cuda:0: cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    fake.state->fail_call = NULL;
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_OK);
}

static void sticky_errors_end_the_device(void **unused)
{
    const tsr_gemm_args args = {.m = 1, .n = 1, .k = 1, .batch = 1};
    const tsr_launch launch = {.config = &config, .loaded = loaded_row(), .args = &args};
    void *pointer = NULL;
    (void)unused;
    assert_int_equal(tsr_cuda_alloc(&device, 64, &pointer), TSR_OK);
    fail_with("cuStreamSynchronize", TSR_CU_ILLEGAL_ADDRESS);
    assert_int_equal(tsr_cuda_synchronize(&device, NULL), TSR_DRIVER_ERROR);
    assert_error("cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_error("it may come from any earlier kernel, and this process can no longer use the GPU");

    fake.state->fail_call = NULL;
    assert_int_equal(tsr_cuda_free(&device, pointer), TSR_OK); /* keeps the message of what went wrong */
    assert_error("cuStreamSynchronize");
    free(pointer);
    assert_int_equal(tsr_cuda_launch(&device, &launch), TSR_DRIVER_ERROR);
    assert_error("can no longer use the GPU since an earlier call: CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(tsr_cuda_alloc(&device, 64, &pointer), TSR_DRIVER_ERROR);
    assert_int_equal(fake.state->launches, 0);
}

static void memory_round_trip(void **unused)
{
    char out[300], back[300] = {0};
    void *pointer = NULL;
    (void)unused;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (char)(i * 7);
    assert_int_equal(tsr_cuda_alloc(&device, sizeof out, &pointer), TSR_OK);
    assert_int_equal(fake.state->last_alloc_bytes, sizeof out);
    const int waits = fake.state->synchronizes;
    assert_int_equal(tsr_cuda_upload(&device, pointer, out, sizeof out, NULL), TSR_OK);
    assert_int_equal(fake.state->synchronizes, waits + 1);
    assert_int_equal(tsr_cuda_download(&device, back, pointer, sizeof back, NULL), TSR_OK);
    assert_int_equal(fake.state->synchronizes, waits + 2);
    assert_memory_equal(out, back, sizeof out);
    assert_int_equal(tsr_cuda_free(&device, pointer), TSR_OK);
    assert_int_equal(fake.state->allocations, 0);
}

static void nothing_is_copied_or_allocated_for_zero_bytes(void **unused)
{
    void *pointer = &pointer;
    (void)unused;
    assert_int_equal(tsr_cuda_alloc(&device, 0, &pointer), TSR_OK);
    assert_null(pointer);
    assert_int_equal(fake.state->allocations, 0);
    assert_int_equal(tsr_cuda_free(&device, NULL), TSR_OK);
    assert_int_equal(tsr_cuda_upload(&device, NULL, NULL, 0, NULL), TSR_OK);
    assert_int_equal(tsr_cuda_download(&device, NULL, NULL, 0, NULL), TSR_OK);
    assert_int_equal(fake.state->synchronizes, 0);
}

static void memory_errors(void **unused)
{
    char bytes[8];
    void *pointer = NULL;
    (void)unused;
    fail_with("cuMemAlloc", TSR_CU_OUT_OF_MEMORY);
    assert_int_equal(tsr_cuda_alloc(&device, 12345, &pointer), TSR_OUT_OF_MEMORY);
    assert_error("cuda:0: no room for 12345 bytes: 1000 of 150323855360 are free");
    assert_null(pointer);
    fail_with("cuMemFree", 1);
    assert_int_equal(tsr_cuda_free(&device, bytes), TSR_DRIVER_ERROR);
    assert_error("cuMemFree");
    fail_with("cuMemcpyHtoDAsync", 1);
    assert_int_equal(tsr_cuda_upload(&device, bytes, bytes, 8, NULL), TSR_DRIVER_ERROR);
    assert_error("cuMemcpyHtoDAsync");
    fail_with("cuMemcpyDtoHAsync", 1);
    assert_int_equal(tsr_cuda_download(&device, bytes, bytes, 8, NULL), TSR_DRIVER_ERROR);
    assert_error("cuMemcpyDtoHAsync");
    fail_with("cuCtxPushCurrent", 201);
    assert_int_equal(tsr_cuda_synchronize(&device, NULL), TSR_DRIVER_ERROR);
    assert_error("cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT");
}

/* Every entry, well or failing, leaves the caller's context current and its stack as deep as it was. */
static void callers_context_is_restored(void **unused)
{
    const tsr_gemm_args args = {.m = 1, .n = 1, .k = 1, .batch = 1};
    static const char *const failing[] = {NULL,
                                          "cuMemAlloc",
                                          "cuMemFree",
                                          "cuMemcpyHtoDAsync",
                                          "cuMemcpyDtoHAsync",
                                          "cuLaunchKernelEx",
                                          "cuStreamSynchronize",
                                          "cuModuleLoadDataEx"};
    (void)unused;
    fake.push(fake.foreign);
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        const tsr_launch launch = {.config = &config, .loaded = loaded_row(), .args = &args};
        const tsr_loaded *loaded = NULL;
        char bytes[8] = {0}, memory[8];
        void *pointer = NULL;
        fail_with(failing[i], 1);
        if (tsr_cuda_alloc(&device, 8, &pointer) == TSR_OK)
            assert_true(fake.current() == fake.foreign);
        tsr_cuda_upload(&device, memory, bytes, 8, NULL);
        assert_true(fake.current() == fake.foreign);
        tsr_cuda_download(&device, bytes, memory, 8, NULL);
        assert_true(fake.current() == fake.foreign);
        tsr_cuda_launch(&device, &launch);
        assert_true(fake.current() == fake.foreign);
        tsr_cuda_synchronize(&device, NULL);
        assert_true(fake.current() == fake.foreign);
        load(&big_config, &loaded);
        assert_true(fake.current() == fake.foreign);
        if (pointer && tsr_cuda_free(&device, pointer) != TSR_OK)
            free(pointer);
        assert_true(fake.current() == fake.foreign);
        fake.state->fail_call = NULL;
        tsr_cuda_close(&device);
        assert_true(fake.current() == fake.foreign);
        assert_int_equal(tsr_cuda_open(0, &options, &device), TSR_OK);
        assert_true(fake.current() == fake.foreign);
        assert_int_equal(fake.depth(), 1);
    }
    fake.pop();
}

static void has_code_says_why_not(void **unused)
{
    char reason[120] = "";
    const tsr_loaded *loaded = NULL;
    (void)unused;
    assert_false(tsr_cuda_has_code(&cpu_config, &device, reason, sizeof reason));
    assert_string_equal(reason, "runs on the CPU only");
    assert_false(tsr_cuda_has_code(&config, &device, reason, sizeof reason));
    assert_string_equal(reason, tsr_toolkit_version ? "this build has no device code of it"
                                                    : "built without nvcc: no device code");
    assert_int_equal(tsr_cuda_load(&device, &config, &loaded), TSR_UNSUPPORTED);
    assert_error("probe_f32");
    assert_error(reason);
}

static void ptx_is_loaded_where_machine_code_does_not_run(void **unused)
{
    static const struct {
        int arch, as_ptx;
    } cases[] = {{80, 0}, {86, 0}, {87, 1}, {90, 0}, {100, 1}, {120, 1}};
    static const tsr_config probe = {.name = "naive", .instance = "naive_f32", ROW_FIELDS};
    const tsr_device_code *const code = tsr_find_device_code(probe.instance);
    (void)unused;
    if (!code)
        skip(); /* this build has no device code of it */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tsr_loaded *loaded = NULL;
        tsr_cuda_close(&device);
        assert_int_equal(tsr_cuda_open(0, &options, &device), TSR_OK);
        fake.state->any_function = 1;
        device.cuda.arch = cases[i].arch;
        device.cuda.driver_version = tsr_toolkit_version;
        assert_int_equal(tsr_cuda_load(&device, &probe, &loaded), TSR_OK);
        assert_ptr_equal(loaded->image, cases[i].as_ptx ? code->ptx : code->machine_code);
    }
}

/* From the public door to the driver: the chosen kernel is launched on the caller's stream with the caller's data. */
static void public_calls_reach_the_driver(void **unused)
{
    static char stream;
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    void *data = NULL;
    (void)unused;
    if (!tsr_toolkit_version)
        skip(); /* no device code to launch */
    fake.state->any_function = 1;
    assert_int_equal(tsr_context_create("cuda:0", NULL, &context), TSR_OK);
    assert_int_equal(tsr_device_alloc(context, 4096, &data), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 30, 20, 10);
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.kernel = "tiled_f32_t16";
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_int_equal(fake.state->module_loads, 1);

    const int waits = fake.state->synchronizes;
    tsr_run_args args = tsr_run_args_make(data, (char *)data + 1200, (char *)data + 2000);
    args.stream = &stream;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    assert_int_equal(fake.state->launches, 1);
    assert_int_equal(fake.state->synchronizes, waits);
    assert_int_equal(fake.state->allocations, 1);
    assert_int_equal(fake.state->module_loads, 1);
    assert_ptr_equal(fake.state->launch.stream, &stream);
    assert_int_equal(fake.state->launch.grid[0], 4);
    assert_int_equal(fake.state->launch.grid[2], 1);
    assert_int_equal(fake.state->launch.block[0], 16);
    assert_int_equal(fake.state->launch.block[1], 16);
    assert_ptr_equal(fake.state->launch.args.a, data);
    assert_int_equal(fake.state->launch.args.m, 30);
    assert_int_equal(fake.state->launch.args.ldb, 20);

    tsr_plan_release(plan);
    assert_int_equal(tsr_device_free(context, data), TSR_OK);
    tsr_context_destroy(context);
    assert_int_equal(fake.state->retained, 1); /* the test's own device */
}

/* Operands in host memory are copied to whole chunks of 16 bytes, with zeros behind them. */
static int staged_ends_are_zeros; /* as the launch found them: it may not leave by an assertion */

static void see_staged_operands(const tsr_gemm_args *args)
{
    static const unsigned char zeros[16];
    staged_ends_are_zeros = memcmp((const char *)args->a + 5 * sizeof(float), zeros, 12) == 0 &&
                            memcmp((const char *)args->b + 3 * sizeof(float), zeros, 4) == 0;
}

static void staged_operands_end_with_a_chunk(void **unused)
{
    static float a[5], b[3], d[15];
    tsr_context *context = NULL;
    (void)unused;
    if (!tsr_toolkit_version)
        skip(); /* no device code to launch */
    fake.state->any_function = 1;
    fake.state->kernel = see_staged_operands;
    assert_int_equal(tsr_context_create("cuda:0", NULL, &context), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 5, 3, 1);
    desc.kernel = "tiled_f32_t16";
    const tsr_run_args args = tsr_run_args_make(a, b, d);
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    assert_int_equal(fake.state->launches, 1);
    assert_true(staged_ends_are_zeros);
    assert_int_equal(fake.state->allocations, 0);
    tsr_context_destroy(context);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fresh, close_and_check)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(loading_is_once_and_eager),
        TEST(kernels_of_one_image_share_a_module),
        TEST(failing_loads_say_why_and_keep_nothing),
        TEST(limits_are_checked_when_loading),
        TEST(threads_load_one_module),
        TEST(launches_pass_everything_on),
        TEST(empty_and_oversized_grids),
        TEST(persistent_grids_have_no_cluster_too_many),
        TEST(launches_say_what_is_special),
        TEST(launch_needs_the_rows_own_code),
        TEST(a_failing_launch_is_no_death),
        TEST(sticky_errors_end_the_device),
        TEST(memory_round_trip),
        TEST(nothing_is_copied_or_allocated_for_zero_bytes),
        TEST(memory_errors),
        TEST(callers_context_is_restored),
        TEST(has_code_says_why_not),
        TEST(ptx_is_loaded_where_machine_code_does_not_run),
        TEST(public_calls_reach_the_driver),
        TEST(staged_operands_end_with_a_chunk),
    };
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    fake = fake_cuda_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
