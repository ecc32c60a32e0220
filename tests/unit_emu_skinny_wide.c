/* The staging in the ring, a warp group for the producer. */
#define WIDE                1
#define WHOLE               0
#define MUTANT_KERNEL(name) unit_emu_skinny_wide_mutant_##name

#include "emu_skinny.h"

int main(void)
{
    return run_skinny_tests();
}
