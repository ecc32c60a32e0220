#include "lab/common/gpus.h"

#include <string.h>

#include "core/dtype.h"
#include "plan/profiles/profiles.h"

const lab_gpu_spec *lab_gpu_spec_at(size_t index)
{
    return tsr_chip_at(index);
}

const lab_gpu_spec *lab_gpu_spec_find(const char *id)
{
    const lab_gpu_spec *gpu;
    for (size_t i = 0; (gpu = lab_gpu_spec_at(i)) != NULL; i++)
        if (strcmp(gpu->id, id) == 0)
            return gpu;
    return NULL;
}

int lab_gpu_least_arch(tsr_dtype dtype, tsr_compute compute)
{
    return tsr_dtype_least_arch(dtype, compute);
}
