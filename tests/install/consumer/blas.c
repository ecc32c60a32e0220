/* Uses an installed libtessera_blas: a batch that tessera_blas.h declares. C_i = A_i B_i with 1 x 1 matrices. */
#include <stdio.h>
#include <tessera_blas.h>

int main(void)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111, COUNT = 3 };
    const double a[COUNT] = {1, 2, 3}, b[COUNT] = {4, 5, 6};
    double c[COUNT] = {7, 7, 7};
    cblas_dgemm_batch_strided(ROW_MAJOR, NO_TRANS, NO_TRANS, 1, 1, 1, 1.0, a, 1, 1, b, 1, 1, 0.0, c, 1, 1, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (c[i] != a[i] * b[i]) {
            printf("element %d is %g, not %g\n", i, c[i], a[i] * b[i]);
            return 1;
        }
    }
    return 0;
}
