/* Global memory as a launch may touch it: the rows of its operands, and nothing between or around them. Private to
 * src/emu. */
#ifndef TSR_EMU_GLOBAL_H
#define TSR_EMU_GLOBAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/clock.h"
#include "emu/fault.h"
#include "emu/run.h"

/* One operand: `batch` matrices of rows x columns elements, as they are stored. */
typedef struct emu_operand {
    char name; /* 'A' ... 'D' */
    uintptr_t base;
    int element_shift; /* log2 of an element's bytes */
    long long rows, columns, ld, batch, batch_stride;
    long long span_bytes; /* from the first to the last element of all batches; 0: nothing may be touched */
    int readable, writable;
    int claimed; /* elements belong to the CTA that touches them: D, and C where it is D */
} emu_operand;

typedef struct emu_global {
    emu_operand operands[4]; /* A, B, C, D */
} emu_global;

/* Which CTA wrote (or, where C is D, read) each element of D: two different ones would race. One word for each element,
 * 0 as long as nobody did. Shared by the workers. */
typedef struct emu_claims {
    _Atomic uint64_t *words;
    size_t bytes;
} emu_claims;

/* What the job's arguments allow. */
void tsr_emu_global_make(emu_global *global, const tsr_emu_job *job);

/* Makes claims for D. 0 when out of memory. */
int tsr_emu_claims_make(emu_claims *claims, const emu_global *global);
void tsr_emu_claims_free(emu_claims *claims);

/* Who makes an access, for claims. */
typedef struct emu_agent {
    long long cta;
    const emu_clock *clock;
    const emu_time *time;
} emu_agent;

/* Checks an access of `size` bytes. On a fault fills the kind, the operand and its indices, and returns 0. */
int tsr_emu_global_access(const emu_global *global, emu_claims *claims, const void *address, size_t size, int is_write,
                          const emu_agent *agent, emu_fault *fault);

/* Fills the operand that the address lies in, or the nearest one, for messages. */
void tsr_emu_global_name(const emu_global *global, const void *address, emu_fault *fault);

#endif
