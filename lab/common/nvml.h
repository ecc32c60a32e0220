/* The part of NVIDIA's management library that tells clocks and power, found at run time. */
#ifndef LAB_NVML_H
#define LAB_NVML_H

#include "lab/common/timer.h"

enum { LAB_NVML_SUCCESS = 0, LAB_NVML_CLOCK_SM = 1 };

typedef struct nvmlDevice_st *lab_nvml_device;

typedef struct lab_nvml {
    lab_nvml_device device; /* NULL: no library, or it does not know the GPU */
    unsigned (*shutdown)(void);
    unsigned (*get_clock)(lab_nvml_device device, unsigned type, unsigned *mhz);
    unsigned (*get_power)(lab_nvml_device device, unsigned *milliwatts);
} lab_nvml;

/* Never fails: without the library, samples are NAN. `bus_id` is as cuDeviceGetPCIBusId writes it. */
void lab_nvml_open(const char *bus_id, lab_nvml *out);
void lab_nvml_close(lab_nvml *nvml);
void lab_nvml_sample(const lab_nvml *nvml, lab_clocks *out);

#endif
