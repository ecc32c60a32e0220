/* The arithmetic of the copy engine's reductions (ptx/reduction.h). Private to src/emu. */
#ifndef TSR_EMU_REDUCE_H
#define TSR_EMU_REDUCE_H

#include <stddef.h>

#include "ptx/reduction.h"

typedef enum emu_number {
    EMU_NUMBER_U32,
    EMU_NUMBER_S32,
    EMU_NUMBER_U64,
    EMU_NUMBER_S64,
    EMU_NUMBER_F16,
    EMU_NUMBER_BF16,
    EMU_NUMBER_F32,
    EMU_NUMBER_F64
} emu_number;

size_t tsr_emu_number_bytes(emu_number type);

/* What a tsr_reduction does; 0 if there is none of this number. *in_shared: it may be done in shared memory. */
int tsr_emu_find_reduction(int reduction, tsr_reduction_operation *operation, emu_number *type, int *in_shared);

/* 1 if some reduction of global memory has this operation and type. */
int tsr_emu_may_reduce(tsr_reduction_operation operation, emu_number type);

/* to[i] = to[i] OP from[i] for the elements of so many bytes. */
void tsr_emu_reduce(void *to, const void *from, size_t bytes, tsr_reduction_operation operation, emu_number type);

#endif
