#include "lab/peers/cublas_lt.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
#define NAMES (sizeof names / sizeof names[0])

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The newest library in the folders that fit ROOT TAIL, a shell pattern. */
static void *open_in(const char *root, const char *tail)
{
    char pattern[PATH_MAX];
    void *library = NULL;
    if (root == NULL)
        return NULL;
    for (size_t i = 0; i < NAMES && library == NULL; i++) {
        glob_t found;
        if (snprintf(pattern, sizeof pattern, "%s%s/%s", root, tail, names[i]) >= (int)sizeof pattern ||
            glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t f = found.gl_pathc; f > 0 && library == NULL; f--)
            library = open_library(found.gl_pathv[f - 1]);
        globfree(&found);
    }
    return library;
}

/* The folder above the one of the PATH's first python3: the root of its environment. 0 if there is none. */
static int python_root(char *out, size_t out_bytes)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        const int length = (int)strcspn(path, ":");
        char program[PATH_MAX];
        if (length > 0 && snprintf(program, sizeof program, "%.*s/python3", length, path) < (int)sizeof program &&
            access(program, X_OK) == 0)
            return snprintf(out, out_bytes, "%.*s/..", length, path) < (int)out_bytes;
        path += length + (path[length] == ':');
    }
    return 0;
}

static void *search(void)
{
    static const char *const toolkits[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", "/usr/lib/cuda"};
    char root[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; i < NAMES && library == NULL; i++)
        library = open_library(names[i]);
    if (library == NULL)
        library = open_in(getenv("CUDA_HOME"), "/lib64");
    for (size_t i = 0; i < sizeof toolkits / sizeof toolkits[0] && library == NULL; i++) {
        library = open_in(toolkits[i], "/lib64");
        if (library == NULL)
            library = open_in(toolkits[i], "/targets/*/lib");
    }
    if (library == NULL && python_root(root, sizeof root)) {
        library = open_in(root, "/lib/python3*/site-packages/nvidia/*/lib");
        if (library == NULL)
            library = open_in(root, "/lib/python3*/dist-packages/nvidia/*/lib");
    }
    return library;
}

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
    const char *path = getenv("TESSERA_CUBLAS_PATH");
    const int is_given = path != NULL && *path != '\0';
    memset(out, 0, sizeof *out);
    if (is_given) {
        out->library = open_in(path, "");
        if (out->library == NULL)
            out->library = open_library(path);
    } else {
        out->library = search();
    }
    if (out->library == NULL && is_given)
        return tsr_fail(TSR_NO_DEVICE, "cuBLASLt: TESSERA_CUBLAS_PATH = \"%s\" is no library, and no folder with one",
                        path);
    if (out->library == NULL)
        return tsr_fail(TSR_NO_DEVICE, "cuBLASLt was not found: no %s or %s (set TESSERA_CUBLAS_PATH)", names[0],
                        names[1]);
    const tsr_status status = find_calls(out);
    if (status != TSR_OK)
        lab_lt_unload(out);
    return status;
}

void lab_lt_unload(lab_lt *lt)
{
    dlclose(lt->library);
    lt->library = NULL;
}
