/* Global memory as a launch may touch it: the rows of its operands, and nothing between or around them. Private to
 * src/emu. */
#ifndef TSR_EMU_GLOBAL_H
#define TSR_EMU_GLOBAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/far.h"
#include "emu/fault.h"
#include "emu/run_launch.h"

/* One operand: `batch` matrices of rows x columns elements, as they are stored. */
typedef struct emu_operand {
    char name; /* 'A' ... 'D', 'W' for the workspace, which is one row of bytes, 'b' for the bias, one row of values,
                * 'S' for scales and 'z' for zero points, one row of them a problem, 'x' for the greatest magnitude */
    uintptr_t base;
    int element_shift; /* log2 of an element's bytes */
    long long rows, columns, ld, batch, batch_stride;
    long long span_bytes; /* from the first to the last element of all batches; 0: nothing may be touched */
    int readable, writable;
    int claimed;        /* elements belong to the CTA that touches them: D, and C where it is D */
    uintptr_t last_row; /* where the row of the last good access starts; 0 bytes: there was none */
    size_t last_row_bytes;
    long long last_batch, last_index;
} emu_operand;

enum {
    EMU_A,
    EMU_B,
    EMU_C,
    EMU_D,
    EMU_WORKSPACE,
    EMU_BIAS,
    EMU_SCALE_A,
    EMU_SCALE_B,
    EMU_SCALES_A,
    EMU_SCALES_B,
    EMU_SCALE_C,
    EMU_SCALE_D,
    EMU_ZERO_A,
    EMU_ZERO_B,
    EMU_AMAX,
    EMU_OPERANDS
};

typedef struct emu_global {
    emu_operand operands[EMU_OPERANDS]; /* of one worker, since each remembers a row */
    int is_dependent;                   /* reads must have been waited for */
} emu_global;

/* Who touched what; shared by the workers, 0 as long as nobody did.
 *   D          one entry for each element: who wrote it last (or read it, where C is D)
 *   workspace  two for each 4 bytes: who wrote them last, and who read them last since */
typedef struct emu_claims {
    _Atomic uint64_t *d, *workspace;
    size_t d_bytes, workspace_bytes;
    tsr_emu_pool *pool;
    int is_shared; /* by several workers */
} emu_claims;

/* What the job's arguments allow. */
void tsr_emu_global_make(emu_global *global, const tsr_emu_job *job);

/* 0 when out of memory; tsr_emu_claims_free is right all the same. */
int tsr_emu_claims_make(emu_claims *claims, const emu_global *global, tsr_emu_pool *pool, int n_workers);
void tsr_emu_claims_free(emu_claims *claims);

/* 1 if an element of A lies there; 0 if what lies between its rows does, or in the 16 bytes in which A begins; -1 if
 * neither does. */
int tsr_emu_global_is_of_a(const emu_global *global, uintptr_t address);

/* Who makes an access, for claims. */
typedef struct emu_agent {
    long long cta;
    const emu_clock *clock;
    const emu_time *time;
    const emu_far *far;
} emu_agent;

/* Checks an access of `size` bytes. On a fault fills the kind, the operand and its indices, and returns 0. */
int tsr_emu_global_access(emu_global *global, emu_claims *claims, const void *address, size_t size, int is_write,
                          const emu_agent *agent, emu_fault *fault);

/* The same for an atomic operation on a word, which must lie in the workspace. Atomics do not race with each other. */
int tsr_emu_global_atomic(const emu_global *global, const unsigned *word, emu_claims *claims, const emu_agent *agent,
                          int is_write, emu_fault *fault);

/* The same for a reduction of the copy engine, of elements of D or of the workspace. Reductions do not race with each
 * other. What D held before must have been written by this launch, unless it is C. */
int tsr_emu_global_reduce(const emu_global *global, emu_claims *claims, const void *address, size_t size,
                          const emu_agent *agent, emu_fault *fault);

/* Fills the operand that the address lies in, or the nearest one, for messages. */
void tsr_emu_global_name(const emu_global *global, const void *address, emu_fault *fault);

#endif
