/* Products of four warps in f64 by the instruction that TWIN_NAME names: D = A * B + C, 16 x 8 for each warp, two words
 * of an element folded into one. The numbers are made of A's, C's and the case's words; which kind they are, the case's
 * number says: 0 ordinary, 1 of any size, 2 cancelling, 3 subnormal, 4 overflowing, 5 zeros, infinities and NaNs, 6
 * large accumulators, 7 small ones. All NaNs are alike. */
#include "ptx/mma_f64.h"

#if defined(TWIN_mma_f64_m8n8k4) || defined(TWIN_mma_f64_m16n8k4)
enum { TWIN_K = 4 };
#elif defined(TWIN_mma_f64_m16n8k8)
enum { TWIN_K = 8 };
#else
enum { TWIN_K = 16 };
#endif

typedef union number {
    double value;
    unsigned long long bits;
} number;

/* A word that depends on all bits of a word of the case and on who asks. */
TSR_DEVICE unsigned mixed(unsigned word, unsigned salt)
{
    unsigned x = (word ^ salt * 0x9e3779b9u) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

TSR_DEVICE double number_of(const unsigned *words, unsigned index, unsigned salt, int kind, int is_sum)
{
    const unsigned low = mixed(words[2 * index % 512], 2 * (index + 1000 * salt));
    const unsigned high = mixed(words[(2 * index + 1) % 512], 2 * (index + 1000 * salt) + 1);
    const unsigned some = high >> 20 & 0x7ff; /* where the exponent will be */
    unsigned exponent = 1021 + some % 4;
    if (kind == 1)
        exponent = 983 + some % 80;
    else if (kind == 3)
        exponent = is_sum || index % 2 ? some % 3 : 1019 + some % 4;
    else if (kind == 4)
        exponent = is_sum ? 2043 + some % 4 : 1532 + some % 4;
    else if (kind == 6 && is_sum)
        exponent = 1065 + some % 16;
    else if (kind == 7 && is_sum)
        exponent = 955 + some % 32;
    number x;
    x.bits = (unsigned long long)((high & 0x800fffffu) | exponent << 20) << 32 | low;
    if (kind == 5 && some % 16 < 4)
        x.bits = (unsigned long long)(high & 0x80000000u) << 32 |
                 (some % 16 < 2 ? 0 : 0x7ff0000000000000ull | (some % 16 == 2 && some % 64 < 16 ? 1 : 0));
    return x.value;
}

TSR_DEVICE unsigned folded(double value)
{
    number x;
    x.value = value;
    if ((x.bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull)
        return 0x7ff80000u;
    return (unsigned)(x.bits >> 32) ^ (unsigned)x.bits * 0x9e3779b9u;
}

TSR_KERNEL(128)
{
    const unsigned warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, z = blockIdx.z;
    const int kind = (int)(z % 8);
    const unsigned *const from_a = (const unsigned *)args.a + z * args.batch_a;
    const unsigned *const from_c = (const unsigned *)args.c + z * args.batch_c;
    unsigned *const to = (unsigned *)args.d + z * args.batch_d;
    double a[TWIN_K / 2], b[TWIN_K / 4], acc[4];
    for (unsigned i = 0; i < TWIN_K / 2; i++) {
        const unsigned row = g + i % 2 * 8, k = t + i / 2 * 4;
        const unsigned odd = kind == 2 && k % 2; /* the number beside it, negative */
        const double x = number_of(from_a, row * 16 + k - odd, 1 + 3 * warp, kind, 0);
        a[i] = odd ? -x : x;
    }
    for (unsigned i = 0; i < TWIN_K / 4; i++) {
        const unsigned k = t + i * 4, odd = kind == 2 && k % 2 && g % 4;
        b[i] = number_of(from_a, (k - odd) * 8 + g + 256, 2 + 3 * warp, kind == 3 ? 0 : kind, 0);
    }
    for (unsigned i = 0; i < 4; i++)
        acc[i] = number_of(from_c, (g + i / 2 * 8) * 8 + 2 * t + i % 2, 3 + 3 * warp, kind, 1);
#if defined(TWIN_mma_f64_m8n8k4)
    tsr_mma_f64_m8n8k4(&acc[0], a[0], b[0]);
    tsr_mma_f64_m8n8k4(&acc[2], a[1], b[0]);
#elif defined(TWIN_mma_f64_m16n8k4)
    tsr_mma_f64_m16n8k4(acc, a, b);
#elif defined(TWIN_mma_f64_m16n8k8)
    tsr_mma_f64_m16n8k8(acc, a, b);
#else
    tsr_mma_f64_m16n8k16(acc, a, b);
#endif
    for (unsigned i = 0; i < 4; i++)
        to[warp * 128 + (g + i / 2 * 8) * 8 + 2 * t + i % 2] = folded(acc[i]);
}
