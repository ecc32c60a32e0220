/* Programmatic dependent launch: a grid may be started while the one before it in the stream still runs, where the host
 * allows it at launch. sm_90. Elsewhere, and where the host does not, these do nothing. */
#ifndef TSR_PTX_GRID_H
#define TSR_PTX_GRID_H

#include "ptx/language.h"

/* griddepcontrol.launch_dependents: as far as this CTA is concerned the next grid may start. It says nothing about what
 * this grid has written: the next one must wait before it reads that. */
TSR_DEVICE void tsr_grid_start_next(void)
{
#if !TSR_EMU
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* griddepcontrol.wait: until the grid before has ended and all that it wrote can be seen. Each thread that touches
 * global memory, or asks the copy engine to, must have come by here, or be ordered after one that has. */
TSR_DEVICE void tsr_grid_wait(void)
{
#if !TSR_EMU
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
