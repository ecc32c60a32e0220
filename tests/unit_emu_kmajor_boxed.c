/* wgmma-kmajor where a D of 16 bits leaves, and C comes, by boxes of the copy engine, two slabs a warp group. */
#define MUTANT_KERNEL(name) unit_emu_kmajor_boxed_mutant_##name
enum { BN = 128, SLABS = 2, TURNS = 0, BOXED = 1 };
#include "emu_kmajor.h"
