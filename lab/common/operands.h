/* Operands to measure with: sets of A, B and D that calls take in turn, so that each call finds what a cold cache or a
 * hot one would hold, as stated. Contents are normal random numbers, which repeat after some four million. */
#ifndef LAB_OPERANDS_H
#define LAB_OPERANDS_H

#include "tessera.h"

typedef struct lab_operand_set {
    void *a, *b, *d;         /* aligned to 256 bytes, in the memory that the descriptor names */
    void *bias;              /* likewise; where the descriptor has an epilogue, else NULL */
    void *scale_a, *scale_b; /* likewise; of sets with scales, as many as the descriptor's modes need, else NULL */
} lab_operand_set;

typedef struct lab_operands {
    tsr_context *context;
    void *block; /* all sets, one after the other */
    lab_operand_set *sets;
    size_t count;
    int64_t set_bytes; /* of one set */
    int on_device;     /* allocated with tsr_device_alloc */
    int cold;          /* 1: together the sets are at least `cold_bytes`, so no call finds its operands cached */
} lab_operands;

/* Makes sets until their total is at least `cold_bytes` (twice the last-level cache) and there are two; with cold_bytes
 * 0, one set that stays hot. Every set holds the same numbers, which `seed` decides, at addresses of its own. Fewer
 * sets than asked for, if memory runs short, but never less than one: `cold` then tells. */
tsr_status lab_operands_create(tsr_context *context, const tsr_gemm_desc *desc, int64_t cold_bytes, uint64_t seed,
                               lab_operands *out);
/* The same, with scales of A and B in each set: f32 that are random numbers too. */
tsr_status lab_operands_create_scaled(tsr_context *context, const tsr_gemm_desc *desc, int64_t cold_bytes,
                                      uint64_t seed, lab_operands *out);
/* Scales of an operand of one problem that has `outer` rows or columns (tsr_scale_mode, tessera.h). */
int64_t lab_scale_count(tsr_scale_mode mode, int64_t outer, int64_t k);
/* The same descriptor, with the alignment that such operands have where it promises none. */
tsr_gemm_desc lab_aligned_desc(const tsr_gemm_desc *desc);
void lab_operands_free(lab_operands *operands); /* a zeroed struct is fine */

#endif
