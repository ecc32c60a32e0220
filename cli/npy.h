/* NumPy's .npy files (format versions 1.0, 2.0 and 3.0: numpy/lib/format.py documents them). Messages say
 * what is wrong without the file's name; callers put it in front. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "cli/args.h"
#include "cli/atomic_file.h"
#include "tessera.h"

/* What a header says of a matrix, or of a stack of them, as NumPy stacks them: shape (batch, rows, columns); or of a
 * vector, which is a matrix of one row. */
typedef struct cli_npy_header {
    tsr_dtype dtype; /* f16, f32, f64, e5m2, s8, u8 or s32, little-endian; TSR_DTYPE_NONE: the file does not say */
    int opaque;      /* then the bytes of an element, 1 or 2; otherwise 0 */
    int never_e5m2;  /* 1: opaque, but as ml_dtypes saves types other than e5m2 */
    int fortran;     /* 1: the first index runs fastest: a matrix is stored as its row-major transpose */
    int stacked;     /* 1: three dimensions */
    int vector;      /* 1: one dimension */
    int64_t batch;   /* 1 for a matrix */
    int64_t rows, columns;
    size_t data_offset, data_bytes;
} cli_npy_header;

/* Reads the header of a whole file of `size` bytes, of which only the header is touched. 0 and an exact message if it
 * is not a file of matrices of types that are known, or if the data are not exactly as long as the header says. */
int cli_npy_parse(const void *bytes, size_t size, cli_npy_header *out, cli_message *error);

/* The same in two steps, for what comes through a pipe. Bytes of a file up to its data, by its first
 * CLI_NPY_FRAME_BYTES bytes; `size` where these are no beginning of one. */
enum { CLI_NPY_FRAME_BYTES = 12 };
size_t cli_npy_header_bytes(const void *frame, size_t size);
/* The header alone: says nothing of how many bytes of data are there. `vector` 1: of a vector, and nothing else is
 * good.
 */
int cli_npy_parse_header(const void *bytes, size_t size, int vector, cli_npy_header *out, cli_message *error);
/* 1 if so many bytes of data are what the header asks for. */
int cli_npy_check_data(const cli_npy_header *header, size_t there, cli_message *error);

/* Bytes of an element. */
size_t cli_npy_element_bytes(const cli_npy_header *header);

/* Matrices in a mapped file, which may be larger than memory; or read from a pipe or device. */
typedef struct cli_npy {
    cli_npy_header header;
    const void *data; /* aligned to the element */
    void *map;
    size_t map_bytes;
    void *copy; /* of the data, where they came through a pipe or the file has them unaligned */
} cli_npy;

/* `path` "-" is the standard input. */
int cli_npy_open(const char *path, cli_npy *out, cli_message *error);
int cli_npy_open_vector(const char *path, cli_npy *out, cli_message *error); /* the same of a vector */
/* Brings the data into memory where they fit, so that a clock started afterwards measures no disk. */
void cli_npy_fetch(const cli_npy *npy);
void cli_npy_close(cli_npy *npy); /* a zeroed struct is fine */

/* A new file, C order. `data` (`batch` times rows x columns, row-major, zeros at first) is mapped from it; commit puts
 * it in place, abandon leaves no trace. To a pipe, a device or the standard output ("-"), commit writes all at once. */
typedef struct cli_npy_writer {
    cli_atomic_file file;
    int stream; /* where to write at the end; -1: to `file` */
    void *data;
    void *map;
    size_t map_bytes;
} cli_npy_writer;
#define CLI_NPY_NO_WRITER                \
    {                                    \
        .file = {.fd = -1}, .stream = -1 \
    }

/* 1 if `path` is "-" or the very file that the standard output goes to. */
int cli_npy_is_stdout(const char *path);
/* `shape` says dtype, batch, rows and columns, and whether there are three dimensions. */
int cli_npy_create(const char *path, const cli_npy_header *shape, cli_npy_writer *out, cli_message *error);
void cli_npy_writer_fetch(const cli_npy_writer *writer); /* as cli_npy_fetch */
int cli_npy_commit(cli_npy_writer *writer, cli_message *error);
void cli_npy_abandon(cli_npy_writer *writer); /* after a commit, or CLI_NPY_NO_WRITER: fine */

#endif
