#include "core/added.h"

#include <stdatomic.h>

static _Atomic(const tsr_added_kernel *) added;

void tsr_add_kernel(const tsr_added_kernel *kernel)
{
    atomic_store_explicit(&added, kernel, memory_order_release);
}

const tsr_added_kernel *tsr_added(void)
{
    return atomic_load_explicit(&added, memory_order_acquire);
}
