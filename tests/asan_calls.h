/* Included before the sources of the register tiles (src/cpu/isa) in a build for AddressSanitizer, where checks of
 * memory accesses are calls. The run-time library checks an access of 32 or 64 bytes by several nested calls, which
 * took half of the time of the CPU engine's tests. The functions here take their place: they read 8 shadow bytes at
 * once, and leave what these do not plainly allow to the library, which decides and reports. */
#ifndef TESTS_ASAN_CALLS_H
#define TESTS_ASAN_CALLS_H

#if defined(__SANITIZE_ADDRESS__) && defined(__x86_64__) && defined(__linux__)

#include <stddef.h>
#include <stdint.h>

void *__asan_region_is_poisoned(void *begin, size_t bytes);
void __asan_report_load_n(void *at, ptrdiff_t bytes);
void __asan_report_store_n(void *at, ptrdiff_t bytes);
void __asan_loadN(void *at, ptrdiff_t bytes);
void __asan_storeN(void *at, ptrdiff_t bytes);

/* One shadow byte for each 8 bytes of memory, 0: all of them may be used. Its place is part of gcc's and clang's ABI on
 * x86-64 Linux. `bytes` is at least 1; an access that touches 9 shadow bytes is left to the library. */
__attribute__((no_sanitize("address"), always_inline)) static inline int tests_asan_allows(const void *at,
                                                                                           ptrdiff_t bytes)
{
    enum { SHADOW_AT = 0x7fff8000 };
    uint64_t word;
    const uintptr_t first = (uintptr_t)at, eights = ((first & 7) + (uintptr_t)bytes + 7) / 8;
    __builtin_memcpy(&word, (const void *)(first / 8 + SHADOW_AT), sizeof word);
    return eights <= 8 && (word & ~UINT64_C(0) >> (64 - 8 * eights)) == 0;
}

__attribute__((no_sanitize("address"), noinline)) static void tests_asan_decide(void *at, ptrdiff_t bytes, int is_store)
{
    if (!__asan_region_is_poisoned(at, (size_t)bytes))
        return;
    if (is_store)
        __asan_report_store_n(at, bytes);
    else
        __asan_report_load_n(at, bytes);
}

__attribute__((no_sanitize("address"), weak, visibility("hidden"))) void __asan_loadN(void *at, ptrdiff_t bytes)
{
    if (!tests_asan_allows(at, bytes))
        tests_asan_decide(at, bytes, 0);
}

__attribute__((no_sanitize("address"), weak, visibility("hidden"))) void __asan_storeN(void *at, ptrdiff_t bytes)
{
    if (!tests_asan_allows(at, bytes))
        tests_asan_decide(at, bytes, 1);
}

#endif
#endif
