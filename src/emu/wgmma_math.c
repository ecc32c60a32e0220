#include "emu/wgmma.h"

#include "emu/hopper.h"

emu_descriptor tsr_emu_descriptor(unsigned long long bits)
{
    return (emu_descriptor){.start = (unsigned)(bits & 0x3fff) << 4,
                            .leading = (unsigned)(bits >> 16 & 0x3fff) << 4,
                            .stride = (unsigned)(bits >> 32 & 0x3fff) << 4,
                            .base_offset = (unsigned)(bits >> 49 & 7),
                            .swizzle = (unsigned)(bits >> 62)};
}

const char *tsr_emu_descriptor_fault(const emu_descriptor *descriptor)
{
    if (descriptor->swizzle != 1)
        return "the emulator knows wgmma operands with the 128-byte swizzle";
    if (descriptor->base_offset != 0 || (descriptor->start & 0x380) != 0)
        return "misaligned wgmma descriptor: rows of the swizzle's pattern start at multiples of 1024 bytes";
    if (descriptor->stride % 1024 || descriptor->leading % 1024)
        return "misaligned wgmma descriptor: a stride is not a multiple of 1024 bytes";
    return NULL;
}

unsigned tsr_emu_descriptor_at(const emu_descriptor *descriptor, int mn_major, unsigned mn, unsigned k)
{
    if (mn_major)
        return descriptor->start + mn / 64 * descriptor->leading + k / 8 * descriptor->stride + k % 8 * 128 +
               mn % 64 * 2;
    return descriptor->start + mn / 8 * descriptor->stride + mn % 8 * 128 + k * 2;
}

void tsr_emu_fragment(unsigned thread, unsigned index, unsigned *row, unsigned *column)
{
    *row = thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8;
    *column = index / 4 * 8 + thread % 4 * 2 + index % 2;
}

/* Eight columns at a time of four rows: the compiler keeps the sums in registers. A product of two 16-bit floats is
 * exact in f32 (but for underflow), so multiply and add round as one fused operation would. */
typedef float lanes8 __attribute__((vector_size(32), aligned(4)));

static inline __attribute__((always_inline)) void multiply(float *sum, const float *a, const float *b, int n)
{
    for (int row = 0; row < EMU_WGMMA_M; row += 4)
        for (int column = 0; column < n; column += 8) {
            lanes8 total[4];
            for (int i = 0; i < 4; i++)
                total[i] = *(const lanes8 *)(sum + (row + i) * EMU_WGMMA_MAX_N + column);
            for (int k = 0; k < EMU_WGMMA_K; k++) {
                const lanes8 right = *(const lanes8 *)(b + k * EMU_WGMMA_MAX_N + column);
                for (int i = 0; i < 4; i++) {
                    const lanes8 product = a[(row + i) * EMU_WGMMA_K + k] * right;
                    total[i] += product;
                }
            }
            for (int i = 0; i < 4; i++)
                *(lanes8 *)(sum + (row + i) * EMU_WGMMA_MAX_N + column) = total[i];
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(float *sum, const float *a, const float *b, int n)
{
    multiply(sum, a, b, n);
}

void tsr_emu_multiply(float *sum, const float *a, const float *b, int n)
{
    if (__builtin_cpu_supports("avx2"))
        multiply_avx2(sum, a, b, n);
    else
        multiply(sum, a, b, n);
}
#else
void tsr_emu_multiply(float *sum, const float *a, const float *b, int n)
{
    multiply(sum, a, b, n);
}
#endif
