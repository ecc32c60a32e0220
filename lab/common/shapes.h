/* Lists of problem sizes, from a file or from the command line. */
#ifndef LAB_SHAPES_H
#define LAB_SHAPES_H

#include "tessera.h"

#define LAB_SHAPES_MAX       4096      /* lines with a shape */
#define LAB_SHAPES_BYTES_MAX (1 << 20) /* of the file */

typedef struct lab_shape {
    int64_t m, n, k;
    int64_t batch; /* problems of that size in one call, one after the other in memory; 0 and 1: one problem */
} lab_shape;

typedef struct lab_shapes {
    lab_shape *items;
    size_t count;
} lab_shapes;

/* Multiplications of all its problems: M N K times the batch. */
double lab_shape_products(lab_shape shape);
/* "256", "1x4096x4096", "32x64x64 x8" (a batch of 8). */
void lab_shape_text(lab_shape shape, char *out, size_t out_bytes);

/* Makes a problem, whose operands have no gaps, a batch of problems one after the other. Nothing for 0 and 1. */
void lab_shape_set_batch(int64_t batch, tsr_gemm_desc *desc);
/* Says in the descriptor that the problems of a batch share the operands whose stride is 0. */
void lab_shape_share_unstrided(tsr_gemm_desc *desc);
/* TSR_INVALID_ARGUMENT, with `place` in the message, if the batch is less than 1 or an operand has more than 63 bits of
 * bytes. */
tsr_status lab_shape_check(const char *place, lab_shape shape);

/* Parses "M N K" and "M N K BATCH" lines: whole numbers >= 0 (BATCH >= 1) with blanks between, # starts a comment,
 * empty lines are skipped. A problem whose operands would not fit 63 bits of bytes is refused. The text need not end in
 * a zero or a newline. TSR_INVALID_ARGUMENT names the place: "shapes.txt:3: ..."; *out is then empty. */
tsr_status lab_shapes_parse(const char *file_name, const char *text, size_t bytes, lab_shapes *out);
/* The same from a file; TSR_IO_ERROR names it. */
tsr_status lab_shapes_read(const char *path, lab_shapes *out);
/* "32,256,1024": squares. `option` is named in messages. */
tsr_status lab_shapes_squares(const char *option, const char *list, lab_shapes *out);
/* `count` problems, M, N and K log-uniform in 1..16384 and multiples of 8, but for each third one; the same for the
 * same seed everywhere. `option` is named in messages. */
tsr_status lab_shapes_random(const char *option, int64_t count, uint64_t seed, lab_shapes *out);
void lab_shapes_free(lab_shapes *shapes);

#endif
