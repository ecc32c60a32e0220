#include "cpu/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
        for (unsigned i = 0; i < 3; i++) /* what asks for the highest leaf each time takes twice as long */
            __cpuid(0x80000002u + i, words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
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

/* The start of a file of a cache's, without its newline; 0 if it cannot be read. Not through stdio: this is most of
 * what a process's first product takes. */
static int read_start(int index, const char *name, char text[32])
{
    char path[80];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t count = fd >= 0 ? read(fd, text, 31) : -1;
    if (fd >= 0)
        close(fd);
    text[count > 0 ? count : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return count > 0;
}

static void find_in_sysfs(long long bytes[TSR_CACHE_LEVELS])
{
    char text[32];
    for (int index = 0; index < 8 && read_start(index, "level", text); index++) {
        char *end;
        const long level = strtol(text, NULL, 10);
        if (level < 1 || level > TSR_CACHE_LEVELS || bytes[level - 1] > 0 || !read_start(index, "type", text) ||
            strcmp(text, "Instruction") == 0 || !read_start(index, "size", text))
            continue;
        const long long size = strtoll(text, &end, 10);
        bytes[level - 1] = *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
    }
}

void tsr_cpu_caches(long long bytes[TSR_CACHE_LEVELS])
{
    static const long long usual[TSR_CACHE_LEVELS] = {32 << 10, 512 << 10, 8 << 20};
    memset(bytes, 0, TSR_CACHE_LEVELS * sizeof *bytes);
    find_in_sysfs(bytes);
    for (int i = 0; i < TSR_CACHE_LEVELS; i++) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
        static const int names[TSR_CACHE_LEVELS] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                                    _SC_LEVEL3_CACHE_SIZE};
        if (bytes[i] <= 0)
            bytes[i] = sysconf(names[i]);
#endif
        bytes[i] = bytes[i] > 0 ? bytes[i] : usual[i];
    }
}
