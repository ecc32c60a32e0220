/* What a kernel did wrong, and how that is told. Private to src/emu. */
#ifndef TSR_EMU_FAULT_H
#define TSR_EMU_FAULT_H

#include <stddef.h>

#include "core/error.h"

typedef enum emu_fault_kind {
    EMU_NO_FAULT,
    EMU_OUTSIDE,      /* no operand, not shared memory, not the thread's own stack */
    EMU_PADDING,      /* between the rows of an operand */
    EMU_READ_ONLY,    /* write to A, B or C */
    EMU_NOT_READABLE, /* read of D, of C with beta = 0, of A or B with K = 0 */
    EMU_MISALIGNED,
    EMU_POISON,    /* read of shared memory that nobody wrote */
    EMU_RACE,      /* shared memory, or one element of D, without a barrier between two threads */
    EMU_TWO_CTAS,  /* one element of D */
    EMU_IN_FLIGHT, /* shared memory that an asynchronous copy has not delivered yet */
    EMU_UNFENCED,  /* ordinary stores, then the copy engine or the tensor cores with no proxy fence between */
    EMU_MISUSE,    /* an instruction's rule was broken */
    EMU_DEADLOCK,
    EMU_NO_MEMORY, /* on the host */
    EMU_STACK
} emu_fault_kind;

typedef enum emu_memory { EMU_GLOBAL, EMU_SHARED } emu_memory;

typedef struct emu_fault {
    emu_fault_kind kind;
    emu_memory memory;
    int is_write;
    size_t size;
    const void *address;
    const void *place; /* return address of the access */

    long long cta, other_cta;
    unsigned thread, other_thread;
    int other_is_write;

    size_t offset; /* in shared memory */
    size_t shared_bytes;

    char operand; /* as in emu_operand; 0: none is near */
    long long batch, row, column;
    long long rows, columns;
    long long
        past_bytes; /* EMU_OUTSIDE: bytes after the operand's end, negative before its start; shared: from start */

    const char *rule;    /* EMU_MISUSE: a static string */
    const char *waiting; /* EMU_DEADLOCK: where the threads are, in the worker */
} emu_fault;

/* Stores the message of the fault for the calling thread. */
tsr_status tsr_emu_report(const emu_fault *fault, const char *kernel, unsigned threads_x, long long grid_x,
                          long long grid_y);

/* "kernels/gemm/tiled.cu:64", or the module and offset where debug information or addr2line is missing. `place` is a
 * return address. 1 if it is a line. */
int tsr_emu_place(const void *place, char *text, size_t text_bytes);

#endif
