/* stmatrix, and ldmatrix by 32-bit shared addresses: 1, 2 or 4 matrices of 8x8 16-bit elements between shared memory
 * and the registers of a warp. Lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned to 16);
 * addresses of lanes beyond the matrices are not used. In registers lane l holds the elements (l / 4, 2 * (l % 4)) and
 * its right neighbour of each matrix: the layout of mma and wgmma accumulators. With _trans, rows and columns of what
 * is stored are exchanged. PTX ISA, "stmatrix". */
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
/* One lane's part: the row that it stores, and its registers of the matrices. */
typedef struct tsr_emu_stmatrix {
    union {
        tsr_u32x4 vector;
        unsigned short elements[8];
    } row;
    const unsigned *registers;
    unsigned count, transposed;
} tsr_emu_stmatrix;

TSR_EMU_TOGETHER const char *tsr_emu_stmatrix_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "stmatrix needs all 32 lanes";
    for (unsigned lane = 0; lane < 32; lane++) {
        const tsr_emu_stmatrix *own = (const tsr_emu_stmatrix *)lanes[lane];
        for (unsigned i = 0; i < own->count; i++)
            for (unsigned j = 0; j < 2; j++) {
                const unsigned row = own->transposed ? 2 * (lane % 4) + j : lane / 4;
                const unsigned column = own->transposed ? lane / 4 : 2 * (lane % 4) + j;
                ((tsr_emu_stmatrix *)lanes[8 * i + row])->row.elements[column] =
                    (unsigned short)(own->registers[i] >> 16 * j);
            }
    }
    return 0;
}

TSR_DEVICE void tsr_emu_stmatrix_any(unsigned address, const unsigned *registers, unsigned count, unsigned transposed)
{
    tsr_emu_stmatrix own = {.registers = registers, .count = count, .transposed = transposed};
    tsr_emu_warp(0xffffffffu, tsr_emu_stmatrix_lanes, &own);
    if ((threadIdx.x + threadIdx.y * blockDim.x) % 32 < 8 * count)
        *(tsr_u32x4 *)tsr_emu_shared_pointer(address) = own.row.vector;
}
#endif

/* stmatrix.sync.aligned.m8n8.x1.shared.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x1(unsigned address, const unsigned value[1])
{
#if TSR_EMU
    tsr_emu_stmatrix_any(address, value, 1, 0);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(value[0]) : "memory");
#endif
}

/* stmatrix.sync.aligned.m8n8.x1.trans.shared.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x1_trans(unsigned address, const unsigned value[1])
{
#if TSR_EMU
    tsr_emu_stmatrix_any(address, value, 1, 1);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address), "r"(value[0]) : "memory");
#endif
}

/* stmatrix.sync.aligned.m8n8.x2.shared.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x2(unsigned address, const unsigned value[2])
{
#if TSR_EMU
    tsr_emu_stmatrix_any(address, value, 2, 0);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(value[0]), "r"(value[1])
                 : "memory");
#endif
}

/* stmatrix.sync.aligned.m8n8.x2.trans.shared.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x2_trans(unsigned address, const unsigned value[2])
{
#if TSR_EMU
    tsr_emu_stmatrix_any(address, value, 2, 1);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(value[0]),
                 "r"(value[1])
                 : "memory");
#endif
}

/* stmatrix.sync.aligned.m8n8.x4.shared.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x4(unsigned address, const unsigned value[4])
{
#if TSR_EMU
    tsr_emu_stmatrix_any(address, value, 4, 0);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]),
                 "r"(value[1]), "r"(value[2]), "r"(value[3])
                 : "memory");
#endif
}

/* stmatrix.sync.aligned.m8n8.x4.trans.shared.b16. sm_90. */
TSR_DEVICE void tsr_store_matrix_x4_trans(unsigned address, const unsigned value[4])
{
#if TSR_EMU
    tsr_emu_stmatrix_any(address, value, 4, 1);
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]),
                 "r"(value[1]), "r"(value[2]), "r"(value[3])
                 : "memory");
#endif
}

#endif
