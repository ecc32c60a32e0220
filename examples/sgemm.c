/* The shortest use of Tessera: one call, C = A * B, on whatever device the machine has. */
#include <stdio.h>

#include "tessera.h"

int main(void)
{
    /* Row-major: A is 2 x 3, B is 3 x 2. */
    const float a[] = {1, 2, 3, 4, 5, 6};
    const float b[] = {7, 8, 9, 10, 11, 12};
    float c[4];

    tsr_status status = tsr_sgemm(TSR_N, TSR_N, 2, 2, 3, 1.0F, a, 3, b, 2, 0.0F, c, 2);
    if (status != TSR_OK) {
        fprintf(stderr, "%s: %s\n", tsr_status_text(status), tsr_last_error());
        return 1;
    }
    printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);
    return 0;
}
