#include "lab/explain/user_kernel.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/added.h"
#include "core/dtype.h"
#include "core/error.h"
#include "emu/trace.h"
#include "emu/user.h"
#include "lab_user_flags.h"
#include "plan/plan.h"

#define MODULE "kernel.so"

/* ---- files ------------------------------------------------------------------------------------------------------ */

int lab_user_kernel_data(char path[PATH_MAX])
{
    static const char *const places[] = {"share/tessera", USER_DATA};
    char folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *const slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char wanted[2 * PATH_MAX];
        snprintf(wanted, sizeof wanted, "%s/%s/try/user.S", folder, places[i]);
        const int used = snprintf(path, PATH_MAX, "%s/%s", folder, places[i]);
        if (used < PATH_MAX && access(wanted, R_OK) == 0)
            return 1;
    }
    return 0;
}

/* ---- the compiler ----------------------------------------------------------------------------------------------- */

enum { ARGUMENTS_MAX = 128, TEXT_MAX = 2 * PATH_MAX };

typedef struct arguments {
    const char *of[ARGUMENTS_MAX];
    size_t count;
} arguments;

static void add(arguments *a, const char *text)
{
    if (a->count + 1 < ARGUMENTS_MAX)
        a->of[a->count++] = text;
}

/* Runs the program to its end; its exit code, or -1 if it cannot be started or a signal ended it. */
static int run(arguments *a)
{
    pid_t child;
    int status;
    a->of[a->count] = NULL;
    if (posix_spawnp(&child, a->of[0], NULL, NULL, (char *const *)a->of, environ) != 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The compiler that answers as gcc does; NULL: there is none. */
static const char *find_compiler(void)
{
    static const char *const names[] = {"gcc", "cc"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        arguments a = {.count = 0};
        posix_spawn_file_actions_t quiet;
        pid_t child;
        int status = -1;
        add(&a, names[i]);
        add(&a, "-dumpversion");
        if (posix_spawn_file_actions_init(&quiet) != 0)
            return NULL;
        posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        const int started = posix_spawnp(&child, names[i], &quiet, NULL, (char *const *)a.of, environ) == 0;
        posix_spawn_file_actions_destroy(&quiet);
        if (started && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return names[i];
    }
    return NULL;
}

typedef struct build {
    const lab_user_kernel *kernel;
    const char *compiler, *data, *work;
} build;

/* "-DNAME=VALUE" of each define, in memory that the caller frees; NULL where there is none. */
static char *define_texts(const lab_user_kernel *kernel, arguments *a)
{
    size_t bytes = 1;
    for (size_t i = 0; i < kernel->define_count; i++)
        bytes += strlen(kernel->defines[i]) + 3;
    char *const texts = malloc(bytes), *at = texts;
    for (size_t i = 0; texts && i < kernel->define_count; i++) {
        add(a, at);
        at += sprintf(at, "-D%s", kernel->defines[i]) + 1;
    }
    return texts;
}

/* One of the two forms of the kernel: `flags` beside the common ones, callbacks renamed by `syms`. */
static tsr_status compile_form(const build *b, const char *const *flags, size_t flag_count, const char *symbol,
                               const char *syms, const char *object)
{
    static const char *const common[] = {USER_FLAGS};
    char kernels[TEXT_MAX], headers[TEXT_MAX], element[32], name[64], to[TEXT_MAX], renames[TEXT_MAX];
    arguments a = {.count = 0};
    snprintf(kernels, sizeof kernels, "-I%s/kernels", b->data);
    snprintf(headers, sizeof headers, "-I%s/kernel-headers", b->data);
    snprintf(element, sizeof element, "-DELEM_%s", tsr_dtype_name(b->kernel->dtype));
    snprintf(name, sizeof name, "-DTSR_KERNEL_NAME=%s", symbol);
    snprintf(to, sizeof to, "%s/%s", b->work, object);
    snprintf(renames, sizeof renames, "--redefine-syms=%s/try/%s", b->data, syms);
    add(&a, b->compiler);
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        add(&a, common[i]);
    for (size_t i = 0; i < flag_count; i++)
        add(&a, flags[i]);
    add(&a, element);
    add(&a, name);
    add(&a, kernels);
    add(&a, headers);
    char *const texts = define_texts(b->kernel, &a);
    if (!texts)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the compiler's arguments");
    add(&a, "-c");
    add(&a, b->kernel->path);
    add(&a, "-o");
    add(&a, to);
    const int code = run(&a);
    free(texts);
    if (code != 0)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: %s does not compile it", b->kernel->path, b->compiler);
    arguments rename = {.of = {"objcopy", renames, to}, .count = 3};
    if (run(&rename) != 0)
        return tsr_fail(TSR_INTERNAL, "objcopy (of binutils) cannot be run, or cannot rename the kernel's calls");
    return TSR_OK;
}

static tsr_status link_forms(const build *b)
{
    char slots[TEXT_MAX], calls[TEXT_MAX], folder[TEXT_MAX], emulated[TEXT_MAX], watched[TEXT_MAX], to[TEXT_MAX];
    snprintf(slots, sizeof slots, "%s/try/user.S", b->data);
    snprintf(calls, sizeof calls, "%s/try/calls.S", b->data);
    snprintf(folder, sizeof folder, "-I%s/try", b->data);
    snprintf(emulated, sizeof emulated, "%s/kernel.o", b->work);
    snprintf(watched, sizeof watched, "%s/watched.o", b->work);
    snprintf(to, sizeof to, "%s/" MODULE, b->work);
    arguments a = {
        .of = {b->compiler, "-shared", "-Wl,--no-undefined", folder, "-o", to, slots, calls, emulated, watched},
        .count = 10};
    return run(&a) == 0 ? TSR_OK
                        : tsr_fail(TSR_INVALID_ARGUMENT,
                                   "%s: no TSR_KERNEL(threads) { ... }, or it calls a function that is not there",
                                   b->kernel->path);
}

tsr_status lab_user_kernel_compile(const lab_user_kernel *kernel, const char *data, const char *work)
{
    static const char *const emulated[] = {USER_EMULATED_FLAGS, "-Werror=implicit-function-declaration"};
    static const char *const watched[] = {USER_WATCHED_FLAGS, "-w"}; /* the first form has had its warnings */
    const build b = {.kernel = kernel, .compiler = find_compiler(), .data = data, .work = work};
    if (!b.compiler)
        return tsr_fail(TSR_UNSUPPORTED, "neither gcc nor cc is to be found on the PATH (Debian and Ubuntu: gcc)");
    setenv("TMPDIR", work, 1); /* the compiler's own files go with ours */
    tsr_status status = compile_form(&b, emulated, sizeof emulated / sizeof emulated[0], "tsr_user_kernel",
                                     "callbacks.syms", "kernel.o");
    if (status == TSR_OK)
        status = compile_form(&b, watched, sizeof watched / sizeof watched[0], "tsr_user_watched_kernel",
                              "watched.syms", "watched.o");
    return status == TSR_OK ? link_forms(&b) : status;
}

/* ---- the config ------------------------------------------------------------------------------------------------- */

typedef struct user_config {
    tsr_config config;
    char name[64];
} user_config;

/* The file's name without its end, of the characters that kernels' names have; not that of a kernel of the table. */
static void name_of(const char *path, char name[64])
{
    static const char more[] = "_yours";
    const char *const slash = strrchr(path, '/'), *const base = slash ? slash + 1 : path;
    const char *const dot = strrchr(base, '.');
    const size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    size_t used = 0;
    for (size_t i = 0; i < length && used + sizeof more < 48; i++)
        name[used++] = isalnum((unsigned char)base[i]) ? (char)tolower((unsigned char)base[i]) : '_';
    name[used] = '\0';
    if (tsr_config_exists(name))
        strcpy(name + used, more);
}

tsr_status lab_user_kernel_load(const lab_user_kernel *kernel, const char *work, const char **name)
{
    char path[TEXT_MAX];
    user_config *const made = calloc(1, sizeof *made);
    if (!made)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for one more kernel");
    const int is_wide = kernel->dtype == TSR_F32 || kernel->dtype == TSR_F64;
    const tsr_layouts layouts = kernel->any_problem ? TSR_ANY_LAYOUT : TSR_ONLY_N;
    name_of(kernel->path, made->name);
    made->config = (tsr_config){.name = made->name,
                                .instance = made->name,
                                .summary = "your own",
                                .kind = TSR_CONFIG_CUDA,
                                .source = kernel->path,
                                .defines = "",
                                .op = TSR_OP(kernel->dtype, kernel->dtype, tsr_dtype_compute(kernel->dtype)),
                                .min_arch = 90,
                                .bm = kernel->bm,
                                .bn = kernel->bn,
                                .bk = kernel->bk,
                                .threads_x = kernel->threads_x,
                                .threads_y = kernel->threads_y,
                                .smem_bytes = kernel->shared_bytes,
                                .bound_c = is_wide ? 8 : 40,
                                .efficiency = 0.1,
                                .a_layout = layouts,
                                .b_layout = layouts,
                                .family = TSR_FAMILY_SIMT};
    snprintf(path, sizeof path, "%s/" MODULE, work);
    const tsr_status status = tsr_emu_user_load(path, &made->config);
    *name = made->name;
    if (status != TSR_OK)
        free(made);
    return status;
}

/* ---- where a kernel is that does not end ------------------------------------------------------------------------ */

static int is_in_kernel(const void *address)
{
    Dl_info info;
    const char *const slash = dladdr(address, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    return slash && strcmp(slash + 1, MODULE) == 0;
}

/* Where the interrupted code was, and its stack; 0 on processors of which that is not known. */
static int find_registers(const ucontext_t *context, uintptr_t *at, const uintptr_t **stack)
{
#if defined(__x86_64__)
    *at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    *stack = (const uintptr_t *)context->uc_mcontext.gregs[REG_RSP];
    return 1;
#elif defined(__aarch64__)
    *at = (uintptr_t)context->uc_mcontext.pc;
    *stack = (const uintptr_t *)context->uc_mcontext.sp;
    return 1;
#else
    (void)context, (void)at, (void)stack;
    return 0;
#endif
}

/* Tells the line where the kernel is: that of the interrupted instruction, or of the nearest caller on the stack that
 * has one, where the interrupted code is the emulator's or a stub through which the kernel calls it. */
static void tell_line(const ucontext_t *context, lab_user_place *place)
{
    enum { WORDS = 256 };
    uintptr_t at = 0;
    const uintptr_t *stack = NULL;
    if (!find_registers(context, &at, &stack))
        return;
    if (is_in_kernel((const void *)at) && tsr_emu_trace_place((const void *)(at + 1), place->text, sizeof place->text))
        return;
    for (int i = 0; i < WORDS; i++)
        if (is_in_kernel((const void *)stack[i]) &&
            tsr_emu_trace_place((const void *)stack[i], place->text, sizeof place->text))
            return;
}

/* Not all that it calls is made for signal handlers. But the process is to end, its parent waits only a moment, and the
 * usual place is a loop of the kernel, where no lock is held. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    lab_user_place *const place = info->si_code == SI_QUEUE ? info->si_value.sival_ptr : NULL;
    if (place)
        tell_line(context, place);
    _exit(1);
}

void lab_user_kernel_tell_place(void)
{
    enum { STACK_BYTES = 128 << 10 };
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES}; /* a kernel's own are small */
    if (!stack.ss_sp || sigaltstack(&stack, NULL) != 0)
        return;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

int lab_is_user_kernel(const char *instance)
{
    const tsr_added_kernel *const added = tsr_added();
    return added && strcmp(added->config->instance, instance) == 0;
}
