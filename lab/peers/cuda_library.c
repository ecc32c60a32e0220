#include "lab/peers/cuda_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

#define NAMES 2

int lab_cuda_type(tsr_dtype dtype)
{
    static const int types[TSR_DTYPE_COUNT] = {
        [TSR_DTYPE_NONE] = -1,           [TSR_F64] = LAB_CUDA_R_64F,   [TSR_F32] = LAB_CUDA_R_32F,
        [TSR_F16] = LAB_CUDA_R_16F,      [TSR_BF16] = LAB_CUDA_R_16BF, [TSR_E4M3] = LAB_CUDA_R_8F_E4M3,
        [TSR_E5M2] = LAB_CUDA_R_8F_E5M2, [TSR_S8] = LAB_CUDA_R_8I,     [TSR_U8] = LAB_CUDA_R_8U,
        [TSR_S32] = LAB_CUDA_R_32I,
    };
    return types[dtype];
}

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The newest version in the folders that fit ROOT TAIL, a shell pattern. */
static void *open_in(const lab_cuda_library *wanted, const char *root, const char *tail)
{
    char pattern[PATH_MAX];
    void *library = NULL;
    if (root == NULL)
        return NULL;
    for (size_t i = 0; i < NAMES && wanted->names[i] != NULL && library == NULL; i++) {
        glob_t found;
        if (snprintf(pattern, sizeof pattern, "%s%s/%s", root, tail, wanted->names[i]) >= (int)sizeof pattern ||
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

static void *search(const lab_cuda_library *wanted)
{
    static const char *const toolkits[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", "/usr/lib/cuda"};
    char root[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; i < NAMES && wanted->names[i] != NULL && library == NULL; i++)
        library = open_library(wanted->names[i]);
    if (library == NULL)
        library = open_in(wanted, getenv("CUDA_HOME"), "/lib64");
    for (size_t i = 0; i < sizeof toolkits / sizeof toolkits[0] && library == NULL; i++) {
        library = open_in(wanted, toolkits[i], "/lib64");
        if (library == NULL)
            library = open_in(wanted, toolkits[i], "/targets/*/lib");
    }
    if (library == NULL && python_root(root, sizeof root)) {
        library = open_in(wanted, root, "/lib/python3*/site-packages/nvidia/*/lib");
        if (library == NULL)
            library = open_in(wanted, root, "/lib/python3*/dist-packages/nvidia/*/lib");
    }
    if (library == NULL) /* what pip puts beside Debian's own packages */
        library = open_in(wanted, "/usr/local", "/lib/python3*/dist-packages/nvidia/*/lib");
    return library;
}

tsr_status lab_cuda_library_open(const lab_cuda_library *wanted, void **out)
{
    const char *path = getenv(wanted->variable);
    const int is_given = path != NULL && *path != '\0';
    if (is_given) {
        *out = open_in(wanted, path, "");
        if (*out == NULL)
            *out = open_library(path);
    } else {
        *out = search(wanted);
    }
    if (*out != NULL)
        return TSR_OK;
    if (is_given)
        return tsr_fail(TSR_NO_DEVICE, "%s: %s = \"%s\" is no library, and no folder with one", wanted->title,
                        wanted->variable, path);
    const int has_second = wanted->names[1] != NULL;
    return tsr_fail(TSR_NO_DEVICE, "%s was not found: no %s%s%s (set %s)", wanted->title, wanted->names[0],
                    has_second ? " or " : "", has_second ? wanted->names[1] : "", wanted->variable);
}
