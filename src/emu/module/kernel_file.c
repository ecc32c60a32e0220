/* libtessera_emu.so.0: the emulator's kernels for the shared library. Beside the kernels it has their table, and a way
 * from each function that they call to the library (calls.S). */
#include "emu/kernels.h"
#include "emu_build.h"

enum {
#define X(name) INDEX_##name,
#include "emu_calls.def"
#undef X
    CALLS
};

extern _Atomic(tsr_emu_call *) tsr_emu_calls[];
_Atomic(tsr_emu_call *) tsr_emu_calls[CALLS];

/* The instrumentation calls it once for each kernel when the file is loaded, before there is a library to ask. */
void tsr_emu_init(void);
void tsr_emu_init(void)
{
}

__attribute__((visibility("default"))) extern const tsr_emu_module tsr_emu_file;
const tsr_emu_module tsr_emu_file = {.build = TSR_EMU_BUILD, .codes = tsr_emu_codes, .calls = tsr_emu_calls};
