/* wgmma-kmajor with tiles of 160 columns, which take one stage's sums at a time, and whose last 64 columns are another
 * tile's, too. */
#define MUTANT_KERNEL(name) unit_emu_kmajor_160_mutant_##name
enum { BN = 160, SLABS = 1, TURNS = 0, BOXED = 0 };
#include "emu_kmajor.h"
