/* Every function of the headers that need the features of compute capability 9.0 that no other GPU has; only compiled.
 * TSR_WGMMA_ELEMENT_BYTES: 2 or 1. */
#define TSR_WGMMA_N 256
#if TSR_WGMMA_ELEMENT_BYTES == 2
#define TSR_WGMMA_TYPES "f16.f16.f16"
#else
#define TSR_WGMMA_TYPES "f16.e4m3.e5m2"
#endif
#include "ptx/bulk.h"
#include "ptx/wgmma_f16.h"

TSR_KERNEL_TMA(128, 1)
{
    const unsigned shared = tsr_shared_address(TSR_SHARED);
    const unsigned long long operand = tsr_wgmma_descriptor_of(shared, 128, 256, 16);
    unsigned acc[TSR_WGMMA_HALF_REGISTERS] = {0};
    const unsigned a[4] = {1, 2, 3, 4};
    tsr_bulk_load_multicast(shared, args.a, 16, shared + 16, 1);
    tsr_wgmma_fence();
#if TSR_WGMMA_ELEMENT_BYTES == 2
    tsr_wgmma_half(acc, operand, operand, 1, 0, 0);
    tsr_wgmma_half(acc, operand, operand, 1, 0, 1);
    tsr_wgmma_half(acc, operand, operand, 1, 1, 0);
    tsr_wgmma_half(acc, operand, operand, 1, 1, 1);
    tsr_wgmma_half_register_a(acc, a, operand, 1, 0);
    tsr_wgmma_half_register_a(acc, a, operand, 1, 1);
#else
    tsr_wgmma_half_k_major(acc, operand, operand, 1);
    tsr_wgmma_half_register_a_k_major(acc, a, operand, 1);
#endif
    tsr_wgmma_commit();
    tsr_wgmma_wait(0);
    for (int i = 0; i < TSR_WGMMA_HALF_REGISTERS; i++)
        ((unsigned *)args.d)[(int)threadIdx.x * TSR_WGMMA_HALF_REGISTERS + i] = acc[i];
}
