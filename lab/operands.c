#include "lab/operands.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "lab/random.h"

#define ALIGN_BYTES 256
#define SETS_MAX    4096

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

static tsr_status size_parts(const tsr_gemm_desc *desc, part parts[3], int64_t *set_bytes)
{
    const int ta = desc->a.trans == TSR_T, tb = desc->b.trans == TSR_T;
    tsr_status status = part_of(&desc->a, ta ? desc->k : desc->m, ta ? desc->m : desc->k, desc->batch_count, &parts[0]);
    if (status == TSR_OK)
        status = part_of(&desc->b, tb ? desc->n : desc->k, tb ? desc->k : desc->n, desc->batch_count, &parts[1]);
    if (status == TSR_OK)
        status = part_of(&desc->d, desc->m, desc->n, desc->batch_count, &parts[2]);
    long long sum;
    if (status != TSR_OK)
        return status;
    if (!tsr_add_size(parts[0].bytes, parts[1].bytes, &sum) || !tsr_add_size(sum, parts[2].bytes, &sum))
        return too_large();
    *set_bytes = sum;
    return TSR_OK;
}

static tsr_status allocate(const lab_operands *operands, int64_t bytes, void **out)
{
    if (operands->on_device)
        return tsr_device_alloc(operands->context, (size_t)bytes, out);
    *out = tsr_alloc(NULL, ALIGN_BYTES, (size_t)bytes);
    return *out != NULL ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %lld bytes", (long long)bytes);
}

static void release(const lab_operands *operands, void *pointer)
{
    if (operands->on_device)
        tsr_device_free(operands->context, pointer);
    else
        tsr_free(NULL, pointer);
}

static tsr_status add_set(lab_operands *operands, const part parts[3], void *const images[3])
{
    lab_operand_set *set = &operands->sets[operands->count];
    void **pointers[3] = {&set->a, &set->b, &set->d};
    tsr_status status = TSR_OK;
    for (int i = 0; i < 3 && status == TSR_OK; i++) {
        status = allocate(operands, parts[i].bytes, pointers[i]);
        if (status != TSR_OK)
            break;
        if (operands->on_device)
            status = tsr_upload(operands->context, *pointers[i], images[i], (size_t)parts[i].bytes);
        else
            memcpy(*pointers[i], images[i], (size_t)parts[i].bytes);
    }
    if (status != TSR_OK) {
        for (int i = 0; i < 3; i++)
            if (*pointers[i] != NULL)
                release(operands, *pointers[i]);
        memset(set, 0, sizeof *set);
        return status;
    }
    operands->count++;
    return TSR_OK;
}

static int64_t sets_wanted(int64_t set_bytes, int64_t cold_bytes)
{
    if (cold_bytes <= 0)
        return 1;
    int64_t sets = set_bytes > 0 ? (cold_bytes + set_bytes - 1) / set_bytes : SETS_MAX;
    return sets < 2 ? 2 : sets > SETS_MAX ? SETS_MAX : sets;
}

/* The numbers of a set, in host memory; copied into each set. */
static tsr_status make_images(const part parts[3], uint64_t seed, void *images[3])
{
    for (int i = 0; i < 3; i++) {
        images[i] = tsr_alloc(NULL, ALIGN_BYTES, (size_t)parts[i].bytes);
        if (images[i] == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %lld bytes of random numbers", (long long)parts[i].bytes);
        memset(images[i], 0, (size_t)parts[i].bytes);
        lab_fill(LAB_FILL_NORMAL, 0.0, parts[i].dtype, images[i], parts[i].elements, seed + (uint64_t)i);
    }
    return TSR_OK;
}

tsr_status lab_operands_create(tsr_context *context, const tsr_gemm_desc *desc, int64_t cold_bytes, uint64_t seed,
                               lab_operands *out)
{
    memset(out, 0, sizeof *out);
    part parts[3];
    tsr_status status = size_parts(desc, parts, &out->set_bytes);
    if (status != TSR_OK)
        return status;
    out->context = context;
    out->on_device = desc->d.memory == TSR_DEVICE;
    const int64_t wanted = sets_wanted(out->set_bytes, cold_bytes);
    out->sets = calloc((size_t)wanted, sizeof *out->sets);
    if (out->sets == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %lld sets of operands", (long long)wanted);
    void *images[3] = {NULL, NULL, NULL};
    status = make_images(parts, seed, images);
    while (status == TSR_OK && (int64_t)out->count < wanted)
        status = add_set(out, parts, images);
    for (int i = 0; i < 3; i++)
        tsr_free(NULL, images[i]);
    if (status == TSR_OUT_OF_MEMORY && out->count > 0)
        status = TSR_OK; /* fewer sets; `cold` tells */
    if (status != TSR_OK) {
        lab_operands_free(out);
        return status;
    }
    out->cold = cold_bytes > 0 && out->count > 1 && (int64_t)out->count * out->set_bytes >= cold_bytes;
    return TSR_OK;
}

void lab_operands_free(lab_operands *operands)
{
    for (size_t i = 0; i < operands->count; i++) {
        release(operands, operands->sets[i].a);
        release(operands, operands->sets[i].b);
        release(operands, operands->sets[i].d);
    }
    free(operands->sets);
    memset(operands, 0, sizeof *operands);
}
