#include "core/device_code.h"

#include <string.h>

const tsr_device_code *tsr_find_device_code(const char *instance)
{
    for (const tsr_device_code *code = tsr_device_codes; code->instance; code++)
        if (strcmp(code->instance, instance) == 0)
            return code;
    return NULL;
}

const tsr_emu_code *tsr_find_emu_code(const char *instance)
{
    for (const tsr_emu_code *code = tsr_emu_codes; code->instance; code++)
        if (strcmp(code->instance, instance) == 0)
            return code;
    return NULL;
}

const char *tsr_find_stamp(const char *instance)
{
    const tsr_device_code *code = tsr_find_device_code(instance);
    if (!code)
        return NULL;
    for (const tsr_stamp *stamp = tsr_stamps; stamp->instance; stamp++)
        if (strcmp(stamp->instance, instance) == 0 && strcmp(stamp->hash, code->hash) == 0)
            return stamp->where;
    return NULL;
}
