/* A (u16, 28 rows of 32): two rows for each register, low halves and high halves of lanes 0 to 31: of x1, x2, x4 and
 * their transposes. D (f32, 32 rows of 8) for each of the six: the 8 x 8 matrices as shared memory then has them, one
 * below the other, 192 rows in all. */
#include "ptx/barrier.h"
#include "ptx/matrix.h"
#include "ptx/warp.h"

TSR_KERNEL(32)
{
    const int lane = (int)threadIdx.x;
    unsigned short *const shared = (unsigned short *)TSR_SHARED;
    const unsigned row = tsr_shared_address(shared) + 16 * (unsigned)lane;
    int from = 0;
    for (int kind = 0; kind < 6; kind++) {
        const int count = 1 << kind % 3;
        unsigned value[4] = {0, 0, 0, 0};
        for (int i = 0; i < count; i++, from += 2) {
            const unsigned short *a = (const unsigned short *)args.a + from * args.lda + lane;
            value[i] = a[0] | (unsigned)a[args.lda] << 16;
        }
        for (int i = 0; i < 8; i++)
            shared[8 * lane + i] = 7;
        tsr_barrier();
        if (kind == 0)
            tsr_store_matrix_x1(row, value);
        if (kind == 1)
            tsr_store_matrix_x2(row, value);
        if (kind == 2)
            tsr_store_matrix_x4(row, value);
        if (kind == 3)
            tsr_store_matrix_x1_trans(row, value);
        if (kind == 4)
            tsr_store_matrix_x2_trans(row, value);
        if (kind == 5)
            tsr_store_matrix_x4_trans(row, value);
        tsr_barrier();
        for (int i = 0; i < 8; i++)
            ((float *)args.d)[(32 * kind + lane) * args.ldd + i] = (float)shared[8 * (lane ^ 1) + i];
        tsr_barrier();
    }
}
