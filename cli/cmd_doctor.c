/* tessera doctor: what was found on this machine, and whether a Python's NumPy really calls us. */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/doctor_blas.h"
#include "cli/doctor_python.h"
#include "cli/output.h"

typedef struct settings {
    const char *python, *blas;
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
                                     {0}};

enum { INDENT = 11 };

static void tell(const char *label, const char *text)
{
    printf("%-*s", INDENT, label);
    cli_print_wrapped(stdout, text, INDENT, INDENT);
}

/* ---- libraries ---- */

/* Beside the command, as in a build folder, or in the library folder of the same prefix. */
static int find_blas(char path[PATH_MAX])
{
    static const char *const places[] = {"", "../lib/", "../lib64/", "../lib/*-linux-gnu*/"};
    char folder[PATH_MAX], pattern[2 * PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return 0;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%slibtessera_blas.so.0", folder, places[i]);
        const int good = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0 && realpath(found.gl_pathv[0], path);
        globfree(&found);
        if (good)
            return 1;
    }
    return 0;
}

/* 1 if it loads and has what programs call. */
static int check_blas(const char *path)
{
    char text[PATH_MAX + 300];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const int good = library && dlsym(library, "sgemm_") && dlsym(library, "cblas_dgemm");
    snprintf(text, sizeof text, "%s%s%s", path, good ? "" : ": ",
             good      ? ""
             : library ? "has no sgemm_ and cblas_dgemm"
                       : dlerror());
    tell("our BLAS", text);
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

/* 1 if the package is there, right, and calls us. */
static int tell_package(const char *name, const cli_doctor_package *p)
{
    char text[4 * CLI_DOCTOR_TEXT];
    if (!p->present) {
        snprintf(text, sizeof text, "not to be had: %s", p->trouble);
        tell(name, text);
        return 0;
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
    return p->right && p->symbols[0];
}

static int try_python(const cli_command *self, const settings *set, const char *blas)
{
    const char *python = set->python ? set->python : "python3";
    char message[CLI_DOCTOR_TEXT];
    cli_doctor_package package;
    tell("Python", python);
    if (!cli_doctor_python(python, blas, "numpy", &package, message))
        return set->python ? cli_failure(self, "%s: %s", python, message) : (tell("", message), CLI_OK);
    const int numpy_present = package.present, numpy_good = tell_package("NumPy", &package);
    if (numpy_present && cli_doctor_python(python, blas, "scipy", &package, message))
        tell_package("SciPy", &package);
    if (!numpy_present && !set->python)
        return CLI_OK;
    if (!numpy_good)
        return cli_failure(self, "%s: NumPy does not call libtessera_blas", python);
    printf("\nTo use it:  LD_PRELOAD=%s %s your_script.py\n", blas, python);
    return CLI_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {0};
    char path[PATH_MAX] = "";
    int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    cli_print_machine();
    if (set.blas ? !realpath(set.blas, path) : !find_blas(path))
        return cli_failure(self, "%s: there is no libtessera_blas.so.0 there",
                           set.blas ? set.blas : "beside this command and in its library folder");
    if (!check_blas(path))
        return cli_failure(self, "%s cannot be used", path);
    tell_full_blas(path);
    tell_system_blas();
    return try_python(self, &set, path);
}

const cli_command cli_cmd_doctor = {"doctor",
                                    "what was found here, and whether a Python's NumPy really calls us",
                                    "[--python PYTHON] [--blas FILE]",
                                    options,
                                    "Runs a few products in the Python with libtessera_blas preloaded, and reads from "
                                    "the call log which of our symbols were called. Exit code 1 if the Python that was "
                                    "named has no NumPy that calls us, or gets wrong results.",
                                    run};
