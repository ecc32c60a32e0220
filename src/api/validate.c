#include "api/validate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/check.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/forms.h"
#include "core/scaling.h"
#include "core/sparse24.h"

#define WORKSPACE_ALIGN_BYTES 256
#define MOST_STRUCT_BYTES     4096 /* of any later version; beyond it, the member was never set */

static int is_struct_size(size_t bytes, size_t first_bytes)
{
    return bytes >= first_bytes && bytes <= MOST_STRUCT_BYTES;
}

tsr_status tsr_check_struct(const char *what, const char *member, size_t bytes, size_t first_bytes)
{
    return is_struct_size(bytes, first_bytes)
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT,
                          "%s = %zu: must be sizeof(%s), which is %zu in version 0.1 and never less, nor more than %d",
                          member, bytes, what, first_bytes, MOST_STRUCT_BYTES);
}

void tsr_give_struct(void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
    const size_t shared_bytes = from_bytes < to_bytes ? from_bytes : to_bytes;
    memcpy(to, from, shared_bytes);
    memset((char *)to + shared_bytes, 0, to_bytes - shared_bytes);
}

tsr_status tsr_take_struct(void *to, size_t to_bytes, size_t first_bytes, const void *from, const char *what)
{
    size_t from_bytes;
    memcpy(&from_bytes, from, sizeof from_bytes);
    if (!is_struct_size(from_bytes, first_bytes)) { /* the member's name only now: runs come here each time */
        char member[64];
        snprintf(member, sizeof member, "%s.struct_bytes", what);
        return tsr_check_struct(what, member, from_bytes, first_bytes);
    }
    for (size_t i = to_bytes; i < from_bytes; i++)
        if (((const unsigned char *)from)[i])
            return tsr_fail(TSR_UNSUPPORTED, "%s has %zu bytes and sets fields that this version (%s) does not know",
                            what, from_bytes, tsr_version());
    tsr_give_struct(to, to_bytes, from, from_bytes);
    return TSR_OK;
}

/* ---- sizes and layouts ---- */

static const char *stored_as(char which, tsr_trans trans)
{
    switch (which) {
    case 'a':
        return trans == TSR_T ? "M (A is stored K x M)" : "K (A is stored M x K)";
    case 'b':
        return trans == TSR_T ? "K (B is stored N x K)" : "N (B is stored K x N)";
    case 'c':
        return "N (C is stored M x N)";
    default:
        return "N (D is stored M x N)";
    }
}

static tsr_status check_size(const char *name, int64_t value)
{
    return value < 0 ? tsr_fail(TSR_INVALID_ARGUMENT, "%s = %lld: must not be negative", name, (long long)value)
                     : TSR_OK;
}

static unsigned broadcast_of(char which)
{
    return which == 'a' ? TSR_BROADCAST_A : which == 'b' ? TSR_BROADCAST_B : which == 'c' ? TSR_BROADCAST_C : 0;
}

static tsr_status stride_forgotten(const tsr_problem *p, char which)
{
    const char upper = (char)(which - 'a' + 'A');
    return tsr_fail(
        TSR_INVALID_ARGUMENT,
        "%c.batch_stride = 0: the %lld problems of the batch would share one %c; give the stride, or ask for "
        "that by broadcast = TSR_BROADCAST_%c",
        upper, p->batch, upper, upper);
}

/* A stride of 0 in a batch must be asked for by name, but in the first version's struct, which cannot. Matrices without
 * elements are as good as any. */
static tsr_status check_broadcast(const tsr_gemm_desc *desc, const char *operands, tsr_problem *p)
{
    if (desc->struct_bytes < TSR_BYTES_UP_TO(tsr_gemm_desc, broadcast))
        return TSR_OK;
    if (desc->reserved)
        return tsr_fail(TSR_INVALID_ARGUMENT, "reserved = %u: must be 0", desc->reserved);
    if (desc->broadcast & ~(TSR_BROADCAST_A | TSR_BROADCAST_B | TSR_BROADCAST_C))
        return tsr_fail(TSR_INVALID_ARGUMENT, "broadcast = 0x%x: only TSR_BROADCAST_A, _B and _C", desc->broadcast);
    for (const char *which = operands; *which && *which != 'd'; which++) {
        const long long stride = tsr_problem_operand(p, *which)->batch_stride;
        const int asked = (desc->broadcast & broadcast_of(*which)) != 0;
        const char upper = (char)(*which - 'a' + 'A');
        if (asked && stride != 0)
            return tsr_fail(TSR_INVALID_ARGUMENT, "%c.batch_stride = %lld: must be 0 with TSR_BROADCAST_%c", upper,
                            stride, upper);
        long long rows, columns;
        tsr_stored_shape(p, *which, &rows, &columns);
        if (asked || stride != 0 || p->batch <= 1 || rows == 0 || columns == 0)
            continue;
        if (*which != 'c')
            return stride_forgotten(p, *which);
        p->flags |= TSR_C_STRIDE_FORGOTTEN;
    }
    return TSR_OK;
}

/* Two problems of a batch must not write the same element: whole problems apart, or interleaved within the rows. */
static int batch_overlaps(const tsr_problem *p, const tsr_matrix *d)
{
    if (p->batch <= 1 || p->m == 0 || p->n == 0)
        return 0;
    if (d->batch_stride >= (p->m - 1) * d->ld + p->n)
        return 0;
    long long span = 0;
    return !(d->batch_stride >= p->n && tsr_mul_size(p->batch - 1, d->batch_stride, &span) && span <= d->ld - p->n);
}

/* Offsets in bytes are 64-bit numbers, also those of a matrix without elements. */
static tsr_status check_span(const tsr_problem *p, char which, const tsr_matrix *operand)
{
    long long rows, columns, bytes, elements = 0, batches = 0;
    const long long element_bytes = tsr_problem_element(p, which);
    tsr_stored_shape(p, which, &rows, &columns);
    const int is_empty = rows == 0 || columns == 0 || p->batch == 0;
    int fits =
        tsr_mul_size(operand->ld, element_bytes, &bytes) && tsr_mul_size(operand->batch_stride, element_bytes, &bytes);
    if (fits && !is_empty)
        fits = tsr_mul_size(rows - 1, operand->ld, &elements) && tsr_add_size(elements, columns, &elements) &&
               tsr_mul_size(p->batch - 1, operand->batch_stride, &batches) &&
               tsr_add_size(elements, batches, &elements) && tsr_mul_size(elements, element_bytes, &bytes);
    return fits ? TSR_OK
                : tsr_fail(TSR_INVALID_ARGUMENT, "%c spans more than 2^63 - 1 bytes (%lld rows, ld%c = %lld)",
                           which - 'a' + 'A', rows, which, (long long)operand->ld);
}

static tsr_status check_operand(const tsr_problem *p, char which, const tsr_operand *given, tsr_matrix *operand)
{
    const tsr_dtype dtype = given->dtype;
    const char upper = (char)(which - 'a' + 'A');
    if (dtype <= TSR_DTYPE_NONE || dtype >= TSR_DTYPE_COUNT)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.dtype = %d: not a dtype", upper, (int)dtype);
    if (operand->trans != TSR_N && operand->trans != TSR_T)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.trans = %d: must be TSR_N or TSR_T", upper, (int)operand->trans);
    if (operand->trans == TSR_T && (which == 'c' || which == 'd'))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.trans = TSR_T: C and D are row-major; compute the transposed problem",
                        upper);
    if (operand->memory != TSR_HOST && operand->memory != TSR_DEVICE)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.memory = %d: must be TSR_HOST or TSR_DEVICE", upper,
                        (int)operand->memory);
    if (operand->align_bytes & (operand->align_bytes - 1))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.align_bytes = %u: must be a power of two", upper, given->align_bytes);
    for (size_t i = 0; i < sizeof given->reserved / sizeof given->reserved[0]; i++)
        if (given->reserved[i])
            return tsr_fail(TSR_INVALID_ARGUMENT, "%c.reserved[%zu]: must be 0", upper, i);
    const long long element = (long long)tsr_dtype_bytes(dtype);
    if (operand->align_bytes < element)
        operand->align_bytes = element;

    long long rows, columns;
    tsr_stored_shape(p, which, &rows, &columns);
    if (operand->ld == 0)
        operand->ld = columns;
    if (!tsr_is_row_length(operand->ld, columns))
        return tsr_fail(TSR_INVALID_ARGUMENT, "ld%c = %lld: must be at least %lld, that is %s", which,
                        (long long)operand->ld, columns, stored_as(which, operand->trans));
    if (operand->batch_stride < 0)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.batch_stride = %lld: must not be negative", upper,
                        (long long)operand->batch_stride);
    const tsr_status status = check_span(p, which, operand);
    if (status != TSR_OK)
        return status;
    if (which == 'd' && batch_overlaps(p, operand))
        return tsr_fail(TSR_INVALID_ARGUMENT, "D.batch_stride = %lld: the %lld problems of the batch would overlap",
                        (long long)operand->batch_stride, p->batch);
    return TSR_OK;
}

/* ---- dtypes ---- */

/* Names A's type and the one other that B may have beside it, if there is one. */
static tsr_status refuse_partner(tsr_dtype a, tsr_dtype b)
{
    const unsigned others = tsr_element_of(a)->partners & ~TSR_TYPE_BIT(a);
    tsr_dtype other = TSR_DTYPE_NONE;
    for (int dtype = TSR_DTYPE_NONE + 1; dtype < TSR_DTYPE_COUNT; dtype++)
        if (others & TSR_TYPE_BIT(dtype))
            other = (tsr_dtype)dtype;
    return tsr_fail(TSR_INVALID_ARGUMENT, "B.dtype = %s: must be that of A (%s)%s%s", tsr_dtype_name(b),
                    tsr_dtype_name(a), others ? " or " : "", others ? tsr_dtype_name(other) : "");
}

static tsr_status check_dtypes(tsr_problem *p)
{
    const tsr_dtype a = p->op.a, b = p->op.b;
    const tsr_element *const element = tsr_element_of(a);
    if (!element->partners)
        return tsr_fail(TSR_INVALID_ARGUMENT, "A.dtype = %s: operands of a product may not be %s", tsr_dtype_name(a),
                        tsr_dtype_name(a));
    if (!(element->partners & TSR_TYPE_BIT(b)))
        return refuse_partner(a, b);
    if (!(element->results & TSR_TYPE_BIT(p->op.d)))
        return tsr_fail(TSR_INVALID_ARGUMENT, "D.dtype = %s: no result of %s operands", tsr_dtype_name(p->op.d),
                        tsr_dtype_name(a));
    if (!(element->results & TSR_TYPE_BIT(p->op.c)))
        return tsr_fail(TSR_INVALID_ARGUMENT, "C.dtype = %s: no addend of %s products", tsr_dtype_name(p->op.c),
                        tsr_dtype_name(a));
    if (p->op.compute == TSR_COMPUTE_DEFAULT)
        p->op.compute = element->compute;
    if (p->op.compute != element->compute && p->op.compute != element->other_compute)
        return tsr_fail(TSR_INVALID_ARGUMENT, "compute = %s: not for %s operands", tsr_compute_name(p->op.compute),
                        tsr_dtype_name(a));
    if (p->op.epilogue != TSR_EPILOGUE_NONE && tsr_dtype_is_integer(p->op.d))
        return tsr_fail(TSR_UNSUPPORTED, "epilogue: not for results in s32; D.dtype = f32, f16 or bf16");
    return TSR_OK;
}

/* Which scales go with which operands. */
static tsr_status check_scale_mode(const tsr_problem *p, char which)
{
    const tsr_scale_mode mode = tsr_problem_scales(p, which);
    const tsr_dtype dtype = tsr_op_dtype(&p->op, which);
    if ((unsigned)mode >= TSR_SCALE_MODE_COUNT)
        return tsr_fail(TSR_INVALID_ARGUMENT, "scale_mode_%c = %d: not a mode of scales", which, (int)mode);
    if (mode == TSR_SCALE_TENSOR)
        return TSR_OK;
    const unsigned modes = tsr_element_of(dtype)->scales;
    if (modes == TSR_ONE_SCALE)
        return tsr_fail(TSR_UNSUPPORTED, "scale_mode_%c: only operands of 8 bits have scales, not %s", which,
                        tsr_dtype_name(dtype));
    if (!(modes & TSR_SCALE_BIT(mode)))
        return tsr_fail(TSR_UNSUPPORTED, "scale_mode_%c: scales of blocks are for e4m3 and e5m2, not %s", which,
                        tsr_dtype_name(dtype));
    if (mode != TSR_SCALE_VECTOR && p->op.compute == TSR_COMPUTE_FAST)
        return tsr_fail(TSR_UNSUPPORTED,
                        "scale_mode_%c: scales of blocks multiply sums that compute = fast leaves whole", which);
    return tsr_scale_count(p, which) || p->m == 0 || p->n == 0 || p->k == 0 || p->batch == 0
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT, "scale_mode_%c: the scales are more than 2^63 - 1", which);
}

static tsr_status check_scale_modes(const tsr_problem *p)
{
    const tsr_status status = check_scale_mode(p, 'a');
    return status == TSR_OK ? check_scale_mode(p, 'b') : status;
}

static tsr_status unknown_form(const char *epilogue)
{
    return tsr_fail(TSR_UNSUPPORTED, "epilogue = \"%.60s%s\": only \"%s\" and \"%s\" are supported yet", epilogue,
                    strlen(epilogue) > 60 ? "..." : "", tsr_form_text(TSR_EPILOGUE_BIAS),
                    tsr_form_text(TSR_EPILOGUE_BIAS_RELU));
}

/* Not every char can be seen in a message, and 0 would end it. */
tsr_status tsr_check_a_or_b(char operand)
{
    if (operand == 'a' || operand == 'b')
        return TSR_OK;
    return operand > ' ' && operand <= '~'
               ? tsr_fail(TSR_INVALID_ARGUMENT, "operand = '%c': must be 'a' or 'b'", operand)
               : tsr_fail(TSR_INVALID_ARGUMENT, "operand = (char)%d: must be 'a' or 'b'", operand);
}

/* Copies the caller's descriptor and checks its numbers. */
static tsr_status take_desc(const tsr_gemm_desc *desc, tsr_gemm_desc *d)
{
    if (!desc)
        return tsr_fail(TSR_INVALID_ARGUMENT, "desc = NULL: must point to a descriptor");
    tsr_status status = tsr_take_struct(d, sizeof *d, TSR_FIRST_DESC_BYTES, desc, "tsr_gemm_desc");
    if (status != TSR_OK)
        return status;
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"m", d->m}, {"n", d->n}, {"k", d->k}, {"batch_count", d->batch_count}, {"threads", d->threads}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if ((status = check_size(sizes[i].name, sizes[i].value)) != TSR_OK)
            return status;
    return d->threads > TSR_MOST_THREADS
               ? tsr_fail(TSR_INVALID_ARGUMENT, "threads = %d: must be 0 to %d", d->threads, TSR_MOST_THREADS)
               : TSR_OK;
}

/* Those named, of "abcd". */
static tsr_status take_operands(const tsr_gemm_desc *d, const char *operands, tsr_problem *out)
{
    tsr_status status = TSR_OK;
    out->m = d->m;
    out->n = d->n;
    out->k = d->k;
    out->batch = d->batch_count;
    const tsr_operand *from[] = {&d->a, &d->b, &d->c, &d->d};
    tsr_matrix *to[] = {&out->a, &out->b, &out->c, &out->d};
    for (const char *which = operands; *which && status == TSR_OK; which++) {
        const int i = *which - 'a';
        tsr_problem_set_operand(out, *which, from[i]);
        status = check_operand(out, *which, from[i], to[i]);
    }
    return status == TSR_OK ? check_broadcast(d, operands, out) : status;
}

tsr_status tsr_validate_sizes(const tsr_gemm_desc *desc, char operand, tsr_problem *out)
{
    const char operands[] = {operand, '\0'};
    tsr_gemm_desc d;
    const tsr_status status = take_desc(desc, &d);
    memset(out, 0, sizeof *out);
    out->op.compute = d.compute;
    return status == TSR_OK ? take_operands(&d, operands, out) : status;
}

/* What a compressed operand rules out. */
static tsr_status check_sparse24(const tsr_problem *p)
{
    const unsigned sparse = p->op.sparse24;
    const char which = sparse == TSR_SPARSE24_B ? 'b' : 'a';
    const tsr_dtype dtype = tsr_op_dtype(&p->op, which);
    if (!sparse)
        return TSR_OK;
    if (sparse == TSR_SPARSE24)
        return tsr_fail(TSR_UNSUPPORTED, "flags: TSR_SPARSE24_A and TSR_SPARSE24_B: one operand alone is compressed");
    if (!tsr_has_sparse24(dtype))
        return tsr_fail(TSR_UNSUPPORTED, "%c.dtype = %s: 2:4 sparsity is for f32, f16, bf16, e4m3, e5m2, s8 and u8",
                        which - 'a' + 'A', tsr_dtype_name(dtype));
    if (p->op.scale_a != TSR_SCALE_TENSOR || p->op.scale_b != TSR_SCALE_TENSOR)
        return tsr_fail(TSR_UNSUPPORTED, "scale_mode_%c: must be TSR_SCALE_TENSOR with a compressed operand",
                        p->op.scale_a != TSR_SCALE_TENSOR ? 'a' : 'b');
    if (tsr_dtype_is_fp8(p->op.d))
        return tsr_fail(TSR_UNSUPPORTED, "D.dtype = %s: no results in 8-bit floats with a compressed operand",
                        tsr_dtype_name(p->op.d));
    return TSR_OK;
}

tsr_status tsr_validate_desc(const tsr_gemm_desc *desc, tsr_problem *out)
{
    tsr_gemm_desc d;
    tsr_status status = take_desc(desc, &d);
    if (status != TSR_OK)
        return status;
    if (d.batch_kind != TSR_BATCH_STRIDED && d.batch_kind != TSR_BATCH_POINTERS && d.batch_kind != TSR_BATCH_GROUPED)
        return tsr_fail(TSR_INVALID_ARGUMENT, "batch_kind = %d: not a kind of batch", (int)d.batch_kind);
    if (d.batch_kind != TSR_BATCH_STRIDED)
        return tsr_fail(TSR_UNSUPPORTED, "batch_kind: only TSR_BATCH_STRIDED is supported yet");
    if (d.flags & ~(TSR_BATCH_INVARIANT | TSR_SPARSE24 | TSR_OVERFLOW_SPECIAL))
        return tsr_fail(TSR_INVALID_ARGUMENT, "flags = 0x%x: unknown flag", d.flags);
    if (d.epilogue && tsr_form_of(d.epilogue) == TSR_EPILOGUE_NONE)
        return unknown_form(d.epilogue);
    if ((unsigned)d.compute >= TSR_COMPUTE_COUNT)
        return tsr_fail(TSR_INVALID_ARGUMENT, "compute = %d: not a compute type", (int)d.compute);
    if (d.kernel && strlen(d.kernel) > TSR_KERNEL_NAME_BYTES)
        return tsr_fail(TSR_INVALID_ARGUMENT, "kernel = \"%.40s...\": longer than %d characters", d.kernel,
                        TSR_KERNEL_NAME_BYTES);
    if (d.kernel && !tsr_config_exists(d.kernel))
        return tsr_fail(TSR_INVALID_ARGUMENT, "kernel = \"%s\": no such kernel", d.kernel);

    memset(out, 0, sizeof *out); /* padding too: the plan cache compares bytes */
    out->op.compute = d.compute;
    out->op.sparse24 = d.flags & TSR_SPARSE24;
    out->flags = d.flags & ~TSR_SPARSE24;
    out->threads = d.threads;
    out->op.epilogue = d.epilogue ? tsr_form_of(d.epilogue) : TSR_EPILOGUE_NONE;
    out->op.scale_a = d.scale_mode_a;
    out->op.scale_b = d.scale_mode_b;
    out->workspace_limit_bytes = d.workspace_limit_bytes;
    out->kernel = d.kernel;
    status = take_operands(&d, "abcd", out);
    if (status == TSR_OK)
        status = check_dtypes(out);
    if (status == TSR_OK)
        status = check_scale_modes(out);
    if (status == TSR_OK)
        status = check_sparse24(out);
    if (out->batch <= 1) /* strides that lead nowhere count for no alignment */
        out->a.batch_stride = out->b.batch_stride = out->c.batch_stride = out->d.batch_stride = 0;
    return status;
}

/* ---- one run ---- */

static tsr_status check_pointer(const tsr_problem *p, char which, const void *pointer)
{
    if (p->op.sparse24 & tsr_sparse24_flag(which))
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "prepared_%c = NULL: the plan's %c is compressed (TSR_SPARSE24_%c), tsr_compress24 makes it",
                        which, which - 'a' + 'A', which - 'a' + 'A');
    if (!pointer)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c = NULL: it is %s by this run", which,
                        which == 'd' ? "written" : "read");
    const long long align = tsr_problem_operand(p, which)->align_bytes;
    if (!tsr_is_aligned((uintptr_t)pointer, align))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c = %p: not aligned to the %lld bytes %s", which, pointer, align,
                        align == tsr_problem_element(p, which) ? "of an element" : "that the descriptor guarantees");
    return TSR_OK;
}

/* One matrix in memory: rows of `width` bytes, `pitch` bytes apart. */
typedef struct rows_in_memory {
    uintptr_t base;
    long long rows, width, pitch;
} rows_in_memory;

static rows_in_memory rows_of(const tsr_problem *p, char which, const void *pointer)
{
    const tsr_matrix *operand = tsr_problem_operand(p, which);
    const long long element = tsr_problem_element(p, which);
    long long rows, columns;
    tsr_stored_shape(p, which, &rows, &columns);
    return (rows_in_memory){(uintptr_t)pointer, rows, columns * element, operand->ld * element};
}

/* 1 if some row of `a` shares a byte with one of `b`. Walks over the one with fewer rows. */
static int rows_meet(rows_in_memory a, rows_in_memory b)
{
    if (a.rows > b.rows)
        return rows_meet(b, a);
    for (long long i = 0; i < a.rows; i++) {
        const long long from =
            (long long)(a.base - b.base) + i * a.pitch; /* where a's row begins, seen from b's first */
        if (from + a.width <= 0)
            continue;
        const long long last = (from + a.width - 1) / b.pitch; /* b's last row that begins before a's row ends */
        const long long row = last < b.rows ? last : b.rows - 1;
        if (row * b.pitch + b.width > from)
            return 1;
    }
    return 0;
}

/* Do two operands share an element? Views of one buffer may interleave, as the blocks of a matrix that is factored in
 * place do; within a batch their spans are compared instead. */
static int overlap(const tsr_problem *p, char which_p, const void *left, char which_q, const void *right)
{
    if (tsr_are_apart(left, tsr_operand_bytes(p, which_p), right, tsr_operand_bytes(p, which_q)))
        return 0;
    return p->batch > 1 || rows_meet(rows_of(p, which_p, left), rows_of(p, which_q, right));
}

static tsr_status check_aliases(const tsr_problem *p, const tsr_run_args *args, int reads_a, int reads_b, int reads_c)
{
    if (reads_a && p->a.memory == p->d.memory && overlap(p, 'd', args->d, 'a', args->a))
        return tsr_fail(TSR_INVALID_ARGUMENT, "d: overlaps A");
    if (reads_b && p->b.memory == p->d.memory && overlap(p, 'd', args->d, 'b', args->b))
        return tsr_fail(TSR_INVALID_ARGUMENT, "d: overlaps B");
    if (!reads_c || p->c.memory != p->d.memory)
        return TSR_OK;
    const int same = tsr_is_in_place(args->c, p->c.ld, args->d, p->d.ld) && p->op.c == p->op.d &&
                     (p->batch <= 1 || p->c.batch_stride == p->d.batch_stride);
    return same || !overlap(p, 'd', args->d, 'c', args->c)
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT,
                          "d: overlaps C; it may only be C itself, with the same ld, dtype and batch stride");
}

static tsr_status check_float_pointer(const char *name, const void *pointer)
{
    return tsr_is_aligned((uintptr_t)pointer, sizeof(float))
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT, "%s = %p: not aligned to the %zu bytes of a float", name, pointer,
                          sizeof(float));
}

/* Scales that a run reads and that lie where this thread can look. */
static tsr_status check_numbers(const char *name, const float *scales, long long count, tsr_memory memory)
{
    for (long long i = 0; memory == TSR_HOST && i < count; i++)
        if (isnan(scales[i]))
            return count == 1 ? tsr_fail(TSR_INVALID_ARGUMENT, "%s = nan: must be a number", name)
                              : tsr_fail(TSR_INVALID_ARGUMENT, "%s[%lld] = nan: must be a number", name, i);
    return TSR_OK;
}

/* Scales of A or B, of which the last ones of each row of TSR_SCALE_128X128 are read by nobody. */
static tsr_status check_operand_numbers(const tsr_problem *p, char which, const char *name, const float *scales)
{
    const tsr_scale_mode mode = tsr_problem_scales(p, which);
    const long long count = tsr_scale_count(p, which), stride = tsr_scale_stride(p, which);
    const long long read = (p->k - 1) / TSR_SCALE_BLOCK + 1;
    if (mode != TSR_SCALE_128X128)
        return check_numbers(name, scales, count, tsr_problem_operand(p, which)->memory);
    for (long long row = 0; row < count; row += stride) {
        const tsr_status status = check_numbers(name, scales + row, read, tsr_problem_operand(p, which)->memory);
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}

/* Scales are of 8-bit operands; a result in s32 has none. */
static tsr_status check_operand_scales(const tsr_problem *p, char which, const void *scale, int64_t count, int is_read)
{
    const char name[] = {'s', 'c', 'a', 'l', 'e', '_', which, '\0'};
    const tsr_dtype dtype = tsr_op_dtype(&p->op, which);
    if (!scale)
        return count ? tsr_fail(TSR_INVALID_ARGUMENT, "%s_count = %lld: must be 0 where %s is NULL", name,
                                (long long)count, name)
                     : TSR_OK;
    if (tsr_element_of(dtype)->scales == TSR_ONE_SCALE)
        return tsr_fail(TSR_UNSUPPORTED, "%s: only operands of 8 bits have scales, not %s; use alpha", name,
                        tsr_dtype_name(dtype));
    if (tsr_dtype_is_integer(p->op.d))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: a result in s32 takes no scales; D.dtype = f32, f16 or bf16", name);
    const long long wanted = tsr_scale_count(p, which);
    if (count && count != wanted)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s_count = %lld: must be %lld, as scale_mode_%c says", name,
                        (long long)count, wanted, which);
    const tsr_status status = check_float_pointer(name, scale);
    return status == TSR_OK && is_read ? check_operand_numbers(p, which, name, scale) : status;
}

static tsr_status check_zero_points(const tsr_problem *p, char which, const void *points)
{
    const tsr_dtype dtype = tsr_op_dtype(&p->op, which);
    return !points || tsr_dtype_is_integer(dtype)
               ? TSR_OK
               : tsr_fail(TSR_UNSUPPORTED, "zero_%c: only s8 and u8 have zero points, not %s", which,
                          tsr_dtype_name(dtype));
}

/* Scales and the greatest magnitude of C and D, which 8-bit floats alone have. */
static tsr_status check_result_scale(const tsr_problem *p, char which, const char *name, const void *pointer,
                                     int is_read)
{
    const tsr_dtype dtype = tsr_op_dtype(&p->op, which);
    if (!pointer)
        return TSR_OK;
    if (!tsr_dtype_is_fp8(dtype))
        return tsr_fail(TSR_UNSUPPORTED, "%s: only of e4m3 and e5m2, not of a %c of %s", name, which - 'a' + 'A',
                        tsr_dtype_name(dtype));
    const tsr_status status = check_float_pointer(name, pointer);
    return status == TSR_OK && is_read ? check_numbers(name, pointer, 1, tsr_problem_operand(p, which)->memory)
                                       : status;
}

/* It is written while all else is read. */
static tsr_status check_amax(const tsr_problem *p, const tsr_run_args *args)
{
    const long long bias_bytes = p->n * (long long)tsr_dtype_bytes(tsr_dtype_bias(p->op.d));
    const struct {
        const char *name;
        const void *at;
        long long bytes;
    } others[] = {{"D", args->d, tsr_operand_bytes(p, 'd')},
                  {"scale_a", args->scale_a, tsr_scale_count(p, 'a') * 4},
                  {"scale_b", args->scale_b, tsr_scale_count(p, 'b') * 4},
                  {"scale_c", args->scale_c, 4},
                  {"scale_d", args->scale_d, 4},
                  {"bias", args->bias, bias_bytes}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].at && !tsr_are_apart(others[i].at, others[i].bytes, args->amax_d, 4))
            return tsr_fail(TSR_INVALID_ARGUMENT, "amax_d: overlaps %s", others[i].name);
    return TSR_OK;
}

static tsr_status check_scales(const tsr_problem *p, const tsr_run_args *args)
{
    const int is_empty = p->m == 0 || p->n == 0 || p->batch == 0;
    const int product = args->alpha.value != 0 && p->k > 0 && !is_empty;
    tsr_status status = check_operand_scales(p, 'a', args->scale_a, args->scale_a_count, product);
    if (status == TSR_OK)
        status = check_operand_scales(p, 'b', args->scale_b, args->scale_b_count, product);
    if (status == TSR_OK)
        status = check_result_scale(p, 'c', "scale_c", args->scale_c, args->beta.value != 0 && !is_empty);
    if (status == TSR_OK)
        status = check_result_scale(p, 'd', "scale_d", args->scale_d, !is_empty);
    if (status == TSR_OK)
        status = check_result_scale(p, 'd', "amax_d", args->amax_d, 0);
    if (status == TSR_OK)
        status = check_zero_points(p, 'a', args->zero_a);
    if (status == TSR_OK)
        status = check_zero_points(p, 'b', args->zero_b);
    return status == TSR_OK && args->amax_d ? check_amax(p, args) : status;
}

static int is_whole(double value)
{
    return value >= -2147483648.0 && value <= 2147483647.0 && value == (double)(int64_t)value;
}

/* Results in s32 are computed in s32. */
static tsr_status check_factors(const tsr_problem *p, const tsr_run_args *args)
{
    if (!tsr_dtype_is_integer(p->op.d) || (is_whole(args->alpha.value) && is_whole(args->beta.value)))
        return TSR_OK;
    const int of_alpha = !is_whole(args->alpha.value);
    return tsr_fail(TSR_INVALID_ARGUMENT, "%s = %g: must be a whole number of 32 bits where D is s32",
                    of_alpha ? "alpha" : "beta", of_alpha ? args->alpha.value : args->beta.value);
}

/* It lies where D does, of which it may share no element. */
static tsr_status check_bias(const tsr_problem *p, const tsr_run_args *args)
{
    if (p->op.epilogue == TSR_EPILOGUE_NONE)
        return TSR_OK;
    const uint32_t element = (uint32_t)tsr_dtype_bytes(tsr_dtype_bias(p->op.d));
    const long long bytes = tsr_bias_bytes(p);
    if (!args->bias)
        return tsr_fail(TSR_INVALID_ARGUMENT, "bias = NULL: the epilogue \"%s\" reads it",
                        tsr_form_text(p->op.epilogue));
    if (!tsr_is_aligned((uintptr_t)args->bias, element))
        return tsr_fail(TSR_INVALID_ARGUMENT, "bias = %p: not aligned to the %u bytes of an element of %s", args->bias,
                        element, tsr_dtype_is_fp8(p->op.d) ? "bf16" : "D");
    const rows_in_memory row = {(uintptr_t)args->bias, 1, bytes, bytes};
    if (!tsr_are_apart(args->d, tsr_operand_bytes(p, 'd'), args->bias, bytes) &&
        (p->batch > 1 || rows_meet(row, rows_of(p, 'd', args->d))))
        return tsr_fail(TSR_INVALID_ARGUMENT, "bias: overlaps D");
    return TSR_OK;
}

tsr_status tsr_validate_run(const tsr_plan *plan, const tsr_run_args *args)
{
    const tsr_problem *p = &plan->planned.problem;
    if (args->alpha.device || args->beta.device)
        return tsr_fail(TSR_UNSUPPORTED, "%s.device: factors in device memory are not supported yet",
                        args->alpha.device ? "alpha" : "beta");
    if (args->metadata_a)
        return tsr_fail(TSR_UNSUPPORTED, "metadata_a: must be NULL; tsr_import24 takes metadata");
    if (p->op.sparse24 && (args->zero_a || args->zero_b))
        return tsr_fail(TSR_UNSUPPORTED,
                        "zero_%c: must be NULL: a product with a compressed operand has no zero points",
                        args->zero_a ? 'a' : 'b');
    if (args->bias && p->op.epilogue == TSR_EPILOGUE_NONE)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "bias: must be NULL, as the plan's descriptor has no epilogue that reads it");
    tsr_status status = check_scales(p, args);
    if (status == TSR_OK)
        status = check_factors(p, args);
    if (status != TSR_OK)
        return status;
    status = args->prepared_a ? tsr_prepared_check(args->prepared_a, plan, 'a') : TSR_OK;
    if (status == TSR_OK && args->prepared_b)
        status = tsr_prepared_check(args->prepared_b, plan, 'b');
    if (status != TSR_OK || p->m == 0 || p->n == 0 || p->batch == 0)
        return status;

    const int product = args->alpha.value != 0 && p->k > 0;
    const int reads_a = product && !args->prepared_a, reads_b = product && !args->prepared_b;
    const int reads_c = args->beta.value != 0;
    if (reads_c && (p->flags & TSR_C_STRIDE_FORGOTTEN))
        return stride_forgotten(p, 'c');
    if ((status = check_pointer(p, 'd', args->d)) != TSR_OK)
        return status;
    if (reads_a && (status = check_pointer(p, 'a', args->a)) != TSR_OK)
        return status;
    if (reads_b && (status = check_pointer(p, 'b', args->b)) != TSR_OK)
        return status;
    if (reads_c && (status = check_pointer(p, 'c', args->c)) != TSR_OK)
        return status;
    if ((status = check_aliases(p, args, reads_a, reads_b, reads_c)) != TSR_OK ||
        (status = check_bias(p, args)) != TSR_OK)
        return status;
    const int lent = !args->workspace && tsr_any_operand_on_host(p);
    if (!lent && plan->planned.workspace_bytes > (args->workspace ? args->workspace_bytes : 0))
        return tsr_fail(TSR_INVALID_ARGUMENT, "workspace: %s needs %zu bytes, %zu given",
                        tsr_plan_main(&plan->planned)->config->instance, plan->planned.workspace_bytes,
                        args->workspace ? args->workspace_bytes : 0);
    if (plan->planned.workspace_bytes && (uintptr_t)args->workspace % WORKSPACE_ALIGN_BYTES)
        return tsr_fail(TSR_INVALID_ARGUMENT, "workspace = %p: must be aligned to %d bytes", args->workspace,
                        WORKSPACE_ALIGN_BYTES);
    return TSR_OK;
}
