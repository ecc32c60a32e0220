/* The static library has the kernels itself. */
#include "emu/kernels.h"

tsr_status tsr_emu_kernels_open(tsr_emu_kernels *out)
{
    *out = (tsr_emu_kernels){.codes = tsr_emu_codes};
    return TSR_OK;
}

void tsr_emu_kernels_close(tsr_emu_kernels *kernels)
{
    kernels->codes = NULL;
}
