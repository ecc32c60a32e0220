/* call_log TESSERA: the call log in programs that close descriptors which they do not know, that have no standard
 * input, that may write only short files, or that have a locale with a decimal comma. TESSERA, the command, is to read
 * what was logged. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../comma_locale.h"

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);

enum { ROW_MAJOR = 101, NO_TRANS = 111, SKIPPED = 77, MOST_FDS = 64 };

static char folder[] = "/tmp/tessera-call-log-XXXXXX", log_path[64], data_path[64];

static int product(void)
{
    const float a[] = {1, 2, 3, 4};
    float c[4] = {0};
    cblas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 2, 2, 2, 2.5f, a, 2, a, 2, 0, c, 2);
    return c[3] == 55;
}

static int lines_with(const char *path, const char *part)
{
    char line[1000];
    int count = 0;
    FILE *const file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, part) != NULL;
    if (file)
        fclose(file);
    return count;
}

static void close_all(void)
{
    for (int fd = STDERR_FILENO + 1; fd < MOST_FDS; fd++)
        close(fd);
}

/* A daemon: what it opens next has the log's number. */
static int closed_and_taken(void)
{
    struct stat data;
    if (!product())
        return 0;
    close_all();
    if (chdir("/") != 0)
        return 0;
    int first = -1;
    for (int i = 0; i < 8; i++) { /* so many that the log's number is among theirs */
        const int fd = open(data_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        first = first < 0 ? fd : first;
    }
    const int right = product() && product();
    return right && fstat(first, &data) == 0 && data.st_size == 0 && lines_with(log_path, "tessera-call ") == 3;
}

/* Not even for a moment. */
static int closed(void)
{
    const int before = product();
    close_all();
    return before && product() && lines_with(log_path, "tessera-call ") == 2;
}

/* The log is not the standard input that the program lacks. */
static int without_input(void)
{
    close(STDIN_FILENO);
    return product() && fcntl(STDIN_FILENO, F_GETFD) < 0 && lines_with(log_path, "tessera-call ") == 1;
}

/* What would be standard error is a file of the program's. */
static int without_error(void)
{
    struct stat data;
    unsetenv("TESSERA_LOG_FILE");
    close(STDERR_FILENO);
    const int first = product();
    const int fd = open(data_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return first && fd == STDERR_FILENO && product() && fstat(fd, &data) == 0 && data.st_size == 0;
}

/* The same from the beginning: neither lines nor messages, of which this environment gives one, reach the file. */
static int begun_without_error(void)
{
    unsetenv("TESSERA_LOG_FILE");
    setenv("TESSERA_NUM_THREADS", "abc", 1);
    close(STDERR_FILENO);
    execl("/proc/self/exe", "embed_call_log", "--no-error", data_path, (char *)NULL);
    return 0;
}

static int without_error_at_all(const char *path)
{
    struct stat data;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd == STDERR_FILENO && product() && fstat(fd, &data) == 0 && data.st_size == 0;
}

/* A log that the program's limit lets grow no further costs lines, not the program. Lines are there whole or not. */
static int with_short_files(void)
{
    struct stat log;
    sigset_t pending;
    if (!product() || stat(log_path, &log) != 0)
        return 0;
    const rlim_t most = (rlim_t)log.st_size * 5 / 2;
    const struct rlimit limit = {most, most};
    int right = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    for (int i = 0; i < 4; i++)
        right = right && product();
    return right && sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ) && stat(log_path, &log) == 0 &&
           lines_with(log_path, "tessera-call ") == 2 && lines_with(log_path, "\n") == 2;
}

static int with_comma(void)
{
    if (!set_comma_locale())
        return SKIPPED;
    return product() && lines_with(log_path, " alpha=2.5 beta=0 ") == 1;
}

static int run(const char *name, int (*part)(void))
{
    int status = -1;
    unlink(log_path);
    unlink(data_path);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int right = part();
        _exit(right == SKIPPED ? SKIPPED : !right);
    }
    waitpid(child, &status, 0);
    const int skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
    printf("%s: %s\n", name, status == 0 ? "ok" : skipped ? "cannot be tried here" : "wrong");
    return status != 0 && !skipped;
}

/* The log of the last part, which had a comma. */
static int replay(const char *tessera)
{
    char line[1000];
    if (lines_with(log_path, "tessera-call ") == 0)
        return 1;
    snprintf(line, sizeof line, "'%s' bench --device cpu --rounds 3 --replay '%s' >/dev/null", tessera, log_path);
    return system(line) == 0;
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "--no-error") == 0)
        return !without_error_at_all(arguments[2]);
    if (count != 2 || !mkdtemp(folder))
        return 2;
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    snprintf(data_path, sizeof data_path, "%s/data", folder);
    setenv("TESSERA_LOG", "calls", 1);
    setenv("TESSERA_LOG_FILE", log_path, 1);
    setenv("TESSERA_DEVICE", "cpu", 1);
    int wrong = run("descriptors closed and taken", closed_and_taken) + run("descriptors closed", closed) +
                run("no standard input", without_input) + run("no standard error", without_error) +
                run("none from the beginning", begun_without_error) + run("a limit of files' sizes", with_short_files) +
                run("a decimal comma", with_comma);
    unsetenv("TESSERA_LOG");
    const int replayed = replay(arguments[1]);
    printf("replayed: %s\n", replayed ? "ok" : "wrong");
    unlink(log_path);
    unlink(data_path);
    rmdir(folder);
    return wrong || !replayed;
}
