#include "lab/peers/cusparse_lt.h"

#include <dlfcn.h>
#include <string.h>

#include "core/error.h"

static tsr_status find_calls(lab_slt *out)
{
#define FIND(member, symbol, parameters)                   \
    *(void **)&out->member = dlsym(out->library, #symbol); \
    if (out->member == NULL)                               \
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt has no " #symbol);
    LAB_SLT_CALLS(FIND)
#undef FIND
    *(void **)&out->algorithm_destroy = dlsym(out->library, "cusparseLtMatmulAlgSelectionDestroy");
    *(void **)&out->status_name = dlsym(out->library, "cusparseLtGetErrorName");
    return TSR_OK;
}

tsr_status lab_slt_load(lab_slt *out)
{
    static const lab_cuda_library wanted = {"cuSPARSELt", "TESSERA_CUSPARSELT_PATH", {"libcusparseLt.so.0", NULL}};
    memset(out, 0, sizeof *out);
    tsr_status status = lab_cuda_library_open(&wanted, &out->library);
    if (status != TSR_OK)
        return status;
    status = find_calls(out);
    if (status != TSR_OK)
        lab_slt_unload(out);
    return status;
}

void lab_slt_unload(lab_slt *slt)
{
    dlclose(slt->library);
    slt->library = NULL;
}
