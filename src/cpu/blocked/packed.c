/* Operands packed once for many runs. */
#include <stdint.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "cpu/cpu.h"
#include "cpu/skinny/shape.h"

typedef struct operand {
    const tsr_matrix *as;
    long long span; /* rows of op(A), columns of op(B) */
    int width;      /* of a panel along the span */
    int k_inner;    /* 1: stored with K running along its rows */
} operand;

static operand operand_of(const tsr_tiles *tiles, const tsr_problem *problem, char which)
{
    if (which == 'a')
        return (operand){&problem->a, problem->m, tiles->mr, problem->a.trans == TSR_N};
    return (operand){&problem->b, problem->n, tiles->nr, problem->b.trans == TSR_T};
}

static int is_tiles(const tsr_problem *problem)
{
    return tsr_shape_of_problem(problem) == TSR_SHAPE_TILES;
}

static long long copies(const operand *o, const tsr_problem *problem)
{
    return o->as->batch_stride == 0 && problem->batch > 1 ? 1 : problem->batch;
}

/* More than there can be if it does not fit: panels may be much wider than what they hold. */
static size_t times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static size_t bytes_of_one(const tsr_problem *problem, tsr_dtype dtype, const operand *o)
{
    if (is_tiles(problem))
        return times(times((size_t)tsr_round_up(o->span, o->width), (size_t)problem->k), (size_t)tsr_wide_bytes(dtype));
    return times(times((size_t)o->span, (size_t)problem->k), tsr_dtype_bytes(dtype));
}

size_t tsr_packed_bytes(const tsr_isa *isa, tsr_dtype dtype, const tsr_problem *problem, char which)
{
    const operand o = operand_of(tsr_isa_tiles(isa, dtype), problem, which);
    const size_t bytes = times((size_t)copies(&o, problem), bytes_of_one(problem, dtype, &o));
    return bytes ? bytes : 1; /* 0 would say that there is no packed form; no elements need no memory */
}

static void pack_tiles(const tsr_isa *isa, tsr_dtype dtype, const operand *o, long long k, const char *data, char *to)
{
    const tsr_store *store = &isa->store[dtype];
    const long long element_bytes = (long long)tsr_dtype_bytes(dtype), row_bytes = o->as->ld * element_bytes;
    const long long block = tsr_k_block(tsr_kc_of(isa, tsr_isa_pairs(isa) != NULL, dtype), k);
    for (long long p = 0; p < k; p += block) {
        const long long steps = k - p < block ? k - p : block;
        for (long long j = 0; j < o->span; j += o->width) {
            const int n = o->span - j < o->width ? (int)(o->span - j) : o->width;
            if (o->k_inner)
                store->pack_columns(to, o->width, n, steps, data + j * row_bytes + p * element_bytes, row_bytes);
            else
                store->pack_rows(to, o->width, n, steps, data + p * row_bytes + j * element_bytes, row_bytes);
            if (tsr_is_swapped(isa, dtype))
                tsr_swap_steps((float *)(void *)to, o->width, steps);
            to += o->width * steps * tsr_wide_bytes(dtype);
        }
    }
}

static void pack_tight(tsr_dtype dtype, const operand *o, long long k, const char *data, char *to)
{
    const size_t element_bytes = tsr_dtype_bytes(dtype);
    const long long rows = o->k_inner ? o->span : k;
    const size_t row_bytes = (size_t)(o->k_inner ? k : o->span) * element_bytes;
    for (long long i = 0; i < rows; i++, to += row_bytes)
        memcpy(to, data + (size_t)i * (size_t)o->as->ld * element_bytes, row_bytes);
}

void tsr_pack_operand(const tsr_isa *isa, tsr_dtype dtype, const tsr_problem *problem, char which, const void *data,
                      void *packed)
{
    const operand o = operand_of(tsr_isa_tiles(isa, dtype), problem, which);
    const size_t one_bytes = bytes_of_one(problem, dtype, &o);
    if (one_bytes == 0)
        return;
    for (long long z = 0; z < copies(&o, problem); z++) {
        const char *from = (const char *)data + z * o.as->batch_stride * (long long)tsr_dtype_bytes(dtype);
        char *to = (char *)packed + (size_t)z * one_bytes;
        if (is_tiles(problem))
            pack_tiles(isa, dtype, &o, problem->k, from, to);
        else
            pack_tight(dtype, &o, problem->k, from, to);
    }
}

size_t tsr_cpu_tiled_pack_bytes(const tsr_config *config, const tsr_problem *problem, char which)
{
    return tsr_packed_bytes(tsr_isa_best(), tsr_op_of(&config->op).a, problem, which);
}

tsr_status tsr_cpu_tiled_pack(const tsr_config *config, const tsr_problem *problem, char which, const void *data,
                              void *packed)
{
    if (which != 'a' && which != 'b')
        return tsr_fail(TSR_INVALID_ARGUMENT, "operand = '%c': must be 'a' or 'b'", which);
    tsr_pack_operand(tsr_isa_best(), tsr_op_of(&config->op).a, problem, which, data, packed);
    return TSR_OK;
}

int tsr_cpu_tiled_packed_form(const tsr_config *config, const tsr_problem *problem)
{
    (void)config;
    return is_tiles(problem);
}

/* An element as it was before it was widened, which is exact. */
static void narrow(tsr_dtype dtype, const char *wide, char *to)
{
    const size_t bytes = tsr_dtype_bytes(dtype), wide_bytes = (size_t)tsr_wide_bytes(dtype);
    uint32_t bits;
    if (bytes == wide_bytes) {
        memcpy(to, wide, bytes);
        return;
    }
    memcpy(&bits, wide, sizeof bits);
    uint16_t half = (uint16_t)(bits >> 16); /* bf16: the upper half of an f32 */
    if (dtype == TSR_F16) {
        float value;
        memcpy(&value, wide, sizeof value);
        half = tsr_f32_to_f16(value);
    }
    memcpy(to, &half, sizeof half);
}

/* pack_tiles backwards, to tight rows. */
static void unpack_tiles(const tsr_isa *isa, tsr_dtype dtype, const operand *o, long long k, const char *packed,
                         char *to)
{
    const long long bytes = (long long)tsr_dtype_bytes(dtype), wide_bytes = tsr_wide_bytes(dtype);
    const long long block = tsr_k_block(tsr_kc_of(isa, tsr_isa_pairs(isa) != NULL, dtype), k);
    const int swapped = tsr_is_swapped(isa, dtype);
    for (long long p = 0; p < k; p += block) {
        const long long steps = k - p < block ? k - p : block;
        for (long long j = 0; j < o->span; j += o->width) {
            const long long n = o->span - j < o->width ? o->span - j : o->width;
            for (long long s = 0; s < steps; s++) {
                const long long at = swapped && (s | 1) < steps ? s ^ 1 : s;
                for (long long i = 0; i < n; i++)
                    narrow(dtype, packed + (at * o->width + i) * wide_bytes,
                           to + (o->k_inner ? (j + i) * k + p + s : (p + s) * o->span + j + i) * bytes);
            }
            packed += o->width * steps * wide_bytes;
        }
    }
}

void tsr_cpu_tiled_repack(const tsr_config *config, const tsr_problem *from, const tsr_problem *to, char which,
                          const void *packed, void *repacked)
{
    const tsr_isa *isa = tsr_isa_best();
    const tsr_dtype dtype = tsr_op_of(&config->op).a;
    const operand o = operand_of(tsr_isa_tiles(isa, dtype), from, which);
    if (is_tiles(to)) { /* the tight form is a matrix as any other */
        tsr_problem tight = *to;
        tsr_matrix *as = which == 'a' ? &tight.a : &tight.b;
        as->ld = o.k_inner ? to->k : o.span;
        as->batch_stride = copies(&o, from) > 1 ? o.span * to->k : 0;
        tsr_pack_operand(isa, dtype, &tight, which, packed, repacked);
        return;
    }
    const size_t from_bytes = bytes_of_one(from, dtype, &o), to_bytes = bytes_of_one(to, dtype, &o);
    for (long long z = 0; from_bytes > 0 && z < copies(&o, from); z++)
        unpack_tiles(isa, dtype, &o, from->k, (const char *)packed + (size_t)z * from_bytes,
                     (char *)repacked + (size_t)z * to_bytes);
}
