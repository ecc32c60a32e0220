#include "lab/common/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"

double lab_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* First number of a file, NAN if there is none. */
static double number_in_file(const char *path)
{
    double value = (double)NAN;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return value;
    if (fscanf(file, "%lf", &value) != 1)
        value = (double)NAN;
    fclose(file);
    return value;
}

/* Mean of the "cpu MHz" lines: virtual machines often show these and no cpufreq. */
static double clock_of_cpuinfo(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    double sum = 0.0, mhz;
    int count = 0;
    if (file == NULL)
        return (double)NAN;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "cpu MHz : %lf", &mhz) == 1) {
            sum += mhz;
            count++;
        }
    fclose(file);
    return count > 0 ? sum / count : (double)NAN;
}

void lab_cpu_clocks(lab_clocks *out)
{
    double khz = number_in_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    out->clock_mhz = khz > 0.0 ? khz / 1e3 : clock_of_cpuinfo();
    out->power_w = (double)NAN;
}

/* ---- the CPU's timer: the monotonic clock, and the energy counter between samples -------------------------------- */

#define ENERGY_FILE "/sys/class/powercap/intel-rapl:0/energy_uj"

typedef struct cpu_timer {
    double begin_ns;
    double energy_uj, energy_ns; /* at the last sample */
} cpu_timer;

static tsr_status cpu_open(int ordinal, void **state)
{
    (void)ordinal;
    cpu_timer *timer = calloc(1, sizeof *timer);
    if (timer == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a timer");
    timer->energy_uj = number_in_file(ENERGY_FILE);
    timer->energy_ns = lab_now_ns();
    *state = timer;
    return TSR_OK;
}

static void cpu_close(void *state)
{
    free(state);
}

static tsr_status cpu_begin(void *state, void *stream)
{
    (void)stream;
    ((cpu_timer *)state)->begin_ns = lab_now_ns();
    return TSR_OK;
}

static tsr_status cpu_end(void *state, void *stream, double *elapsed_ns)
{
    (void)stream;
    *elapsed_ns = lab_now_ns() - ((cpu_timer *)state)->begin_ns;
    return TSR_OK;
}

static void cpu_sample(void *state, lab_clocks *out)
{
    cpu_timer *timer = state;
    lab_cpu_clocks(out);
    if (isnan(timer->energy_uj))
        return;
    double energy_uj = number_in_file(ENERGY_FILE), now_ns = lab_now_ns();
    /* The counter wraps about once an hour; that sample is lost. */
    if (energy_uj >= timer->energy_uj && now_ns > timer->energy_ns)
        out->power_w = (energy_uj - timer->energy_uj) * 1e3 / (now_ns - timer->energy_ns);
    timer->energy_uj = energy_uj;
    timer->energy_ns = now_ns;
}

const lab_timer_ops lab_timer_cpu_ops = {
    .kind = "cpu", .open = cpu_open, .close = cpu_close, .begin = cpu_begin, .end = cpu_end, .sample = cpu_sample};

tsr_status lab_timer_open(const char *device, lab_timer *out)
{
    int ordinal = 0;
    out->ops = &lab_timer_cpu_ops;
    out->state = NULL;
    if (strncmp(device, "cuda:", 5) == 0) {
        out->ops = &lab_timer_cuda_ops;
        ordinal = atoi(device + 5);
    }
    return out->ops->open(ordinal, &out->state);
}

void lab_timer_close(lab_timer *timer)
{
    if (timer->state != NULL)
        timer->ops->close(timer->state);
    timer->state = NULL;
}
