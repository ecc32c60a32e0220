/* What the table of measurements says about a call. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/call_log.h"
#include "cublas/cublas.h"
#include "cublas/measured.h"
#include "cublas/nvidia.h"

/* measured.tsv, as measured_data.S brings it in. */
extern const char tsr_measured_text[], tsr_measured_text_end[];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tsr_measured *table;

/* Of a GPU and a node: the group of its lines plus 2; 0: not looked for yet. */
static atomic_int groups[TSR_NODES][TSR_NVIDIA_DEVICES_MAX];

/* ---- the table --------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *bytes)
{
    enum { STEP_BYTES = 1 << 16 };
    char *text = NULL;
    FILE *from = fopen(path, "re");
    size_t got = 1;
    *bytes = 0;
    while (from && got > 0) {
        char *more = realloc(text, *bytes + STEP_BYTES);
        if (!more)
            break;
        text = more;
        got = fread(text + *bytes, 1, STEP_BYTES, from);
        *bytes += got;
    }
    if (from && (ferror(from) || got > 0)) {
        free(text);
        text = NULL;
    }
    if (from)
        fclose(from);
    return text;
}

/* A table that the user names counts alone; where it cannot be read, no line does. */
static void read_table(void)
{
    static atomic_flag unreadable = ATOMIC_FLAG_INIT, wrong = ATOMIC_FLAG_INIT;
    const char *path = secure_getenv("TESSERA_CUBLAS_TABLE");
    int bad_line = 0;
    if (!path || !*path) {
        table = tsr_measured_read(tsr_measured_text, (size_t)(tsr_measured_text_end - tsr_measured_text), &bad_line);
        return;
    }
    size_t bytes;
    char *text = read_file(path, &bytes);
    if (!text)
        tsr_call_log_tell(&unreadable, "TESSERA_CUBLAS_TABLE = %.400s cannot be read: %s; no call is answered by it",
                          path, strerror(errno));
    table = tsr_measured_read(text ? text : "", text ? bytes : 0, &bad_line);
    if (bad_line)
        tsr_call_log_tell(&wrong, "%.400s: line %d says nothing, and others may not either; they are left out", path,
                          bad_line);
    free(text);
}

/* 1301 for cuBLAS 13.1, whose number is 130101; 0 if it does not say. */
static int version_of(int node)
{
    const tsr_real_lt *real = tsr_real_lt_of(node);
    return real && real->version ? (int)(real->version() / 100) : 0;
}

/* -1: no lines. */
static int group_of(int node, int ordinal)
{
    char chip[TSR_MEASURED_CHIP_BYTES];
    if (ordinal < 0 || ordinal >= TSR_NVIDIA_DEVICES_MAX)
        return -1;
    const int known = atomic_load_explicit(&groups[node][ordinal], memory_order_acquire);
    if (known)
        return known - 2;
    pthread_once(&once, read_table);
    tsr_nvidia_chip(ordinal, chip);
    const int group = table ? tsr_measured_find(table, chip, version_of(node)) : -1;
    atomic_store_explicit(&groups[node][ordinal], group + 2, memory_order_release);
    return group;
}

int tsr_cublas_may_answer(int node, int ordinal)
{
    const int mode = tsr_cublas_mode();
    return mode == TSR_MODE_ALWAYS || (mode == TSR_MODE_AUTO && group_of(node, ordinal) >= 0);
}

int tessera_cublas_table_lines(char *chip, char *cublas, size_t bytes)
{
    char name[TSR_MEASURED_CHIP_BYTES] = "";
    const int ordinal = tsr_cublas_device();
    int node = TSR_NODES - 1;
    while (node >= 0 && !tsr_real_is_used(node))
        node--;
    if (ordinal < 0 || node < 0)
        return -1;
    const int version = version_of(node), group = group_of(node, ordinal);
    tsr_nvidia_chip(ordinal, name);
    snprintf(chip, bytes, "%s", name);
    snprintf(cublas, bytes, "%d.%d", version / 100, version % 100);
    return group >= 0 ? tsr_measured_lines(table, group) : 0;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* -1: the table has no lines of them. */
static int types_without_bias(const tsr_cublas_call *call)
{
    const int is_same = call->dtype_a == call->dtype_cd;
    switch (call->dtype_a) {
    case TSR_BF16:
        return is_same ? TSR_TYPES_BF16 : TSR_TYPES_BF16_F32;
    case TSR_F16:
        return is_same ? TSR_TYPES_F16 : TSR_TYPES_F16_F32;
    case TSR_F32:
        return call->compute == TSR_COMPUTE_TF32 ? TSR_TYPES_TF32 : TSR_TYPES_F32;
    case TSR_F64:
        return TSR_TYPES_F64;
    case TSR_E4M3:
        if (call->dtype_b != TSR_E4M3 || call->dtype_cd != TSR_BF16 || call->scale_mode_a != TSR_SCALE_TENSOR ||
            call->scale_mode_b != TSR_SCALE_TENSOR)
            return -1;
        return call->compute == TSR_COMPUTE_FAST ? TSR_TYPES_E4M3_BF16_FAST : TSR_TYPES_E4M3_BF16;
    default:
        return -1;
    }
}

/* A bias and a bias with ReLU cost the same, and share lines. */
static int types_of(const tsr_cublas_call *call)
{
    const int types = types_without_bias(call);
    return call->epilogue ? tsr_measured_with_bias(types) : types;
}

/* The reverse: what a call with such a line must be. */
static void set_types(int types, tsr_cublas_call *call)
{
    static const struct {
        tsr_dtype ab, cd;
        tsr_compute compute;
        int has_bias;
    } of[TSR_TYPES_COUNT] = {[TSR_TYPES_BF16] = {TSR_BF16, TSR_BF16, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_F16] = {TSR_F16, TSR_F16, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_F32] = {TSR_F32, TSR_F32, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_TF32] = {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, 0},
                             [TSR_TYPES_F64] = {TSR_F64, TSR_F64, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_BF16_F32] = {TSR_BF16, TSR_F32, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_F16_F32] = {TSR_F16, TSR_F32, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_BF16_BIAS] = {TSR_BF16, TSR_BF16, TSR_COMPUTE_DEFAULT, 1},
                             [TSR_TYPES_F16_BIAS] = {TSR_F16, TSR_F16, TSR_COMPUTE_DEFAULT, 1},
                             [TSR_TYPES_F32_BIAS] = {TSR_F32, TSR_F32, TSR_COMPUTE_DEFAULT, 1},
                             [TSR_TYPES_TF32_BIAS] = {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, 1},
                             [TSR_TYPES_E4M3_BF16] = {TSR_E4M3, TSR_BF16, TSR_COMPUTE_DEFAULT, 0},
                             [TSR_TYPES_E4M3_BF16_FAST] = {TSR_E4M3, TSR_BF16, TSR_COMPUTE_FAST, 0}};
    call->dtype_a = call->dtype_b = of[types].ab;
    call->dtype_cd = of[types].cd;
    call->compute = of[types].compute;
    call->epilogue = of[types].has_bias ? tsr_cublas_epilogue(TSR_LT_EPILOGUE_BIAS) : NULL;
}

/* The least leading dimension of rows of `row` elements that are aligned to `align` bytes and no more, with rows * ld
 * elements from problem to problem; 0 if there is none. */
static int64_t tight_ld(int64_t row, int64_t rows, int64_t batch, size_t bytes, int align)
{
    for (int64_t ld = row; ld <= row + 2 * TSR_MEASURED_ALIGN_MAX_BYTES; ld++)
        if (tsr_measured_align(0, ld, rows * ld, batch, bytes) == align)
            return ld;
    return 0;
}

/* 0 if the line's alignments cannot be those of any call. */
static int call_of(const tsr_measured_key *key, tsr_cublas_call *call)
{
    static const uintptr_t aligned = 256; /* an address that is aligned well */
    enum { GIVEN_BYTES = 32 << 20 };
    *call = (tsr_cublas_call){.trans_a = key->trans_a ? TSR_T : TSR_N,
                              .trans_b = key->trans_b ? TSR_T : TSR_N,
                              .m = key->m,
                              .n = key->n,
                              .k = key->k,
                              .batch = key->batch,
                              .a = (const void *)aligned,
                              .b = (const void *)aligned,
                              .c = (const void *)aligned,
                              .d = (void *)aligned,
                              .workspace = (void *)aligned,
                              .workspace_bytes = GIVEN_BYTES};
    set_types(key->types, call);
    const int64_t a_rows = key->trans_a ? key->k : key->m, b_rows = key->trans_b ? key->n : key->k;
    const size_t ab_bytes = tsr_dtype_bytes(call->dtype_a), cd_bytes = tsr_dtype_bytes(call->dtype_cd);
    call->lda = tight_ld(key->trans_a ? key->m : key->k, a_rows, key->batch, ab_bytes, key->align_a);
    call->ldb = tight_ld(key->trans_b ? key->k : key->n, b_rows, key->batch, ab_bytes, key->align_b);
    call->ldc = call->ldd = tight_ld(key->n, key->m, key->batch, cd_bytes, key->align_d);
    call->stride_a = a_rows * call->lda;
    call->stride_b = b_rows * call->ldb;
    call->stride_c = call->stride_d = key->m * call->ldd;
    return call->lda && call->ldb && call->ldd;
}

int tsr_cublas_next_shape(int node, int ordinal, size_t *at, tsr_cublas_call *call)
{
    tsr_measured_key key;
    const int group = tsr_cublas_mode() == TSR_MODE_AUTO ? group_of(node, ordinal) : -1;
    while (group >= 0 && tsr_measured_next(table, group, at, &key))
        if (call_of(&key, call))
            return 1;
    return 0;
}

void tsr_cublas_aligns(const tsr_cublas_call *call, int *a, int *b, int *d)
{
    const size_t ab_bytes = tsr_dtype_bytes(call->dtype_a), cd_bytes = tsr_dtype_bytes(call->dtype_cd);
    const int c = tsr_measured_align((uintptr_t)call->c, call->ldc, call->stride_c, call->batch, cd_bytes);
    *a = tsr_measured_align((uintptr_t)call->a, call->lda, call->stride_a, call->batch, ab_bytes);
    *b = tsr_measured_align((uintptr_t)call->b, call->ldb, call->stride_b, call->batch, ab_bytes);
    *d = tsr_measured_align((uintptr_t)call->d, call->ldd, call->stride_d, call->batch, cd_bytes);
    *d = c < *d ? c : *d;
}

static tsr_measured_key key_of(const tsr_cublas_call *call)
{
    tsr_measured_key key = {.m = call->m,
                            .n = call->n,
                            .k = call->k,
                            .batch = call->batch,
                            .types = types_of(call),
                            .trans_a = call->trans_a,
                            .trans_b = call->trans_b};
    tsr_cublas_aligns(call, &key.align_a, &key.align_b, &key.align_d);
    return key;
}

/* The group of lines that may hold for a call; what is known without one in *why. */
static int group_for(int node, int ordinal, const tsr_cublas_call *call, tsr_why *why)
{
    const int has_none = ordinal < 0 || tsr_cublas_mode() == TSR_MODE_ALWAYS || types_of(call) < 0;
    const int group = has_none ? -1 : group_of(node, ordinal);
    *why = ordinal < 0 ? TSR_WHY_DEVICE : tsr_cublas_mode() == TSR_MODE_ALWAYS ? TSR_WHY_ALWAYS : TSR_WHY_NO_LINE;
    return group;
}

tsr_why tsr_cublas_may(int node, int ordinal, const tsr_cublas_call *call)
{
    tsr_why why;
    const int group = group_for(node, ordinal, call, &why);
    return group >= 0 && tsr_measured_may(table, group, call->m, call->n, call->k) ? TSR_WHY_ANSWERED : why;
}

tsr_why tsr_cublas_verdict(int node, int ordinal, const tsr_cublas_call *call)
{
    tsr_why why;
    const int group = group_for(node, ordinal, call, &why);
    if (group < 0)
        return why;
    const tsr_measured_key key = key_of(call);
    switch (tsr_measured_look(table, group, &key)) {
    case TSR_MEASURED_FASTER:
        return TSR_WHY_ANSWERED;
    case TSR_MEASURED_SLOWER:
        return TSR_WHY_SLOWER;
    default:
        return TSR_WHY_NO_LINE;
    }
}
