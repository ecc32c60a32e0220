#include "repeat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* A long K with a tail, few tiles, so that every dealer cuts K; multiples of 8 for rows that need them. */
enum { M = 72, N = 136, K = 1112, STREAMS_MAX = 8 };

typedef struct product {
    tsr_context *context;
    tsr_plan *plan;
    void *a, *b;
    size_t d_bytes, workspace_bytes;
    void *d[STREAMS_MAX], *workspace[STREAMS_MAX];
} product;

static void fail(repeat_result *out, const char *kernel, const char *what)
{
    if (out->failure[0] == '\0')
        snprintf(out->failure, sizeof out->failure, "%s: %s: %.200s", kernel, what, tsr_last_error());
}

/* Numbers of both signs whose sums are rounded, so that another order would show. */
static void *device_random(tsr_context *context, tsr_dtype dtype, size_t count, unsigned seed)
{
    const size_t bytes = count * tsr_dtype_bytes(dtype);
    char *host = malloc(bytes);
    void *device = NULL;
    for (size_t i = 0; host && i < bytes; i += tsr_dtype_bytes(dtype)) {
        seed = seed * 1664525u + 1013904223u;
        const float value = (float)((double)(int)(seed >> 8) * 0x1p-21 - 4.0);
        unsigned word;
        memcpy(&word, &value, sizeof word);
        const unsigned short half = (unsigned short)(dtype == TSR_BF16 ? word >> 16 : 0x3400u | (seed >> 12 & 0x83ffu));
        if (dtype == TSR_F32)
            memcpy(host + i, &value, sizeof value);
        else if (tsr_dtype_bytes(dtype) == 1)
            host[i] = (char)(0x30u | (seed >> 12 & 0x8fu));
        else
            memcpy(host + i, &half, sizeof half);
    }
    if (host &&
        (tsr_device_alloc(context, bytes, &device) != TSR_OK || tsr_upload(context, device, host, bytes) != TSR_OK)) {
        tsr_device_free(context, device);
        device = NULL;
    }
    free(host);
    return device;
}

static void close_product(product *p)
{
    for (int i = 0; i < STREAMS_MAX; i++) {
        tsr_device_free(p->context, p->d[i]);
        tsr_device_free(p->context, p->workspace[i]);
    }
    tsr_device_free(p->context, p->a);
    tsr_device_free(p->context, p->b);
    tsr_plan_release(p->plan);
}

static int open_product(const repeat_settings *s, const tsr_config *config, product *p)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(tsr_op_of(&config->op).a, strcmp(config->name, "thin") == 0 ? 4 : M, N, K);
    tsr_operand *const operands[4] = {&desc.a, &desc.b, &desc.c, &desc.d};
    for (int i = 0; i < 4; i++) {
        operands[i]->memory = TSR_DEVICE;
        operands[i]->align_bytes = 256;
    }
    desc.c.dtype = desc.d.dtype = tsr_op_of(&config->op).d;
    desc.compute = tsr_op_of(&config->op).compute;
    desc.kernel = config->instance;
    memset(p, 0, sizeof *p);
    p->context = s->context;
    if (tsr_plan_create(s->context, &desc, &p->plan) != TSR_OK) {
        desc.b.trans = TSR_T; /* what only some configs ask for */
        if (tsr_plan_create(s->context, &desc, &p->plan) != TSR_OK)
            return 0;
    }
    p->d_bytes = (size_t)(desc.m * desc.n) * tsr_dtype_bytes(tsr_op_of(&config->op).d);
    p->workspace_bytes = tsr_plan_workspace_bytes(p->plan);
    p->a = device_random(s->context, tsr_op_of(&config->op).a, (size_t)(desc.m * K), 1);
    p->b = device_random(s->context, tsr_op_of(&config->op).a, (size_t)K * N, 2);
    int good = p->a && p->b;
    for (int i = 0; i < s->stream_count && good; i++)
        good =
            tsr_device_alloc(s->context, p->d_bytes, &p->d[i]) == TSR_OK &&
            (p->workspace_bytes == 0 || tsr_device_alloc(s->context, p->workspace_bytes, &p->workspace[i]) == TSR_OK);
    if (!good)
        close_product(p);
    return good;
}

static tsr_status launch(const repeat_settings *s, const product *p, int i)
{
    tsr_run_args args = tsr_run_args_make(p->a, p->b, p->d[i]);
    args.stream = s->streams[i];
    args.workspace = p->workspace[i];
    args.workspace_bytes = p->workspace_bytes;
    return tsr_plan_run(p->plan, &args);
}

static int counters_are_zero(const product *p, int i)
{
    static const char zero[TSR_WORKSPACE_COUNTER_BYTES];
    char counters[TSR_WORKSPACE_COUNTER_BYTES];
    return p->workspace_bytes == 0 || (tsr_download(p->context, counters, p->workspace[i], sizeof counters) == TSR_OK &&
                                       memcmp(counters, zero, sizeof zero) == 0);
}

/* What went wrong, or NULL. */
static const char *repeat_product(const repeat_settings *s, const product *p, char *first, char *last)
{
    for (int n = 0; n < s->launches; n++) {
        if (launch(s, p, n % s->stream_count) != TSR_OK)
            return "a launch failed";
        if (n == 0 && (tsr_synchronize(p->context, s->streams[0]) != TSR_OK ||
                       tsr_download(p->context, first, p->d[0], p->d_bytes) != TSR_OK))
            return "no result";
    }
    for (int i = 0; i < s->stream_count; i++) {
        if (tsr_synchronize(p->context, s->streams[i]) != TSR_OK ||
            tsr_download(p->context, last, p->d[i], p->d_bytes) != TSR_OK)
            return "no result in the end";
        if (memcmp(first, last, p->d_bytes) != 0)
            return "other bits after many launches";
        if (!counters_are_zero(p, i))
            return "counters of the workspace are not 0";
    }
    return NULL;
}

void repeat_launches(const repeat_settings *s, repeat_result *out)
{
    const tsr_config *config;
    int candidate = 0;
    memset(out, 0, sizeof *out);
    for (size_t r = 0; (config = tsr_config_at(r)) != NULL; r++) {
        product p;
        if (!tsr_config_partitions_k(config) || candidate++ % s->step != 0 || !open_product(s, config, &p))
            continue;
        char *first = malloc(p.d_bytes), *last = malloc(p.d_bytes);
        const char *fault = first && last ? repeat_product(s, &p, first, last) : "no memory";
        if (fault)
            fail(out, config->instance, fault);
        out->kernels++;
        out->split += p.workspace_bytes > 0;
        free(first);
        free(last);
        close_product(&p);
    }
}

/* D of the library's choice for m rows, from the device; 0 after a failure. */
static int batch_product(tsr_context *context, int64_t m, void *a, void *b, void *d, char *host)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, m, N, K);
    tsr_operand *const operands[4] = {&desc.a, &desc.b, &desc.c, &desc.d};
    tsr_plan *plan = NULL;
    void *workspace = NULL;
    for (int i = 0; i < 4; i++)
        operands[i]->memory = TSR_DEVICE;
    desc.flags = TSR_BATCH_INVARIANT;
    int good = tsr_plan_create(context, &desc, &plan) == TSR_OK;
    const size_t bytes = good ? tsr_plan_workspace_bytes(plan) : 0;
    tsr_run_args args = tsr_run_args_make(a, b, d);
    good = good && (bytes == 0 || tsr_device_alloc(context, bytes, &workspace) == TSR_OK);
    args.workspace = workspace;
    args.workspace_bytes = bytes;
    good = good && tsr_plan_run(plan, &args) == TSR_OK && tsr_synchronize(context, NULL) == TSR_OK &&
           tsr_download(context, host, d, (size_t)(m * N) * 2) == TSR_OK;
    tsr_device_free(context, workspace);
    tsr_plan_release(plan);
    return good;
}

void repeat_batches(tsr_context *context, const int64_t *rows, int count, repeat_result *out)
{
    const size_t most = (size_t)rows[0], d_bytes = most * N * 2;
    void *a = device_random(context, TSR_BF16, most * K, 3), *b = device_random(context, TSR_BF16, (size_t)K * N, 4);
    void *d = NULL;
    char *expected = malloc(d_bytes), *got = malloc(d_bytes), what[64];
    memset(out, 0, sizeof *out);
    if (!a || !b || !expected || !got || tsr_device_alloc(context, d_bytes, &d) != TSR_OK ||
        !batch_product(context, rows[0], a, b, d, expected))
        fail(out, "batch invariance", "the largest product failed");
    for (int i = 1; i < count && out->failure[0] == '\0'; i++, out->kernels++) {
        snprintf(what, sizeof what, "M = %lld", (long long)rows[i]);
        if (!batch_product(context, rows[i], a, b, d, got) || memcmp(got, expected, (size_t)rows[i] * N * 2) != 0)
            fail(out, "batch invariance", what);
    }
    free(expected);
    free(got);
    tsr_device_free(context, a);
    tsr_device_free(context, b);
    tsr_device_free(context, d);
}
