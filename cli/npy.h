/* NumPy's .npy files (format versions 1.0, 2.0 and 3.0: numpy/lib/format.py documents them), as matrices. Messages say
 * what is wrong without the file's name; callers put it in front. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "cli/args.h"
#include "cli/atomic_file.h"
#include "tessera.h"

/* What a header says of a matrix. */
typedef struct cli_npy_header {
    tsr_dtype dtype; /* TSR_F16, TSR_F32 or TSR_F64, little-endian */
    int fortran;     /* 1: columns lie tight, so the data are the row-major transpose */
    int64_t rows, columns;
    size_t data_offset, data_bytes;
} cli_npy_header;

/* Reads the header of a whole file of `size` bytes, of which only the header is touched. 0 and an exact message if it
 * is not a file of one f16, f32 or f64 matrix, or if the data are not exactly as long as the header says. */
int cli_npy_parse(const void *bytes, size_t size, cli_npy_header *out, cli_message *error);

/* A matrix in a mapped file; it may be larger than memory. */
typedef struct cli_npy {
    cli_npy_header header;
    const void *data; /* aligned to the element */
    void *map;
    size_t map_bytes;
    void *copy; /* of the data, where the file has them unaligned */
} cli_npy;

int cli_npy_open(const char *path, cli_npy *out, cli_message *error);
/* Brings the data into memory where they fit, so that a clock started afterwards measures no disk. */
void cli_npy_fetch(const cli_npy *npy);
void cli_npy_close(cli_npy *npy); /* a zeroed struct is fine */

/* A new file, C order. `data` (rows x columns, row-major, zeros at first) is mapped from it; commit puts it in place,
 * abandon leaves no trace. */
typedef struct cli_npy_writer {
    cli_atomic_file file;
    void *data;
    void *map;
    size_t map_bytes;
} cli_npy_writer;

int cli_npy_create(const char *path, tsr_dtype dtype, int64_t rows, int64_t columns, cli_npy_writer *out,
                   cli_message *error);
void cli_npy_writer_fetch(const cli_npy_writer *writer); /* as cli_npy_fetch */
int cli_npy_commit(cli_npy_writer *writer, cli_message *error);
void cli_npy_abandon(cli_npy_writer *writer); /* after a commit, or zeroed with file.fd -1: fine */

#endif
