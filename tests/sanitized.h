/* A sanitizer's build takes ten times as long. There, of cases that differ in numbers alone, one of `every` runs. */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

static inline int is_left_out(unsigned long long at, unsigned long long every)
{
    return IS_SANITIZED && at % every != 0;
}

#endif
