/* Many products with the same weights: plan once, prepare the weights once, run for each batch of inputs. This is what
 * a layer of a neural network does: D = X * W, with X new at every step. */
#include <stdio.h>
#include <stdlib.h>

#include "tessera.h"

enum { BATCH = 64, INPUTS = 300, OUTPUTS = 200, STEPS = 10 };

static int fail(tsr_status status)
{
    fprintf(stderr, "%s: %s\n", tsr_status_text(status), tsr_last_error());
    return 1;
}

/* Small integers, so that every sum is exact and the last element can be checked by hand. */
static void fill(float *out, int rows, int cols, int step)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[i * cols + j] = (float)((i + 2 * j + step) % 7 - 3);
}

static float last_element(const float *x, const float *w)
{
    float sum = 0;
    for (int k = 0; k < INPUTS; k++)
        sum += x[(BATCH - 1) * INPUTS + k] * w[k * OUTPUTS + OUTPUTS - 1];
    return sum;
}

static int run_steps(tsr_plan *plan, float *x, const float *w, float *d)
{
    tsr_prepared *prepared = NULL;
    tsr_status status = tsr_prepare(plan, 'b', w, &prepared);
    if (status == TSR_UNSUPPORTED)
        printf("%s takes B as it is\n", tsr_plan_kernel(plan));
    else if (status != TSR_OK)
        return fail(status);

    int result = 0;
    for (int step = 0; step < STEPS && result == 0; step++) {
        fill(x, BATCH, INPUTS, step);
        tsr_run_args args = tsr_run_args_make(x, w, d);
        args.prepared_b = prepared; /* NULL: B is read from w */
        status = tsr_plan_run(plan, &args);
        if (status != TSR_OK)
            result = fail(status);
        else if (d[BATCH * OUTPUTS - 1] != last_element(x, w))
            result = 1;
    }
    tsr_prepared_release(prepared);
    return result;
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cpu";
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    tsr_status status = tsr_context_create(device, NULL, &context);
    if (status != TSR_OK)
        return fail(status);

    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, BATCH, OUTPUTS, INPUTS);
    status = tsr_plan_create(context, &desc, &plan);
    if (status != TSR_OK) {
        tsr_context_destroy(context);
        return fail(status);
    }

    float *x = malloc(sizeof(float) * BATCH * INPUTS);
    float *w = malloc(sizeof(float) * INPUTS * OUTPUTS);
    float *d = malloc(sizeof(float) * BATCH * OUTPUTS);
    int result = 1;
    if (x && w && d) {
        fill(w, INPUTS, OUTPUTS, 1);
        result = run_steps(plan, x, w, d);
        printf("%d steps with %s on %s: %s\n", STEPS, tsr_plan_kernel(plan), device, result ? "failed" : "correct");
    }
    free(x);
    free(w);
    free(d);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
    return result;
}
