/* The same product by the BLAS, for which programs have a cblas.h of their own. */
#include <stdio.h>

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);

int main(void)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12};
    float c[4] = {0, 0, 0, 0};
    cblas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 2, 2, 3, 1.0F, a, 3, b, 2, 0.0F, c, 2);
    printf("%g %g\n%g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    return !(c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154);
}
