/* wgmma-kmajor with two warp groups that take turns, a tile each. */
#define MUTANT_KERNEL(name) unit_emu_kmajor_turns_mutant_##name
enum { BN = 64, SLABS = 2, TURNS = 1, BOXED = 0 };
#include "emu_kmajor.h"
