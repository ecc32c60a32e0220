/* Double precision. */
#include "blas/blas.h"
#include "tessera_blas.h"

#define REAL     double
#define DTYPE    TSR_F64
#define ONE_LINE tsr_dgemm
#define X        d
#define UPPER    "D"
#define LOWER    "d"
#include "blas/families_tmpl.h"
#define PLAIN tsr_blas_plain_f64
#include "blas/plain_tmpl.h"
