/* Lines of D that lie in shared memory as sums in f32: eight neighbours of a line are one step for a lane, so that
 * whole sectors leave together, whatever layout the sums had in registers. */
#ifndef TSR_COLLECTIVE_TENSOR_LINES_H
#define TSR_COLLECTIVE_TENSOR_LINES_H

#include "tile/tensor_element.h"

/* 1 if eight neighbours in a row of D, and of C where it is read, are whole 16-byte accesses. */
TSR_DEVICE int tensor_lines_aligned(const tsr_gemm_args *args)
{
    const unsigned long long size = sizeof(out_elem);
    const unsigned long long d =
        (unsigned long long)args->d | (unsigned long long)args->ldd * size | (unsigned long long)args->batch_d * size;
    const unsigned long long c =
        (unsigned long long)args->c | (unsigned long long)args->ldc * size | (unsigned long long)args->batch_c * size;
    return (args->beta != 0.0 ? c | d : d) % 16 == 0;
}

/* Elements of one 16-byte access, as D has them, and back. */
enum { OUT_CHUNK = 16 / (int)sizeof(out_elem) };

TSR_DEVICE void tensor_lines_widen(tsr_u32x4 words, float value[OUT_CHUNK])
{
    TSR_UNROLL
    for (int e = 0; e < OUT_CHUNK; e++)
#if defined(OUT_f32)
        value[e] = tsr_f32_of_bits(tsr_lane(words, e));
#else
        value[e] = tensor_widen((unsigned short)(tsr_lane(words, e / 2) >> e % 2 * 16));
#endif
}

TSR_DEVICE tsr_u32x4 tensor_lines_narrow(const float value[OUT_CHUNK])
{
    tsr_u32x4 words;
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
#if defined(OUT_f32)
        tsr_lane(words, i) = tsr_bits_of_f32(value[i]);
#else
        tsr_lane(words, i) = tensor_narrow(value[2 * i]) | (unsigned)tensor_narrow(value[2 * i + 1]) << 16;
#endif
    return words;
}

/* A chunk of a row, wholly inside D and aligned. */
TSR_DEVICE void tensor_lines_chunk(const tensor_out *out, long long row, long long col, const float *sums)
{
    float value[OUT_CHUNK], old[OUT_CHUNK];
    TSR_UNROLL
    for (int e = 0; e < OUT_CHUNK; e += 4) {
        const tsr_f32x4 quad = tsr_load_f32x4(sums + e);
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            value[e + i] = tsr_lane(quad, i);
    }
    epilogue_scale(&out->e, OUT_CHUNK, value, value);
    if (out->e.reads_c) {
        tensor_lines_widen(tsr_load_u32x4((const unsigned *)(const void *)(out->c + row * out->ldc + col)), old);
        epilogue_add_c(&out->e, OUT_CHUNK, old, value);
    }
    epilogue_form_row(&out->e, out->e.bias + col, OUT_CHUNK, OUT_CHUNK, value);
    tsr_store_u32x4((unsigned *)(void *)(out->d + row * out->ldd + col), tensor_lines_narrow(value));
}

/* `count` lines of `width` sums, `pitch` apart, to D from (row, col) on, by a warp. The loops are not unrolled: code
 * that runs once comes from memory, at tens of cycles an instruction. */
TSR_DEVICE void tensor_lines_store(const tensor_out *out, const float *lines, int count, int width, int pitch, int lane,
                                   long long row, long long col, int aligned)
{
    if (!aligned) {
        TSR_ROLLED
        for (int at = lane; at < count * width; at += 32)
            tensor_output(out, row + at / width, col + at % width, lines[at / width * pitch + at % width]);
        return;
    }
    TSR_ROLLED
    for (int at = lane * OUT_CHUNK; at < count * width; at += 32 * OUT_CHUNK) {
        const long long r = row + at / width, c = col + at % width;
        const float *const from = lines + at / width * pitch + at % width;
        if (r < out->m && c + OUT_CHUNK <= out->n) {
            tensor_lines_chunk(out, r, c, from);
        } else {
            TSR_ROLLED
            for (int e = 0; e < OUT_CHUNK; e++)
                tensor_output(out, r, c + e, from[e]);
        }
    }
}

#endif
