/* The emulated GPU as a device: an H200 whose memory is the host's and whose time is this CPU's. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/added.h"
#include "core/backend.h"
#include "core/device_code.h"
#include "core/error.h"
#include "core/sparse24.h"
#include "emu/kernels.h"
#include "emu/run_launch.h"

#if TESSERA_EMU

/* What the driver says of an H200 (SXM); clocks in kHz are its highest. */
static const tsr_cuda_limits h200_limits = {
    .arch = 90,
    .sm_count = 132,
    .core_clock_khz = 1980000,
    .memory_clock_khz = 3201000,
    .memory_bus_bits = 6144,
    .l2_bytes = 60ll << 20,
    .memory_bytes = 141ll * 1000 * 1000 * 1000,
    .threads_per_block = 1024,
    .threads_per_sm = 2048,
    .blocks_per_sm = 32,
    .registers_per_sm = 65536,
    .smem_per_block_bytes = 227 << 10,
    .smem_per_sm_bytes = 228 << 10,
    .driver_version = 13000,
};

typedef struct emu_device {
    unsigned long long seed;
    tsr_emu_trace *trace;           /* of the next launches, or NULL */
    const tsr_emu_watcher *watcher; /* likewise */
    const tsr_emu_listener *listener;
    tsr_emu_pool *pool;
    tsr_emu_kernels kernels;
} emu_device;

static const tsr_emu_code *find_code(const tsr_device *device, const char *instance)
{
    const tsr_emu_code *const code = tsr_find_emu_code(((const emu_device *)device->impl)->kernels.codes, instance);
    const tsr_added_kernel *const added = code ? NULL : tsr_added();
    return added && strcmp(added->emulated.instance, instance) == 0 ? &added->emulated : code;
}

/* $TESSERA_EMU_SEED: another order of threads, for those who hunt a bug that depends on it. */
static tsr_status read_seed(unsigned long long *seed)
{
    const char *text = getenv("TESSERA_EMU_SEED");
    *seed = 0;
    if (!text || !*text)
        return TSR_OK;
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 0);
    if (errno || *end)
        return tsr_fail(TSR_INVALID_ARGUMENT, "TESSERA_EMU_SEED = \"%s\": must be a number", text);
    return TSR_OK;
}

static int process_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void free_device(const tsr_allocator *allocator, emu_device *impl)
{
    tsr_emu_pool_free(impl->pool);
    tsr_free(allocator, impl);
}

/* NULL: no memory. */
static emu_device *make_device(const tsr_allocator *allocator, unsigned long long seed)
{
    emu_device *impl = tsr_alloc(allocator, 0, sizeof *impl);
    if (!impl)
        return NULL;
    *impl = (emu_device){.seed = seed, .pool = tsr_emu_pool_make(allocator)};
    if (impl->pool)
        return impl;
    tsr_free(allocator, impl);
    return NULL;
}

static tsr_status emu_open(int ordinal, const tsr_backend_options *options, tsr_device *out)
{
    if (ordinal != 0)
        return tsr_fail(TSR_NO_DEVICE, "device emu:%d: there is one emulated device", ordinal);
    unsigned long long seed;
    tsr_status status = read_seed(&seed);
    if (status != TSR_OK)
        return status;
    emu_device *impl = make_device(options->allocator, seed);
    if (!impl)
        return tsr_fail(TSR_OUT_OF_MEMORY, "device emu: out of memory");
    status = tsr_emu_kernels_open(&impl->kernels);
    if (status != TSR_OK) {
        free_device(options->allocator, impl);
        return status;
    }
    out->kind = TSR_DEVICE_EMU;
    snprintf(out->id, sizeof out->id, "emu");
    snprintf(out->name, sizeof out->name, "emulator of an NVIDIA H200");
    out->cuda = h200_limits;
    out->threads = options->threads > 0 ? options->threads : process_cpus();
    /* One emulated multiply-add takes some tens of nanoseconds: nobody shall choose this device for speed. */
    out->peak_flops_f32 = out->peak_flops_f64 = 1e8;
    out->peak_flops_f64_tensor = out->peak_flops_tensor16 = out->peak_flops_tf32 = 1e8;
    out->memory_bytes_per_s = 1e8;
    out->transfer_bytes_per_s = 0;
    out->launch_ns = 1e6;
    out->impl = impl;
    return TSR_OK;
}

static void emu_close(tsr_device *device)
{
    emu_device *impl = device->impl;
    tsr_emu_kernels_close(&impl->kernels);
    free_device(device->allocator, impl);
    device->impl = NULL;
}

static tsr_status emu_load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    *out = NULL;
    if (!find_code(device, config->instance))
        return tsr_fail(TSR_UNSUPPORTED, "%s: this build has no emulator code of it", config->instance);
    return TSR_OK;
}

/* The maps of a launch, made by the driver's documented rules. */
static tsr_status encode_all(const tsr_config *config, const tsr_gemm_args *args, tsr_tensor_maps *out)
{
    tsr_tensor_map *const maps[4] = {&out->a, &out->b, &out->c, &out->d};
    tsr_tensor_spec specs[4];
    memset(out, 0, sizeof *out);
    tsr_config_tensor_specs(config, args, specs);
    for (int i = 0; i < 4; i++) {
        const char *fault = specs[i].base ? tsr_tensor_spec_fault(&specs[i]) : NULL;
        if (fault)
            return tsr_fail(TSR_INTERNAL, "%s: %c: %s", config->instance, "ABCD"[i], fault);
        if (specs[i].base)
            tsr_emu_encode(&specs[i], maps[i]);
    }
    return TSR_OK;
}

/* Of an operand that the kernel reads compressed; 0: as it is, or not at all. */
static long long compressed_bytes(const tsr_launch *launch, char which)
{
    if (!launch->args || !launch->problem || launch->args->k == 0 ||
        launch->config->op.operands != TSR_TAKES_SPARSE24 || !(launch->problem->op.sparse24 & tsr_sparse24_flag(which)))
        return 0;
    const tsr_lines24 lines = tsr_lines24_of(launch->problem, which);
    return tsr_device24_bytes(&lines) * lines.matrices;
}

static tsr_status emu_launch_config(tsr_device *device, const tsr_launch *launch)
{
    const tsr_config *config = launch->config;
    const emu_device *impl = device->impl;
    /* Steps around the product are nobody's subject. */
    const tsr_emu_watcher *watcher = config->role == TSR_ROLE_PRODUCT ? impl->watcher : NULL;
    const tsr_emu_code *code = watcher ? watcher->code(config->instance) : find_code(device, config->instance);
    if (!code)
        return tsr_fail(TSR_UNSUPPORTED, "%s: this build has no emulator code of it%s", config->instance,
                        watcher ? " to be watched" : "");
    const tsr_op op = launch->problem ? launch->problem->op : (tsr_op){0};
    tsr_tensor_maps maps;
    const tsr_grid grid =
        launch->grid.x > 0 ? launch->grid : tsr_config_grid(config, launch->args, device->cuda.sm_count);
    if (grid.x <= 0 || grid.y <= 0 || grid.z <= 0)
        return TSR_OK; /* D has no elements */
    const tsr_scaling none = {.type_bias = launch->args ? launch->args->type_d : TSR_TYPE_NONE};
    const tsr_status status = config->tma ? encode_all(config, launch->args, &maps) : TSR_OK;
    if (status != TSR_OK)
        return status;
    const tsr_emu_job job = {
        .name = config->instance,
        .kernel = code->kernel,
        .kernel_tma = code->kernel_tma,
        .kernel_scaled = code->kernel_scaled,
        .maps = config->tma ? &maps : NULL,
        .cluster = launch->cluster > 0 ? launch->cluster : tsr_config_cluster(config),
        .arch = config->min_arch,
        .is_dependent = config->dependent_launch,
        .args = launch->args,
        .copy = launch->copy,
        .reduce = launch->reduce,
        .microbench = launch->microbench,
        .scaling = launch->scaling ? launch->scaling : &none,
        .dtype_a = op.a,
        .dtype_b = op.b,
        .dtype_c = op.c,
        .dtype_d = op.d,
        .a_bytes = compressed_bytes(launch, 'a'),
        .b_bytes = compressed_bytes(launch, 'b'),
        .transposes = config->role == TSR_ROLE_TRANSPOSE,
        .grid = grid,
        .threads_x = (unsigned)config->threads_x,
        .threads_y = (unsigned)config->threads_y,
        .shared_bytes = (size_t)config->smem_bytes,
        .workspace_bytes = launch->workspace_bytes,
        .seed = impl->seed,
        .workers = launch->threads > 0 ? launch->threads : device->threads,
        .allocator = device->allocator,
        .pool = impl->pool,
        .trace = config->role == TSR_ROLE_PRODUCT ? impl->trace : NULL,
        .listener = config->role == TSR_ROLE_PRODUCT ? impl->listener : NULL,
        .watcher = watcher,
    };
    return tsr_emu_run(&job);
}

void tsr_emu_trace_launches(tsr_device *device, tsr_emu_trace *trace)
{
    ((emu_device *)device->impl)->trace = trace;
}

void tsr_emu_watch_launches(tsr_device *device, const tsr_emu_watcher *watcher)
{
    ((emu_device *)device->impl)->watcher = watcher;
}

void tsr_emu_listen(tsr_device *device, const tsr_emu_listener *listener)
{
    ((emu_device *)device->impl)->listener = listener;
}

static int emu_has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    if (find_code(device, config->instance))
        return 1;
    snprintf(reason, reason_bytes, "this build has no emulator code of it");
    return 0;
}

#else

#define NO_EMULATOR "this build has no emulator"

static tsr_status emu_open(int ordinal, const tsr_backend_options *options, tsr_device *out)
{
    (void)ordinal, (void)options, (void)out;
    return tsr_fail(TSR_NO_DEVICE, "device emu: " NO_EMULATOR);
}
static void emu_close(tsr_device *device)
{
    (void)device;
}
void tsr_emu_trace_launches(tsr_device *device, tsr_emu_trace *trace)
{
    (void)device, (void)trace;
}
void tsr_emu_watch_launches(tsr_device *device, const tsr_emu_watcher *watcher)
{
    (void)device, (void)watcher;
}
void tsr_emu_listen(tsr_device *device, const tsr_emu_listener *listener)
{
    (void)device, (void)listener;
}
static tsr_status emu_load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    (void)device, (void)config, (void)out;
    return tsr_fail(TSR_UNSUPPORTED, NO_EMULATOR);
}
static tsr_status emu_launch_config(tsr_device *device, const tsr_launch *launch)
{
    (void)device, (void)launch;
    return tsr_fail(TSR_UNSUPPORTED, NO_EMULATOR);
}
static int emu_has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    (void)config, (void)device;
    snprintf(reason, reason_bytes, "%s", NO_EMULATOR);
    return 0;
}

#endif

/* Device memory is the host's, aligned as CUDA aligns it. */
static tsr_status emu_alloc(tsr_device *device, size_t bytes, void **out)
{
    *out = tsr_alloc(device->allocator, 256, bytes);
    return *out ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "device emu: cannot allocate %zu bytes", bytes);
}

static tsr_status emu_free(tsr_device *device, void *pointer)
{
    tsr_free(device->allocator, pointer);
    return TSR_OK;
}

static tsr_status emu_copy(tsr_device *device, void *to, const void *from, size_t bytes, void *stream)
{
    (void)device, (void)stream;
    if (bytes)
        memcpy(to, from, bytes);
    return TSR_OK;
}

static tsr_status emu_zero(tsr_device *device, void *to, size_t bytes, void *stream)
{
    (void)device, (void)stream;
    memset(to, 0, bytes);
    return TSR_OK;
}

static tsr_status emu_synchronize(tsr_device *device, void *stream)
{
    (void)device, (void)stream;
    return TSR_OK;
}

const tsr_backend tsr_emu_backend = {
    .open = emu_open,
    .close = emu_close,
    .load = emu_load,
    .launch = emu_launch_config,
    .alloc = emu_alloc,
    .free = emu_free,
    .upload = emu_copy,
    .download = emu_copy,
    .zero = emu_zero,
    .synchronize = emu_synchronize,
    .has_code = emu_has_code,
};
