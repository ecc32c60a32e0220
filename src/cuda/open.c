/* Opening a GPU: its limits, clocks and peaks, as far as the driver and sysfs tell them. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device_code.h"
#include "core/error.h"
#include "cuda/impl.h"

/* Host operands lie in pageable memory and go through page-locked slots that threads fill. What that carries in one
 * direction while the other is busy too, on a host with 16 processors and a link of 54 GB/s (H200, perf/LOG). */
#define STAGING_BYTES_PER_S 14e9
/* Share of a PCI Express link that data can use: 128b/130b coding, and packets of 256 bytes with 24 of header. */
#define PCIE_PAYLOAD (128.0 / 130.0 * 256.0 / 280.0)

/* Results per clock and SM of 32-bit and 64-bit multiply-add without tensor cores: CUDA C++ Programming Guide,
 * "Throughput of Native Arithmetic Instructions". */
void tsr_cuda_lanes(int arch, int *f32, int *f64)
{
    static const struct {
        int arch, f32, f64;
    } table[] = {{70, 64, 32}, {72, 64, 32}, {75, 64, 2},   {80, 64, 32},   {86, 128, 2},
                 {87, 128, 2}, {89, 128, 2}, {90, 128, 64}, {100, 128, 64}, {120, 128, 2}};
    *f32 = 128;
    *f64 = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].arch == arch) {
            *f32 = table[i].f32;
            *f64 = table[i].f64;
        }
}

/* FLOP per clock and SM of dense bf16 and f16 products with sums in f32; tf32 has half of it on all of these. From the
 * rates in NVIDIA's papers on A100, A40, L40S, H100, B200 and RTX PRO 6000, over SMs and boost clock. GeForce cards of
 * capability 8.6, 8.9 and 12.0 have half, which properties do not tell. */
static int tensor16_flops(int arch)
{
    switch (arch) {
    case 80:
        return 2048;
    case 86:
    case 89:
    case 120:
        return 1024;
    case 90:
        return 4096;
    case 100:
        return 8192;
    default:
        return 0;
    }
}

/* FLOP per clock and SM of f64 on tensor cores: NVIDIA's papers on A100, H100 and B200. Others run the instruction, but
 * on the few f64 units that they have for programs to be right. */
static int tensor64_flops(int arch)
{
    return arch == 90 ? 256 : arch == 80 || arch == 100 ? 128 : 0;
}

void tsr_cuda_set_peaks(tsr_device *out, int f32_per_f64)
{
    const tsr_cuda_limits *cuda = &out->cuda;
    const double clock_hz = 1e3 * cuda->core_clock_khz;
    int f32 = 0, f64 = 0;
    tsr_cuda_lanes(cuda->arch, &f32, &f64);
    out->peak_flops_f32 = 2.0 * cuda->sm_count * f32 * clock_hz;
    out->peak_flops_f64 =
        f64 ? 2.0 * cuda->sm_count * f64 * clock_hz : out->peak_flops_f32 / (f32_per_f64 > 0 ? f32_per_f64 : 64);
    out->peak_flops_f64_tensor = 1.0 * cuda->sm_count * tensor64_flops(cuda->arch) * clock_hz;
    out->peak_flops_tensor16 = 1.0 * cuda->sm_count * tensor16_flops(cuda->arch) * clock_hz;
    out->peak_flops_tf32 = out->peak_flops_tensor16 / 2;
    /* Two transfers per clock and pin: DDR, for HBM and GDDR alike as the driver counts their clocks. */
    out->memory_bytes_per_s = 2.0 * (cuda->memory_bus_bits / 8.0) * 1e3 * cuda->memory_clock_khz;
}

/* A decimal fraction without a sign, up to `end`; strtod would read it by the program's locale. */
static double read_number(const char *text, char **end)
{
    double value = 0, unit = 1;
    const char *at = text;
    for (int is_behind_dot = 0; isdigit((unsigned char)*at) || (*at == '.' && !is_behind_dot && at > text); at++) {
        if (*at == '.') {
            is_behind_dot = 1;
            continue;
        }
        value = 10 * value + (*at - '0');
        unit *= is_behind_dot ? 10 : 1;
    }
    *end = (char *)(uintptr_t)at;
    return value / unit;
}

double tsr_pcie_bytes_per_s(const char *speed, const char *width)
{
    char *end;
    const double transfers_per_s = 1e9 * read_number(speed, &end);
    const int is_speed = end != speed && strncmp(end, " GT/s", 5) == 0;
    const long lanes = strtol(width, &end, 10);
    if (!is_speed || end == width || transfers_per_s <= 0 || lanes < 1 || lanes > 32)
        return 0;
    return transfers_per_s / 8 * (double)lanes * PCIE_PAYLOAD;
}

static int read_line(const char *bus_id, const char *name, char *line, int line_bytes)
{
    char path[96];
    FILE *file;
    int ok;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus_id, name);
    for (char *c = path; *c; c++)
        if (*c >= 'A' && *c <= 'F') /* the driver writes bus ids with capitals, sysfs without */
            *c = (char)(*c - 'A' + 'a');
    file = fopen(path, "r");
    if (!file)
        return 0;
    ok = fgets(line, line_bytes, file) != NULL;
    fclose(file);
    return ok;
}

static double transfer_rate(const tsr_cuda *cuda)
{
    char bus_id[32] = "", speed[64], width[64];
    double link = 0;
    if (cuda->driver.device_get_pci_bus_id(bus_id, sizeof bus_id, cuda->device) == TSR_CU_SUCCESS &&
        read_line(bus_id, "max_link_speed", speed, sizeof speed) &&
        read_line(bus_id, "current_link_width", width, sizeof width))
        link = tsr_pcie_bytes_per_s(speed, width);
    return link > 0 && link < STAGING_BYTES_PER_S ? link : STAGING_BYTES_PER_S;
}

static tsr_status read_properties(tsr_device *out)
{
    tsr_cuda *cuda = out->impl;
    int major = 0, minor = 0, l2_bytes = 0, f32_per_f64 = 0;
    size_t total_bytes = 0;
    const struct {
        unsigned attribute;
        int *value;
    } wanted[] = {
        {TSR_CU_COMPUTE_CAPABILITY_MAJOR, &major},
        {TSR_CU_COMPUTE_CAPABILITY_MINOR, &minor},
        {TSR_CU_MULTIPROCESSOR_COUNT, &out->cuda.sm_count},
        {TSR_CU_CLOCK_RATE, &out->cuda.core_clock_khz},
        {TSR_CU_MEMORY_CLOCK_RATE, &out->cuda.memory_clock_khz},
        {TSR_CU_GLOBAL_MEMORY_BUS_WIDTH, &out->cuda.memory_bus_bits},
        {TSR_CU_L2_CACHE_SIZE, &l2_bytes},
        {TSR_CU_MAX_THREADS_PER_BLOCK, &out->cuda.threads_per_block},
        {TSR_CU_MAX_THREADS_PER_MULTIPROCESSOR, &out->cuda.threads_per_sm},
        {TSR_CU_MAX_BLOCKS_PER_MULTIPROCESSOR, &out->cuda.blocks_per_sm},
        {TSR_CU_MAX_REGISTERS_PER_MULTIPROCESSOR, &out->cuda.registers_per_sm},
        {TSR_CU_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &out->cuda.smem_per_block_bytes},
        {TSR_CU_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &out->cuda.smem_per_sm_bytes},
        {TSR_CU_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, &f32_per_f64},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const tsr_cu_result result =
            cuda->driver.device_get_attribute(wanted[i].value, wanted[i].attribute, cuda->device);
        if (result != TSR_CU_SUCCESS)
            return tsr_cuda_fail(out, "cuDeviceGetAttribute", result);
    }
    if (cuda->driver.device_get_name(out->name, sizeof out->name, cuda->device) != TSR_CU_SUCCESS)
        snprintf(out->name, sizeof out->name, "NVIDIA GPU");
    if (cuda->driver.device_total_mem(&total_bytes, cuda->device) == TSR_CU_SUCCESS)
        out->cuda.memory_bytes = (long long)total_bytes;
    out->cuda.arch = 10 * major + minor;
    out->cuda.l2_bytes = l2_bytes;
    out->cuda.driver_version = cuda->driver.version;
    tsr_cuda_set_peaks(out, f32_per_f64);
    out->transfer_bytes_per_s = transfer_rate(cuda);
    out->launch_ns = TSR_CUDA_LAUNCH_NS;
    return TSR_OK;
}

/* Device code runs on drivers of its toolkit's major version and later ones ("minor version compatibility"). */
static tsr_status check_driver(const tsr_driver *driver)
{
    const int need = tsr_toolkit_version / 1000;
    if (driver->version / 1000 >= need)
        return TSR_OK;
    return tsr_fail(TSR_NO_DEVICE,
                    "driver %d.%d is older than the %d.0 that the embedded device code needs: install a newer NVIDIA "
                    "driver, or build with a CUDA %d toolkit",
                    driver->version / 1000, driver->version % 1000 / 10, need, driver->version / 1000);
}

static tsr_status find_device(tsr_cuda *cuda, int ordinal)
{
    int count = 0;
    tsr_cu_result result = cuda->driver.device_get_count(&count);
    char text[256];
    if (result == TSR_CU_SUCCESS && (ordinal < 0 || ordinal >= count))
        return tsr_fail(TSR_NO_DEVICE, "cuda:%d: the driver shows %d GPU%s%s", ordinal, count, count == 1 ? "" : "s",
                        count ? ", counted from cuda:0" : "");
    if (result == TSR_CU_SUCCESS)
        result = cuda->driver.device_get(&cuda->device, ordinal);
    if (result == TSR_CU_SUCCESS)
        return TSR_OK;
    tsr_driver_describe(&cuda->driver, "cuDeviceGet", result, text, sizeof text);
    return tsr_fail(TSR_NO_DEVICE, "cuda:%d: %s", ordinal, text);
}

/* Retains the primary context, last: nothing is left to undo when an earlier step fails. */
static tsr_status open_device(int ordinal, tsr_device *out)
{
    tsr_cuda *cuda = out->impl;
    tsr_cu_result result;
    tsr_status status = tsr_driver_load(&cuda->driver);
    if (status == TSR_OK)
        status = check_driver(&cuda->driver);
    if (status == TSR_OK)
        status = find_device(cuda, ordinal);
    if (status == TSR_OK)
        status = read_properties(out);
    if (status != TSR_OK)
        return status;
    result = cuda->driver.primary_ctx_retain(&cuda->context, cuda->device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(out, "cuDevicePrimaryCtxRetain", result);
}

tsr_status tsr_cuda_open(int ordinal, const tsr_backend_options *options, tsr_device *out)
{
    const tsr_allocator *allocator = out->allocator;
    tsr_cuda *cuda = tsr_alloc(options->allocator, _Alignof(tsr_cuda), sizeof *cuda);
    tsr_status status;
    if (!cuda)
        return tsr_fail(TSR_OUT_OF_MEMORY, "cuda:%d: no host memory for the device's record", ordinal);
    memset(cuda, 0, sizeof *cuda);
    atomic_init(&cuda->fatal, 0);
    cuda->allocator = options->allocator;
    memset(out, 0, sizeof *out);
    out->allocator = allocator;
    out->kind = TSR_DEVICE_CUDA;
    out->impl = cuda;
    snprintf(out->id, sizeof out->id, "cuda:%d", ordinal);
    status = open_device(ordinal, out);
    if (status != TSR_OK) {
        tsr_free(options->allocator, cuda);
        out->impl = NULL;
        return status;
    }
    pthread_mutex_init(&cuda->lock, NULL); /* a default mutex: cannot fail on Linux */
    return TSR_OK;
}

void tsr_cuda_close(tsr_device *device)
{
    tsr_cuda *cuda = device->impl;
    if (!cuda)
        return;
    /* Results are of no use here: the driver may already be gone, at the end of the process, or the context dead. */
    if (cuda->driver.ctx_push_current(cuda->context) == TSR_CU_SUCCESS) {
        cuda->driver.ctx_synchronize(); /* kernels may still run */
        for (tsr_loaded *loaded = cuda->loaded; loaded; loaded = loaded->next)
            if (!loaded->has_shared)
                cuda->driver.module_unload(loaded->module);
        tsr_cuda_leave(device);
    }
    while (cuda->loaded) {
        tsr_loaded *next = cuda->loaded->next;
        tsr_free(cuda->allocator, cuda->loaded);
        cuda->loaded = next;
    }
    cuda->driver.primary_ctx_release(cuda->device);
    pthread_mutex_destroy(&cuda->lock);
    tsr_free(cuda->allocator, cuda);
    device->impl = NULL;
}
