/* On a GPU: cuSPARSELt's products, as the lab's peer asks for them, against the library's own of the same operands.
 * Exit 77: there is no GPU or no cuSPARSELt here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "lab/common/compress.h"
#include "lab/common/operands.h"
#include "lab/peers/peer.h"

enum { M = 256, N = 384, K = 512, SKIPPED = 77 };
#define DEVICE "cuda:0"

typedef struct types_case {
    tsr_dtype ab, d;
    tsr_compute compute;
} types_case;

static const types_case cases[] = {
    {TSR_BF16, TSR_BF16, TSR_COMPUTE_DEFAULT}, {TSR_F16, TSR_F16, TSR_COMPUTE_DEFAULT},
    {TSR_F32, TSR_F32, TSR_COMPUTE_TF32},      {TSR_S8, TSR_S32, TSR_COMPUTE_DEFAULT},
    {TSR_S8, TSR_BF16, TSR_COMPUTE_DEFAULT},   {TSR_E4M3, TSR_F32, TSR_COMPUTE_DEFAULT},
    {TSR_E4M3, TSR_BF16, TSR_COMPUTE_DEFAULT}, {TSR_E5M2, TSR_BF16, TSR_COMPUTE_DEFAULT},
};

static tsr_context *context;
static void *peer;
static int failures;

/* Elements that differ by more than roundings of D and of tf32 do: by 2% and 1% of the mean magnitude. */
static int differences(tsr_dtype dtype, const void *ours, const void *theirs)
{
    double squares = 0;
    int wrong = 0;
    for (int i = 0; i < M * N; i++)
        squares += pow(tsr_load_element(dtype, ours, i), 2);
    const double mean = sqrt(squares / (M * N));
    for (int i = 0; i < M * N; i++) {
        const double x = tsr_load_element(dtype, ours, i), y = tsr_load_element(dtype, theirs, i);
        wrong += !(fabs(x - y) <= (dtype == TSR_S32 ? 0 : 0.02 * fabs(x) + 0.01 * mean));
    }
    return mean > 0 ? wrong : M * N;
}

static tsr_status run_ours(const tsr_gemm_desc *desc, const lab_operand_set *set, void *to)
{
    tsr_plan *plan = NULL;
    tsr_prepared *prepared = NULL;
    tsr_run_args args = tsr_run_args_make(set->a, set->b, set->d);
    tsr_status status = tsr_plan_create(context, desc, &plan);
    if (status == TSR_OK)
        status = lab_compress(plan, desc, &args, &prepared);
    if (status == TSR_OK && tsr_plan_workspace_bytes(plan) > 0) {
        args.workspace_bytes = tsr_plan_workspace_bytes(plan);
        status = tsr_device_alloc(context, args.workspace_bytes, &args.workspace);
    }
    if (status == TSR_OK)
        status = tsr_plan_run(plan, &args);
    if (status == TSR_OK)
        status = tsr_download(context, to, set->d, M * N * tsr_dtype_bytes(desc->d.dtype));
    if (args.workspace)
        tsr_device_free(context, args.workspace);
    tsr_prepared_release(prepared);
    tsr_plan_release(plan);
    return status;
}

static tsr_status run_theirs(void *problem, int choice, const tsr_gemm_desc *desc, const lab_operand_set *set, void *to)
{
    const tsr_run_args args = tsr_run_args_make(set->a, set->b, set->d);
    const size_t bytes = M * N * tsr_dtype_bytes(desc->d.dtype);
    memset(to, 0x7f, bytes);
    tsr_status status = tsr_upload(context, set->d, to, bytes);
    if (status == TSR_OK)
        status = lab_peer_cusparselt.run(problem, choice, &args);
    if (status == TSR_OK)
        status = tsr_synchronize(context, NULL);
    return status == TSR_OK ? tsr_download(context, to, set->d, bytes) : status;
}

static void report(const char *what, const char *verdict)
{
    printf("%-40s %s\n", what, verdict);
    fflush(stdout);
}

static void check_product(const types_case *c, char which, int trans_a, int trans_b)
{
    static char ours[M * N * 4], theirs[M * N * 4];
    tsr_gemm_desc desc = tsr_gemm_desc_make(c->ab, M, N, K);
    lab_operands operands = {0};
    void *problem = NULL;
    char what[80], text[300];
    int choices = 0;
    snprintf(what, sizeof what, "%s to %s, %c%c, %c compressed", tsr_dtype_name(c->ab), tsr_dtype_name(c->d),
             "nt"[trans_a], "nt"[trans_b], which - 'a' + 'A');
    desc.compute = c->compute;
    desc.c.dtype = desc.d.dtype = c->d;
    desc.a.trans = trans_a ? TSR_T : TSR_N;
    desc.b.trans = trans_b ? TSR_T : TSR_N;
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.flags = which == 'a' ? TSR_SPARSE24_A : TSR_SPARSE24_B;
    desc = lab_aligned_desc(&desc);
    if (lab_peer_cusparselt.prepare(peer, &desc, &problem, &choices) != TSR_OK) {
        snprintf(text, sizeof text, "left out: %s", tsr_last_error());
        report(what, text);
        return;
    }
    tsr_status status = lab_operands_create(context, &desc, 0, 1, &operands);
    int wrong = 0;
    if (status == TSR_OK)
        status = run_ours(&desc, operands.sets, ours);
    for (int choice = 0; choice < choices && status == TSR_OK; choice++) {
        status = run_theirs(problem, choice, &desc, operands.sets, theirs);
        wrong += differences(c->d, ours, theirs);
    }
    if (status != TSR_OK)
        snprintf(text, sizeof text, "FAILED: %s", tsr_last_error());
    else if (wrong)
        snprintf(text, sizeof text, "FAILED: %d elements of %d differ", wrong, choices * M * N);
    else
        snprintf(text, sizeof text, "ok, %d choice%s", choices, choices == 1 ? "" : "s");
    failures += status != TSR_OK || wrong > 0;
    report(what, text);
    lab_operands_free(&operands);
    lab_peer_cusparselt.release(problem);
}

int main(void)
{
    char version[64];
    if (tsr_context_create(DEVICE, NULL, &context) != TSR_OK) {
        printf("skipped: %s\n", tsr_last_error());
        return SKIPPED;
    }
    if (lab_peer_cusparselt.open(0, 0, &peer) != TSR_OK) {
        printf("skipped: %s\n", tsr_last_error());
        tsr_context_destroy(context);
        return SKIPPED;
    }
    lab_peer_cusparselt.version(peer, version, sizeof version);
    printf("%s\n", version);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int variant = 0; variant < 8; variant++)
            check_product(&cases[i], variant & 1 ? 'b' : 'a', variant >> 1 & 1, variant >> 2 & 1);
    lab_peer_cusparselt.close(peer);
    tsr_context_destroy(context);
    return failures > 0;
}
