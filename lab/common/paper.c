#include "lab/common/paper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/route.h"
#include "api/validate.h"
#include "core/error.h"
#include "plan/applicable.h"
#include "plan/pad.h"
#include "plan/profiles/profiles.h"

/* Every config has code there; nothing else is asked of a GPU on paper. */
static int has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    (void)config, (void)device, (void)reason, (void)reason_bytes;
    return 1;
}

static const tsr_backend paper_backend = {.has_code = has_code};

tsr_device lab_device_on_paper(const lab_gpu_spec *gpu)
{
    enum { RESERVED_BYTES = 1024, THREADS_PER_BLOCK = 1024 }; /* shared memory that each block gives to the system */
    tsr_device device = {.kind = TSR_DEVICE_CUDA,
                         .cuda = {.arch = gpu->arch,
                                  .sm_count = gpu->sms,
                                  .core_clock_khz = (int)(gpu->clock_hz / 1e3),
                                  .memory_clock_khz = (int)(gpu->memory_clock_hz / 1e3),
                                  .memory_bus_bits = gpu->memory_bits,
                                  .l2_bytes = gpu->l2_bytes,
                                  .threads_per_block = THREADS_PER_BLOCK,
                                  .threads_per_sm = gpu->threads_per_sm,
                                  .blocks_per_sm = gpu->ctas_per_sm,
                                  .registers_per_sm = gpu->registers_per_sm,
                                  .smem_per_block_bytes = gpu->shared_bytes - RESERVED_BYTES,
                                  .smem_per_sm_bytes = gpu->shared_bytes},
                         .peak_flops_f32 = 2 * gpu->fma_per_clock * gpu->sms * gpu->clock_hz,
                         .peak_flops_f64 = 2 * gpu->fma64_per_clock * gpu->sms * gpu->clock_hz,
                         .peak_flops_f64_tensor = gpu->tensor64_flops_per_clock * gpu->sms * gpu->clock_hz,
                         .peak_flops_tensor16 = gpu->tensor_flops_per_clock * gpu->sms * gpu->clock_hz,
                         .peak_flops_tf32 = gpu->tensor_flops_per_clock / 2 * gpu->sms * gpu->clock_hz,
                         .memory_bytes_per_s = gpu->memory_bytes_per_s,
                         .launch_ns = TSR_CUDA_LAUNCH_NS};
    snprintf(device.id, sizeof device.id, "%s", gpu->id);
    snprintf(device.name, sizeof device.name, "%s", gpu->name);
    device.profile = tsr_profile_named(gpu->driver_name != NULL ? gpu->driver_name : gpu->name);
    return device;
}

static tsr_status check_memory(const tsr_gemm_desc *desc)
{
    const tsr_operand *const operands[4] = {&desc->a, &desc->b, &desc->c, &desc->d};
    for (int i = 0; i < 4; i++)
        if (operands[i]->memory != TSR_DEVICE)
            return tsr_fail(TSR_INVALID_ARGUMENT,
                            "%c.memory: must be TSR_DEVICE: the link to a GPU on paper is not known", "abcd"[i]);
    return TSR_OK;
}

tsr_status lab_route_on_paper(const lab_gpu_spec *gpu, const tsr_profile *profile, const tsr_gemm_desc *desc,
                              lab_candidates *out)
{
    tsr_target target = {.backend = &paper_backend, .device = lab_device_on_paper(gpu)};
    if (profile != NULL)
        target.device.profile = profile;
    size_t capacity = 0;
    memset(out, 0, sizeof *out);
    tsr_status status = check_memory(desc);
    if (status == TSR_OK)
        status = tsr_route_on(&target, 1, desc, NULL, 0, 0, &capacity);
    if (status != TSR_OK)
        return status;
    out->items = calloc(capacity + 1, sizeof *out->items);
    if (out->items == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu candidates", capacity);
    status = tsr_route_on(&target, 1, desc, out->items, sizeof *out->items, capacity, &out->count);
    for (size_t i = 0; i < out->count; i++)
        out->items[i].device = gpu->id;
    return status;
}

static int is_of_kernel(const char *instance, const char *kernel)
{
    for (size_t i = 0; i < tsr_config_count(); i++)
        if (strcmp(tsr_config_at(i)->instance, instance) == 0)
            return strcmp(instance, kernel) == 0 || strcmp(tsr_config_at(i)->name, kernel) == 0;
    return 0;
}

int lab_runs_on_paper(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, char *why, size_t why_bytes)
{
    enum { ALLOCATED_ALIGN_BYTES = 256 };
    tsr_gemm_desc there = *desc;
    tsr_operand *const operands[] = {&there.a, &there.b, &there.c, &there.d};
    lab_candidates all;
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        operands[i]->memory = TSR_DEVICE;
        operands[i]->align_bytes = ALLOCATED_ALIGN_BYTES;
    }
    const int good = lab_route_on_paper(gpu, NULL, &there, &all) == TSR_OK && all.count > 0;
    const int runs = !good || all.items[0].applicable;
    for (size_t i = 0; good && !runs && i < all.count; i++)
        if (is_of_kernel(all.items[i].kernel, desc->kernel)) {
            snprintf(why, why_bytes, "%s", all.items[i].reason);
            break;
        }
    lab_candidates_free(&all);
    return runs;
}

tsr_status lab_schedule_on_paper(const lab_gpu_spec *gpu, const tsr_profile *profile, const tsr_gemm_desc *desc,
                                 const char *instance, char out[TSR_SCHEDULE_TEXT_BYTES])
{
    tsr_target target = {.backend = &paper_backend, .device = lab_device_on_paper(gpu)};
    tsr_problem problem;
    out[0] = '\0';
    if (profile != NULL)
        target.device.profile = profile;
    const tsr_status status = tsr_validate_desc(desc, &problem);
    if (status != TSR_OK)
        return status;
    const tsr_viewed_problem view = tsr_view_problem(&problem, &target);
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *const config = tsr_config_at(i);
        tsr_launch_config launch;
        tsr_price cost;
        char reason[120];
        unsigned pads = 0;
        if (strcmp(config->instance, instance) != 0 || !tsr_is_applicable(&view, config, &pads, reason, sizeof reason))
            continue;
        const tsr_problem seen = pads ? tsr_padded_problem(&view.given, pads) : view.given;
        if (tsr_select_schedule(config, &seen, &target.device, &launch, &cost, reason, sizeof reason))
            tsr_schedule_text(config, &seen, &launch.schedule, out);
    }
    return TSR_OK;
}

void lab_candidates_free(lab_candidates *candidates)
{
    free(candidates->items);
    memset(candidates, 0, sizeof *candidates);
}
