/* The progress line of cli/output.h. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"

enum { QUIET_SECONDS = 2, PERIOD_MS = 250 };

struct cli_progress {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char text[200];
    double begin_s;
    int shown, done; /* guarded by lock, as is text */
};

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void hide(cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = 0;
    fflush(stderr);
}

/* A line as wide as the terminal would wrap, and \r could not take it back. */
static void show(cli_progress *progress)
{
    struct winsize size = {0};
    double seconds = now_s() - progress->begin_s;
    if (seconds < QUIET_SECONDS || !progress->text[0])
        return;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
    fprintf(stderr, "\r%.*s  %.0f s\033[K", width - 12, progress->text, seconds);
    fflush(stderr);
    progress->shown = 1;
}

static void *keep_alive(void *user)
{
    cli_progress *progress = user;
    pthread_mutex_lock(&progress->lock);
    while (!progress->done) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PERIOD_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&progress->wake, &progress->lock, &until);
        if (!progress->done)
            show(progress);
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

cli_progress *cli_progress_begin(void)
{
    if (!isatty(STDERR_FILENO))
        return NULL;
    cli_progress *progress = calloc(1, sizeof *progress);
    if (!progress)
        return NULL;
    progress->begin_s = now_s();
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->wake, NULL);
    if (pthread_create(&progress->thread, NULL, keep_alive, progress) != 0) {
        pthread_cond_destroy(&progress->wake);
        pthread_mutex_destroy(&progress->lock);
        free(progress);
        return NULL;
    }
    return progress;
}

void cli_progress_say(cli_progress *progress, const char *format, ...)
{
    if (!progress)
        return;
    va_list list;
    va_start(list, format);
    pthread_mutex_lock(&progress->lock);
    vsnprintf(progress->text, sizeof progress->text, format, list);
    pthread_mutex_unlock(&progress->lock);
    va_end(list);
}

void cli_progress_clear(cli_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    hide(progress);
    pthread_mutex_unlock(&progress->lock);
}

void cli_progress_end(cli_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->done = 1;
    hide(progress);
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->lock);
    free(progress);
}
