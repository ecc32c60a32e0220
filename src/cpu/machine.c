#include "cpu/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static void trim(char *text)
{
    size_t length = strlen(text), blanks = strspn(text, " ");
    while (length > blanks && text[length - 1] == ' ')
        length--;
    memmove(text, text + blanks, length - blanks);
    text[length - blanks] = '\0';
}
#endif

void tsr_cpu_name(char *name, size_t bytes)
{
    struct utsname system;
#if defined(__x86_64__)
    unsigned words[13] = {0};
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u) {
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
        char text[sizeof words];
        memcpy(text, words, sizeof text);
        trim(text);
        if (text[0]) {
            snprintf(name, bytes, "%s", text);
            return;
        }
    }
#endif
    snprintf(name, bytes, "%s", uname(&system) == 0 ? system.machine : "CPU");
}

int tsr_cpu_is_zen4(void)
{
#if defined(__x86_64__)
    enum { FAMILY = 25, EXTENDED = 15 }; /* from 15 on the extended family is added */
    unsigned a, b, c, d;
    __builtin_cpu_init();
    if (!__builtin_cpu_is("amd") || !__builtin_cpu_supports("avx512f") || !__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    return (a >> 8 & EXTENDED) == EXTENDED && EXTENDED + (a >> 20 & 255) == FAMILY;
#else
    return 0;
#endif
}

/* First line of a file, without its newline; 0 if it cannot be read. */
static int read_line(const char *path, char *line, int bytes)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const int ok = fgets(line, bytes, file) != NULL;
    fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

static long long cache_in_sysfs(int level)
{
    for (int index = 0; index < 8; index++) {
        char path[96], line[64];
        const char *folder = "/sys/devices/system/cpu/cpu0/cache/index";
        int found_level = 0;
        long long size = 0;
        char unit = 0;
        snprintf(path, sizeof path, "%s%d/level", folder, index);
        if (!read_line(path, line, sizeof line))
            return 0;
        if (sscanf(line, "%d", &found_level) != 1 || found_level != level)
            continue;
        snprintf(path, sizeof path, "%s%d/type", folder, index);
        if (!read_line(path, line, sizeof line) || strcmp(line, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "%s%d/size", folder, index);
        if (read_line(path, line, sizeof line) && sscanf(line, "%lld%c", &size, &unit) >= 1)
            return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
    }
    return 0;
}

long long tsr_cpu_cache_bytes(int level)
{
    static const long long usual[] = {0, 32 << 10, 512 << 10, 8 << 20};
    long long bytes = cache_in_sysfs(level);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    static const int names[] = {0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    if (bytes <= 0)
        bytes = sysconf(names[level]);
#endif
    return bytes > 0 ? bytes : usual[level];
}
