/* RTLD_NEXT finds nothing here: the real libraries are loaded with local symbols by Python, and a preloaded library
 * comes before them in no list. So the library is taken from those that are loaded: by its SONAME, or, where a package
 * has renamed it, by the version node that its symbols carry. */
#include "cublas/real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/call_log.h"

enum { MAJOR_OF_FIRST_NODE = 12, NAME_BYTES = 32 };

/* What was found, kept for good. No lock: a thread that holds the loader's lock may call while another waits for it. */
static _Atomic(const tsr_real_cublas *) cublas_calls[TSR_NODES];
static _Atomic(const tsr_real_lt *) lt_calls[TSR_NODES];

enum { CANDIDATES_MAX = 8, PATH_BYTES = 4096 };

/* Loaded files whose names have `part` in them. They are opened only after the walk, which holds a lock of the loader.
 */
typedef struct loaded_files {
    const char *part;
    int count;
    char path[CANDIDATES_MAX][PATH_BYTES];
} loaded_files;

static int note_file(struct dl_phdr_info *info, size_t bytes, void *user)
{
    loaded_files *files = user;
    (void)bytes;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (slash && strstr(slash, files->part) && strlen(info->dlpi_name) < PATH_BYTES)
        strcpy(files->path[files->count++], info->dlpi_name);
    return files->count == CANDIDATES_MAX;
}

/* The loaded library of that name if it has, itself and not in one that it needs, `symbol` under the version `node`. */
static void *open_loaded(const char *name, const char *symbol, const char *node)
{
    struct link_map *map = NULL;
    Dl_info place;
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    void *address = library ? dlvsym(library, symbol, node) : NULL;
    if (address && dladdr(address, &place) && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 &&
        strcmp(place.dli_fname, map->l_name) == 0)
        return library;
    if (library)
        dlclose(library);
    return NULL;
}

static void *find_renamed(const char *part, const char *symbol, const char *node)
{
    void *library = NULL;
    loaded_files *files = calloc(1, sizeof *files);
    if (!files)
        return NULL;
    files->part = part;
    dl_iterate_phdr(note_file, files);
    for (int i = 0; i < files->count && !library; i++)
        library = open_loaded(files->path[i], symbol, node);
    free(files);
    return library;
}

/* The library stays open: its functions are called as long as the process lives. */
static void *find_loaded(const char *name, const char *symbol, int node)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char soname[NAME_BYTES];
    snprintf(soname, sizeof soname, "%s.so.%d", name, MAJOR_OF_FIRST_NODE + node);
    void *library = open_loaded(soname, symbol, soname);
    if (!library)
        library = find_renamed(name, symbol, soname);
    if (!library)
        tsr_call_log_tell(&told, "a call came for %s, but the process has loaded no such library", soname);
    return library;
}

static void *call_of(void *library, const char *name, int node, const char *symbol)
{
    char version[NAME_BYTES];
    snprintf(version, sizeof version, "%s.so.%d", name, MAJOR_OF_FIRST_NODE + node);
    return dlvsym(library, symbol, version);
}

/* A miss is not kept: the library may come later. If two threads come at once, the second one's is freed again. */
static const tsr_real_cublas *find_cublas(int node)
{
    const tsr_real_cublas *before = NULL;
    void *library = find_loaded("libcublas", "cublasCreate_v2", node);
    tsr_real_cublas *out = library ? calloc(1, sizeof *out) : NULL;
    if (!out)
        return NULL;
#define FIND(member, symbol, parameters) *(void **)&out->member = call_of(library, "libcublas", node, #symbol);
    TSR_CUBLAS_CALLS(FIND)
#undef FIND
    if (atomic_compare_exchange_strong(&cublas_calls[node], &before, out))
        return out;
    free(out);
    return before;
}

static const tsr_real_lt *find_lt(int node)
{
    const tsr_real_lt *before = NULL;
    void *library = find_loaded("libcublasLt", "cublasLtMatmul", node);
    tsr_real_lt *out = library ? calloc(1, sizeof *out) : NULL;
    if (!out)
        return NULL;
#define FIND(member, symbol, parameters) *(void **)&out->member = call_of(library, "libcublasLt", node, #symbol);
    TSR_LT_CALLS(FIND)
    FIND(version, cublasLtGetVersion, )
#undef FIND
    if (atomic_compare_exchange_strong(&lt_calls[node], &before, out))
        return out;
    free(out);
    return before;
}

const tsr_real_cublas *tsr_real_cublas_of(int node)
{
    const tsr_real_cublas *known = atomic_load_explicit(&cublas_calls[node], memory_order_acquire);
    return known ? known : find_cublas(node);
}

const tsr_real_lt *tsr_real_lt_of(int node)
{
    const tsr_real_lt *known = atomic_load_explicit(&lt_calls[node], memory_order_acquire);
    return known ? known : find_lt(node);
}

int tsr_real_is_used(int node)
{
    return atomic_load_explicit(&cublas_calls[node], memory_order_acquire) != NULL ||
           atomic_load_explicit(&lt_calls[node], memory_order_acquire) != NULL;
}

tsr_cublas_status tsr_real_lacks(const char *symbol)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    tsr_call_log_tell(&told, "the loaded cuBLAS has no %s", symbol);
    return TSR_CUBLAS_NOT_SUPPORTED;
}
