#include "lab/verify/guarded.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

#define ALIGN_BYTES 256
#define GUARD_BYTES 512 /* a multiple of the alignment, and more than the widest vector access */

/* 0xfd, 0xff, 0xfd, ...: a NaN as f64, f32, f16 and bf16 in little-endian order, and none that arithmetic makes. */
static unsigned char pattern(size_t place)
{
    return place & 1 ? 0xff : 0xfd;
}

static void fill_pattern(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = pattern(i);
}

/* Elements from the first to the last of all problems. */
static int span_elems(const lab_guarded *g, long long *out)
{
    long long rows = 0, batches = 0;
    if (g->rows == 0 || g->columns == 0 || g->batch == 0) {
        *out = 0;
        return 1;
    }
    return tsr_mul_size(g->rows - 1, g->ld, &rows) && tsr_mul_size(g->batch - 1, g->batch_stride, &batches) &&
           tsr_add_size(rows, batches, &rows) && tsr_add_size(rows, g->columns, out);
}

static tsr_status allocate(lab_guarded *g)
{
    g->image = malloc(g->bytes);
    g->got = malloc(g->bytes);
    if (g->image == NULL || g->got == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for an operand of %zu bytes", g->bytes);
    if (g->on_device) {
        const tsr_status status = tsr_device_alloc(g->context, g->bytes + ALIGN_BYTES, &g->memory);
        if (status != TSR_OK)
            return status;
    } else {
        g->memory = malloc(g->bytes + ALIGN_BYTES);
        if (g->memory == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for an operand of %zu bytes", g->bytes);
    }
    const size_t misplaced = (uintptr_t)g->memory % ALIGN_BYTES;
    g->base = (unsigned char *)g->memory + (misplaced > 0 ? ALIGN_BYTES - misplaced : 0);
    return TSR_OK;
}

tsr_status lab_guarded_make(lab_guarded *g, int64_t offset)
{
    const long long element = (long long)tsr_dtype_bytes(g->dtype);
    long long span, bytes;
    if (!span_elems(g, &span) || !tsr_add_size(span, offset, &bytes) || !tsr_mul_size(bytes, element, &bytes) ||
        !tsr_add_size(bytes, 2 * GUARD_BYTES + ALIGN_BYTES, &bytes))
        return tsr_fail(TSR_INVALID_ARGUMENT, "an operand of %lld rows does not fit 63 bits of bytes",
                        (long long)g->rows);
    g->bytes = (size_t)bytes;
    g->start_bytes = (size_t)(GUARD_BYTES + offset * element);
    const tsr_status status = allocate(g);
    if (status != TSR_OK) {
        lab_guarded_free(g);
        return status;
    }
    fill_pattern(g->image, g->bytes);
    return TSR_OK;
}

void lab_guarded_free(lab_guarded *g)
{
    free(g->image);
    free(g->got);
    if (g->on_device && g->memory != NULL)
        tsr_device_free(g->context, g->memory);
    else
        free(g->memory);
    g->image = g->got = g->base = NULL;
    g->memory = NULL;
}

void *lab_guarded_image(const lab_guarded *g)
{
    return g->image + g->start_bytes;
}

void *lab_guarded_pointer(const lab_guarded *g)
{
    return g->base + g->start_bytes;
}

uint32_t lab_guarded_align(const lab_guarded *g)
{
    const uintptr_t place = (uintptr_t)lab_guarded_pointer(g) | ALIGN_BYTES;
    return (uint32_t)(place & (~place + 1)); /* lowest bit that is set */
}

int64_t lab_guarded_index(const lab_guarded *g, int64_t batch, int64_t row, int64_t column)
{
    return batch * g->batch_stride + row * g->ld + column;
}

int lab_guarded_unwritten(const lab_guarded *g, int64_t index)
{
    const size_t element = tsr_dtype_bytes(g->dtype), place = g->start_bytes + (size_t)index * element;
    for (size_t i = 0; i < element; i++)
        if (g->got[place + i] != pattern(place + i))
            return 0;
    return 1;
}

tsr_status lab_guarded_send(const lab_guarded *g)
{
    if (g->on_device)
        return tsr_upload(g->context, g->base, g->image, g->bytes);
    memcpy(g->base, g->image, g->bytes);
    return TSR_OK;
}

tsr_status lab_guarded_fetch(lab_guarded *g)
{
    if (g->on_device)
        return tsr_download(g->context, g->got, g->base, g->bytes);
    memcpy(g->got, g->base, g->bytes);
    return TSR_OK;
}

static void restore_elements(lab_guarded *g)
{
    const size_t element = tsr_dtype_bytes(g->dtype), row_bytes = (size_t)g->columns * element;
    if (row_bytes == 0)
        return;
    for (int64_t batch = 0; batch < g->batch; batch++)
        for (int64_t row = 0; row < g->rows; row++) {
            const size_t place = g->start_bytes + (size_t)lab_guarded_index(g, batch, row, 0) * element;
            memcpy(g->got + place, g->image + place, row_bytes);
        }
}

int64_t lab_guarded_first_change(lab_guarded *g, int elements_may_change)
{
    if (elements_may_change)
        restore_elements(g);
    if (memcmp(g->got, g->image, g->bytes) == 0)
        return INT64_MAX;
    size_t i = 0;
    while (g->got[i] == g->image[i])
        i++;
    return (int64_t)i - (int64_t)g->start_bytes;
}
