/* A validated GEMM problem: what a descriptor says, with every default filled in. */
#ifndef TSR_CORE_PROBLEM_H
#define TSR_CORE_PROBLEM_H

#include "core/gemm_args.h"
#include "core/op.h"
#include "tessera.h"

/* Longest name of a kernel, with the schedule that may stand behind an "@". */
#define TSR_KERNEL_NAME_BYTES 119

/* Among a problem's flags, beside the descriptor's: nobody said that the problems of the batch share C, whose stride
 * is 0. Runs that read C are refused. */
#define TSR_C_STRIDE_FORGOTTEN (1u << 31)

/* How an operand lies in memory; its type is in the operation. */
typedef struct tsr_matrix {
    tsr_trans trans;
    tsr_memory memory;
    long long align_bytes, ld, batch_stride;
} tsr_matrix;

/* Without padding, as the plan cache compares bytes. */
typedef struct tsr_problem {
    tsr_op op;
    int threads;    /* 0: the device's */
    uint64_t flags; /* but for those of compressed operands, which the operation has */
    long long m, n, k, batch;
    tsr_matrix a, b, c, d; /* ld, align_bytes resolved; memory as given */
    size_t workspace_limit_bytes;
    const char *kernel; /* only valid during planning */
} tsr_problem;

/* Rows and columns of an operand as stored: A is M x K, or K x M when transposed. `which` is one of "abcd". */
void tsr_stored_shape(const tsr_problem *problem, char which, long long *rows, long long *columns);

/* The operand "abcd" of a problem. */
static inline const tsr_matrix *tsr_problem_operand(const tsr_problem *problem, char which)
{
    return which == 'a' ? &problem->a : which == 'b' ? &problem->b : which == 'c' ? &problem->c : &problem->d;
}

/* Gives the problem an operand "abcd" as a descriptor has it. */
void tsr_problem_set_operand(tsr_problem *problem, char which, const tsr_operand *operand);

/* Bytes of an element of it. */
static inline long long tsr_problem_element(const tsr_problem *problem, char which)
{
    return (long long)tsr_dtype_bytes(tsr_op_dtype(&problem->op, which));
}

/* How the scales of operand 'a' or 'b' lie. */
static inline tsr_scale_mode tsr_problem_scales(const tsr_problem *problem, char which)
{
    return which == 'a' ? problem->op.scale_a : problem->op.scale_b;
}

/* 1 if A, B, C or D lies in host memory. */
int tsr_any_operand_on_host(const tsr_problem *problem);

/* Bytes of the bias, which has a value for each column; 0 without a form. */
long long tsr_bias_bytes(const tsr_problem *problem);

/* Scales of operand 'a' or 'b' in all problems; 0: more than can be counted. */
long long tsr_scale_count(const tsr_problem *problem, char which);
/* The same of one problem, and the distance from one 128 steps of K, or one 128 rows or columns, to the next. */
long long tsr_scale_count_of_one(const tsr_problem *problem, char which);
long long tsr_scale_stride(const tsr_problem *problem, char which);

/* Bytes from the first to the last element of one operand, all batches. Validation made sure that it fits. */
long long tsr_operand_bytes(const tsr_problem *problem, char which);

#endif
