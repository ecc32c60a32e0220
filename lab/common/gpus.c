#include "lab/common/gpus.h"

#include <string.h>

/* From NVIDIA's white papers of the A100, H100 and GA102 architectures, the CUDA programming guide's table of compute
 * capabilities, and the products' data sheets. The bandwidth of L2 is no published number: 5120 bytes a clock is what
 * the A100 white paper gives; the others have 64 bytes for each SM and clock that their crossbars carry (GA102: 96
 * slices of 32 bytes, with a slice of 64 KiB). Load/store units are those of the white papers' pictures of an SM: 32 on
 * the GA100 and GH100, 16 on the GA102, where a warp's load takes two clocks. */
static const lab_gpu_spec specs[] = {
    {.id = "h200",
     .name = "NVIDIA H200",
     .arch = 90,
     .sms = 132,
     .clock_hz = 1.98e9,
     .memory_bytes_per_s = 4.8e12,
     .fma_per_clock = 128,
     .fma64_per_clock = 64,
     .lsu_lanes_per_clock = 32,
     .tensor_flops_per_clock = 4096,
     .tensor64_flops_per_clock = 256,
     .l1_bytes = 256 << 10,
     .shared_bytes = 228 << 10,
     .l2_bytes = 60ll << 20,
     .l2_partitions = 2,
     .l2_bytes_per_clock = 5120,
     .threads_per_sm = 2048,
     .ctas_per_sm = 32,
     .memory_bits = 6144,
     .memory_clock_hz = 3.125e9,
     .registers_per_sm = 65536},
    {.id = "h100",
     .name = "NVIDIA H100 SXM",
     .driver_name = "NVIDIA H100 80GB HBM3",
     .arch = 90,
     .sms = 132,
     .clock_hz = 1.98e9,
     .memory_bytes_per_s = 3.35e12,
     .fma_per_clock = 128,
     .fma64_per_clock = 64,
     .lsu_lanes_per_clock = 32,
     .tensor_flops_per_clock = 4096,
     .tensor64_flops_per_clock = 256,
     .l1_bytes = 256 << 10,
     .shared_bytes = 228 << 10,
     .l2_bytes = 50ll << 20,
     .l2_partitions = 2,
     .l2_bytes_per_clock = 5120,
     .threads_per_sm = 2048,
     .ctas_per_sm = 32,
     .memory_bits = 5120,
     .memory_clock_hz = 2.619e9,
     .registers_per_sm = 65536},
    {.id = "a100",
     .name = "NVIDIA A100 SXM 80 GB",
     .driver_name = "NVIDIA A100-SXM4-80GB",
     .arch = 80,
     .sms = 108,
     .clock_hz = 1.41e9,
     .memory_bytes_per_s = 2.039e12,
     .fma_per_clock = 64,
     .fma64_per_clock = 32,
     .lsu_lanes_per_clock = 32,
     .tensor_flops_per_clock = 2048,
     .tensor64_flops_per_clock = 128,
     .l1_bytes = 192 << 10,
     .shared_bytes = 164 << 10,
     .l2_bytes = 40ll << 20,
     .l2_partitions = 2,
     .l2_bytes_per_clock = 5120,
     .threads_per_sm = 2048,
     .ctas_per_sm = 32,
     .memory_bits = 5120,
     .memory_clock_hz = 1.593e9,
     .registers_per_sm = 65536},
    {.id = "a40",
     .name = "NVIDIA A40",
     .arch = 86,
     .sms = 84,
     .clock_hz = 1.74e9,
     .memory_bytes_per_s = 0.696e12,
     .fma_per_clock = 128,
     .fma64_per_clock = 2,
     .lsu_lanes_per_clock = 16,
     .tensor_flops_per_clock = 1024,
     .l1_bytes = 128 << 10,
     .shared_bytes = 100 << 10,
     .l2_bytes = 6ll << 20,
     .l2_partitions = 1,
     .l2_bytes_per_clock = 96 * 32,
     .threads_per_sm = 1536,
     .ctas_per_sm = 16,
     .memory_bits = 384,
     .memory_clock_hz = 7.251e9,
     .registers_per_sm = 65536},
    {.id = "rtx3090",
     .name = "NVIDIA GeForce RTX 3090",
     .arch = 86,
     .sms = 82,
     .clock_hz = 1.695e9,
     .memory_bytes_per_s = 0.9362e12,
     .fma_per_clock = 128,
     .fma64_per_clock = 2,
     .lsu_lanes_per_clock = 16,
     .tensor_flops_per_clock = 512,
     .l1_bytes = 128 << 10,
     .shared_bytes = 100 << 10,
     .l2_bytes = 6ll << 20,
     .l2_partitions = 1,
     .l2_bytes_per_clock = 96 * 32,
     .threads_per_sm = 1536,
     .ctas_per_sm = 16,
     .memory_bits = 384,
     .memory_clock_hz = 9.752e9,
     .registers_per_sm = 65536},
};

const lab_gpu_spec *lab_gpu_spec_at(size_t index)
{
    return index < sizeof specs / sizeof specs[0] ? &specs[index] : NULL;
}

const lab_gpu_spec *lab_gpu_spec_find(const char *id)
{
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        if (strcmp(specs[i].id, id) == 0)
            return &specs[i];
    return NULL;
}

int lab_gpu_least_arch(tsr_dtype dtype, tsr_compute compute)
{
    enum { AMPERE = 80, ADA = 89 };
    if (dtype == TSR_E4M3 || dtype == TSR_E5M2)
        return ADA;
    return dtype == TSR_BF16 || compute == TSR_COMPUTE_TF32 ? AMPERE : 0;
}
