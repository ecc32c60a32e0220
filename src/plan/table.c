/* The table of kernel rows. */
#include <string.h>

#include "cpu/cpu.h"
#include "plan/plan.h"

#define HOOK(function) function
#define ROW(...)       {__VA_ARGS__},
static const tsr_row rows[] = {
#include "plan/kernels.def"
};

size_t tsr_row_count(void)
{
    return sizeof rows / sizeof rows[0];
}

const tsr_row *tsr_row_at(size_t index)
{
    return index < tsr_row_count() ? &rows[index] : NULL;
}

int tsr_row_exists(const char *kernel)
{
    for (size_t i = 0; i < tsr_row_count(); i++)
        if (strcmp(rows[i].name, kernel) == 0 || strcmp(rows[i].instance, kernel) == 0)
            return 1;
    return 0;
}
