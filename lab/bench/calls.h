/* The calls that a program made, from the log that libtessera_blas writes (TESSERA_LOG=calls, docs/BLAS.md). */
#ifndef LAB_CALLS_H
#define LAB_CALLS_H

#include "tessera.h"

/* A product as the library was asked for it, row-major, and what the log says of all calls that were alike. */
typedef struct lab_logged_call {
    char name[48]; /* the symbol of the first */
    tsr_dtype dtype;
    int trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    int64_t batch, stride_a, stride_b, stride_c;
    int64_t count;   /* how many there were */
    double total_ns; /* logged, of all of them */
} lab_logged_call;

typedef struct lab_calls {
    lab_logged_call *items; /* alike ones once; the most time first */
    size_t count;
    int64_t lines;  /* calls in the log */
    int64_t others; /* lines of calls that computed nothing: wrong arguments, nothing to do */
} lab_calls;

/* Lines that are none of the log's are skipped: a program's own messages may stand between. TSR_INVALID_ARGUMENT names
 * the place of a line that begins like a call and is none, or says that there is no call. */
tsr_status lab_calls_parse(const char *file_name, const char *text, size_t bytes, lab_calls *out);
tsr_status lab_calls_read(const char *path, lab_calls *out);
void lab_calls_free(lab_calls *calls);

#endif
