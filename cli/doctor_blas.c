#include "cli/doctor_blas.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A symbol as an object and as the functions that it may be. */
typedef union symbol {
    void *object;
    int (*isamax)(const void *n, const float *x, const void *step);
    const char *(*text)(void);
} symbol;

static symbol find(void *library, const char *name)
{
    return (symbol){dlsym(library, name)};
}

/* The file that a symbol of `library` or of what it needs lies in; "" if there is none. */
static void file_of(void *library, const char *name, const char *wide_name, char out[PATH_MAX])
{
    Dl_info place;
    void *object = find(library, name).object;
    if (!object)
        object = find(library, wide_name).object;
    out[0] = '\0';
    if (object && dladdr(object, &place) && place.dli_fname && !realpath(place.dli_fname, out))
        snprintf(out, PATH_MAX, "%s", place.dli_fname);
}

/* Whoever made the rest says so in a function of its own. "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." is cut to two words. */
static void name_rest(void *library, char out[64])
{
    static const char *const openblas[] = {"openblas_get_config", "openblas_get_config64_", "openblas_get_config_64_"};
    for (size_t i = 0; i < sizeof openblas / sizeof openblas[0]; i++) {
        const symbol config = find(library, openblas[i]);
        if (!config.object)
            continue;
        snprintf(out, 64, "%s", config.text());
        char *space = strchr(out, ' ');
        space = space ? strchr(space + 1, ' ') : NULL;
        if (space)
            *space = '\0';
        return;
    }
    const symbol blis = find(library, "bli_info_get_version_str");
    snprintf(out, 64, blis.object ? "BLIS %s" : "a BLAS%s", blis.object ? blis.text() : "");
}

/* n has 3 in its low half and is negative as a whole: only 32-bit integers see three elements. */
static int is_wide(symbol isamax)
{
    const float x[3] = {1, 3, 2};
    const int64_t n = (int64_t)0xffffffff00000003U, one = 1;
    return isamax.isamax(&n, x, &one) != 2;
}

static int has_wrong_integers(void *library)
{
    const symbol narrow = find(library, "isamax_"), wide = find(library, "isamax_64_");
    return narrow.object ? is_wide(narrow) : wide.object && !is_wide(wide);
}

int cli_blas_look(const char *library, cli_blas_view *out)
{
    struct link_map *map = NULL;
    memset(out, 0, sizeof *out);
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        snprintf(out->path, sizeof out->path, "%s", dlerror());
        return 0;
    }
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !realpath(map->l_name, out->path))
        snprintf(out->path, sizeof out->path, "%s", library);
    file_of(handle, "dgemm_", "dgemm_64_", out->products);
    file_of(handle, "dgemv_", "dgemv_64_", out->rest);
    out->is_ours = strstr(out->products, "/libtessera_blas.so") != NULL;
    name_rest(handle, out->rest_name);
    out->is_wrong = has_wrong_integers(handle);
    dlclose(handle);
    return 1;
}

void cli_blas_describe(const cli_blas_view *view, char *out, unsigned long bytes)
{
    if (!view->products[0])
        snprintf(out, bytes, "no BLAS: it has no dgemm_");
    else if (view->is_wrong && view->is_ours)
        snprintf(out, bytes, "UNUSABLE: the integers of %s below (%s) are of another width than ours", view->rest_name,
                 view->rest);
    else if (!view->is_ours)
        snprintf(out, bytes, "%s alone", view->rest_name);
    else if (!view->rest[0])
        snprintf(out, bytes, "products by Tessera, and nothing else: no complete BLAS");
    else
        snprintf(out, bytes, "products by Tessera, the rest by %s (%s)", view->rest_name, view->rest);
}
