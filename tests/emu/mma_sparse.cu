/* D (16 x 8) = A (16 x K, 2:4) * B (K x 8) + C by one mma.sp, operands and metadata through registers by the documented
 * layout: MMA_tf32 (K = 16, with SELECTOR), MMA_bf16, MMA_f16 (K = 32, likewise), MMA_e4m3 and MMA_int8 (K = 64; A, or
 * B, is u8 with SECOND_A, SECOND_B). A is stored whole: each lane finds what its metadata and its values are. BAD:
 * indices that do not ascend. One warp. */
#include "ptx/mma_sparse.h"

#if defined(MMA_int8) || defined(MMA_e4m3)
typedef unsigned char elem;
enum { K = 64, EACH = 4 };
#elif defined(MMA_tf32)
typedef unsigned elem;
enum { K = 16, EACH = 1 };
#else
typedef unsigned short elem;
enum { K = 32, EACH = 2 };
#endif
#ifndef SELECTOR
#define SELECTOR 0
#endif
#ifndef SECOND_A
#define SECOND_A 0
#define SECOND_B 0
#endif

#if defined(MMA_tf32)
/* `groups` neighbouring pairs of a row from k on. */
TSR_DEVICE unsigned indices_of(const elem *row, int k, int groups)
{
    unsigned word = 0;
    for (int i = 0; i < groups; i++)
        word |= (row[k + 2 * i + 1] ? 0xeu : 0x4u) << (4 * i);
    return word;
}

TSR_DEVICE unsigned given(const elem *row, int i)
{
    return row[2 * i + (row[2 * i + 1] != 0)];
}
#else
/* The places of the two elements of a group that are not zero, or of the lowest that are. */
TSR_DEVICE unsigned two_of(const elem *group)
{
    unsigned kept = 0, count = 0, result = 0;
    for (unsigned i = 0; i < 4; i++)
        if (group[i]) {
            kept |= 1u << i;
            count++;
        }
    for (unsigned i = 0; i < 4 && count < 2; i++)
        if (!(kept >> i & 1)) {
            kept |= 1u << i;
            count++;
        }
    count = 0;
    for (unsigned i = 0; i < 4; i++)
        if (kept >> i & 1)
            result |= i << (2 * count++);
    return result;
}

/* `groups` neighbours of a row from k on. */
TSR_DEVICE unsigned indices_of(const elem *row, int k, int groups)
{
    unsigned word = 0;
    for (int i = 0; i < groups; i++)
        word |= two_of(row + k + 4 * i) << (4 * i);
    return word;
}

TSR_DEVICE unsigned given(const elem *row, int i)
{
    const elem *const group = row + i / 2 * 4;
    return group[two_of(group) >> (2 * (i & 1)) & 3];
}

#endif

TSR_KERNEL(32)
{
    const int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    const elem *const a = (const elem *)args.a, *const b = (const elem *)args.b;
    unsigned ra[4] = {0, 0, 0, 0}, rb[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < EACH; e++) {
            const elem *const row = a + (g + i % 2 * 8) * args.lda;
            ra[i] |= given(row, (t + i / 2 * 4) * EACH + e) << (32 / EACH * e);
            rb[i] |= (unsigned)b[((t + i * 4) * EACH + e) * args.ldb + g] << (32 / EACH * e);
        }
        /* Lanes that give no metadata hold what must not be used. */
#if defined(MMA_int8) || defined(MMA_e4m3)
    unsigned metadata = indices_of(a + (g + t % 2 * 8) * args.lda, t / 2 * 32, 8);
#else
    const elem *const low = a + g * args.lda, *const high = a + (g + 8) * args.lda;
    unsigned metadata =
        t / 2 != SELECTOR ? 0 : indices_of(low, t % 2 * (K / 2), 4) | indices_of(high, t % 2 * (K / 2), 4) << 16;
#endif
#if defined(BAD) && defined(MMA_tf32)
    metadata = (metadata & ~0xfu) | 8; /* it ascends: 0 and 2 */
#elif defined(BAD)
    metadata = metadata & ~0xfu;
#endif
#if defined(MMA_int8)
    int acc[4];
    for (int i = 0; i < 4; i++)
        acc[i] = ((const int *)args.c)[(g + i / 2 * 8) * args.ldc + 2 * t + i % 2];
    tsr_mma_sparse_int8(acc, ra, rb, metadata, SECOND_A, SECOND_B);
    for (int i = 0; i < 4; i++)
        ((int *)args.d)[(g + i / 2 * 8) * args.ldd + 2 * t + i % 2] = acc[i];
#else
    float acc[4];
    for (int i = 0; i < 4; i++)
        acc[i] = ((const float *)args.c)[(g + i / 2 * 8) * args.ldc + 2 * t + i % 2];
#if defined(MMA_bf16)
    tsr_mma_sparse_bf16(acc, ra, rb, metadata, SELECTOR);
#elif defined(MMA_f16)
    tsr_mma_sparse_f16(acc, ra, rb, metadata, SELECTOR);
#elif defined(MMA_tf32)
    tsr_mma_sparse_tf32(acc, ra, rb, metadata, SELECTOR);
#else
    tsr_mma_sparse_e4m3(acc, ra, rb, metadata);
#endif
    for (int i = 0; i < 4; i++)
        ((float *)args.d)[(g + i / 2 * 8) * args.ldd + 2 * t + i % 2] = acc[i];
#endif
}
