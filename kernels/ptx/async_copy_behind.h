/* cp.async of a chunk of 16 bytes of which the first ones are none of the kernel's (ptx/async_copy.h). A chunk lies in
 * one piece of whatever memory a matrix lies in, since its address is a multiple of 16: a line that begins inside a
 * chunk is read from the chunk's begin on, whoever's bytes come first, and these are thrown away. */
#ifndef TSR_PTX_ASYNC_COPY_BEHIND_H
#define TSR_PTX_ASYNC_COPY_BEHIND_H

#include "ptx/async_copy.h"

#if TSR_EMU
#include "ptx/emulator_behind.h"
#endif

/* tsr_copy_async_16, whose first `skip` bytes (less than 16) may be anybody's; nothing is read where from_bytes is not
 * more. */
TSR_DEVICE void tsr_copy_async_16_behind(void *to_shared, const void *from_global, unsigned skip, unsigned from_bytes)
{
#if TSR_EMU
    tsr_emu_copy_start_behind(to_shared, from_global, skip, from_bytes);
#else
    tsr_copy_async_16(to_shared, from_global, from_bytes > skip ? from_bytes : 0);
#endif
}

#endif
