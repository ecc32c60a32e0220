#include "lab/common/operands.h"

#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/scaling.h"
#include "lab/common/random.h"

#define ALIGN_BYTES 256
#define SETS_MAX    65536
#define PARTS       6 /* A, B, D, the bias, scales of A and of B */
/* Numbers that are drawn; larger operands repeat them. A prime, so that no row of a matrix is another's copy in place.
 */
#define PERIOD_ELEMS 4194301

/* One operand of a set. */
typedef struct part {
    int64_t elements, bytes; /* bytes: rounded up to the alignment */
    tsr_dtype dtype;
} part;

static tsr_status too_large(void)
{
    return tsr_fail(TSR_INVALID_ARGUMENT, "the operands to measure with do not fit 63 bits of bytes");
}

/* `rows` x `columns` as stored. */
static tsr_status part_of(const tsr_operand *operand, int64_t rows, int64_t columns, int64_t batch, part *out)
{
    long long elements, bytes, more;
    out->dtype = operand->dtype;
    if (!tsr_mul_size(rows, operand->ld > 0 ? operand->ld : columns, &elements) ||
        !tsr_mul_size(batch > 0 ? batch - 1 : 0, operand->batch_stride, &more) ||
        !tsr_add_size(elements, more, &elements) ||
        !tsr_mul_size(elements, (long long)tsr_dtype_bytes(operand->dtype), &bytes) ||
        !tsr_add_size(bytes, ALIGN_BYTES, &bytes))
        return too_large();
    out->elements = elements;
    out->bytes = bytes / ALIGN_BYTES * ALIGN_BYTES;
    return TSR_OK;
}

static int64_t blocks_of(int64_t length)
{
    return length / TSR_SCALE_BLOCK + (length % TSR_SCALE_BLOCK != 0);
}

int64_t lab_scale_count(tsr_scale_mode mode, int64_t outer, int64_t k)
{
    const int64_t row = (blocks_of(k) + 3) / 4 * 4;
    return mode == TSR_SCALE_TENSOR    ? 1
           : mode == TSR_SCALE_1X128   ? blocks_of(k) * outer
           : mode == TSR_SCALE_128X128 ? blocks_of(outer) * row
                                       : outer;
}

/* Of an operand that problems of a batch share, more than it has. */
static tsr_status scales_of(const tsr_gemm_desc *desc, tsr_scale_mode mode, int64_t outer, part *out)
{
    const int64_t count = lab_scale_count(mode, outer, desc->k);
    const tsr_operand scales = {.dtype = TSR_F32, .batch_stride = mode == TSR_SCALE_TENSOR ? 0 : count};
    return part_of(&scales, 1, count, desc->batch_count, out);
}

static tsr_status size_parts(const tsr_gemm_desc *desc, int has_scales, part parts[PARTS], int64_t *set_bytes)
{
    const tsr_operand bias = {.dtype = tsr_dtype_bias(desc->d.dtype)};
    const int ta = desc->a.trans == TSR_T, tb = desc->b.trans == TSR_T;
    tsr_status status = part_of(&desc->a, ta ? desc->k : desc->m, ta ? desc->m : desc->k, desc->batch_count, &parts[0]);
    if (status == TSR_OK)
        status = part_of(&desc->b, tb ? desc->n : desc->k, tb ? desc->k : desc->n, desc->batch_count, &parts[1]);
    if (status == TSR_OK)
        status = part_of(&desc->d, desc->m, desc->n, desc->batch_count, &parts[2]);
    if (status == TSR_OK)
        status = part_of(&bias, desc->epilogue ? 1 : 0, desc->n, 1, &parts[3]);
    if (status == TSR_OK && !desc->epilogue)
        parts[3].bytes = 0;
    if (status == TSR_OK && has_scales)
        status = scales_of(desc, desc->scale_mode_a, desc->m, &parts[4]);
    if (status == TSR_OK && has_scales)
        status = scales_of(desc, desc->scale_mode_b, desc->n, &parts[5]);
    long long sum = 0;
    for (int i = 0; i < PARTS && status == TSR_OK; i++)
        if (!tsr_add_size(sum, parts[i].bytes, &sum))
            status = too_large();
    *set_bytes = sum;
    return status;
}

static int64_t sets_wanted(int64_t set_bytes, int64_t cold_bytes)
{
    if (cold_bytes <= 0)
        return 1;
    const int64_t sets = (cold_bytes + set_bytes - 1) / set_bytes;
    return sets < 2 ? 2 : sets > SETS_MAX ? SETS_MAX : sets;
}

static tsr_status allocate_block(const lab_operands *operands, int64_t bytes, void **out)
{
    if (operands->on_device)
        return tsr_device_alloc(operands->context, (size_t)bytes, out);
    *out = tsr_alloc(NULL, ALIGN_BYTES, (size_t)bytes);
    return *out != NULL ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %lld bytes", (long long)bytes);
}

/* One block for all sets, or for as many as memory has room for. */
static tsr_status allocate(lab_operands *operands, int64_t wanted)
{
    for (;; wanted /= 2) {
        long long bytes;
        const int fits = tsr_mul_size(wanted, operands->set_bytes, &bytes) && tsr_add_size(bytes, ALIGN_BYTES, &bytes);
        tsr_status status = fits ? TSR_OK : too_large();
        if (status == TSR_OK)
            status = allocate_block(operands, bytes, &operands->block);
        if (status == TSR_OK) {
            operands->sets = calloc((size_t)wanted, sizeof *operands->sets);
            if (operands->sets == NULL)
                return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %lld sets of operands", (long long)wanted);
            operands->count = (size_t)wanted;
            return TSR_OK;
        }
        if (wanted == 1)
            return status;
    }
}

static void make_numbers(tsr_dtype dtype, unsigned char *to, int64_t elements, uint64_t seed)
{
    const size_t period_bytes = PERIOD_ELEMS * tsr_dtype_bytes(dtype),
                 bytes = (size_t)elements * tsr_dtype_bytes(dtype);
    lab_fill(LAB_FILL_NORMAL, 0.0, dtype, to, elements < PERIOD_ELEMS ? elements : PERIOD_ELEMS, seed);
    for (size_t at = period_bytes; at < bytes; at += period_bytes)
        memcpy(to + at, to, bytes - at < period_bytes ? bytes - at : period_bytes);
}

/* The numbers of a set, in host memory. */
static tsr_status make_image(const part parts[PARTS], int64_t set_bytes, uint64_t seed, unsigned char **out)
{
    unsigned char *image = tsr_alloc(NULL, ALIGN_BYTES, (size_t)set_bytes);
    if (image == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %lld bytes of random numbers", (long long)set_bytes);
    memset(image, 0, (size_t)set_bytes);
    *out = image;
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].bytes > 0)
            make_numbers(parts[i].dtype, image, parts[i].elements, seed + (uint64_t)i);
        image += parts[i].bytes;
    }
    return TSR_OK;
}

static tsr_status fill_sets(lab_operands *operands, const part parts[PARTS], const unsigned char *image)
{
    const size_t misplaced = (uintptr_t)operands->block % ALIGN_BYTES;
    unsigned char *first = (unsigned char *)operands->block + (misplaced > 0 ? ALIGN_BYTES - misplaced : 0);
    for (size_t i = 0; i < operands->count; i++) {
        unsigned char *at = first + i * (size_t)operands->set_bytes;
        unsigned char *places[PARTS], *place = at;
        for (int p = 0; p < PARTS; p++) {
            places[p] = p < 3 || parts[p].bytes > 0 ? place : NULL;
            place += parts[p].bytes;
        }
        operands->sets[i] = (lab_operand_set){places[0], places[1], places[2], places[3], places[4], places[5]};
        if (!operands->on_device) {
            memcpy(at, image, (size_t)operands->set_bytes);
            continue;
        }
        const tsr_status status = tsr_upload(operands->context, at, image, (size_t)operands->set_bytes);
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}

static tsr_status create(tsr_context *context, const tsr_gemm_desc *desc, int has_scales, int64_t cold_bytes,
                         uint64_t seed, lab_operands *out)
{
    memset(out, 0, sizeof *out);
    part parts[PARTS] = {0};
    unsigned char *image = NULL;
    tsr_status status = size_parts(desc, has_scales, parts, &out->set_bytes);
    if (status != TSR_OK)
        return status;
    out->context = context;
    out->on_device = desc->d.memory == TSR_DEVICE;
    status = allocate(out, sets_wanted(out->set_bytes, cold_bytes));
    if (status == TSR_OK)
        status = make_image(parts, out->set_bytes, seed, &image);
    if (status == TSR_OK)
        status = fill_sets(out, parts, image);
    tsr_free(NULL, image);
    if (status != TSR_OK) {
        lab_operands_free(out);
        return status;
    }
    out->cold = cold_bytes > 0 && out->count > 1 && (int64_t)out->count * out->set_bytes >= cold_bytes;
    return TSR_OK;
}

tsr_status lab_operands_create(tsr_context *context, const tsr_gemm_desc *desc, int64_t cold_bytes, uint64_t seed,
                               lab_operands *out)
{
    return create(context, desc, 0, cold_bytes, seed, out);
}

tsr_status lab_operands_create_scaled(tsr_context *context, const tsr_gemm_desc *desc, int64_t cold_bytes,
                                      uint64_t seed, lab_operands *out)
{
    return create(context, desc, 1, cold_bytes, seed, out);
}

void lab_operands_free(lab_operands *operands)
{
    if (operands->on_device && operands->block != NULL)
        tsr_device_free(operands->context, operands->block);
    else
        tsr_free(NULL, operands->block);
    free(operands->sets);
    memset(operands, 0, sizeof *operands);
}

static void promise_alignment(tsr_operand *operand, int64_t row_length)
{
    const int64_t bytes = (operand->ld > 0 ? operand->ld : row_length) * (int64_t)tsr_dtype_bytes(operand->dtype);
    const int64_t both = bytes | operand->batch_stride * (int64_t)tsr_dtype_bytes(operand->dtype) | ALIGN_BYTES;
    if (operand->align_bytes == 0)
        operand->align_bytes = (uint32_t)(both & -both);
}

tsr_gemm_desc lab_aligned_desc(const tsr_gemm_desc *desc)
{
    tsr_gemm_desc out = *desc;
    promise_alignment(&out.a, desc->a.trans == TSR_T ? desc->m : desc->k);
    promise_alignment(&out.b, desc->b.trans == TSR_T ? desc->k : desc->n);
    promise_alignment(&out.c, desc->n);
    promise_alignment(&out.d, desc->n);
    return out;
}
