/* What the emulator offers to the twin of a copy that begins behind its chunk (ptx/async_copy_behind.h). Kernels never
 * call it themselves. */
#ifndef TSR_PTX_EMULATOR_BEHIND_H
#define TSR_PTX_EMULATOR_BEHIND_H

/* cp.async of 16 bytes, of which from_bytes are read but for the first `skip`: these are checked by no operand's
 * bounds, and become NaN. Nothing is read where from_bytes is not more than `skip`. */
void tsr_emu_copy_start_behind(void *to, const void *from, unsigned skip, unsigned from_bytes);

#endif
