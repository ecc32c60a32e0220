/* The copy engine in other ranks than the library's tensor maps have (ptx/tma.h: rank 3): boxes of tensors with 1, 2, 4
 * or 5 dimensions, x first. A coordinate may be beyond the end, of a load also negative. PTX ISA,
 * "cp.async.bulk.tensor". sm_90. */
#ifndef TSR_PTX_TMA_RANKS_H
#define TSR_PTX_TMA_RANKS_H

#include "ptx/tma.h"

/* cp.async.bulk.tensor.1d, global to shared: like tsr_tma_load. */
TSR_DEVICE void tsr_tma_load_1d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 1, x, 0, 0, 0, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x)
                 : "memory");
#endif
}

/* The same with .multicast::cluster: like tsr_tma_load_multicast. */
TSR_DEVICE void tsr_tma_load_multicast_1d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, unsigned mask)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 1, x, 0, 0, 0, 0, mask);
#else
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3}], [%2], %4;" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "h"((unsigned short)mask)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.1d, shared to global: like tsr_tma_store. */
TSR_DEVICE void tsr_tma_store_1d(const tsr_tensor_map *map, unsigned from, int x)
{
#if TSR_EMU
    tsr_emu_tma_store(map, from, 1, x, 0, 0, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(map), "r"(from),
                 "r"(x)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.2d, global to shared: like tsr_tma_load. */
TSR_DEVICE void tsr_tma_load_2d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 2, x, y, 0, 0, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y)
                 : "memory");
#endif
}

/* The same with .multicast::cluster: like tsr_tma_load_multicast. */
TSR_DEVICE void tsr_tma_load_multicast_2d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y,
                                          unsigned mask)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 2, x, y, 0, 0, 0, mask);
#else
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "h"((unsigned short)mask)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.2d, shared to global: like tsr_tma_store. */
TSR_DEVICE void tsr_tma_store_2d(const tsr_tensor_map *map, unsigned from, int x, int y)
{
#if TSR_EMU
    tsr_emu_tma_store(map, from, 2, x, y, 0, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
                 "r"(from), "r"(x), "r"(y)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.4d, global to shared: like tsr_tma_load. */
TSR_DEVICE void tsr_tma_load_4d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z, int w)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 4, x, y, z, w, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
#endif
}

/* The same with .multicast::cluster: like tsr_tma_load_multicast. */
TSR_DEVICE void tsr_tma_load_multicast_4d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z,
                                          int w, unsigned mask)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 4, x, y, z, w, 0, mask);
#else
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w), "h"((unsigned short)mask)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.4d, shared to global: like tsr_tma_store. */
TSR_DEVICE void tsr_tma_store_4d(const tsr_tensor_map *map, unsigned from, int x, int y, int z, int w)
{
#if TSR_EMU
    tsr_emu_tma_store(map, from, 4, x, y, z, w, 0);
#else
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
                 "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.5d, global to shared: like tsr_tma_load. */
TSR_DEVICE void tsr_tma_load_5d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z, int w, int v)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 5, x, y, z, w, v, 0);
#else
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v)
                 : "memory");
#endif
}

/* The same with .multicast::cluster: like tsr_tma_load_multicast. */
TSR_DEVICE void tsr_tma_load_multicast_5d(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z,
                                          int w, int v, unsigned mask)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 5, x, y, z, w, v, mask);
#else
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v), "h"((unsigned short)mask)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.5d, shared to global: like tsr_tma_store. */
TSR_DEVICE void tsr_tma_store_5d(const tsr_tensor_map *map, unsigned from, int x, int y, int z, int w, int v)
{
#if TSR_EMU
    tsr_emu_tma_store(map, from, 5, x, y, z, w, v);
#else
    asm volatile(
        "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
        "r"(from), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v)
        : "memory");
#endif
}

#endif
