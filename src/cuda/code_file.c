#include "cuda/code_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

#define FILE_NAME "libtessera.so.0"

__attribute__((visibility("default"))) const tsr_device_code *const tsr_device_file = tsr_device_codes;

/* The library beside the command's folder, which stays open: images lie in it. */
static const tsr_device_code *codes_of_file(char *error, size_t error_bytes)
{
    static const char beside[] = "/../" FILE_NAME;
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof beside);
    char *slash = NULL;
    if (length > 0) {
        path[length] = '\0';
        slash = strrchr(path, '/');
    }
    if (!slash) {
        snprintf(error, error_bytes, "the command's own path is not known");
        return NULL;
    }
    strcpy(slash, beside);
    void *const file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const tsr_device_code *const *codes = file ? dlsym(file, "tsr_device_file") : NULL;
    if (!codes) {
        const char *const why = dlerror();
        snprintf(error, error_bytes, "%s", why ? why : "it has none");
    }
    return codes ? *codes : NULL;
}

tsr_status tsr_cuda_image(const tsr_device_code *code, int as_ptx, const unsigned char **image)
{
    char error[300] = "";
    *image = as_ptx ? code->ptx : code->machine_code;
    if (*image)
        return TSR_OK;
    const tsr_device_code *of_file = codes_of_file(error, sizeof error);
    if (!of_file)
        return tsr_fail(TSR_NO_DEVICE, "%s: its device code is in %s, which belongs beside the command's folder: %s",
                        code->instance, FILE_NAME, error);
    while (of_file->instance && strcmp(of_file->instance, code->instance) != 0)
        of_file++;
    if (!of_file->instance || strcmp(of_file->hash, code->hash) != 0)
        return tsr_fail(TSR_NO_DEVICE, "%s: %s is of another build of Tessera", code->instance, FILE_NAME);
    *image = as_ptx ? of_file->ptx : of_file->machine_code;
    return TSR_OK;
}
