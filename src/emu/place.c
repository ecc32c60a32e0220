/* From a return address to a source line. The debug information is read by binutils' addr2line, run only when a fault
 * is reported; without it the message has module and offset, which a developer can look up. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fault.h"

/* Runs addr2line with all its output in `text`. 0 if it could not be run. */
static int run_addr2line(const char *module, const char *offset, char *text, size_t text_bytes)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        close(ends[0]);
        close(ends[1]);
        return 0;
    }
    const int has_no_memory = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) != 0 ||
                              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0;
    char *arguments[] = {"addr2line", "-i", "-e", (char *)module, (char *)offset, NULL};
    char *environment[] = {NULL, NULL};
    char path[1024];
    const char *own_path = secure_getenv("PATH"); /* a set-uid program starts none of its caller's */
    snprintf(path, sizeof path, "PATH=%s", own_path ? own_path : "/usr/bin:/bin");
    environment[0] = path;
    pid_t child;
    const int failed = has_no_memory ? 1
                       : own_path    ? posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environment)
                                  : posix_spawn(&child, "/usr/bin/addr2line", &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t used = 0;
    ssize_t got = 0;
    while (!failed && used < text_bytes - 1 &&
           ((got = read(ends[0], text + used, text_bytes - 1 - used)) > 0 || (got < 0 && errno == EINTR)))
        used += got > 0 ? (size_t)got : 0;
    text[used] = '\0';
    close(ends[0]);
    int status = 0;
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return !failed && used > 0;
}

/* The part of a path that is the project's: from the last "/kernels/" or "/tests/" on. */
static const char *short_path(const char *path)
{
    static const char *const roots[] = {"/kernels/", "/tests/"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const char *found = NULL;
        for (const char *at = strstr(path, roots[i]); at; at = strstr(at + 1, roots[i]))
            found = at;
        if (found)
            return found + 1;
    }
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* addr2line -i prints the innermost inlined function first; the last line is the kernel itself. */
static int parse_lines(char *text, char *out, size_t out_bytes)
{
    const char *first = NULL, *last = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '?' || line[0] == ':') /* no file */
            continue;
        char *note = strstr(line, " (discriminator");
        if (note)
            *note = '\0';
        first = first ? first : line;
        last = line;
    }
    if (!last)
        return 0;
    if (first == last)
        snprintf(out, out_bytes, "%s", short_path(last));
    else
        snprintf(out, out_bytes, "%s (in %s)", short_path(last), short_path(first));
    return 1;
}

int tsr_emu_place(const void *place, char *text, size_t text_bytes)
{
    Dl_info info;
    snprintf(text, text_bytes, "%s", place ? "an unknown place" : "at its start");
    if (!place || !dladdr(place, &info) || !info.dli_fname || !info.dli_fbase)
        return 0;
    /* Before the return address lies the call. Programs that are not position independent are linked at their address.
     */
    const Elf64_Ehdr *header = info.dli_fbase;
    const uintptr_t base = header->e_type == ET_EXEC ? 0 : (uintptr_t)info.dli_fbase;
    const unsigned long offset = (unsigned long)((uintptr_t)place - base - 1);
    /* dladdr names the program as it was called, which need not be a path. */
    const char *module =
        access(info.dli_fname, R_OK) == 0 && strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
    char self[1024];
    if (module[0] == '/' && strcmp(module, "/proc/self/exe") == 0) {
        const ssize_t length = readlink(module, self, sizeof self - 1);
        if (length > 0) {
            self[length] = '\0';
            module = self;
        }
    }
    char number[32], output[2048];
    snprintf(number, sizeof number, "0x%lx", offset);
    if (run_addr2line(module, number, output, sizeof output) && parse_lines(output, text, text_bytes))
        return 1;
    snprintf(text, text_bytes, "%s+0x%lx", short_path(module), offset);
    return 0;
}
