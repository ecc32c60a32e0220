#include "lab/judge.h"

#include <math.h>

#include "core/dtype.h"

/* Exponent of the smallest normal number. */
static int lowest_exponent(tsr_dtype dtype)
{
    switch (dtype) {
    case TSR_F64:
        return -1022;
    case TSR_F32:
    case TSR_BF16:
        return -126;
    case TSR_E4M3:
        return -6;
    default:
        return -14; /* f16, e5m2 */
    }
}

/* Half the distance between neighbours of `value` in the dtype. */
static double half_ulp(tsr_dtype dtype, double value)
{
    const int lowest = lowest_exponent(dtype);
    const int exponent = value != 0.0 ? ilogb(value) : lowest;
    return ldexp(tsr_dtype_roundoff(dtype), exponent > lowest ? exponent : lowest);
}

static double rounded(tsr_dtype dtype, double value)
{
    uint64_t storage = 0;
    tsr_store_element(dtype, &storage, 0, value);
    return tsr_load_element(dtype, &storage, 0);
}

static int same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* NaN and infinities have no distance to measure. */
static lab_judgement judge_special(double got, double want)
{
    const lab_judgement result = {same(got, want), (double)NAN, (double)NAN, 0.0, 0.0};
    return result;
}

lab_judgement lab_judge(const lab_rule *rule, double got, const lab_reference_element *truth)
{
    const double nearest = rounded(rule->dtype, truth->value);
    if (!isfinite(truth->value) || !isfinite(nearest))
        return judge_special(got, nearest);
    lab_judgement result = {0, fabs((got - truth->value) - truth->rest), 0.0, 0.0, 0.0};
    if (rule->exact || rule->u == 0.0) {
        result.ok = got == nearest;
        result.ratio = result.ok ? 0.0 : (double)INFINITY;
        return result;
    }
    const double unit = rule->u * truth->size;
    const double half = tsr_dtype_roundoff(rule->dtype) > rule->u ? half_ulp(rule->dtype, truth->value) : 0.0;
    result.bound = rule->c * unit + half;
    result.ok = !!(result.error <= result.bound);
    result.ratio = result.error == 0.0 ? 0.0 : result.error / result.bound;
    if (isnan(result.ratio))
        result.ratio = (double)INFINITY;
    if (result.error > half)
        result.c_needed = (result.error - half) / unit;
    else if (isnan(result.error))
        result.c_needed = (double)INFINITY;
    return result;
}
