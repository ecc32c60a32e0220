#include "emu/global.h"

#include <string.h>

#include "core/dtype.h"
#include "emu/slot.h"

/* 64-bit division is slow on many processors, and most offsets fit in 32 bits. */
static inline long long divide(long long a, long long b)
{
    if (((unsigned long long)a | (unsigned long long)b) >> 32 == 0)
        return (uint32_t)a / (uint32_t)b;
    return a / b;
}

/* Elements from the first to the last of one problem. */
static long long matrix_span(const emu_operand *o)
{
    return (o->rows - 1) * o->ld + o->columns;
}

static void operand_make(emu_operand *o, char name, const void *base, tsr_dtype dtype, long long rows,
                         long long columns, long long ld, long long batch, long long batch_stride)
{
    const size_t bytes = tsr_dtype_bytes(dtype);
    int shift = 0;
    while (bytes > (size_t)1 << shift)
        shift++;
    *o = (emu_operand){.name = name,
                       .base = (uintptr_t)base,
                       .element_shift = shift,
                       .rows = rows,
                       .columns = columns,
                       .ld = ld,
                       .batch = batch,
                       .batch_stride = batch_stride};
    if (base && rows > 0 && columns > 0 && batch > 0)
        o->span_bytes = ((batch - 1) * batch_stride + matrix_span(o)) << shift;
}

/* An operand without gaps as one long row: what straddles two of its rows is still inside. */
static void join_rows(emu_operand *o)
{
    const long long elements = o->rows * o->columns;
    if (o->span_bytes == 0 || o->ld != o->columns || (o->batch > 1 && o->batch_stride % elements != 0) ||
        o->batch_stride > elements)
        return;
    o->columns = o->ld = o->batch_stride == 0 ? elements : elements * o->batch;
    o->rows = o->batch = 1;
}

/* Scales of rows, columns or blocks, as far as somebody may read them. */
static void scales_make(emu_operand *o, const float *scales, int mode, long long stride, long long outer,
                        const tsr_gemm_args *g, long long batch_stride)
{
    const long long blocks = (g->k + TSR_SCALE_BLOCK - 1) / TSR_SCALE_BLOCK;
    const int is_read = scales && outer > 0 && g->k > 0;
    const long long count = is_read ? tsr_scale_index(mode, stride, outer - 1, blocks - 1) + 1 : 0;
    operand_make(o, 'S', scales, TSR_F32, 1, count, count, g->batch, batch_stride);
    o->readable = 1;
}

static void zeros_make(emu_operand *o, const void *points, int mode, long long outer, long long batch,
                       long long batch_stride)
{
    const int is_vector = mode == TSR_SCALING_VECTOR;
    const long long count = is_vector ? outer : 1;
    operand_make(o, 'z', points, TSR_U8, 1, count, count, batch, is_vector ? batch_stride : 0);
    o->readable = 1;
}

/* Where C and D lie. */
typedef struct emu_result {
    const void *c;
    void *d;
    long long ldc, ldd, batch_c, batch_d;
} emu_result;

static void make_scaling(emu_global *global, const tsr_emu_job *job)
{
    static const tsr_scaling none;
    const tsr_gemm_args *const g = job->args;
    const tsr_scaling *const s = job->scaling ? job->scaling : &none;
    const struct {
        int number;
        const float *at;
    } single[] = {{EMU_SCALE_C, s->c}, {EMU_SCALE_D, s->d}};
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        operand_make(&global->operands[single[i].number], 'S', single[i].at, TSR_F32, 1, 1, 1, 1, 0);
        global->operands[single[i].number].readable = 1;
    }
    scales_make(&global->operands[EMU_SCALES_A], s->a, s->mode_a, s->stride_a, s->first_m + g->m, g, s->batch_a);
    scales_make(&global->operands[EMU_SCALES_B], s->b, s->mode_b, s->stride_b, s->first_n + g->n, g, s->batch_b);
    zeros_make(&global->operands[EMU_ZERO_A], s->zero_a, s->mode_a, s->first_m + g->m, g->batch, s->batch_a);
    zeros_make(&global->operands[EMU_ZERO_B], s->zero_b, s->mode_b, s->first_n + g->n, g->batch, s->batch_b);
    operand_make(&global->operands[EMU_AMAX], 'x', s->amax, TSR_F32, 1, 1, 1, 1, 0); /* by atomic operations alone */
}

/* C and D, the workspace and the bias of a product or of the reduction of its parts. */
static void make_results(emu_global *global, const tsr_emu_job *job, long long m, long long n, long long batch,
                         const emu_result *c_and_d, const void *workspace, const void *bias, int reads_c)
{
    emu_operand *const c = &global->operands[EMU_C], *const d = &global->operands[EMU_D];
    const long long bytes = (long long)job->workspace_bytes;
    operand_make(c, 'C', c_and_d->c, job->dtype_c, m, n, c_and_d->ldc, batch, c_and_d->batch_c);
    operand_make(d, 'D', c_and_d->d, job->dtype_d, m, n, c_and_d->ldd, batch, c_and_d->batch_d);
    operand_make(&global->operands[EMU_WORKSPACE], 'W', workspace, TSR_U8, 1, bytes, bytes, 1, 0);
    operand_make(&global->operands[EMU_BIAS], 'b', bias, tsr_dtype_bias(job->dtype_d), 1, n, n, 1, 0);
    global->operands[EMU_BIAS].readable = global->operands[EMU_WORKSPACE].readable = 1;
    c->readable = reads_c;
    d->writable = d->claimed = 1;
    c->claimed = c->base == d->base && c->element_shift == d->element_shift && c->ld == d->ld &&
                 (c->batch_stride == d->batch_stride || c->batch <= 1);
}

static void make_product(emu_global *global, const tsr_emu_job *job, const tsr_gemm_args *g)
{
    emu_operand *const a = &global->operands[EMU_A], *const b = &global->operands[EMU_B];
    operand_make(a, 'A', g->a, job->dtype_a, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k, g->lda, g->batch,
                 g->batch_a);
    operand_make(b, 'B', g->b, job->dtype_b, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n, g->ldb, g->batch,
                 g->batch_b);
    if (job->a_bytes)
        operand_make(a, 'A', g->a, TSR_U8, 1, job->a_bytes, job->a_bytes, 1, 0);
    if (job->b_bytes)
        operand_make(b, 'B', g->b, TSR_U8, 1, job->b_bytes, job->b_bytes, 1, 0);
    a->readable = b->readable = g->k > 0;
    const emu_result result = {g->c, g->d, g->ldc, g->ldd, g->batch_c, g->batch_d};
    make_results(global, job, g->m, g->n, g->batch, &result, g->workspace,
                 g->epilogue != TSR_EPILOGUE_NONE ? g->bias : NULL, g->beta != 0.0);
    global->operands[EMU_WORKSPACE].writable = 1;
    operand_make(&global->operands[EMU_SCALE_A], 'S', g->scale_a, TSR_F32, 1, 1, 1, 1, 0);
    operand_make(&global->operands[EMU_SCALE_B], 'S', g->scale_b, TSR_F32, 1, 1, 1, 1, 0);
    global->operands[EMU_SCALE_A].readable = global->operands[EMU_SCALE_B].readable = 1;
    make_scaling(global, job);
}

/* The workspace, which a launch before it filled, is only read. */
static void make_reduction(emu_global *global, const tsr_emu_job *job, const tsr_reduce_args *g)
{
    const emu_result result = {g->c, g->d, g->ldc, g->ldd, g->batch_c, g->batch_d};
    make_results(global, job, g->m, g->n, g->batch, &result, g->workspace,
                 g->epilogue != TSR_EPILOGUE_NONE ? g->bias : NULL, g->beta != 0.0);
}

/* C and D are the copies of A and of B, of which the ends of the rows may be written too. */
static void make_copies(emu_global *global, const tsr_emu_job *job, const tsr_copy_args *g)
{
    emu_operand *const a = &global->operands[EMU_A], *const b = &global->operands[EMU_B];
    emu_operand *const to_a = &global->operands[EMU_C], *const to_b = &global->operands[EMU_D];
    operand_make(a, 'A', g->a, job->dtype_a, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k, g->lda, g->batch,
                 g->batch_a);
    operand_make(b, 'B', g->b, job->dtype_b, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n, g->ldb, g->batch,
                 g->batch_b);
    operand_make(to_a, 'C', g->to_a, job->dtype_a, job->transposes ? a->columns : a->rows, g->to_lda, g->to_lda,
                 g->batch, g->to_batch_a);
    operand_make(to_b, 'D', g->to_b, job->dtype_b, job->transposes ? b->columns : b->rows, g->to_ldb, g->to_ldb,
                 g->batch, g->to_batch_b);
    join_rows(a);
    join_rows(b);
    a->readable = b->readable = g->k > 0;
    to_a->writable = to_b->writable = 1;
}

/* A is what is read, D the results, in words. */
static void make_microbench(emu_global *global, const tsr_microbench_args *g)
{
    emu_operand *const from = &global->operands[EMU_A], *const to = &global->operands[EMU_D];
    operand_make(from, 'A', g->from, TSR_U8, 1, g->from_bytes, g->from_bytes, 1, 0);
    operand_make(to, 'D', g->to, TSR_F32, 1, g->to_bytes / 4, g->to_bytes / 4, 1, 0);
    from->readable = 1;
    to->writable = to->claimed = 1;
}

void tsr_emu_global_make(emu_global *global, const tsr_emu_job *job)
{
    memset(global->operands, 0, sizeof global->operands); /* what a kernel does not take has no bytes */
    global->is_dependent = job->is_dependent;
    if (job->copy)
        make_copies(global, job, job->copy);
    else if (job->reduce)
        make_reduction(global, job, job->reduce);
    else if (job->microbench)
        make_microbench(global, job->microbench);
    else
        make_product(global, job, job->args);
}

static long long element_count(const emu_operand *o)
{
    return o->span_bytes ? o->batch * o->rows * o->columns : 0;
}

int tsr_emu_claims_make(emu_claims *claims, const emu_global *global, tsr_emu_pool *pool, int n_workers)
{
    const long long words = (element_count(&global->operands[EMU_WORKSPACE]) + 3) / 4;
    claims->is_shared = n_workers > 1;
    claims->d_bytes = (size_t)element_count(&global->operands[EMU_D]) * sizeof *claims->d;
    claims->workspace_bytes = (size_t)words * 2 * sizeof *claims->workspace;
    claims->pool = pool;
    claims->d = tsr_emu_zeroes_take(pool, claims->d_bytes);
    claims->workspace = tsr_emu_zeroes_take(pool, claims->workspace_bytes);
    return (claims->d || !claims->d_bytes) && (claims->workspace || !claims->workspace_bytes);
}

void tsr_emu_claims_free(emu_claims *claims)
{
    tsr_emu_zeroes_give(claims->pool, (void *)claims->d, claims->d_bytes);
    tsr_emu_zeroes_give(claims->pool, (void *)claims->workspace, claims->workspace_bytes);
    *claims = (emu_claims){0};
}

typedef struct location {
    long long batch, row, column;
    int inside; /* the whole access lies in one row */
} location;

/* Finds the row of problem `batch` that holds `element`, counted from the operand's start. */
static inline void locate_in(const emu_operand *o, long long batch, long long element, long long end_bytes,
                             location *out)
{
    const long long rest = element - batch * o->batch_stride;
    out->batch = batch;
    out->row = divide(rest, o->ld);
    out->column = rest - out->row * o->ld;
    out->inside = out->row < o->rows && (out->column << o->element_shift) + end_bytes <= o->columns << o->element_shift;
}

/* The row in which the last access lay: most accesses are near the one before. */
static inline int is_in_last_row(const emu_operand *o, uintptr_t address, size_t size, location *out)
{
    const uintptr_t offset = address - o->last_row;
    if (offset >= o->last_row_bytes || o->last_row_bytes - offset < size)
        return 0;
    *out = (location){o->last_batch, o->last_index, (long long)offset >> o->element_shift, 1};
    return 1;
}

static inline void keep_row(emu_operand *o, const location *at)
{
    const long long first = at->batch * o->batch_stride + at->row * o->ld;
    o->last_row = o->base + ((uintptr_t)first << o->element_shift);
    o->last_row_bytes = (size_t)(o->columns << o->element_shift);
    o->last_batch = at->batch;
    o->last_index = at->row;
}

/* 0 if the address is not between the operand's first and last byte. Problems may interleave or coincide: then any that
 * holds the access will do. */
static inline int locate(const emu_operand *o, uintptr_t address, size_t size, location *out)
{
    const uintptr_t offset = address - o->base;
    if (offset >= (uintptr_t)o->span_bytes)
        return 0;
    const long long element = (long long)offset >> o->element_shift;
    /* Bytes from the start of that element to the end of the access. */
    const long long end_bytes = (long long)offset - (element << o->element_shift) + (long long)size;
    if (o->batch == 1 || o->batch_stride == 0) {
        locate_in(o, 0, element, end_bytes, out);
        return 1;
    }
    long long batch = divide(element, o->batch_stride);
    if (batch > o->batch - 1)
        batch = o->batch - 1;
    do {
        locate_in(o, batch, element, end_bytes, out);
        batch--;
    } while (!out->inside && batch >= 0 && element - batch * o->batch_stride < matrix_span(o));
    return 1;
}

int tsr_emu_global_is_of_a(const emu_global *global, uintptr_t address)
{
    const emu_operand *const a = &global->operands[EMU_A];
    location at;
    if (address / TSR_TENSOR_ALIGN_BYTES == a->base / TSR_TENSOR_ALIGN_BYTES && address < a->base)
        return 0;
    return locate(a, address, (size_t)1 << a->element_shift, &at) ? at.inside : -1;
}

static void fill_name(const emu_operand *o, const location *at, emu_fault *fault)
{
    fault->operand = o->name;
    fault->batch = at->batch;
    fault->row = at->row;
    fault->column = at->column;
    fault->rows = o->rows;
    fault->columns = o->columns;
}

void tsr_emu_global_name(const emu_global *global, const void *address, emu_fault *fault)
{
    const emu_operand *nearest = NULL;
    long long nearest_distance = 0;
    for (int i = 0; i < EMU_OPERANDS; i++) {
        const emu_operand *o = &global->operands[i];
        location at;
        if (o->span_bytes == 0)
            continue;
        if (locate(o, (uintptr_t)address, 1, &at)) {
            fill_name(o, &at, fault);
            return;
        }
        const long long before = (long long)(o->base - (uintptr_t)address);
        const long long distance = before > 0 ? before : 1 - before - o->span_bytes;
        if (!nearest || distance < nearest_distance) {
            nearest = o;
            nearest_distance = distance;
        }
    }
    enum { FAR_BYTES = 1 << 30 }; /* then the pointer is wild, and the nearest operand would mislead */
    if (!nearest || nearest_distance > FAR_BYTES)
        return;
    const int is_before = nearest->base > (uintptr_t)address;
    fault->past_bytes = is_before ? -nearest_distance : nearest_distance;
    location at = {0};
    if (!is_before)
        locate_in(nearest, nearest->batch - 1,
                  (long long)((uintptr_t)address - nearest->base) >> nearest->element_shift, 1, &at);
    fill_name(nearest, &at, fault);
}

static int classify(const emu_global *global, uintptr_t address, size_t size, int is_write, emu_fault *fault)
{
    *fault = (emu_fault){.kind = EMU_OUTSIDE, .memory = EMU_GLOBAL};
    for (int i = 0; i < EMU_OPERANDS; i++) {
        const emu_operand *o = &global->operands[i];
        location at;
        if (!locate(o, address, size, &at))
            continue;
        fill_name(o, &at, fault);
        if (!at.inside) {
            fault->kind = EMU_PADDING; /* unless it proves to be inside another operand */
        } else {
            fault->kind = is_write ? EMU_READ_ONLY : EMU_NOT_READABLE;
            return 0;
        }
    }
    if (fault->kind == EMU_OUTSIDE)
        tsr_emu_global_name(global, (const void *)address, fault);
    return 0;
}

/* CTA + 1, and the stamp; its kind is 1 for writes, 2 for atomic ones. */
enum { CLAIM_WRITE = 1 << 12, CLAIM_ATOMIC = 2 << 12 };

static uint64_t claim_word(const emu_agent *agent, int is_write)
{
    return (uint64_t)(agent->cta + 1) << 32 | (uint64_t)(is_write ? CLAIM_WRITE : 0) | agent->clock->stamp;
}

static int is_same_cta(const emu_agent *agent, uint64_t claim)
{
    return (long long)(claim >> 32) == agent->cta + 1;
}

/* Has the agent seen the access that left this claim? */
static int has_seen(const emu_agent *agent, uint64_t claim)
{
    const emu_stamp stamp = (emu_stamp)claim & ~(emu_stamp)(CLAIM_WRITE | CLAIM_ATOMIC);
    return is_same_cta(agent, claim)
               ? tsr_emu_clock_has_seen(agent->time, agent->clock, stamp)
               : tsr_emu_far_has_seen(agent->far, agent->time, agent->clock, (long long)(claim >> 32) - 1, stamp);
}

static int fill_race(const emu_operand *o, const location *at, const emu_agent *agent, uint64_t other, int is_write,
                     emu_fault *fault)
{
    *fault = (emu_fault){.kind = is_same_cta(agent, other) ? EMU_RACE : EMU_TWO_CTAS,
                         .memory = EMU_GLOBAL,
                         .other_cta = (long long)(other >> 32) - 1,
                         .other_thread = (emu_stamp)other & EMU_STAMP_THREAD,
                         .other_is_write = is_write};
    fill_name(o, at, fault);
    return 0;
}

/* The claim that was there; the new one takes its place. A worker that is alone needs no locked bus for that. */
static inline uint64_t exchange(const emu_claims *claims, _Atomic uint64_t *claim, uint64_t mine)
{
    if (claims->is_shared)
        return atomic_exchange_explicit(claim, mine, memory_order_relaxed);
    const uint64_t old = atomic_load_explicit(claim, memory_order_relaxed);
    atomic_store_explicit(claim, mine, memory_order_relaxed);
    return old;
}

/* One element of D. Claims are only ever compared, so relaxed order is enough. Of different CTAs even two reads are too
 * many, since one of them must write. */
static inline int claim_element(emu_claims *claims, const emu_operand *o, const location *at, const emu_agent *agent,
                                int is_write, int is_atomic, emu_fault *fault)
{
    const uint64_t mine = claim_word(agent, is_write) | (uint64_t)(is_atomic ? CLAIM_ATOMIC : 0);
    _Atomic uint64_t *claim = &claims->d[(at->batch * o->rows + at->row) * o->columns + at->column];
    const uint64_t old = exchange(claims, claim, mine);
    if (old == 0 || old == mine || (is_atomic && (old & CLAIM_ATOMIC)))
        return 1;
    const int old_is_write = (old & CLAIM_WRITE) != 0;
    if (is_same_cta(agent, old) && !is_write && !old_is_write)
        return 1;
    return has_seen(agent, old) ? 1 : fill_race(o, at, agent, old, old_is_write, fault);
}

/* Four bytes of the workspace. Narrower accesses are not followed: neighbours would seem to race. */
static int claim_word_of_workspace(emu_claims *claims, const emu_operand *o, const location *at, const emu_agent *agent,
                                   int is_write, int is_atomic, emu_fault *fault)
{
    _Atomic uint64_t *written = &claims->workspace[at->column / 4 * 2], *read = written + 1;
    const uint64_t mine = claim_word(agent, is_write) | (uint64_t)(is_atomic ? CLAIM_ATOMIC : 0);
    const uint64_t old =
        is_write ? exchange(claims, written, mine) : atomic_load_explicit(written, memory_order_relaxed);
    if (old == 0 && !is_write && !is_atomic) {
        *fault = (emu_fault){.kind = EMU_POISON, .memory = EMU_GLOBAL};
        fill_name(o, at, fault);
        return 0;
    }
    if (old != 0 && old != mine && !(is_atomic && (old & CLAIM_ATOMIC)) && !has_seen(agent, old))
        return fill_race(o, at, agent, old, 1, fault);
    if (is_atomic)
        return 1;
    const uint64_t reader = exchange(claims, read, is_write ? 0 : mine);
    if (is_write && reader != 0 && !has_seen(agent, reader))
        return fill_race(o, at, agent, reader, 0, fault);
    return 1;
}

int tsr_emu_global_access(emu_global *global, emu_claims *claims, const void *address, size_t size, int is_write,
                          const emu_agent *agent, emu_fault *fault)
{
    for (int i = is_write ? EMU_C : EMU_A; i < EMU_OPERANDS; i++) {
        emu_operand *o = &global->operands[i];
        location at;
        if (!(is_write ? o->writable : o->readable))
            continue;
        if (!is_in_last_row(o, (uintptr_t)address, size, &at)) {
            if (!locate(o, (uintptr_t)address, size, &at) || !at.inside)
                continue;
            keep_row(o, &at);
        }
        const long long last = at.column + ((long long)(size - 1) >> o->element_shift);
        for (; i == EMU_WORKSPACE && o->writable && size >= 4 && at.column <= last; at.column += 4)
            if (!claim_word_of_workspace(claims, o, &at, agent, is_write, 0, fault))
                return 0;
        for (; o->claimed && at.column <= last; at.column++)
            if (!claim_element(claims, o, &at, agent, is_write, 0, fault))
                return 0;
        return 1;
    }
    return classify(global, (uintptr_t)address, size, is_write, fault);
}

/* 1 if the element of D that a reduction changes has a value. */
static int is_written(const emu_global *global, const emu_claims *claims, const location *at)
{
    const emu_operand *c = &global->operands[EMU_C], *d = &global->operands[EMU_D];
    return (c->readable && c->claimed) ||
           atomic_load_explicit(&claims->d[(at->batch * d->rows + at->row) * d->columns + at->column],
                                memory_order_relaxed) != 0;
}

int tsr_emu_global_reduce(const emu_global *global, emu_claims *claims, const void *address, size_t size,
                          const emu_agent *agent, emu_fault *fault)
{
    for (int i = EMU_D; i <= EMU_WORKSPACE; i++) {
        const emu_operand *o = &global->operands[i];
        location at;
        if (!locate(o, (uintptr_t)address, size, &at) || !at.inside || (i == EMU_D && !o->claimed))
            continue;
        const long long last = at.column + ((long long)(size - 1) >> o->element_shift);
        for (; i == EMU_WORKSPACE && at.column <= last; at.column += 4)
            if (!claim_word_of_workspace(claims, o, &at, agent, 1, 1, fault))
                return 0;
        for (; i == EMU_D && at.column <= last; at.column++) {
            if (!is_written(global, claims, &at)) {
                *fault = (emu_fault){.kind = EMU_POISON, .memory = EMU_GLOBAL};
                fill_name(o, &at, fault);
                return 0;
            }
            if (!claim_element(claims, o, &at, agent, 1, 1, fault))
                return 0;
        }
        return 1;
    }
    return classify(global, (uintptr_t)address, size, 1, fault);
}

int tsr_emu_global_atomic(const emu_global *global, const unsigned *word, emu_claims *claims, const emu_agent *agent,
                          int is_write, emu_fault *fault)
{
    const emu_operand *o = &global->operands[EMU_WORKSPACE];
    location at;
    if (locate(&global->operands[EMU_AMAX], (uintptr_t)word, sizeof *word, &at) && at.inside)
        return 1;
    if (locate(o, (uintptr_t)word, sizeof *word, &at) && at.inside)
        return claim_word_of_workspace(claims, o, &at, agent, is_write, 1, fault);
    *fault = (emu_fault){.kind = EMU_MISUSE,
                         .rule = "atomic operations are for the workspace and the greatest magnitude only"};
    return 0;
}
