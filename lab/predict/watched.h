/* The kernels, compiled so that what their warps do can be followed (emu/watch.h). The build makes the table; it ends
 * with an empty config, and has no other where there is no emulator. */
#ifndef LAB_WATCHED_H
#define LAB_WATCHED_H

#include "core/device_code.h"

extern const tsr_emu_code lab_watched_codes[];

#endif
