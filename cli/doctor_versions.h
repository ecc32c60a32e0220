/* Symbol versions: what one shared library asks of another, and whether a third one has it. */
#ifndef CLI_DOCTOR_VERSIONS_H
#define CLI_DOCTOR_VERSIONS_H

#include <stddef.h>

/* The versions that the 64-bit shared library `path` asks for whose names begin with `prefix`, comma between. 0 if
 * there are none, or the file cannot be read as one. */
int cli_needed_versions(const char *path, const char *prefix, char *out, size_t bytes);

/* 1 if the library defines every version of such a list. */
int cli_has_versions(const char *path, const char *list);

#endif
