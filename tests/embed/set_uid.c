/* A set-uid program does not write its call log to a file that its caller names. Needs root, to make such a program,
 * and folders that others can reach; else it is skipped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);

enum { SKIPPED = 77, NOBODY = 65534, ROW_MAJOR = 101, NO_TRANS = 111 };

static int product(void)
{
    const float a[] = {1, 2, 3, 4};
    float c[4] = {0};
    cblas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
    return c[3] == 22 ? 0 : 1;
}

static int copy(const char *from, const char *to)
{
    char bytes[1 << 16];
    const int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t count = -1;
    while (in >= 0 && out >= 0 && (count = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)count) != count)
            return 0;
    close(in);
    close(out);
    return count == 0;
}

/* Runs the program as nobody; its exit status. */
static int run_as_nobody(const char *program)
{
    const pid_t child = fork();
    int status = -1;
    if (child == 0) {
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
            execl(program, program, "product", (char *)NULL);
        _exit(SKIPPED);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/tessera-set-uid-XXXXXX", program[64], log[64];
    struct stat before, after;
    if (argc > 1)
        return geteuid() == getuid() ? SKIPPED : product(); /* the file system may not honour the bit */
    if (geteuid() != 0 || !mkdtemp(folder) || chmod(folder, 0755) != 0)
        return SKIPPED;
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    const int fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* root's own */
    int code = SKIPPED;
    setenv("TESSERA_LOG", "calls", 1);
    setenv("TESSERA_LOG_FILE", log, 1);
    if (fd >= 0 && fstat(fd, &before) == 0 && copy(argv[0], program) && chmod(program, 04755) == 0)
        code = run_as_nobody(program);
    if (code == 0 && fstat(fd, &after) == 0 && after.st_size != before.st_size) {
        printf("the log that nobody named was written: %lld bytes\n", (long long)after.st_size);
        code = 1;
    }
    if (code != 0 && code != 1)
        code = SKIPPED; /* the loader did not reach the library, say */
    close(fd);
    unlink(program);
    unlink(log);
    rmdir(folder);
    return code;
}
