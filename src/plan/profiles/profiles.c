#include "plan/profiles/profiles.h"

#include <math.h>

const tsr_profile tsr_profile_h200 = {
#define TSR_PROFILE_GROUP(group, title, record, date)
#define TSR_PROFILE_CONSTANT(name, value, unit, without) .name = value,
#include "plan/profiles/h200.def"
#undef TSR_PROFILE_GROUP
#undef TSR_PROFILE_CONSTANT
};
