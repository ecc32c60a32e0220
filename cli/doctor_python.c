#include "cli/doctor_python.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/own_library.h"

/* Prints "key=value" lines; that the package loaded is out before anything can end the Python. Products of small whole
 * numbers are exact, so the results must be equal. */
static const char script[] =
    "import sys\n"
    "name = sys.argv[1]\n"
    "try:\n"
    "    import numpy as np\n"
    "    package = __import__(name)\n"
    "    if name == 'scipy':\n"
    "        import scipy.linalg.blas as blas\n"
    "except BaseException as error:\n"
    "    print('trouble=' + (str(error) or repr(error)).splitlines()[0])\n"
    "    sys.exit(0)\n"
    "print('version=' + package.__version__)\n"
    "print('file=' + package.__file__, flush=True)\n"
    "right = True\n"
    "for kind in ('f4', 'f8'):\n"
    "    a = (np.arange(97 * 83).reshape(97, 83) % 7 - 3).astype(kind)\n"
    "    b = (np.arange(83 * 89).reshape(83, 89) % 5 - 2).astype(kind)\n"
    "    if name == 'scipy':\n"
    "        c = (blas.sgemm if kind == 'f4' else blas.dgemm)(1.0, a, b)\n"
    "    else:\n"
    "        c = a @ b\n"
    "    right = right and bool((c == np.einsum('ij,jk->ik', a.astype('i8'), b.astype('i8'))).all())\n"
    "print('right=%d' % right)\n"
    "try:\n"
    "    files = {line.split()[-1] for line in open('/proc/self/maps') if '/' in line}\n"
    "except OSError:\n"
    "    files = set()\n"
    "names = sorted(f for f in files if ('blas' in f.split('/')[-1] or 'blis' in f or 'mkl' in f) and '.so' in f\n"
    "               and 'tessera' not in f.split('/')[-1] and '_fblas' not in f and '_blas' not in "
    "f.split('/')[-1][:6]\n"
    "               and 'cpython' not in f)\n"
    "print('blas=' + ', '.join(names))\n";

/* The same of PyTorch, whose sums of ones are exact too. */
static const char torch_script[] =
    "import sys\n"
    "try:\n"
    "    import torch\n"
    "except BaseException as error:\n"
    "    print('trouble=' + (str(error) or repr(error)).splitlines()[0])\n"
    "    sys.exit(0)\n"
    "print('version=' + torch.__version__)\n"
    "print('file=' + torch.__file__, flush=True)\n"
    "right = True\n"
    "if torch.cuda.is_available():\n"
    "    print('gpu=1')\n"
    "    for dtype in (torch.bfloat16, torch.float16, torch.float32):\n"
    "        a = torch.ones((64, 64), dtype=dtype, device='cuda')\n"
    "        right = right and (a @ a).double().sum().item() == 64.0 ** 3\n"
    "        right = right and torch.nn.functional.linear(a, a, a[0]).double().sum().item() == 64.0 * 64 * 65\n"
    "    import ctypes\n"
    "    chip, cublas = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)\n"
    "    try:\n"
    "        lines = ctypes.CDLL(None).tessera_cublas_table_lines(chip, cublas, ctypes.c_size_t(64))\n"
    "        print('chip=' + chip.value.decode(), 'cublas=' + cublas.value.decode(), 'lines=%d' % lines, sep='\\n')\n"
    "    except AttributeError:\n" /* a libtessera_cublas of another version */
    "        pass\n"
    "print('right=%d' % right)\n"
    "try:\n"
    "    files = {line.split()[-1] for line in open('/proc/self/maps') if '/' in line}\n"
    "except OSError:\n"
    "    files = set()\n"
    "print('blas=' + ', '.join(sorted(f for f in files if f.split('/')[-1].startswith('libcublas'))))\n"
    "print('library=' + ''.join(sorted(f for f in files if 'libtorch_cuda' in f.split('/')[-1])[:1]))\n";

static void set(char *to, size_t bytes, const char *value)
{
    snprintf(to, bytes, "%s", value);
    to[strcspn(to, "\n")] = '\0';
}

static void read_answers(FILE *from, cli_doctor_package *out)
{
    char line[2 * CLI_DOCTOR_TEXT];
    while (fgets(line, sizeof line, from)) {
        char *value = strchr(line, '=');
        if (!value)
            continue;
        *value++ = '\0';
        if (strcmp(line, "version") == 0) {
            out->present = 1;
            set(out->version, sizeof out->version, value);
        } else if (strcmp(line, "file") == 0) {
            set(out->file, sizeof out->file, value);
        } else if (strcmp(line, "blas") == 0) {
            set(out->blas, sizeof out->blas, value);
        } else if (strcmp(line, "library") == 0) {
            set(out->library, sizeof out->library, value);
        } else if (strcmp(line, "chip") == 0) {
            set(out->chip, sizeof out->chip, value);
        } else if (strcmp(line, "cublas") == 0) {
            set(out->cublas, sizeof out->cublas, value);
        } else if (strcmp(line, "lines") == 0) {
            out->lines = atoi(value);
        } else if (strcmp(line, "gpu") == 0) {
            out->has_gpu = 1;
        } else if (strcmp(line, "trouble") == 0) {
            set(out->trouble, sizeof out->trouble, value);
        } else if (strcmp(line, "right") == 0) {
            out->right = value[0] == '1';
        }
    }
}

static int is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return 0;
}

/* Adds to a list what it does not have yet. */
static void list_once(char list[CLI_DOCTOR_TEXT], const char *name)
{
    const size_t used = strlen(list);
    if (!is_listed(list, name))
        snprintf(list + used, CLI_DOCTOR_TEXT - used, "%s%s", used ? ", " : "", name);
}

/* The symbols of the call log, and why calls of cuBLAS went on, each once. */
static void read_log(const char *path, cli_doctor_package *out)
{
    char line[1024], name[64], why[64];
    FILE *log = fopen(path, "r");
    while (log && fgets(line, sizeof line, log)) {
        if (sscanf(line, "tessera-call %63s", name) != 1 && sscanf(line, "tessera-cublas %63s", name) != 1)
            continue;
        out->calls++;
        list_once(out->symbols, name);
        const char *went_on = strstr(line, " by=cublas ");
        out->answered += !went_on;
        if (went_on && sscanf(went_on, " by=cublas why=%63s", why) == 1)
            list_once(out->whys, why);
    }
    if (log)
        fclose(log);
}

/* In the child: never returns. */
static void become_python(const char *python, const char *preload, const char *package, const char *log, int out)
{
    const char *text = strcmp(package, "torch") == 0 ? torch_script : script;
    char *const arguments[] = {(char *)python, "-c", (char *)text, (char *)package, NULL};
    const char *before = getenv("LD_PRELOAD");
    char list[2 * CLI_DOCTOR_TEXT];
    snprintf(list, sizeof list, "%s%s%s", preload, before && *before ? ":" : "", before ? before : "");
    if (dup2(out, STDOUT_FILENO) < 0)
        _exit(126);
    setenv("LD_PRELOAD", list, 1);
    setenv("TESSERA_LOG", "calls", 1);
    setenv("TESSERA_LOG_FILE", log, 1);
    execvp(python, arguments);
    _exit(errno == ENOENT ? 127 : 126);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Copies what the pipe `from` gives until all its writers are gone. 0 if a signal came, or the time was up, before. */
static int copy_answers(int from, FILE *to, double seconds)
{
    const double until = now_s() + seconds;
    char bytes[4096];
    for (ssize_t got; !cli_interrupted() && now_s() < until;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (poll(&ready, 1, 50) <= 0)
            continue;
        if ((got = read(from, bytes, sizeof bytes)) == 0 || (got < 0 && errno != EINTR))
            return 1;
        if (got > 0)
            fwrite(bytes, 1, (size_t)got, to);
    }
    return 0;
}

static int run_child(const char *python, const char *preload, const char *package, const char *log, int64_t seconds,
                     cli_doctor_package *out, char message[CLI_DOCTOR_TEXT])
{
    int ends[2], state = 0, is_done = 0;
    FILE *const answers = tmpfile();
    if (!answers) {
        snprintf(message, CLI_DOCTOR_TEXT, "no temporary file for its answers: %s", strerror(errno));
        return 0;
    }
    if (pipe(ends) != 0) {
        snprintf(message, CLI_DOCTOR_TEXT, "no pipe: %s", strerror(errno));
        fclose(answers);
        return 0;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        setpgid(0, 0); /* so that it ends with all that it started */
        become_python(python, preload, package, log, ends[1]);
    }
    close(ends[1]);
    if (child > 0) {
        setpgid(child, child);
        is_done = copy_answers(ends[0], answers, (double)seconds);
        if (!is_done)
            kill(-child, SIGKILL);
        rewind(answers);
        read_answers(answers, out);
    }
    close(ends[0]);
    fclose(answers);
    if (child < 0 || waitpid(child, &state, 0) != child) {
        snprintf(message, CLI_DOCTOR_TEXT, "cannot start it: %s", strerror(errno));
        return 0;
    }
    if (!is_done) {
        snprintf(message, CLI_DOCTOR_TEXT, cli_interrupted() ? "interrupted" : "not done within %lld s",
                 (long long)seconds);
        return 0;
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) >= 126) {
        snprintf(message, CLI_DOCTOR_TEXT,
                 WEXITSTATUS(state) == 127 ? "there is no such program" : "it cannot be executed");
        return 0;
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
        out->ended = 1;
        snprintf(message, CLI_DOCTOR_TEXT, "it ended with %s %d", WIFEXITED(state) ? "code" : "signal",
                 WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
        return 0;
    }
    return 1;
}

int cli_doctor_python(const char *python, const char *preload, const char *package, int64_t seconds,
                      cli_doctor_package *out, char message[CLI_DOCTOR_TEXT])
{
    char log[] = "/tmp/tessera-doctor-XXXXXX";
    memset(out, 0, sizeof *out);
    out->lines = -1;
    if (!cli_can_preload(preload)) {
        snprintf(message, CLI_DOCTOR_TEXT, "%.900s: LD_PRELOAD cannot name a path with a space or a colon", preload);
        return 0;
    }
    const int fd = mkstemp(log);
    if (fd < 0) {
        snprintf(message, CLI_DOCTOR_TEXT, "no temporary file for the call log: %s", strerror(errno));
        return 0;
    }
    close(fd);
    cli_interrupt_catch();
    const int good = run_child(python, preload, package, log, seconds, out, message);
    read_log(log, out);
    unlink(log);
    return good;
}
