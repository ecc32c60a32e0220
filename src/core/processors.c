#include "core/processors.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count_in_affinity(void)
{
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (!set)
            break;
        const int ok = sched_getaffinity(0, bytes, set) == 0; /* fails while the set is smaller than the kernel's */
        const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (ok)
            return count;
    }
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The number in a file, or -1; "max" is -1 too. */
static double number_in(const char *folder, const char *name, int index)
{
    char path[PATH_MAX], text[64];
    double values[2] = {-1, -1};
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -1;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    if (!fgets(text, sizeof text, file) || sscanf(text, "%lf %lf", &values[0], &values[1]) < 1)
        values[0] = values[1] = -1;
    fclose(file);
    return values[index];
}

/* Processors that a cgroup's quota allows; infinite without one. */
static double quota_of(const char *folder, int version)
{
    const double quota = version == 2 ? number_in(folder, "cpu.max", 0) : number_in(folder, "cpu.cfs_quota_us", 0);
    const double period = version == 2 ? number_in(folder, "cpu.max", 1) : number_in(folder, "cpu.cfs_period_us", 0);
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least quota of a cgroup and all above it. */
static double quota_up(const char *root, const char *mount, const char *group, int version)
{
    char folder[PATH_MAX];
    const size_t top = strlen(root) + strlen(mount);
    double least = INFINITY;
    if (snprintf(folder, sizeof folder, "%s%s%s", root, mount, group) >= (int)sizeof folder)
        return least;
    for (;;) {
        least = fmin(least, quota_of(folder, version));
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= top || !slash)
            return least;
        *slash = '\0';
    }
}

static int has_cpu(const char *controllers)
{
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == 3 && strncmp(at, "cpu", 3) == 0)
            return 1;
    return 0;
}

/* Lines of /proc/self/cgroup are "id:controllers:path"; version 2 has id 0 and no controllers. In a container the path
 * may be the host's, which does not exist inside; the mount itself is then the process's group. */
double tsr_cpu_quota(const char *root)
{
    char line[PATH_MAX], file_name[PATH_MAX];
    double least = INFINITY;
    snprintf(file_name, sizeof file_name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(file_name, "re");
    if (!file)
        return least;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *controllers++ = '\0';
        *path++ = '\0';
        if (*controllers == '\0') {
            least = fmin(least, quota_up(root, "/sys/fs/cgroup", path, 2));
        } else if (has_cpu(controllers)) {
            least = fmin(least, quota_up(root, "/sys/fs/cgroup/cpu", path, 1));
            least = fmin(least, quota_up(root, "/sys/fs/cgroup/cpu,cpuacct", path, 1));
            least = fmin(least, quota_up(root, "/sys/fs/cgroup/cpuacct,cpu", path, 1));
        }
    }
    fclose(file);
    return least;
}

int tsr_cpu_count(void)
{
    const int affinity = count_in_affinity();
    const double quota = ceil(tsr_cpu_quota("") - 1e-9);
    const int count = quota < affinity ? (int)quota : affinity;
    return count > 0 ? count : 1;
}
