/* What prices know of a chip by measurement: fitted constants, each with unit, record and date in CHIP.def, and what
 * its maker publishes. A chip is one file of this folder: the build finds it there. */
#ifndef TSR_PLAN_PROFILES_H
#define TSR_PLAN_PROFILES_H

#include <stddef.h>

#include "core/device.h"
#include "plan/profiles/chip.h"

/* Members have the names of h200.def. */
typedef struct tsr_profile {
#define TSR_PROFILE_CHIP(...)
#define TSR_PROFILE_GROUP(group, title, record, date)
#define TSR_PROFILE_CONSTANT(name, value, unit, without) double name;
#include "plan/profiles/h200.def"
#undef TSR_PROFILE_CHIP
#undef TSR_PROFILE_GROUP
#undef TSR_PROFILE_CONSTANT
} tsr_profile;

/* Each chip that has a file, the H200 first; NULL past the last. */
const tsr_chip *tsr_chip_at(size_t index);

extern const tsr_profile *const tsr_profile_h200;

/* Of the chip with this name, as its driver gives it; the H200's where the chip has no file. */
const tsr_profile *tsr_profile_named(const char *device_name);

/* device->profile; where that is NULL, the H200's. */
static inline const tsr_profile *tsr_profile_of(const tsr_device *device)
{
    return device->profile != NULL ? device->profile : tsr_profile_h200;
}

#endif
