/* One kernel that the table of configs lacks: its user compiled it at run time, for the emulator (`tessera try`). It is
 * looked up as those of the table are, behind them. */
#ifndef TSR_CORE_ADDED_H
#define TSR_CORE_ADDED_H

#include "core/config.h"
#include "core/device_code.h"

typedef struct tsr_added_kernel {
    const tsr_config *config;
    tsr_emu_code emulated, watched; /* for emu/kernels.h and emu/watch.h */
} tsr_added_kernel;

/* From now on the process has the kernel, which must live as long. Called once at most, before anything else asks for
 * kernels. The library never calls it. */
void tsr_add_kernel(const tsr_added_kernel *kernel);
const tsr_added_kernel *tsr_added(void); /* NULL: none */

#endif
