#include "lab/common/nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Version 3 has no library of its own: programs offer tables of pointers, and the profiler's library fills in those of
 * the functions that it wants to be called for. Facts from NVIDIA's nvtx3/nvtxDetail/nvtxTypes.h and nvtxInit.h. */
typedef void function(void);
enum { CORE = 1, MODULES = 7, MOST_FUNCTIONS = 16 }; /* modules are counted from 1 */
enum { RANGE_PUSH = 9, RANGE_POP = 11 };             /* of CORE, by name in the program's characters */
enum { TABLE_OF_CALLBACKS = 1, TABLE_OF_VERSION = 3, OUR_VERSION = 3 };

/* Of each module, one more than the highest number of its functions. */
static const unsigned function_counts[MODULES] = {0, 16, 9, 15, 7, 16, 7};

typedef struct callbacks_table {
    size_t struct_bytes;
    int (*module_functions)(int module, function ****out_table, unsigned *out_count);
} callbacks_table;

typedef struct version_table {
    size_t struct_bytes;
    uint32_t version, reserved;
    void (*set_injection_version)(uint32_t version);
} version_table;

/* The profiler keeps the addresses: there is one set for the process, as long as it lives. */
static struct {
    pthread_once_t once;
    function *functions[MODULES][MOST_FUNCTIONS];
    function **tables[MODULES][MOST_FUNCTIONS + 1]; /* pointers to the above, and NULL behind the last */
    int (*push)(const char *name);                  /* of either version; NULL: nobody listens */
    int (*pop)(void);
} nvtx = {.once = PTHREAD_ONCE_INIT};

static int module_functions(int module, function ****out_table, unsigned *out_count)
{
    if (module < CORE || module >= MODULES)
        return 0;
    if (out_table)
        *out_table = nvtx.tables[module];
    if (out_count)
        *out_count = function_counts[module];
    return 1;
}

static void set_injection_version(uint32_t version)
{
    (void)version;
}

static const void *export_table(uint32_t id)
{
    static const callbacks_table callbacks = {sizeof callbacks, module_functions};
    static const version_table version = {sizeof version, OUR_VERSION, 0, set_injection_version};
    return id == TABLE_OF_CALLBACKS ? (const void *)&callbacks : id == TABLE_OF_VERSION ? &version : NULL;
}

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* The library stays: what it wrote into the tables are its functions. 0 if there is none, or it does not want us. */
static int attach_injection(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    for (int module = CORE; module < MODULES; module++)
        for (unsigned i = 1; i < function_counts[module]; i++)
            nvtx.tables[module][i] = &nvtx.functions[module][i];
    int (*const initialize)(const void *(*tables)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))symbol(library, "InitializeInjectionNvtx2");
    if (!initialize || !initialize(export_table)) {
        if (library)
            dlclose(library);
        return 0;
    }
    nvtx.push = (int (*)(const char *))nvtx.functions[CORE][RANGE_PUSH];
    nvtx.pop = (int (*)(void))nvtx.functions[CORE][RANGE_POP];
    return 1;
}

static void attach(void)
{
    if (attach_injection())
        return;
    void *library = dlopen("libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL);
    nvtx.push = (int (*)(const char *))symbol(library, "nvtxRangePushA");
    nvtx.pop = (int (*)(void))symbol(library, "nvtxRangePop");
}

int lab_nvtx_push(const char *name)
{
    pthread_once(&nvtx.once, attach);
    if (!nvtx.push || !nvtx.pop)
        return 0;
    nvtx.push(name);
    return 1;
}

void lab_nvtx_pop(void)
{
    nvtx.pop();
}
