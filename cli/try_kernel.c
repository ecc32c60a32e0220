#include "cli/try_kernel.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/api_error.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "lab/common/gpus.h"
#include "lab/common/kernel_names.h"
#include "lab/predict/counters.h"
#include "lab/verify/verify.h"

/* ---- arguments -------------------------------------------------------------------------------------------------- */

int cli_parse_extents(const cli_option *option, const char *text, void *to, cli_message *error)
{
    cli_extents *const extents = to;
    *extents = (cli_extents){0};
    const char *at = text;
    for (;;) {
        char *end = NULL;
        errno = 0;
        const long long value = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (!end || errno || value < option->min || value > option->max || extents->count == 3)
            break;
        extents->of[extents->count++] = value;
        if (!*end)
            return 1;
        if (*end != 'x')
            break;
        at = end + 1;
    }
    return cli_reject(error, "needs numbers from %lld to %lld with an x between, as in %s, not '%s'",
                      (long long)option->min, (long long)option->max, option->value, text);
}

int cli_parse_define(const cli_option *option, const char *text, void *to, cli_message *error)
{
    cli_defines *const list = to;
    const size_t length = strcspn(text, "=");
    (void)option;
    if (length == 0 || strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != length)
        return cli_reject(error, "needs NAME or NAME=VALUE, not '%s'", text);
    size_t at = 0; /* the later one of a name counts */
    while (at < list->count && (strcspn(list->of[at], "=") != length || strncmp(list->of[at], text, length) != 0))
        at++;
    if (at == LAB_USER_DEFINES)
        return cli_reject(error, "comes more than %d times", LAB_USER_DEFINES);
    list->of[at] = text;
    list->count += at == list->count;
    return 1;
}

/* What the options say; CLI_CONTINUE or an exit code. */
static int kernel_of(const cli_command *self, const cli_try_settings *set, lab_user_kernel *out)
{
    const cli_extents *const threads = &set->threads, *const tile = &set->tile;
    struct stat about;
    if (stat(set->file, &about) == 0 && S_ISDIR(about.st_mode))
        return cli_failure(self, "%s is a directory: must be a file with a kernel", set->file);
    if (threads->count == 0)
        return cli_usage_error(self,
                               "--threads is missing: threads of a block, in the command or in a line of the file, "
                               "\"tessera try: --threads 16x16 --tile 16\"");
    if (threads->count == 3)
        return cli_usage_error(self, "--threads: a block has threads along x and y, not along a third way");
    *out = (lab_user_kernel){.path = set->file,
                             .threads_x = (int)threads->of[0],
                             .threads_y = threads->count > 1 ? (int)threads->of[1] : 1,
                             .bk = 1,
                             .shared_bytes = (int)set->shared,
                             .any_problem = set->general,
                             .dtype = set->dtype,
                             .define_count = set->defines.count};
    memcpy(out->defines, set->defines.of, sizeof out->defines);
    if (out->threads_x * out->threads_y > 1024)
        return cli_usage_error(self, "--threads: %d x %d are %d, and a block has at most 1024", out->threads_x,
                               out->threads_y, out->threads_x * out->threads_y);
    if (set->dtype != TSR_F32 && set->dtype != TSR_F64 && set->dtype != TSR_F16 && set->dtype != TSR_BF16)
        return cli_usage_error(self, "--dtype: a kernel of one's own is in f32, f64, f16 or bf16, not %s",
                               tsr_dtype_name(set->dtype));
    out->bm = tile->count ? (int)tile->of[0] : out->threads_y;
    out->bn = tile->count > 1 ? (int)tile->of[1] : tile->count ? out->bm : out->threads_x;
    out->bk = tile->count == 1 ? out->bm : tile->count == 3 ? (int)tile->of[2] : 1;
    return CLI_CONTINUE;
}

/* ---- what the process that does the work shares with the one that waits ------------------------------------------ */

typedef struct shared_state {
    char doing[240]; /* "verifying, case 3 of 90" */
    lab_user_place place;
    atomic_int is_compiled;
    atomic_int is_done; /* its exit code is the verdict */
} shared_state;

static void say(shared_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(shared_state *state, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state->doing, sizeof state->doing, format, list);
    va_end(list);
}

/* ---- the work --------------------------------------------------------------------------------------------------- */

typedef struct checking {
    shared_state *state;
    const lab_verify_result *result;
    volatile sig_atomic_t stop;
} checking;

/* The first thing that is wrong is enough. */
static void on_case(void *user, const char *instance, int64_t done, int64_t of)
{
    checking *const c = user;
    (void)instance;
    say(c->state, "verifying it, case %lld of %lld", (long long)done + 1, (long long)of);
    c->stop = c->result->failed > 0;
}

static void print_verdict(const lab_verify_result *result, int is_plain)
{
    const lab_verify_worst *const worst = &result->worst;
    const int64_t *const size = result->first_size;
    char text[900];
    if (result->failed) {
        cli_text(text, sizeof text, "Wrong: %s", result->first_failure);
        if (is_plain)
            cli_text(text, sizeof text, "Wrong at M = %lld, N = %lld, K = %lld: %s", (long long)size[0],
                     (long long)size[1], (long long)size[2], result->first_fault);
        cli_print_wrapped(stdout, text, 0, 2);
        return;
    }
    const double error = fabs(worst->value - worst->reference);
    cli_print_wrapped(
        stdout,
        cli_text((char[300]){0}, 300,
                 "Right: %lld products, %lld elements, each within its bound; the worst is at %.2g of it, "
                 "error %.2g",
                 (long long)result->cases, (long long)result->elements, worst->ratio, error),
        0, 2);
}

static int verify(const cli_command *self, const cli_try_settings *set, const char *name, shared_state *state)
{
    const tsr_context_options alone = {.struct_bytes = sizeof alone, .threads = 1}; /* SIGUSR1 finds it there */
    tsr_context *context = NULL;
    lab_kernel_list kernels = {0};
    lab_verify_result result;
    checking c = {.state = state, .result = &result};
    const lab_verify_options options = {
        .seed = 1, .small = 1, .plain = !set->general, .stop = &c.stop, .progress = on_case, .progress_user = &c};
    say(state, "verifying it, the first case");
    tsr_status status = lab_kernels_select(name, "emu", &kernels);
    if (status == TSR_OK)
        status = tsr_context_create("emu", &alone, &context);
    if (status == TSR_OK)
        status = lab_verify(context, &kernels.items[0], &options, &result);
    int code = CLI_OK;
    if (status != TSR_OK) {
        code = cli_api_failure(self);
    } else {
        print_verdict(&result, !set->general);
        code = result.failed || !result.cases ? CLI_FAILED : CLI_OK;
    }
    tsr_context_destroy(context);
    lab_kernels_free(&kernels);
    return code;
}

/* The other commands know the kernel now, as any other. */
static int run_command(const cli_command *command, const char *const *words)
{
    char *arguments[16];
    int count = 0;
    for (; words[count]; count++)
        arguments[count] = (char *)words[count];
    arguments[count] = NULL;
    fflush(stdout);
    return command->run(command, count, arguments);
}

/* Only multiply-adds that are called by name are seen. */
static void warn_of_products(const cli_try_settings *set, const char *name)
{
    enum { SMALL = 32 };
    lab_counters counters;
    tsr_gemm_desc desc = tsr_gemm_desc_make(set->dtype, SMALL, SMALL, SMALL);
    desc.kernel = name;
    if (lab_count(&desc, NULL, &counters) == TSR_OK && !(counters.flops > 0))
        cli_print_wrapped(stdout,
                          "No multiply-adds were seen: sum = fmaf(a, b, sum) is counted, sum += a * b is not. The time "
                          "below lacks them.",
                          0, 2);
}

static int show(const cli_try_settings *set, const char *name, shared_state *state)
{
    char size[24];
    const char *const dtype = tsr_dtype_name(set->dtype);
    snprintf(size, sizeof size, "%lld", (long long)set->size);
    say(state, "counting what it does at %s", size);
    const char *const counts[] = {name,      size,  "--device", "emu", "--gpu", lab_gpu_spec_at((size_t)set->gpu)->id,
                                  "--dtype", dtype, NULL};
    warn_of_products(set, name);
    putchar('\n');
    int code = run_command(&cli_cmd_profile, counts);
    say(state, "explaining it");
    if (set->dtype == TSR_F64) /* explained in f32 alone */
        return code;
    const char *const text[] = {name, "--phase", "0", "--dtype", dtype, NULL};
    const char *const page[] = {name, "--format", "html", "--out", set->page, "--dtype", dtype, NULL};
    if (code == CLI_OK) {
        putchar('\n');
        code = run_command(&cli_cmd_explain, text);
    }
    return code == CLI_OK && set->page ? run_command(&cli_cmd_explain, page) : code;
}

static int work(const cli_command *self, const cli_try_settings *set, const lab_user_kernel *kernel, const char *data,
                const char *folder, shared_state *state)
{
    const char *name = NULL;
    say(state, "compiling it");
    if (lab_user_kernel_compile(kernel, data, folder) != TSR_OK)
        return cli_api_failure(self);
    if (lab_user_kernel_load(kernel, folder, &name) != TSR_OK || !name)
        return cli_api_failure(self);
    lab_user_kernel_tell_place();
    atomic_store(&state->is_compiled, 1);
    char text[PATH_MAX + 200];
    cli_print_wrapped(stdout,
                      cli_text(text, sizeof text,
                               "%s as %s: blocks of %d x %d threads, %d x %d elements of C each, %d bytes of shared "
                               "memory",
                               set->file, name, kernel->threads_x, kernel->threads_y, kernel->bm, kernel->bn,
                               kernel->shared_bytes),
                      0, 2);
    const int code = verify(self, set, name, state);
    return code == CLI_OK ? show(set, name, state) : code;
}

/* ---- the process that waits ------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* 1 if the child ended within so many seconds, and before a signal came. They begin anew when it has compiled the
 * kernel: how long that takes is not the kernel's affair. */
static int wait_seconds(pid_t child, double seconds, int heeds_signals, const shared_state *state, int *status)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int was_compiled = atomic_load(&state->is_compiled);
    double until = now_s() + seconds;
    while (!(heeds_signals && cli_interrupted())) {
        if (!was_compiled && atomic_load(&state->is_compiled)) {
            was_compiled = 1;
            until = now_s() + seconds;
        }
        const pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child)
            return 1;
        if ((ended < 0 && errno != EINTR) || now_s() > until)
            return 0;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* It and the compilers that it started. */
static void end_child(pid_t child)
{
    int status;
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
}

static int too_long(const cli_command *self, const cli_try_settings *set, pid_t child, shared_state *state)
{
    int status;
    const union sigval where = {.sival_ptr = &state->place};
    if (sigqueue(child, SIGUSR1, where) == 0)
        (void)wait_seconds(child, 2, 0, state, &status);
    kill(-child, SIGKILL);
    (void)waitpid(child, &status, 0);
    return cli_failure(
        self, "%s: not done within %lld s, while %s%s%s: a loop that never ends? --timeout gives more time", set->file,
        (long long)set->timeout, state->doing, state->place.text[0] ? "; it was at " : "", state->place.text);
}

static int wait_for(const cli_command *self, const cli_try_settings *set, pid_t child, shared_state *state)
{
    int status = 0;
    if (!wait_seconds(child, (double)set->timeout, 1, state, &status)) {
        if (!cli_interrupted())
            return too_long(self, set, child, state);
        end_child(child);
        return CLI_FAILED;
    }
    if (WIFEXITED(status) && !atomic_load(&state->is_done))
        return cli_failure(self, "%s: the process ended with exit code %d, while %s", set->file, WEXITSTATUS(status),
                           state->doing);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WTERMSIG(status) == SIGPIPE) /* nobody reads any more */
        return CLI_FAILED;
    return cli_failure(self, "%s: %s, while %s", set->file, strsignal(WTERMSIG(status)), state->doing);
}

static int start(const cli_command *self, const cli_try_settings *set, const lab_user_kernel *kernel, const char *data,
                 const char *folder, shared_state *state)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    const pid_t parent = getpid();
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        return cli_failure(self, "cannot start a process: %s", strerror(errno));
    if (child > 0) {
        setpgid(child, child);
        return wait_for(self, set, child, state);
    }
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        signal(caught[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CLI_FAILED);
    const int code = work(self, set, kernel, data, folder, state);
    fflush(stdout);
    atomic_store(&state->is_done, 1);
    _exit(code);
}

int cli_try_kernel(const cli_command *self, const cli_try_settings *set)
{
    char data[PATH_MAX], folder[PATH_MAX];
    const char *const temporary = getenv("TMPDIR");
    lab_user_kernel kernel = {0};
    int code = kernel_of(self, set, &kernel);
    if (code != CLI_CONTINUE)
        return code;
    if (!lab_user_kernel_data(data))
        return cli_failure(self, "the kernel headers are not installed: there is no %s/try", data);
    shared_state *const state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return cli_failure(self, "out of memory");
    cli_interrupt_catch();
    snprintf(folder, sizeof folder, "%s/tessera-try-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (mkdtemp(folder)) {
        code = start(self, set, &kernel, data, folder, state);
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    } else {
        code = cli_failure(self, "cannot make %s: %s", folder, strerror(errno));
    }
    munmap(state, sizeof *state);
    cli_interrupt_die();
    return code;
}
