/* What a call takes of its thread's stack: include/tessera.h promises that 48 KiB are enough on a CPU, in the first
 * call of a process as in all others. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera.h"

enum { PROMISED = 48 << 10, STACK_BYTES = 256 << 10, PAINT = 0x5a, ELEMENTS = 1 << 18 };

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_E4M3, TSR_S8};
static const int sizes[][3] = {{1, 1, 1},      {5, 5, 5},      {1, 500, 501},   {500, 1, 501},   {3, 3, 5000},
                               {4, 300, 301},  {300, 4, 301},  {12, 400, 500},  {400, 7, 500},   {40, 500, 300},
                               {60, 61, 500},  {64, 64, 64},   {300, 301, 3},   {300, 1, 1},     {90, 47, 250},
                               {100, 40, 384}, {16, 400, 600}, {150, 151, 152}, {300, 300, 300}, {2, 5000, 20}};

static double a[ELEMENTS], b[ELEMENTS], d[ELEMENTS];

static void *first_call(void *wrong)
{
    const float x[] = {1, 2, 3, 4};
    float y[4] = {0};
    *(int *)wrong = tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1, x, 2, x, 2, 0, y, 2) != TSR_OK || y[3] != 22;
    return NULL;
}

/* Messages take stack as well. */
static void *refused_call(void *wrong)
{
    const float x[] = {1, 2, 3, 4};
    float y[4] = {0};
    *(int *)wrong = tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1, x, 1, x, 2, 0, y, 2) != TSR_INVALID_ARGUMENT;
    return NULL;
}

static tsr_gemm_desc describe(tsr_dtype dtype, const int *size, int layout)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, size[0], size[1], size[2]);
    desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    desc.b.trans = layout & 2 ? TSR_T : TSR_N;
    if (tsr_dtype_bytes(dtype) == 1)
        desc.c.dtype = desc.d.dtype = dtype == TSR_S8 ? TSR_S32 : TSR_F32;
    return desc;
}

static int multiply(tsr_context *context, const tsr_gemm_desc *desc)
{
    tsr_run_args args = tsr_run_args_make(a, b, d);
    int wrong = 0;
    for (int beta = 0; beta < 2; beta++) {
        args.beta.value = beta;
        wrong += tsr_gemm(context, desc, &args) != TSR_OK;
    }
    return wrong;
}

static int multiply_prepared(tsr_context *context, const tsr_gemm_desc *desc)
{
    tsr_plan *plan = NULL;
    tsr_prepared *prepared = NULL;
    tsr_run_args args = tsr_run_args_make(a, NULL, d);
    if (tsr_plan_create(context, desc, &plan) != TSR_OK)
        return 1;
    int wrong = 0;
    if (tsr_prepare(plan, 'b', b, &prepared) == TSR_OK) { /* not every kernel has a form for it */
        args.prepared_b = prepared;
        wrong = tsr_plan_run(plan, &args) != TSR_OK;
        tsr_prepared_release(prepared);
    }
    tsr_plan_release(plan);
    return wrong;
}

/* Everything with new plans, in `threads` threads. */
static int multiply_all(int threads)
{
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
    tsr_context *context = NULL;
    tsr_candidate best;
    size_t count;
    int wrong = 0;
    if (tsr_context_create("cpu", &options, &context) != TSR_OK)
        return 1;
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int layout = 0; layout < 4; layout++) {
                tsr_gemm_desc desc = describe(dtypes[t], sizes[s], layout);
                wrong += multiply(context, &desc) + multiply_prepared(context, &desc) +
                         (tsr_route(context, &desc, &best, sizeof best, 1, &count) != TSR_OK);
                desc.flags = TSR_BATCH_INVARIANT;
                if (tsr_gemm(context, &desc, &(tsr_run_args){0}) == TSR_OK)
                    wrong++;
                const tsr_run_args args = tsr_run_args_make(a, b, d);
                (void)tsr_gemm(context, &desc, &args); /* not for every type */
                desc.flags = 0;
                desc.kernel = "cpu-sequential";
                if (sizes[s][0] <= 64)
                    wrong += tsr_gemm(context, &desc, &args) != TSR_OK;
            }
    tsr_context_destroy(context);
    return wrong;
}

static void *all_alone(void *wrong)
{
    *(int *)wrong = multiply_all(1);
    return NULL;
}

static void *all_together(void *wrong)
{
    *(int *)wrong = multiply_all(2);
    return NULL;
}

/* Bytes of stack that a thread has written, but for what starts it. */
static void *nothing(void *unused)
{
    return unused;
}

static long used_by(void *(*run)(void *), int *wrong)
{
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned char *const stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    memset(stack, PAINT, STACK_BYTES);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, run, wrong) != 0 || pthread_join(thread, NULL) != 0)
        return -1;
    long untouched = 0;
    while (untouched < STACK_BYTES && stack[untouched] == PAINT)
        untouched++;
    munmap(stack, STACK_BYTES);
    pthread_attr_destroy(&attributes);
    return STACK_BYTES - untouched;
}

int main(void)
{
    static const struct {
        const char *name;
        void *(*run)(void *);
    } parts[] = {{"the first call", first_call},
                 {"a call that is refused", refused_call},
                 {"one thread", all_alone},
                 {"two threads", all_together}};
    int failed = 0, ignored = 0;
    setenv("TESSERA_DEVICE", "cpu", 1);
    const long start = used_by(nothing, &ignored);
    printf("a thread itself: %ld\n", start);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int wrong = 1;
        const long bytes = used_by(parts[i].run, &wrong) - start;
        printf("%s: %ld bytes of stack, %d wrong\n", parts[i].name, bytes, wrong);
        failed += wrong != 0 || bytes > PROMISED;
    }
    return failed != 0;
}
