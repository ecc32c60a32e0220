/* A locale with a decimal comma, which few test machines have: the system's C.utf8 with another sign. */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file's decimal point, as a text and as a wide character: the first and the fourth of its members, whose places
 * follow two words. */
static int write_with_comma(const char *path)
{
    static const char *const known[] = {"/usr/lib/locale/C.utf8/LC_NUMERIC", "/usr/lib/locale/C.UTF-8/LC_NUMERIC"};
    char bytes[1024];
    unsigned words[6];
    size_t count = 0;
    for (int i = 0; i < 2 && count == 0; i++) {
        FILE *const from = fopen(known[i], "rb");
        count = from ? fread(bytes, 1, sizeof bytes, from) : 0;
        if (from)
            fclose(from);
    }
    if (count < sizeof words)
        return 0;
    memcpy(words, bytes, sizeof words);
    if (words[2] >= count || words[5] >= count || bytes[words[2]] != '.' || bytes[words[5]] != '.')
        return 0;
    bytes[words[2]] = bytes[words[5]] = ',';
    FILE *const to = fopen(path, "wb");
    const int written = to && fwrite(bytes, 1, count, to) == count;
    return to && fclose(to) == 0 && written;
}

/* 1 if printf and strtod now take a comma. */
static int set_comma_locale(void)
{
    char folder[] = "/tmp/tessera-locale-XXXXXX", path[64], text[8];
    if (!mkdtemp(folder))
        return 0;
    snprintf(path, sizeof path, "%s/comma", folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    if (write_with_comma(path)) {
        setenv("LOCPATH", folder, 1);
        setlocale(LC_NUMERIC, "comma");
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/comma", folder);
    rmdir(path);
    rmdir(folder);
    unsetenv("LOCPATH");
    snprintf(text, sizeof text, "%.1f", 0.5);
    return strcmp(text, "0,5") == 0;
}

#endif
