/* The CPU device behind tsr_device.impl. */
#ifndef TSR_CPU_DEVICE_H
#define TSR_CPU_DEVICE_H

#include "core/claim.h"
#include "core/device.h"
#include "core/pool.h"
#include "cpu/isa/micro.h"
#include "cpu/scratch.h"

typedef struct tsr_cpu_device {
    const tsr_isa *isa;
    const tsr_pairs *pairs;       /* of bf16, with that instruction set on this processor; NULL: elements are widened */
    const tsr_integers *integers; /* of that instruction set on this processor */
    int has_pairs;                /* the instruction set's pairs run on this processor, used or not */
    const tsr_allocator *allocator; /* the context's; outlives the device */
    tsr_claim measured;             /* the device's peaks */
    tsr_pool pool;
    tsr_scratch scratch;
} tsr_cpu_device;

/* Makes the device run the instruction set of that name from now on, for tests and comparisons; no call may be running,
 * and no plan or context may be there, which keep tiles. It widens bf16; with "+pairs" after the name it does not.
 * TSR_UNSUPPORTED if this build or processor lacks it. */
tsr_status tsr_cpu_force_isa(tsr_device *device, const char *name);

#endif
