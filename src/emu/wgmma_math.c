#include "emu/wgmma.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "emu/hopper.h"

emu_descriptor tsr_emu_descriptor(unsigned long long bits)
{
    static const unsigned row_bytes[4] = {16, 128, 64, 32};
    return (emu_descriptor){.start = (unsigned)(bits & 0x3fff) << 4,
                            .leading = (unsigned)(bits >> 16 & 0x3fff) << 4,
                            .stride = (unsigned)(bits >> 32 & 0x3fff) << 4,
                            .base_offset = (unsigned)(bits >> 49 & 7),
                            .row_bytes = row_bytes[bits >> 62]};
}

const char *tsr_emu_descriptor_fault(const emu_descriptor *descriptor)
{
    const unsigned row = descriptor->row_bytes, pattern = 8 * row;
    if (row == 16)
        return NULL;
    if (descriptor->base_offset != 0 || descriptor->start % pattern >= row)
        return "misaligned wgmma descriptor: the swizzle's pattern starts at multiples of 8 of its rows";
    if (descriptor->stride % pattern || descriptor->leading % pattern)
        return "misaligned wgmma descriptor: a stride is not a multiple of 8 of the swizzle's rows";
    return NULL;
}

unsigned tsr_emu_descriptor_at(const emu_descriptor *descriptor, unsigned mn, unsigned k_bytes)
{
    const unsigned along_k = descriptor->row_bytes == 16 ? k_bytes / 16 * descriptor->leading : k_bytes;
    return descriptor->start + mn / 8 * descriptor->stride + mn % 8 * descriptor->row_bytes + along_k;
}

unsigned tsr_emu_descriptor_at_mn_major(const emu_descriptor *descriptor, unsigned mn, unsigned k)
{
    const unsigned row = descriptor->row_bytes, chunk = mn / 8, chunks = row / 16;
    if (row == 16)
        return descriptor->start + chunk * descriptor->stride + k / 8 * descriptor->leading + k % 8 * 16;
    return descriptor->start + chunk / chunks * descriptor->leading + chunk % chunks * 16 + k / 8 * descriptor->stride +
           k % 8 * row;
}

const emu_wgmma_type tsr_emu_wgmma_types[] = {
    {"f32.bf16.bf16", TSR_EMU_BF16, TSR_EMU_BF16, 2, 0}, {"f32.f16.f16", TSR_EMU_F16, TSR_EMU_F16, 2, 0},
    {"f32.tf32.tf32", TSR_EMU_TF32, TSR_EMU_TF32, 4, 0}, {"f32.e4m3.e4m3", TSR_EMU_E4M3, TSR_EMU_E4M3, 1, 0},
    {"f32.e4m3.e5m2", TSR_EMU_E4M3, TSR_EMU_E5M2, 1, 0}, {"f32.e5m2.e4m3", TSR_EMU_E5M2, TSR_EMU_E4M3, 1, 0},
    {"f32.e5m2.e5m2", TSR_EMU_E5M2, TSR_EMU_E5M2, 1, 0}, {"s32.s8.s8", TSR_EMU_S8, TSR_EMU_S8, 1, 0},
    {"s32.s8.u8", TSR_EMU_S8, TSR_EMU_U8, 1, 0},         {"s32.u8.s8", TSR_EMU_U8, TSR_EMU_S8, 1, 0},
    {"s32.u8.u8", TSR_EMU_U8, TSR_EMU_U8, 1, 0},         {"f16.f16.f16", TSR_EMU_F16, TSR_EMU_F16, 2, 1},
    {"f16.e4m3.e4m3", TSR_EMU_E4M3, TSR_EMU_E4M3, 1, 1}, {"f16.e4m3.e5m2", TSR_EMU_E4M3, TSR_EMU_E5M2, 1, 1},
    {"f16.e5m2.e4m3", TSR_EMU_E5M2, TSR_EMU_E4M3, 1, 1}, {"f16.e5m2.e5m2", TSR_EMU_E5M2, TSR_EMU_E5M2, 1, 1},
};

int tsr_emu_find_wgmma_type(const char *name)
{
    for (int i = 0; i < (int)(sizeof tsr_emu_wgmma_types / sizeof tsr_emu_wgmma_types[0]); i++)
        if (strcmp(tsr_emu_wgmma_types[i].name, name) == 0)
            return i;
    return -1;
}

/* e4m3 has no infinities: only all ones is NaN. */
static float eight_bit_float(unsigned bits, unsigned fraction_bits, unsigned bias, int is_e4m3)
{
    const unsigned exponent = (bits & 0x7f) >> fraction_bits, fraction = bits & ((1u << fraction_bits) - 1);
    const float sign = bits & 0x80 ? -1.0f : 1.0f;
    if (is_e4m3 ? (bits & 0x7f) == 0x7f : exponent == 31)
        return is_e4m3 || fraction ? NAN : sign * INFINITY;
    /* 2^(exponent - bias - fraction_bits), without a call: kernels read millions of these. */
    const uint32_t unit = ((exponent ? exponent : 1) + 127 - bias - fraction_bits) << 23;
    float scale;
    memcpy(&scale, &unit, sizeof scale);
    return sign * (float)(exponent ? fraction | 1u << fraction_bits : fraction) * scale;
}

float tsr_emu_element(tsr_emu_format format, const unsigned char *bytes)
{
    uint16_t half;
    uint32_t word;
    float value;
    switch (format) {
    case TSR_EMU_BF16:
        memcpy(&half, bytes, sizeof half);
        return tsr_bf16_to_f32(half);
    case TSR_EMU_F16:
        memcpy(&half, bytes, sizeof half);
        return tsr_f16_to_f32(half);
    case TSR_EMU_TF32:
        memcpy(&word, bytes, sizeof word);
        word &= 0xffffe000u;
        memcpy(&value, &word, sizeof value);
        return value;
    case TSR_EMU_E4M3:
        return eight_bit_float(bytes[0], 3, 7, 1);
    case TSR_EMU_E5M2:
        return eight_bit_float(bytes[0], 2, 15, 0);
    case TSR_EMU_S8:
        return (float)(signed char)bytes[0];
    case TSR_EMU_U8:
        return (float)bytes[0];
    }
    return 0;
}

void tsr_emu_fragment(unsigned thread, unsigned index, unsigned *row, unsigned *column)
{
    *row = thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8;
    *column = index / 4 * 8 + thread % 4 * 2 + index % 2;
}

/* PTX ISA, "wgmma.mma_async.sp", and ptx/mma_sparse.h: a warp's 16 rows as those of mma.sp. */
unsigned tsr_emu_metadata_place(unsigned row, unsigned group, int element_bytes, int selector, unsigned *bit)
{
    const unsigned first = row / 16 * 32 + row % 8 * 4, is_high = row % 16 / 8;
    if (element_bytes == 1) {
        *bit = group % 8 * 4;
        return first + is_high + group / 8 * 2;
    }
    *bit = 16 * is_high + group % 4 * 4;
    return first + 2 * (unsigned)selector + group / 4;
}
