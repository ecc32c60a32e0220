/* What this machine is. Each call asks the system, but for what is measured. */
#ifndef TSR_CPU_MACHINE_H
#define TSR_CPU_MACHINE_H

#include <stddef.h>

#include "cpu/isa/micro.h"

/* The processor's name, as it gives it itself. */
void tsr_cpu_name(char *name, size_t bytes);

/* 1 on a Zen 4 (AMD family 25, those with AVX-512): streams from memory pass by a fifth to a quarter faster there if
 * lines are asked for into L2 well ahead; whole vectors are stored in two cycles. Measured there alone (docs/CPU.md).
 * No result depends on it. */
int tsr_cpu_is_zen4(void);

/* Bytes of the data or unified caches that the first core sees; a usual size where the system is silent. */
enum { TSR_CACHE_LEVELS = 3 };
void tsr_cpu_caches(long long bytes[TSR_CACHE_LEVELS]);

/* Of one core. Measured, because neither the clock under vector load nor the number of multiply-add pipes can be asked
 * of the processor. */
typedef struct tsr_cpu_rates {
    double flops_f32, flops_f64; /* multiply-adds in registers, with the best instruction set */
    double read_bytes_per_s;     /* from memory; an estimate where that cannot be measured */
} tsr_cpu_rates;

/* Measured by the first call in this process, which takes some 20 ms; the same for all that follow. */
tsr_cpu_rates tsr_cpu_measured_rates(void);

#endif
