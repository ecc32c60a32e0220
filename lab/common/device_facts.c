#include "lab/common/device_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/dtype.h"
#include "core/error.h"

/* The backend of a device name; all are there, with or without hardware. */
static const tsr_backend *backend_of(const char *device, int *ordinal)
{
    *ordinal = 0;
    if (strcmp(device, "cpu") == 0)
        return &tsr_cpu_backend;
    if (strcmp(device, "emu") == 0)
        return &tsr_emu_backend;
    if (strncmp(device, "cuda:", 5) == 0) {
        char *end;
        long value = strtol(device + 5, &end, 10);
        if (end == device + 5 || *end != '\0' || value < 0 || value > 4095)
            return NULL;
        *ordinal = (int)value;
        return &tsr_cuda_backend;
    }
    return NULL;
}

static void copy_device(const tsr_device *from, lab_device *to)
{
    memset(to, 0, sizeof *to);
    memcpy(to->id, from->id, sizeof to->id);
    memcpy(to->name, from->name, sizeof to->name);
    to->is_cuda = from->kind == TSR_DEVICE_CUDA;
    to->is_emu = from->kind == TSR_DEVICE_EMU;
    to->arch = from->cuda.arch;
    to->sm_count = from->cuda.sm_count;
    to->core_clock_khz = from->cuda.core_clock_khz;
    to->memory_clock_khz = from->cuda.memory_clock_khz;
    to->memory_bus_bits = from->cuda.memory_bus_bits;
    to->driver_version = from->cuda.driver_version;
    to->memory_bytes = from->cuda.memory_bytes;
    to->l1_bytes = from->l1_bytes;
    to->l2_bytes = from->kind == TSR_DEVICE_CPU ? from->l2_bytes : from->cuda.l2_bytes;
    to->l3_bytes = from->l3_bytes;
    to->threads = from->threads;
    to->peak_flops_f32 = from->peak_flops_f32;
    to->peak_flops_f64 = from->peak_flops_f64;
    to->peak_flops_f64_tensor = from->peak_flops_f64_tensor;
    to->peak_flops_tensor16 = from->peak_flops_tensor16;
    to->peak_flops_tf32 = from->peak_flops_tf32;
    to->memory_bytes_per_s = from->memory_bytes_per_s;
    to->transfer_bytes_per_s = from->transfer_bytes_per_s;
    to->launch_ns = from->launch_ns;
}

tsr_status lab_device_describe(const char *device, lab_device *out)
{
    int ordinal;
    const tsr_backend *backend = backend_of(device, &ordinal);
    if (backend == NULL)
        return tsr_fail(TSR_INVALID_ARGUMENT, "device \"%s\": must be cpu, cuda:N or emu", device);
    const tsr_allocator allocator = {NULL, NULL, NULL};
    const tsr_backend_options options = {.allocator = &allocator};
    tsr_device opened;
    memset(&opened, 0, sizeof opened);
    opened.allocator = &allocator;
    tsr_status status = backend->open(ordinal, &options, &opened);
    if (status != TSR_OK)
        return status;
    if (backend->measure)
        backend->measure(&opened);
    copy_device(&opened, out);
    backend->close(&opened);
    return TSR_OK;
}

void lab_device_of(const tsr_context *context, lab_device *out)
{
    tsr_target *home = context->home;
    if (home->backend->measure)
        home->backend->measure(&home->device);
    copy_device(&home->device, out);
}

int64_t lab_device_cache_bytes(const lab_device *device)
{
    return device->is_cuda || device->l3_bytes == 0 ? device->l2_bytes : device->l3_bytes;
}

double lab_peak_flops(const lab_device *device, tsr_compute compute, tsr_dtype a)
{
    if (compute == TSR_COMPUTE_S32 && !device->is_cuda)
        return 0.0; /* a CPU's integer peak is not measured */
    switch (tsr_op_peak(compute, a, device->is_cuda)) {
    case TSR_PEAK_F64:
        return fmax(device->peak_flops_f64, device->peak_flops_f64_tensor);
    case TSR_PEAK_F32:
        return device->peak_flops_f32;
    case TSR_PEAK_TF32:
        return device->peak_flops_tf32;
    case TSR_PEAK_TENSOR16:
        return device->peak_flops_tensor16;
    case TSR_PEAK_TENSOR8:
        return 2 * device->peak_flops_tensor16;
    case TSR_PEAK_NONE:
        break;
    }
    return 0.0;
}

static tsr_compute resolved_compute(const tsr_gemm_desc *desc)
{
    return desc->compute != TSR_COMPUTE_DEFAULT ? desc->compute : tsr_dtype_compute(desc->a.dtype);
}

static double flops_of(const tsr_gemm_desc *desc)
{
    return 2.0 * (double)desc->m * (double)desc->n * (double)desc->k * (double)desc->batch_count;
}

static double operand_bytes(const tsr_operand *operand, int64_t rows, int64_t columns)
{
    return (double)rows * (double)columns * (double)tsr_dtype_bytes(operand->dtype);
}

lab_roofline lab_roofline_of(const lab_device *device, const tsr_gemm_desc *desc, int reads_c)
{
    lab_roofline r = {.flops = flops_of(desc)};
    r.bytes = operand_bytes(&desc->a, desc->m, desc->k) + operand_bytes(&desc->b, desc->k, desc->n) +
              operand_bytes(&desc->d, desc->m, desc->n);
    if (reads_c)
        r.bytes += operand_bytes(&desc->c, desc->m, desc->n);
    r.bytes *= (double)desc->batch_count;
    r.intensity = r.bytes > 0.0 ? r.flops / r.bytes : 0.0;
    const double peak = lab_peak_flops(device, resolved_compute(desc), desc->a.dtype),
                 bandwidth = device->memory_bytes_per_s;
    if (peak > 0.0 && bandwidth > 0.0) {
        r.ridge = peak / bandwidth;
        r.memory_bound = r.intensity < r.ridge;
        r.bound_flops_s = r.memory_bound ? r.intensity * bandwidth : peak;
    }
    return r;
}

double lab_peak_percent(const lab_device *device, const tsr_gemm_desc *desc, double time_ns)
{
    const double peak = lab_peak_flops(device, resolved_compute(desc), desc->a.dtype);
    return peak > 0.0 && time_ns > 0.0 ? 100.0 * flops_of(desc) / (time_ns * 1e-9) / peak : (double)NAN;
}
