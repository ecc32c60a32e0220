#include "cli/types.h"

#include "cli/api_error.h"
#include "lab/common/kernel_names.h"

int cli_types_check(const cli_command *self, const lab_types *types)
{
    cli_message error;
    return lab_types_check(types) == TSR_OK ? CLI_CONTINUE : cli_usage_error(self, "%s", cli_api_error(self, &error));
}

int cli_types_check_kernel(const cli_command *self, const char *kernel, const lab_types *types)
{
    char text[LAB_TYPES_TEXT];
    const tsr_compute compute = lab_kernel_compute(kernel, "emu", types);
    if (compute == types->compute)
        return CLI_CONTINUE;
    return cli_failure(self, "%s multiplies %s with --compute %s alone", kernel, lab_types_pair(types, text),
                       tsr_compute_name(compute));
}

int cli_types_check_gpu(const cli_command *self, const lab_gpu_spec *gpu, const lab_types *types)
{
    char text[LAB_TYPES_TEXT];
    const int least = lab_gpu_least_arch(types->a, types->compute);
    if (gpu->arch >= least)
        return CLI_CONTINUE;
    return cli_failure(self, "%s does not multiply %s%s: that needs compute capability %d.%d; the device has %d.%d",
                       gpu->name, lab_types_pair(types, text), types->compute == TSR_COMPUTE_TF32 ? " in tf32" : "",
                       least / 10, least % 10, gpu->arch / 10, gpu->arch % 10);
}
