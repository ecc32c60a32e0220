/* One line of the call log for each call; docs/CUBLAS.md says what it holds. */
#include <stdio.h>
#include <unistd.h>

#include "blas/call_log.h"
#include "cublas/cublas.h"

static const char *const why_texts[] = {
#define TSR_WHY_TEXT(name, text) text,
    TSR_WHY_MAP(TSR_WHY_TEXT)
#undef TSR_WHY_TEXT
};

/* "bf16"; "bf16-f32" where D has another type; "e4m3-e5m2-bf16" where B has, too. */
static void name_types(const tsr_cublas_call *call, char out[32])
{
    const int is_mixed = call->dtype_a != call->dtype_b, is_same = !is_mixed && call->dtype_b == call->dtype_cd;
    if (call->compute == TSR_COMPUTE_TF32)
        snprintf(out, 32, "tf32");
    else
        snprintf(out, 32, "%s%s%s%s%s", tsr_dtype_name(call->dtype_a), is_mixed ? "-" : "",
                 is_mixed ? tsr_dtype_name(call->dtype_b) : "", is_same ? "" : "-",
                 is_same ? "" : tsr_dtype_name(call->dtype_cd));
}

static int print_call(const tsr_cublas_call *call, char *out, size_t bytes)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    char types[32];
    int a, b, d;
    if (call->dtype_a == TSR_DTYPE_NONE) /* nothing is known of it */
        return snprintf(out, bytes, "tessera-cublas %s", call->name);
    name_types(call, types);
    tsr_cublas_aligns(call, &a, &b, &d);
    return snprintf(out, bytes,
                    "tessera-cublas %s types=%s layout=%s align=%d,%d,%d m=%lld n=%lld k=%lld lda=%lld ldb=%lld "
                    "ldc=%lld batch=%lld "
                    "stride_a=%lld stride_b=%lld stride_c=%lld",
                    call->name, types, layouts[2 * (call->trans_a != 0) + (call->trans_b != 0)], a, b, d,
                    (long long)call->m, (long long)call->n, (long long)call->k, (long long)call->lda,
                    (long long)call->ldb, (long long)call->ldd, (long long)call->batch, (long long)call->stride_a,
                    (long long)call->stride_b, (long long)call->stride_d);
}

/* Of a plain product nothing. */
static int print_epilogue(const tsr_cublas_call *call, char *out, size_t bytes)
{
    return call->lt_epilogue > TSR_LT_EPILOGUE_DEFAULT ? snprintf(out, bytes, " epilogue=%d", call->lt_epilogue) : 0;
}

/* By cublasLt's numbers; nothing where each operand has one scale or none. */
static int print_scales(const tsr_cublas_call *call, char *out, size_t bytes)
{
    static const int numbers[TSR_SCALE_MODE_COUNT] = {TSR_LT_SCALE_SCALAR, TSR_LT_SCALE_OUTER_VEC, TSR_LT_SCALE_VEC128,
                                                      TSR_LT_SCALE_BLK128X128};
    const int a = numbers[call->scale_mode_a], b = numbers[call->scale_mode_b];
    return a || b ? snprintf(out, bytes, " scales=%d,%d", a, b) : 0;
}

void tsr_cublas_log(const tsr_cublas_visit *visit, double ns)
{
    char line[700];
    int used = print_call(&visit->call, line, sizeof line);
    used += print_epilogue(&visit->call, line + used, sizeof line - (size_t)used);
    used += print_scales(&visit->call, line + used, sizeof line - (size_t)used);
    const int rest =
        snprintf(line + used, sizeof line - (size_t)used, " by=%s why=%s host_ns=%.0f pid=%ld\n",
                 visit->call.kernel ? visit->call.kernel : "cublas", why_texts[visit->why], ns, (long)getpid());
    tsr_call_log_line(line, used + rest);
}
