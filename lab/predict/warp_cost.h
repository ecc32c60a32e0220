/* What one instruction of a warp costs in the memories of an NVIDIA GPU (compute capability 7.0 and later). */
#ifndef LAB_WARP_COST_H
#define LAB_WARP_COST_H

#include <stdint.h>

#define LAB_SECTOR_BYTES 32

/* A warp's instruction touches at most that many sectors, if no lane moves more than 16 bytes. */
enum { LAB_WARP_SECTORS = 64 };

/* The different sectors (address / 32) that the lanes' accesses of `bytes` each touch, in order of first touch. A lane
 * whose address is 0 touches none. Returns how many. */
unsigned lab_warp_sectors(const uint64_t address[32], uint32_t lanes, unsigned bytes, uint64_t out[LAB_WARP_SECTORS]);

/* Different lines of 128 bytes among sectors. */
unsigned lab_sector_lines(const uint64_t *sectors, unsigned count);

/* Blocks of 256 bytes among sectors of which both lines are there. */
unsigned lab_sector_line_pairs(const uint64_t *sectors, unsigned count);

/* Working space for lab_warp_wavefronts, too large for a fiber's stack. */
typedef struct lab_banks {
    uint32_t words[32][32];
    unsigned char count[32];
} lab_banks;

typedef struct lab_wavefronts {
    unsigned count; /* passes over the banks */
    unsigned ideal; /* passes that as many different words would need without conflicts */
} lab_wavefronts;

/* Passes over shared memory: 32 banks of 4-byte words; lanes that want the same word share it. Accesses of 8 bytes are
 * served half a warp at a time, of 16 bytes a quarter at a time. Two halves, or two neighbouring quarters, go together
 * if throughout them lanes 2i and 2i + 1, or else lanes i and i + 2, want the same place. (Found by measuring, by many;
 * NVIDIA does not document it.) */
lab_wavefronts lab_warp_wavefronts(const uint64_t offset[32], uint32_t lanes, unsigned bytes, lab_banks *banks);

#endif
