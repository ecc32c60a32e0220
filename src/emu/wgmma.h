/* The pure parts of the wgmma twin: where a descriptor's elements lie, and what they are. Private to src/emu. */
#ifndef TSR_EMU_WGMMA_H
#define TSR_EMU_WGMMA_H

#include <stddef.h>

#include "emu/tensor.h"

/* A matrix descriptor, taken apart (PTX ISA, "Matrix descriptor"); byte counts. */
typedef struct emu_descriptor {
    unsigned start, leading, stride;
    unsigned base_offset;
    unsigned row_bytes; /* of the swizzle: 128, 64, 32, or 16 where there is none */
} emu_descriptor;

emu_descriptor tsr_emu_descriptor(unsigned long long bits);

/* NULL, or the rule that the descriptor breaks: the swizzle's pattern starts at multiples of 8 of its rows. */
const char *tsr_emu_descriptor_fault(const emu_descriptor *descriptor);

/* The byte address, before the swizzle, of 16 bytes. K-major: the bytes from k_bytes (a multiple of 16) on along K of
 * row mn. MN-major, for 16-bit elements: element mn (a multiple of 8) of k. */
unsigned tsr_emu_descriptor_at(const emu_descriptor *descriptor, unsigned mn, unsigned k_bytes);
unsigned tsr_emu_descriptor_at_mn_major(const emu_descriptor *descriptor, unsigned mn, unsigned k);

/* What wgmma multiplies, by the name of its types. */
typedef struct emu_wgmma_type {
    const char *name;
    tsr_emu_format a, b;
    int element_bytes;
    int to_f16; /* accumulators are f16, two to a register */
} emu_wgmma_type;

/* -1 if there is none of this name; the table. */
int tsr_emu_find_wgmma_type(const char *name);
extern const emu_wgmma_type tsr_emu_wgmma_types[];

/* The value of an element. */
float tsr_emu_element(tsr_emu_format format, const unsigned char *bytes);

/* The place of register `index` of thread `thread` of a warp group in the 64 x N tile. */
void tsr_emu_fragment(unsigned thread, unsigned index, unsigned *row, unsigned *column);

/* wgmma.sp: the thread of a warp group whose metadata has the indices of four neighbours along K in a row of A, and the
 * first of their four bits. */
unsigned tsr_emu_metadata_place(unsigned row, unsigned group, int element_bytes, int selector, unsigned *bit);

#endif
