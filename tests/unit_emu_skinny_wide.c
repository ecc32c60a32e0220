/* The same with the inbox in the ring, and a warp group for the producer. */
#define WIDE                1
#define MUTANT_KERNEL(name) unit_emu_skinny_wide_mutant_##name
#include "unit_emu_skinny.c"
