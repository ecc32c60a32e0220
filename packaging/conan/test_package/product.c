/* A product by the package: 2 x 3 times 3 x 2. */
#include <stdio.h>
#include <tessera.h>

int main(void)
{
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12};
    float c[4] = {0, 0, 0, 0};
    if (tsr_sgemm(TSR_N, TSR_N, 2, 2, 3, 1.0F, a, 3, b, 2, 0.0F, c, 2) != TSR_OK)
        return printf("%s\n", tsr_last_error()), 1;
    printf("%g %g\n%g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    return !(c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154);
}
