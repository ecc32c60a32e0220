/* strange LIBRARY PLUGIN: places and states of a process in which nobody expects a matrix product. Each is a process of
 * its own that is to end well: with the right result, or, where the system gives no memory, with a status that says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "tessera.h"

enum { N = 300, SKIPPED = 77 };
static float a[N * N], b[N * N];
static const char *own_path, *library_path, *plugin_path;
static int in_constructor;

static int multiply(float *d)
{
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, d, N);
}

static int product(void)
{
    float *const d = calloc(N * N, sizeof *d);
    const int right = d && multiply(d) == TSR_OK && d[0] == N && d[N * N - 1] == N;
    free(d);
    return right;
}

static void *call(void *right)
{
    *(int *)right = product();
    return NULL;
}

static int product_in_thread(void)
{
    pthread_t thread;
    int right = 0;
    return pthread_create(&thread, NULL, call, &right) == 0 && pthread_join(thread, NULL) == 0 && right;
}

static int ends_well(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

__attribute__((constructor)) static void before_main(void)
{
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    if (getenv("STRANGE_CONSTRUCTOR"))
        in_constructor = product();
}

/* ---- the ends of things ---- */

static int at_end_wrong;

static void at_end(void)
{
    if (!product())
        _exit(3);
}

static int in_exit_handlers(void)
{
    const pid_t child = fork();
    if (child == 0) {
        atexit(at_end); /* runs after those of the library */
        const int right = product();
        atexit(at_end);
        exit(!right);
    }
    return ends_well(child);
}

static int in_quick_exit(void)
{
    const pid_t child = fork();
    if (child == 0) {
        at_quick_exit(at_end);
        quick_exit(!product());
    }
    return ends_well(child);
}

static void at_thread_end(void *unused)
{
    (void)unused;
    at_end_wrong += !product();
}

static void *end_with_destructor(void *key)
{
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}

static int in_thread_destructors(void)
{
    pthread_key_t key;
    pthread_t threads[8];
    if (pthread_key_create(&key, at_thread_end) != 0)
        return 0;
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, end_with_destructor, &key) != 0)
            return 0;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return at_end_wrong == 0;
}

static void *keep_calling(void *unused)
{
    for (;;)
        product();
    return unused;
}

/* Another thread is in a product when the process ends. */
static int exit_meanwhile(void)
{
    for (int i = 0; i < 10; i++) {
        const pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            pthread_create(&thread, NULL, keep_calling, NULL);
            exit(!product());
        }
        if (!ends_well(child))
            return 0;
    }
    return 1;
}

static void *outlive_main(void *unused)
{
    const struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
    _exit(!(product() && tsr_get_threads() >= 1));
    return unused;
}

static int after_main_ended(void)
{
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        unsetenv("TESSERA_NUM_THREADS");
        if (pthread_create(&thread, NULL, outlive_main, NULL) == 0)
            pthread_exit(NULL);
        _exit(1);
    }
    return ends_well(child);
}

/* ---- forks and programs ---- */

static int in_fork_handlers_wrong;

static void in_fork_handler(void)
{
    in_fork_handlers_wrong += !product();
}

static int in_fork_handlers(void)
{
    pthread_atfork(in_fork_handler, in_fork_handler, in_fork_handler);
    for (int i = 0; i < 5; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(!(in_fork_handlers_wrong == 0 && product()));
        if (!ends_well(child))
            return 0;
    }
    return in_fork_handlers_wrong == 0 && product();
}

static int in_raw_fork(void)
{
    const int before = product();
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(!(product() && product()));
    return before && ends_well(child) && product();
}

static int after_vfork(void)
{
    if (!product())
        return 0;
    const pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    char *const arguments[] = {"true", NULL};
    pid_t spawned;
    return ends_well(child) && posix_spawn(&spawned, "/bin/true", NULL, NULL, arguments, NULL) == 0 &&
           ends_well(spawned) && product();
}

static void *exec_here(void *unused)
{
    execl(own_path, own_path, "product", (char *)NULL);
    return unused;
}

/* A thread turns the process into another program while products run. */
static int exec_in_thread(void)
{
    const pid_t child = fork();
    if (child == 0) {
        pthread_t threads[2];
        pthread_create(&threads[0], NULL, keep_calling, NULL);
        pthread_create(&threads[1], NULL, exec_here, NULL);
        keep_calling(NULL);
    }
    return ends_well(child);
}

static int as_daemon(void)
{
    int ends[2];
    char byte = 0;
    if (!product() || pipe(ends) != 0)
        return 0;
    const pid_t child = fork();
    if (child == 0) {
        if (daemon(0, 0) == 0 && product() && write(ends[1], "!", 1) == 1)
            _exit(0);
        _exit(1);
    }
    close(ends[1]);
    return ends_well(child) && read(ends[0], &byte, 1) == 1;
}

/* ---- what the system refuses ---- */

static int without_stdio(void)
{
    close(0);
    close(1);
    close(2);
    return product();
}

static int without_files(void)
{
    const struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_NOFILE, &none) == 0 && product() && product();
}

static int in_chroot(void)
{
    char folder[] = "/tmp/tessera-chroot-XXXXXX";
    if (!mkdtemp(folder))
        return 0;
    const pid_t child = fork();
    if (child == 0) {
        if (chroot(folder) != 0)
            _exit(SKIPPED);
        _exit(!(chdir("/") == 0 && product()));
    }
    int status = -1;
    waitpid(child, &status, 0);
    rmdir(folder);
    return WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? SKIPPED : status == 0;
}

static int in_lost_folder(void)
{
    char folder[] = "/tmp/tessera-lost-XXXXXX";
    return mkdtemp(folder) && chdir(folder) == 0 && rmdir(folder) == 0 && product();
}

static int right_or_refused(void)
{
    static float d[N * N];
    memset(d, 0, sizeof d);
    const int status = multiply(d);
    return status == TSR_OK ? d[0] == N && d[N * N - 1] == N : status == TSR_OUT_OF_MEMORY && d[0] == 0;
}

static int without_memory(void)
{
    struct rlimit limit;
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        return 0;
    fclose(file);
    for (rlim_t more = 0; more <= (rlim_t)8 << 20; more += 1 << 19) {
        const pid_t child = fork();
        limit.rlim_cur = limit.rlim_max = (rlim_t)pages * 4096 + more;
        if (child == 0)
            _exit(!(setrlimit(RLIMIT_AS, &limit) == 0 && right_or_refused() && right_or_refused()));
        if (!ends_well(child))
            return 0;
    }
    return 1;
}

static int locked_in_memory(void)
{
    struct rlimit limit = {16 << 20, 16 << 20};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (setuid(65534) != 0 && geteuid() == 0) || mlockall(MCL_FUTURE) != 0)
        return SKIPPED;
    return right_or_refused() && right_or_refused();
}

/* Answers `error` to system calls of these numbers. */
static int refuse_calls(const unsigned *calls, int count, unsigned action)
{
    struct sock_filter filter[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    int length = 1;
    for (int i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = (unsigned short)length, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int without_threads(void)
{
    static const unsigned calls[] = {SYS_clone, SYS_clone3};
    if (!refuse_calls(calls, 2, SECCOMP_RET_ERRNO | EPERM))
        return SKIPPED;
    return product() && product();
}

static int in_sandbox(void)
{
    static const unsigned calls[] = {SYS_openat,
                                     SYS_open,
                                     SYS_prctl,
                                     SYS_sched_getaffinity,
                                     SYS_sched_setaffinity,
                                     SYS_sched_getscheduler,
                                     SYS_readlink,
                                     SYS_newfstatat,
                                     SYS_sched_yield,
                                     SYS_uname};
    if (!refuse_calls(calls, sizeof calls / sizeof calls[0], SECCOMP_RET_ERRNO | EPERM))
        return SKIPPED;
    return product() && product_in_thread();
}

static int without_privileges(void)
{
    if (geteuid() != 0)
        return SKIPPED;
    return product() && setgid(65534) == 0 && setuid(65534) == 0 && product() && product_in_thread();
}

/* ---- signals, the environment, stacks ---- */

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms = alarms + 1;
}

static int in_signal_storm(void)
{
    const struct itimerval often = {{0, 500}, {0, 500}};
    const struct sigaction action = {.sa_handler = on_alarm}; /* system calls are interrupted */
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int right = 1;
    for (int i = 0; i < 200; i++)
        right = product() && right;
    return right && alarms > 0;
}

static int with_huge_environment(void)
{
    static const char *const names[] = {"TESSERA_NUM_THREADS", "OMP_NUM_THREADS", "TESSERA_LOG", "MKL_NUM_THREADS"};
    enum { BYTES = 1 << 20 };
    char *const text = malloc(BYTES);
    tsr_context *context = NULL;
    if (!text)
        return 0;
    memset(text, '9', BYTES);
    text[BYTES - 1] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        setenv(names[i], text, 1);
    int right = product() && tsr_get_threads() >= 1;
    right = right && tsr_context_create(text, NULL, &context) == TSR_INVALID_ARGUMENT && strlen(tsr_last_error()) > 20;
    free(text);
    return right;
}

static ucontext_t program, coroutine;
static int coroutine_right;

static void run_coroutine(void)
{
    coroutine_right = product() && product();
}

static int in_coroutine(void)
{
    enum { BYTES = 64 << 10 };
    char *const stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || getcontext(&coroutine) != 0)
        return 0;
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = BYTES;
    coroutine.uc_link = &program;
    makecontext(&coroutine, run_coroutine, 0);
    return swapcontext(&program, &coroutine) == 0 && coroutine_right;
}

static int in_many_threads(void)
{
    enum { COUNT = 200 };
    static pthread_t threads[COUNT];
    static int right[COUNT];
    int all = 1;
    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&threads[i], NULL, call, &right[i]) != 0)
            return 0;
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        all = all && right[i];
    }
    return all;
}

static void *idle_call(void *right)
{
    const struct sched_param zero = {0};
    *(int *)right = sched_setscheduler(0, SCHED_IDLE, &zero) == 0 && product();
    return NULL;
}

static int of_idle_caller(void)
{
    pthread_t thread;
    int right = 0;
    return pthread_create(&thread, NULL, idle_call, &right) == 0 && pthread_join(thread, NULL) == 0 && right &&
           product();
}

/* ---- the loader ---- */

static int run_self(const char *name, const char *value)
{
    const pid_t child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        execl(own_path, own_path, "product", (char *)NULL);
        _exit(1);
    }
    return ends_well(child);
}

static int in_constructors(void)
{
    return run_self("STRANGE_CONSTRUCTOR", "1");
}

static int bound_now(void)
{
    return run_self("LD_BIND_NOW", "1");
}

/* Takes what `handle` has for tsr_sgemm, or, of the plugin, its own product. */
static int product_of(void *handle)
{
    __typeof__(tsr_sgemm) *sgemm;
    int (*plugin)(int, const float *, const float *, float *);
    void *const first = handle ? dlsym(handle, "tsr_sgemm") : NULL;
    void *const second = handle ? dlsym(handle, "plugin_product") : NULL;
    float *const d = calloc(N * N, sizeof *d);
    int failed = 1;
    memcpy(&sgemm, &first, sizeof sgemm);
    memcpy(&plugin, &second, sizeof plugin);
    if (second)
        failed = plugin(N, a, b, d);
    else if (first)
        failed = sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, d, N) != TSR_OK;
    else
        printf("%s\n", dlerror());
    const int right = !failed && d[0] == N && d[N * N - 1] == N;
    free(d);
    return right;
}

static int in_own_namespace(void)
{
    void *const handle = dlmopen(LM_ID_NEWLM, library_path, RTLD_NOW | RTLD_LOCAL);
    return product() && product_of(handle) && product_of(handle) && product();
}

static int copy_file(const char *from, const char *to)
{
    char bytes[1 << 16];
    size_t count;
    FILE *const in = fopen(from, "rb"), *const out = fopen(to, "wb");
    int right = in && out;
    while (right && (count = fread(bytes, 1, sizeof bytes, in)) > 0)
        right = fwrite(bytes, 1, count, out) == count;
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && right;
}

/* Two copies of the library, as of two versions, in one process. */
static int twice(void)
{
    char path[] = "/tmp/tessera-copy-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0 || !copy_file(library_path, path))
        return 0;
    close(fd);
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    unlink(path);
    return product() && product_of(handle) && product_of(handle) && product();
}

static int static_and_shared(void)
{
    void *const handle = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    return product() && product_of(handle) && product() && product_of(handle);
}

/* ---- */

static int run(const char *name, int (*part)(void))
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        const int right = part();
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

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*part)(void);
    } parts[] = {
        {"in exit handlers", in_exit_handlers},
        {"in quick_exit's handlers", in_quick_exit},
        {"in destructors of threads", in_thread_destructors},
        {"the process ends meanwhile", exit_meanwhile},
        {"after the main thread's end", after_main_ended},
        {"in handlers of fork", in_fork_handlers},
        {"in a child of clone", in_raw_fork},
        {"around vfork and posix_spawn", after_vfork},
        {"a thread executes another program", exec_in_thread},
        {"in a daemon", as_daemon},
        {"without standard files", without_stdio},
        {"without file descriptors", without_files},
        {"in a chroot", in_chroot},
        {"in a folder that is gone", in_lost_folder},
        {"without memory", without_memory},
        {"with all memory locked", locked_in_memory},
        {"without threads", without_threads},
        {"in a sandbox", in_sandbox},
        {"after giving up root", without_privileges},
        {"in a storm of signals", in_signal_storm},
        {"with huge variables", with_huge_environment},
        {"in a coroutine", in_coroutine},
        {"first calls of 200 threads", in_many_threads},
        {"a caller with SCHED_IDLE", of_idle_caller},
        {"in a constructor", in_constructors},
        {"with LD_BIND_NOW", bound_now},
        {"in a namespace of dlmopen", in_own_namespace},
        {"two copies of the library", twice},
        {"static and shared library", static_and_shared},
    };
    int wrong = 0;
    own_path = arguments[0];
    setenv("TESSERA_DEVICE", "cpu", 1);
    setenv("TESSERA_NUM_THREADS", "2", 1);
    if (count == 2) /* "product", which exec_in_thread and run_self ask for */
        return !(product() && (in_constructor || !getenv("STRANGE_CONSTRUCTOR")));
    if (count != 3)
        return 2;
    library_path = arguments[1];
    plugin_path = arguments[2];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        wrong += run(parts[i].name, parts[i].part);
    return wrong != 0;
}
