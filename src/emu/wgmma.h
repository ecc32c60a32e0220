/* The pure parts of the wgmma twin: where a descriptor's elements lie, and the arithmetic. Private to src/emu. */
#ifndef TSR_EMU_WGMMA_H
#define TSR_EMU_WGMMA_H

#include <stddef.h>

/* A matrix descriptor, taken apart (PTX ISA, "Matrix descriptor"); byte counts. */
typedef struct emu_descriptor {
    unsigned start, leading, stride;
    unsigned base_offset, swizzle; /* 1: 128 bytes */
} emu_descriptor;

emu_descriptor tsr_emu_descriptor(unsigned long long bits);

/* NULL, or the rule that the descriptor breaks: 128-byte swizzle, whose pattern starts at multiples of 1024. */
const char *tsr_emu_descriptor_fault(const emu_descriptor *descriptor);

/* The byte address, before the swizzle, of 16 bytes: element k of K (a multiple of 8) of row mn where K is contiguous,
 * or element mn (a multiple of 8) of k where M or N is. */
unsigned tsr_emu_descriptor_at(const emu_descriptor *descriptor, int mn_major, unsigned mn, unsigned k);

/* sum[64][n] += a[64][16] * b[16][n], rows of 256: products exact, added one by one in the order of k, each sum rounded
 * to nearest f32. */
void tsr_emu_multiply(float *sum, const float *a, const float *b, int n);

/* The place of register `index` of thread `thread` of a warp group in the 64 x N tile. */
void tsr_emu_fragment(unsigned thread, unsigned index, unsigned *row, unsigned *column);

#endif
