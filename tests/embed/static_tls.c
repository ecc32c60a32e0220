/* static_tls LIBRARY TAKER...: opens libraries until the loader has no static thread-local memory left, then
 * ours, which must not need any. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tessera.h"

/* What dlsym found, by names that the header has taken. */
static __typeof__(tsr_sgemm) *sgemm;
static __typeof__(tsr_last_error) *last_error;
static __typeof__(tsr_context_create) *create;
static __typeof__(tsr_gemm) *gemm;

static int find(void *library, const char *name, void *function)
{
    void *const symbol = library ? dlsym(library, name) : NULL;
    if (!symbol)
        printf("%s\n", dlerror());
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Where the build has the emulator: two threads of its own, each with its place in a kernel. */
static int emulate(void)
{
    enum { N = 40 };
    static float a[N * N], b[N * N], d[N * N];
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    tsr_context *context = NULL;
    const tsr_status status = create("emu", &options, &context);
    if (status != TSR_OK) {
        printf("no emulator: %s\n", last_error());
        return status == TSR_NO_DEVICE || status == TSR_UNSUPPORTED;
    }
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
    desc.kernel = "tiled";
    const tsr_run_args args = tsr_run_args_make(a, b, d);
    int wrong = 0;
    for (int i = 0; i < 3 && !wrong; i++) {
        memset(d, 0, sizeof d);
        wrong = gemm(context, &desc, &args) != TSR_OK || d[0] != N || d[N * N - 1] != N;
    }
    return !wrong;
}

/* Each thread has its own message. */
static void *fail_here(void *wrong)
{
    float x[4] = {1, 2, 3, 4}, d[4];
    *(int *)wrong = last_error()[0] != '\0' || sgemm(TSR_N, TSR_N, 2, 2, 2, 1, x, 2, x, 2, 0, d, 2) != 0 ||
                    d[3] != 22 || sgemm(TSR_N, TSR_N, 2, 2, 2, 1, x, 1, x, 2, 0, d, 2) == 0 ||
                    !strstr(last_error(), "lda = 1");
    return NULL;
}

int main(int count, char **arguments)
{
    enum { LIBRARY = 1, FIRST_TAKER };
    int refused = 0, wrong = 0, wrong_too = 0;
    pthread_t other;
    for (int i = FIRST_TAKER; i < count; i++)
        refused += dlopen(arguments[i], RTLD_NOW) == NULL;
    if (refused == 0) {
        printf("the loader had room for all: nothing is shown\n");
        return 77;
    }
    void *library = dlopen(arguments[LIBRARY], RTLD_NOW);
    if (!find(library, "tsr_sgemm", &sgemm) || !find(library, "tsr_last_error", &last_error) ||
        !find(library, "tsr_context_create", &create) || !find(library, "tsr_gemm", &gemm))
        return 1;
    fail_here(&wrong);
    if (pthread_create(&other, NULL, fail_here, &wrong_too) != 0 || pthread_join(other, NULL) != 0)
        return 1;
    return wrong || wrong_too || !emulate();
}
