/* Products of ordinary numbers raise no floating-point exception but "inexact" in the caller, and none ends a program
 * that traps the others: new plans and known ones, every type and layout, small and large. */
#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera.h"

enum { SEEN = FE_ALL_EXCEPT & ~FE_INEXACT, ELEMENTS = 1 << 18 };

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_E4M3, TSR_E5M2, TSR_S8, TSR_U8};
static const int sizes[][3] = {{1, 1, 1},     {2, 2, 2},      {5, 5, 5},       {0, 3, 4},      {3, 4, 0},
                               {300, 0, 400}, {0, 0, 5},      {17, 19, 23},    {1, 500, 501},  {500, 1, 501},
                               {4, 300, 301}, {300, 4, 301},  {3, 3, 5000},    {300, 301, 3},  {64, 64, 64},
                               {300, 1, 1},   {16, 400, 600}, {150, 151, 152}, {200, 300, 400}};

/* Small whole numbers, no zeros that would hide a type's code for them. */
static void fill(tsr_dtype dtype, void *to, int count)
{
    static const uint16_t one[TSR_DTYPE_COUNT] = {
        [TSR_F16] = 0x3c00, [TSR_BF16] = 0x3f80, [TSR_E4M3] = 0x38, [TSR_E5M2] = 0x3c, [TSR_S8] = 1, [TSR_U8] = 1};
    for (int i = 0; i < count; i++) {
        if (dtype == TSR_F64)
            ((double *)to)[i] = 1 + i % 3;
        else if (dtype == TSR_F32)
            ((float *)to)[i] = (float)(1 + i % 3);
        else if (tsr_dtype_bytes(dtype) == 2)
            ((uint16_t *)to)[i] = one[dtype];
        else
            ((uint8_t *)to)[i] = (uint8_t)one[dtype];
    }
}

static tsr_gemm_desc describe(tsr_dtype dtype, const int *size, int layout)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, size[0], size[1], size[2]);
    desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    desc.b.trans = layout & 2 ? TSR_T : TSR_N;
    if (dtype == TSR_S8 || dtype == TSR_U8)
        desc.c.dtype = desc.d.dtype = TSR_S32;
    else if (tsr_dtype_bytes(dtype) == 1)
        desc.c.dtype = desc.d.dtype = TSR_F32;
    return desc;
}

/* How many products failed, or raised something. */
static int multiply_all(const char *device, int threads)
{
    static double a[ELEMENTS], b[ELEMENTS], d[ELEMENTS];
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
    tsr_context *context = NULL;
    int wrong = 0;
    feclearexcept(FE_ALL_EXCEPT);
    if (tsr_context_create(device, &options, &context) != TSR_OK || fetestexcept(SEEN))
        return 1;
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        fill(dtypes[t], a, ELEMENTS);
        fill(dtypes[t], b, ELEMENTS);
        memset(d, 0, sizeof d);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int way = 0; way < 16; way++) { /* layouts, with and without C, first and again */
                const tsr_gemm_desc desc = describe(dtypes[t], sizes[s], way & 3);
                tsr_run_args args = tsr_run_args_make(a, b, d);
                args.beta.value = way & 4 ? 1 : 0;
                feclearexcept(FE_ALL_EXCEPT);
                const tsr_status status = tsr_gemm(context, &desc, &args);
                const int raised = fetestexcept(SEEN);
                if (status == TSR_OK && !raised)
                    continue;
                wrong++;
                printf("%s %d x %d x %d, layout %d: %s%s%s\n", tsr_dtype_name(dtypes[t]), sizes[s][0], sizes[s][1],
                       sizes[s][2], way & 3, status == TSR_OK ? "" : tsr_last_error(),
                       raised & FE_DIVBYZERO ? " division by zero" : "", raised & FE_INVALID ? " invalid" : "");
                memset(d, 0, sizeof d);
            }
    }
    tsr_context_destroy(context);
    return wrong;
}

/* The same of plans for a GPU, whose configs are all priced: the emulator's. */
static int plan_all(void)
{
    tsr_context *context = NULL;
    int wrong = 0;
    if (tsr_context_create("emu", NULL, &context) != TSR_OK)
        return 0; /* not in this build */
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int layout = 0; layout < 4; layout++) {
                const tsr_gemm_desc desc = describe(dtypes[t], sizes[s], layout);
                tsr_plan *plan = NULL;
                feclearexcept(FE_ALL_EXCEPT);
                if (tsr_plan_create(context, &desc, &plan) == TSR_OK)
                    tsr_plan_release(plan);
                const int raised = fetestexcept(SEEN);
                wrong += raised != 0;
                if (raised)
                    printf("a plan of %s %d x %d x %d, layout %d: %x\n", tsr_dtype_name(dtypes[t]), sizes[s][0],
                           sizes[s][1], sizes[s][2], layout, (unsigned)raised);
            }
    tsr_context_destroy(context);
    return wrong;
}

static int one_line_calls(void)
{
    enum { N = 200 };
    static float a[N * N], c[N * N];
    fill(TSR_F32, a, N * N);
    for (int n = 1; n <= N; n += 33)
        if (tsr_sgemm(TSR_N, TSR_T, n, n, n, 1, a, N, a, N, 0, c, N) != TSR_OK || fetestexcept(SEEN))
            return 1;
    return 0;
}

int main(void)
{
    setenv("TESSERA_DEVICE", "cpu", 1);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW) == -1)
            _exit(0); /* this processor cannot */
        const int wrong = one_line_calls() + multiply_all("cpu", 2);
        fflush(NULL);
        _exit(wrong ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0)
        printf("with traps: status %x\n", (unsigned)status);
    const int raised = multiply_all("cpu", 1) + multiply_all("cpu", 2) + one_line_calls() + plan_all();
    printf("%d products or plans raised exceptions\n", raised);
    return status != 0 || raised != 0;
}
