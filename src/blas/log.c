/* One line of the call log for each call of libtessera_blas; docs/BLAS.md says what it holds. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blas/blas.h"
#include "blas/call_log.h"

const char tsr_call_log_library[] = "libtessera_blas";

/* Where the library sends this problem, or each of this batch, and what it expects of that. */
static void choice_of(const tsr_blas_call *call, tsr_candidate *best)
{
    tsr_context *context = NULL;
    size_t count = 0;
    tsr_blas_call asked = *call;
    if (!tsr_blas_is_one_call(call))
        asked.batch = 1;
    const tsr_gemm_desc desc = tsr_blas_describe(&asked);
    memset(best, 0, sizeof *best);
    if (tsr_default_context(&context) == TSR_OK && tsr_route(context, &desc, best, sizeof *best, 1, &count) == TSR_OK)
        best->cost_ns *= (double)call->batch / (double)(asked.batch > 0 ? asked.batch : 1);
}

void tsr_blas_log_call(const tsr_blas_call *call, const char *how, double ns)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    char line[600], alpha[TSR_CALL_LOG_NUMBER], beta[TSR_CALL_LOG_NUMBER];
    tsr_candidate best;
    choice_of(call, &best);
    const int length = snprintf(
        line, sizeof line,
        "tessera-call %s dtype=%s layout=%s m=%lld n=%lld k=%lld lda=%lld ldb=%lld ldc=%lld alpha=%s "
        "beta=%s batch=%lld stride_a=%lld stride_b=%lld stride_c=%lld kernel=%s device=%s limiter=%s "
        "expected_ns=%.0f ns=%.0f pid=%ld\n",
        call->name, tsr_dtype_name(call->dtype), layouts[2 * call->trans_a + call->trans_b], (long long)call->m,
        (long long)call->n, (long long)call->k, (long long)call->lda, (long long)call->ldb, (long long)call->ldc,
        tsr_call_log_number(call->alpha, alpha), tsr_call_log_number(call->beta, beta), (long long)call->batch,
        (long long)call->stride_a, (long long)call->stride_b, (long long)call->stride_c,
        *how          ? how
        : best.chosen ? best.kernel
                      : "none",
        *how || !best.chosen ? "-" : best.device, *how || !best.chosen ? "-" : best.limiter, best.cost_ns, ns,
        (long)getpid());
    tsr_call_log_line(line, length);
}

void tsr_blas_log_wrong(const char *name, int info)
{
    char line[200];
    if (tsr_call_log_is_on())
        tsr_call_log_line(line,
                          snprintf(line, sizeof line, "tessera-call %s info=%d pid=%ld\n", name, info, (long)getpid()));
}
