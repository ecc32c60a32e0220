#include "plan/profiles/profiles.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The H200's constants come first in each chip's list; its own come last, and count. chips.def, which CMakeLists.txt
 * makes, includes the files of this folder. */
#define TSR_CHIP_BEGIN        {
#define TSR_PROFILE_CHIP(...) .chip = {__VA_ARGS__},
#define TSR_PROFILE_GROUP(group, title, record, date)
#define TSR_PROFILE_CONSTANT(name, value, unit, without) .profile.name = value,
#define TSR_CHIP_END \
    }                \
    ,

#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
static const struct {
    tsr_chip chip;
    tsr_profile profile;
} chips[] = {
#include "chips.def"
};
#pragma GCC diagnostic pop

const tsr_profile *const tsr_profile_h200 = &chips[0].profile;

const tsr_chip *tsr_chip_at(size_t index)
{
    return index < sizeof chips / sizeof *chips ? &chips[index].chip : NULL;
}

/* How many characters of a name `with` is the beginning of; 0: none. By whole words: "NVIDIA A40" is not how "NVIDIA
 * A4000" begins. */
static size_t begins(const char *name, const char *with)
{
    const size_t length = strlen(with);
    return strncmp(name, with, length) == 0 && !isalnum((unsigned char)name[length]) ? length : 0;
}

const tsr_profile *tsr_profile_named(const char *device_name)
{
    const tsr_profile *found = tsr_profile_h200;
    size_t most = 0;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        const tsr_chip *const chip = &chips[i].chip;
        const char *const driver_name = chip->driver_name != NULL ? chip->driver_name : chip->name;
        const size_t length = begins(device_name, chip->priced_name != NULL ? chip->priced_name : driver_name);
        if (length > most) {
            most = length;
            found = &chips[i].profile;
        }
    }
    return found;
}
