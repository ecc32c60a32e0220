/* OpenBLAS and BLIS through their C BLAS interface. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/common/parallel.h"
#include "lab/peers/peer.h"

/* Values of the C BLAS interface. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_function(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                            int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_function(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                            int lda, const double *b, int ldb, double beta, double *c, int ldc);

/* Where one of the libraries is looked for. */
typedef struct library_names {
    const char *title;
    const char *variable;          /* environment: a path that goes first, and alone */
    const char *const *candidates; /* NULL at the end */
    const char *package;
} library_names;

static const char *const openblas_candidates[] = {"libopenblas.so.0",
                                                  "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
                                                  "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
                                                  "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0", NULL};
static const char *const blis_candidates[] = {"libblis.so.4", "/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4",
                                              "/usr/lib/aarch64-linux-gnu/blis-pthread/libblis.so.4",
                                              "/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4", NULL};
static const library_names openblas_names = {"OpenBLAS", "TESSERA_OPENBLAS_PATH", openblas_candidates,
                                             "libopenblas0-pthread"};
static const library_names blis_names = {"BLIS", "TESSERA_BLIS_PATH", blis_candidates, "libblis4-pthread"};

typedef struct cblas_peer {
    void *handle;
    sgemm_function *sgemm;
    dgemm_function *dgemm;
    char version[64];
} cblas_peer;

typedef struct cblas_problem {
    const cblas_peer *peer;
    tsr_gemm_desc desc;
    int lda, ldb, ldd;
} cblas_problem;

/* RTLD_LOCAL: both libraries export the same names. RTLD_NODELETE: their threads outlive a dlclose. */
static void *open_library(const library_names *names)
{
    const char *path = getenv(names->variable);
    if (path != NULL && *path != '\0')
        return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (const char *const *candidate = names->candidates; *candidate != NULL; candidate++) {
        void *handle = dlopen(*candidate, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle != NULL)
            return handle;
    }
    return NULL;
}

static tsr_status open_peer(const library_names *names, cblas_peer **out)
{
    void *handle = open_library(names);
    if (handle == NULL) {
        const char *path = getenv(names->variable);
        if (path != NULL && *path != '\0')
            return tsr_fail(TSR_NO_DEVICE, "%s: %s = \"%s\" cannot be loaded", names->title, names->variable, path);
        return tsr_fail(TSR_NO_DEVICE, "%s was not found: no %s (package %s, or set %s)", names->title,
                        names->candidates[0], names->package, names->variable);
    }
    cblas_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        dlclose(handle);
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %s", names->title);
    }
    peer->handle = handle;
    *(void **)&peer->sgemm = dlsym(handle, "cblas_sgemm");
    *(void **)&peer->dgemm = dlsym(handle, "cblas_dgemm");
    if (peer->sgemm == NULL || peer->dgemm == NULL) {
        dlclose(handle);
        free(peer);
        return tsr_fail(TSR_UNSUPPORTED, "%s has no cblas_sgemm and cblas_dgemm", names->title);
    }
    *out = peer;
    return TSR_OK;
}

static void close_peer(void *state)
{
    cblas_peer *peer = state;
    dlclose(peer->handle);
    free(peer);
}

static void peer_version(void *state, char *out, size_t out_bytes)
{
    const cblas_peer *peer = state;
    snprintf(out, out_bytes, "%s", peer->version);
}

static tsr_status wide_integers(const char *title, cblas_peer *peer)
{
    close_peer(peer);
    return tsr_fail(TSR_UNSUPPORTED, "%s was built with 64-bit integers; the 32-bit interface is needed", title);
}

static tsr_status open_openblas(int ordinal, int threads, void **state)
{
    (void)ordinal;
    cblas_peer *peer;
    tsr_status status = open_peer(&openblas_names, &peer);
    if (status != TSR_OK)
        return status;
    char *(*get_config)(void), *(*get_core)(void);
    void (*set_threads)(int);
    *(void **)&get_config = dlsym(peer->handle, "openblas_get_config");
    *(void **)&get_core = dlsym(peer->handle, "openblas_get_corename");
    *(void **)&set_threads = dlsym(peer->handle, "openblas_set_num_threads");
    const char *config = get_config != NULL ? get_config() : "OpenBLAS";
    if (strstr(config, "USE64BITINT") != NULL)
        return wide_integers("OpenBLAS", peer);
    /* The configuration starts with "OpenBLAS 0.3.21" and goes on with build options. */
    char name[24] = "", number[16] = "";
    sscanf(config, "%23s %15s", name, number);
    const char *forced = getenv("OPENBLAS_CORETYPE"); /* then the code is not what OpenBLAS would choose for this CPU */
    snprintf(peer->version, sizeof peer->version, "%s %s %.20s%s", name, number, get_core != NULL ? get_core() : "",
             forced != NULL && *forced != '\0' ? " (OPENBLAS_CORETYPE)" : "");
    if (set_threads != NULL)
        set_threads(threads > 0 ? threads : lab_processors());
    *state = peer;
    return TSR_OK;
}

static tsr_status open_blis(int ordinal, int threads, void **state)
{
    (void)ordinal;
    cblas_peer *peer;
    tsr_status status = open_peer(&blis_names, &peer);
    if (status != TSR_OK)
        return status;
    const char *(*get_version)(void), *(*arch_text)(int);
    int (*arch)(void);
    long (*integer_bits)(void);
    void (*set_threads)(long);
    *(void **)&get_version = dlsym(peer->handle, "bli_info_get_version_str");
    *(void **)&arch = dlsym(peer->handle, "bli_arch_query_id");
    *(void **)&arch_text = dlsym(peer->handle, "bli_arch_string");
    *(void **)&integer_bits = dlsym(peer->handle, "bli_info_get_blas_int_type_size");
    *(void **)&set_threads = dlsym(peer->handle, "bli_thread_set_num_threads");
    if (integer_bits != NULL && integer_bits() != 32)
        return wide_integers("BLIS", peer);
    snprintf(peer->version, sizeof peer->version, "BLIS %.20s %.20s", get_version != NULL ? get_version() : "",
             arch != NULL && arch_text != NULL ? arch_text(arch()) : "");
    if (set_threads != NULL)
        set_threads(threads > 0 ? threads : lab_processors());
    *state = peer;
    return TSR_OK;
}

static int64_t row_length(const tsr_operand *operand, int64_t rows, int64_t columns)
{
    return operand->ld > 0 ? operand->ld : operand->trans == TSR_T ? rows : columns;
}

/* A leading dimension of 0 columns must still be 1 for these libraries. */
static int as_int(int64_t value, int *out)
{
    *out = value > 1 ? (int)value : 1;
    return value <= INT_MAX;
}

static tsr_status prepare(void *state, const tsr_gemm_desc *desc, void **out, int *choices)
{
    const tsr_dtype dtype = desc->a.dtype;
    if ((dtype != TSR_F32 && dtype != TSR_F64) || desc->b.dtype != dtype || desc->d.dtype != dtype)
        return tsr_fail(TSR_UNSUPPORTED, "the C BLAS interface has f32 and f64 only");
    if (desc->a.memory == TSR_DEVICE && desc->d.memory != TSR_DEVICE)
        return tsr_fail(TSR_UNSUPPORTED, "operands lie in different memories");
    cblas_problem *problem = calloc(1, sizeof *problem);
    if (problem == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a C BLAS problem");
    problem->peer = state;
    problem->desc = *desc;
    if (!as_int(row_length(&desc->a, desc->m, desc->k), &problem->lda) ||
        !as_int(row_length(&desc->b, desc->k, desc->n), &problem->ldb) ||
        !as_int(row_length(&desc->d, desc->m, desc->n), &problem->ldd) || desc->m > INT_MAX || desc->n > INT_MAX ||
        desc->k > INT_MAX) {
        free(problem);
        return tsr_fail(TSR_UNSUPPORTED, "a size does not fit the 32-bit integers of the C BLAS interface");
    }
    *out = problem;
    *choices = 1;
    return TSR_OK;
}

static void release(void *problem)
{
    free(problem);
}

static void run_one(const cblas_problem *p, const char *a, const char *b, char *d, double alpha, double beta)
{
    const tsr_gemm_desc *desc = &p->desc;
    const int trans_a = desc->a.trans == TSR_T ? TRANS : NO_TRANS, trans_b = desc->b.trans == TSR_T ? TRANS : NO_TRANS;
    const int m = (int)desc->m, n = (int)desc->n, k = (int)desc->k;
    if (desc->a.dtype == TSR_F32)
        p->peer->sgemm(ROW_MAJOR, trans_a, trans_b, m, n, k, (float)alpha, (const float *)(const void *)a, p->lda,
                       (const float *)(const void *)b, p->ldb, (float)beta, (float *)(void *)d, p->ldd);
    else
        p->peer->dgemm(ROW_MAJOR, trans_a, trans_b, m, n, k, alpha, (const double *)(const void *)a, p->lda,
                       (const double *)(const void *)b, p->ldb, beta, (double *)(void *)d, p->ldd);
}

static tsr_status run(void *state, int choice, const tsr_run_args *args)
{
    const cblas_problem *problem = state;
    const tsr_gemm_desc *desc = &problem->desc;
    (void)choice; /* there is one */
    if (args->beta.value != 0.0 && args->c != args->d)
        return tsr_fail(TSR_UNSUPPORTED, "the C BLAS interface adds to D in place: C must be D");
    const int64_t bytes = (int64_t)tsr_dtype_bytes(desc->a.dtype);
    for (int64_t i = 0; i < desc->batch_count; i++)
        run_one(problem, (const char *)args->a + i * desc->a.batch_stride * bytes,
                (const char *)args->b + i * desc->b.batch_stride * bytes,
                (char *)args->d + i * desc->d.batch_stride * bytes, args->alpha.value, args->beta.value);
    return TSR_OK;
}

const lab_peer_ops lab_peer_openblas = {"openblas", 0,       open_openblas, close_peer, peer_version,
                                        prepare,    release, run,           NULL};
const lab_peer_ops lab_peer_blis = {"blis", 0, open_blis, close_peer, peer_version, prepare, release, run, NULL};
