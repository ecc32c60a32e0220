/* Prints one line for each CUDA row of the kernel table: "instance;source;defines;arch;tma", where arch is the lowest
 * that the row runs on, with an "a" if it is the only one and "_90" if the source has something for 9.0 and later ones
 * that earlier ones lack (ptx/grid.h), and tma is 1 if the kernel takes tensor maps. CMake compiles and runs this when
 * it configures, so that a new row needs no edit of the build. */
#include <stdio.h>

#include "core/row.h"

#define HOOK(function) NULL
#define ROW(...)       {__VA_ARGS__},
static const tsr_row rows[] = {
#include "plan/aux.def"
#include "plan/kernels.def"
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].kind == TSR_ROW_CUDA)
            printf("%s;%s;%s;%d%s;%d\n", rows[i].instance, rows[i].source, rows[i].defines, rows[i].min_arch,
                   rows[i].exact_arch                              ? "a"
                   : rows[i].starts_early && rows[i].min_arch < 90 ? "_90"
                                                                   : "",
                   rows[i].tma);
    return 0;
}
