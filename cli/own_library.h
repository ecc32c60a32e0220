/* Where the libraries lie that belong to this command. */
#ifndef CLI_OWN_LIBRARY_H
#define CLI_OWN_LIBRARY_H

#include <limits.h>

/* The library `name` ("libtessera_blas.so.0") beside the command, as in a build folder, in the library folder of the
 * same prefix, or one folder above the command, as in a wheel, with links resolved. 0 if it is in none. */
int cli_find_own_library(const char *name, char path[PATH_MAX]);

/* 0 if LD_PRELOAD cannot name that file: a space or a colon ends a name in it. */
int cli_can_preload(const char *path);

#endif
