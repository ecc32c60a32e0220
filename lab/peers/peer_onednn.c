/* oneDNN's matmul primitive on the CPU, through its C interface (versions 2 and 3): f32, bf16 and f16 with f32 sums, s8
 * and u8 with s32 ones. The library is used without its headers: descriptors of version 2 are filled by its own
 * functions in memory that is larger than any of them; those of version 3 are pointers. Reference: oneDNN developer
 * guide, "Matrix Multiplication".
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/common/parallel.h"
#include "lab/peers/peer.h"

enum {
    ENGINE_CPU = 1,
    STREAM_IN_ORDER = 1,
    TYPE_F16 = 1,
    TYPE_BF16 = 2,
    TYPE_F32 = 3,
    TYPE_S32 = 4,
    TYPE_S8 = 5,
    TYPE_U8 = 6,
    ARG_SOURCE = 1,
    ARG_RESULT = 17,
    ARG_WEIGHTS = 33,
    MEMORY_DESC_BYTES = 2048, /* version 2.6: 696 */
    MATMUL_DESC_BYTES = 8192, /* 2800 */
    MAX_DIMS = 12
};

typedef struct onednn_version {
    int major, minor, patch;
} onednn_version;

typedef struct onednn_argument {
    int which;
    void *memory;
} onednn_argument;

/* Its functions; each returns 0 for success. Of the two versions' own, those of the other one are NULL. */
typedef struct onednn_functions {
    const onednn_version *(*version)(void);
    int (*engine_create)(void **engine, int kind, size_t index);
    int (*engine_destroy)(void *engine);
    int (*stream_create)(void **stream, void *engine, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*primitive_desc_destroy)(void *desc);
    int (*primitive_create)(void **primitive, const void *desc);
    int (*primitive_execute)(const void *primitive, void *stream, int count, const onednn_argument *arguments);
    int (*primitive_destroy)(void *primitive);
    int (*memory_create)(void **memory, const void *desc, void *engine, void *data);
    int (*memory_set_data_handle)(void *memory, void *data);
    int (*memory_destroy)(void *memory);
    /* version 2 */
    int (*memory_desc_init_by_strides)(void *desc, int dims, const int64_t *sizes, int type, const int64_t *strides);
    int (*matmul_desc_init)(void *desc, const void *a, const void *b, const void *bias, const void *d);
    int (*primitive_desc_create)(void **out, const void *desc, const void *attributes, void *engine, const void *hint);
    /* version 3 */
    int (*memory_desc_create_with_strides)(void **out, int dims, const int64_t *sizes, int type,
                                           const int64_t *strides);
    int (*memory_desc_destroy)(void *desc);
    int (*matmul_primitive_desc_create)(void **out, void *engine, const void *a, const void *b, const void *bias,
                                        const void *d, const void *attributes);
} onednn_functions;

typedef struct onednn_peer {
    void *handle, *engine, *stream;
    onednn_functions call;
    int is_old; /* version 2 */
    char version[64];
} onednn_peer;

typedef struct onednn_problem {
    const onednn_peer *peer;
    void *primitive, *memory[3]; /* of A, B, D */
} onednn_problem;

typedef struct onednn_layout {
    int dims, type;
    int64_t sizes[MAX_DIMS], strides[MAX_DIMS];
} onednn_layout;

static int find_functions(onednn_peer *peer)
{
    onednn_functions *const c = &peer->call;
    const struct {
        void *where;
        const char *name;
        int version; /* that has it; 0: both */
    } wanted[] = {{&c->version, "dnnl_version", 0},
                  {&c->engine_create, "dnnl_engine_create", 0},
                  {&c->engine_destroy, "dnnl_engine_destroy", 0},
                  {&c->stream_create, "dnnl_stream_create", 0},
                  {&c->stream_wait, "dnnl_stream_wait", 0},
                  {&c->stream_destroy, "dnnl_stream_destroy", 0},
                  {&c->primitive_desc_destroy, "dnnl_primitive_desc_destroy", 0},
                  {&c->primitive_create, "dnnl_primitive_create", 0},
                  {&c->primitive_execute, "dnnl_primitive_execute", 0},
                  {&c->primitive_destroy, "dnnl_primitive_destroy", 0},
                  {&c->memory_create, "dnnl_memory_create", 0},
                  {&c->memory_set_data_handle, "dnnl_memory_set_data_handle", 0},
                  {&c->memory_destroy, "dnnl_memory_destroy", 0},
                  {&c->memory_desc_init_by_strides, "dnnl_memory_desc_init_by_strides", 2},
                  {&c->matmul_desc_init, "dnnl_matmul_desc_init", 2},
                  {&c->primitive_desc_create, "dnnl_primitive_desc_create", 2},
                  {&c->memory_desc_create_with_strides, "dnnl_memory_desc_create_with_strides", 3},
                  {&c->memory_desc_destroy, "dnnl_memory_desc_destroy", 3},
                  {&c->matmul_primitive_desc_create, "dnnl_matmul_primitive_desc_create", 3}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(peer->handle, wanted[i].name);
        memcpy(wanted[i].where, &found, sizeof found);
        if (i == 0 && found != NULL)
            peer->is_old = c->version()->major == 2;
        if (found == NULL && (wanted[i].version == 0 || (wanted[i].version == 2) == peer->is_old))
            return 0;
    }
    const int major = c->version()->major;
    return major == 2 || major == 3;
}

static void close_onednn(void *state)
{
    onednn_peer *peer = state;
    if (peer->stream != NULL)
        peer->call.stream_destroy(peer->stream);
    if (peer->engine != NULL)
        peer->call.engine_destroy(peer->engine);
    dlclose(peer->handle);
    free(peer);
}

/* RTLD_NODELETE: its threads outlive a dlclose. */
static void *open_library(void)
{
    const char *path = getenv("TESSERA_ONEDNN_PATH");
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    if (path != NULL && *path != '\0')
        return dlopen(path, flags);
    void *handle = dlopen("libdnnl.so.3", flags);
    return handle != NULL ? handle : dlopen("libdnnl.so.2", flags);
}

/* Debian builds it on OpenMP, whose number of threads is the calling thread's own setting. */
static int set_threads(const onednn_peer *peer, int threads)
{
    void (*set)(int);
    *(void **)&set = dlsym(peer->handle, "omp_set_num_threads");
    if (set != NULL)
        set(threads);
    return set != NULL;
}

static tsr_status open_onednn(int ordinal, int threads, void **state)
{
    (void)ordinal;
    void *handle = open_library();
    if (handle == NULL) {
        const char *path = getenv("TESSERA_ONEDNN_PATH");
        if (path != NULL && *path != '\0')
            return tsr_fail(TSR_NO_DEVICE, "oneDNN: TESSERA_ONEDNN_PATH = \"%s\" cannot be loaded", path);
        return tsr_fail(TSR_NO_DEVICE, "oneDNN was not found: no libdnnl.so.3 or libdnnl.so.2 (package libdnnl3 or "
                                       "libdnnl2, or set TESSERA_ONEDNN_PATH)");
    }
    onednn_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        dlclose(handle);
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for oneDNN");
    }
    peer->handle = handle;
    if (!find_functions(peer)) {
        close_onednn(peer);
        return tsr_fail(TSR_UNSUPPORTED, "oneDNN lacks functions of versions 2 and 3");
    }
    if (!set_threads(peer, threads > 0 ? threads : lab_processors())) {
        close_onednn(peer);
        return tsr_fail(TSR_UNSUPPORTED, "oneDNN was not built with OpenMP: its threads cannot be set");
    }
    if (peer->call.engine_create(&peer->engine, ENGINE_CPU, 0) != 0 ||
        peer->call.stream_create(&peer->stream, peer->engine, STREAM_IN_ORDER) != 0) {
        close_onednn(peer);
        return tsr_fail(TSR_UNSUPPORTED, "oneDNN has no CPU engine");
    }
    const onednn_version *v = peer->call.version();
    snprintf(peer->version, sizeof peer->version, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    *state = peer;
    return TSR_OK;
}

static void onednn_version_line(void *state, char *out, size_t out_bytes)
{
    const onednn_peer *peer = state;
    snprintf(out, out_bytes, "%s", peer->version);
}

/* 0: none of its types. */
static int type_of(tsr_dtype dtype)
{
    switch (dtype) {
    case TSR_F32:
        return TYPE_F32;
    case TSR_BF16:
        return TYPE_BF16;
    case TSR_F16:
        return TYPE_F16;
    case TSR_S32:
        return TYPE_S32;
    case TSR_S8:
        return TYPE_S8;
    case TSR_U8:
        return TYPE_U8;
    default:
        return 0;
    }
}

/* A stored matrix as rows x columns of the product's operand, whatever way it lies. */
static onednn_layout layout_of(const tsr_operand *operand, int64_t rows, int64_t columns, int64_t batch)
{
    const int is_transposed = operand->trans == TSR_T;
    const int64_t ld = operand->ld > 0 ? operand->ld : is_transposed ? rows : columns;
    onednn_layout layout = {.dims = 0, .type = type_of(operand->dtype)};
    if (batch > 1) {
        layout.sizes[layout.dims] = batch;
        layout.strides[layout.dims++] = operand->batch_stride;
    }
    layout.sizes[layout.dims] = rows;
    layout.strides[layout.dims++] = is_transposed ? 1 : ld;
    layout.sizes[layout.dims] = columns;
    layout.strides[layout.dims++] = is_transposed ? ld : 1;
    return layout;
}

/* The three memories and the primitive, from descriptors of either version. */
static int finish(const onednn_peer *peer, void *const descs[3], void *primitive_desc, onednn_problem *problem)
{
    int failed = peer->call.primitive_create(&problem->primitive, primitive_desc);
    for (int i = 0; i < 3 && !failed; i++)
        failed = peer->call.memory_create(&problem->memory[i], descs[i], peer->engine, NULL);
    peer->call.primitive_desc_destroy(primitive_desc);
    return failed;
}

static int build_old(const onednn_peer *peer, const onednn_layout layouts[3], onednn_problem *problem)
{
    _Alignas(16) char descs[3][MEMORY_DESC_BYTES], matmul[MATMUL_DESC_BYTES];
    void *const pointers[3] = {descs[0], descs[1], descs[2]};
    void *primitive_desc = NULL;
    for (int i = 0; i < 3; i++)
        if (peer->call.memory_desc_init_by_strides(descs[i], layouts[i].dims, layouts[i].sizes, layouts[i].type,
                                                   layouts[i].strides) != 0)
            return 1;
    if (peer->call.matmul_desc_init(matmul, descs[0], descs[1], NULL, descs[2]) != 0 ||
        peer->call.primitive_desc_create(&primitive_desc, matmul, NULL, peer->engine, NULL) != 0)
        return 1;
    return finish(peer, pointers, primitive_desc, problem);
}

static int build_new(const onednn_peer *peer, const onednn_layout layouts[3], onednn_problem *problem)
{
    void *descs[3] = {NULL, NULL, NULL}, *primitive_desc = NULL;
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++)
        failed = peer->call.memory_desc_create_with_strides(&descs[i], layouts[i].dims, layouts[i].sizes,
                                                            layouts[i].type, layouts[i].strides);
    if (!failed)
        failed = peer->call.matmul_primitive_desc_create(&primitive_desc, peer->engine, descs[0], descs[1], NULL,
                                                         descs[2], NULL);
    if (!failed)
        failed = finish(peer, descs, primitive_desc, problem);
    for (int i = 0; i < 3; i++)
        if (descs[i] != NULL)
            peer->call.memory_desc_destroy(descs[i]);
    return failed;
}

static void release(void *state)
{
    onednn_problem *problem = state;
    for (int i = 0; i < 3; i++)
        if (problem->memory[i] != NULL)
            problem->peer->call.memory_destroy(problem->memory[i]);
    if (problem->primitive != NULL)
        problem->peer->call.primitive_destroy(problem->primitive);
    free(problem);
}

static tsr_status prepare(void *state, const tsr_gemm_desc *desc, void **out, int *choices)
{
    const onednn_peer *peer = state;
    if (type_of(desc->a.dtype) == 0 || type_of(desc->b.dtype) == 0 || type_of(desc->d.dtype) == 0)
        return tsr_fail(TSR_UNSUPPORTED, "oneDNN is asked for f32, bf16, f16, s8 and u8 only");
    if (desc->a.memory == TSR_DEVICE || desc->b.memory == TSR_DEVICE || desc->d.memory == TSR_DEVICE)
        return tsr_fail(TSR_UNSUPPORTED, "oneDNN's operands must be in host memory");
    const onednn_layout layouts[3] = {layout_of(&desc->a, desc->m, desc->k, desc->batch_count),
                                      layout_of(&desc->b, desc->k, desc->n, desc->batch_count),
                                      layout_of(&desc->d, desc->m, desc->n, desc->batch_count)};
    onednn_problem *problem = calloc(1, sizeof *problem);
    if (problem == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a problem of oneDNN");
    problem->peer = peer;
    if (peer->is_old ? build_old(peer, layouts, problem) : build_new(peer, layouts, problem)) {
        release(problem);
        return tsr_fail(TSR_UNSUPPORTED, "%s has no such product on this CPU", peer->version);
    }
    *out = problem;
    *choices = 1;
    return TSR_OK;
}

static tsr_status run(void *state, int choice, const tsr_run_args *args)
{
    const onednn_problem *problem = state;
    const onednn_functions *call = &problem->peer->call;
    (void)choice; /* there is one */
    if (args->alpha.value != 1.0 || args->beta.value != 0.0)
        return tsr_fail(TSR_UNSUPPORTED, "oneDNN is asked for A B alone: alpha must be 1 and beta 0");
    void *data[3];
    memcpy(&data[0], &args->a, sizeof data[0]); /* it takes pointers to what it only reads without const */
    memcpy(&data[1], &args->b, sizeof data[1]);
    data[2] = args->d;
    int failed = 0;
    for (int i = 0; i < 3; i++)
        failed |= call->memory_set_data_handle(problem->memory[i], data[i]);
    const onednn_argument arguments[3] = {
        {ARG_SOURCE, problem->memory[0]}, {ARG_WEIGHTS, problem->memory[1]}, {ARG_RESULT, problem->memory[2]}};
    failed = failed || call->primitive_execute(problem->primitive, problem->peer->stream, 3, arguments) ||
             call->stream_wait(problem->peer->stream);
    return failed ? tsr_fail(TSR_DRIVER_ERROR, "%s failed", problem->peer->version) : TSR_OK;
}

const lab_peer_ops lab_peer_onednn = {"onednn", 0,       open_onednn, close_onednn, onednn_version_line,
                                      prepare,  release, run,         NULL};
