#include "lab/verify/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/dtype.h"
#include "core/forms.h"
#include "core/problem.h"
#include "core/sparse24.h"
#include "lab/common/random.h"
#include "lab/common/shapes.h"

#define GAP_ELEMS 7 /* between the problems of a batch, LAB_BATCH_GAPS */

/* Bits that an accumulator adds without rounding. */
static int exact_bits(tsr_compute compute)
{
    switch (compute) {
    case TSR_COMPUTE_F64:
        return 53;
    case TSR_COMPUTE_S32:
        return 31;
    case TSR_COMPUTE_TF32:
        return 11;
    case TSR_COMPUTE_FAST:
        return 13;
    default:
        return 24;
    }
}

/* Whole numbers that the dtype holds and whose products stay small in results of the dtype. */
static double dtype_limit(tsr_dtype dtype)
{
    switch (dtype) {
    case TSR_F64:
    case TSR_F32:
        return 100.0;
    case TSR_F16:
        return 4.0;
    case TSR_S8:
    case TSR_U8:
        return 100.0;
    default:
        return 2.0; /* bf16, fp8 */
    }
}

/* Largest magnitude such that K products, and the halves that alpha 0.5 and beta 0.5 make, are summed exactly: K v^2 +
 * v <= 2^(bits - 2). */
static double integer_limit(const lab_trial *trial)
{
    const lab_case *c = trial->c;
    int bits = exact_bits(trial->kernel->info.compute);
    if (!tsr_dtype_is_integer(c->dtype_d) && bits > 24 && c->dtype_d != TSR_F64)
        bits = 24; /* a sum in s32 becomes a float */
    if (c->zeros != 0)
        bits -= 4; /* numbers of 2 and less become 4 and less, and more once others are larger */
    if (c->scale_a > TSR_SCALE_1X128 || c->scale_b > TSR_SCALE_1X128)
        bits -= 4; /* scales of blocks, from 1/2 to 2 each, are a part of what is summed */
    const double room = ldexp(1.0, bits - 2) / (double)(c->k + 1);
    const double limit = floor(fmin(sqrt(room), fmin(dtype_limit(c->dtype_a), dtype_limit(c->dtype_b))));
    return limit < 1.0 ? 1.0 : limit;
}

int lab_trial_exact(const lab_trial *trial)
{
    return trial->c->fill == LAB_FILL_INTEGERS;
}

const lab_guarded *lab_trial_c(const lab_trial *trial)
{
    return trial->c->c_mode == LAB_C_IN_PLACE ? &trial->d : &trial->own_c;
}

static void fill_rows(const lab_guarded *g, lab_fill_kind kind, double limit, uint64_t seed)
{
    for (int64_t batch = 0; batch < g->batch; batch++)
        for (int64_t row = 0; row < g->rows; row++) {
            char *to =
                (char *)lab_guarded_image(g) + (size_t)lab_guarded_index(g, batch, row, 0) * tsr_dtype_bytes(g->dtype);
            lab_fill(kind, limit, g->dtype, to, g->columns, seed + (uint64_t)(batch * g->rows + row) * 1000003u);
        }
}

static void fill_operand(const lab_trial *trial, const lab_guarded *g, int is_read, int number)
{
    lab_fill_kind kind = is_read ? trial->c->fill : LAB_FILL_NAN;
    /* What meets only dropped zeros is skipped: NaN and infinities of the other operand need not reach D. */
    if (trial->sparse && kind == LAB_FILL_SPECIAL && g == (trial->sparse == 'a' ? &trial->b : &trial->a))
        kind = LAB_FILL_NORMAL;
    double limit = 0.0;
    if (kind == LAB_FILL_INTEGERS)
        limit = integer_limit(trial);
    else if (kind == LAB_FILL_SPECIAL) /* about two in the operand */
        limit = fmax(2.0, (double)g->rows * (double)g->columns / 2.0);
    fill_rows(g, kind, limit, trial->c->seed + (uint64_t)number);
}

/* The next distance that keeps the alignment which the kernel asks for of an operand; all of a case's distances go
 * through here. */
static int64_t aligned(const lab_trial *trial, int number, int64_t elems)
{
    const int64_t unit = trial->kernel->align_elems[number];
    return (elems + unit - 1) / unit * unit;
}

/* Dimensions and strides of one operand; number 0..3 for A, B, C, D. */
static void shape_operand(lab_trial *trial, lab_guarded *g, int number, int64_t rows, int64_t columns, int64_t pad)
{
    const lab_case *c = trial->c;
    const lab_batch_mode mode = c->batch_mode;
    const int of_d = number == 3;
    g->context = trial->context;
    g->dtype = number == 0 ? c->dtype_a : number == 1 ? c->dtype_b : c->dtype_d;
    g->rows = rows;
    g->columns = columns;
    g->batch = c->batch;
    g->ld = aligned(trial, number, columns + pad);
    if (mode == LAB_BATCH_INTERLEAVED && of_d)
        g->ld = aligned(trial, number, columns) + aligned(trial, number, columns + pad);
    g->batch_stride = rows * g->ld + (mode == LAB_BATCH_GAPS ? aligned(trial, number, GAP_ELEMS) : 0);
    if (mode == LAB_BATCH_INTERLEAVED && of_d)
        g->batch_stride = aligned(trial, number, columns);
    if ((mode == LAB_BATCH_REPEAT_A && number == 0) || (mode == LAB_BATCH_REPEAT_BC && (number == 1 || number == 2))) {
        g->batch_stride = 0;
        g->batch = 1;
    }
    g->on_device = c->memory == LAB_MEMORY_DEVICE || (c->memory == LAB_MEMORY_MIXED && (number == 0 || of_d));
}

static void shape_operands(lab_trial *trial)
{
    const lab_case *c = trial->c;
    int64_t pad_c = c->pad[3];
    if (c->c_mode == LAB_C_OTHER_LD)
        pad_c = c->pad[2] != c->pad[3] ? c->pad[2] : c->pad[2] + 5;
    shape_operand(trial, &trial->a, 0, c->trans_a ? c->k : c->m, c->trans_a ? c->m : c->k, c->pad[0]);
    shape_operand(trial, &trial->b, 1, c->trans_b ? c->n : c->k, c->trans_b ? c->k : c->n, c->pad[1]);
    shape_operand(trial, &trial->own_c, 2, c->m, c->n, pad_c);
    shape_operand(trial, &trial->d, 3, c->m, c->n, c->pad[3]);
    trial->bias = (lab_guarded){.context = trial->context,
                                .dtype = tsr_dtype_bias(trial->d.dtype),
                                .rows = 1,
                                .columns = c->n,
                                .ld = c->n,
                                .batch = 1,
                                .on_device = trial->d.on_device};
}

static void describe(const lab_trial *trial, const lab_guarded *g, int number, int trans, tsr_operand *out)
{
    memset(out, 0, sizeof *out);
    out->dtype = g->dtype;
    out->trans = trans ? TSR_T : TSR_N;
    out->memory = g->on_device ? TSR_DEVICE : TSR_HOST;
    out->ld = g->ld == g->columns ? 0 : g->ld; /* 0 stands for tight rows: try that too */
    out->batch_stride = g->batch_stride;
    const int declare = trial->c->declare_align || trial->kernel->align_elems[number] > 1;
    out->align_bytes = declare ? lab_guarded_align(g) : 0;
}

/* Of operand A or B, in a problem of the checker. */
static tsr_problem scaled_problem(const lab_trial *trial)
{
    const lab_case *c = trial->c;
    tsr_problem p;
    memset(&p, 0, sizeof p);
    p.m = c->m;
    p.n = c->n;
    p.k = c->k;
    p.batch = c->batch;
    p.a.batch_stride = trial->a.batch_stride;
    p.b.batch_stride = trial->b.batch_stride;
    p.op.scale_a = c->scale_a ? (tsr_scale_mode)(c->scale_a - 1) : TSR_SCALE_TENSOR;
    p.op.scale_b = c->scale_b ? (tsr_scale_mode)(c->scale_b - 1) : TSR_SCALE_TENSOR;
    return p;
}

lab_scales lab_trial_operand_scales(const lab_trial *trial, int number, int64_t batch)
{
    const tsr_problem p = scaled_problem(trial);
    const lab_guarded *const zeros = &trial->zeros[number];
    const lab_scales scales = {
        .at = lab_trial_scales(trial, number, batch),
        .zeros = zeros->image != NULL ? (const char *)lab_guarded_image(zeros) + batch * zeros->batch_stride : NULL,
        .mode = (int)(number == 0 ? p.op.scale_a : p.op.scale_b),
        .stride = tsr_scale_stride(&p, "ab"[number])};
    return scales;
}

const float *lab_trial_scales(const lab_trial *trial, int number, int64_t batch)
{
    const lab_guarded *const g = &trial->scales[number];
    return g->image != NULL ? (const float *)lab_guarded_image(g) + batch * g->batch_stride : NULL;
}

/* One row of scales for each problem that has its own. */
static void shape_scales(const lab_trial *trial, int number, tsr_dtype dtype, lab_guarded *g)
{
    const tsr_problem p = scaled_problem(trial);
    const lab_guarded *const operands[] = {&trial->a, &trial->b, lab_trial_c(trial), &trial->d};
    const int64_t columns = number < 2 ? tsr_scale_count_of_one(&p, "ab"[number]) : 1;
    const int64_t all = number < 2 ? tsr_scale_count(&p, "ab"[number]) : 1;
    *g = (lab_guarded){.context = trial->context,
                       .dtype = dtype,
                       .rows = 1,
                       .columns = columns,
                       .ld = columns,
                       .batch = columns > 0 ? all / columns : 0,
                       .batch_stride = all > columns ? columns : 0,
                       .on_device = operands[number]->on_device};
}

/* Powers of two where results are to be exact. */
static void fill_scales(const lab_trial *trial, const lab_guarded *g, int number)
{
    lab_random random = lab_random_make(trial->c->seed, 20 + (uint64_t)number);
    float *const to = lab_guarded_image(g);
    for (int64_t i = 0; i < g->batch * g->columns; i++)
        to[i] = lab_trial_exact(trial) ? ldexpf(1.0F, (int)lab_random_below(&random, 3) - 1)
                                       : (float)lab_random_normal(&random);
}

/* Small ones where results are to be exact. */
static tsr_status make_zeros(lab_trial *trial, int number)
{
    lab_guarded *const g = &trial->zeros[number];
    const tsr_dtype dtype = number == 0 ? trial->a.dtype : trial->b.dtype;
    lab_random random = lab_random_make(trial->c->seed, 30 + (uint64_t)number);
    shape_scales(trial, number, dtype, g);
    const tsr_status status = lab_guarded_make(g, trial->c->offset[number]);
    if (status != TSR_OK)
        return status;
    for (int64_t i = 0; i < g->batch * g->columns; i++)
        tsr_store_element(dtype, lab_guarded_image(g), i,
                          lab_trial_exact(trial) ? (double)lab_random_below(&random, 3)
                                                 : (double)lab_random_below(&random, 256) -
                                                       (tsr_element_of(dtype)->is_unsigned ? 0.0 : 128.0));
    return lab_guarded_send(g);
}

static tsr_status make_scales(lab_trial *trial)
{
    const lab_case *c = trial->c;
    const int has[4] = {c->scale_a, c->scale_b, c->scale_d && trial->reads_c, c->scale_d};
    tsr_status status = TSR_OK;
    for (int i = 0; i < 4 && status == TSR_OK; i++) {
        if (!has[i])
            continue;
        shape_scales(trial, i, TSR_F32, &trial->scales[i]);
        status = lab_guarded_make(&trial->scales[i], c->offset[i]);
        if (status != TSR_OK)
            return status;
        fill_scales(trial, &trial->scales[i], i);
        status = lab_guarded_send(&trial->scales[i]);
    }
    for (int i = 0; i < 2 && status == TSR_OK; i++)
        if (c->zeros >> i & 1)
            status = make_zeros(trial, i);
    if (status != TSR_OK || !c->scale_d)
        return status;
    trial->amax = (lab_guarded){.context = trial->context,
                                .dtype = TSR_F32,
                                .rows = 1,
                                .columns = 1,
                                .ld = 1,
                                .batch = 1,
                                .on_device = trial->d.on_device};
    status = lab_guarded_make(&trial->amax, c->offset[2]);
    return status == TSR_OK ? lab_guarded_send(&trial->amax) : status;
}

static const void *pointer_of(const lab_guarded *g)
{
    return g->image != NULL ? lab_guarded_pointer(g) : NULL;
}

static void write_call(lab_trial *trial)
{
    const lab_case *c = trial->c;
    const lab_guarded *source_c = lab_trial_c(trial);
    tsr_gemm_desc *desc = &trial->desc;
    *desc = tsr_gemm_desc_make(c->dtype_a, c->m, c->n, c->k);
    describe(trial, &trial->a, 0, c->trans_a, &desc->a);
    describe(trial, &trial->b, 1, c->trans_b, &desc->b);
    describe(trial, source_c, 2, 0, &desc->c);
    describe(trial, &trial->d, 3, 0, &desc->d);
    desc->compute = trial->kernel->asked;
    desc->flags = trial->sparse == 'a' ? TSR_SPARSE24_A : trial->sparse == 'b' ? TSR_SPARSE24_B : 0;
    desc->batch_count = c->batch;
    lab_shape_share_unstrided(desc);
    desc->threads = c->threads;
    desc->kernel = trial->name;
    desc->epilogue = tsr_form_text(c->epilogue);
    desc->scale_mode_a = scaled_problem(trial).op.scale_a;
    desc->scale_mode_b = scaled_problem(trial).op.scale_b;
    desc->flags |= c->overflows ? TSR_OVERFLOW_SPECIAL : 0;
    snprintf(trial->name, sizeof trial->name, "%s%s%s", trial->kernel->info.instance, c->schedule[0] ? "@" : "",
             c->schedule);
    if (c->schedule[0] != '\0') /* however much it takes */
        desc->workspace_limit_bytes = SIZE_MAX;

    tsr_run_args *args = &trial->args;
    *args = tsr_run_args_make(lab_guarded_pointer(&trial->a), lab_guarded_pointer(&trial->b),
                              lab_guarded_pointer(&trial->d));
    args->c = lab_guarded_pointer(source_c);
    args->bias = c->epilogue != TSR_EPILOGUE_NONE ? lab_guarded_pointer(&trial->bias) : NULL;
    args->scale_a = pointer_of(&trial->scales[0]);
    args->scale_b = pointer_of(&trial->scales[1]);
    args->scale_c = pointer_of(&trial->scales[2]);
    args->scale_d = pointer_of(&trial->scales[3]);
    args->amax_d = (void *)pointer_of(&trial->amax);
    args->scale_a_count = args->scale_a ? trial->scales[0].batch * trial->scales[0].columns : 0;
    args->zero_a = pointer_of(&trial->zeros[0]);
    args->zero_b = pointer_of(&trial->zeros[1]);
    args->alpha.value = c->alpha;
    args->beta.value = c->beta;
    if (c->null_unread && !trial->reads_ab)
        args->a = args->b = NULL;
    if (c->null_unread && !trial->reads_c)
        args->c = NULL;
}

/* The operand that the kernel takes compressed gets the 2:4 pattern, of tf32 that of 1:2. */
static tsr_status prune(const lab_trial *trial)
{
    const lab_guarded *const g = trial->sparse == 'a' ? &trial->a : &trial->b;
    tsr_gemm_desc desc = tsr_gemm_desc_make(g->dtype, trial->c->m, trial->c->n, trial->c->k);
    tsr_operand *const operand = trial->sparse == 'a' ? &desc.a : &desc.b;
    operand->trans = (trial->sparse == 'a' ? trial->c->trans_a : trial->c->trans_b) ? TSR_T : TSR_N;
    operand->ld = g->ld;
    desc.compute = trial->kernel->asked;
    tsr_status status = TSR_OK;
    for (int64_t z = 0; z < g->batch && status == TSR_OK; z++)
        status = tsr_prune24(
            &desc, trial->sparse,
            (char *)lab_guarded_image(g) + (size_t)lab_guarded_index(g, z, 0, 0) * tsr_dtype_bytes(g->dtype), NULL);
    return status;
}

static tsr_status make_operands(lab_trial *trial)
{
    const lab_case *c = trial->c;
    const int apart = c->c_mode != LAB_C_IN_PLACE, has_form = c->epilogue != TSR_EPILOGUE_NONE;
    tsr_status status = lab_guarded_make(&trial->a, aligned(trial, 0, c->offset[0]));
    if (status == TSR_OK)
        status = lab_guarded_make(&trial->b, aligned(trial, 1, c->offset[1]));
    if (status == TSR_OK && apart)
        status = lab_guarded_make(&trial->own_c, aligned(trial, 2, c->offset[2]));
    if (status == TSR_OK)
        status = lab_guarded_make(&trial->d, aligned(trial, 3, c->offset[3]));
    if (status == TSR_OK && has_form)
        status = lab_guarded_make(&trial->bias, c->offset[0] + c->offset[3]); /* an element's alignment does */
    if (status != TSR_OK)
        return status;
    if (has_form)
        fill_operand(trial, &trial->bias, 1, 4);
    fill_operand(trial, &trial->a, trial->reads_ab, 0);
    fill_operand(trial, &trial->b, trial->reads_ab, 1);
    if (apart)
        fill_operand(trial, &trial->own_c, trial->reads_c, 2);
    else if (trial->reads_c) /* otherwise D stays poisoned with the guard pattern */
        fill_operand(trial, &trial->d, 1, 3);
    if (trial->sparse && trial->reads_ab)
        status = prune(trial);
    const lab_guarded *all[4] = {&trial->a, &trial->b, &trial->d, &trial->own_c};
    for (int i = 0; i < (apart ? 4 : 3) && status == TSR_OK; i++)
        status = lab_guarded_send(all[i]);
    if (status == TSR_OK && has_form)
        status = lab_guarded_send(&trial->bias);
    if (status == TSR_OK)
        status = make_scales(trial);
    return status;
}

/* Of kernels that take compressed operands alone, one of them in each case; of those that take whole ones too, in one
 * case of four, where the rules for compressed operands allow it. */
static char compressed_operand(const lab_kernel *kernel, const lab_case *c)
{
    enum { ONE_OF = 4 };
    const int one_scale = 1 + (int)TSR_SCALE_TENSOR;
    const char which = c->seed % 2 ? 'b' : 'a';
    if (!kernel->config || !(kernel->config->op.operands & TSR_TAKES_SPARSE24))
        return 0;
    if (!(kernel->config->op.operands & TSR_TAKES_WHOLE))
        return which;
    const int may_be = tsr_has_sparse24(c->dtype_a) && !tsr_dtype_is_fp8(c->dtype_d) && !c->zeros &&
                       c->scale_a <= one_scale && c->scale_b <= one_scale;
    return may_be && c->seed / 2 % ONE_OF == 0 ? which : 0;
}

tsr_status lab_trial_make(tsr_context *context, const lab_kernel *kernel, const lab_case *c, lab_trial *out)
{
    memset(out, 0, sizeof *out);
    out->c = c;
    out->kernel = kernel;
    out->context = context;
    out->reads_ab = c->alpha != 0.0 && c->k > 0;
    out->reads_c = c->beta != 0.0;
    out->sparse = compressed_operand(kernel, c);
    shape_operands(out);
    const tsr_status status = make_operands(out);
    if (status != TSR_OK) {
        lab_trial_free(out);
        return status;
    }
    write_call(out);
    return TSR_OK;
}

void lab_trial_free(lab_trial *trial)
{
    lab_guarded_free(&trial->a);
    lab_guarded_free(&trial->b);
    lab_guarded_free(&trial->own_c);
    lab_guarded_free(&trial->d);
    lab_guarded_free(&trial->bias);
    for (int i = 0; i < 4; i++)
        lab_guarded_free(&trial->scales[i]);
    for (int i = 0; i < 2; i++)
        lab_guarded_free(&trial->zeros[i]);
    lab_guarded_free(&trial->amax);
}

static tsr_status run_once(lab_trial *trial, lab_verify_run *run, void *user)
{
    tsr_status status = run(user, trial->context, &trial->desc, &trial->args);
    if (status == TSR_OK)
        status = tsr_synchronize(trial->context, NULL);
    if (status == TSR_OK && trial->amax.image != NULL)
        status = lab_guarded_fetch(&trial->amax);
    return status == TSR_OK ? lab_guarded_fetch(&trial->d) : status;
}

static tsr_status run_again(lab_trial *trial, lab_verify_run *run, void *user, char *wrong, size_t wrong_bytes)
{
    unsigned char *first = malloc(trial->d.bytes);
    if (first == NULL)
        return TSR_OUT_OF_MEMORY;
    memcpy(first, trial->d.got, trial->d.bytes);
    tsr_status status = lab_guarded_send(&trial->d);
    if (status == TSR_OK)
        status = run_once(trial, run, user);
    if (status == TSR_OK && memcmp(first, trial->d.got, trial->d.bytes) != 0)
        snprintf(wrong, wrong_bytes, "the second run gave other bits");
    free(first);
    return status;
}

/* The workspace that the plan wants: counters zero, then guard bytes up to and past its end. */
typedef struct scratch {
    tsr_context *context;
    size_t bytes; /* 0: none is wanted */
    unsigned char *memory, *image;
} scratch;

#define SCRATCH_GUARD_BYTES   256
#define SCRATCH_COUNTER_BYTES ((size_t)65536) /* tessera.h: zero before the first run and after each */
#define SCRATCH_GUARD         0xff            /* NaN in every float type */

static tsr_status scratch_make(lab_trial *trial, const tsr_plan *plan, scratch *s)
{
    s->context = trial->context;
    s->bytes = tsr_plan_workspace_bytes(plan);
    if (s->bytes == 0)
        return TSR_OK;
    const size_t all_bytes = s->bytes + SCRATCH_GUARD_BYTES;
    void *memory = NULL;
    s->image = malloc(all_bytes);
    if (s->image == NULL)
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_device_alloc(s->context, all_bytes, &memory);
    if (status != TSR_OK)
        return status;
    s->memory = memory;
    memset(s->image, SCRATCH_GUARD, all_bytes);
    memset(s->image, 0, s->bytes < SCRATCH_COUNTER_BYTES ? s->bytes : SCRATCH_COUNTER_BYTES);
    trial->args.workspace = memory;
    trial->args.workspace_bytes = s->bytes;
    return tsr_upload(s->context, memory, s->image, all_bytes);
}

/* After a run the counters must be zero again and the guard behind the end as it was. */
static tsr_status scratch_check(const scratch *s, char *wrong, size_t wrong_bytes)
{
    if (s->bytes == 0 || wrong[0] != '\0')
        return TSR_OK;
    const tsr_status status = tsr_download(s->context, s->image, s->memory, s->bytes + SCRATCH_GUARD_BYTES);
    if (status != TSR_OK)
        return status;
    for (size_t i = 0; i < s->bytes && i < SCRATCH_COUNTER_BYTES && wrong[0] == '\0'; i++)
        if (s->image[i] != 0)
            snprintf(wrong, wrong_bytes, "byte %zu of the workspace's counters was left at %u", i, s->image[i]);
    for (size_t i = 0; i < SCRATCH_GUARD_BYTES && wrong[0] == '\0'; i++)
        if (s->image[s->bytes + i] != SCRATCH_GUARD)
            snprintf(wrong, wrong_bytes, "wrote %zu bytes past the end of the workspace", i + 1);
    return TSR_OK;
}

static void scratch_free(scratch *s)
{
    if (s->memory != NULL)
        tsr_device_free(s->context, s->memory);
    free(s->image);
}

/* Prepared operands live from here to the end of the runs; the plan stays in the context's cache meanwhile, so that the
 * runs find the same one. */
typedef struct preparation {
    tsr_plan *plan;
    tsr_prepared *a, *b;
} preparation;

static tsr_status prepare_one(const preparation *p, char which, int compressed, const void **operand,
                              tsr_prepared **out, const tsr_prepared **argument)
{
    const tsr_status status =
        compressed ? tsr_compress24(p->plan, which, *operand, out) : tsr_prepare(p->plan, which, *operand, out);
    if (status == TSR_UNSUPPORTED)
        return TSR_OK; /* the kernel has no such form: run as it is */
    if (status != TSR_OK)
        return status;
    *argument = *out;
    *operand = NULL;
    return TSR_OK;
}

static tsr_status prepare(lab_trial *trial, preparation *p)
{
    tsr_status status = TSR_OK;
    const int prepared = trial->c->prepared | (trial->sparse ? trial->sparse - 'a' + 1 : 0);
    if (prepared == 0 || !trial->reads_ab || trial->c->m == 0 || trial->c->n == 0 || trial->c->batch == 0)
        return TSR_OK;
    if ((prepared & 1) != 0)
        status = prepare_one(p, 'a', trial->sparse == 'a', &trial->args.a, &p->a, &trial->args.prepared_a);
    if (status == TSR_OK && (prepared & 2) != 0)
        status = prepare_one(p, 'b', trial->sparse == 'b', &trial->args.b, &p->b, &trial->args.prepared_b);
    return status;
}

tsr_status lab_trial_run(lab_trial *trial, lab_verify_run *run, void *user, char *wrong, size_t wrong_bytes)
{
    preparation p = {NULL, NULL, NULL};
    scratch s = {NULL, 0, NULL, NULL};
    wrong[0] = '\0';
    tsr_status status = tsr_plan_create(trial->context, &trial->desc, &p.plan);
    if (status == TSR_OK)
        status = scratch_make(trial, p.plan, &s);
    if (status == TSR_OK)
        status = prepare(trial, &p);
    if (status == TSR_OK)
        status = run_once(trial, run, user);
    if (status == TSR_OK)
        status = scratch_check(&s, wrong, wrong_bytes);
    if (status == TSR_OK && trial->c->twice)
        status = run_again(trial, run, user, wrong, wrong_bytes);
    scratch_free(&s);
    tsr_prepared_release(p.a);
    tsr_prepared_release(p.b);
    tsr_plan_release(p.plan);
    return status;
}
