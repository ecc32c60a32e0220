/* Single precision. */
#include "blas/blas.h"
#include "tessera_blas.h"

#define REAL     float
#define DTYPE    TSR_F32
#define ONE_LINE tsr_sgemm
#define X        s
#define UPPER    "S"
#define LOWER    "s"
#include "blas/families_tmpl.h"
#define PLAIN tsr_blas_plain_f32
#include "blas/plain_tmpl.h"
