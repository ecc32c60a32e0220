/* Opening and closing contexts; device memory. */
#include "api/context.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/environment.h"
#include "api/small.h"
#include "api/validate.h"
#include "core/error.h"
#include "core/process.h"
#include "core/uncancelled.h"
#include "plan/profiles/profiles.h"

#define DEFAULT_CACHE_ENTRIES 256
#define MAX_CACHE_ENTRIES     65536

/* What devices are opened with, beside the context's own. */
typedef struct device_options {
    int threads;
    const tsr_cpu_profile *cpu;
} device_options;

static tsr_status open_target(tsr_context *context, const tsr_backend *backend, int ordinal,
                              const device_options *given)
{
    tsr_target *target = &context->targets[context->target_count];
    const tsr_backend_options options = {
        .threads = given->threads,
        .cpu = given->cpu,
        .allocator = &context->allocator,
        .log = context->log,
        .log_user = context->user,
    };
    memset(target, 0, sizeof *target);
    const tsr_status status = backend->open(ordinal, &options, &target->device);
    if (status != TSR_OK)
        return status;
    target->backend = backend;
    target->device.allocator = &context->allocator;
    target->device.profile = tsr_profile_named(target->device.name);
    context->home = target;
    context->target_count++;
    return TSR_OK;
}

/* "cuda:7" -> 7; -1 if it is something else. */
static int cuda_ordinal(const char *device)
{
    if (strncmp(device, "cuda:", 5) != 0 || !isdigit((unsigned char)device[5]) || strlen(device) > 8)
        return -1;
    char *end;
    const long ordinal = strtol(device + 5, &end, 10);
    return *end == '\0' ? (int)ordinal : -1;
}

static tsr_status open_device(tsr_context *context, const char *device, const device_options *given)
{
    if (strcmp(device, "cpu") == 0)
        return open_target(context, &tsr_cpu_backend, 0, given);
    if (strcmp(device, "emu") == 0)
        return open_target(context, &tsr_emu_backend, 0, given);
    if (cuda_ordinal(device) >= 0)
        return open_target(context, &tsr_cuda_backend, cuda_ordinal(device), given);
    if (strcmp(device, "auto") != 0)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "device = \"%s\": must be \"auto\", \"cpu\", \"emu\" or \"cuda:N\" with N = 0, 1, ...", device);
    const tsr_status status = open_target(context, &tsr_cpu_backend, 0, given);
    if (status != TSR_OK)
        return status;
    const tsr_error before = tsr_error_keep();
    if (open_target(context, &tsr_cuda_backend, 0, given) == TSR_OK)
        context->targets[0].gpu_beside = 1;
    else if (context->log) {
        char line[600];
        snprintf(line, sizeof line, "no GPU: %s", tsr_last_error());
        context->log(line, context->user);
    }
    tsr_error_put_back(&before);
    return TSR_OK;
}

/* An allocator that forgets about `align` is told here, and not by a crash: memory that it gives later is looked at too
 * (core/memory.c). */
static tsr_status check_allocator(const tsr_context_options *options)
{
    enum { BYTES = 100, MOST_ALIGN = 4096 };
    for (size_t align = sizeof(void *); options->alloc && align <= MOST_ALIGN; align *= 8) {
        void *pointer = options->alloc(align, BYTES, options->user);
        if (!pointer)
            return tsr_fail(TSR_OUT_OF_MEMORY, "alloc: no memory for %d bytes", BYTES);
        options->free(pointer, options->user);
        if ((uintptr_t)pointer % align)
            return tsr_fail(TSR_INVALID_ARGUMENT, "alloc = %p for align = %zu: must be a multiple of it", pointer,
                            align);
    }
    return TSR_OK;
}

static tsr_status check_options(const tsr_context_options *options)
{
    if (options->threads < 0 || options->threads > TSR_MOST_THREADS)
        return tsr_fail(TSR_INVALID_ARGUMENT, "threads = %d: must be 0 to %d", options->threads, TSR_MOST_THREADS);
    if (options->plan_cache_entries < 0 || options->plan_cache_entries > MAX_CACHE_ENTRIES)
        return tsr_fail(TSR_INVALID_ARGUMENT, "plan_cache_entries = %d: must be 0 to %d", options->plan_cache_entries,
                        MAX_CACHE_ENTRIES);
    if (!options->alloc != !options->free)
        return tsr_fail(TSR_INVALID_ARGUMENT, "alloc, free: give both or neither");
    if (options->tuning_file)
        return tsr_fail(TSR_UNSUPPORTED, "tuning_file: not supported yet, must be NULL");
    return check_allocator(options);
}

tsr_status tsr_context_create(const char *device, const tsr_context_options *options, tsr_context **out)
{
    return tsr_context_open(device, options, NULL, out);
}

tsr_status tsr_context_open(const char *device, const tsr_context_options *options, const tsr_cpu_profile *cpu,
                            tsr_context **out)
{
    TSR_UNCANCELLED();
    if (!out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out = NULL: must point to a context pointer");
    if (!device)
        return tsr_fail(TSR_INVALID_ARGUMENT, "device = NULL: must be a name, \"auto\" for the best there is");
    tsr_context_options taken = {.struct_bytes = sizeof taken};
    tsr_status status =
        options ? tsr_take_struct(&taken, sizeof taken, TSR_FIRST_OPTIONS_BYTES, options, "tsr_context_options")
                : TSR_OK;
    if (status == TSR_OK)
        status = check_options(&taken);
    if (status != TSR_OK)
        return status;

    tsr_context *context = calloc(1, sizeof *context);
    if (!context)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a context");
    context->allocator = (tsr_allocator){taken.alloc, taken.free, taken.user};
    context->process = tsr_process();
    atomic_init(&context->references, 1);
    context->log = taken.log;
    context->user = taken.user;
    tsr_staging_init(&context->staging);
    context->cache =
        tsr_plan_cache_create(taken.plan_cache_entries ? (size_t)taken.plan_cache_entries : DEFAULT_CACHE_ENTRIES);
    if (context->log)
        tsr_check_environment(context->log, context->user);
    const device_options given = {.threads = taken.threads ? taken.threads : tsr_threads_from_environment(),
                                  .cpu = cpu};
    status = context->cache ? open_device(context, device, &given)
                            : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the plan cache");
    if (status != TSR_OK) {
        tsr_context_destroy(context);
        return status;
    }
    tsr_small_open(context);
    *out = context;
    return TSR_OK;
}

void tsr_context_destroy(tsr_context *context)
{
    TSR_UNCANCELLED();
    if (!context || atomic_fetch_sub(&context->references, 1) > 1)
        return;
    tsr_plan_cache_destroy(context->cache);
    tsr_staging_close(&context->staging);
    for (size_t i = 0; i < context->target_count; i++)
        context->targets[i].backend->close(&context->targets[i].device);
    free(context);
}

static tsr_status need_context(const tsr_context *context)
{
    return context ? TSR_OK : tsr_fail(TSR_INVALID_ARGUMENT, "context = NULL: must be a context");
}

tsr_status tsr_device_alloc(tsr_context *context, size_t bytes, void **out)
{
    TSR_UNCANCELLED();
    if (need_context(context) != TSR_OK)
        return TSR_INVALID_ARGUMENT;
    if (!out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out = NULL: must point to a pointer");
    tsr_target *home = context->home;
    void *made = NULL;
    tsr_status status = home->backend->alloc(&home->device, bytes, &made);
    if (status == TSR_OK && (status = tsr_zero_counters(home, made, bytes, NULL)) != TSR_OK)
        home->backend->free(&home->device, made);
    if (status == TSR_OK)
        *out = made;
    return status;
}

tsr_status tsr_device_free(tsr_context *context, void *pointer)
{
    TSR_UNCANCELLED();
    if (need_context(context) != TSR_OK)
        return TSR_INVALID_ARGUMENT;
    return pointer ? context->home->backend->free(&context->home->device, pointer) : TSR_OK;
}

tsr_status tsr_upload(tsr_context *context, void *device_to, const void *host_from, size_t bytes)
{
    TSR_UNCANCELLED();
    if (need_context(context) != TSR_OK)
        return TSR_INVALID_ARGUMENT;
    if (bytes == 0)
        return TSR_OK;
    if (!device_to || !host_from)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL: %zu bytes are to be copied",
                        device_to ? "host_from" : "device_to", bytes);
    return context->home->backend->upload(&context->home->device, device_to, host_from, bytes, NULL);
}

tsr_status tsr_download(tsr_context *context, void *host_to, const void *device_from, size_t bytes)
{
    TSR_UNCANCELLED();
    if (need_context(context) != TSR_OK)
        return TSR_INVALID_ARGUMENT;
    if (bytes == 0)
        return TSR_OK;
    if (!host_to || !device_from)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL: %zu bytes are to be copied",
                        host_to ? "device_from" : "host_to", bytes);
    return context->home->backend->download(&context->home->device, host_to, device_from, bytes, NULL);
}

tsr_status tsr_synchronize(tsr_context *context, void *stream)
{
    TSR_UNCANCELLED();
    if (need_context(context) != TSR_OK)
        return TSR_INVALID_ARGUMENT;
    return context->home->backend->synchronize(&context->home->device, stream);
}
