/* One product of the tensor cores for each problem of the batch: D = A * B + C by the instruction that TWIN_NAME names,
 * through its wrapper in kernels/ptx. A: 64 rows of 32 bytes along K, B: 8 rows (columns of the product) of 32 bytes, C
 * and D: 64 x 8 words. */
#if defined(TWIN_mma_s8) || defined(TWIN_mma_u8) || defined(TWIN_mma_s8_u8) || defined(TWIN_mma_u8_s8)
#define IS_MMA     1
#define IS_INTEGER 1
#elif defined(TWIN_mma_bf16) || defined(TWIN_mma_f16) || defined(TWIN_mma_tf32) || defined(TWIN_mma_f16_f16)
#define IS_MMA 1
#else
#define IS_MMA      0
#define TSR_WGMMA_N 8
#endif
#if defined(TWIN_wgmma_bf16) || defined(TWIN_register_bf16)
#define TSR_WGMMA_TYPES         "f32.bf16.bf16"
#define TSR_WGMMA_ELEMENT_BYTES 2
#elif defined(TWIN_wgmma_f16)
#define TSR_WGMMA_TYPES         "f32.f16.f16"
#define TSR_WGMMA_ELEMENT_BYTES 2
#elif defined(TWIN_wgmma_tf32) || defined(TWIN_register_tf32)
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#elif defined(TWIN_wgmma_e4m3) || defined(TWIN_register_e4m3)
#define TSR_WGMMA_TYPES         "f32.e4m3.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_f16_f16) || defined(TWIN_register_f16_f16)
#define TSR_WGMMA_TYPES         "f16.f16.f16"
#define TSR_WGMMA_ELEMENT_BYTES 2
#elif defined(TWIN_wgmma_e4m3_f16) || defined(TWIN_register_e4m3_f16)
#define TSR_WGMMA_TYPES         "f16.e4m3.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_e5m2)
#define TSR_WGMMA_TYPES         "f32.e5m2.e5m2"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_e4m3_e5m2)
#define TSR_WGMMA_TYPES         "f32.e4m3.e5m2"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_e5m2_e4m3)
#define TSR_WGMMA_TYPES         "f32.e5m2.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_e5m2_f16)
#define TSR_WGMMA_TYPES         "f16.e5m2.e5m2"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_e4m3_e5m2_f16)
#define TSR_WGMMA_TYPES         "f16.e4m3.e5m2"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_e5m2_e4m3_f16)
#define TSR_WGMMA_TYPES         "f16.e5m2.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(TWIN_wgmma_s8) || defined(TWIN_register_s8)
#define TSR_WGMMA_TYPES         "s32.s8.s8"
#define TSR_WGMMA_ELEMENT_BYTES 1
#define IS_INTEGER              1
#elif defined(TWIN_wgmma_u8)
#define TSR_WGMMA_TYPES         "s32.u8.u8"
#define TSR_WGMMA_ELEMENT_BYTES 1
#define IS_INTEGER              1
#endif
#if defined(TWIN_register_bf16) || defined(TWIN_register_tf32) || defined(TWIN_register_e4m3) || \
    defined(TWIN_register_s8) || defined(TWIN_register_f16_f16) || defined(TWIN_register_e4m3_f16)
#define REGISTER_A 1
#endif
#if defined(TWIN_mma_f16_f16) || defined(TWIN_wgmma_f16_f16) || defined(TWIN_wgmma_e4m3_f16) ||          \
    defined(TWIN_register_f16_f16) || defined(TWIN_register_e4m3_f16) || defined(TWIN_wgmma_e5m2_f16) || \
    defined(TWIN_wgmma_e4m3_e5m2_f16) || defined(TWIN_wgmma_e5m2_e4m3_f16)
#define TO_F16 1
#endif

#include "ptx/barrier.h"
#include "ptx/mma_f16.h"
#include "ptx/mma_int8.h"
#if !IS_MMA
#include "ptx/mbarrier.h"
#include "ptx/wgmma_f16.h"
#endif

#if defined(IS_INTEGER)
typedef int sum;
#elif defined(TO_F16)
typedef unsigned sum; /* one f16 in a word */
#else
typedef float sum;
#endif

TSR_KERNEL(128)
{
    const int thread = (int)threadIdx.x, row = thread / 32 * 16 + thread % 32 / 4, t = thread % 4, z = (int)blockIdx.z;
    const unsigned *const a = (const unsigned *)args.a + z * args.batch_a;
    const unsigned *const b = (const unsigned *)args.b + z * args.batch_b;
    const sum *const c = (const sum *)args.c + z * args.batch_c;
    sum *const d = (sum *)args.d + z * args.batch_d;
#if defined(TO_F16)
    unsigned acc[2];
    for (int i = 0; i < 2; i++)
        acc[i] = c[(row + i * 8) * 8 + 2 * t] | c[(row + i * 8) * 8 + 2 * t + 1] << 16;
#else
    sum acc[4];
    for (int i = 0; i < 4; i++)
        acc[i] = c[(row + i / 2 * 8) * 8 + 2 * t + i % 2];
#endif

#if IS_MMA || defined(REGISTER_A)
    /* The four registers of 16-byte halves of two rows: the same in bytes for every element. */
    unsigned fragment[4];
    for (int j = 0; j < 4; j++)
        fragment[j] = a[(row + j % 2 * 8) * 8 + t + j / 2 * 4];
#endif
#if IS_MMA
    const unsigned column[2] = {b[thread % 32 / 4 * 8 + t], b[thread % 32 / 4 * 8 + t + 4]};
#if defined(TWIN_mma_bf16)
    tsr_mma_bf16(acc, fragment, column);
#elif defined(TWIN_mma_f16)
    tsr_mma_f16(acc, fragment, column);
#elif defined(TWIN_mma_f16_f16)
    tsr_mma_f16_f16(acc, fragment, column);
#elif defined(TWIN_mma_s8)
    tsr_mma_int8(acc, fragment, column, 0, 0);
#elif defined(TWIN_mma_u8)
    tsr_mma_int8(acc, fragment, column, 1, 1);
#elif defined(TWIN_mma_s8_u8)
    tsr_mma_int8(acc, fragment, column, 0, 1);
#elif defined(TWIN_mma_u8_s8)
    tsr_mma_int8(acc, fragment, column, 1, 0);
#else
    tsr_mma_tf32(acc, fragment, column);
#endif
#else
    /* Without a swizzle: 8 rows of 16 bytes in a row, the next 16 bytes along K 128 bytes on, the next 8 rows 256. */
    unsigned *const shared = (unsigned *)TSR_SHARED;
    for (int i = thread; i < 64 * 8; i += 128)
        shared[i / 64 * 64 + i % 8 / 4 * 32 + i / 8 % 8 * 4 + i % 4] = a[i];
    for (int i = thread; i < 8 * 8; i += 128)
        shared[512 + i % 8 / 4 * 32 + i / 8 * 4 + i % 4] = b[i];
    tsr_fence_async_shared();
    tsr_barrier();
    const unsigned base = tsr_shared_address(shared);
    const unsigned long long right = tsr_wgmma_descriptor_of(base + 2048, 128, 256, 16);
#if !defined(REGISTER_A)
    const unsigned long long left = tsr_wgmma_descriptor_of(base, 128, 256, 16);
#endif
    tsr_wgmma_fence();
#if defined(TO_F16) && defined(REGISTER_A) && TSR_WGMMA_ELEMENT_BYTES == 2
    tsr_wgmma_half_register_a(acc, fragment, right, 1, 0);
#elif defined(TO_F16) && defined(REGISTER_A)
    tsr_wgmma_half_register_a_k_major(acc, fragment, right, 1);
#elif defined(TO_F16) && TSR_WGMMA_ELEMENT_BYTES == 2
    tsr_wgmma_half(acc, left, right, 1, 0, 0);
#elif defined(TO_F16)
    tsr_wgmma_half_k_major(acc, left, right, 1);
#elif defined(REGISTER_A) && defined(IS_INTEGER)
    tsr_wgmma_integer_register_a(acc, fragment, right, 1);
#elif defined(REGISTER_A) && TSR_WGMMA_ELEMENT_BYTES == 2
    tsr_wgmma_register_a(acc, fragment, right, 1, 0);
#elif defined(REGISTER_A)
    tsr_wgmma_register_a_k_major(acc, fragment, right, 1);
#elif defined(IS_INTEGER)
    tsr_wgmma_integer(acc, left, right, 1);
#elif TSR_WGMMA_ELEMENT_BYTES == 2
    tsr_wgmma(acc, left, right, 1, 0, 0);
#else
    tsr_wgmma_k_major(acc, left, right, 1);
#endif
    tsr_wgmma_commit();
    tsr_wgmma_wait(0);
#endif
#if defined(TO_F16)
    for (int i = 0; i < 4; i++)
        d[(row + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[i / 2] >> i % 2 * 16 & 0xffff;
#else
    for (int i = 0; i < 4; i++)
        d[(row + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[i];
#endif
}
