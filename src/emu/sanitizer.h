/* What AddressSanitizer must be told about fibers, when the library is built with it; nothing otherwise. */
#ifndef TSR_EMU_SANITIZER_H
#define TSR_EMU_SANITIZER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define TSR_EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TSR_EMU_ASAN 1
#endif
#endif

#ifdef TSR_EMU_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* A fiber that was abandoned after a fault leaves poison of its frames behind. */
static inline void tsr_sanitizer_unpoison(void *stack, size_t bytes)
{
    __asan_unpoison_memory_region(stack, bytes);
}

static inline void tsr_sanitizer_own_stack(void **stack, size_t *bytes)
{
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, stack, bytes);
    pthread_attr_destroy(&attributes);
}

static inline void tsr_sanitizer_before_switch(void **save, const void *stack, size_t bytes)
{
    __sanitizer_start_switch_fiber(save, stack, bytes);
}

static inline void tsr_sanitizer_after_switch(void *saved)
{
    __sanitizer_finish_switch_fiber(saved, NULL, NULL);
}

#else

static inline void tsr_sanitizer_unpoison(void *stack, size_t bytes)
{
    (void)stack, (void)bytes;
}
static inline void tsr_sanitizer_own_stack(void **stack, size_t *bytes)
{
    (void)stack, (void)bytes;
}
static inline void tsr_sanitizer_before_switch(void **save, const void *stack, size_t bytes)
{
    (void)save, (void)stack, (void)bytes;
}
static inline void tsr_sanitizer_after_switch(void *saved)
{
    (void)saved;
}

#endif

#endif
