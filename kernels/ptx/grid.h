/* Grids that overlap (programmatic dependent launch): one may start before the one before it in the stream has ended,
 * if the host launched it so. sm_90; nothing on older ones. PTX ISA, "griddepcontrol". */
#ifndef TSR_PTX_GRID_H
#define TSR_PTX_GRID_H

#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* griddepcontrol.wait: until the grids before this one have ended and all they wrote is seen by this thread; returns at
 * once where the host did not ask for overlap. Global memory must not be used before it (nor by threads that did not
 * learn, by a barrier, of one that came back from it): the grid before may still read or write it. */
TSR_DEVICE void tsr_grid_wait(void)
{
#if TSR_EMU
    tsr_emu_grid_wait();
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* griddepcontrol.launch_dependents: this CTA no longer minds that the next grid starts; it does when all CTAs said so
 * or ended. Says nothing about memory: what comes after it is still waited for by tsr_grid_wait there. */
TSR_DEVICE void tsr_grid_launch_dependents(void)
{
#if !TSR_EMU && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif
