/* The shared library loads the kernels from the file beside it. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "emu/kernels.h"
#include "emu_build.h"

#define FILE_NAME "libtessera_emu.so.0"

/* The functions that kernels call, declared without their types: only their addresses are needed here. */
#define X(name) void name(void);
#include "emu_calls.def"
#undef X

static tsr_emu_call *const calls[] = {
#define X(name) name,
#include "emu_calls.def"
#undef X
};

/* In the folder of this library; where that is not known, or the file is not there, wherever the loader searches. */
static void *open_file(char *error, size_t error_bytes)
{
    Dl_info self;
    char path[4096];
    const char *slash = NULL;
    if (dladdr((const void *)calls, &self) && self.dli_fname)
        slash = strrchr(self.dli_fname, '/');
    const int length = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    const int wanted = snprintf(path, sizeof path, "%.*s%s", length, slash ? self.dli_fname : "", FILE_NAME);
    void *file = (size_t)wanted < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!file) {
        const char *why = dlerror();
        snprintf(error, error_bytes, "%s", why ? why : "its path is too long");
        file = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    }
    return file;
}

tsr_status tsr_emu_kernels_open(tsr_emu_kernels *out)
{
    char error[300];
    *out = (tsr_emu_kernels){.file = open_file(error, sizeof error)};
    if (!out->file)
        return tsr_fail(strcasestr(error, "cannot allocate memory") ? TSR_OUT_OF_MEMORY : TSR_NO_DEVICE,
                        "device emu: its kernels are in %s, which belongs beside libtessera: %s", FILE_NAME, error);
    const tsr_emu_module *module = dlsym(out->file, "tsr_emu_file");
    if (!module || strcmp(module->build, TSR_EMU_BUILD) != 0) {
        const tsr_status status =
            tsr_fail(TSR_NO_DEVICE, "device emu: %s is of another build of Tessera (\"%s\"; this library is \"%s\")",
                     FILE_NAME, module ? module->build : "unknown", TSR_EMU_BUILD);
        tsr_emu_kernels_close(out);
        return status;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        atomic_store_explicit(&module->calls[i], calls[i], memory_order_release);
    out->codes = module->codes;
    return TSR_OK;
}

void tsr_emu_kernels_close(tsr_emu_kernels *kernels)
{
    dlclose(kernels->file);
    *kernels = (tsr_emu_kernels){0};
}
