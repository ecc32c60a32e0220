/* Prints one line for each CUDA config of the kernel table: "instance;source;defines;arch;tma", where arch is the
 * lowest that the config runs on, with an "a" if it is the only one and "_90" if the source has something for 9.0 and
 * later ones that earlier ones lack (ptx/grid.h), and tma is 1 if the kernel takes tensor maps, 2 if scaling too. CMake
 * compiles and runs this when it configures, so that a new config needs no edit of the build. */
#include <stdio.h>

#include "core/config.h"

#define HOOK(function) NULL
#define CONFIG(...)    {__VA_ARGS__},
static const tsr_config configs[] = {
#include "plan/kernels.def"
#include "plan/microbench.def"
#include "plan/prep.def"
};

int main(void)
{
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
        if (configs[i].kind == TSR_CONFIG_CUDA)
            printf("%s;%s;%s;%d%s;%d\n", configs[i].instance, configs[i].source, configs[i].defines,
                   configs[i].min_arch,
                   configs[i].exact_arch                                 ? "a"
                   : configs[i].starts_early && configs[i].min_arch < 90 ? "_90"
                                                                         : "",
                   configs[i].scaled ? 2 : configs[i].tma);
    return 0;
}
