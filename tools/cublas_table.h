/* cublas_table: measures the table that libtessera_cublas goes by (src/cublas/measured.h). What its files share. */
#ifndef TOOLS_CUBLAS_TABLE_H
#define TOOLS_CUBLAS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cublas/measured.h"
#include "lab/common/stats.h"
#include "tessera.h"

/* One row-major product; leading dimensions and strides in elements. */
typedef struct table_shape {
    int types; /* tsr_measured_types */
    int trans_a, trans_b;
    int64_t m, n, k, batch, lda, ldb, ldd, stride_a, stride_b, stride_d;
    int align_a, align_b, align_d; /* bytes, at most 16 */
} table_shape;

enum { TABLE_SAMPLES_MAX = 3 };

/* One line of the table: the shape that it names, or the shapes that stand for its class. */
typedef struct table_line {
    int is_class;
    int exponents[4]; /* of m, n, k, batch */
    int sample_count;
    table_shape samples[TABLE_SAMPLES_MAX];
} table_line;

typedef struct table_lines {
    size_t count, room;
    table_line *lines;
} table_lines;

/* ---- which lines (cublas_table_shapes.c) --------------------------------------------------------------------------
 */

/* What is measured if nothing else is asked for, the most useful lines first. 0 when memory runs out. */
int table_default_lines(table_lines *out);
/* The shapes of a call log (TESSERA_LOG=calls), each once. 0 with *error. */
int table_lines_of_log(const char *path, table_lines *out, char error[256]);
void table_lines_free(table_lines *lines);

/* What a column "types" stands for. */
typedef struct table_product {
    tsr_dtype ab, cd;
    int cuda_ab, cuda_cd, compute; /* as cuBLAS names them */
    int is_lt;                     /* asked for by cublasLtMatmul, and in the forward pass alone */
    int has_bias, is_fast;
    double unit; /* of what two right results may differ by: see agree */
} table_product;

extern const table_product table_products[TSR_TYPES_COUNT];

/* The line's first columns, up to batch, as the table has them: what a line is known by. */
void table_line_key(const table_line *line, const char *chip, const char *version, char out[256]);

/* ---- timing (cublas_table_time.c) ---------------------------------------------------------------------------------
 */

typedef struct table_session table_session;

/* Opens GPU `ordinal`, cuBLAS (lab/peers/cublas_lt.h says where it is looked for) and libtessera_cublas at `library`,
 * which must not have been loaded before: it is told to answer whatever it can. NULL with *error. */
table_session *table_open(int ordinal, const char *library, char error[512]);
void table_close(table_session *session);
/* "H200" and "13.1", as the table has them. */
const char *table_chip(const table_session *session);
const char *table_version(const table_session *session);

typedef enum table_outcome {
    TABLE_MEASURED,
    TABLE_NOT_OURS, /* Tessera does not answer such a call */
    TABLE_WRONG,    /* the two results differ by more than rounding */
    TABLE_TOO_LARGE,
    TABLE_FAILED
} table_outcome;

/* Time of cuBLAS / time of Tessera over `rounds` rounds, in which both take turns on operands that are not in L2. */
table_outcome table_time(table_session *session, const table_shape *shape, int rounds, lab_interval *ratio);
/* Nanoseconds that sending a small call on adds to it, on the host; negative if that cannot be measured. */
double table_forwarding_ns(table_session *session);

#endif
