/* Small whole files, read and written at once. */
#ifndef LAB_FILE_H
#define LAB_FILE_H

#include "tessera.h"

/* The file's bytes in memory from malloc, a zero byte after the last. TSR_IO_ERROR, naming the file, if it cannot be
 * read or is larger than `limit_bytes`. */
tsr_status lab_file_read(const char *path, size_t limit_bytes, char **out, size_t *out_bytes);

#endif
