/* The staging beside the ring, one warp that produces. */
#define WIDE                0
#define WHOLE               0
#define MUTANT_KERNEL(name) unit_emu_skinny_mutant_##name

#include "emu_skinny.h"

int main(void)
{
    return run_skinny_tests();
}
