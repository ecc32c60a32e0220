/* Hints that global memory will be read soon. They change no result and wait for nothing. PTX ISA, "prefetch",
 * "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor". */
#ifndef TSR_PTX_PREFETCH_H
#define TSR_PTX_PREFETCH_H

#include "ptx/tma.h"

/* prefetch.global.L1: the line of this address, into L1. Any GPU. */
TSR_DEVICE void tsr_prefetch_l1(const void *address)
{
#if TSR_EMU
    (void)address;
#else
    asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}

/* prefetch.global.L2: the same, into L2. */
TSR_DEVICE void tsr_prefetch_l2(const void *address)
{
#if TSR_EMU
    (void)address;
#else
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

/* cp.async.bulk.prefetch.L2.global: `bytes` from `address` on, both multiples of 16. sm_90. */
TSR_DEVICE void tsr_bulk_prefetch(const void *address, unsigned bytes)
{
#if TSR_EMU
    tsr_emu_bulk_prefetch(address, bytes);
#else
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes) : "memory");
#endif
}

/* cp.async.bulk.prefetch.tensor.1d: the box that tsr_tma_load_1d would load. sm_90. */
TSR_DEVICE void tsr_tma_prefetch_1d(const tsr_tensor_map *map, int x)
{
#if TSR_EMU
    tsr_emu_tma_prefetch(map, 1);
    (void)x;
#else
    asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" ::"l"(map), "r"(x) : "memory");
#endif
}

/* cp.async.bulk.prefetch.tensor.2d */
TSR_DEVICE void tsr_tma_prefetch_2d(const tsr_tensor_map *map, int x, int y)
{
#if TSR_EMU
    tsr_emu_tma_prefetch(map, 2);
    (void)x, (void)y;
#else
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(x), "r"(y)
                 : "memory");
#endif
}

/* cp.async.bulk.prefetch.tensor.3d */
TSR_DEVICE void tsr_tma_prefetch_3d(const tsr_tensor_map *map, int x, int y, int z)
{
#if TSR_EMU
    tsr_emu_tma_prefetch(map, 3);
    (void)x, (void)y, (void)z;
#else
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(map), "r"(x), "r"(y),
                 "r"(z)
                 : "memory");
#endif
}

/* cp.async.bulk.prefetch.tensor.4d */
TSR_DEVICE void tsr_tma_prefetch_4d(const tsr_tensor_map *map, int x, int y, int z, int w)
{
#if TSR_EMU
    tsr_emu_tma_prefetch(map, 4);
    (void)x, (void)y, (void)z, (void)w;
#else
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(map), "r"(x), "r"(y),
                 "r"(z), "r"(w)
                 : "memory");
#endif
}

/* cp.async.bulk.prefetch.tensor.5d */
TSR_DEVICE void tsr_tma_prefetch_5d(const tsr_tensor_map *map, int x, int y, int z, int w, int v)
{
#if TSR_EMU
    tsr_emu_tma_prefetch(map, 5);
    (void)x, (void)y, (void)z, (void)w, (void)v;
#else
    asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1, %2, %3, %4, %5}];" ::"l"(map), "r"(x),
                 "r"(y), "r"(z), "r"(w), "r"(v)
                 : "memory");
#endif
}

#endif
