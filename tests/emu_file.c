/* emu_file: opens the emulator through the shared library and multiplies on it. Prints "ok" or the error; exit 0, or
 * the status. tests/emu_file.sh runs it beside a whole, a missing and a foreign file of kernels. */
#include <stdio.h>

#include "tessera.h"

static tsr_status multiply(tsr_context *context)
{
    enum { N = 17 };
    static float a[N * N], b[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 5 - 2);
        b[i] = (float)(i % 7 - 3);
    }
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
    const tsr_run_args args = tsr_run_args_make(a, b, c);
    const tsr_status status = tsr_gemm(context, &desc, &args);
    if (status != TSR_OK)
        return status;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            if (c[i * N + j] != sum) {
                printf("wrong at %d, %d\n", i, j);
                return TSR_INTERNAL;
            }
        }
    return TSR_OK;
}

int main(void)
{
    /* Twice: the file may be opened again. */
    for (int round = 0; round < 2; round++) {
        tsr_context *context = NULL;
        tsr_status status = tsr_context_create("emu", NULL, &context);
        if (status == TSR_OK)
            status = multiply(context);
        if (status != TSR_OK) {
            printf("%s: %s\n", tsr_status_text(status), tsr_last_error());
            return (int)status;
        }
        tsr_context_destroy(context);
    }
    puts("ok");
    return 0;
}
