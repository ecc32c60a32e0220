/* A cuSPARSELt for tests, on the fake driver's memory: it compresses and multiplies on the CPU, checks the order of
 * calls, the objects and the numbers that it is given, and keeps a record of what it was asked. Compiled with
 * FAKE_OLD it is 0.6.3, which lacks two functions. */
#ifndef TESTS_FAKE_CUSPARSE_LT_H
#define TESTS_FAKE_CUSPARSE_LT_H

#include "lab/peers/cusparse_lt.h"

typedef struct fake_slt {
    /* What goes wrong, and what the library is. */
    const char *fail_call;
    lab_cusparse_status fail_status;
    int version;
    size_t workspace_bytes[2]; /* of a plan, and of one that was searched for */
    /* What happened. */
    int handles, matrices, algorithms, plans; /* alive */
    int context_errors;                       /* calls without the GPU's context */
    int object_errors;                        /* objects that were not there, moved or badly aligned */
    int compressions, searches;
    int broken_groups; /* of four, or of two in tf32, with too many values */
    unsigned compute_type;
    int ran_searched; /* by the last product */
    int c_was_null, stream_count;
    tsr_cu_stream stream;
    const void *workspace;
} fake_slt;

typedef struct fake_slt_access {
    fake_slt *state;
    void (*reset)(void);
} fake_slt_access;

#endif
