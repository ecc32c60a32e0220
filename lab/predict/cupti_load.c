#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/predict/cupti.h"

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
enum { NAMES = sizeof names / sizeof names[0] };

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void *open_in(const char *root, const char *tail)
{
    char pattern[PATH_MAX];
    void *library = NULL;
    for (int i = 0; i < NAMES && root && !library; i++) {
        glob_t found;
        if (snprintf(pattern, sizeof pattern, "%s%s/%s", root, tail, names[i]) >= (int)sizeof pattern ||
            glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t f = found.gl_pathc; f > 0 && !library; f--)
            library = open_library(found.gl_pathv[f - 1]);
        globfree(&found);
    }
    return library;
}

static void *search(void)
{
    const char *const roots[] = {getenv("CUDA_HOME"), "/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"};
    const char *const tails[] = {"/lib64", "/extras/CUPTI/lib64", "/targets/*/lib"};
    void *library = NULL;
    for (int i = 0; i < NAMES && !library; i++)
        library = open_library(names[i]);
    for (size_t r = 0; r < sizeof roots / sizeof roots[0]; r++)
        for (size_t t = 0; t < sizeof tails / sizeof tails[0] && !library; t++)
            library = open_in(roots[r], tails[t]);
    return library;
}

tsr_status lab_cupti_load(lab_cupti_calls *out)
{
    const char *path = getenv("TESSERA_CUPTI_PATH");
    const int is_given = path && *path;
    memset(out, 0, sizeof *out);
    out->library = is_given ? open_library(path) : search();
    if (!out->library && is_given)
        return tsr_fail(TSR_UNSUPPORTED, "CUPTI: TESSERA_CUPTI_PATH = \"%s\" is no library", path);
    if (!out->library)
        return tsr_fail(TSR_UNSUPPORTED, "CUPTI was not found: no %s or %s (set TESSERA_CUPTI_PATH)", names[0],
                        names[1]);
    *(void **)&out->result_name = dlsym(out->library, "cuptiGetResultString");
#define FIND(member, symbol, type, last)                   \
    *(void **)&out->member = dlsym(out->library, #symbol); \
    if (!out->member)                                      \
        return tsr_fail(TSR_UNSUPPORTED, "this CUPTI has no " #symbol ": it must be of CUDA 12.6 or later");
    LAB_CUPTI_CALLS(FIND)
#undef FIND
    return TSR_OK;
}
