#include "lab/bench/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/common/compress.h"
#include "lab/common/device_facts.h"
#include "lab/common/nvtx.h"
#include "lab/common/operands.h"
#include "lab/common/timer.h"

/* The parent of a process and its program's name, from /proc; 0 where that cannot be read. */
static int parent_of(int process, char name[64])
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*d (%63[^)]) %*c %d", name, &parent) != 2)
        parent = 0;
    fclose(file);
    return parent;
}

/* Profilers start the process that they watch, or say where it finds their libraries. */
static int is_watched(void)
{
    const char *const variables[] = {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"};
    const char *const profilers[] = {"ncu", "nsys", "nsight-sys", "compute-sanitize", "compute-sanitizer"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (getenv(variables[i]))
            return 1;
    char name[64] = "";
    int process = getpid();
    for (int depth = 0; process > 1 && depth < 16; depth++) {
        process = parent_of(process, name);
        for (size_t i = 0; depth > 0 && i < sizeof profilers / sizeof profilers[0]; i++)
            if (strcmp(name, profilers[i]) == 0)
                return 1;
    }
    return 0;
}

static tsr_status run_all(tsr_plan *plan, const tsr_run_args *args, int64_t iterations)
{
    tsr_status status = TSR_OK;
    for (int64_t i = 0; i < iterations && status == TSR_OK; i++)
        status = tsr_plan_run(plan, args);
    return status;
}

static tsr_status run_named(const char *device, tsr_plan *plan, const tsr_run_args *args, int64_t iterations,
                            lab_profile *out)
{
    lab_timer timer;
    double elapsed_ns = 0;
    tsr_status status = lab_timer_open(device, &timer);
    if (status != TSR_OK)
        return status;
    status = timer.ops->begin(timer.state, NULL);
    out->is_named = lab_nvtx_push("tessera profile");
    if (status == TSR_OK)
        status = run_all(plan, args, iterations);
    if (status == TSR_OK)
        status = timer.ops->end(timer.state, NULL, &elapsed_ns);
    if (out->is_named)
        lab_nvtx_pop();
    lab_timer_close(&timer);
    out->ns = elapsed_ns / (double)iterations;
    return status;
}

static tsr_status run_on(tsr_context *context, const char *device, const tsr_gemm_desc *desc, int64_t iterations,
                         lab_profile *out)
{
    tsr_plan *plan = NULL;
    tsr_prepared *compressed = NULL;
    lab_operands operands = {0};
    lab_device described;
    void *workspace = NULL;
    tsr_status status = tsr_plan_create(context, desc, &plan);
    if (status == TSR_OK)
        status = lab_operands_create(context, desc, 0, 1, &operands);
    if (status == TSR_OK && tsr_plan_workspace_bytes(plan) > 0)
        status = tsr_device_alloc(context, tsr_plan_workspace_bytes(plan), &workspace);
    if (status == TSR_OK) {
        tsr_run_args args = tsr_run_args_make(operands.sets[0].a, operands.sets[0].b, operands.sets[0].d);
        args.workspace = workspace;
        args.workspace_bytes = tsr_plan_workspace_bytes(plan);
        status = lab_compress(plan, desc, &args, &compressed);
        if (status == TSR_OK)
            status = run_named(device, plan, &args, iterations, out);
    }
    if (status == TSR_OK) {
        lab_device_of(context, &described);
        snprintf(out->device, sizeof out->device, "%s", described.name);
        snprintf(out->kernel, sizeof out->kernel, "%s", tsr_plan_kernel(plan));
    }
    if (workspace)
        tsr_device_free(context, workspace);
    tsr_prepared_release(compressed);
    lab_operands_free(&operands);
    tsr_plan_release(plan);
    return status;
}

tsr_status lab_profile_run(const char *device, const tsr_gemm_desc *desc, int64_t iterations, lab_profile *out)
{
    *out = (lab_profile){.is_watched = is_watched()};
    tsr_gemm_desc on_device = lab_aligned_desc(desc);
    on_device.a.memory = on_device.b.memory = on_device.c.memory = on_device.d.memory = TSR_DEVICE;
    tsr_context *context = NULL;
    tsr_status status = tsr_context_create(device, NULL, &context);
    if (status == TSR_OK)
        status = run_on(context, device, &on_device, iterations, out);
    tsr_context_destroy(context);
    return status;
}

const char *lab_profile_default_device(void)
{
    lab_device device;
    return lab_device_describe("cuda:0", &device) == TSR_OK ? "cuda:0" : "emu";
}
