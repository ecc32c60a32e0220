/* Programmatic dependent launch: a grid that may begin while the one before it in the stream is still running. The
 * emulator runs one launch after the other, so that both are nothing there. */
#ifndef TSR_PTX_GRID_H
#define TSR_PTX_GRID_H

#include "ptx/language.h"

/* griddepcontrol.launch_dependents: once every CTA of this grid has said so or ended, the next launch may begin if it
 * was made as a dependent one. What this grid writes, it sees only after tsr_grid_wait. */
TSR_DEVICE void tsr_grid_start_next(void)
{
#if !TSR_EMU && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* griddepcontrol.wait: until the launch before has ended and all that it wrote is visible. Returns at once in a grid
 * that was launched the ordinary way. */
TSR_DEVICE void tsr_grid_wait(void)
{
#if !TSR_EMU && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
