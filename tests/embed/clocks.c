/* Clocks that stand still, as under a debugger of time, or go backwards: products are right, prices are numbers, and
 * nothing divides by a time of zero, at which programs that trap that would end. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tessera.h"

enum { STANDS_STILL, GOES_BACKWARDS, KINDS };
static int kind;
static long long looks;

/* The library's clock, this program's. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *out)
{
    (void)id;
    out->tv_sec = kind == STANDS_STILL ? 5 : 1000000 - ++looks;
    out->tv_nsec = 0;
    return 0;
}

static int has_prices(tsr_context *context, const tsr_gemm_desc *desc)
{
    enum { MOST = 8 };
    tsr_candidate found[MOST];
    size_t count = 0;
    if (tsr_route(context, desc, found, sizeof found[0], MOST, &count) != TSR_OK || count == 0)
        return 0;
    return found[0].applicable && isfinite(found[0].cost_ns) && found[0].cost_ns > 0;
}

static int multiply_all(void)
{
    enum { N = 500 };
    static float a[N * N], d[N * N];
    tsr_context *context = NULL;
    for (int i = 0; i < N * N; i++)
        a[i] = 1;
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    int right = tsr_context_create("cpu", NULL, &context) == TSR_OK;
    for (int n = 2; n < N && right; n = 2 * n + 1) {
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, n, n, n);
        const tsr_run_args args = tsr_run_args_make(a, a, d);
        for (int i = 0; i < 20 && right; i++)
            right = tsr_gemm(context, &desc, &args) == TSR_OK && d[n * n - 1] == (float)n;
        right = right && has_prices(context, &desc);
    }
    tsr_context_destroy(context);
    return right;
}

int main(void)
{
    static const char *const names[KINDS] = {"a clock that stands still", "a clock that goes backwards"};
    int wrong = 0;
    setenv("TESSERA_NUM_THREADS", "2", 1);
    for (kind = 0; kind < KINDS; kind++) {
        int status = -1;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            _exit(!multiply_all());
        }
        waitpid(child, &status, 0);
        printf("%s: %s\n", names[kind], status == 0 ? "ok" : WIFSIGNALED(status) ? "ended by a signal" : "wrong");
        wrong += status != 0;
    }
    return wrong != 0;
}
