#include "core/sparse24.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"

tsr_lines24 tsr_lines24_of(const tsr_problem *p, char which)
{
    const tsr_matrix *const operand = tsr_problem_operand(p, which);
    const int is_a = which == 'a', k_inner = is_a == (operand->trans == TSR_N);
    return (tsr_lines24){.dtype = tsr_op_dtype(&p->op, which),
                         .lines = is_a ? p->m : p->n,
                         .k = p->k,
                         .line_step = k_inner ? operand->ld : 1,
                         .k_step = k_inner ? 1 : operand->ld,
                         .matrices = operand->batch_stride == 0 && p->batch > 1 ? 1 : p->batch,
                         .matrix_step = operand->batch_stride,
                         .is_1of2 = tsr_op_dtype(&p->op, which) == TSR_F32 && p->op.compute == TSR_COMPUTE_TF32};
}

int tsr_has_sparse24(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->sparse24_k != 0;
}

int tsr_fits24(const tsr_lines24 *o)
{
    const double elements = ((double)o->lines + TSR_LINES24) * ((double)o->k + TSR_K24_BYTES) * (double)o->matrices;
    return elements * (double)tsr_dtype_bytes(o->dtype) < 0x1p62;
}

long long tsr_values24_bytes(const tsr_lines24 *o)
{
    return o->matrices * o->lines * tsr_kept24(o->k) * (long long)tsr_dtype_bytes(o->dtype);
}

long long tsr_metadata24_bytes(const tsr_lines24 *o)
{
    return o->matrices * o->lines * tsr_indices24_bytes(o->k);
}

/* ---- elements, as bits ---- */

static uint32_t bits_at(const char *array, long long index, size_t bytes)
{
    uint32_t wide;
    uint16_t half;
    switch (bytes) {
    case 4:
        memcpy(&wide, array + index * 4, sizeof wide);
        return wide;
    case 2:
        memcpy(&half, array + index * 2, sizeof half);
        return half;
    default:
        return (unsigned char)array[index];
    }
}

static void put_bits(char *array, long long index, size_t bytes, uint32_t bits)
{
    const uint16_t half = (uint16_t)bits;
    if (bytes == 4)
        memcpy(array + index * 4, &bits, sizeof bits);
    else if (bytes == 2)
        memcpy(array + index * 2, &half, sizeof half);
    else
        array[index] = (char)(unsigned char)bits;
}

/* All bits but the sign of a float, whose zeros are both zero. */
static uint32_t nonzero_mask(tsr_dtype dtype)
{
    const uint32_t all = 0xffffffffu >> (32 - 8 * tsr_dtype_bytes(dtype));
    return tsr_dtype_is_integer(dtype) ? all : all >> 1;
}

/* `span` neighbours from k on as their bits, and how many are not zero: what lies beyond K is. */
static int take_group(const tsr_lines24 *o, const char *line, long long k, int span, uint32_t group[4])
{
    const size_t bytes = tsr_dtype_bytes(o->dtype);
    const uint32_t mask = nonzero_mask(o->dtype);
    int count = 0;
    for (int i = 0; i < span; i++) {
        group[i] = k + i < o->k ? bits_at(line, (k + i) * o->k_step, bytes) : 0;
        count += (group[i] & mask) != 0;
    }
    return count;
}

static const char *line_at(const tsr_lines24 *o, const void *data, long long matrix, long long line)
{
    return (const char *)data + (matrix * o->matrix_step + line * o->line_step) * (long long)tsr_dtype_bytes(o->dtype);
}

int tsr_keeps24(const tsr_lines24 *o, const void *data, tsr_group24 *first)
{
    const int span = tsr_span24(o);
    uint32_t group[4];
    for (long long z = 0; z < o->matrices; z++)
        for (long long j = 0; j < o->lines; j++) {
            const char *const line = line_at(o, data, z, j);
            for (long long k = 0; k < o->k; k += span) {
                const int count = take_group(o, line, k, span, group);
                if (count > span / 2) {
                    *first = (tsr_group24){z, j, k, count};
                    return 0;
                }
            }
        }
    return 1;
}

/* ---- pruning ---- */

/* What elements of a group are ranked by: their magnitude, NaN above all. Bits of a float without its sign rise with
 * its magnitude. */
static uint32_t rank_of(tsr_dtype dtype, uint32_t bits)
{
    const tsr_element *const element = tsr_element_of(dtype);
    if (element->is_integer)
        return !element->is_unsigned && bits & 0x80 ? 0x100 - bits : bits;
    const uint32_t magnitude = bits & nonzero_mask(dtype);
    return magnitude > element->infinity ? 0xffffffffu : magnitude;
}

/* A bit for each of `span` elements that stay: the largest half, the lower ones of equals. */
static unsigned largest_half(tsr_dtype dtype, const uint32_t group[4], int span)
{
    unsigned kept = 0;
    for (int n = 0; n < span / 2; n++) {
        int best = -1;
        for (int i = 0; i < span; i++)
            if (!(kept >> i & 1) && (best < 0 || rank_of(dtype, group[i]) > rank_of(dtype, group[best])))
                best = i;
        kept |= 1u << best;
    }
    return kept;
}

/* A sum of squares of numbers whose squares may leave double's range: largest^2 * sum, NaN and infinities left out. */
typedef struct norm {
    double largest, sum;
} norm;

static void add_to_norm(norm *n, double value)
{
    const double magnitude = fabs(value);
    if (!(magnitude > 0) || !isfinite(magnitude))
        return;
    if (magnitude > n->largest) {
        const double ratio = n->largest / magnitude;
        n->sum = n->sum * ratio * ratio + 1;
        n->largest = magnitude;
    } else {
        const double ratio = magnitude / n->largest;
        n->sum += ratio * ratio;
    }
}

void tsr_drop24(const tsr_lines24 *o, void *data, double *lost)
{
    const size_t bytes = tsr_dtype_bytes(o->dtype);
    const int span = tsr_span24(o);
    norm all = {0, 0}, gone = {0, 0};
    uint32_t group[4];
    for (long long z = 0; z < o->matrices; z++)
        for (long long j = 0; j < o->lines; j++) {
            char *const line = (char *)line_at(o, data, z, j);
            for (long long k = 0; k < o->k; k += span) {
                const int count = take_group(o, line, k, span, group);
                const unsigned kept = largest_half(o->dtype, group, span);
                for (int i = 0; i < span && k + i < o->k; i++) {
                    const double value = tsr_load_element(o->dtype, line, (k + i) * o->k_step);
                    add_to_norm(&all, value);
                    if (count <= span / 2 || kept >> i & 1)
                        continue;
                    add_to_norm(&gone, value);
                    put_bits(line, (k + i) * o->k_step, bytes, 0);
                }
            }
        }
    if (lost)
        *lost = all.largest > 0 ? gone.largest / all.largest * sqrt(gone.sum / all.sum) : 0;
}

/* ---- the compressed form ---- */

/* Two indices that hold all that is not zero; what is left of the two places goes to the lowest that are free, of 1:2
 * in either half. */
static unsigned two_of(const tsr_lines24 *o, const uint32_t group[4])
{
    const uint32_t mask = nonzero_mask(o->dtype);
    if (o->is_1of2)
        return (group[1] & mask ? 1u : 0u) | (group[3] & mask ? 3u : 2u) << 2;
    int kept[4] = {0}, count = 0;
    for (int i = 0; i < 4; i++)
        count += kept[i] = (group[i] & mask) != 0;
    for (int i = 0; i < 4 && count < 2; i++)
        if (!kept[i])
            count += kept[i] = 1;
    const int first = kept[0] ? 0 : kept[1] ? 1 : 2;
    int second = first + 1;
    while (!kept[second])
        second++;
    return (unsigned)(first | second << 2);
}

static const unsigned char *indices_at(const tsr_lines24 *o, const void *metadata, long long matrix, long long line)
{
    return (const unsigned char *)metadata + (matrix * o->lines + line) * tsr_indices24_bytes(o->k);
}

static unsigned group_indices(const unsigned char *indices, long long k)
{
    return indices[k / 8] >> (k % 8) & 15u;
}

int tsr_ascends24(const tsr_lines24 *o, const void *metadata, tsr_group24 *first)
{
    for (long long z = 0; z < o->matrices; z++)
        for (long long j = 0; j < o->lines; j++)
            for (long long k = 0; k < o->k; k += 4) {
                const unsigned indices = group_indices(indices_at(o, metadata, z, j), k);
                if (o->is_1of2 ? (indices & 3) < 2 && indices >> 2 >= 2 : (indices & 3) < indices >> 2)
                    continue;
                *first = (tsr_group24){z, j, k, (int)indices};
                return 0;
            }
    return 1;
}

void tsr_squeeze24(const tsr_lines24 *o, const void *data, void *values, void *metadata)
{
    const size_t bytes = tsr_dtype_bytes(o->dtype);
    const long long kept = tsr_kept24(o->k);
    uint32_t group[4];
    memset(metadata, 0, (size_t)tsr_metadata24_bytes(o));
    for (long long z = 0; z < o->matrices; z++)
        for (long long j = 0; j < o->lines; j++) {
            const char *const line = line_at(o, data, z, j);
            char *const to = (char *)values + (z * o->lines + j) * kept * (long long)bytes;
            unsigned char *const indices = (unsigned char *)indices_at(o, metadata, z, j);
            for (long long k = 0; k < o->k; k += 4) {
                (void)take_group(o, line, k, 4, group);
                const unsigned two = two_of(o, group);
                put_bits(to, k / 2, bytes, group[two & 3]);
                put_bits(to, k / 2 + 1, bytes, group[two >> 2]);
                indices[k / 8] = (unsigned char)(indices[k / 8] | two << (k % 8));
            }
        }
}

void tsr_spread24_lines(const tsr_lines24 *o, const void *values, const void *metadata, long long matrix,
                        long long first, long long count, void *to, long long line_step, long long k_step)
{
    const size_t bytes = tsr_dtype_bytes(o->dtype);
    const long long kept = tsr_kept24(o->k);
    for (long long j = 0; j < count; j++) {
        const char *const from = (const char *)values + (matrix * o->lines + first + j) * kept * (long long)bytes;
        const unsigned char *const indices = indices_at(o, metadata, matrix, first + j);
        char *const line = (char *)to + j * line_step * (long long)bytes;
        for (long long k = 0; k < o->k; k += 4) {
            const unsigned two = group_indices(indices, k);
            for (int i = 0; i < 4 && k + i < o->k; i++)
                put_bits(line, (k + i) * k_step, bytes, 0);
            for (int i = 0; i < 2; i++) {
                const long long at = k + (two >> (2 * i) & 3);
                if (at < o->k)
                    put_bits(line, at * k_step, bytes, bits_at(from, k / 2 + i, bytes));
            }
        }
    }
}

void tsr_spread24(const tsr_lines24 *o, const void *values, const void *metadata, void *data)
{
    for (long long z = 0; z < o->matrices; z++)
        tsr_spread24_lines(o, values, metadata, z, 0, o->lines,
                           (char *)data + z * o->matrix_step * (long long)tsr_dtype_bytes(o->dtype), o->line_step,
                           o->k_step);
}

/* ---- the form of kernels ---- */

static long long padded(long long count, long long to)
{
    return (count + to - 1) / to * to;
}

int tsr_lanes24_k(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->sparse24_k;
}

tsr_form24 tsr_form24_of(tsr_dtype dtype, long long lines, long long k)
{
    const long long bytes = (long long)tsr_dtype_bytes(dtype);
    tsr_form24 form = {.lines = padded(lines, TSR_LINES24), .k = padded(k, TSR_K24_BYTES / bytes)};
    form.values_bytes = form.lines * form.k / 2 * bytes;
    form.bytes = form.values_bytes + form.lines / 16 * (form.k / tsr_lanes24_k(dtype)) * TSR_LANES24 * 4;
    return form;
}

long long tsr_device24_bytes(const tsr_lines24 *o)
{
    return tsr_form24_of(o->dtype, o->lines, o->k).bytes;
}

/* The indices of `groups` neighbours along K, four bits each. Beyond the matrix they are 0 and 1, with values that are
 * zero: equal ones are undefined. */
static uint32_t indices_of(const tsr_lines24 *o, const void *metadata, long long matrix, long long line, long long k,
                           int groups)
{
    uint32_t word = 0;
    for (int i = 0; i < groups; i++) {
        const int is_inside = line < o->lines && k + 4 * i < o->k;
        word |= (is_inside ? group_indices(indices_at(o, metadata, matrix, line), k + 4 * i) : 4u) << (4 * i);
    }
    return word;
}

/* The same of f32, whose `pairs` take four bits each: 0100 if the first of two is given, 1110 if the second is. Those
 * are the indices 0 and 1, or 2 and 3, of its halves of 16 bits. */
static uint32_t pairs_of(const tsr_lines24 *o, const void *metadata, long long matrix, long long line, long long k,
                         int pairs)
{
    uint32_t word = 0;
    for (int i = 0; i < pairs; i++) {
        const uint32_t two = indices_of(o, metadata, matrix, line, k + i / 2 * 4, 1);
        const int is_second = i % 2 ? two >> 2 == 3 : (two & 3) == 1;
        word |= (is_second ? 14u : 4u) << (4 * i);
    }
    return word;
}

/* What lane `lane` holds for 16 lines and tsr_lanes24_k of K from (line, k) on. */
static uint32_t metadata_word(const tsr_lines24 *o, const void *metadata, long long matrix, long long line, long long k,
                              int lane)
{
    const int g = lane / 4, t = lane % 4;
    if (tsr_dtype_bytes(o->dtype) == 1)
        return indices_of(o, metadata, matrix, line + g + 8 * (t & 1), k + 32 * (t >> 1), 8);
    if (tsr_dtype_bytes(o->dtype) == 4)
        return pairs_of(o, metadata, matrix, line + g, k + 8 * t, 4) |
               pairs_of(o, metadata, matrix, line + g + 8, k + 8 * t, 4) << 16;
    return indices_of(o, metadata, matrix, line + g, k + 16 * t, 4) |
           indices_of(o, metadata, matrix, line + g + 8, k + 16 * t, 4) << 16;
}

void tsr_device24(const tsr_lines24 *o, const void *values, const void *metadata, void *to)
{
    const long long bytes = (long long)tsr_dtype_bytes(o->dtype), kept = tsr_kept24(o->k);
    const tsr_form24 form = tsr_form24_of(o->dtype, o->lines, o->k);
    for (long long z = 0; z < o->matrices; z++) {
        char *const matrix = (char *)to + z * form.bytes;
        char *words = matrix + form.values_bytes;
        memset(matrix, 0, (size_t)form.values_bytes);
        for (long long j = 0; j < o->lines; j++) {
            char *const line = matrix + j * form.k / 2 * bytes;
            memcpy(line, (const char *)values + (z * o->lines + j) * kept * bytes, (size_t)(kept * bytes));
            for (int i = 0; i < 2 && o->k % 4 != 0; i++) { /* the last group: what stands beyond K counts as zero */
                const unsigned two = group_indices(indices_at(o, metadata, z, j), o->k - o->k % 4);
                if ((two >> (2 * i) & 3) >= (unsigned)(o->k % 4))
                    put_bits(line, kept - 2 + i, (size_t)bytes, 0);
            }
        }
        for (long long j = 0; j < form.lines; j += 16)
            for (long long p = 0; p < form.k; p += tsr_lanes24_k(o->dtype))
                for (int lane = 0; lane < 32; lane++, words += 4)
                    put_bits(words, 0, 4, metadata_word(o, metadata, z, j, p, lane));
    }
}
