#include "lab/pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/counters_text.h"
#include "lab/predict.h"

int lab_pair_read(const char *line, lab_pair *out)
{
    const char *const bar = strchr(line, '|');
    *out = (lab_pair){.us = 0};
    if (sscanf(line, "%63s %" SCNd64 " %" SCNd64 " %" SCNd64 " %3s %7s %lf", out->kernel, &out->m, &out->n, &out->k,
               out->layout, out->dtype, &out->us) != 7 ||
        out->us <= 0)
        return 0;
    const int good = !bar || lab_counters_read(bar + 1, &out->counters);
    memcpy(out->counters.instance, out->kernel, sizeof out->counters.instance);
    return good;
}

tsr_gemm_desc lab_pair_desc(const lab_pair *pair)
{
    const tsr_dtype dtype = strcmp(pair->dtype, "f64") == 0    ? TSR_F64
                            : strcmp(pair->dtype, "bf16") == 0 ? TSR_BF16
                            : strcmp(pair->dtype, "f16") == 0  ? TSR_F16
                                                               : TSR_F32;
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, pair->m, pair->n, pair->k);
    desc.kernel = pair->kernel;
    desc.a.trans = pair->layout[0] == 't' ? TSR_T : TSR_N;
    desc.b.trans = pair->layout[1] == 't' ? TSR_T : TSR_N;
    return desc;
}

double lab_pair_predict(const lab_pair *pair, const lab_gpu_spec *gpu)
{
    const tsr_gemm_desc desc = lab_pair_desc(pair);
    lab_prediction prediction;
    lab_predict(&pair->counters, &desc, gpu, &prediction);
    return (prediction.ns + prediction.prepare_ns) * 1e-3;
}

int lab_pair_is_fitted(const lab_pair *pair)
{
    static const char *const of_squares[] = {
        "naive_f32",     "tiled_f32_t16",           "padded_f32",         "double_buffered_f32_s3_a4",
        "tiled_f64_t16", "warptile_f32_128x256_a4", "mma_bf16_128x128_a8"};
    const int is_square = pair->m == pair->n && pair->n == pair->k && (pair->m == 1024 || pair->m == 2048);
    for (size_t i = 0; i < sizeof of_squares / sizeof of_squares[0] && is_square; i++)
        if (strcmp(pair->kernel, of_squares[i]) == 0)
            return 1;
    /* What edges and stores cost was read off these. */
    if (strcmp(pair->kernel, "warptile_f32_16x128_a1") == 0)
        return pair->m == 400 && pair->n == 400 && pair->k == 2000;
    const int is_edge = pair->m == 8 && pair->n == 8 && pair->k == 1776;
    const int is_store = pair->m == 2840 && pair->n == 4384 && pair->k == 16;
    return strcmp(pair->kernel, "mma_bf16_128x128_a8") == 0 && (is_edge || is_store);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

lab_pair_errors lab_pair_errors_of(double *errors, size_t count)
{
    lab_pair_errors of = {.count = count};
    for (size_t i = 0; i < count; i++) {
        errors[i] = fabs(errors[i]);
        of.within_60 += errors[i] <= 0.6;
    }
    if (count == 0)
        return of;
    qsort(errors, count, sizeof *errors, compare);
    of.median = errors[(count - 1) / 2];
    of.worst = errors[count - 1];
    return of;
}
