/* The calling thread's error message, behind tsr_last_error(). */
#ifndef TSR_CORE_ERROR_H
#define TSR_CORE_ERROR_H

#include "tessera.h"

/* Stores the formatted message for this thread and returns `status`, so that callers can `return tsr_fail(...)`.
 * Messages name the argument and the rule: "lda = 3: must be at least K = 5 (A is stored M x K)". */
tsr_status tsr_fail(tsr_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The thread's message, for a call that succeeds although something within it failed: kept before, put back after. */
typedef struct tsr_error {
    char text[496];
} tsr_error;

tsr_error tsr_error_keep(void);
void tsr_error_put_back(const tsr_error *error);

#ifdef __clang_analyzer__ /* it looks at one file at a time, so it must be told what the call returns */
#define tsr_fail(status, ...) (tsr_fail(status, __VA_ARGS__), (status))
#endif

#endif
