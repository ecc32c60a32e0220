#include "emu/user.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/added.h"
#include "core/error.h"
#include "emu/kernels.h"

#if TESSERA_EMU

/* The functions that kernels may call, declared without their types: only their addresses are needed here. */
#define X(name) void name(void);
#include "user/emu_calls.def"
#undef X

static tsr_emu_call *const calls[] = {
#define X(name) name,
#include "user/emu_calls.def"
#undef X
};

/* As src/emu/module/user.S lays it out. */
typedef struct user_file {
    void (*emulated)(const tsr_gemm_args args);
    void (*watched)(const tsr_gemm_args args);
    _Atomic(tsr_emu_call *) *calls;
    size_t call_count;
} user_file;

tsr_status tsr_emu_user_load(const char *path, const tsr_config *config)
{
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const user_file *const file = handle ? dlsym(handle, "tsr_user_file") : NULL;
    const size_t count = sizeof calls / sizeof calls[0];
    if (!file || file->call_count != count)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: %s", path,
                        handle ? "was linked for another build of Tessera" : dlerror());
    tsr_added_kernel *const added = malloc(sizeof *added);
    if (!added)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for one more kernel");
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&file->calls[i], calls[i], memory_order_release);
    *added = (tsr_added_kernel){.config = config,
                                .emulated = {.instance = config->instance, .kernel = file->emulated},
                                .watched = {.instance = config->instance, .kernel = file->watched}};
    tsr_add_kernel(added);
    return TSR_OK;
}

#else

tsr_status tsr_emu_user_load(const char *path, const tsr_config *config)
{
    (void)path, (void)config;
    return tsr_fail(TSR_UNSUPPORTED, "this build has no emulator");
}

#endif
