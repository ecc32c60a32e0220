/* Element conversions on the host. Rounding is to nearest, ties to even; NaN stays NaN, infinities stay. */
#ifndef TSR_CORE_DTYPE_H
#define TSR_CORE_DTYPE_H

#include "core/op.h"
#include "tessera.h"

/* What is known of a dtype: a record of core/elements.def. */
typedef struct tsr_element {
    const char *text;
    size_t bytes;    /* as stored */
    int is_integer;  /* 1: values are whole, conversions saturate */
    int is_unsigned; /* 1: whole and never negative */
    double roundoff; /* unit roundoff, 2^-(stored fraction bits + 1); 0 for integers */
    int lowest;      /* exponent of the smallest normal number */
    double largest;  /* floats of 8 bits: the largest finite number, at which they saturate; 0: all others */
    unsigned tensor; /* the driver's type of tensor maps (CUtensorMapDataType), which moves bits and looks at none */
    tsr_peak peak;   /* of GPUs */
    /* As A: which types B may have, and C and D; 0: no operand of products. */
    unsigned partners, results;
    tsr_dtype result;                   /* C and D where nobody asks for a type */
    tsr_dtype bias;                     /* as D: what a bias has */
    tsr_compute compute, other_compute; /* what TSR_COMPUTE_DEFAULT stands for; what else may be asked for by name */
    /* The lowest compute capability, 89 for 8.9, whose units multiply it in each of these; 0: all do. */
    int least_arch, other_least_arch;
    unsigned scales;   /* TSR_SCALE_BIT of each mode that A or B may have */
    int sparse24_k;    /* elements along K of 16 lines, compressed 2:4, that have 32 words of metadata; 0: never is */
    uint32_t infinity; /* of floats that may: its bits, above which lie NaN's */
} tsr_element;

/* The dtype of that name; TSR_DTYPE_NONE: there is none. */
tsr_dtype tsr_dtype_named(const char *name);

/* Of TSR_DTYPE_NONE, to which no operation applies, where the number is no dtype. */
const tsr_element *tsr_element_of(tsr_dtype dtype);

float tsr_f16_to_f32(uint16_t bits);
uint16_t tsr_f32_to_f16(float value);
float tsr_bf16_to_f32(uint16_t bits);
uint16_t tsr_f32_to_bf16(float value);

/* Element `index` of an array of any dtype, as a double (exact), and back (rounded, saturated for integers). */
double tsr_load_element(tsr_dtype dtype, const void *array, int64_t index);
void tsr_store_element(tsr_dtype dtype, void *array, int64_t index, double value);

/* The same, but that what is beyond a type of 8-bit floats becomes its largest finite number, infinities too. */
void tsr_store_saturated(tsr_dtype dtype, void *array, int64_t index, double value);

/* 1 for floats of 8 bits; the largest finite number of such a type. */
int tsr_dtype_is_fp8(tsr_dtype dtype);
double tsr_dtype_largest_fp8(tsr_dtype dtype);
/* What the bias of a D of this dtype has: a D of 8-bit floats, bf16; others, their own. */
tsr_dtype tsr_dtype_bias(tsr_dtype dtype);

/* The unit roundoff of the dtype or of the compute type's accumulator: 2^-24 for f32. 0 for integers. */
double tsr_dtype_roundoff(tsr_dtype dtype);
double tsr_compute_roundoff(tsr_compute compute);

/* What TSR_COMPUTE_DEFAULT stands for with operands of this dtype, and the result that suits them where nobody asks for
 * one: bf16 for 8-bit floats, s32 for 8-bit integers, else the dtype itself. */
tsr_compute tsr_dtype_compute(tsr_dtype dtype);
tsr_dtype tsr_dtype_result(tsr_dtype dtype);

/* The lowest compute capability of GPUs, 89 for 8.9, whose units multiply the type in that arithmetic; 0: all do. */
int tsr_dtype_least_arch(tsr_dtype dtype, tsr_compute compute);

int tsr_dtype_is_integer(tsr_dtype dtype);
/* Of the smallest normal number: -126 for f32. */
int tsr_dtype_lowest_exponent(tsr_dtype dtype);
/* The driver's CUtensorMapDataType. */
unsigned tsr_dtype_tensor_type(tsr_dtype dtype);

#endif
