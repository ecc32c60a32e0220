/* ldmatrix and stmatrix: four 8x8 matrices of 16-bit elements between shared memory and the registers of a warp. Lane l
 * gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned to 16). In registers lane l holds the elements
 * (l / 4, 2 * (l % 4)) and its right neighbour of each matrix: the layout of mma and wgmma accumulators. */
#ifndef TSR_PTX_MATRIX_H
#define TSR_PTX_MATRIX_H

#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* ldmatrix.m8n8.x4.b16. sm_75. */
TSR_DEVICE void tsr_load_matrix_x4(unsigned address, unsigned value[4])
{
#if TSR_EMU
    tsr_emu_load_matrix_x4(address, value);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
                 : "r"(address)
                 : "memory");
#endif
}

/* stmatrix.m8n8.x4.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x4(unsigned address, const unsigned value[4])
{
#if TSR_EMU
    tsr_emu_store_matrix_x4(address, value);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]),
                 "r"(value[1]), "r"(value[2]), "r"(value[3])
                 : "memory");
#endif
}

#endif
