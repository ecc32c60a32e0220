/* The table of instruction sets. */
#include "cpu/isa/isa.h"

#include "cpu/machine.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* clang-format off */
static const tsr_isa *const isas[] = {
#if defined(__x86_64__)
    &tsr_isa_zen4, /* the best on a Zen 4, and only there */
    &tsr_isa_avx512,
    &tsr_isa_avx2,
#elif defined(__aarch64__)
    &tsr_isa_neon,
#endif
    &tsr_isa_plain,
    NULL,
};
/* clang-format on */

const tsr_isa *const *tsr_isa_all(void)
{
    return isas;
}

#if defined(__x86_64__)
/* clang has no name for it. */
static int has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

/* The compiler's runtime reads cpuid once, when the program starts, and asks xgetbv whether the system saves the wide
 * registers; asking again costs a load, where cpuid itself would trap in a virtual machine. */
int tsr_isa_runs(const tsr_isa *isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (isa == &tsr_isa_zen4 || isa == &tsr_isa_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (isa == &tsr_isa_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
#endif
#if defined(__aarch64__)
    if (isa == &tsr_isa_neon)
        return 1; /* part of every AArch64 that runs Linux */
#endif
    return isa == &tsr_isa_plain;
}

const tsr_pairs *tsr_isa_pairs(const tsr_isa *isa)
{
#if defined(__x86_64__)
    if (isa->pairs && tsr_isa_runs(isa) && __builtin_cpu_supports("avx512bf16"))
        return isa->pairs;
#endif
    (void)isa;
    return NULL;
}

const tsr_integers *tsr_isa_integers(const tsr_isa *isa)
{
#if defined(__x86_64__)
    if (isa->vnni && tsr_isa_runs(isa) && __builtin_cpu_supports("avx512vnni"))
        return isa->vnni;
#endif
    return isa->integers;
}

const tsr_isa *tsr_isa_best(void)
{
    const tsr_isa *const *isa = isas;
    while (!tsr_isa_runs(*isa) || ((*isa)->zen4 && !tsr_cpu_is_zen4()))
        isa++;
    return *isa;
}

const tsr_isa *tsr_isa_find(const char *name)
{
    for (const tsr_isa *const *isa = isas; *isa; isa++)
        if (strcmp((*isa)->name, name) == 0)
            return tsr_isa_runs(*isa) ? *isa : NULL;
    return NULL;
}
