#include "emu/global.h"

#include <sys/mman.h>

/* 64-bit division is slow on many processors, and most offsets fit in 32 bits. */
static long long divide(long long a, long long b)
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

void tsr_emu_global_make(emu_global *global, const tsr_emu_job *job)
{
    const tsr_gemm_args *g = job->args;
    emu_operand *a = &global->operands[0], *b = &global->operands[1], *c = &global->operands[2];
    emu_operand *d = &global->operands[3];
    operand_make(a, 'A', g->a, job->dtype_a, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k, g->lda, g->batch,
                 g->batch_a);
    operand_make(b, 'B', g->b, job->dtype_b, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n, g->ldb, g->batch,
                 g->batch_b);
    operand_make(c, 'C', g->c, job->dtype_c, g->m, g->n, g->ldc, g->batch, g->batch_c);
    operand_make(d, 'D', g->d, job->dtype_d, g->m, g->n, g->ldd, g->batch, g->batch_d);
    a->readable = b->readable = g->k > 0;
    c->readable = g->beta != 0.0;
    d->writable = d->claimed = 1;
    c->claimed = c->base == d->base && c->element_shift == d->element_shift && c->ld == d->ld &&
                 (c->batch_stride == d->batch_stride || c->batch <= 1);
}

static long long element_count(const emu_operand *o)
{
    return o->span_bytes ? o->batch * o->rows * o->columns : 0;
}

int tsr_emu_claims_make(emu_claims *claims, const emu_global *global)
{
    *claims = (emu_claims){0};
    claims->bytes = (size_t)element_count(&global->operands[3]) * sizeof *claims->words;
    if (claims->bytes == 0)
        return 1;
    /* Zeroed, and only what is touched costs memory. */
    void *words = mmap(NULL, claims->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED)
        return 0;
    claims->words = words;
    return 1;
}

void tsr_emu_claims_free(emu_claims *claims)
{
    if (claims->words)
        munmap((void *)claims->words, claims->bytes);
}

typedef struct location {
    long long batch, row, column;
    int inside; /* the whole access lies in one row */
} location;

/* Finds the row of problem `batch` that holds `element`, counted from the operand's start. */
static void locate_in(const emu_operand *o, long long batch, long long element, long long end_bytes, location *out)
{
    const long long rest = element - batch * o->batch_stride;
    out->batch = batch;
    out->row = divide(rest, o->ld);
    out->column = rest - out->row * o->ld;
    out->inside = out->row < o->rows && (out->column << o->element_shift) + end_bytes <= o->columns << o->element_shift;
}

/* 0 if the address is not between the operand's first and last byte. Problems may interleave or coincide: then any that
 * holds the access will do. */
static int locate(const emu_operand *o, uintptr_t address, size_t size, location *out)
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
    for (int i = 0; i < 4; i++) {
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
    for (int i = 0; i < 4; i++) {
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

/* CTA + 1, and the stamp with a kind of 1 for writes. */
static uint64_t claim_word(const emu_agent *agent, int is_write)
{
    return (uint64_t)(agent->cta + 1) << 32 | (uint64_t)is_write << 10 | agent->clock->stamp;
}

/* One element of D is the agent's from now on. Words are only ever compared, so relaxed order is enough. */
static int claim(emu_claims *claims, const emu_operand *o, const location *at, const emu_agent *agent, int is_write,
                 emu_fault *fault)
{
    const uint64_t mine = claim_word(agent, is_write);
    _Atomic uint64_t *word = &claims->words[(at->batch * o->rows + at->row) * o->columns + at->column];
    const uint64_t old = atomic_exchange_explicit(word, mine, memory_order_relaxed);
    if (old == 0 || old == mine)
        return 1;
    const int old_is_write = (int)(old >> 10 & 1);
    emu_fault_kind kind = EMU_NO_FAULT;
    if (old >> 32 != mine >> 32)
        kind = EMU_TWO_CTAS;
    else if ((is_write || old_is_write) && !tsr_emu_clock_has_seen(agent->time, agent->clock, (emu_stamp)old))
        kind = EMU_RACE;
    if (kind == EMU_NO_FAULT)
        return 1;
    *fault = (emu_fault){.kind = kind,
                         .memory = EMU_GLOBAL,
                         .other_cta = (long long)(old >> 32) - 1,
                         .other_thread = (emu_stamp)old & EMU_STAMP_THREAD,
                         .other_is_write = old_is_write};
    fill_name(o, at, fault);
    return 0;
}

int tsr_emu_global_access(const emu_global *global, emu_claims *claims, const void *address, size_t size, int is_write,
                          const emu_agent *agent, emu_fault *fault)
{
    for (int i = is_write ? 3 : 0; i < 4; i++) {
        const emu_operand *o = &global->operands[i];
        location at;
        if (!(is_write ? o->writable : o->readable) || !locate(o, (uintptr_t)address, size, &at) || !at.inside)
            continue;
        if (!o->claimed)
            return 1;
        const long long last = at.column + ((long long)(size - 1) >> o->element_shift);
        for (; at.column <= last; at.column++)
            if (!claim(claims, o, &at, agent, is_write, fault))
                return 0;
        return 1;
    }
    return classify(global, (uintptr_t)address, size, is_write, fault);
}
