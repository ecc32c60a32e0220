#include "lab/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "lab/shapes.h"

#define GAP_ELEMS 7 /* between the problems of a batch, LAB_BATCH_GAPS */

/* Bits that an accumulator adds without rounding. */
static int exact_bits(tsr_compute compute)
{
    return compute == TSR_COMPUTE_F64 ? 53 : compute == TSR_COMPUTE_S32 ? 31 : compute == TSR_COMPUTE_TF32 ? 11 : 24;
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
static double integer_limit(const lab_kernel *kernel, int64_t k)
{
    const double room = ldexp(1.0, exact_bits(kernel->info.compute) - 2) / (double)(k + 1);
    const double limit = floor(fmin(sqrt(room), dtype_limit(kernel->info.dtype_ab)));
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
    const lab_fill_kind kind = is_read ? trial->c->fill : LAB_FILL_NAN;
    double limit = 0.0;
    if (kind == LAB_FILL_INTEGERS)
        limit = integer_limit(trial->kernel, trial->c->k);
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
    g->dtype = number < 2 ? trial->kernel->info.dtype_ab : trial->kernel->info.dtype_cd;
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

static void write_call(lab_trial *trial)
{
    const lab_case *c = trial->c;
    const lab_guarded *source_c = lab_trial_c(trial);
    tsr_gemm_desc *desc = &trial->desc;
    *desc = tsr_gemm_desc_make(trial->kernel->info.dtype_ab, c->m, c->n, c->k);
    describe(trial, &trial->a, 0, c->trans_a, &desc->a);
    describe(trial, &trial->b, 1, c->trans_b, &desc->b);
    describe(trial, source_c, 2, 0, &desc->c);
    describe(trial, &trial->d, 3, 0, &desc->d);
    desc->compute = trial->kernel->info.compute;
    desc->batch_count = c->batch;
    lab_shape_share_unstrided(desc);
    desc->threads = c->threads;
    desc->kernel = trial->name;
    snprintf(trial->name, sizeof trial->name, "%s%s%s", trial->kernel->info.instance, c->schedule[0] ? "@" : "",
             c->schedule);
    if (c->schedule[0] != '\0') /* however much it takes */
        desc->workspace_limit_bytes = SIZE_MAX;

    tsr_run_args *args = &trial->args;
    *args = tsr_run_args_make(lab_guarded_pointer(&trial->a), lab_guarded_pointer(&trial->b),
                              lab_guarded_pointer(&trial->d));
    args->c = lab_guarded_pointer(source_c);
    args->alpha.value = c->alpha;
    args->beta.value = c->beta;
    if (c->null_unread && !trial->reads_ab)
        args->a = args->b = NULL;
    if (c->null_unread && !trial->reads_c)
        args->c = NULL;
}

static tsr_status make_operands(lab_trial *trial)
{
    const lab_case *c = trial->c;
    const int apart = c->c_mode != LAB_C_IN_PLACE;
    tsr_status status = lab_guarded_make(&trial->a, aligned(trial, 0, c->offset[0]));
    if (status == TSR_OK)
        status = lab_guarded_make(&trial->b, aligned(trial, 1, c->offset[1]));
    if (status == TSR_OK && apart)
        status = lab_guarded_make(&trial->own_c, aligned(trial, 2, c->offset[2]));
    if (status == TSR_OK)
        status = lab_guarded_make(&trial->d, aligned(trial, 3, c->offset[3]));
    if (status != TSR_OK)
        return status;
    fill_operand(trial, &trial->a, trial->reads_ab, 0);
    fill_operand(trial, &trial->b, trial->reads_ab, 1);
    if (apart)
        fill_operand(trial, &trial->own_c, trial->reads_c, 2);
    else if (trial->reads_c) /* otherwise D stays poisoned with the guard pattern */
        fill_operand(trial, &trial->d, 1, 3);
    const lab_guarded *all[4] = {&trial->a, &trial->b, &trial->d, &trial->own_c};
    for (int i = 0; i < (apart ? 4 : 3) && status == TSR_OK; i++)
        status = lab_guarded_send(all[i]);
    return status;
}

tsr_status lab_trial_make(tsr_context *context, const lab_kernel *kernel, const lab_case *c, lab_trial *out)
{
    memset(out, 0, sizeof *out);
    out->c = c;
    out->kernel = kernel;
    out->context = context;
    out->reads_ab = c->alpha != 0.0 && c->k > 0;
    out->reads_c = c->beta != 0.0;
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
}

static tsr_status run_once(lab_trial *trial, lab_verify_run *run, void *user)
{
    tsr_status status = run(user, trial->context, &trial->desc, &trial->args);
    if (status == TSR_OK)
        status = tsr_synchronize(trial->context, NULL);
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

static tsr_status prepare_one(const preparation *p, char which, const void **operand, tsr_prepared **out,
                              const tsr_prepared **argument)
{
    const tsr_status status = tsr_prepare(p->plan, which, *operand, out);
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
    if (trial->c->prepared == 0 || !trial->reads_ab || trial->c->m == 0 || trial->c->n == 0 || trial->c->batch == 0)
        return TSR_OK;
    if ((trial->c->prepared & 1) != 0)
        status = prepare_one(p, 'a', &trial->args.a, &p->a, &trial->args.prepared_a);
    if (status == TSR_OK && (trial->c->prepared & 2) != 0)
        status = prepare_one(p, 'b', &trial->args.b, &p->b, &trial->args.prepared_b);
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
