/* Reductions of boxes by tensor map: each element of a box in shared memory is combined with that of the tensor, whose
 * map says the type; what lies beyond its end is left out, and no coordinate is negative: an H200 calls that an
 * illegal instruction. Like the stores of ptx/tma.h these belong to the
 * thread's current bulk group. `operation` is a constant; ptx/reduction.h says which types it takes. The order in which
 * several of them reach an element is not determined: sums of floats differ from run to run, which the kernel contract
 * forbids for D. PTX ISA, "cp.reduce.async.bulk.tensor". sm_90. */
#ifndef TSR_PTX_TMA_REDUCE_H
#define TSR_PTX_TMA_REDUCE_H

#include "ptx/reduction.h"
#include "ptx/tma.h"

#if !TSR_EMU
/* One case of a switch for each operation. */
#define TSR_TMA_REDUCE_SWITCH(operation, one) \
    switch (operation) {                      \
    case TSR_OPERATION_ADD:                   \
        one("add");                           \
        break;                                \
    case TSR_OPERATION_MIN:                   \
        one("min");                           \
        break;                                \
    case TSR_OPERATION_MAX:                   \
        one("max");                           \
        break;                                \
    case TSR_OPERATION_INC:                   \
        one("inc");                           \
        break;                                \
    case TSR_OPERATION_DEC:                   \
        one("dec");                           \
        break;                                \
    case TSR_OPERATION_AND:                   \
        one("and");                           \
        break;                                \
    case TSR_OPERATION_OR:                    \
        one("or");                            \
        break;                                \
    case TSR_OPERATION_XOR:                   \
        one("xor");                           \
        break;                                \
    }
#endif

/* cp.reduce.async.bulk.tensor.1d, shared to global. */
TSR_DEVICE void tsr_tma_reduce_1d(const tsr_tensor_map *map, unsigned from, int x, tsr_reduction_operation operation)
{
#if TSR_EMU
    tsr_emu_tma_reduce(map, from, 1, x, 0, 0, 0, 0, operation);
#else
#define TSR_TMA_REDUCE(name)                                               \
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta." name \
                 ".tile.bulk_group [%0, {%2}], [%1];" ::"l"(map),          \
                 "r"(from), "r"(x)                                         \
                 : "memory")
    TSR_TMA_REDUCE_SWITCH(operation, TSR_TMA_REDUCE)
#undef TSR_TMA_REDUCE
#endif
}

/* cp.reduce.async.bulk.tensor.2d, shared to global. */
TSR_DEVICE void tsr_tma_reduce_2d(const tsr_tensor_map *map, unsigned from, int x, int y,
                                  tsr_reduction_operation operation)
{
#if TSR_EMU
    tsr_emu_tma_reduce(map, from, 2, x, y, 0, 0, 0, operation);
#else
#define TSR_TMA_REDUCE(name)                                               \
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." name \
                 ".tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),      \
                 "r"(from), "r"(x), "r"(y)                                 \
                 : "memory")
    TSR_TMA_REDUCE_SWITCH(operation, TSR_TMA_REDUCE)
#undef TSR_TMA_REDUCE
#endif
}

/* cp.reduce.async.bulk.tensor.3d, shared to global. */
TSR_DEVICE void tsr_tma_reduce_3d(const tsr_tensor_map *map, unsigned from, int x, int y, int z,
                                  tsr_reduction_operation operation)
{
#if TSR_EMU
    tsr_emu_tma_reduce(map, from, 3, x, y, z, 0, 0, operation);
#else
#define TSR_TMA_REDUCE(name)                                               \
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta." name \
                 ".tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),  \
                 "r"(from), "r"(x), "r"(y), "r"(z)                         \
                 : "memory")
    TSR_TMA_REDUCE_SWITCH(operation, TSR_TMA_REDUCE)
#undef TSR_TMA_REDUCE
#endif
}

/* cp.reduce.async.bulk.tensor.4d, shared to global. */
TSR_DEVICE void tsr_tma_reduce_4d(const tsr_tensor_map *map, unsigned from, int x, int y, int z, int w,
                                  tsr_reduction_operation operation)
{
#if TSR_EMU
    tsr_emu_tma_reduce(map, from, 4, x, y, z, w, 0, operation);
#else
#define TSR_TMA_REDUCE(name)                                                  \
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta." name    \
                 ".tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), \
                 "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)                    \
                 : "memory")
    TSR_TMA_REDUCE_SWITCH(operation, TSR_TMA_REDUCE)
#undef TSR_TMA_REDUCE
#endif
}

/* cp.reduce.async.bulk.tensor.5d, shared to global. */
TSR_DEVICE void tsr_tma_reduce_5d(const tsr_tensor_map *map, unsigned from, int x, int y, int z, int w, int v,
                                  tsr_reduction_operation operation)
{
#if TSR_EMU
    tsr_emu_tma_reduce(map, from, 5, x, y, z, w, v, operation);
#else
#define TSR_TMA_REDUCE(name)                                                      \
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta." name        \
                 ".tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), \
                 "r"(from), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v)                \
                 : "memory")
    TSR_TMA_REDUCE_SWITCH(operation, TSR_TMA_REDUCE)
#undef TSR_TMA_REDUCE
#endif
}

#if !TSR_EMU
#undef TSR_TMA_REDUCE_SWITCH
#endif

#endif
