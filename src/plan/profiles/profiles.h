/* What prices know of a chip by measurement: fitted constants, each with unit, record and date in CHIP.def. */
#ifndef TSR_PLAN_PROFILES_H
#define TSR_PLAN_PROFILES_H

#include "core/device.h"

/* Members have the names of h200.def. */
typedef struct tsr_profile {
#define TSR_PROFILE_GROUP(group, title, record, date)
#define TSR_PROFILE_CONSTANT(name, value, unit, without) double name;
#include "plan/profiles/h200.def"
#undef TSR_PROFILE_GROUP
#undef TSR_PROFILE_CONSTANT
} tsr_profile;

extern const tsr_profile tsr_profile_h200, tsr_profile_h100;

/* Of the chip with this name, as its driver gives it; the H200's where the chip has not been measured. */
const tsr_profile *tsr_profile_named(const char *device_name);

/* device->profile; where that is NULL, the H200's. */
static inline const tsr_profile *tsr_profile_of(const tsr_device *device)
{
    return device->profile != NULL ? device->profile : &tsr_profile_h200;
}

#endif
