/* The processors as a device. */
#include "core/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/processors.h"
#include "core/sparse24.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/machine.h"

enum {
    ALIGN_BYTES = 64,
    CALL_NS = 50,          /* of a call that does nothing else */
    THREADS_FOR_MEMORY = 4 /* this many cores read about as fast as all */
};

/* The peaks are of the best instruction set, whatever the device was told to run. */
static void cpu_measure(tsr_device *device)
{
    tsr_cpu_device *impl = device->impl;
    if (!tsr_claim_begin(&impl->measured))
        return;
    const tsr_cpu_rates rates = tsr_cpu_measured_rates();
    device->peak_flops_f32 = rates.flops_f32 * device->threads;
    device->peak_flops_f64 = rates.flops_f64 * device->threads;
    device->memory_bytes_per_s =
        rates.read_bytes_per_s * (device->threads < THREADS_FOR_MEMORY ? device->threads : THREADS_FOR_MEMORY);
    tsr_claim_end(&impl->measured);
}

/* Asked once in a process: some ten files of the system's. */
static void fill_caches(const tsr_cpu_profile *profile, tsr_device *out)
{
    static tsr_claim asked;
    static long long bytes[TSR_CACHE_LEVELS];
    if (!profile && tsr_claim_begin(&asked)) {
        tsr_cpu_caches(bytes);
        tsr_claim_end(&asked);
    }
    out->l1_bytes = profile ? profile->l1_bytes : bytes[0];
    out->l2_bytes = profile ? profile->l2_bytes : bytes[1];
    out->l3_bytes = profile ? profile->l3_bytes : bytes[2];
}

/* The instruction set of that name and, with "+pairs" after it, its pairs. */
static tsr_status find_isa(const char *name, const tsr_isa **isa, const tsr_pairs **pairs)
{
    char plain[32];
    const char *suffix = strstr(name, "+pairs");
    snprintf(plain, sizeof plain, "%.*s", suffix ? (int)(suffix - name) : (int)strlen(name), name);
    *isa = tsr_isa_find(plain);
    *pairs = *isa && suffix ? tsr_isa_pairs(*isa) : NULL;
    return *isa && (*pairs || !suffix)
               ? TSR_OK
               : tsr_fail(TSR_UNSUPPORTED, "instruction set \"%s\": not in this build or not on this processor", name);
}

static tsr_status choose_isa(const tsr_cpu_profile *profile, tsr_cpu_device *impl)
{
    tsr_status status = TSR_OK;
    if (profile && profile->isa) {
        status = find_isa(profile->isa, &impl->isa, &impl->pairs);
    } else {
        impl->isa = tsr_isa_best();
        impl->pairs = tsr_isa_pairs(impl->isa);
    }
    impl->has_pairs = impl->pairs != NULL;
    impl->integers = impl->isa ? tsr_isa_integers(impl->isa) : NULL;
    return status;
}

static tsr_status cpu_open(int ordinal, const tsr_backend_options *options, tsr_device *out)
{
    if (ordinal != 0)
        return tsr_fail(TSR_NO_DEVICE, "device cpu:%d: the processors are one device, \"cpu\"", ordinal);
    tsr_cpu_device *impl = tsr_alloc(options->allocator, ALIGN_BYTES, sizeof *impl);
    if (!impl)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the device \"cpu\": %zu bytes", sizeof *impl);
    const tsr_status status = choose_isa(options->cpu, impl);
    if (status != TSR_OK) {
        tsr_free(options->allocator, impl);
        return status;
    }
    impl->allocator = options->allocator;
    atomic_init(&impl->measured, 0);
    tsr_pool_init(&impl->pool);
    tsr_scratch_init(&impl->scratch, options->allocator);
    memset(out, 0, sizeof *out);
    out->kind = TSR_DEVICE_CPU;
    snprintf(out->id, sizeof out->id, "cpu");
    if (options->cpu)
        snprintf(out->name, sizeof out->name, "CPU");
    else
        tsr_cpu_name(out->name, sizeof out->name);
    out->threads = options->threads > 0 ? options->threads : tsr_cpu_count();
    fill_caches(options->cpu, out);
    out->launch_ns = CALL_NS;
    out->impl = impl;
    return TSR_OK;
}

static void cpu_close(tsr_device *device)
{
    tsr_cpu_device *impl = device->impl;
    if (!impl)
        return;
    tsr_pool_destroy(&impl->pool);
    tsr_scratch_destroy(&impl->scratch);
    tsr_free(impl->allocator, impl);
    device->impl = NULL;
}

static tsr_status cpu_load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    (void)device;
    (void)config;
    *out = NULL;
    return TSR_OK;
}

static tsr_status cpu_launch(tsr_device *device, const tsr_launch *launch)
{
    const tsr_cpu_call call = {
        .args = launch->args,
        .scaling = launch->scaling,
        .packed_a = launch->packed_a,
        .packed_b = launch->packed_b,
        .sparse24 = launch->problem ? launch->problem->op.sparse24 : 0,
        .threads = launch->threads > 0 ? launch->threads : device->threads,
        .algorithm = launch->algorithm,
        .device = device,
    };
    return call.sparse24 ? tsr_cpu_sparse24(launch->config, &call, launch->problem)
                         : launch->config->run(launch->config, &call);
}

static tsr_status cpu_alloc(tsr_device *device, size_t bytes, void **out)
{
    const tsr_cpu_device *impl = device->impl;
    *out = tsr_alloc(impl->allocator, ALIGN_BYTES, bytes);
    return *out ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
}

static tsr_status cpu_free(tsr_device *device, void *pointer)
{
    const tsr_cpu_device *impl = device->impl;
    tsr_free(impl->allocator, pointer);
    return TSR_OK;
}

static tsr_status cpu_copy(tsr_device *device, void *to, const void *from, size_t bytes, void *stream)
{
    (void)device;
    (void)stream;
    if (bytes > 0)
        memmove(to, from, bytes);
    return TSR_OK;
}

static tsr_status cpu_zero(tsr_device *device, void *to, size_t bytes, void *stream)
{
    (void)device;
    (void)stream;
    memset(to, 0, bytes);
    return TSR_OK;
}

static tsr_status cpu_synchronize(tsr_device *device, void *stream)
{
    (void)device;
    (void)stream;
    return TSR_OK;
}

static int cpu_has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    if (config->kind == TSR_CONFIG_CPU)
        return 1;
    snprintf(reason, reason_bytes, "CUDA kernel; the device is %s", device->id);
    return 0;
}

tsr_status tsr_cpu_force_isa(tsr_device *device, const char *name)
{
    tsr_cpu_device *impl = device->impl;
    const tsr_isa *isa;
    const tsr_pairs *pairs;
    const tsr_status status = find_isa(name, &isa, &pairs);
    if (status != TSR_OK)
        return status;
    impl->isa = isa;
    impl->pairs = pairs;
    impl->has_pairs = tsr_isa_pairs(isa) != NULL;
    impl->integers = tsr_isa_integers(isa);
    return TSR_OK;
}

const tsr_backend tsr_cpu_backend = {
    .open = cpu_open,
    .close = cpu_close,
    .measure = cpu_measure,
    .load = cpu_load,
    .launch = cpu_launch,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .zero = cpu_zero,
    .synchronize = cpu_synchronize,
    .has_code = cpu_has_code,
};
