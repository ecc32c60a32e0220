#include <time.h>

#include "core/device_code.h"
#include "lab/common/device_facts.h"
#include "lab_commit.h"

const char *lab_commit(void)
{
    return LAB_COMMIT;
}

const char *lab_nvcc(void)
{
    return tsr_nvcc_version;
}

void lab_date(char out[11])
{
    const time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(out, 11, "%Y-%m-%d", &parts);
}
