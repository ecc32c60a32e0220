#include "core/processors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the main thread, whose mask is the process's own: a thread that calls may have been pinned, as a server's are. */
static int count_in_affinity(void)
{
    pid_t whose = getpid();
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (!set)
            break;
        int ok = sched_getaffinity(whose, bytes, set) == 0; /* fails while the set is smaller than the kernel's */
        if (!ok && errno != EINVAL) {                       /* it may not be asked, or is not there any more */
            whose = 0;
            ok = sched_getaffinity(whose, bytes, set) == 0;
        }
        const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (ok)
            return count;
    }
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The numbers at the start of a file; -1 for what is none, as "max" is. 0 if it cannot be read. */
static int numbers_in(const char *folder, const char *name, double out[2])
{
    char path[PATH_MAX], text[64], *end;
    out[0] = out[1] = -1;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t count = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (count <= 0)
        return 0;
    text[count] = '\0';
    const long long first = strtoll(text, &end, 10);
    out[0] = end != text ? (double)first : -1;
    end += end == text ? strcspn(text, " ") : 0;
    const char *const rest = end;
    const long long second = strtoll(rest, &end, 10);
    out[1] = end != rest ? (double)second : -1;
    return 1;
}

/* Processors that a cgroup's quota allows; infinite without one. */
static double quota_of(const char *folder, int version)
{
    double quota[2], period[2];
    if (!numbers_in(folder, version == 2 ? "cpu.max" : "cpu.cfs_quota_us", quota) || quota[0] <= 0)
        return INFINITY;
    if (version == 2)
        return quota[1] > 0 ? quota[0] / quota[1] : INFINITY;
    return numbers_in(folder, "cpu.cfs_period_us", period) && period[0] > 0 ? quota[0] / period[0] : INFINITY;
}

/* The least quota of a cgroup and all above it. */
static double quota_up(const char *root, const char *mount, const char *group, int version)
{
    char folder[PATH_MAX];
    const size_t top = strlen(root) + strlen(mount);
    double least = INFINITY;
    if (strcmp(group, "/") == 0) /* the mount itself, once */
        group = "";
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
    if (affinity <= 1)
        return 1;
    const double quota = ceil(tsr_cpu_quota("") - 1e-9);
    const int count = quota < affinity ? (int)quota : affinity;
    return count > 0 ? count : 1;
}
