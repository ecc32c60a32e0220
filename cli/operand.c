#include "cli/operand.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lab/common/convert.h"

static int describe(const char *path, int transpose, cli_operand *out)
{
    const cli_npy_header *header = &out->file.header;
    out->path = path;
    out->batch = header->batch;
    out->rows = transpose ? header->columns : header->rows;
    out->columns = transpose ? header->rows : header->columns;
    out->dtype = header->dtype;
    out->trans = transpose != header->fortran ? TSR_T : TSR_N;
    out->ld = header->fortran ? header->rows : header->columns;
    out->stride = header->rows * header->columns;
    out->data = out->file.data;
    return CLI_OK;
}

int cli_operand_open(const cli_command *self, const char *path, int transpose, cli_operand *out)
{
    cli_message error;
    return cli_npy_open(path, &out->file, &error) ? describe(path, transpose, out)
                                                  : cli_failure(self, "%s %s", path, error.text);
}

int cli_operand_open_vector(const cli_command *self, const char *path, cli_operand *out)
{
    cli_message error;
    return cli_npy_open_vector(path, &out->file, &error) ? describe(path, 0, out)
                                                         : cli_failure(self, "%s %s", path, error.text);
}

int cli_operand_name(const cli_command *self, const char *option, tsr_dtype dtype, cli_operand *x)
{
    const size_t bytes = cli_npy_element_bytes(&x->file.header);
    if (!x->file.header.opaque)
        return CLI_OK;
    if (dtype == TSR_DTYPE_NONE)
        return cli_failure(self, "%s does not say what its elements of %zu byte%s are; %s %s does", x->path, bytes,
                           bytes == 1 ? "" : "s", option,
                           bytes == 2                  ? "bf16 or f16"
                           : x->file.header.never_e5m2 ? "e4m3, s8 or u8"
                                                       : "e4m3, e5m2, s8 or u8");
    if (dtype == TSR_E5M2 && x->file.header.never_e5m2)
        return cli_failure(self,
                           "%s holds elements of dtype '<V1', as which ml_dtypes saves e4m3 but never e5m2 "
                           "('<f1'), which %s says",
                           x->path, option);
    if (tsr_dtype_bytes(dtype) != bytes)
        return cli_failure(self, "%s has elements of %zu byte%s, which cannot be %s", x->path, bytes,
                           bytes == 1 ? "" : "s", tsr_dtype_name(dtype));
    x->dtype = dtype;
    return CLI_OK;
}

/* Puts a new buffer for all elements in place of the data; `*old` is the buffer before, which the caller frees. */
static int new_buffer(const cli_command *self, tsr_dtype dtype, cli_operand *x, void **old)
{
    const int64_t elements = x->batch * x->stride; /* the file holds that many */
    int64_t bytes;
    if (__builtin_mul_overflow(elements, (int64_t)tsr_dtype_bytes(dtype), &bytes) || bytes > INT64_MAX - 64)
        return cli_failure(self, "%s: %" PRId64 " elements of %s overflow 64 bits", x->path, elements,
                           tsr_dtype_name(dtype));
    void *fresh = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
    if (!fresh)
        return cli_failure(self, "%s: no memory to convert it to %s (%" PRId64 " bytes)", x->path,
                           tsr_dtype_name(dtype), bytes);
    *old = x->converted;
    x->converted = fresh;
    return CLI_OK;
}

static const void *nth(const void *data, tsr_dtype dtype, int64_t elements)
{
    return (const char *)data + elements * (int64_t)tsr_dtype_bytes(dtype);
}

/* The three conversions; each leaves x->converted in `dtype` as the data. */
typedef void convert_function(tsr_dtype dtype, const cli_operand *x);

/* A stack in Fortran order has its first index fastest: seen as one row-major matrix, it has a column for each matrix
 * of the stack. Transposed, the matrices follow each other, each in Fortran order. */
static void gather(tsr_dtype dtype, const cli_operand *x)
{
    lab_convert(dtype, x->converted, x->stride, x->dtype, x->data, x->batch, 1, x->batch, x->stride);
}

/* Each matrix from Fortran to C order. */
static void turn(tsr_dtype dtype, const cli_operand *x)
{
    const cli_npy_header *header = &x->file.header;
    for (int64_t i = 0; i < x->batch; i++)
        lab_convert(dtype, (void *)nth(x->converted, dtype, i * x->stride), header->columns, x->dtype,
                    nth(x->data, x->dtype, i * x->stride), header->rows, 1, header->rows, header->columns);
}

static void retype(tsr_dtype dtype, const cli_operand *x)
{
    const int64_t rows = x->ld > 0 ? x->stride / x->ld : 0;
    lab_convert(dtype, x->converted, x->ld, x->dtype, x->data, x->ld, 0, x->batch * rows, x->ld);
}

static int apply(const cli_command *self, convert_function *convert, tsr_dtype dtype, cli_operand *x)
{
    void *old = NULL;
    const int code = new_buffer(self, dtype, x, &old);
    if (code != CLI_OK)
        return code;
    convert(dtype, x);
    free(old);
    x->data = x->converted;
    x->dtype = dtype;
    return CLI_OK;
}

void cli_operand_warn(const cli_command *self, cli_progress *progress, tsr_dtype dtype, const cli_operand *x)
{
    const int64_t elements = x->batch * x->stride; /* the file holds that many */
    const lab_lost lost = lab_count_lost(dtype, x->dtype, x->data, elements);
    const char *name = tsr_dtype_name(dtype);
    if (lost.beyond || lost.nan)
        cli_progress_clear(progress);
    if (lost.beyond)
        cli_warning(self, "%s: %" PRId64 " of %" PRId64 " elements %s %s %s, which ranges from %.10g to %.10g", x->path,
                    lost.beyond, elements, lost.beyond == 1 ? "becomes" : "become",
                    isnan(lost.becomes)   ? "NaN in"
                    : isinf(lost.becomes) ? "infinite in"
                                          : "the end of",
                    name, lost.low, lost.high);
    if (lost.nan)
        cli_warning(self, "%s: %" PRId64 " of %" PRId64 " elements %s NaN, which becomes 0 in %s", x->path, lost.nan,
                    elements, lost.nan == 1 ? "is" : "are", name);
}

int cli_operand_convert(const cli_command *self, cli_progress *progress, tsr_dtype dtype, int order, cli_operand *x)
{
    const cli_npy_header *header = &x->file.header;
    int code = CLI_OK;
    if (x->dtype != dtype || (header->fortran && (order || header->batch > 1)))
        cli_progress_say(progress, "converting %s to %s", x->path, tsr_dtype_name(dtype));
    if (header->fortran && header->batch > 1)
        code = apply(self, gather, dtype, x);
    if (code == CLI_OK && header->fortran && order) {
        code = apply(self, turn, dtype, x);
        x->trans = TSR_N;
        x->ld = header->columns;
    }
    if (code == CLI_OK && x->dtype != dtype)
        code = apply(self, retype, dtype, x);
    return code;
}

const void *cli_operand_at(const cli_operand *x, int64_t i)
{
    return nth(x->data, x->dtype, x->batch > 1 ? i * x->stride : 0);
}

void cli_operand_close(cli_operand *x)
{
    free(x->converted);
    cli_npy_close(&x->file);
}
