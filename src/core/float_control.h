/* The calling thread's floating-point control: rounding mode, flush to zero, traps. A thread that is made takes its
 * maker's once, so workers are told anew with each job. */
#ifndef TSR_CORE_FLOAT_CONTROL_H
#define TSR_CORE_FLOAT_CONTROL_H

#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

typedef uint64_t tsr_float_control;

static inline tsr_float_control tsr_get_float_control(void)
{
#if defined(__x86_64__)
    return _mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK; /* without what was raised so far */
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
#else
    return 0;
#endif
}

static inline void tsr_set_float_control(tsr_float_control control)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)control);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
#else
    (void)control;
#endif
}

#endif
