/* One product with an A that is compressed 2:4, of tf32 1:2, for each problem of the batch: D = A * B + C by the
 * instruction that TWIN_NAME names. A: what is given of 64 rows, 32 bytes; C and D: 64 x 8 words; which elements of K
 * are given, C's words say. B, twice as deep as the case's, is made of its 8 rows: row n and then row n + 3, or each
 * pair of neighbours twice, so that what cancels there cancels here, too. */
#if defined(TWIN_mma_sparse_s8) || defined(TWIN_mma_sparse_u8) || defined(TWIN_mma_sparse_s8_u8) || \
    defined(TWIN_mma_sparse_u8_s8)
#define IS_INTEGER_MMA 1
#else
#define IS_INTEGER_MMA 0
#endif
#if defined(TWIN_wgmma_sparse_s8) || defined(TWIN_wgmma_sparse_u8) || defined(TWIN_wgmma_sparse_s8_u8) || \
    defined(TWIN_wgmma_sparse_u8_s8)
#define IS_INTEGER_WGMMA 1
#else
#define IS_INTEGER_WGMMA 0
#endif
#if defined(TWIN_mma_sparse_u8) || defined(TWIN_mma_sparse_u8_s8) || defined(TWIN_wgmma_sparse_u8) || \
    defined(TWIN_wgmma_sparse_u8_s8)
#define SECOND_A 1
#else
#define SECOND_A 0
#endif
#if defined(TWIN_mma_sparse_u8) || defined(TWIN_mma_sparse_s8_u8) || defined(TWIN_wgmma_sparse_u8) || \
    defined(TWIN_wgmma_sparse_s8_u8)
#define SECOND_B 1
#else
#define SECOND_B 0
#endif
#if defined(TWIN_mma_sparse_bf16) || defined(TWIN_mma_sparse_f16) || defined(TWIN_mma_sparse_tf32) || IS_INTEGER_MMA
#define IS_MMA 1
#else
#define IS_MMA      0
#define TSR_WGMMA_N 8
#endif
#if IS_INTEGER_MMA || IS_INTEGER_WGMMA
#define TSR_WGMMA_TYPES         "s32.s8.s8"
#define TSR_WGMMA_ELEMENT_BYTES 1
typedef int sum;
#else
typedef float sum;
#endif
#if defined(TWIN_wgmma_sparse_f16)
#define TSR_WGMMA_TYPES "f32.f16.f16"
#elif defined(TWIN_wgmma_sparse_bf16)
#define TSR_WGMMA_TYPES "f32.bf16.bf16"
#elif defined(TWIN_wgmma_sparse_e4m3) || defined(TWIN_wgmma_sparse_e5m2) || defined(TWIN_wgmma_sparse_e4m3_e5m2) || \
    defined(TWIN_wgmma_sparse_e5m2_e4m3)
#define TSR_WGMMA_TYPES         "f32.e4m3.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#endif
#if defined(TWIN_mma_sparse_tf32) || defined(TWIN_wgmma_sparse_tf32)
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#endif
#ifndef TSR_WGMMA_ELEMENT_BYTES
#define TSR_WGMMA_ELEMENT_BYTES 2
#endif

#include "ptx/barrier.h"
#include "ptx/mma_sparse.h"
#if !IS_MMA
#include "ptx/mbarrier.h"
#include "ptx/wgmma_forms.h"
#include "ptx/wgmma_sparse.h"
#endif

enum { BYTES = TSR_WGMMA_ELEMENT_BYTES, KEPT = 32 / BYTES, DEEP_WORDS = 16 };

/* The four bits of a group of neighbours along K in a row of A. */
TSR_DEVICE unsigned indices_of(const unsigned *c, int row, int group)
{
    const unsigned word = (c[row * 8 + group % 8] + (unsigned)group * 0x9e3779b9u) * 0x85ebca6bu;
    if (BYTES == 4)
        return word >> 16 & 1 ? 14 : 4;
    const unsigned choice = (word >> 16) % 6;
    return choice == 0 ? 4 : choice == 1 ? 8 : choice == 2 ? 12 : choice == 3 ? 9 : choice == 4 ? 13 : 14;
}

/* What the lane holds of its warp's 16 rows; lanes that the selector leaves out hold what would be a fault. */
TSR_DEVICE unsigned metadata_of(const unsigned *c, int row, int t, int selector)
{
    unsigned word = 0;
#if TSR_WGMMA_ELEMENT_BYTES == 1
    (void)selector;
    for (int i = 0; i < 8; i++)
        word |= indices_of(c, row + t % 2 * 8, t / 2 * 8 + i) << 4 * i;
#else
    if (t / 2 == selector)
        for (int i = 0; i < 8; i++)
            word |= indices_of(c, row + i / 4 * 8, t % 2 * 4 + i % 4) << 4 * i;
#endif
    return word;
}

/* Word `index` of the 16 of B's row n. */
TSR_DEVICE unsigned deep_word(const unsigned *b, int n, int index, int is_paired)
{
    if (!is_paired)
        return b[(index < 8 ? n : (n + 3) % 8) * 8 + index % 8];
    unsigned word = 0;
    for (int i = 0; i < 4 / BYTES; i++) {
        const int k = index * (4 / BYTES) + i, from = k / 4 * 2 + k / 2 % 2; /* 0 0 1 1, 2 2 3 3, ... */
        const unsigned bits = b[n * 8 + from * BYTES / 4] >> from * BYTES % 4 * 8 & 0xffffffffu >> (32 - 8 * BYTES);
        word |= bits << i * BYTES * 8;
    }
    return word;
}

TSR_KERNEL(128)
{
    const int thread = (int)threadIdx.x, row = thread / 32 * 16 + thread % 32 / 4, t = thread % 4, z = (int)blockIdx.z;
    const unsigned *const a = (const unsigned *)args.a + z * args.batch_a;
    const unsigned *const b = (const unsigned *)args.b + z * args.batch_b;
    const sum *const c = (const sum *)args.c + z * args.batch_c;
    sum *const d = (sum *)args.d + z * args.batch_d;
    const int is_paired = z / 10 % 2, selector = BYTES != 1 ? z / 20 % 2 : 0;
    const unsigned metadata = metadata_of((const unsigned *)c, row, t, selector);
    sum acc[4];
    for (int i = 0; i < 4; i++)
        acc[i] = c[(row + i / 2 * 8) * 8 + 2 * t + i % 2];

#if IS_MMA
    unsigned fragment[4], column[4];
    for (int j = 0; j < 4; j++) {
        fragment[j] = a[(row + j % 2 * 8) * 8 + t + j / 2 * 4];
        column[j] = deep_word(b, thread % 32 / 4, t + 4 * j, is_paired);
    }
#if IS_INTEGER_MMA
    tsr_mma_sparse_int8(acc, fragment, column, metadata, SECOND_A, SECOND_B);
#elif defined(TWIN_mma_sparse_tf32)
    if (selector)
        tsr_mma_sparse_tf32(acc, fragment, column, metadata, 1);
    else
        tsr_mma_sparse_tf32(acc, fragment, column, metadata, 0);
#elif defined(TWIN_mma_sparse_f16)
    if (selector)
        tsr_mma_sparse_f16(acc, fragment, column, metadata, 1);
    else
        tsr_mma_sparse_f16(acc, fragment, column, metadata, 0);
#else
    if (selector)
        tsr_mma_sparse_bf16(acc, fragment, column, metadata, 1);
    else
        tsr_mma_sparse_bf16(acc, fragment, column, metadata, 0);
#endif
#else
    /* Without a swizzle: 8 rows of 16 bytes in a row, the next 16 bytes along K 128 bytes on, then the next 8 rows. */
    unsigned *const shared = (unsigned *)TSR_SHARED;
    for (int i = thread; i < 64 * 8; i += 128)
        shared[i / 64 * 64 + i % 8 / 4 * 32 + i / 8 % 8 * 4 + i % 4] = a[i];
    for (int i = thread; i < 8 * DEEP_WORDS; i += 128)
        shared[512 + i % DEEP_WORDS / 4 * 32 + i / DEEP_WORDS * 4 + i % 4] =
            deep_word(b, i / DEEP_WORDS, i % DEEP_WORDS, is_paired);
    tsr_fence_async_shared();
    tsr_barrier();
    const unsigned base = tsr_shared_address(shared);
    const unsigned long long left = tsr_wgmma_descriptor_of(base, 128, 256, 16);
    const unsigned long long right = tsr_wgmma_descriptor_of(base + 2048, 128, 512, 16);
    tsr_wgmma_fence();
#if IS_INTEGER_WGMMA
    tsr_wgmma_sparse_int8(acc, left, right, metadata, 1, SECOND_A, SECOND_B);
#elif defined(TWIN_wgmma_sparse_e4m3)
    tsr_wgmma_sparse_fp8(acc, left, right, metadata, 1, 0, 0);
#elif defined(TWIN_wgmma_sparse_e5m2)
    tsr_wgmma_sparse_fp8(acc, left, right, metadata, 1, 1, 1);
#elif defined(TWIN_wgmma_sparse_e4m3_e5m2)
    tsr_wgmma_sparse_fp8(acc, left, right, metadata, 1, 0, 1);
#elif defined(TWIN_wgmma_sparse_e5m2_e4m3)
    tsr_wgmma_sparse_fp8(acc, left, right, metadata, 1, 1, 0);
#elif defined(TWIN_wgmma_sparse_tf32)
    if (selector)
        tsr_wgmma_sparse_tf32(acc, left, right, metadata, 1, 1);
    else
        tsr_wgmma_sparse_tf32(acc, left, right, metadata, 0, 1);
#else
    if (selector)
        tsr_wgmma_sparse(acc, left, right, metadata, 1, 1, 0);
    else
        tsr_wgmma_sparse(acc, left, right, metadata, 0, 1, 0);
#endif
    tsr_wgmma_commit();
    tsr_wgmma_wait(0);
#endif
    for (int i = 0; i < 4; i++)
        d[(row + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[i];
}
