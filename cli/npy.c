/* .npy files as mapped memory, or through pipes. */
#include "cli/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/interrupt.h"

enum { HEADER_ALIGN = 64, STREAM_HEADER_MAX = 1 << 20 };

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

static int map_file(int fd, size_t bytes, cli_npy *out, cli_message *error)
{
    if (bytes == 0)
        return cli_reject(error, "is empty");
    out->map_bytes = bytes;
    out->map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (out->map == MAP_FAILED) {
        out->map = NULL;
        return cli_reject(error, "cannot be mapped: %s", strerror(errno));
    }
    return 1;
}

/* Files that do not align their data (old or foreign writers) are copied: elements must lie aligned. */
static int place_data(cli_npy *npy, cli_message *error)
{
    const char *data = (const char *)npy->map + npy->header.data_offset;
    npy->data = data;
    if ((uintptr_t)data % cli_npy_element_bytes(&npy->header) == 0)
        return 1;
    npy->copy = malloc(npy->header.data_bytes ? npy->header.data_bytes : 1);
    if (!npy->copy)
        return cli_reject(error, "has unaligned data, and %zu bytes of memory to copy them are not free",
                          npy->header.data_bytes);
    memcpy(npy->copy, data, npy->header.data_bytes);
    npy->data = npy->copy;
    return 1;
}

/* Reads until `bytes` are there or the stream ends; *got says how many. */
static int read_all(int fd, void *to, size_t bytes, size_t *got, cli_message *error)
{
    for (*got = 0; *got < bytes;) {
        const ssize_t count = read(fd, (char *)to + *got, bytes - *got);
        if (count == 0)
            break;
        if (count < 0 && errno != EINTR)
            return cli_reject(error, "cannot be read: %s", strerror(errno));
        *got += count > 0 ? (size_t)count : 0;
    }
    return 1;
}

/* The header of a stream, which may be no .npy file at all, or endless. */
static int read_header(int fd, int vector, cli_npy_header *out, cli_message *error)
{
    unsigned char frame[CLI_NPY_FRAME_BYTES];
    size_t got, more = 0;
    if (!read_all(fd, frame, sizeof frame, &got, error))
        return 0;
    const size_t bytes = cli_npy_header_bytes(frame, got);
    if (bytes > STREAM_HEADER_MAX)
        return cli_reject(error, "has a header of %zu bytes; at most %d can be read from a pipe", bytes,
                          STREAM_HEADER_MAX);
    unsigned char *header = malloc(bytes > sizeof frame ? bytes : sizeof frame);
    if (!header)
        return cli_reject(error, "cannot be read: out of memory");
    memcpy(header, frame, got);
    const int good = read_all(fd, header + got, bytes > got ? bytes - got : 0, &more, error) &&
                     cli_npy_parse_header(header, got + more, vector, out, error);
    free(header);
    return good;
}

/* Of a pipe or device, the header, then as many bytes as it asks for, then the end. */
static int read_stream(int fd, int vector, cli_npy *out, cli_message *error)
{
    size_t got, more;
    char beyond;
    if (!read_header(fd, vector, &out->header, error))
        return 0;
    const size_t bytes = out->header.data_bytes;
    out->copy = bytes <= SIZE_MAX - 64 ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    if (!out->copy)
        return cli_reject(error, "cannot be read: %zu bytes of memory for its data are not free", bytes);
    out->data = out->copy;
    if (!read_all(fd, out->copy, bytes, &got, error) || !cli_npy_check_data(&out->header, got, error) ||
        !read_all(fd, &beyond, 1, &more, error))
        return 0;
    return more == 0 ? 1 : cli_reject(error, "has more bytes after the %zu of its data", bytes);
}

static int read_file(int fd, int vector, cli_npy *out, cli_message *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return cli_reject(error, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(status.st_mode))
        return cli_reject(error, "cannot be read: it is a directory");
    /* The standard input may be a file of which somebody has read the beginning. */
    if (!S_ISREG(status.st_mode) || lseek(fd, 0, SEEK_CUR) != 0)
        return read_stream(fd, vector, out, error);
    return map_file(fd, (size_t)status.st_size, out, error) &&
           cli_npy_parse_header(out->map, out->map_bytes, vector, &out->header, error) &&
           cli_npy_check_data(&out->header, out->map_bytes - out->header.data_offset, error) && place_data(out, error);
}

static int open_as(const char *path, int vector, cli_npy *out, cli_message *error)
{
    memset(out, 0, sizeof *out);
    const int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cli_reject(error, "cannot be read: %s", strerror(errno));
    cli_interrupt_explain_bus_error();
    const int good = read_file(fd, vector, out, error);
    close(fd);
    if (!good)
        cli_npy_close(out);
    return good;
}

int cli_npy_open(const char *path, cli_npy *out, cli_message *error)
{
    return open_as(path, 0, out, error);
}

int cli_npy_open_vector(const char *path, cli_npy *out, cli_message *error)
{
    return open_as(path, 1, out, error);
}

/* No more than a quarter of the machine's memory; older kernels know no such advice, and then nothing happens. */
static void fetch(void *map, size_t bytes, int advice)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (map && pages > 0 && page_bytes > 0 && bytes / (size_t)page_bytes < (size_t)pages / 4)
        madvise(map, bytes, advice);
}

void cli_npy_fetch(const cli_npy *npy)
{
    fetch(npy->map, npy->map_bytes, MADV_POPULATE_READ);
}

void cli_npy_writer_fetch(const cli_npy_writer *writer)
{
    fetch(writer->map, writer->map_bytes, MADV_POPULATE_WRITE);
}

void cli_npy_close(cli_npy *npy)
{
    if (npy->map)
        munmap(npy->map, npy->map_bytes);
    free(npy->copy);
    memset(npy, 0, sizeof *npy);
}

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

/* As NumPy and ml_dtypes name them. */
static const char *descr_of(tsr_dtype dtype)
{
    static const char *const names[TSR_DTYPE_COUNT] = {
        [TSR_F64] = "<f8",  [TSR_F32] = "<f4", [TSR_F16] = "<f2", [TSR_BF16] = "<V2", [TSR_E4M3] = "<V1",
        [TSR_E5M2] = "<f1", [TSR_S8] = "|i1",  [TSR_U8] = "|u1",  [TSR_S32] = "<i4"};
    return names[dtype];
}

/* The header, padded with blanks so that the data are aligned; its length. */
static size_t make_header(char out[2 * HEADER_ALIGN + 64], const cli_npy_header *shape)
{
    char text[2 * HEADER_ALIGN], batch[24] = "";
    if (shape->stacked)
        snprintf(batch, sizeof batch, "%" PRId64 ", ", shape->batch);
    int length =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%" PRId64 ", %" PRId64 "), }",
                 descr_of(shape->dtype), batch, shape->rows, shape->columns);
    size_t total = (10 + (size_t)length + 1 + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN, rest = total - 10;
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)(rest & 0xff);
    out[9] = (char)(rest >> 8);
    memset(out + 10, ' ', rest);
    memcpy(out + 10, text, (size_t)length);
    out[total - 1] = '\n';
    return total;
}

/* Blocks are reserved now, because a full disk shows itself as a fatal signal once the file is mapped. */
static int map_output(cli_npy_writer *writer, size_t bytes, cli_message *error)
{
    const int is_file = writer->stream < 0, number = is_file ? posix_fallocate(writer->file.fd, 0, (off_t)bytes) : 0;
    if (number != 0)
        return cli_reject(error, "cannot be written: %zu bytes: %s", bytes, strerror(number));
    writer->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                       writer->file.fd, 0);
    if (writer->map == MAP_FAILED) {
        writer->map = NULL;
        return cli_reject(error, "cannot be mapped: %s", strerror(errno));
    }
    writer->map_bytes = bytes;
    return 1;
}

int cli_npy_is_stdout(const char *path)
{
    struct stat at_path, at_stdout;
    if (strcmp(path, "-") == 0)
        return 1;
    return stat(path, &at_path) == 0 && fstat(STDOUT_FILENO, &at_stdout) == 0 && !S_ISCHR(at_path.st_mode) &&
           at_path.st_dev == at_stdout.st_dev && at_path.st_ino == at_stdout.st_ino;
}

/* A pipe, a device or the standard output is opened as it is; anything else is a file that appears whole. */
static int open_output(const char *path, cli_npy_writer *writer, cli_message *error)
{
    struct stat status;
    if (cli_npy_is_stdout(path)) {
        if (isatty(STDOUT_FILENO))
            return cli_reject(error, "cannot be written: the standard output is a terminal, and a .npy file is binary");
        writer->stream = dup(STDOUT_FILENO);
    } else if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        writer->stream = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        return cli_atomic_open(path, 0, &writer->file, error);
    }
    return writer->stream >= 0 ? 1 : cli_reject(error, "cannot be written: %s", strerror(errno));
}

/* Bytes of the file. Lengths of 0 count as 1 in the check, as where a file is read. */
static int take_bytes(const cli_npy_header *shape, size_t header_bytes, size_t *out, cli_message *error)
{
    const int64_t lengths[] = {shape->batch, shape->rows, shape->columns};
    int64_t most = (int64_t)tsr_dtype_bytes(shape->dtype);
    int fits = 1, has_zero = 0;
    char batch[24] = "";
    for (int i = 0; i < 3; i++) {
        fits = fits && !__builtin_mul_overflow(most, lengths[i] ? lengths[i] : 1, &most);
        has_zero |= lengths[i] == 0;
    }
    if (shape->stacked)
        snprintf(batch, sizeof batch, "%" PRId64 ", ", shape->batch);
    if (!fits || most > INT64_MAX - (int64_t)header_bytes)
        return cli_reject(error, "cannot be written: shape (%s%" PRId64 ", %" PRId64 ") of %s overflows 64 bits%s",
                          batch, shape->rows, shape->columns, tsr_dtype_name(shape->dtype),
                          has_zero ? " without the lengths of 0" : "");
    *out = header_bytes + (has_zero ? 0 : (size_t)most);
    return 1;
}

int cli_npy_create(const char *path, const cli_npy_header *shape, cli_npy_writer *out, cli_message *error)
{
    char header[2 * HEADER_ALIGN + 64];
    size_t bytes;
    cli_npy_writer writer = CLI_NPY_NO_WRITER;
    *out = writer;
    size_t header_bytes = make_header(header, shape);
    if (!take_bytes(shape, header_bytes, &bytes, error))
        return 0;
    if (!open_output(path, &writer, error))
        return 0;
    if (!map_output(&writer, bytes, error)) {
        cli_npy_abandon(&writer);
        return 0;
    }
    memcpy(writer.map, header, header_bytes);
    writer.data = (char *)writer.map + header_bytes;
    *out = writer;
    return 1;
}

static int write_stream(const cli_npy_writer *writer, cli_message *error)
{
    for (size_t done = 0; done < writer->map_bytes;) {
        const ssize_t count = write(writer->stream, (const char *)writer->map + done, writer->map_bytes - done);
        if (count < 0 && errno != EINTR)
            return cli_reject(error, "cannot be written: %s", strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    return 1;
}

int cli_npy_commit(cli_npy_writer *writer, cli_message *error)
{
    const int is_file = writer->stream < 0;
    int good = is_file ? msync(writer->map, writer->map_bytes, MS_SYNC) == 0 : write_stream(writer, error);
    if (is_file && !good)
        cli_set_message(error, "cannot be written: %s", strerror(errno));
    munmap(writer->map, writer->map_bytes);
    writer->map = NULL;
    good = good && (!is_file || cli_atomic_commit(&writer->file, error));
    cli_npy_abandon(writer);
    return good;
}

void cli_npy_abandon(cli_npy_writer *writer)
{
    if (writer->map)
        munmap(writer->map, writer->map_bytes);
    writer->map = NULL;
    if (writer->stream >= 0)
        close(writer->stream);
    writer->stream = -1;
    cli_atomic_abandon(&writer->file);
}
