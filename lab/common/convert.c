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
    tsr_dtype to, dtype; /* dtype: of `from` */
    const void *from;
    int64_t count;
    double low, high;
    _Atomic int64_t beyond, nan;
} losing;

enum { LOST_AT_ONCE = 1 << 16 };

static double converted(tsr_dtype dtype, double value)
{
    uint64_t element = 0;
    tsr_store_element(dtype, &element, 0, value);
    return tsr_load_element(dtype, &element, 0);
}

/* Infinities are beyond a type that has none. */
static int is_beyond(const losing *l, double value)
{
    if (tsr_dtype_is_integer(l->to)) {
        const double whole = nearbyint(value);
        return whole < l->low || whole > l->high;
    }
    if (!(value < l->low || value > l->high))
        return 0;
    const double end = converted(l->to, value);
    return isnan(end) || (isinf(end) && !isinf(value));
}

static void count_lost(void *user, int64_t index)
{
    losing *l = user;
    const int64_t end = (index + 1) * LOST_AT_ONCE < l->count ? (index + 1) * LOST_AT_ONCE : l->count;
    const int loses_nan = tsr_dtype_is_integer(l->to);
    int64_t beyond = 0, nan = 0;
    for (int64_t i = index * LOST_AT_ONCE; i < end; i++) {
        const double value = tsr_load_element(l->dtype, l->from, i);
        beyond += is_beyond(l, value);
        nan += loses_nan && isnan(value);
    }
    atomic_fetch_add(&l->beyond, beyond);
    atomic_fetch_add(&l->nan, nan);
}

/* The greatest number of a type of floats. */
static double largest(tsr_dtype dtype)
{
    return tsr_dtype_is_fp8(dtype) ? tsr_dtype_largest_fp8(dtype)
                                   : ldexp(2.0 - 2.0 * tsr_dtype_roundoff(dtype), 1 - tsr_dtype_lowest_exponent(dtype));
}

lab_lost lab_count_lost(tsr_dtype dtype_to, tsr_dtype dtype_from, const void *from, int64_t count)
{
    losing l = {.to = dtype_to, .dtype = dtype_from, .from = from, .count = count};
    const double becomes = converted(dtype_to, HUGE_VAL);
    const int widens = isinf(becomes) && !tsr_dtype_is_integer(dtype_from) && largest(dtype_from) <= largest(dtype_to);
    if (dtype_to == dtype_from || widens)
        return (lab_lost){0};
    l.low = tsr_dtype_is_integer(dtype_to) ? converted(dtype_to, -HUGE_VAL) : -largest(dtype_to);
    l.high = tsr_dtype_is_integer(dtype_to) ? becomes : largest(dtype_to);
    lab_parallel((count + LOST_AT_ONCE - 1) / LOST_AT_ONCE, 0, count_lost, &l);
    return (lab_lost){atomic_load(&l.beyond), atomic_load(&l.nan), l.low, l.high, becomes};
}

tsr_dtype lab_bias_dtype(tsr_dtype result)
{
    return tsr_dtype_bias(result);
}
