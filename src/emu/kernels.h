/* Where the emulator's kernels come from. The static library has them linked in (linked.c). The shared library leaves
 * them to a file of their own, libtessera_emu.so.0 beside it, which is opened with the first device "emu" (load.c,
 * module/). */
#ifndef TSR_EMU_KERNELS_H
#define TSR_EMU_KERNELS_H

#include "core/device_code.h"
#include "tessera.h"

typedef struct tsr_emu_kernels {
    const tsr_emu_code *codes; /* ends with a NULL instance */
    void *file;                /* NULL: linked in */
} tsr_emu_kernels;

/* Fills *out, for tsr_emu_kernels_close. TSR_NO_DEVICE if the file is missing or was built with another library. Any
 * thread may call it at any time. */
tsr_status tsr_emu_kernels_open(tsr_emu_kernels *out);
void tsr_emu_kernels_close(tsr_emu_kernels *kernels);

/* What the file has for the library, by the name tsr_emu_file. Kernels call functions of the emulator, which are the
 * library's own and stay hidden there: the file has a slot for the address of each, in the order of
 * generated/emu_calls.def, and the library fills them in. */
typedef void tsr_emu_call(void);
typedef struct tsr_emu_module {
    const char *build; /* "0.1.0 1234567890abcdef": version, and hash of all kernels; the library's must be the same */
    const tsr_emu_code *codes;
    _Atomic(tsr_emu_call *) *calls;
} tsr_emu_module;

#endif
