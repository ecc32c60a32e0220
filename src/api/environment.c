#include "api/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/validate.h"
#include "core/limit.h"
#include "core/processors.h"
#include "core/uncancelled.h"

/* A whole number from 1 to the most threads there may be, up to the end of the text or, in a list as OpenMP has, up to
 * its first comma; else 0. */
static int number_of_threads(const char *text, int may_be_list)
{
    char *end;
    const long value = strtol(text, &end, 10);
    const int ends = *end == '\0' || (may_be_list && *end == ',');
    return ends && end != text && value > 0 && value <= TSR_MOST_THREADS ? (int)value : 0;
}

static const char *value_of(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

int tsr_threads_from_environment(void)
{
    static const char *const others[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                                         "OMP_NUM_THREADS"};
    const char *own = value_of("TESSERA_NUM_THREADS");
    const int threads = own ? number_of_threads(own, 0) : 0;
    if (threads)
        return threads;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *text = value_of(others[i]);
        const int asked = text ? number_of_threads(text, 1) : 0, most = asked ? tsr_cpu_count() : 0;
        if (asked)
            return asked < most ? asked : most;
    }
    return 0;
}

int tsr_get_threads(void)
{
    TSR_UNCANCELLED();
    const int threads = tsr_threads_from_environment();
    return tsr_allowed_threads(threads ? threads : tsr_cpu_count());
}

/* Words of a list that commas separate, all of them "calls". */
static int is_known_log(const char *list)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        if (length > 0 && (length != strlen("calls") || strncmp(at, "calls", length) != 0))
            return 0;
        at += length + (at[length] == ',');
    }
    return 1;
}

void tsr_check_environment(void (*tell)(const char *line, void *user), void *user)
{
    const char *threads = value_of("TESSERA_NUM_THREADS"), *log = value_of("TESSERA_LOG");
    char line[200];
    if (!tell)
        return;
    if (threads && !number_of_threads(threads, 0)) {
        snprintf(line, sizeof line, "TESSERA_NUM_THREADS = \"%.40s\": not a number from 1 to %d; as if it were not set",
                 threads, TSR_MOST_THREADS);
        tell(line, user);
    }
    if (log && !is_known_log(log)) {
        snprintf(line, sizeof line, "TESSERA_LOG = \"%.40s\": only \"calls\" is known; the rest is ignored", log);
        tell(line, user);
    }
}
