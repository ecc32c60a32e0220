/* The table of kernel configs. */
#include <string.h>

#include "core/added.h"
#include "cpu/cpu.h"
#include "plan/microbench.h"
#include "plan/pad.h"
#include "plan/plan.h"
#include "plan/split_reduce.h"

#define HOOK(function) function
#define CONFIG(...)    {__VA_ARGS__},
static const tsr_config configs[] = {
#include "plan/kernels.def"
};
static const tsr_config prep_configs[] = {
#include "plan/prep.def"
};
static const tsr_config microbench_configs[] = {
#include "plan/microbench.def"
};

enum { CONFIGS = sizeof configs / sizeof configs[0] };

size_t tsr_config_count(void)
{
    return tsr_added() ? CONFIGS + 1 : CONFIGS;
}

const tsr_config *tsr_config_at(size_t index)
{
    if (index < CONFIGS)
        return &configs[index];
    const tsr_added_kernel *const added = tsr_added();
    return added && index == CONFIGS ? added->config : NULL;
}

static const tsr_config *copying_config(tsr_config_role role, tsr_dtype dtype)
{
    for (size_t i = 0; i < sizeof prep_configs / sizeof prep_configs[0]; i++)
        if (prep_configs[i].role == role && prep_configs[i].op.a & TSR_TYPE_BIT(dtype))
            return &prep_configs[i];
    return NULL;
}

const tsr_config *tsr_pad_config(tsr_dtype dtype)
{
    return copying_config(TSR_ROLE_PAD, dtype);
}

const tsr_config *tsr_transpose_config(tsr_dtype dtype)
{
    return copying_config(TSR_ROLE_TRANSPOSE, dtype);
}

const tsr_config *tsr_split_reduce_config(tsr_dtype dtype)
{
    for (size_t i = 0; i < sizeof prep_configs / sizeof prep_configs[0]; i++)
        if (prep_configs[i].role == TSR_ROLE_REDUCE && prep_configs[i].op.cd & TSR_TYPE_BIT(dtype))
            return &prep_configs[i];
    return NULL;
}

const tsr_config *tsr_microbench_config(const char *name)
{
    for (size_t i = 0; i < sizeof microbench_configs / sizeof microbench_configs[0]; i++)
        if (strcmp(microbench_configs[i].instance + strlen("microbench_"), name) == 0)
            return &microbench_configs[i];
    return NULL;
}

/* The name itself, without the schedule that may stand behind an "@". */
static int is_name(const char *kernel, const char *name)
{
    const size_t length = strcspn(kernel, "@");
    return strlen(name) == length && memcmp(kernel, name, length) == 0;
}

int tsr_config_is_named(const tsr_config *config, const char *kernel)
{
    return is_name(kernel, config->name) || is_name(kernel, config->instance);
}

int tsr_config_exists(const char *kernel)
{
    const tsr_config *config;
    for (size_t i = 0; (config = tsr_config_at(i)) != NULL; i++)
        if (tsr_config_is_named(config, kernel))
            return 1;
    return 0;
}
