/* What this machine is. Nothing here is cached; each call asks the system. */
#ifndef TSR_CPU_MACHINE_H
#define TSR_CPU_MACHINE_H

#include <stddef.h>

#include "core/memory.h"
#include "cpu/isa/micro.h"

/* The processor's name, as it gives it itself. */
void tsr_cpu_name(char *name, size_t bytes);

/* 1 on a Zen 4 (AMD family 25, those with AVX-512): streams from memory pass by a fifth to a quarter faster there if
 * lines are asked for into L2 well ahead; whole vectors are stored in two cycles. Measured there alone (docs/CPU.md).
 * No result depends on it. */
int tsr_cpu_is_zen4(void);

/* Bytes of the data or unified cache of that level that the first core sees; a usual size where the system is silent.
 */
long long tsr_cpu_cache_bytes(int level);

/* Peak FLOP/s of one core with this instruction set, measured: the best of a few runs of multiply-adds in registers,
 * about a millisecond in all. A measurement, because neither the clock under vector load nor the number of multiply-add
 * pipes can be asked of the processor. */
double tsr_cpu_peak_flops(const tsr_tiles *tiles);

/* Bytes per second that one core reads from memory, measured within a few milliseconds on a buffer that was written
 * past the caches; an estimate where that cannot be done. */
double tsr_cpu_read_bytes_per_s(const tsr_allocator *allocator);

#endif
