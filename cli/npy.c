/* .npy files as mapped memory. */
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

enum { HEADER_ALIGN = 64 };

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

static int map_file(int fd, cli_npy *out, cli_message *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return cli_reject(error, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(status.st_mode))
        return cli_reject(error, "cannot be read: it is a directory");
    if (!S_ISREG(status.st_mode))
        return cli_reject(error, "cannot be read: it is a device or pipe; a regular file is needed, to be mapped");
    if (status.st_size == 0)
        return cli_reject(error, "is empty");
    out->map_bytes = (size_t)status.st_size;
    out->map = mmap(NULL, out->map_bytes, PROT_READ, MAP_SHARED, fd, 0);
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
    if ((uintptr_t)data % tsr_dtype_bytes(npy->header.dtype) == 0)
        return 1;
    npy->copy = malloc(npy->header.data_bytes ? npy->header.data_bytes : 1);
    if (!npy->copy)
        return cli_reject(error, "has unaligned data, and %zu bytes of memory to copy them are not free",
                          npy->header.data_bytes);
    memcpy(npy->copy, data, npy->header.data_bytes);
    npy->data = npy->copy;
    return 1;
}

int cli_npy_open(const char *path, cli_npy *out, cli_message *error)
{
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without writer must not block */
    if (fd < 0)
        return cli_reject(error, "cannot be read: %s", strerror(errno));
    cli_interrupt_explain_bus_error();
    int good = map_file(fd, out, error) && cli_npy_parse(out->map, out->map_bytes, &out->header, error) &&
               place_data(out, error);
    close(fd);
    if (!good)
        cli_npy_close(out);
    return good;
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

/* The header, padded with blanks so that the data are aligned; its length. */
static size_t make_header(char out[2 * HEADER_ALIGN + 64], tsr_dtype dtype, int64_t rows, int64_t columns)
{
    char text[2 * HEADER_ALIGN];
    int length =
        snprintf(text, sizeof text, "{'descr': '<f%zu', 'fortran_order': False, 'shape': (%" PRId64 ", %" PRId64 "), }",
                 tsr_dtype_bytes(dtype), rows, columns);
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
    int number = posix_fallocate(writer->file.fd, 0, (off_t)bytes);
    if (number != 0)
        return cli_reject(error, "cannot be written: %zu bytes: %s", bytes, strerror(number));
    writer->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writer->file.fd, 0);
    if (writer->map == MAP_FAILED) {
        writer->map = NULL;
        return cli_reject(error, "cannot be mapped: %s", strerror(errno));
    }
    writer->map_bytes = bytes;
    return 1;
}

int cli_npy_create(const char *path, tsr_dtype dtype, int64_t rows, int64_t columns, cli_npy_writer *out,
                   cli_message *error)
{
    char header[2 * HEADER_ALIGN + 64];
    int64_t elements, bytes;
    cli_npy_writer writer = {.file = {.fd = -1}};
    *out = writer;
    size_t header_bytes = make_header(header, dtype, rows, columns);
    if (__builtin_mul_overflow(rows, columns, &elements) ||
        __builtin_mul_overflow(elements, (int64_t)tsr_dtype_bytes(dtype), &bytes) ||
        bytes > INT64_MAX - (int64_t)header_bytes)
        return cli_reject(error, "cannot be written: %" PRId64 " x %" PRId64 " elements overflow 64 bits", rows,
                          columns);
    if (!cli_atomic_open(path, 0, &writer.file, error))
        return 0;
    if (!map_output(&writer, header_bytes + (size_t)bytes, error)) {
        cli_npy_abandon(&writer);
        return 0;
    }
    memcpy(writer.map, header, header_bytes);
    writer.data = (char *)writer.map + header_bytes;
    *out = writer;
    return 1;
}

int cli_npy_commit(cli_npy_writer *writer, cli_message *error)
{
    int good = msync(writer->map, writer->map_bytes, MS_SYNC) == 0;
    if (!good)
        cli_set_message(error, "cannot be written: %s", strerror(errno));
    munmap(writer->map, writer->map_bytes);
    writer->map = NULL;
    good = good && cli_atomic_commit(&writer->file, error);
    cli_npy_abandon(writer);
    return good;
}

void cli_npy_abandon(cli_npy_writer *writer)
{
    if (writer->map)
        munmap(writer->map, writer->map_bytes);
    writer->map = NULL;
    cli_atomic_abandon(&writer->file);
}
