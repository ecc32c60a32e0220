/* How many processors the process may use. Nothing here is cached; each call asks the system. */
#ifndef TSR_CORE_PROCESSORS_H
#define TSR_CORE_PROCESSORS_H

/* Processors that the process may use at once: the affinity mask, cut by the CPU quotas of its cgroups (v1 and v2). At
 * least 1. */
int tsr_cpu_count(void);

/* Processors' worth of time that the quotas of the process's cgroups and all above them allow; infinite without any.
 * The system's files are looked for under `root`, which is "" but in tests. */
double tsr_cpu_quota(const char *root);

#endif
