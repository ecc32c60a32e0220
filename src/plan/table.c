/* The table of kernel rows. */
#include <string.h>

#include "cpu/cpu.h"
#include "plan/pad.h"
#include "plan/plan.h"
#include "plan/sum.h"

#define HOOK(function) function
#define ROW(...)       {__VA_ARGS__},
static const tsr_row rows[] = {
#include "plan/kernels.def"
};
static const tsr_row aux_rows[] = {
#include "plan/aux.def"
};

size_t tsr_row_count(void)
{
    return sizeof rows / sizeof rows[0];
}

const tsr_row *tsr_row_at(size_t index)
{
    return index < tsr_row_count() ? &rows[index] : NULL;
}

const tsr_row *tsr_pad_row(size_t element_bytes)
{
    for (size_t i = 0; i < sizeof aux_rows / sizeof aux_rows[0]; i++)
        if (aux_rows[i].role == TSR_ROLE_PAD && tsr_dtype_bytes(aux_rows[i].dtype_ab) == element_bytes)
            return &aux_rows[i];
    return NULL;
}

const tsr_row *tsr_sum_row(tsr_dtype dtype)
{
    for (size_t i = 0; i < sizeof aux_rows / sizeof aux_rows[0]; i++)
        if (aux_rows[i].role == TSR_ROLE_SUM && aux_rows[i].dtype_cd == dtype)
            return &aux_rows[i];
    return NULL;
}

/* The name itself, without the schedule that may stand behind an "@". */
static int is_name(const char *kernel, const char *name)
{
    const size_t length = strcspn(kernel, "@");
    return strlen(name) == length && memcmp(kernel, name, length) == 0;
}

int tsr_row_is_named(const tsr_row *row, const char *kernel)
{
    return is_name(kernel, row->name) || is_name(kernel, row->instance);
}

int tsr_row_exists(const char *kernel)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (tsr_row_is_named(&rows[i], kernel))
            return 1;
    return 0;
}
