#include "lab/common/convert.h"

#include <math.h>
#include <stdatomic.h>

#include "core/dtype.h"
#include "lab/common/parallel.h"

/* Squares of this side: a transposed read then uses all of each cache line while it is there. */
#define BLOCK 64

typedef struct conversion {
    tsr_dtype dtype_to, dtype_from;
    void *to;
    const void *from;
    int64_t ld_to, ld_from, rows, columns;
    int transpose;
} conversion;

static void convert_block(const conversion *c, int64_t row0, int64_t column0)
{
    const int64_t row_end = row0 + BLOCK < c->rows ? row0 + BLOCK : c->rows;
    const int64_t column_end = column0 + BLOCK < c->columns ? column0 + BLOCK : c->columns;
    for (int64_t i = row0; i < row_end; i++)
        for (int64_t j = column0; j < column_end; j++) {
            const int64_t at = c->transpose ? j * c->ld_from + i : i * c->ld_from + j;
            tsr_store_element(c->dtype_to, c->to, i * c->ld_to + j, tsr_load_element(c->dtype_from, c->from, at));
        }
}

static void convert_rows(void *user, int64_t index)
{
    const conversion *c = user;
    for (int64_t column0 = 0; column0 < c->columns; column0 += BLOCK)
        convert_block(c, index * BLOCK, column0);
}

void lab_convert(tsr_dtype dtype_to, void *to, int64_t ld_to, tsr_dtype dtype_from, const void *from, int64_t ld_from,
                 int transpose, int64_t rows, int64_t columns)
{
    conversion c = {.dtype_to = dtype_to,
                    .dtype_from = dtype_from,
                    .to = to,
                    .from = from,
                    .ld_to = ld_to,
                    .ld_from = ld_from,
                    .rows = rows,
                    .columns = columns,
                    .transpose = transpose};
    lab_parallel((rows + BLOCK - 1) / BLOCK, 0, convert_rows, &c);
}

/* ---- what is lost ---- */

typedef struct losing {
    tsr_dtype dtype;
    const void *from;
    int64_t count;
    double low, high;
    _Atomic int64_t beyond, nan;
} losing;

enum { LOST_AT_ONCE = 1 << 16 };

static void count_lost(void *user, int64_t index)
{
    losing *l = user;
    const int64_t end = (index + 1) * LOST_AT_ONCE < l->count ? (index + 1) * LOST_AT_ONCE : l->count;
    int64_t beyond = 0, nan = 0;
    for (int64_t i = index * LOST_AT_ONCE; i < end; i++) {
        const double value = tsr_load_element(l->dtype, l->from, i), whole = nearbyint(value);
        beyond += whole < l->low || whole > l->high;
        nan += isnan(value) != 0;
    }
    atomic_fetch_add(&l->beyond, beyond);
    atomic_fetch_add(&l->nan, nan);
}

lab_lost lab_count_lost(tsr_dtype dtype_to, tsr_dtype dtype_from, const void *from, int64_t count)
{
    losing l = {.dtype = dtype_from, .from = from, .count = count};
    uint64_t element = 0;
    if (!tsr_dtype_is_integer(dtype_to) || dtype_to == dtype_from)
        return (lab_lost){0, 0, 0, 0};
    tsr_store_element(dtype_to, &element, 0, -HUGE_VAL);
    l.low = tsr_load_element(dtype_to, &element, 0);
    tsr_store_element(dtype_to, &element, 0, HUGE_VAL);
    l.high = tsr_load_element(dtype_to, &element, 0);
    lab_parallel((count + LOST_AT_ONCE - 1) / LOST_AT_ONCE, 0, count_lost, &l);
    return (lab_lost){atomic_load(&l.beyond), atomic_load(&l.nan), l.low, l.high};
}

tsr_dtype lab_bias_dtype(tsr_dtype result)
{
    return tsr_dtype_bias(result);
}
