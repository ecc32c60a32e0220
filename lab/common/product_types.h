/* Types and arithmetic of a product, as somebody asks for them: what is left out follows from A's type. */
#ifndef LAB_PRODUCT_TYPES_H
#define LAB_PRODUCT_TYPES_H

#include "tessera.h"

typedef struct lab_types {
    tsr_dtype a;
    tsr_dtype b;         /* TSR_DTYPE_NONE: A's */
    tsr_dtype d;         /* of C and D; TSR_DTYPE_NONE: that which suits A's, bf16 for 8-bit floats, say */
    tsr_compute compute; /* TSR_COMPUTE_DEFAULT: that of A's type */
} lab_types;

/* B's and D's type filled in; the arithmetic stays. */
lab_types lab_types_complete(const lab_types *types);

/* The descriptor's types and arithmetic. */
void lab_types_put(const lab_types *types, tsr_gemm_desc *desc);

/* TSR_OK if the library has such products, on whatever device; otherwise its message. */
tsr_status lab_types_check(const lab_types *types);
tsr_status lab_product_check(const tsr_gemm_desc *desc);

/* 1 if operands of these types are multiplied with each other. */
int lab_types_mix(tsr_dtype a, tsr_dtype b);

enum { LAB_TYPES_TEXT = 24 };

/* "bf16"; of two types both: "e4m3xe5m2". Returns out. */
const char *lab_types_pair(const lab_types *types, char out[LAB_TYPES_TEXT]);
/* With the arithmetic, as records name it: "bf16", "tf32", "e4m3-fast", "e4m3xe5m2-fast". Returns out. */
const char *lab_types_name(const lab_types *types, char out[LAB_TYPES_TEXT]);
/* The type of C and D where it is not the one that suits A's; otherwise "". */
void lab_types_out_name(const lab_types *types, char *out, size_t out_bytes);
/* The types of such names; 0 if there are none. */
int lab_types_named(const char *name, const char *out_name, lab_types *out);

#endif
