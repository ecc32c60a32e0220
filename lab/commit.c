#include <time.h>

#include "lab/device.h"
#include "lab_commit.h"

const char *lab_commit(void)
{
    return LAB_COMMIT;
}

void lab_date(char out[11])
{
    const time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(out, 11, "%Y-%m-%d", &parts);
}
