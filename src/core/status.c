#include <stdarg.h>
#include <stdio.h>

#include "core/error.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

/* One message for each thread; the only state that outlives a call besides contexts. With what the emulator has (see
 * src/emu/emulated_machine.h) no more than the 512 bytes that glibc gives a library opened later from static memory. */
static _Thread_local tsr_error last_error;

const char *tsr_status_text(tsr_status status)
{
    switch (status) {
#define STATUS_CASE(name, text) \
    case name:                  \
        return text;
        TSR_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *tsr_last_error(void)
{
    return last_error.text;
}

tsr_error tsr_error_keep(void)
{
    return last_error;
}

void tsr_error_put_back(const tsr_error *error)
{
    last_error = *error;
}

const char *tsr_version(void)
{
    return TEXT(TSR_VERSION_MAJOR) "." TEXT(TSR_VERSION_MINOR) "." TEXT(TSR_VERSION_PATCH);
}

#undef tsr_fail
tsr_status tsr_fail(tsr_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* Through a second buffer, since an argument may be the last message itself. */
    char text[sizeof last_error.text];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(last_error.text, sizeof last_error.text, "%s", text);
    return status;
}
