/* What cuBLAS has no getter for: a handle's workspace, and its GPU. Handles that were made before this library could
 * see it have no record, and no workspace of the caller's. And what is made with a handle, so that no product waits for
 * it, or is handed on for want of it while its stream captures. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "blas/call_log.h"
#include "cublas/cublas.h"
#include "cublas/nvidia.h"

enum { CHAINS = 256, PLANS_MAX = 512, KERNELS_MAX = 256 };

typedef struct record {
    struct record *next;
    const void *handle;
    int node;
    tsr_handle_view view;
} record;

static record *chains[CHAINS];

static record **place_of(int node, const void *handle)
{
    record **at = &chains[((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 12) % CHAINS];
    while (*at && !((*at)->handle == handle && (*at)->node == node))
        at = &(*at)->next;
    return at;
}

/* Made if need be; NULL when memory runs out. */
static record *record_of(int node, const void *handle)
{
    record **at = place_of(node, handle);
    if (!*at && (*at = calloc(1, sizeof **at)) != NULL)
        **at = (record){NULL, handle, node, {.ordinal = -1}};
    return *at;
}

/* ---- what is made with a handle ---------------------------------------------------------------------------------- */

static atomic_int has_plans[TSR_NODES][TSR_NVIDIA_DEVICES_MAX];

typedef struct made {
    int plans, kernels;
    const char *names[KERNELS_MAX];
} made;

static void count_plan(const char *kernel, made *out)
{
    int at = 0;
    while (at < out->kernels && out->names[at] != kernel) /* names are static */
        at++;
    if (at == out->kernels && at < KERNELS_MAX)
        out->names[out->kernels++] = kernel;
    out->plans++;
}

/* The plans of the shapes that have a line of their own, and so their kernels, once for each GPU and cuBLAS. A line
 * with a bias stands for one with ReLU behind it too. */
static void make_plans(int node, int ordinal, tsr_context *context, made *out)
{
    tsr_cublas_call call;
    size_t at = 0;
    if (atomic_exchange(&has_plans[node][ordinal], 1))
        return;
    for (int line = 0; line < PLANS_MAX && tsr_cublas_next_shape(node, ordinal, &at, &call); line++) {
        const char *kernel = tsr_cublas_plan(&call, ordinal, context);
        if (kernel)
            count_plan(kernel, out);
        if (!call.epilogue)
            continue;
        call.epilogue = tsr_cublas_epilogue(TSR_LT_EPILOGUE_RELU_BIAS);
        kernel = tsr_cublas_plan(&call, ordinal, context);
        if (kernel)
            count_plan(kernel, out);
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void log_made(const char *name, int ordinal, const made *what, double ns)
{
    char line[200];
    const int length = snprintf(
        line, sizeof line, "tessera-handle %s gpu=%d workspace_bytes=%zu plans=%d kernels=%d host_ns=%.0f pid=%ld\n",
        name, ordinal, tsr_pool_bytes(), what->plans, what->kernels, ns, (long)getpid());
    tsr_call_log_line(line, length);
}

/* 1 if the handle holds the pool of GPU `ordinal`. Nothing is made where no call would be answered. */
static int make_ready(int node, int ordinal, const char *name)
{
    if (ordinal < 0 || !tsr_cublas_may_answer(node, ordinal) || !tsr_cublas_is_primary(ordinal))
        return 0;
    const double start_ns = tsr_call_log_is_on() ? now_ns() : 0;
    tsr_context *context = tsr_cublas_context(ordinal);
    if (!context)
        return 0;
    made what = {0};
    tsr_pool_hold(ordinal, context);
    make_plans(node, ordinal, context, &what);
    if (start_ns > 0)
        log_made(name, ordinal, &what, now_ns() - start_ns);
    return 1;
}

/* ---- handles ------------------------------------------------------------------------------------------------------
 */

void tsr_handle_created(int node, void *handle, const char *name)
{
    const int ordinal = tsr_cublas_device(), holds_pool = make_ready(node, ordinal, name);
    tsr_cublas_lock();
    record *known = record_of(node, handle);
    const int held = known ? known->view.holds_pool : holds_pool; /* by one whose end nobody saw */
    const int held_on = known ? known->view.ordinal : ordinal;
    if (known) {
        known->view = (tsr_handle_view){.ordinal = ordinal, .holds_pool = holds_pool};
    }
    tsr_cublas_unlock();
    if (held)
        tsr_pool_drop(held_on);
}

void tsr_handle_destroyed(int node, void *handle)
{
    tsr_cublas_lock();
    record **at = place_of(node, handle), *gone = *at;
    if (gone)
        *at = gone->next;
    tsr_cublas_unlock();
    if (gone && gone->view.holds_pool)
        tsr_pool_drop(gone->view.ordinal);
    free(gone);
}

void tsr_handle_set_workspace(int node, void *handle, void *workspace, size_t bytes)
{
    tsr_cublas_lock();
    record *known = workspace ? record_of(node, handle) : *place_of(node, handle);
    if (known) {
        known->view.workspace = workspace;
        known->view.workspace_bytes = workspace ? bytes : 0;
    }
    tsr_cublas_unlock();
}

tsr_handle_view tsr_handle_look(int node, void *handle)
{
    tsr_cublas_lock();
    const record *known = *place_of(node, handle);
    const tsr_handle_view view = known ? known->view : (tsr_handle_view){.ordinal = -1};
    tsr_cublas_unlock();
    return view;
}
