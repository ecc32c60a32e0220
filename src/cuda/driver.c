#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

typedef tsr_cu_result get_proc_address(const char *symbol, void **address, int version, uint64_t flags,
                                       unsigned *symbol_status);
typedef tsr_cu_result get_version(int *version);
typedef tsr_cu_result get_text(tsr_cu_result result, const char **text);

/* ISO C has no conversion from an object pointer to a function pointer; POSIX has. */
static void copy_address(void *function, const void *address)
{
    memcpy(function, &address, sizeof address);
}

void tsr_driver_describe(const tsr_driver *driver, const char *call, tsr_cu_result result, char *text,
                         size_t text_bytes)
{
    const char *name = NULL, *words = NULL;
    if (!driver->get_error_name || driver->get_error_name(result, &name) != TSR_CU_SUCCESS || !name)
        name = "an error unknown to this driver";
    if (!driver->get_error_string || driver->get_error_string(result, &words) != TSR_CU_SUCCESS || !words)
        words = "no description";
    snprintf(text, text_bytes, "%s: %s (%s; code %u)", call, name, words, result);
}

int tsr_driver_is_fatal(tsr_cu_result result)
{
    switch (result) {
    case TSR_CU_ECC_UNCORRECTABLE:
    case TSR_CU_NVLINK_UNCORRECTABLE:
    case TSR_CU_CONTAINED:
    case TSR_CU_ILLEGAL_ADDRESS:
    case TSR_CU_LAUNCH_TIMEOUT:
    case TSR_CU_CONTEXT_IS_DESTROYED:
    case TSR_CU_ASSERT:
    case TSR_CU_HARDWARE_STACK_ERROR:
    case TSR_CU_ILLEGAL_INSTRUCTION:
    case TSR_CU_MISALIGNED_ADDRESS:
    case TSR_CU_INVALID_ADDRESS_SPACE:
    case TSR_CU_INVALID_PC:
    case TSR_CU_LAUNCH_FAILED:
        return 1;
    default:
        return 0;
    }
}

static tsr_status fail_init(const tsr_driver *driver, const char *call, tsr_cu_result result)
{
    char text[256];
    if (result == TSR_CU_NO_DEVICE)
        return tsr_fail(TSR_NO_DEVICE, "the NVIDIA driver %d.%d finds no GPU", driver->version / 1000,
                        driver->version % 1000 / 10);
    if (result == TSR_CU_STUB_LIBRARY)
        return tsr_fail(TSR_NO_DEVICE, "libcuda.so.1 is the toolkit's stub for linking, not a driver: take the stubs "
                                       "folder out of the library path, install the NVIDIA driver");
    tsr_driver_describe(driver, call, result, text, sizeof text);
    return tsr_fail(TSR_NO_DEVICE, "the NVIDIA driver does not start: %s", text);
}

static tsr_status find_calls(void *library, tsr_driver *out)
{
    get_proc_address *find = NULL;
    unsigned symbol_status = 0;
    void *address = NULL;
    copy_address(&find, dlsym(library, "cuGetProcAddress_v2"));
    if (!find)
        return tsr_fail(TSR_NO_DEVICE, "libcuda.so.1 (driver %d.%d) has no cuGetProcAddress_v2", out->version / 1000,
                        out->version % 1000 / 10);

#define FIND(member, symbol, parameters)                                                                      \
    address = NULL;                                                                                           \
    if (find(#symbol, &address, TSR_DRIVER_OLDEST, TSR_CU_LEGACY_STREAM, &symbol_status) != TSR_CU_SUCCESS || \
        !address)                                                                                             \
        return tsr_fail(TSR_NO_DEVICE, "libcuda.so.1 (driver %d.%d) has no " #symbol, out->version / 1000,    \
                        out->version % 1000 / 10);                                                            \
    copy_address(&out->member, address);
#define FIND_NEWER(member, symbol, parameters, since)                                           \
    address = NULL;                                                                             \
    if (out->version >= (since) &&                                                              \
        find(#symbol, &address, since, TSR_CU_LEGACY_STREAM, &symbol_status) == TSR_CU_SUCCESS) \
        copy_address(&out->member, address);
    TSR_DRIVER_CALLS(FIND)
    TSR_DRIVER_NEWER_CALLS(FIND_NEWER)
#undef FIND
#undef FIND_NEWER
    return TSR_OK;
}

tsr_status tsr_driver_load(tsr_driver *out)
{
    get_version *version_of = NULL;
    tsr_cu_result result;
    tsr_status status;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    memset(out, 0, sizeof *out);
    if (!library)
        return tsr_fail(TSR_NO_DEVICE, "no NVIDIA driver on this machine (%s)", dlerror());
    copy_address(&out->get_error_name, dlsym(library, "cuGetErrorName"));
    copy_address(&out->get_error_string, dlsym(library, "cuGetErrorString"));
    copy_address(&version_of, dlsym(library, "cuDriverGetVersion"));
    if (!version_of)
        return tsr_fail(TSR_NO_DEVICE, "libcuda.so.1 has no cuDriverGetVersion: not an NVIDIA driver");
    result = version_of(&out->version);
    if (result != TSR_CU_SUCCESS)
        return fail_init(out, "cuDriverGetVersion", result);
    if (out->version < TSR_DRIVER_OLDEST)
        return tsr_fail(
            TSR_NO_DEVICE, "driver %d.%d is older than the %d.%d that Tessera needs: install a newer NVIDIA driver",
            out->version / 1000, out->version % 1000 / 10, TSR_DRIVER_OLDEST / 1000, TSR_DRIVER_OLDEST % 1000 / 10);
    status = find_calls(library, out);
    if (status != TSR_OK)
        return status;
    result = out->init(0);
    if (result != TSR_CU_SUCCESS)
        return fail_init(out, "cuInit", result);
    return TSR_OK;
}
