/* Runs one twin's instructions on a GPU and prints a line of tests/twins/h200.def for each case. Compiled by
 * tools/gpu-twins with kernel.cu's switches. */
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>

#include "twins/kernel.cu"
#include "twins/operands.h"

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

static const struct {
    const char *name;
    unsigned ctas;
    twin_format format;
} twins[] = {
#define ENTRY(name, ...)         {#name, 1, {__VA_ARGS__}},
#define ENTRY_CLUSTER(name, ...) {#name, TWIN_CLUSTER, {__VA_ARGS__}},
    TWINS(ENTRY) CLUSTER_TWINS(ENTRY_CLUSTER) TMA_TWINS(ENTRY)};

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

#if defined(TWIN_tma_reduce_integers) || defined(TWIN_tma_reduce_floats)
/* D as rows of 32 bytes of one type: boxes of a whole problem. */
static void make_map(tsr_tensor_map *out, CUtensorMapDataType type, unsigned element_bytes, void *d)
{
    typedef decltype(&cuTensorMapEncodeTiled) encoder;
    static_assert(sizeof(CUtensorMap) == sizeof(tsr_tensor_map), "a map's bytes");
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
    const cuuint64_t dims[3] = {32 / element_bytes, TWIN_M, TWIN_CASES}, strides[2] = {32, 32 * TWIN_M};
    const cuuint32_t box[3] = {32 / element_bytes, TWIN_M, 1}, steps[3] = {1, 1, 1};
    if (!function || ((encoder)function)((CUtensorMap *)out, type, 3, d, dims, strides, box, steps,
                                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) {
        fprintf(stderr, "no tensor map\n");
        exit(1);
    }
}

static tsr_tensor_maps make_maps(void *d)
{
    tsr_tensor_maps maps;
#if defined(TWIN_tma_reduce_integers)
    make_map(&maps.a, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, d);
    make_map(&maps.b, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, d);
    make_map(&maps.c, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, d);
    make_map(&maps.d, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, d);
#else
    make_map(&maps.a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, d);
    make_map(&maps.b, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, d);
    make_map(&maps.c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, d);
    make_map(&maps.d, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, d);
#endif
    return maps;
}
#define MORE , make_maps(d)
#else
#define MORE
#endif

int main()
{
    const twin_format *format = 0;
    unsigned ctas = 1;
    for (const auto &twin : twins)
        if (strcmp(twin.name, TEXT(TWIN_NAME)) == 0) {
            format = &twin.format;
            ctas = twin.ctas;
        }
    const size_t words[3] = {TWIN_M * TWIN_ROW_WORDS, TWIN_N * TWIN_ROW_WORDS, TWIN_M * TWIN_N};
    uint32_t *operands[3], *d;
    for (int i = 0; i < 3; i++)
        check(cudaMallocManaged(&operands[i], TWIN_CASES * words[i] * 4));
    check(cudaMallocManaged(&d, TWIN_CASES * words[2] * 4));
    for (int i = 0; i < TWIN_CASES; i++) {
        static twin_case one;
        twin_make(format, i, &one);
        memcpy(operands[0] + i * words[0], one.a, sizeof one.a);
        memcpy(operands[1] + i * words[1], one.b, sizeof one.b);
        memcpy(operands[2] + i * words[2], one.c, sizeof one.c);
    }
    tsr_gemm_args args = {};
    args.a = operands[0];
    args.b = operands[1];
    args.c = operands[2];
    args.d = d;
    args.batch_a = (long long)words[0];
    args.batch_b = (long long)words[1];
    args.batch_c = args.batch_d = (long long)words[2];
    TSR_KERNEL_NAME<<<dim3(ctas, 1, TWIN_CASES), 128, TWIN_SHARED_BYTES>>>(args MORE);
    check(cudaDeviceSynchronize());
    for (int i = 0; i < TWIN_CASES; i++)
        printf("TWIN(%s, %d, 0x%016llx)\n", TEXT(TWIN_NAME), i,
               (unsigned long long)twin_hash(d + i * words[2], (int)words[2]));
    return 0;
}
