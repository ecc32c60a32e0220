#include "core/reason.h"

#include <stdarg.h>
#include <stdio.h>

int tsr_refuse(char *reason, size_t reason_bytes, const char *format, ...)
{
    if (reason_bytes > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason, reason_bytes, format, arguments);
        va_end(arguments);
    }
    return 0;
}
