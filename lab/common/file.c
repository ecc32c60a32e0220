#include "lab/common/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define FIRST_BYTES 65536

/* Reads to the end of the file or to `limit_bytes` + 1 bytes, whichever comes first: pipes have no size to ask for. */
static char *read_all(FILE *file, size_t limit_bytes, size_t *out_bytes)
{
    size_t capacity = FIRST_BYTES, used = 0;
    char *buffer = malloc(capacity + 1);
    while (buffer != NULL) {
        used += fread(buffer + used, 1, capacity - used, file);
        if (used < capacity || used > limit_bytes)
            break;
        capacity *= 2;
        char *larger = realloc(buffer, capacity + 1);
        if (larger == NULL)
            free(buffer);
        buffer = larger;
    }
    *out_bytes = used;
    return buffer;
}

tsr_status lab_file_read(const char *path, size_t limit_bytes, char **out, size_t *out_bytes)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return tsr_fail(TSR_IO_ERROR, "%s: %s", path, strerror(errno));
    errno = 0;
    size_t bytes = 0;
    char *text = read_all(file, limit_bytes, &bytes);
    int failed = ferror(file), reason = errno;
    fclose(file);
    if (text == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no memory to read it", path);
    if (failed) {
        free(text);
        return tsr_fail(TSR_IO_ERROR, "%s: %s", path, strerror(reason));
    }
    if (bytes > limit_bytes) {
        free(text);
        return tsr_fail(TSR_IO_ERROR, "%s: larger than %zu bytes, the most that is read", path, limit_bytes);
    }
    text[bytes] = '\0';
    *out = text;
    *out_bytes = bytes;
    return TSR_OK;
}
