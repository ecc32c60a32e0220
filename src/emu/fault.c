#include "emu/fault.h"

#include <stdio.h>

/* "A[3, 5]", with the problem of the batch where it is not the first. */
static void name_element(const emu_fault *f, char *text, size_t bytes)
{
    if (f->operand == 'W')
        snprintf(text, bytes, "workspace + %lld", f->column);
    else if (f->operand == 'b')
        snprintf(text, bytes, "bias[%lld]", f->column);
    else if (f->operand == 'S')
        snprintf(text, bytes, "scale %lld", f->column);
    else if (f->operand == 'z')
        snprintf(text, bytes, "zero point %lld", f->column);
    else if (f->operand == 'x')
        snprintf(text, bytes, "amax_d");
    else if (f->batch)
        snprintf(text, bytes, "%c[%lld, %lld] of problem %lld", f->operand, f->row, f->column, f->batch);
    else
        snprintf(text, bytes, "%c[%lld, %lld]", f->operand, f->row, f->column);
}

static const char *operand_name(const emu_fault *f)
{
    return f->operand == 'A'   ? "A"
           : f->operand == 'B' ? "B"
           : f->operand == 'C' ? "C"
           : f->operand == 'D' ? "D"
           : f->operand == 'b' ? "bias"
           : f->operand == 'S' ? "scales"
           : f->operand == 'z' ? "zero points"
           : f->operand == 'x' ? "amax_d"
                               : "W";
}

static void describe_outside(const emu_fault *f, const char *verb, char *text, size_t bytes)
{
    char element[96];
    name_element(f, element, sizeof element);
    if (f->memory == EMU_SHARED)
        snprintf(text, bytes, "%s of %zu bytes at shared memory + %lld out of bounds: there are %zu bytes", verb,
                 f->size, f->past_bytes, f->shared_bytes);
    else if (!f->operand)
        snprintf(text, bytes, "%s of %zu bytes at %p out of bounds: in no operand, nor in shared memory", verb, f->size,
                 f->address);
    else if (f->past_bytes < 0)
        snprintf(text, bytes, "%s of %zu bytes out of bounds: %lld bytes before the start of %s", verb, f->size,
                 -f->past_bytes, operand_name(f));
    else
        snprintf(text, bytes, "%s of %zu bytes at %s out of bounds: %s is stored %lld x %lld", verb, f->size, element,
                 operand_name(f), f->rows, f->columns);
}

static void describe_race(const emu_fault *f, const char *verb, unsigned threads_x, char *text, size_t bytes)
{
    char where[96];
    if (f->memory == EMU_SHARED)
        snprintf(where, sizeof where, "shared memory + %zu", f->offset);
    else
        name_element(f, where, sizeof where);
    snprintf(text, bytes, "race: %s of %s that thread (%u, %u) %s with no barrier in between", verb, where,
             f->other_thread % threads_x, f->other_thread / threads_x, f->other_is_write ? "wrote" : "read");
}

static void describe(const emu_fault *f, unsigned threads_x, char *text, size_t bytes)
{
    const char *verb = f->is_write ? "write" : "read";
    char element[96];
    name_element(f, element, sizeof element);
    switch (f->kind) {
    case EMU_NO_FAULT:
        break;
    case EMU_OUTSIDE:
        describe_outside(f, verb, text, bytes);
        return;
    case EMU_PADDING:
        snprintf(text, bytes, "%s of %zu bytes at %s out of bounds: rows of %c have %lld elements", verb, f->size,
                 element, f->operand, f->columns);
        return;
    case EMU_READ_ONLY:
        snprintf(text, bytes, "write of %zu bytes to %s: only D may be written", f->size, element);
        return;
    case EMU_NOT_READABLE:
        snprintf(text, bytes, "read of %zu bytes from %s: %s", f->size, element,
                 f->operand == 'C' ? "beta is 0, so C must not be read" : "it must not be read");
        return;
    case EMU_MISALIGNED:
        if (f->memory == EMU_SHARED)
            snprintf(text, bytes, "misaligned %s: %zu bytes at shared memory + %zu", verb, f->size, f->offset);
        else
            snprintf(text, bytes, "misaligned %s: %zu bytes at %p, %s", verb, f->size, f->address,
                     f->operand ? element : "in no operand");
        return;
    case EMU_POISON:
        if (f->memory == EMU_GLOBAL)
            snprintf(text, bytes, "read of %zu bytes at %s, which this launch never wrote", f->size, element);
        else
            snprintf(text, bytes, "read of %zu bytes of shared memory, of which byte %zu was never written", f->size,
                     f->offset);
        return;
    case EMU_RACE:
        describe_race(f, verb, threads_x, text, bytes);
        return;
    case EMU_TWO_CTAS:
        snprintf(text, bytes, "race: %s of %s that CTA %lld, thread (%u, %u), %s, unordered", verb, element,
                 f->other_cta, f->other_thread % threads_x, f->other_thread / threads_x,
                 f->other_is_write ? "wrote" : "read");
        return;
    case EMU_IN_FLIGHT:
        snprintf(text, bytes, "%s of shared memory + %zu before an asynchronous copy to it was waited for", verb,
                 f->offset);
        return;
    case EMU_UNFENCED:
        snprintf(text, bytes,
                 "asynchronous %s of shared memory + %zu, which thread (%u, %u) wrote with no fence.proxy.async before "
                 "they synchronised",
                 verb, f->offset, f->other_thread % threads_x, f->other_thread / threads_x);
        return;
    case EMU_MISUSE:
        snprintf(text, bytes, "%s", f->rule);
        return;
    case EMU_DEADLOCK:
        snprintf(text, bytes, "deadlock, these wait for ever: %s", f->waiting);
        return;
    case EMU_NO_MEMORY:
        snprintf(text, bytes, "the emulator ran out of memory, or of clocks");
        return;
    case EMU_STACK:
        snprintf(text, bytes, "the kernel needs more stack than a thread has");
        return;
    }
}

tsr_status tsr_emu_report(const emu_fault *fault, const char *kernel, unsigned threads_x, long long grid_x,
                          long long grid_y)
{
    char place[160], text[384];
    text[0] = '\0';
    tsr_emu_place(fault->place, place, sizeof place);
    describe(fault, threads_x, text, sizeof text);
    return tsr_fail(fault->kind == EMU_NO_MEMORY ? TSR_OUT_OF_MEMORY : TSR_KERNEL_FAULT,
                    "%s, CTA (%lld, %lld, %lld), thread (%u, %u), %s: %s", kernel, fault->cta % grid_x,
                    fault->cta / grid_x % grid_y, fault->cta / grid_x / grid_y, fault->thread % threads_x,
                    fault->thread / threads_x, place, text);
}
