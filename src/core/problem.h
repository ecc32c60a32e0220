/* A validated GEMM problem: what a descriptor says, with every default filled in. */
#ifndef TSR_CORE_PROBLEM_H
#define TSR_CORE_PROBLEM_H

#include "core/gemm_args.h"
#include "tessera.h"

/* Longest name of a kernel, with the schedule that may stand behind an "@". */
#define TSR_KERNEL_NAME_BYTES 119

/* Among a problem's flags, beside the descriptor's: nobody said that the problems of the batch share C, whose stride
 * is 0. Runs that read C are refused. */
#define TSR_C_STRIDE_FORGOTTEN (1u << 31)

typedef struct tsr_problem {
    long long m, n, k, batch;
    tsr_operand a, b, c, d; /* ld, align_bytes resolved; memory as given */
    tsr_compute compute;    /* never DEFAULT */
    unsigned flags;
    int threads; /* 0: the device's */
    size_t workspace_limit_bytes;
    const char *kernel; /* only valid during planning */
} tsr_problem;

/* Rows and columns of an operand as stored: A is M x K, or K x M when transposed. `which` is one of "abcd". */
void tsr_stored_shape(const tsr_problem *problem, char which, long long *rows, long long *columns);

/* The operand "abcd" of a problem. */
static inline const tsr_operand *tsr_problem_operand(const tsr_problem *problem, char which)
{
    return which == 'a' ? &problem->a : which == 'b' ? &problem->b : which == 'c' ? &problem->c : &problem->d;
}

/* 1 if A, B, C or D lies in host memory. */
int tsr_any_operand_on_host(const tsr_problem *problem);

/* Bytes from the first to the last element of one operand, all batches. Validation made sure that it fits. */
long long tsr_operand_bytes(const tsr_problem *problem, char which);

#endif
