#include "lab/common/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

static void *find(void *library, const char *symbol, int *missing)
{
    void *address = dlsym(library, symbol);
    *missing += address == NULL;
    return address;
}

void lab_nvml_open(const char *bus_id, lab_nvml *out)
{
    unsigned (*init)(void);
    unsigned (*by_bus_id)(const char *id, lab_nvml_device *device);
    int missing = 0;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    memset(out, 0, sizeof *out);
    if (library == NULL)
        return;
    *(void **)&init = find(library, "nvmlInit_v2", &missing);
    *(void **)&by_bus_id = find(library, "nvmlDeviceGetHandleByPciBusId_v2", &missing);
    *(void **)&out->shutdown = find(library, "nvmlShutdown", &missing);
    *(void **)&out->get_clock = find(library, "nvmlDeviceGetClockInfo", &missing);
    *(void **)&out->get_power = find(library, "nvmlDeviceGetPowerUsage", &missing);
    if (missing > 0 || init() != LAB_NVML_SUCCESS)
        return;
    if (by_bus_id(bus_id, &out->device) != LAB_NVML_SUCCESS) {
        out->device = NULL;
        out->shutdown();
    }
}

void lab_nvml_close(lab_nvml *nvml)
{
    if (nvml->device != NULL)
        nvml->shutdown();
    nvml->device = NULL;
}

void lab_nvml_sample(const lab_nvml *nvml, lab_clocks *out)
{
    unsigned mhz, milliwatts;
    out->clock_mhz = out->power_w = (double)NAN;
    if (nvml->device == NULL)
        return;
    if (nvml->get_clock(nvml->device, LAB_NVML_CLOCK_SM, &mhz) == LAB_NVML_SUCCESS)
        out->clock_mhz = mhz;
    if (nvml->get_power(nvml->device, &milliwatts) == LAB_NVML_SUCCESS)
        out->power_w = milliwatts / 1e3;
}
