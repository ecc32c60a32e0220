#include "lab/bench/verdict.h"

#include <math.h>
#include <string.h>

const char *lab_verdict_text(lab_verdict verdict)
{
    static const char *const texts[] = {"faster", "slower", "same", "undecided"};
    return texts[verdict];
}

lab_verdict lab_decide_speed(lab_interval speed)
{
    if (!isfinite(speed.lo) || !isfinite(speed.hi))
        return LAB_UNDECIDED;
    if (speed.lo >= 1.0 - LAB_SAME_WITHIN && speed.hi <= 1.0 + LAB_SAME_WITHIN)
        return LAB_SAME;
    return speed.lo > 1.0 ? LAB_FASTER : speed.hi < 1.0 ? LAB_SLOWER : LAB_UNDECIDED;
}

static lab_interval ratio_of(const lab_record *record)
{
    const lab_interval ratio = {record->ratio_lo, record->ratio, record->ratio_hi};
    return ratio;
}

static int has_ratio(const lab_record *record)
{
    return isfinite(record->ratio_lo) && isfinite(record->ratio_hi) && record->ratio_lo > 0.0;
}

lab_comparison lab_compare(const lab_record *old, const lab_record *new, lab_interval new_time_us, size_t rounds)
{
    lab_comparison result;
    result.by_peer = has_ratio(old) && has_ratio(new) && strcmp(old->peer, new->peer) == 0;
    if (result.by_peer) {
        result.speed = lab_interval_divide(ratio_of(new), ratio_of(old));
    } else {
        const double old_rounds = old->rounds > 0 ? (double)old->rounds : (double)rounds;
        const double reach = 1.96 * 1.2533 * old->spread / sqrt(old_rounds);
        const lab_interval old_time_us = {old->time_us * (1.0 - reach), old->time_us, old->time_us * (1.0 + reach)};
        result.speed = lab_interval_divide(old_time_us, new_time_us);
    }
    result.verdict = lab_decide_speed(result.speed);
    return result;
}
