/* Lists of problem sizes, from a file or from the command line. */
#ifndef LAB_SHAPES_H
#define LAB_SHAPES_H

#include "tessera.h"

#define LAB_SHAPES_MAX       4096      /* lines with a shape */
#define LAB_SHAPES_BYTES_MAX (1 << 20) /* of the file */

typedef struct lab_shape {
    int64_t m, n, k;
} lab_shape;

typedef struct lab_shapes {
    lab_shape *items;
    size_t count;
} lab_shapes;

/* Parses "M N K" lines: three whole numbers >= 0 with blanks between, # starts a comment, empty lines are skipped. A
 * problem whose operands would not fit 63 bits of bytes is refused. The text need not end in a zero or a newline.
 * TSR_INVALID_ARGUMENT names the place: "shapes.txt:3: ..."; *out is then empty. */
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
