/* The GPU of this machine among those that are known by name. */
#include <string.h>

#include "core/backend.h"
#include "lab/common/gpus.h"

static const lab_gpu_spec *same_arch(int arch)
{
    for (size_t i = 0; lab_gpu_spec_at(i); i++)
        if (lab_gpu_spec_at(i)->arch == arch)
            return lab_gpu_spec_at(i);
    return NULL;
}

static void describe(const tsr_device *device, lab_gpu_here *out)
{
    const tsr_cuda_limits *cuda = &device->cuda;
    const lab_gpu_spec *known = same_arch(cuda->arch);
    lab_gpu_spec *spec = &out->spec;
    if (known)
        *spec = *known;
    memcpy(out->name, device->name, sizeof out->name);
    if (spec->lsu_lanes_per_clock <= 0) /* not known: 8.6 to 8.9 have half of the units of the others */
        spec->lsu_lanes_per_clock = cuda->arch > 80 && cuda->arch < 90 ? 16 : 32;
    spec->id = "this";
    spec->name = out->name;
    spec->driver_name = spec->priced_name = NULL;
    spec->arch = cuda->arch;
    spec->sms = cuda->sm_count;
    spec->clock_hz = 1e3 * cuda->core_clock_khz;
    spec->memory_bytes_per_s = device->memory_bytes_per_s;
    spec->memory_bits = cuda->memory_bus_bits;
    spec->memory_clock_hz = 1e3 * cuda->memory_clock_khz;
    const double clocks = spec->sms * spec->clock_hz; /* of all SMs in a second */
    spec->fma_per_clock = clocks > 0 ? device->peak_flops_f32 / 2 / clocks : 0;
    spec->fma64_per_clock = clocks > 0 ? device->peak_flops_f64 / 2 / clocks : 0;
    spec->tensor64_flops_per_clock = clocks > 0 ? device->peak_flops_f64_tensor / clocks : 0;
    spec->tensor_flops_per_clock = clocks > 0 ? device->peak_flops_tensor16 / clocks : 0;
    spec->shared_bytes = cuda->smem_per_sm_bytes;
    spec->l2_bytes = cuda->l2_bytes;
    spec->l2_partitions = spec->l2_partitions > 0 ? spec->l2_partitions : 1; /* not known: as if whole */
    spec->threads_per_sm = cuda->threads_per_sm;
    spec->ctas_per_sm = cuda->blocks_per_sm;
    spec->registers_per_sm = cuda->registers_per_sm;
}

tsr_status lab_gpu_find_here(lab_gpu_here *out)
{
    const tsr_allocator allocator = {NULL, NULL, NULL};
    const tsr_backend_options options = {.allocator = &allocator};
    tsr_device device;
    memset(&device, 0, sizeof device);
    memset(out, 0, sizeof *out);
    device.allocator = &allocator;
    const tsr_status status = tsr_cuda_backend.open(0, &options, &device);
    if (status != TSR_OK)
        return status;
    describe(&device, out);
    tsr_cuda_backend.close(&device);
    return TSR_OK;
}
