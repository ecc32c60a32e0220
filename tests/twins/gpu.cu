/* Runs one twin's instruction on a GPU and prints a line of tests/twins/h200.def for each case. Compiled by
 * tools/gpu-twins with product.cu's switches. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "product.cu"
#include "twins/operands.h"

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

static const struct {
    const char *name;
    twin_format format;
} twins[] = {
#define ENTRY(name, ...) {#name, {__VA_ARGS__}},
    TWINS(ENTRY)};

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

int main()
{
    const twin_format *format = 0;
    for (const auto &twin : twins)
        if (strcmp(twin.name, TEXT(TWIN_NAME)) == 0)
            format = &twin.format;
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
    TSR_KERNEL_NAME<<<dim3(1, 1, TWIN_CASES), 128, 4096>>>(args);
    check(cudaDeviceSynchronize());
    for (int i = 0; i < TWIN_CASES; i++)
        printf("TWIN(%s, %d, 0x%016llx)\n", TEXT(TWIN_NAME), i,
               (unsigned long long)twin_hash(d + i * words[2], (int)words[2]));
    return 0;
}
