/* For test_gpu.py: a driver that only pretends (fake_cuda.c), whose launches multiply on the CPU where the test says
 * so, and what the last launch was told. */
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int fake_gpu_start(int runs_kernels);
EXPORT void *fake_gpu_stream(void);
EXPORT const void *fake_gpu_workspace(void);
EXPORT long long fake_gpu_number(const char *what);

static fake_cuda_access fake;

static float factor(const tsr_gemm_args *g, long long i, long long j)
{
    const float *c = g->c;
    return g->beta != 0 ? (float)g->beta * c[i * g->ldc + j] : 0.0f;
}

/* D = alpha op(A) op(B) + beta C of f32 as launches describe it, whatever the kernel. */
static void multiply(const tsr_gemm_args *args)
{
    for (long long problem = 0; problem < args->batch; problem++) {
        tsr_gemm_args g = *args;
        g.a = (const float *)args->a + problem * args->batch_a;
        g.b = (const float *)args->b + problem * args->batch_b;
        g.c = args->c ? (const float *)args->c + problem * args->batch_c : NULL;
        g.d = (float *)args->d + problem * args->batch_d;
        for (long long i = 0; i < g.m; i++)
            for (long long j = 0; j < g.n; j++) {
                const float *a = g.a, *b = g.b;
                float sum = 0;
                for (long long p = 0; p < g.k; p++)
                    sum += a[g.trans_a ? p * g.lda + i : i * g.lda + p] * b[g.trans_b ? j * g.ldb + p : p * g.ldb + j];
                ((float *)g.d)[i * g.ldd + j] = (float)g.alpha * sum + factor(&g, i, j);
            }
    }
}

int fake_gpu_start(int runs_kernels)
{
    fake = fake_cuda_find();
    fake.state->any_function = 1;
    fake.state->kernel = runs_kernels ? multiply : NULL;
    return fake.state->device_count;
}

void *fake_gpu_stream(void)
{
    return fake.state->launch.stream;
}

const void *fake_gpu_workspace(void)
{
    return fake.state->launch.args.workspace;
}

long long fake_gpu_number(const char *what)
{
    return strcmp(what, "launches") == 0       ? fake.state->launches
           : strcmp(what, "allocations") == 0  ? fake.state->allocations
           : strcmp(what, "synchronizes") == 0 ? fake.state->synchronizes
           : strcmp(what, "errors") == 0       ? fake.state->context_errors
                                               : -1;
}
