/* ldmatrix (sm_75 and later): a warp loads 8 x 8 matrices of 16-bit elements from shared memory into the fragments that
 * mma takes.
 *
 * Lane 8 i + r gives the address of row r of matrix i: 16 bytes, on a multiple of 16. Lane l gets from matrix i, in
 * register i, elements (l / 4, 2 (l % 4)) in the lower half and (l / 4, 2 (l % 4) + 1) in the upper one; of the
 * transposed matrix with _trans, that is elements (2 (l % 4), l / 4) and (2 (l % 4) + 1, l / 4). All 32 lanes take
 * part; addresses of lanes beyond the matrices are not used. */
#ifndef TSR_PTX_LDMATRIX_H
#define TSR_PTX_LDMATRIX_H

#include "ptx/language.h"
#include "ptx/vector.h"

#if TSR_EMU
/* One lane's part: the row that it loads, and the registers that it gets. */
typedef struct tsr_emu_ldmatrix {
    union {
        tsr_u32x4 vector;
        unsigned short elements[8];
    } row;
    unsigned *registers;
    int count, transposed;
} tsr_emu_ldmatrix;

TSR_EMU_TOGETHER const char *tsr_emu_ldmatrix_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "ldmatrix needs all 32 lanes";
    for (unsigned lane = 0; lane < 32; lane++) {
        const tsr_emu_ldmatrix *own = (const tsr_emu_ldmatrix *)lanes[lane];
        for (int i = 0; i < own->count; i++) {
            unsigned half[2];
            for (unsigned j = 0; j < 2; j++) {
                const unsigned row = own->transposed ? 2 * (lane % 4) + j : lane / 4;
                const unsigned column = own->transposed ? lane / 4 : 2 * (lane % 4) + j;
                half[j] = ((const tsr_emu_ldmatrix *)lanes[8 * i + row])->row.elements[column];
            }
            own->registers[i] = half[0] | half[1] << 16;
        }
    }
    return 0;
}

TSR_DEVICE void tsr_emu_ldmatrix_any(unsigned *registers, const void *row, int count, int transposed)
{
    const unsigned lane = (threadIdx.x + threadIdx.y * blockDim.x) % 32;
    tsr_emu_ldmatrix own = {.registers = registers, .count = count, .transposed = transposed};
    if ((int)lane < 8 * count) {
        tsr_emu_require_shared(row, 16);
        own.row.vector = *(const tsr_u32x4 *)row;
    }
    tsr_emu_warp(0xffffffffu, tsr_emu_ldmatrix_lanes, &own);
}
#endif

/* ldmatrix.sync.aligned.m8n8.x1.shared.b16 */
TSR_DEVICE void tsr_ldmatrix_x1(unsigned registers[1], const void *row)
{
#if TSR_EMU
    tsr_emu_ldmatrix_any(registers, row, 1, 0);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(registers[0])
                 : "r"(tsr_shared_address(row))
                 : "memory");
#endif
}

/* ldmatrix.sync.aligned.m8n8.x2.shared.b16 */
TSR_DEVICE void tsr_ldmatrix_x2(unsigned registers[2], const void *row)
{
#if TSR_EMU
    tsr_emu_ldmatrix_any(registers, row, 2, 0);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(registers[0]), "=r"(registers[1])
                 : "r"(tsr_shared_address(row))
                 : "memory");
#endif
}

/* ldmatrix.sync.aligned.m8n8.x4.shared.b16 */
TSR_DEVICE void tsr_ldmatrix_x4(unsigned registers[4], const void *row)
{
#if TSR_EMU
    tsr_emu_ldmatrix_any(registers, row, 4, 0);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(tsr_shared_address(row))
                 : "memory");
#endif
}

/* ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 */
TSR_DEVICE void tsr_ldmatrix_x1_trans(unsigned registers[1], const void *row)
{
#if TSR_EMU
    tsr_emu_ldmatrix_any(registers, row, 1, 1);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(registers[0])
                 : "r"(tsr_shared_address(row))
                 : "memory");
#endif
}

/* ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 */
TSR_DEVICE void tsr_ldmatrix_x2_trans(unsigned registers[2], const void *row)
{
#if TSR_EMU
    tsr_emu_ldmatrix_any(registers, row, 2, 1);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(registers[0]), "=r"(registers[1])
                 : "r"(tsr_shared_address(row))
                 : "memory");
#endif
}

/* ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 */
TSR_DEVICE void tsr_ldmatrix_x4_trans(unsigned registers[4], const void *row)
{
#if TSR_EMU
    tsr_emu_ldmatrix_any(registers, row, 4, 1);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(tsr_shared_address(row))
                 : "memory");
#endif
}

#endif
