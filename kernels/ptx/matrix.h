/* stmatrix, and ldmatrix by 32-bit shared addresses: four 8x8 matrices of 16-bit elements between shared memory and the
 * registers of a warp. Lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned to 16). In registers
 * lane l holds the elements (l / 4, 2 * (l % 4)) and its right neighbour of each matrix: the layout of mma and wgmma
 * accumulators. */
#ifndef TSR_PTX_MATRIX_H
#define TSR_PTX_MATRIX_H

#include "ptx/ldmatrix.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* ldmatrix.m8n8.x4.b16. sm_75. */
TSR_DEVICE void tsr_load_matrix_x4(unsigned address, unsigned value[4])
{
#if TSR_EMU
    tsr_ldmatrix_x4(value, tsr_emu_shared_pointer(address));
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
                 : "r"(address)
                 : "memory");
#endif
}

#if TSR_EMU
/* One lane's part: the row that it stores, and its registers of the four matrices. */
typedef struct tsr_emu_stmatrix {
    union {
        tsr_u32x4 vector;
        unsigned short elements[8];
    } row;
    const unsigned *registers;
} tsr_emu_stmatrix;

TSR_EMU_TOGETHER const char *tsr_emu_stmatrix_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "stmatrix needs all 32 lanes";
    for (unsigned lane = 0; lane < 32; lane++) {
        const tsr_emu_stmatrix *own = (const tsr_emu_stmatrix *)lanes[lane];
        for (unsigned i = 0; i < 4; i++) {
            tsr_emu_stmatrix *row = (tsr_emu_stmatrix *)lanes[8 * i + lane / 4];
            row->row.elements[2 * (lane % 4)] = (unsigned short)own->registers[i];
            row->row.elements[2 * (lane % 4) + 1] = (unsigned short)(own->registers[i] >> 16);
        }
    }
    return 0;
}
#endif

/* stmatrix.m8n8.x4.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x4(unsigned address, const unsigned value[4])
{
#if TSR_EMU
    tsr_emu_stmatrix own = {.registers = value};
    tsr_emu_warp(0xffffffffu, tsr_emu_stmatrix_lanes, &own);
    *(tsr_u32x4 *)tsr_emu_shared_pointer(address) = own.row.vector;
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]),
                 "r"(value[1]), "r"(value[2]), "r"(value[3])
                 : "memory");
#endif
}

#endif
