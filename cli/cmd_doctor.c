/* tessera doctor: what was found on this machine, and whether a Python's NumPy and PyTorch really call us. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/doctor_blas.h"
#include "cli/doctor_python.h"
#include "cli/doctor_versions.h"
#include "cli/output.h"
#include "cli/own_library.h"

typedef struct settings {
    const char *python, *blas, *cublas;
    int64_t timeout;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {{.name = "--python",
                                      .value = "PYTHON",
                                      .help = "the interpreter to try (default python3, if there is one)",
                                      .parse = cli_parse_text,
                                      AT(python)},
                                     {.name = "--blas",
                                      .value = "FILE",
                                      .help = "libtessera_blas (default: the one that belongs to this command)",
                                      .parse = cli_parse_text,
                                      AT(blas)},
                                     {.name = "--cublas",
                                      .value = "FILE",
                                      .help = "libtessera_cublas (default: the one that belongs to this command)",
                                      .parse = cli_parse_text,
                                      AT(cublas)},
                                     {.name = "--timeout",
                                      .value = "S",
                                      .help = "seconds for each package in the Python (default 120)",
                                      .parse = cli_parse_int,
                                      AT(timeout),
                                      .min = 1,
                                      .max = 86400},
                                     {0}};

enum { INDENT = 11 };

static void tell(const char *label, const char *text)
{
    printf("%-*s", INDENT, label);
    cli_print_wrapped(stdout, text, INDENT, INDENT);
}

/* ---- libraries ---- */

/* 1 if it loads and has the names that only such a library has; `second` may be NULL. */
static int check_library(const char *label, const char *path, const char *first, const char *second)
{
    char text[PATH_MAX + 300];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const int good = library && dlsym(library, first) && (!second || dlsym(library, second));
    if (good)
        snprintf(text, sizeof text, "%s", path);
    else if (library)
        snprintf(text, sizeof text, "%s: has no %s%s%s", path, first, second ? " and " : "", second ? second : "");
    else
        snprintf(text, sizeof text, "%s: %s", path, dlerror());
    tell(label, text);
    if (library)
        dlclose(library);
    return good;
}

static void tell_view(const char *label, const cli_blas_view *view)
{
    char about[PATH_MAX + 200], text[2 * PATH_MAX + 300];
    cli_blas_describe(view, about, sizeof about);
    snprintf(text, sizeof text, "%s: %s", view->path, about);
    tell(label, text);
}

/* The complete BLAS that packaging/link-blas made of ours and another, where it was built or installed: what may stand
 * for libblas.so.3. */
static void tell_full_blas(const char *blas)
{
    static const char *const places[] = {"tessera", "blas"};
    char path[2 * PATH_MAX];
    cli_blas_view view;
    const char *slash = strrchr(blas, '/');
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%.*s/%s/libblas.so.3", slash ? (int)(slash - blas) : 0, blas, places[i]);
        if (access(path, F_OK) != 0)
            continue;
        if (cli_blas_look(path, &view))
            tell_view("full BLAS", &view);
        else
            tell("full BLAS", view.path);
        return;
    }
}

/* The system's: what programs get that nobody preloads anything into. */
static void tell_system_blas(void)
{
    cli_blas_view view;
    if (cli_blas_look("libblas.so.3", &view))
        tell_view("system's", &view);
    else
        tell("system's", "no libblas.so.3: programs that need one do not start");
}

/* ---- Python ---- */

/* What a Python ended with that had not told all: perhaps as it loaded a package that fails with ours, or anywhere. One
 * that multiplied with ours fails the command. */
static int tell_end(const cli_command *self, const char *name, const cli_doctor_package *p, const char *message)
{
    char text[2 * CLI_DOCTOR_TEXT];
    if (!p->ended) {
        tell(name, message);
        return CLI_OK;
    }
    snprintf(text, sizeof text, "cannot be tried: %s as Python %s it", message, p->present ? "used" : "loaded");
    tell(name, text);
    return p->present ? cli_failure(self, "%s does not work with our library loaded", name) : CLI_OK;
}

static int check_results(const cli_command *self, const char *name, const cli_doctor_package *p)
{
    return p->present && !p->right ? cli_failure(self, "the results of %s are wrong", name) : CLI_OK;
}

static void tell_package(const char *name, const cli_doctor_package *p)
{
    char text[4 * CLI_DOCTOR_TEXT];
    if (!p->present) {
        snprintf(text, sizeof text, "not to be had: %s", p->trouble);
        tell(name, text);
        return;
    }
    snprintf(text, sizeof text, "%s, %s", p->version, p->file);
    tell(name, text);
    snprintf(text, sizeof text, "beside ours it has loaded %s", p->blas[0] ? p->blas : "no BLAS");
    tell("", text);
    if (p->symbols[0])
        snprintf(text, sizeof text, "calls us: yes, %s; results %s", p->symbols, p->right ? "right" : "WRONG");
    else
        snprintf(text, sizeof text, "calls us: NO%s; results %s",
                 p->blas[0] ? ": its products use names that we lack, or a BLAS inside the module itself"
                            : ": it was built without a BLAS",
                 p->right ? "right" : "WRONG");
    tell("", text);
}

static int try_scipy(const cli_command *self, const settings *set, const char *python, const char *blas)
{
    char message[CLI_DOCTOR_TEXT];
    cli_doctor_package package;
    if (!cli_doctor_python(python, blas, "scipy", set->timeout, &package, message))
        return tell_end(self, "SciPy", &package, message);
    tell_package("SciPy", &package);
    return check_results(self, "SciPy", &package);
}

static int try_python(const cli_command *self, const settings *set, const char *blas)
{
    const char *python = set->python ? set->python : "python3";
    char message[CLI_DOCTOR_TEXT];
    cli_doctor_package package;
    tell("Python", python);
    if (!cli_doctor_python(python, blas, "numpy", set->timeout, &package, message))
        return set->python ? cli_failure(self, "%s: %s", python, message) : (tell("", message), CLI_OK);
    tell_package("NumPy", &package);
    const int scipy_code = package.present ? try_scipy(self, set, python, blas) : CLI_OK;
    if (!package.present && !set->python)
        return CLI_OK;
    if (!package.present || !package.symbols[0])
        return cli_failure(self, "%s: NumPy does not call libtessera_blas", python);
    if (check_results(self, "NumPy", &package) != CLI_OK || scipy_code != CLI_OK)
        return CLI_FAILED;
    printf("\nTo use it:  LD_PRELOAD=%s %s your_script.py\n", blas, python);
    return CLI_OK;
}

/* ---- PyTorch ---- */

/* What a PyTorch without a GPU would do: the loader binds a reference to the version that it asks for. */
static void tell_would_call(const char *cublas, const cli_doctor_package *p)
{
    char versions[256], text[4 * CLI_DOCTOR_TEXT];
    if (!p->library[0] || !cli_needed_versions(p->library, "libcublas", versions, sizeof versions)) {
        tell("", "would call us: NO: no library of it needs a cuBLAS by version");
        return;
    }
    const int good = cli_has_versions(cublas, versions);
    snprintf(text, sizeof text, "would call us on a GPU: %s: %s needs %s, which ours %s", good ? "yes" : "NO",
             p->library, versions, good ? "has" : "lacks");
    tell("", text);
}

/* What TESSERA_CUBLAS=auto goes by, and what to do where that is nothing. */
static void tell_table(const cli_doctor_package *p)
{
    char text[CLI_DOCTOR_TEXT];
    const char *own = getenv("TESSERA_CUBLAS_TABLE");
    const char *which = own && *own ? "that TESSERA_CUBLAS_TABLE names" : "that is compiled in";
    const char *chip = p->chip[0] ? p->chip : "this GPU, which the driver does not name,";
    if (p->lines > 0)
        snprintf(text, sizeof text, "the table %s has %d line%s of %s with cuBLAS %s%s", which, p->lines,
                 p->lines == 1 ? "" : "s", chip, p->cublas,
                 p->answered == 0 && strstr(p->whys, "no-line-in-the-table") ? ", none of products as small as these"
                                                                             : "");
    else
        snprintf(text, sizeof text,
                 "the table %s has no line of %s with cuBLAS %s: TESSERA_CUBLAS=always answers whatever can be, faster "
                 "or not, and docs/CUBLAS.md says how to measure a table of your own",
                 which, chip, p->cublas);
    tell("", text);
}

static void tell_torch(const char *cublas, const cli_doctor_package *p)
{
    char text[4 * CLI_DOCTOR_TEXT];
    if (!p->present) {
        snprintf(text, sizeof text, "not to be had: %s", p->trouble);
        tell("PyTorch", text);
        return;
    }
    snprintf(text, sizeof text, "%s, %s", p->version, p->file);
    tell("PyTorch", text);
    snprintf(text, sizeof text, "its cuBLAS is %s", p->blas[0] ? p->blas : "not loaded");
    tell("", text);
    if (!p->has_gpu) {
        tell_would_call(cublas, p);
        return;
    }
    if (!p->symbols[0]) {
        snprintf(text, sizeof text, "calls us: NO: its products reach cuBLAS some other way; results %s",
                 p->right ? "right" : "WRONG");
        tell("", text);
        return;
    }
    char others[CLI_DOCTOR_TEXT + 32] = "";
    if (p->whys[0])
        snprintf(others, sizeof others, ", %d not: %s", p->calls - p->answered, p->whys);
    snprintf(text, sizeof text, "calls us: yes, %s; Tessera answered %d of %d calls%s; results %s", p->symbols,
             p->answered, p->calls, others, p->right ? "right" : "WRONG");
    tell("", text);
    if (p->lines >= 0)
        tell_table(p);
}

/* A Python may have no PyTorch, and a build may lack the library: both are told and fail nothing. */
static int try_torch(const cli_command *self, const settings *set)
{
    const char *python = set->python ? set->python : "python3";
    char path[PATH_MAX] = "", message[CLI_DOCTOR_TEXT];
    cli_doctor_package package;
    if (set->cublas ? !realpath(set->cublas, path) : !cli_find_own_library("libtessera_cublas.so.0", path)) {
        tell("our cuBLAS", "there is no libtessera_cublas.so.0");
        return CLI_OK;
    }
    if (!check_library("our cuBLAS", path, "tessera_cublas_table_lines", NULL))
        return cli_failure(self, "%s cannot be used", path);
    if (!cli_doctor_python(python, path, "torch", set->timeout, &package, message))
        return tell_end(self, "PyTorch", &package, message);
    tell_torch(path, &package);
    return check_results(self, "PyTorch", &package);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.timeout = 120};
    char path[PATH_MAX] = "";
    int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    cli_print_machine();
    if (set.blas ? !realpath(set.blas, path) : !cli_find_own_library("libtessera_blas.so.0", path))
        return cli_failure(self, "%s: there is no libtessera_blas.so.0 there",
                           set.blas ? set.blas : "beside this command and in its library folder");
    if (!check_library("our BLAS", path, "sgemm_", "cblas_dgemm"))
        return cli_failure(self, "%s cannot be used", path);
    tell_full_blas(path);
    tell_system_blas();
    code = try_torch(self, &set);
    const int python_code = try_python(self, &set, path);
    return code == CLI_OK ? python_code : code;
}

const cli_command cli_cmd_doctor = {
    "doctor",
    "what was found here, and whether a Python's NumPy and PyTorch really call us",
    "[--python PYTHON] [--blas FILE] [--cublas FILE] [--timeout S]",
    options,
    "Runs a few products in the Python with libtessera_blas preloaded, and reads from "
    "the call log which of our symbols were called; the same with PyTorch and "
    "libtessera_cublas, with what the table of measurements has for its GPU and cuBLAS. "
    "Exit code 1 if the Python that was named has no NumPy that calls us, or if NumPy, "
    "SciPy or PyTorch gets wrong results.",
    run};
