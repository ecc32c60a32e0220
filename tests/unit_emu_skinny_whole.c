/* Rows of D that begin at multiples of 16 bytes: tiles whose K is not cut leave by 16 bytes. */
#define WIDE                0
#define WHOLE               1
#define MUTANT_KERNEL(name) unit_emu_skinny_whole_mutant_##name

#include "emu_skinny.h"

int main(void)
{
    return run_skinny_tests();
}
