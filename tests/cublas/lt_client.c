/* cublas_lt_client: one product of cublasLt with host operands, to be run with libtessera_cublas preloaded, on the
 * pretended library and, where there is one, on NVIDIA's, whose descriptors work without a GPU: what they say is read
 * right, whether at their defaults or not. */
#include "client.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cublas/abi.h"

int failures;

#define DECLARE(member, symbol, parameters) tsr_cublas_status symbol parameters;
TSR_LT_CALLS(DECLARE)
tsr_cublas_status cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes);
tsr_cublas_status cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);

enum { M = 3, N = 2, K = 4, COUNT = 64 };
static float a[COUNT], b[COUNT], c[COUNT];
static const float one = 1, two = 2;
static char handle; /* never followed by us; only calls that must be answered are made with it */

static unsigned long long answered(void)
{
    unsigned long long (*count)(void) = NULL;
    *(void **)&count = dlsym(RTLD_DEFAULT, "tessera_cublas_answered");
    CHECK(count, "libtessera_cublas is not preloaded");
    return count ? count() : 0;
}

/* C = 2 A^T B + C, column-major, `batch` times, with padded columns. */
static void check_product(int batch)
{
    void *desc, *a_layout, *b_layout, *c_layout;
    const int transposed = TSR_CUBLAS_OP_T;
    const int64_t strides[] = {16, 12, 10};
    const unsigned long long before = answered();
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(i % 5 - 2);
        b[i] = (float)(i % 7 - 3);
        c[i] = (float)i;
    }
    CHECK(cublasLtMatmulDescCreate(&desc, TSR_CUBLAS_COMPUTE_32F, TSR_CUDA_R_32F) == 0, "descriptor");
    CHECK(cublasLtMatmulDescSetAttribute(desc, TSR_LT_TRANSA, &transposed, sizeof transposed) == 0, "transpose");
    CHECK(cublasLtMatrixLayoutCreate(&a_layout, TSR_CUDA_R_32F, K, M, 5) == 0, "A");
    CHECK(cublasLtMatrixLayoutCreate(&b_layout, TSR_CUDA_R_32F, K, N, 6) == 0, "B");
    CHECK(cublasLtMatrixLayoutCreate(&c_layout, TSR_CUDA_R_32F, M, N, 4) == 0, "C");
    void *const layouts[] = {a_layout, b_layout, c_layout};
    for (int i = 0; i < 3 && batch > 1; i++) {
        cublasLtMatrixLayoutSetAttribute(layouts[i], TSR_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
        cublasLtMatrixLayoutSetAttribute(layouts[i], TSR_LT_LAYOUT_BATCH_OFFSET, &strides[i], sizeof strides[i]);
    }
    CHECK(cublasLtMatmul(&handle, desc, &two, a, a_layout, b, b_layout, &one, c, c_layout, c, c_layout, NULL, NULL, 0,
                         NULL) == 0,
          "product");
    CHECK(answered() == before + 1, "the product was not answered");
    for (int p = 0; p < batch; p++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                float sum = 0;
                const int64_t place = p * strides[2] + j * 4 + i;
                for (int l = 0; l < K; l++)
                    sum += a[p * strides[0] + i * 5 + l] * b[p * strides[1] + j * 6 + l];
                CHECK(c[place] == 2 * sum + (float)place, "element %d, %d of problem %d: %g", i, j, p,
                      (double)c[place]);
            }
    for (int i = 0; i < 3; i++)
        cublasLtMatrixLayoutDestroy(layouts[i]);
    cublasLtMatmulDescDestroy(desc);
}

/* C = relu(2 A^T B + bias), or without ReLU. */
static void check_epilogue(int epilogue)
{
    void *desc, *a_layout, *b_layout, *c_layout;
    static const float bias[M] = {5, -30, 1}, *const at = bias;
    const int transposed = TSR_CUBLAS_OP_T, f32 = TSR_CUDA_R_32F;
    const float zero = 0;
    const unsigned long long before = answered();
    CHECK(cublasLtMatmulDescCreate(&desc, TSR_CUBLAS_COMPUTE_32F, TSR_CUDA_R_32F) == 0, "descriptor");
    CHECK(cublasLtMatmulDescSetAttribute(desc, TSR_LT_TRANSA, &transposed, sizeof transposed) == 0, "transpose");
    CHECK(cublasLtMatmulDescSetAttribute(desc, TSR_LT_EPILOGUE, &epilogue, sizeof epilogue) == 0, "epilogue");
    CHECK(cublasLtMatmulDescSetAttribute(desc, TSR_LT_BIAS_POINTER, &at, sizeof at) == 0, "bias");
    if (epilogue == TSR_LT_EPILOGUE_RELU_BIAS)
        CHECK(cublasLtMatmulDescSetAttribute(desc, TSR_LT_BIAS_TYPE, &f32, sizeof f32) == 0, "bias type");
    CHECK(cublasLtMatrixLayoutCreate(&a_layout, TSR_CUDA_R_32F, K, M, K) == 0, "A");
    CHECK(cublasLtMatrixLayoutCreate(&b_layout, TSR_CUDA_R_32F, K, N, K) == 0, "B");
    CHECK(cublasLtMatrixLayoutCreate(&c_layout, TSR_CUDA_R_32F, M, N, M) == 0, "C");
    CHECK(cublasLtMatmul(&handle, desc, &two, a, a_layout, b, b_layout, &zero, c, c_layout, c, c_layout, NULL, NULL, 0,
                         NULL) == 0,
          "product");
    CHECK(answered() == before + 1, "epilogue %d was not answered", epilogue);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = bias[i];
            for (int l = 0; l < K; l++)
                sum += 2 * a[i * K + l] * b[j * K + l];
            CHECK(c[j * M + i] == (epilogue == TSR_LT_EPILOGUE_RELU_BIAS && sum < 0 ? 0 : sum),
                  "epilogue %d, element %d, %d: %g", epilogue, i, j, (double)c[j * M + i]);
        }
    cublasLtMatrixLayoutDestroy(a_layout);
    cublasLtMatrixLayoutDestroy(b_layout);
    cublasLtMatrixLayoutDestroy(c_layout);
    cublasLtMatmulDescDestroy(desc);
}

int main(void)
{
    Dl_info place;
    check_product(1);
    check_product(3);
    check_epilogue(TSR_LT_EPILOGUE_BIAS);
    check_epilogue(TSR_LT_EPILOGUE_RELU_BIAS);
    if (dladdr((void *)cublasLtMatmulDescCreate, &place))
        printf("on %s: %d failures\n", place.dli_fname, failures);
    return failures != 0;
}
