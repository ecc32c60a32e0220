#include "plan/profiles/profiles.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define TSR_PROFILE_GROUP(group, title, record, date)
#define TSR_PROFILE_CONSTANT(name, value, unit, without) .name = value,

const tsr_profile tsr_profile_h200 = {
#include "plan/profiles/h200.def"
};

/* A chip's own constants come last, and count. */
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
const tsr_profile tsr_profile_h100 = {
#include "plan/profiles/h200.def" /* NOLINT(readability-duplicate-include) */

#include "plan/profiles/h100.def"
};
#pragma GCC diagnostic pop

const tsr_profile *tsr_profile_named(const char *device_name)
{
    static const struct {
        const char *name; /* how the driver's begins; H100s on other boards than SXM were not measured */
        const tsr_profile *profile;
    } chips[] = {{"NVIDIA H100", &tsr_profile_h100}};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (strncmp(device_name, chips[i].name, strlen(chips[i].name)) == 0)
            return chips[i].profile;
    return &tsr_profile_h200;
}
