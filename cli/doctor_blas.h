/* What a BLAS library is made of: whose products, whose other routines, how wide its integers are. */
#ifndef CLI_DOCTOR_BLAS_H
#define CLI_DOCTOR_BLAS_H

#include <limits.h>

typedef struct cli_blas_view {
    char path[PATH_MAX];     /* of the library itself, links resolved */
    char products[PATH_MAX]; /* of what has dgemm_, or dgemm_64_; "" if nothing does */
    int is_ours;             /* the products are libtessera_blas's */
    char rest[PATH_MAX];     /* of what has dgemv_, or dgemv_64_; "" if nothing does: no complete BLAS */
    char rest_name[64];      /* "OpenBLAS 0.3.21", "BLIS 0.9.0", "a BLAS" */
    int is_wrong;            /* integers of another width than the names say: calls into it would go astray */
} cli_blas_view;

/* Loads the library as a plug-in would, looks and unloads it. 0 if it cannot be loaded, with dlerror's words in `path`.
 */
int cli_blas_look(const char *library, cli_blas_view *out);

/* "products by Tessera, the rest by OpenBLAS 0.3.21 (FILE)", "OpenBLAS 0.3.21 alone", or what is wrong. */
void cli_blas_describe(const cli_blas_view *view, char *out, unsigned long bytes);

#endif
