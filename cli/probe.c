#include "cli/probe.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- libraries ------------------------------------------------------------------------------------------------------
 */

enum { NAMES_MAX = 6 };

typedef struct library {
    const char *name;
    const char *files[NAMES_MAX]; /* newest first */
    int (*version)(void *handle, int *major, int *minor);
} library;

/* nvrtcResult nvrtcVersion(int *major, int *minor), 0 on success. */
static int nvrtc_version(void *handle, int *major, int *minor)
{
    int (*call)(int *, int *) = (int (*)(int *, int *))dlsym(handle, "nvrtcVersion");
    return call && call(major, minor) == 0;
}

/* CUptiResult cuptiGetVersion(uint32_t *version), 0 on success; the number is that of the API: 130000 for CUDA 13.0,
 * and two digits before that. */
static int cupti_version(void *handle, int *major, int *minor)
{
    uint32_t version = 0;
    int (*call)(uint32_t *) = (int (*)(uint32_t *))dlsym(handle, "cuptiGetVersion");
    if (!call || call(&version) != 0)
        return 0;
    *major = (int)version;
    *minor = -1;
    if (version >= 10000) {
        *major = (int)(version / 10000);
        *minor = (int)(version / 100 % 100);
    }
    return 1;
}

static const library libraries[CLI_PROBES] = {
    {"nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, nvrtc_version},
    {"cupti",
     {"libcupti.so.13", "libcupti.so.12", "libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"},
     cupti_version},
};

const char *cli_probe_name(size_t index)
{
    return libraries[index].name;
}

int cli_probe(size_t index, char *out, size_t bytes)
{
    const library *lib = &libraries[index];
    int major = 0, minor = 0;
    snprintf(out, bytes, "no %s that the loader finds", lib->files[0]);
    for (size_t i = 0; i < NAMES_MAX && lib->files[i]; i++) {
        /* It stays loaded: these libraries do not free at unloading what they allocated at loading. */
        void *handle = dlopen(lib->files[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!handle)
            continue;
        const int known = lib->version(handle, &major, &minor);
        if (known && minor >= 0)
            snprintf(out, bytes, "%d.%d, %s", major, minor, lib->files[i]);
        else if (known)
            snprintf(out, bytes, "version %d, %s", major, lib->files[i]);
        else
            snprintf(out, bytes, "%s opens but does not tell its version", lib->files[i]);
        return known; /* never closed: large libraries leave memory and handlers behind when they go */
    }
    return 0;
}

/* ---- CPU ------------------------------------------------------------------------------------------------------------
 */

const char *cli_cpu_features(char *out, size_t bytes)
{
    out[0] = 0;
#if defined(__x86_64__)
#define FEATURE(name)                 \
    if (__builtin_cpu_supports(name)) \
        snprintf(out + strlen(out), bytes - strlen(out), "%s%s", out[0] ? " " : "", name);
    FEATURE("avx")
    FEATURE("avx2")
    FEATURE("fma")
    FEATURE("avx512f")
    FEATURE("avx512dq")
    FEATURE("avx512bw")
    FEATURE("avx512vl")
    FEATURE("avx512bf16")
    FEATURE("avx512vnni")
#undef FEATURE
#endif
    if (!out[0])
        snprintf(out, bytes, "no vector extensions that are used");
    return out;
}
