/* What the library's threads take of the program's: not its first caller's processor, nor its real-time priority, nor
 * the size of its threads' stacks; and they live under a filter of system calls such as systemd's ~@resources. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "tessera.h"

enum { N = 400, SKIPPED = 77 };
static float a[N * N], b[N * N], d[N * N];

static int product(void)
{
    memset(d, 0, sizeof d);
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, d, N) == TSR_OK && d[0] == N && d[N * N - 1] == N;
}

static int one_processor(cpu_set_t *one)
{
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
        return 0;
    CPU_ZERO(one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, one);
    return 1;
}

static void *call(void *right)
{
    *(int *)right = product();
    return NULL;
}

static void *call_pinned(void *right)
{
    cpu_set_t one;
    *(int *)right = one_processor(&one) && sched_setaffinity(0, sizeof one, &one) == 0 && product();
    return NULL;
}

/* Threads of the process that are as `is_right` wants them, less those that are not. */
static int judge(int (*is_right)(pid_t thread))
{
    int count = 0;
    struct dirent *entry;
    DIR *const folder = opendir("/proc/self/task");
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            count += is_right((pid_t)strtol(entry->d_name, NULL, 10)) ? 1 : -100;
    if (folder)
        closedir(folder);
    return count;
}

/* Once the workers sleep: one that looks for work may just be on its way to another processor. */
static int soon(int (*is_right)(pid_t thread))
{
    const struct timespec moment = {0, 20000000};
    int right = 0;
    for (int i = 0; i < 50 && !right; i++) {
        nanosleep(&moment, NULL);
        right = judge(is_right) >= 2;
    }
    return right;
}

static int has_main_mask(pid_t thread)
{
    cpu_set_t main_mask, mask;
    return sched_getaffinity(getpid(), sizeof main_mask, &main_mask) == 0 &&
           sched_getaffinity(thread, sizeof mask, &mask) == 0 && CPU_EQUAL(&mask, &main_mask);
}

/* The first caller is pinned; its thread ends. */
static int pinned(void)
{
    cpu_set_t all;
    pthread_t thread;
    int right = 0;
    unsetenv("TESSERA_NUM_THREADS");
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
        return SKIPPED;
    if (pthread_create(&thread, NULL, call_pinned, &right) != 0 || pthread_join(thread, NULL) != 0 || !right)
        return 0;
    return tsr_get_threads() >= 2 && product() && soon(has_main_mask);
}

static int is_ordinary(pid_t thread)
{
    return sched_getscheduler(thread) == SCHED_OTHER;
}

static void *call_first_in_first_out(void *right)
{
    const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    *(int *)right = sched_setscheduler(0, SCHED_FIFO, &least) != 0 ? SKIPPED : product();
    return NULL;
}

static int real_time(void)
{
    pthread_t thread;
    int right = 0;
    if (pthread_create(&thread, NULL, call_first_in_first_out, &right) != 0 || pthread_join(thread, NULL) != 0)
        return 0;
    return right == SKIPPED ? SKIPPED : right && soon(is_ordinary);
}

/* ---- a mask that is set while products run ---- */

static volatile int changing;

/* The mask of every thread but this one, the main thread's first, as taskset -a goes. */
static int set_all(const cpu_set_t *mask)
{
    struct dirent *entry;
    DIR *const folder = opendir("/proc/self/task");
    const pid_t own = (pid_t)syscall(SYS_gettid);
    int right = folder != NULL;
    while (folder && (entry = readdir(folder))) {
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread > 0 && thread != own)
            right = sched_setaffinity(thread, sizeof *mask, mask) == 0 && right;
    }
    if (folder)
        closedir(folder);
    return right;
}

/* 1 if all threads but this one still have the mask after a while. */
static int still_has(const cpu_set_t *mask)
{
    const struct timespec while_products_run = {0, 30000000};
    const pid_t own = (pid_t)syscall(SYS_gettid);
    struct dirent *entry;
    cpu_set_t now;
    nanosleep(&while_products_run, NULL);
    DIR *const folder = opendir("/proc/self/task");
    int right = folder != NULL;
    while (folder && (entry = readdir(folder))) {
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread > 0 && thread != own)
            right = sched_getaffinity(thread, sizeof now, &now) == 0 && CPU_EQUAL(&now, mask) && right;
    }
    if (folder)
        closedir(folder);
    return right;
}

static void *change_masks(void *undone)
{
    enum { ROUNDS = 40 };
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) == 0 && one_processor(&one))
        for (int i = 0; i < ROUNDS; i++) {
            for (int k = 0; k < 10; k++)
                set_all(k & 1 ? &all : &one);
            set_all(&one);
            *(int *)undone += !still_has(&one);
            set_all(&all);
        }
    changing = 0;
    return NULL;
}

static int with_other_masks(void)
{
    const struct timespec pause = {0, 1000000};
    pthread_t thread;
    cpu_set_t one;
    int undone = 0, right = product();
    if (!one_processor(&one))
        return SKIPPED;
    changing = 1;
    if (pthread_create(&thread, NULL, change_masks, &undone) != 0)
        return 0;
    while (changing) {
        right = product() && product() && right;
        nanosleep(&pause, NULL);
    }
    pthread_join(thread, NULL);
    printf("masks undone: %d\n", undone);
    return right && undone == 0;
}

/* Ends the process at the system calls that systemd's SystemCallFilter=~@resources forbids. */
static int forbid_resources(void)
{
    static const unsigned forbidden[] = {
        SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_setpriority,
        SYS_setrlimit,         SYS_ioprio_set,         SYS_mbind,          SYS_set_mempolicy};
    enum { COUNT = sizeof forbidden / sizeof forbidden[0] };
    struct sock_filter filter[2 * COUNT + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        filter[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
        filter[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    filter[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = 2 * COUNT + 2, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Pauses send the workers to sleep: many a time one wakes beside its caller. */
static int filtered(void)
{
    const struct timespec pause = {0, 2000000};
    pthread_t thread;
    int right = 0;
    if (!forbid_resources())
        return SKIPPED;
    for (int i = 0; i < 100; i++) {
        if (!product() || !product())
            return 0;
        nanosleep(&pause, NULL);
    }
    return pthread_create(&thread, NULL, call, &right) == 0 && pthread_join(thread, NULL) == 0 && right;
}

/* Threads whose default stack is the least there is. */
static int small_default_stacks(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    return pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0 &&
           pthread_setattr_default_np(&attributes) == 0 && product();
}

static int run(const char *name, int (*part)(void))
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        const int right = part();
        fflush(stdout);
        _exit(right == SKIPPED ? SKIPPED : !right);
    }
    waitpid(child, &status, 0);
    const int skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
    if (status == 0 || skipped)
        printf("%s: %s\n", name, skipped ? "cannot be tried here" : "ok");
    else
        printf("%s: wrong, status %x\n", name, (unsigned)status);
    return status != 0 && !skipped;
}

int main(void)
{
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    setenv("TESSERA_NUM_THREADS", "2", 1);
    setenv("TESSERA_DEVICE", "cpu", 1);
    return run("a pinned caller", pinned) + run("a real-time caller", real_time) +
               run("other masks meanwhile", with_other_masks) + run("a filter of system calls", filtered) +
               run("small default stacks", small_default_stacks) !=
           0;
}
