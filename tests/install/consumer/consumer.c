/* Uses an installed Tessera from C11: a product that is checked, an error that is read, and a GPU that is not there
 * (the caller hides all). Says what went wrong, if anything did. */
#include <stdio.h>
#include <string.h>
#include <tessera.h>

static int check_product(void)
{
    /* C = 2 A B^T + C: A is 2 x 3, B is stored 2 x 3. */
    const float a[] = {1, 2, 3, 4, 5, 6};
    const float b[] = {1, 2, 0, 0, 1, 3};
    float c[] = {10, 20, 30, 40};
    const float expected[] = {2 * 5 + 10, 2 * 11 + 20, 2 * 14 + 30, 2 * 23 + 40};
    tsr_status status = tsr_sgemm(TSR_N, TSR_T, 2, 2, 3, 2.0F, a, 3, b, 3, 1.0F, c, 2);
    if (status != TSR_OK) {
        printf("tsr_sgemm: %s: %s\n", tsr_status_text(status), tsr_last_error());
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        if (c[i] != expected[i]) {
            printf("tsr_sgemm: element %d is %g, not %g\n", i, (double)c[i], (double)expected[i]);
            return 1;
        }
    }
    return 0;
}

/* A leading dimension shorter than the row must be refused, by name, with C untouched. */
static int check_error(void)
{
    const float a[] = {1, 2, 3, 4};
    float c[] = {7, 7, 7, 7};
    tsr_status status = tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1.0F, a, 1, a, 2, 0.0F, c, 2);
    if (status != TSR_INVALID_ARGUMENT || !strstr(tsr_last_error(), "lda") || c[0] != 7) {
        printf("short lda: %s: %s\n", tsr_status_text(status), tsr_last_error());
        return 1;
    }
    return 0;
}

static int check_no_gpu(void)
{
    tsr_context *context = NULL;
    tsr_status status = tsr_context_create("cuda:0", NULL, &context);
    if (status != TSR_NO_DEVICE || context || !*tsr_last_error()) {
        printf("cuda:0: %s: %s\n", tsr_status_text(status), tsr_last_error());
        return 1;
    }
    return 0;
}

int main(void)
{
    return check_product() || check_error() || check_no_gpu();
}
