/* wgmma-kmajor with a warp group that has twice 64 rows of a tile, one after the other. */
#define MUTANT_KERNEL(name) unit_emu_kmajor_slabs_mutant_##name
enum { BN = 128, SLABS = 2, TURNS = 0, BOXED = 0 };
#include "emu_kmajor.h"
