/* Every function of the headers that need no more than the oldest GPU that nvcc knows; only compiled. */
#include "ptx/shuffle.h"
#include "ptx/vote.h"
#include "ptx/wmma_f16.h"

TSR_KERNEL(32)
{
    unsigned *const d = (unsigned *)args.d, all = TSR_ALL_LANES, x = threadIdx.x;
    unsigned short *const shared = (unsigned short *)TSR_SHARED;
    int flag = 0;
    d[0] = (unsigned)(tsr_vote_all(all, (int)x) + tsr_vote_any(all, (int)x) + tsr_vote_uniform(all, (int)x));
    d[1] = tsr_match_any(all, x) + tsr_match_any_u64(all, x) + tsr_active_mask();
    d[2] = tsr_match_all(all, x, &flag) + (unsigned)flag;
    d[3] = tsr_match_all_u64(all, x, &flag) + (unsigned)flag;
    d[4] = tsr_shuffle_in(all, x, 3, TSR_SEGMENTS(8), &flag) + (unsigned)flag;
    d[5] = tsr_shuffle_up_in(all, x, 3, TSR_SEGMENTS_UP(8), &flag) + (unsigned)flag;
    d[6] = tsr_shuffle_down_in(all, x, 3, TSR_SEGMENTS(8), &flag) + (unsigned)flag;
    d[7] = tsr_shuffle_xor_in(all, x, 3, TSR_SEGMENTS(8), &flag) + (unsigned)flag;

    tsr_wmma_f16 a, b;
    tsr_wmma_f16_acc acc;
    tsr_wmma_acc wide;
    tsr_wmma_load_a_f16(&a, shared, 16, 0);
    tsr_wmma_load_b_f16(&b, shared, 16, 0);
    tsr_wmma_load_acc_f16(&acc, shared, 16);
    tsr_wmma_multiply_f16_f16(&acc, &a, &b, 0, 0);
    tsr_wmma_multiply_f16_f16(&acc, &a, &b, 0, 1);
    tsr_wmma_multiply_f16_f16(&acc, &a, &b, 1, 0);
    tsr_wmma_multiply_f16_f16(&acc, &a, &b, 1, 1);
    tsr_wmma_store_shared_f16(shared, &acc, 16);
    tsr_wmma_load_acc(&wide, (const float *)shared, 16);
    tsr_wmma_multiply_f16(&wide, &a, &b, 0, 0);
    tsr_wmma_store_shared((float *)shared, &wide, 16);
}
