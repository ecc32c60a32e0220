#include "cli/own_library.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_find_own_library(const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"", "../lib/", "../lib64/", "../lib/*-linux-gnu*/", "../"};
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
        snprintf(pattern, sizeof pattern, "%s%s%s", folder, places[i], name);
        const int good = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0 && realpath(found.gl_pathv[0], path);
        globfree(&found);
        if (good)
            return 1;
    }
    return 0;
}

int cli_can_preload(const char *path)
{
    return !strpbrk(path, " :");
}
