/* A program that uses every struct of the interface, compiled against TESSERA_HEADER: version 0.1's header, committed
 * beside this file, or today's. Both run on today's library. Each struct ends where its page ends, and the next page
 * cannot be touched: a library that believed in a later version's members would not get away with it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include TESSERA_HEADER

#include "layout.h"

static int failures;

static void check(int ok, const char *what)
{
    if (ok)
        return;
    printf("failed: %s; last error: %s\n", what, tsr_last_error());
    failures++;
}

#define CHECK(condition) check(condition, #condition)

/* `bytes` bytes that end where readable memory ends, a copy of `from` if that is not NULL. */
static void *at_the_end(const void *from, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t all = (bytes + page - 1) / page * page;
    char *pages = mmap(NULL, all + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + all, page, PROT_NONE) != 0)
        abort();
    if (from)
        memcpy(pages + all - bytes, from, bytes);
    return pages + all - bytes;
}

enum { SIZE = 3, LARGE = 90 };

static void products(tsr_context *context)
{
    static float a[LARGE * LARGE], b[LARGE * LARGE], d[LARGE * LARGE];
    const int sizes[] = {SIZE, LARGE}; /* one that takes the short way, one that takes a plan */
    for (int i = 0; i < LARGE * LARGE; i++) {
        a[i] = 1;
        b[i] = 2;
    }
    for (int i = 0; i < 2; i++) {
        const int n = sizes[i];
        tsr_gemm_desc made = tsr_gemm_desc_make(TSR_F32, n, n, n);
        tsr_run_args run = tsr_run_args_make(a, b, d);
        const tsr_gemm_desc *desc = at_the_end(&made, sizeof made);
        const tsr_run_args *args = at_the_end(&run, sizeof run);
        tsr_plan *plan = NULL;
        memset(d, 0, sizeof d);
        CHECK(tsr_gemm(context, desc, args) == TSR_OK && d[0] == 2.0f * (float)n && d[n * n - 1] == 2.0f * (float)n);
        memset(d, 0, sizeof d);
        CHECK(tsr_plan_create(context, desc, &plan) == TSR_OK);
        CHECK(tsr_plan_run(plan, args) == TSR_OK && d[n * n - 1] == 2.0f * (float)n);
        tsr_plan_release(plan);
    }
}

/* A in three problems; B is one matrix for all: by a stride of 0, and, since that has a name, by its name alone. */
static void batches(tsr_context *context)
{
    const float a[] = {1, 2, 3}, b[] = {10};
    float d[3] = {0};
    tsr_gemm_desc made = tsr_gemm_desc_make(TSR_F32, 1, 1, 1);
    made.batch_count = 3;
    made.a.batch_stride = made.c.batch_stride = made.d.batch_stride = 1;
    const tsr_run_args args = tsr_run_args_make(a, b, d);
#ifdef TSR_BROADCAST_B
    CHECK(tsr_gemm(context, &made, &args) == TSR_INVALID_ARGUMENT);
    CHECK(strstr(tsr_last_error(), "B.batch_stride = 0") && strstr(tsr_last_error(), "TSR_BROADCAST_B"));
    made.broadcast = TSR_BROADCAST_B;
#endif
    CHECK(tsr_gemm(context, at_the_end(&made, sizeof made), at_the_end(&args, sizeof args)) == TSR_OK);
    CHECK(d[0] == 10 && d[1] == 20 && d[2] == 30);
}

static void prepared(tsr_context *context)
{
    static float a[LARGE * LARGE], b[LARGE * LARGE], d[LARGE * LARGE];
    const tsr_gemm_desc made = tsr_gemm_desc_make(TSR_F32, LARGE, LARGE, LARGE);
    tsr_run_args args = tsr_run_args_make(a, NULL, d);
    tsr_plan *plan = NULL;
    tsr_prepared *packed = NULL;
    for (int i = 0; i < LARGE * LARGE; i++) {
        a[i] = 3;
        b[i] = 1;
    }
    CHECK(tsr_plan_create(context, at_the_end(&made, sizeof made), &plan) == TSR_OK);
    CHECK(tsr_prepare(plan, 'b', b, &packed) == TSR_OK);
    args.prepared_b = packed;
    CHECK(tsr_plan_run(plan, at_the_end(&args, sizeof args)) == TSR_OK && d[0] == 3.0f * LARGE);
    tsr_prepared_release(packed);
    tsr_plan_release(plan);
}

static void answers(tsr_context *context)
{
    const tsr_gemm_desc made = tsr_gemm_desc_make(TSR_F32, 64, 64, 64);
    size_t count = 0;
    tsr_candidate *both = at_the_end(NULL, 2 * sizeof *both);
    memset(both, 0xff, 2 * sizeof *both);
    CHECK(tsr_route(context, at_the_end(&made, sizeof made), both, sizeof *both, 2, &count) == TSR_OK && count >= 2);
    CHECK(both[0].chosen == 1 && both[1].chosen == 0 && strcmp(both[0].device, "cpu") == 0 && both[1].kernel &&
          both[0].cost_ns > 0 && both[0].limiter[0] != '\0');
    tsr_kernel_info empty = {.struct_bytes = sizeof empty};
    tsr_kernel_info *info = at_the_end(&empty, sizeof empty);
    CHECK(tsr_kernel(0, info) == TSR_OK && info->struct_bytes == sizeof *info && info->name && info->instance &&
          info->hardware);
}

int main(void)
{
    tsr_context_options made = {.struct_bytes = sizeof made, .threads = 2};
    tsr_context *context = NULL;
    CHECK(tsr_context_create("cpu", at_the_end(&made, sizeof made), &context) == TSR_OK);
    if (!context)
        return 1;
    products(context);
    batches(context);
    prepared(context);
    answers(context);
    tsr_context_destroy(context);
    float one[] = {1, 2, 3, 4}, c[4];
    CHECK(tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1.0f, one, 2, one, 2, 0.0f, c, 2) == TSR_OK && c[0] == 7 && c[3] == 22);
    return failures != 0;
}
