/* libcublasLt.so.FAKE_MAJOR: descriptors with the real one's attributes, and one of a later version. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/abi.h"
#include "fake_cublas.h"
#include "fake_numbers.h"

#define EXPORT __attribute__((visibility("default")))
#define CALL(symbol, parameters)                \
    EXPORT tsr_cublas_status symbol parameters; \
    tsr_cublas_status symbol parameters

enum { INVALID_VALUE = 7, ATTRIBUTES = 48, FROM_THE_FUTURE = 45 };

static fake_record record;
static fake_orders orders;

EXPORT fake_record *fake_cublaslt_record(void)
{
    return &record;
}

EXPORT fake_orders *fake_cublaslt_orders(void)
{
    return &orders;
}

EXPORT size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void)
{
    return FAKE_MAJOR * 10000 + 101;
}

/* For programs that look for a whole library. */
CALL(cublasLtCreate, (void **handle))
{
    *handle = calloc(1, 1);
    return *handle ? 0 : 3;
}

CALL(cublasLtDestroy, (void *handle))
{
    free(handle);
    return 0;
}

EXPORT const char *cublasLtGetStatusName(int status);
const char *cublasLtGetStatusName(int status)
{
    return status ? "an error" : "success";
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

typedef struct fake_object {
    uint8_t bytes[ATTRIBUTES]; /* 0: there is no such attribute */
    uint64_t value[ATTRIBUTES];
} fake_object;

static int fails(const char *symbol)
{
    return orders.fails && strcmp(orders.fails, symbol) == 0;
}

/* Layouts' attributes count from `first` on among those that fail. */
static tsr_cublas_status get(const fake_object *object, int first, int attribute, void *value, size_t bytes,
                             size_t *written)
{
    const int is_broken = orders.attribute_fails == 1 + first + attribute;
    if (is_broken && !orders.is_short)
        return FAKE_FAILURE;
    if (attribute < 0 || attribute >= ATTRIBUTES || object->bytes[attribute] == 0)
        return INVALID_VALUE;
    if (bytes == 0) {
        *written = object->bytes[attribute];
        return 0;
    }
    if (bytes != object->bytes[attribute])
        return INVALID_VALUE;
    memcpy(value, &object->value[attribute], bytes);
    if (written)
        *written = is_broken ? bytes - 1 : bytes;
    return 0;
}

static tsr_cublas_status set(fake_object *object, int attribute, const void *value, size_t bytes)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || bytes != object->bytes[attribute] || bytes == 0)
        return INVALID_VALUE;
    object->value[attribute] = 0;
    memcpy(&object->value[attribute], value, bytes);
    return 0;
}

CALL(cublasLtMatmulDescCreate, (void **desc, int compute, int scale_type))
{
    static const uint8_t wide[] = {8, 10, 11, 12, 13, 14, 17, 18, 19, 20, 21, 23, 24, 36, 38, FROM_THE_FUTURE};
    static const uint8_t narrow[] = {0, 1, 2, 3, 4, 5, 6, 7, 15, 16, 22, 26, 31, 32, 33, 34, 35, 37};
    if (fails("cublasLtMatmulDescCreate"))
        return FAKE_FAILURE;
    fake_object *made = calloc(1, sizeof *made);
    if (orders.at_desc_create)
        orders.at_desc_create();
    for (size_t i = 0; i < sizeof wide; i++)
        made->bytes[wide[i]] = 8;
    for (size_t i = 0; i < sizeof narrow; i++)
        made->bytes[narrow[i]] = 4;
    made->bytes[25] = 1;
    made->value[TSR_LT_COMPUTE_TYPE] = (uint64_t)compute;
    made->value[TSR_LT_SCALE_TYPE] = (uint64_t)scale_type;
    made->value[6] = 2;
    made->value[TSR_LT_EPILOGUE] = TSR_LT_EPILOGUE_DEFAULT;
    made->value[22] = made->value[26] = 0xffffffffu;
    made->value[FROM_THE_FUTURE] = 5;
    *desc = made;
    return 0;
}

CALL(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))
{
    static const uint8_t bytes[] = {4, 4, 8, 8, 8, 4, 8, 8, 4};
    fake_object *made = calloc(1, sizeof *made);
    memcpy(made->bytes, bytes, sizeof bytes);
    made->bytes[FROM_THE_FUTURE] = 8;
    made->value[FROM_THE_FUTURE] = 5;
    made->value[TSR_LT_LAYOUT_TYPE] = (uint64_t)type;
    made->value[TSR_LT_LAYOUT_ROWS] = rows;
    made->value[TSR_LT_LAYOUT_COLS] = columns;
    made->value[TSR_LT_LAYOUT_LD] = (uint64_t)ld;
    made->value[TSR_LT_LAYOUT_BATCH_COUNT] = 1;
    *layout = made;
    return 0;
}

CALL(cublasLtMatmulDescDestroy, (void *desc))
{
    free(desc);
    return 0;
}

CALL(cublasLtMatrixLayoutDestroy, (void *layout))
{
    free(layout);
    return 0;
}

CALL(cublasLtMatmulDescGetAttribute, (void *desc, int attribute, void *value, size_t bytes, size_t *written))
{
    return get(desc, 0, attribute, value, bytes, written);
}

CALL(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))
{
    return set(desc, attribute, value, bytes);
}

CALL(cublasLtMatrixLayoutGetAttribute, (void *layout, int attribute, void *value, size_t bytes, size_t *written))
{
    return get(layout, FAKE_LAYOUTS, attribute, value, bytes, written);
}

CALL(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes))
{
    return set(layout, attribute, value, bytes);
}

/* With the real one's attributes, and one of a later version. */
CALL(cublasLtMatmulPreferenceCreate, (void **preference))
{
    static const uint8_t bytes[] = {4, 8, 0, 4, 0, 4, 4, 4, 4, 4, 0, 0, 8, 4};
    if (fails("cublasLtMatmulPreferenceCreate"))
        return FAKE_FAILURE;
    fake_object *made = calloc(1, sizeof *made);
    memcpy(made->bytes, bytes, sizeof bytes);
    made->value[TSR_LT_PREFERENCE_REDUCTIONS] = 7;
    for (int i = TSR_LT_PREFERENCE_ALIGN_A; i <= TSR_LT_PREFERENCE_ALIGN_D; i++)
        made->value[i] = 256;
    made->value[12] = UINT64_MAX;
    *preference = made;
    return 0;
}

CALL(cublasLtMatmulPreferenceDestroy, (void *preference))
{
    free(preference);
    return 0;
}

CALL(cublasLtMatmulPreferenceGetAttribute,
     (void *preference, int attribute, void *value, size_t bytes, size_t *written))
{
    return get(preference, FAKE_PREFERENCES, attribute, value, bytes, written);
}

CALL(cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t bytes))
{
    return set(preference, attribute, value, bytes);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

CALL(cublasLtMatmulAlgoGetHeuristic, TSR_LT_HEURISTIC_PARAMETERS)
{
    record.heuristics++;
    snprintf(record.last, sizeof record.last, "cublasLtMatmulAlgoGetHeuristic %p %p %p %p %p %p %p %d %p %p", handle,
             desc, a_layout, b_layout, c_layout, d_layout, preference, wanted, (void *)results, (void *)count);
    if (orders.status)
        return orders.status;
    *count = wanted < 2 ? wanted : 2;
    for (int i = 0; i < *count; i++) {
        memset(&results[i], 0, sizeof results[i]);
        results[i].algo.data[0] = 100 + (uint64_t)i;
        results[i].algo.data[7] = ((fake_object *)d_layout)->value[TSR_LT_LAYOUT_ROWS];
    }
    return fails("cublasLtMatmulAlgoGetHeuristic") ? FAKE_FAILURE : 0;
}

static int64_t of(const void *layout, int attribute)
{
    return (int64_t)((const fake_object *)layout)->value[attribute];
}

static fake_product product_of(const fake_object *desc, const void *a_layout, const void *b_layout,
                               const void *c_layout, const void *d_layout)
{
    const int trans_a = (int)desc->value[TSR_LT_TRANSA], trans_b = (int)desc->value[TSR_LT_TRANSB];
    return (fake_product){.trans_a = trans_a,
                          .trans_b = trans_b,
                          .m = of(d_layout, TSR_LT_LAYOUT_ROWS),
                          .n = of(d_layout, TSR_LT_LAYOUT_COLS),
                          .k = of(a_layout, trans_a ? TSR_LT_LAYOUT_ROWS : TSR_LT_LAYOUT_COLS),
                          .a_type = (int)of(a_layout, TSR_LT_LAYOUT_TYPE),
                          .b_type = (int)of(b_layout, TSR_LT_LAYOUT_TYPE),
                          .c_type = (int)of(d_layout, TSR_LT_LAYOUT_TYPE),
                          .lda = of(a_layout, TSR_LT_LAYOUT_LD),
                          .ldb = of(b_layout, TSR_LT_LAYOUT_LD),
                          .ldc = of(c_layout, TSR_LT_LAYOUT_LD),
                          .ldd = of(d_layout, TSR_LT_LAYOUT_LD),
                          .stride_a = of(a_layout, TSR_LT_LAYOUT_BATCH_OFFSET),
                          .stride_b = of(b_layout, TSR_LT_LAYOUT_BATCH_OFFSET),
                          .stride_c = of(c_layout, TSR_LT_LAYOUT_BATCH_OFFSET),
                          .stride_d = of(d_layout, TSR_LT_LAYOUT_BATCH_OFFSET),
                          .batch = of(d_layout, TSR_LT_LAYOUT_BATCH_COUNT)};
}

/* The epilogues of which it knows something: ReLU, a bias, and both. */
static void add_epilogue(const fake_object *desc, fake_product *product)
{
    enum { RELU = 2, BIAS = 4, BIAS_BATCH_STRIDE = 10, AS_D = 0xffffffff };
    const uint64_t epilogue = desc->value[TSR_LT_EPILOGUE], type = desc->value[TSR_LT_BIAS_TYPE];
    if (epilogue > (RELU | BIAS))
        return;
    product->has_relu = (epilogue & RELU) != 0;
    if (epilogue & BIAS)
        product->bias = (const void *)(uintptr_t)desc->value[TSR_LT_BIAS_POINTER];
    product->bias_type = type == AS_D ? product->c_type : (int)type;
    product->stride_bias = (int64_t)desc->value[BIAS_BATCH_STRIDE];
}

/* What scales A, B and D of 8-bit floats, and where D's greatest magnitude goes. */
static void add_scales(const fake_object *desc, fake_product *product)
{
    product->scale_a = (const float *)(uintptr_t)desc->value[TSR_LT_A_SCALE_POINTER];
    product->scale_b = (const float *)(uintptr_t)desc->value[TSR_LT_B_SCALE_POINTER];
    product->scale_d = (const float *)(uintptr_t)desc->value[TSR_LT_D_SCALE_POINTER];
    product->mode_a = (int)desc->value[TSR_LT_A_SCALE_MODE];
    product->mode_b = (int)desc->value[TSR_LT_B_SCALE_MODE];
    product->amax = (float *)(uintptr_t)desc->value[TSR_LT_AMAX_D_POINTER];
    if (product->amax)
        *product->amax = 0;
}

CALL(cublasLtMatmul, TSR_LT_MATMUL_PARAMETERS)
{
    const fake_object *described = desc;
    record.calls++;
    if (!orders.is_quick)
        snprintf(record.last, sizeof record.last, "cublasLtMatmul %p %p %p %p %p %p %p %p %p %p %p %p %p %p %zu %p",
                 handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, (const void *)algo,
                 workspace, workspace_bytes, stream);
    if (orders.status || orders.is_quick)
        return orders.status;
    if (!handle)
        return TSR_CUBLAS_NOT_INITIALIZED;
    if (!desc || !alpha || !beta)
        return INVALID_VALUE;
    fake_product product = product_of(described, a_layout, b_layout, c_layout, d_layout);
    product.a = a;
    product.b = b;
    product.c = c;
    product.d = d;
    product.alpha = fake_get(alpha, (int)described->value[TSR_LT_SCALE_TYPE], 0);
    product.beta = fake_get(beta, (int)described->value[TSR_LT_SCALE_TYPE], 0);
    add_epilogue(described, &product);
    if (product.a_type == TSR_CUDA_R_8F_E4M3 || product.a_type == TSR_CUDA_R_8F_E5M2)
        add_scales(described, &product);
    fake_multiply(&product);
    return 0;
}
