/* A kernel that its user compiled for the emulator, in a file of its own: how that comes into the process. */
#ifndef TSR_EMU_USER_H
#define TSR_EMU_USER_H

#include "core/config.h"

/* Opens the file, which src/emu/module/user.S and the two objects of the kernel were linked to, and adds the kernel
 * under the config's instance (core/added.h). Both stay for good: `config` must. */
tsr_status tsr_emu_user_load(const char *path, const tsr_config *config);

#endif
