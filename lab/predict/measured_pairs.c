#include "lab/predict/measured_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "lab/predict/counters_text.h"

int lab_pair_read(const char *line, lab_pair *out)
{
    const char *const bar = strchr(line, '|');
    *out = (lab_pair){.us = 0};
    if (sscanf(line, "%63s %" SCNd64 " %" SCNd64 " %" SCNd64 " %3s %7s %lf", out->kernel, &out->m, &out->n, &out->k,
               out->layout, out->dtype, &out->us) != 7 ||
        out->us <= 0 || tsr_dtype_named(out->dtype) == TSR_DTYPE_NONE)
        return 0;
    const int good = !bar || lab_counters_read(bar + 1, &out->counters);
    memcpy(out->counters.instance, out->kernel, sizeof out->counters.instance);
    return good;
}

tsr_gemm_desc lab_pair_desc(const lab_pair *pair)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(tsr_dtype_named(pair->dtype), pair->m, pair->n, pair->k);
    desc.kernel = pair->kernel;
    desc.a.trans = pair->layout[0] == 't' ? TSR_T : TSR_N;
    desc.b.trans = pair->layout[1] == 't' ? TSR_T : TSR_N;
    return desc;
}

double lab_pair_predict_by(const lab_pair *pair, const lab_gpu_spec *gpu, const lab_time_constants *constants)
{
    const tsr_gemm_desc desc = lab_pair_desc(pair);
    lab_prediction prediction;
    lab_predict_by(constants, &pair->counters, &desc, gpu, &prediction);
    return (prediction.ns + prediction.prepare_ns) * 1e-3;
}

double lab_pair_predict(const lab_pair *pair, const lab_gpu_spec *gpu)
{
    return lab_pair_predict_by(pair, gpu, &lab_time);
}

int lab_pair_is_fitted(const lab_pair *pair)
{
    enum { EVERY = 4 };
    char shape[80];
    uint64_t hash = 0xCBF29CE484222325ull;
    snprintf(shape, sizeof shape, "%" PRId64 " %" PRId64 " %" PRId64, pair->m, pair->n, pair->k);
    for (const char *at = shape; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001B3ull;
    return (hash ^ hash >> 32) % EVERY == 0;
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
        of.within_10 += errors[i] <= 0.1;
        of.within_35 += errors[i] <= 0.35;
    }
    if (count == 0)
        return of;
    qsort(errors, count, sizeof *errors, compare);
    of.median = errors[(count - 1) / 2];
    of.worst = errors[count - 1];
    return of;
}
