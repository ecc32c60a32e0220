#include "lab/peers/cublas_lt.h"

#include <dlfcn.h>
#include <string.h>

#include "core/error.h"

static tsr_status find_calls(lab_lt *out)
{
#define FIND(member, symbol, parameters)                   \
    *(void **)&out->member = dlsym(out->library, #symbol); \
    if (out->member == NULL)                               \
        return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt has no " #symbol);
    LAB_LT_CALLS(FIND)
    FIND(version, cublasLtGetVersion, )
    FIND(status_name, cublasLtGetStatusName, )
#undef FIND
    return TSR_OK;
}

tsr_status lab_lt_load(lab_lt *out)
{
    static const lab_cuda_library wanted = {
        "cuBLASLt", "TESSERA_CUBLAS_PATH", {"libcublasLt.so.13", "libcublasLt.so.12"}};
    memset(out, 0, sizeof *out);
    tsr_status status = lab_cuda_library_open(&wanted, &out->library);
    if (status != TSR_OK)
        return status;
    status = find_calls(out);
    if (status != TSR_OK)
        lab_lt_unload(out);
    return status;
}

void lab_lt_unload(lab_lt *lt)
{
    dlclose(lt->library);
    lt->library = NULL;
}
