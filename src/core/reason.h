/* Why something is not possible, written where somebody asks. */
#ifndef TSR_CORE_REASON_H
#define TSR_CORE_REASON_H

#include <stddef.h>

/* Returns 0. reason_bytes == 0: nobody asks for the reason, which takes longer to print than to find. */
int tsr_refuse(char *reason, size_t reason_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
