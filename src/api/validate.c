#include "api/validate.h"

#include <stdio.h>
#include <string.h>

#include "core/check.h"
#include "core/error.h"

#define WORKSPACE_ALIGN_BYTES 256
#define MOST_STRUCT_BYTES     4096 /* of any later version; beyond it, the member was never set */

tsr_status tsr_check_struct(const char *what, const char *member, size_t bytes, size_t first_bytes)
{
    return bytes >= first_bytes && bytes <= MOST_STRUCT_BYTES
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
    char member[64];
    size_t from_bytes;
    memcpy(&from_bytes, from, sizeof from_bytes);
    snprintf(member, sizeof member, "%s.struct_bytes", what);
    const tsr_status status = tsr_check_struct(what, member, from_bytes, first_bytes);
    if (status != TSR_OK)
        return status;
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
static tsr_status check_broadcast(const tsr_gemm_desc *desc, tsr_problem *p)
{
    if (desc->struct_bytes < TSR_BYTES_UP_TO(tsr_gemm_desc, broadcast))
        return TSR_OK;
    if (desc->reserved)
        return tsr_fail(TSR_INVALID_ARGUMENT, "reserved = %u: must be 0", desc->reserved);
    if (desc->broadcast & ~(TSR_BROADCAST_A | TSR_BROADCAST_B | TSR_BROADCAST_C))
        return tsr_fail(TSR_INVALID_ARGUMENT, "broadcast = 0x%x: only TSR_BROADCAST_A, _B and _C", desc->broadcast);
    for (const char *which = "abc"; *which; which++) {
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
static int batch_overlaps(const tsr_problem *p, const tsr_operand *d)
{
    if (p->batch <= 1 || p->m == 0 || p->n == 0)
        return 0;
    if (d->batch_stride >= (p->m - 1) * d->ld + p->n)
        return 0;
    long long span = 0;
    return !(d->batch_stride >= p->n && tsr_mul_size(p->batch - 1, d->batch_stride, &span) && span <= d->ld - p->n);
}

/* Offsets in bytes are 64-bit numbers, also those of a matrix without elements. */
static tsr_status check_span(const tsr_problem *p, char which, const tsr_operand *operand)
{
    long long rows, columns, bytes, elements = 0, batches = 0;
    const long long element_bytes = (long long)tsr_dtype_bytes(operand->dtype);
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

static tsr_status check_operand(tsr_problem *p, char which, tsr_operand *operand)
{
    const char upper = (char)(which - 'a' + 'A');
    if (operand->dtype <= TSR_DTYPE_NONE || operand->dtype >= TSR_DTYPE_COUNT)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.dtype = %d: not a dtype", upper, (int)operand->dtype);
    if (operand->trans != TSR_N && operand->trans != TSR_T)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.trans = %d: must be TSR_N or TSR_T", upper, (int)operand->trans);
    if (operand->trans == TSR_T && (which == 'c' || which == 'd'))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.trans = TSR_T: C and D are row-major; compute the transposed problem",
                        upper);
    if (operand->memory != TSR_HOST && operand->memory != TSR_DEVICE)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.memory = %d: must be TSR_HOST or TSR_DEVICE", upper,
                        (int)operand->memory);
    if (operand->align_bytes & (operand->align_bytes - 1))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.align_bytes = %u: must be a power of two", upper,
                        operand->align_bytes);
    for (size_t i = 0; i < sizeof operand->reserved / sizeof operand->reserved[0]; i++)
        if (operand->reserved[i])
            return tsr_fail(TSR_INVALID_ARGUMENT, "%c.reserved[%zu]: must be 0", upper, i);
    const uint32_t element = (uint32_t)tsr_dtype_bytes(operand->dtype);
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

static int is_fp8(tsr_dtype dtype)
{
    return dtype == TSR_E4M3 || dtype == TSR_E5M2;
}

static int is_int8(tsr_dtype dtype)
{
    return dtype == TSR_S8 || dtype == TSR_U8;
}

/* Which results make sense for which operands; whether a kernel exists is the rows' business. */
static int result_fits(tsr_dtype ab, tsr_dtype cd)
{
    switch (ab) {
    case TSR_F64:
        return cd == TSR_F64;
    case TSR_F32:
        return cd == TSR_F32;
    case TSR_F16:
    case TSR_BF16:
    case TSR_E4M3:
    case TSR_E5M2:
        return cd == TSR_F32 || cd == TSR_F16 || cd == TSR_BF16 || (is_fp8(ab) && is_fp8(cd));
    default:
        return cd == TSR_S32 || cd == TSR_F32 || is_int8(cd);
    }
}

static tsr_compute default_compute(tsr_dtype ab)
{
    return ab == TSR_F64 ? TSR_COMPUTE_F64 : is_int8(ab) ? TSR_COMPUTE_S32 : TSR_COMPUTE_F32;
}

static tsr_status check_dtypes(tsr_problem *p)
{
    const tsr_dtype a = p->a.dtype, b = p->b.dtype;
    if (a == TSR_S32)
        return tsr_fail(TSR_INVALID_ARGUMENT, "A.dtype = s32: operands of a product may not be s32");
    if (a != b && !(is_fp8(a) && is_fp8(b)) && !(is_int8(a) && is_int8(b)))
        return tsr_fail(TSR_INVALID_ARGUMENT, "B.dtype = %s: must be that of A (%s)", tsr_dtype_name(b),
                        tsr_dtype_name(a));
    if (!result_fits(a, p->d.dtype))
        return tsr_fail(TSR_INVALID_ARGUMENT, "D.dtype = %s: no result of %s operands", tsr_dtype_name(p->d.dtype),
                        tsr_dtype_name(a));
    if (!result_fits(a, p->c.dtype))
        return tsr_fail(TSR_INVALID_ARGUMENT, "C.dtype = %s: no addend of %s products", tsr_dtype_name(p->c.dtype),
                        tsr_dtype_name(a));
    const tsr_compute usual = default_compute(a);
    if (p->compute == TSR_COMPUTE_DEFAULT)
        p->compute = usual;
    if (p->compute != usual && !(p->compute == TSR_COMPUTE_TF32 && a == TSR_F32))
        return tsr_fail(TSR_INVALID_ARGUMENT, "compute = %s: not for %s operands", tsr_compute_name(p->compute),
                        tsr_dtype_name(a));
    return TSR_OK;
}

tsr_status tsr_validate_desc(const tsr_gemm_desc *desc, tsr_problem *out)
{
    if (!desc)
        return tsr_fail(TSR_INVALID_ARGUMENT, "desc = NULL: must point to a descriptor");
    tsr_gemm_desc d;
    tsr_status status = tsr_take_struct(&d, sizeof d, TSR_FIRST_DESC_BYTES, desc, "tsr_gemm_desc");
    if (status != TSR_OK)
        return status;
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"m", d.m}, {"n", d.n}, {"k", d.k}, {"batch_count", d.batch_count}, {"threads", d.threads}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if ((status = check_size(sizes[i].name, sizes[i].value)) != TSR_OK)
            return status;
    if (d.threads > TSR_MOST_THREADS)
        return tsr_fail(TSR_INVALID_ARGUMENT, "threads = %d: must be 0 to %d", d.threads, TSR_MOST_THREADS);
    if (d.batch_kind != TSR_BATCH_STRIDED && d.batch_kind != TSR_BATCH_POINTERS && d.batch_kind != TSR_BATCH_GROUPED)
        return tsr_fail(TSR_INVALID_ARGUMENT, "batch_kind = %d: not a kind of batch", (int)d.batch_kind);
    if (d.batch_kind != TSR_BATCH_STRIDED)
        return tsr_fail(TSR_UNSUPPORTED, "batch_kind: only TSR_BATCH_STRIDED is supported yet");
    if (d.flags & ~TSR_BATCH_INVARIANT)
        return tsr_fail(TSR_INVALID_ARGUMENT, "flags = 0x%x: unknown flag", d.flags);
    if (d.epilogue)
        return tsr_fail(TSR_UNSUPPORTED, "epilogue: not supported yet, must be NULL");
    if ((unsigned)d.compute >= TSR_COMPUTE_COUNT)
        return tsr_fail(TSR_INVALID_ARGUMENT, "compute = %d: not a compute type", (int)d.compute);
    if (d.kernel && strlen(d.kernel) > TSR_KERNEL_NAME_BYTES)
        return tsr_fail(TSR_INVALID_ARGUMENT, "kernel = \"%.40s...\": longer than %d characters", d.kernel,
                        TSR_KERNEL_NAME_BYTES);
    if (d.kernel && !tsr_row_exists(d.kernel))
        return tsr_fail(TSR_INVALID_ARGUMENT, "kernel = \"%s\": no such kernel", d.kernel);

    memset(out, 0, sizeof *out); /* padding too: the plan cache compares bytes */
    out->m = d.m;
    out->n = d.n;
    out->k = d.k;
    out->batch = d.batch_count;
    out->compute = d.compute;
    out->flags = d.flags;
    out->threads = d.threads;
    out->workspace_limit_bytes = d.workspace_limit_bytes;
    out->kernel = d.kernel;
    const tsr_operand *from[] = {&d.a, &d.b, &d.c, &d.d};
    tsr_operand *to[] = {&out->a, &out->b, &out->c, &out->d};
    for (int i = 0; i < 4; i++) {
        *to[i] = *from[i];
        if ((status = check_operand(out, "abcd"[i], to[i])) != TSR_OK)
            return status;
    }
    status = check_broadcast(&d, out);
    return status == TSR_OK ? check_dtypes(out) : status;
}

/* ---- one run ---- */

static tsr_status check_pointer(const tsr_problem *p, char which, const void *pointer)
{
    if (!pointer)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c = NULL: it is %s by this run", which,
                        which == 'd' ? "written" : "read");
    const uint32_t align = tsr_problem_operand(p, which)->align_bytes;
    if (!tsr_is_aligned((uintptr_t)pointer, align))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c = %p: not aligned to the %u bytes %s", which, pointer, align,
                        align == tsr_dtype_bytes(tsr_problem_operand(p, which)->dtype)
                            ? "of an element"
                            : "that the descriptor guarantees");
    return TSR_OK;
}

/* One matrix in memory: rows of `width` bytes, `pitch` bytes apart. */
typedef struct rows_in_memory {
    uintptr_t base;
    long long rows, width, pitch;
} rows_in_memory;

static rows_in_memory rows_of(const tsr_problem *p, char which, const void *pointer)
{
    const tsr_operand *operand = tsr_problem_operand(p, which);
    const long long element = (long long)tsr_dtype_bytes(operand->dtype);
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
    const int same = tsr_is_in_place(args->c, p->c.ld, args->d, p->d.ld) && p->c.dtype == p->d.dtype &&
                     (p->batch <= 1 || p->c.batch_stride == p->d.batch_stride);
    return same || !overlap(p, 'd', args->d, 'c', args->c)
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT,
                          "d: overlaps C; it may only be C itself, with the same ld, dtype and batch stride");
}

tsr_status tsr_validate_run(const tsr_plan *plan, const tsr_run_args *args)
{
    const tsr_problem *p = &plan->planned.problem;
    if (args->alpha.device || args->beta.device)
        return tsr_fail(TSR_UNSUPPORTED, "%s.device: factors in device memory are not supported yet",
                        args->alpha.device ? "alpha" : "beta");
    if (args->bias || args->scale_a || args->scale_b || args->scale_d || args->metadata_a)
        return tsr_fail(TSR_UNSUPPORTED, "%s: not supported yet, must be NULL",
                        args->bias      ? "bias"
                        : args->scale_a ? "scale_a"
                        : args->scale_b ? "scale_b"
                        : args->scale_d ? "scale_d"
                                        : "metadata_a");
    tsr_status status = args->prepared_a ? tsr_prepared_check(args->prepared_a, plan, 'a') : TSR_OK;
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
    if ((status = check_aliases(p, args, reads_a, reads_b, reads_c)) != TSR_OK)
        return status;
    const int lent = !args->workspace && tsr_any_operand_on_host(p);
    if (!lent && plan->planned.workspace_bytes > (args->workspace ? args->workspace_bytes : 0))
        return tsr_fail(TSR_INVALID_ARGUMENT, "workspace: %s needs %zu bytes, %zu given",
                        tsr_plan_main(&plan->planned)->row->instance, plan->planned.workspace_bytes,
                        args->workspace ? args->workspace_bytes : 0);
    if (plan->planned.workspace_bytes && (uintptr_t)args->workspace % WORKSPACE_ALIGN_BYTES)
        return tsr_fail(TSR_INVALID_ARGUMENT, "workspace = %p: must be aligned to %d bytes", args->workspace,
                        WORKSPACE_ALIGN_BYTES);
    return TSR_OK;
}
