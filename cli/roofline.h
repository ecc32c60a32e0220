/* What the files of `tessera roofline` share. */
#ifndef CLI_ROOFLINE_H
#define CLI_ROOFLINE_H

#include <stdio.h>

#include "lab/common/product_types.h"
#include "lab/roofline/roofpoint.h"

/* A kernel at a size. */
typedef struct cli_roof_point {
    lab_roofpoint at;
    int64_t size;
    double measured_gflops; /* NAN: not known; of at.counters.instance */
} cli_roof_point;

typedef struct cli_roof {
    const lab_gpu_spec *gpu;
    lab_types types;
    int is_sparse; /* an operand is compressed 2:4 */
    cli_roof_point *points;
    size_t count;
} cli_roof;

/* 0 if memory ran out. */
int cli_roofline_table(const cli_roof *roof, FILE *to);
int cli_roofline_svg(const cli_roof *roof, FILE *to);
int cli_roofline_html(const cli_roof *roof, FILE *to);

/* "0.25", "36.6", "1.2e+03": for FLOP/B. */
const char *cli_intensity_text(char out[32], double intensity);

#endif
