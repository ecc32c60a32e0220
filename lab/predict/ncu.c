#include "lab/predict/ncu.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "lab/predict/cupti.h"

const char *const lab_eight_metrics[LAB_EIGHT + 1] = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes.sum.per_second",
    "gpu__time_duration.sum"};

lab_eight lab_eight_of_metrics(const double v[LAB_EIGHT + 1])
{
    return (lab_eight){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] * 1e-9};
}

enum { FIELDS_MAX = 512, OUTPUT_MAX = 1 << 20, ARGUMENTS_MAX = 32 };

/* Cuts a line of quoted fields into them; returns how many. */
static int split(char *line, char *out[FIELDS_MAX])
{
    int count = 0;
    while (*line == '"' && count < FIELDS_MAX) {
        char *end = strchr(line + 1, '"');
        if (!end)
            break;
        *end = '\0';
        out[count++] = line + 1;
        line = end[1] == ',' ? end + 2 : end + 1;
    }
    return count;
}

/* "1,234.5", NAN if it is no number. */
static double number(char *text)
{
    char *to = text, *end;
    for (const char *from = text; *from; from++)
        if (*from != ',')
            *to++ = *from;
    *to = '\0';
    const double value = strtod(text, &end);
    return end == text || *end ? (double)NAN : value;
}

int lab_ncu_parse(char *text, lab_eight *out, double *ns)
{
    int column[LAB_EIGHT + 1], rows_since_head = -1, found = 0;
    double values[LAB_EIGHT + 1];
    char *rest = NULL, *fields[FIELDS_MAX];
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        const int count = split(line, fields);
        if (count == 0)
            continue;
        if (strcmp(fields[0], "ID") == 0) {
            for (int m = 0; m <= LAB_EIGHT; m++) {
                column[m] = -1;
                for (int i = 0; i < count; i++)
                    if (strcmp(fields[i], lab_eight_metrics[m]) == 0)
                        column[m] = i;
            }
            rows_since_head = 0;
        } else if (rows_since_head >= 0 && rows_since_head++ > 0) { /* the first row has the units */
            for (int m = 0; m <= LAB_EIGHT; m++)
                values[m] = column[m] >= 0 && column[m] < count ? number(fields[column[m]]) : (double)NAN;
            found = 1;
        }
    }
    if (!found)
        return 0;
    *out = lab_eight_of_metrics(values);
    *ns = values[LAB_EIGHT];
    return 1;
}

/* All that the program prints, on both streams; NULL if it could not be run. The caller frees it. */
static char *output_of(char *const *arguments, int *status)
{
    int ends[2];
    char *text = malloc(OUTPUT_MAX);
    if (!text || pipe2(ends, O_CLOEXEC) != 0) {
        free(text);
        return NULL;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child;
    const int failed = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t used = 0;
    while (!failed) {
        char dropped[4096]; /* what is too long is read and forgotten, or the child would wait for ever */
        const int is_full = used == OUTPUT_MAX - 1;
        const ssize_t got =
            is_full ? read(ends[0], dropped, sizeof dropped) : read(ends[0], text + used, OUTPUT_MAX - 1 - used);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        used += got > 0 && !is_full ? (size_t)got : 0;
    }
    text[used] = '\0';
    close(ends[0]);
    if (failed || waitpid(child, status, 0) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ncu's first line of error, for a message. */
static const char *words_of(char *text)
{
    char *error = strstr(text, "==ERROR==");
    error = error ? error + strlen("==ERROR==") + strspn(error + strlen("==ERROR=="), " ") : text;
    error[strcspn(error, "\r\n")] = '\0';
    return *error ? error : "it printed nothing";
}

tsr_status lab_ncu_run(const char *const *arguments, lab_eight *out, double *ns)
{
    char list[1024] = "";
    for (int m = 0; m <= LAB_EIGHT; m++) {
        strcat(list, m ? "," : "");
        strcat(list, lab_eight_metrics[m]);
    }
    const char *all[ARGUMENTS_MAX] = {"ncu", "--clock-control", "none", "--csv",     "--page",
                                      "raw", "--print-units",   "base", "--metrics", list};
    int count = 10, status = 0;
    for (; *arguments && count < ARGUMENTS_MAX - 1; arguments++)
        all[count++] = *arguments;
    char *text = output_of((char *const *)(uintptr_t)all, &status);
    if (!text || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
        free(text);
        return tsr_fail(TSR_UNSUPPORTED, "there is no ncu to be found");
    }
    char *const copy = strdup(text);
    const int found = copy && lab_ncu_parse(copy, out, ns);
    free(copy);
    const tsr_status result = found ? TSR_OK : tsr_fail(TSR_UNSUPPORTED, "ncu: %.300s", words_of(text));
    free(text);
    return result;
}
