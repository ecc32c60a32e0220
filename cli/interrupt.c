#include "cli/interrupt.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"

static volatile sig_atomic_t caught;   /* the signal that came */
static volatile sig_atomic_t graceful; /* the first one only sets `caught` */
static volatile double caught_s;       /* when; written before a second signal can read it */
static volatile sig_atomic_t has_file; /* `file` is complete */
static char file[4096];

/* One Ctrl-C may arrive twice: from the terminal, and again from a wrapper that passes on what it gets. */
#define ECHO_SECONDS 0.3

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time); /* allowed in a signal handler */
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void on_signal(int number)
{
    if (graceful && !caught) {
        caught_s = now_s();
        caught = number;
        return;
    }
    if (graceful && now_s() - caught_s < ECHO_SECONDS)
        return;
    if (has_file)
        unlink(file);
    signal(number, SIG_DFL);
    raise(number);
}

static void install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup and & keep their meaning */
            sigaction(signals[i], &action, NULL);
}

const volatile sig_atomic_t *cli_interrupt_catch(void)
{
    graceful = 1;
    install();
    return &caught;
}

int cli_interrupted(void)
{
    return caught;
}

void cli_interrupt_die(void)
{
    if (!caught)
        return;
    signal(caught, SIG_DFL);
    raise(caught);
}

void cli_interrupt_remove(const char *path)
{
    has_file = 0;
    if (!path || strlen(path) >= sizeof file)
        return;
    strcpy(file, path);
    has_file = 1;
    install();
}

static void on_bus_error(int number)
{
    static const char text[] = "tessera: a mapped file shrank or could not be read while it was in use\n";
    (void)number;
    if (has_file)
        unlink(file);
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(CLI_FAILED); /* nobody left to tell */
    _exit(CLI_FAILED);
}

void cli_interrupt_explain_bus_error(void)
{
    struct sigaction action = {.sa_handler = on_bus_error};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
