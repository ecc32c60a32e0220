#include "lab/verify/check_element.h"

#include <float.h>
#include <math.h>

#include "core/dtype.h"

double lab_rule_roundoff(tsr_compute compute, tsr_dtype dtype)
{
    const int rounds = compute == TSR_COMPUTE_S32 && !tsr_dtype_is_integer(dtype);
    return tsr_compute_roundoff(rounds ? TSR_COMPUTE_F32 : compute);
}

double lab_rule_least(tsr_compute compute, double roundings)
{
    return 0.5 * roundings * (compute == TSR_COMPUTE_F64 ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN);
}

/* Half the distance between neighbours of `value` in the dtype. */
static double half_ulp(tsr_dtype dtype, double value)
{
    const int lowest = tsr_dtype_lowest_exponent(dtype);
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
static lab_check check_special(double got, double want)
{
    const lab_check result = {same(got, want), (double)NAN, (double)NAN, 0.0, 0.0};
    return result;
}

/* At the end of the dtype's range, what the sum was off by decides between its last number and infinity. */
static int is_beyond_by_error(const lab_rule *rule, double got, const lab_reference_element *truth)
{
    const double off = rule->exact ? 0.0 : rule->c * rule->u * truth->size + rule->least + truth->truncated,
                 most = fabs(truth->value);
    if (!isfinite(truth->value) || !isfinite(off) || signbit(got) != signbit(truth->value))
        return 0;
    return isinf(got) ? isinf(rounded(rule->dtype, most + off)) : fabs(got) >= rounded(rule->dtype, most - off);
}

/* The truth where numbers go on beyond the range as its end. */
static lab_reference_element within_range(tsr_dtype dtype, const lab_reference_element *truth)
{
    const double largest = tsr_dtype_largest_fp8(dtype);
    lab_reference_element within = *truth;
    if (fabs(truth->value) > largest) {
        within.value = copysign(largest, truth->value);
        within.rest = 0.0;
        if (!isfinite(within.size))
            within.size = largest;
    }
    return within;
}

static int clamps_range(const lab_rule *rule)
{
    return rule->saturates && tsr_dtype_is_fp8(rule->dtype);
}

/* As an element of D. */
static double stored(const lab_rule *rule, double value)
{
    const double largest = clamps_range(rule) ? tsr_dtype_largest_fp8(rule->dtype) : (double)INFINITY;
    return rounded(rule->dtype, fabs(value) > largest ? copysign(largest, value) : value);
}

int lab_is_overflow(const lab_rule *rule, double largest, double got, const lab_reference_element *truth)
{
    const double reach = 1.0 + rule->c * rule->u; /* roundings may have added to it */
    const int goes_up = truth->up * reach > largest, goes_down = truth->down * reach > largest;
    if (!isfinite(truth->size))
        return 0;
    return (goes_up && same(got, stored(rule, truth->of_up))) ||
           (goes_down && same(got, stored(rule, truth->of_down))) || (goes_up && goes_down && isnan(got));
}

lab_check lab_check_element(const lab_rule *rule, double got, const lab_reference_element *given)
{
    const int clamps = clamps_range(rule);
    const lab_reference_element within = clamps ? within_range(rule->dtype, given) : *given;
    const lab_reference_element *const truth = &within;
    const double nearest = rounded(rule->dtype, truth->value);
    if (!isnan(got) && isfinite(got) != isfinite(nearest) && is_beyond_by_error(rule, got, truth))
        return check_special(nearest, nearest);
    if (!isfinite(truth->value) || !isfinite(nearest))
        return check_special(got, nearest);
    lab_check result = {0, fabs((got - truth->value) - truth->rest), 0.0, 0.0, 0.0};
    if (rule->exact || rule->u == 0.0) {
        result.ok = got == nearest;
        result.ratio = result.ok ? 0.0 : (double)INFINITY;
        return result;
    }
    const double unit = rule->u * truth->size;
    const double half = tsr_dtype_roundoff(rule->dtype) > rule->u ? half_ulp(rule->dtype, truth->value) : 0.0;
    result.bound = rule->c * unit + rule->least + truth->truncated + half;
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
