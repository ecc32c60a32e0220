#include "lab/common/product_types.h"

#include <stdio.h>
#include <string.h>

#include "api/validate.h"
#include "core/dtype.h"

lab_types lab_types_complete(const lab_types *types)
{
    lab_types out = *types;
    if (out.b == TSR_DTYPE_NONE)
        out.b = out.a;
    if (out.d == TSR_DTYPE_NONE)
        out.d = tsr_dtype_result(out.a);
    return out;
}

void lab_types_put(const lab_types *types, tsr_gemm_desc *desc)
{
    const lab_types all = lab_types_complete(types);
    desc->a.dtype = all.a;
    desc->b.dtype = all.b;
    desc->c.dtype = desc->d.dtype = all.d;
    desc->compute = all.compute;
}

tsr_status lab_types_check(const lab_types *types)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(types->a, 1, 1, 1);
    lab_types_put(types, &desc);
    return lab_product_check(&desc);
}

tsr_status lab_product_check(const tsr_gemm_desc *desc)
{
    tsr_problem unused;
    return tsr_validate_desc(desc, &unused);
}

int lab_types_mix(tsr_dtype a, tsr_dtype b)
{
    return (tsr_element_of(a)->partners & TSR_TYPE_BIT(b)) != 0;
}

const char *lab_types_pair(const lab_types *types, char out[LAB_TYPES_TEXT])
{
    const lab_types all = lab_types_complete(types);
    snprintf(out, LAB_TYPES_TEXT, "%s%s%s", tsr_dtype_name(all.a), all.b != all.a ? "x" : "",
             all.b != all.a ? tsr_dtype_name(all.b) : "");
    return out;
}

const char *lab_types_name(const lab_types *types, char out[LAB_TYPES_TEXT])
{
    if (types->compute == TSR_COMPUTE_TF32) {
        snprintf(out, LAB_TYPES_TEXT, "tf32");
        return out;
    }
    lab_types_pair(types, out);
    if (types->compute == TSR_COMPUTE_FAST)
        strncat(out, "-fast", LAB_TYPES_TEXT - strlen(out) - 1);
    return out;
}

void lab_types_out_name(const lab_types *types, char *out, size_t out_bytes)
{
    const lab_types usual = {.a = types->a, .b = types->b, .compute = types->compute};
    const tsr_dtype d = lab_types_complete(types).d;
    snprintf(out, out_bytes, "%s", d == lab_types_complete(&usual).d ? "" : tsr_dtype_name(d));
}

/* With D's type by its name, "" for the one that suits A's. */
static int with_result(const char *out_name, lab_types *types)
{
    if (out_name[0] == '\0')
        return 1;
    types->d = tsr_dtype_named(out_name);
    return types->d != TSR_DTYPE_NONE && lab_types_check(types) == TSR_OK;
}

int lab_types_named(const char *name, const char *out_name, lab_types *out)
{
    char text[LAB_TYPES_TEXT];
    for (int a = TSR_DTYPE_NONE + 1; a < TSR_DTYPE_COUNT; a++)
        for (int b = TSR_DTYPE_NONE + 1; b < TSR_DTYPE_COUNT; b++)
            for (int compute = 0; compute < TSR_COMPUTE_COUNT; compute++) {
                *out = (lab_types){(tsr_dtype)a, b == a ? TSR_DTYPE_NONE : (tsr_dtype)b, TSR_DTYPE_NONE,
                                   (tsr_compute)compute};
                const int is_plain =
                    compute == TSR_COMPUTE_DEFAULT || compute == TSR_COMPUTE_TF32 || compute == TSR_COMPUTE_FAST;
                if (is_plain && lab_types_check(out) == TSR_OK && strcmp(lab_types_name(out, text), name) == 0)
                    return with_result(out_name, out);
            }
    return 0;
}
