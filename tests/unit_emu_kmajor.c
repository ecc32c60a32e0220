/* wgmma-kmajor with tiles of 128 columns, where a stage's sums are added while the next one's products run. */
#define MUTANT_KERNEL(name) unit_emu_kmajor_mutant_##name
enum { BN = 128, SLABS = 1, TURNS = 0, BOXED = 0 };
#include "emu_kmajor.h"
