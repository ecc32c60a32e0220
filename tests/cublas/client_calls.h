/* Products as a program makes them that was linked against cuBLAS: through whatever stands in front, or directly on the
 * pretended library. */
#ifndef TESTS_CUBLAS_CLIENT_CALLS_H
#define TESTS_CUBLAS_CLIENT_CALLS_H

#include <stdint.h>

#include "client.h"
#include "cublas/abi.h"
#include "fake_cublas.h"
#include "fake_driver.h"
#include "fake_numbers.h"

/* ---- what the program is linked against ---------------------------------------------------------------------------
 */

#define DECLARE(member, symbol, parameters) tsr_cublas_status symbol parameters;
TSR_CUBLAS_CALLS(DECLARE)
TSR_LT_CALLS(DECLARE)
#undef DECLARE
tsr_cublas_status cublasSetPointerMode_v2(void *handle, int mode);
tsr_cublas_status cublasSetMathMode(void *handle, int mode);
tsr_cublas_status cublasSetSmCountTarget(void *handle, int count);
tsr_cublas_status cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes);
tsr_cublas_status cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                                       size_t bytes);
tsr_cublas_status cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);

/* The pretended library's own functions, which nobody stands in front of. */
extern struct client_direct {
#define MEMBER(member, symbol, parameters) tsr_cublas_status(*symbol) parameters;
    TSR_CUBLAS_CALLS(MEMBER)
    TSR_LT_CALLS(MEMBER)
#undef MEMBER
} direct;

extern fake_record *record, *lt_record;
extern fake_orders *orders;
extern fake_driver *driver; /* NULL: none was loaded */

void find_direct(void);
/* The library finds it by its SONAME. */
void load_driver(void);
void *new_handle(void);
void free_handle(void *handle);

/* ---- products -----------------------------------------------------------------------------------------------------
 */

enum { BF16 = TSR_CUDA_R_16BF, F16 = TSR_CUDA_R_16F, F32 = TSR_CUDA_R_32F, F64 = TSR_CUDA_R_64F, GUARD = 32 };
enum { E4M3 = TSR_CUDA_R_8F_E4M3, E5M2 = TSR_CUDA_R_8F_E5M2, S8 = TSR_CUDA_R_8I, S32 = TSR_CUDA_R_32I };

/* Memory with whole numbers from -3 to 3, so that every sum is exact. */
void *operand(int type, int64_t elems, unsigned seed);

typedef struct product {
    int trans_a, trans_b, ab_type, c_type, compute, batch;
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
    double alpha, beta;
} product;

product product_of(int ab_type, int c_type, int compute, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                   int batch);

/* Factors as the compute type has them. */
typedef struct factor {
    char bytes[8];
} factor;

factor factor_of(double value, int compute);

typedef int call_product(void *handle, const product *p, const void *alpha, const void *beta, const void *a,
                         const void *b, void *c, int is_direct);
call_product call_ex, call_strided, call_typed, call_lt;

/* A product of cublasLt with what a test may set in it. */
typedef struct lt_product {
    void *desc, *a, *b, *c;
    const tsr_lt_algo *algo;
} lt_product;

void *layout_of(int type, int64_t rows, int64_t columns, int64_t ld, int64_t stride, int batch);
lt_product make_lt(const product *p);
void free_lt(lt_product *lt);

/* Products that have reached either pretended library. */
int calls_seen(void);

enum { FORWARDED, ANSWERED };

/* Runs the product through whatever stands in front and directly, and compares all bytes of C, those between columns
 * too. `expected` says who must answer. */
void check_product(void *handle, const product *p, call_product *call, int expected, const char *what);

/* A table of measurements that handles made from then on go by, until it is removed. */
void write_table(const char *text);
void remove_table(void);

/* Logs calls from the first one on; what stands behind `key`= in the last call's line. */
void start_log(void);
void last_of_log(const char *key, char *out, size_t bytes);
void end_log(void);

/* The cases of rules. */
void case_names(void);
void case_tf32_off(void);
void case_emulation(void);
void case_odd_environment(void);
void case_preferences(void);
void case_guard_of_thread(void);
void case_why(void);

/* The cases of what is made with a handle. */
void case_pool(void);
void case_pool_fails(void);
void case_pool_unseen(void);
void case_pool_fork(void);
void case_pool_threads(void);
void case_same_stream(void);
void case_pool_borrowed(void);
void case_many_plans(void);
void case_pool_none(void);
void case_plans(void);

/* The cases of what fails. */
void case_lacking(void);
void case_getters(void);
void case_no_fresh(void);
void case_state(void);
void case_state_workspace(void);
void case_outcome(void);

#endif
