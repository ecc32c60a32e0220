/* The checker: one table-driven test for every config of the kernel table, on any device. Each case is a choice of
 * layout, factors, sizes, leading dimensions, alignment, batch, data, aliasing and memory. Around every operand lie
 * guard bytes; D starts poisoned; what must not be read is NaN. See lab/verify/cases.h for the factors. */
#ifndef LAB_VERIFY_H
#define LAB_VERIFY_H

#include <signal.h>

#include "lab/common/kernel_names.h"

/* Runs the problem; tsr_gemm unless a test puts a broken kernel here. */
typedef tsr_status lab_verify_run(void *user, tsr_context *context, const tsr_gemm_desc *desc,
                                  const tsr_run_args *args);

typedef struct lab_verify_options {
    int full; /* 0: a pairwise cover; 1: several covers, larger sizes, all factors of alpha and beta */
    uint64_t seed;
    int small;           /* 1: small sizes only (the emulator) */
    int only_schedules;  /* 1: only the cases that force a schedule (lab/verify/cases.h) */
    int plain;           /* 1: D = A B alone, nothing transposed, tight rows, one problem: their sizes, once each */
    int every;           /* takes each every-th case; 0 and 1: all */
    lab_verify_run *run; /* NULL: tsr_gemm */
    void *run_user;
    const volatile sig_atomic_t *stop; /* non-zero: finish the case and return; may be NULL */
    /* Called after each case, for progress; may be NULL. */
    void (*progress)(void *user, const char *instance, int64_t done, int64_t of);
    void *progress_user;
} lab_verify_options;

/* The element that came closest to its bound, or went furthest beyond it. */
typedef struct lab_verify_worst {
    double ratio; /* error / bound; <= 1 passes. 0 if no element was compared with a bound */
    int64_t batch, row, column;
    double value, reference, bound;
    char problem[200]; /* "nt 33x17x65 alpha 0.5 beta -1 lda +3 ..." */
} lab_verify_worst;

typedef struct lab_verify_result {
    lab_kernel kernel;
    int unscheduled; /* only cases that force a schedule were asked for, and the kernel has no schedules: none is run */
    int64_t planned; /* cases */
    int64_t cases;   /* run */
    int64_t forced;  /* of cases, those that forced a schedule */
    int64_t refused; /* not applicable: the library answered TSR_UNSUPPORTED; counted in neither cases nor failed */
    int64_t failed;  /* of cases */
    int64_t elements; /* compared */
    lab_verify_worst worst;
    double worst_c;          /* what bound_c would have to be: the worst error in units of u * size */
    char first_failure[640]; /* "" if none: the case, what is wrong, where, value, reference, bound */
    int64_t first_size[3];   /* of that case, M, N and K; */
    char first_fault[400];   /*   what is wrong, alone */
    char refusal[160];       /* why the first refused case was refused */
} lab_verify_result;

/* Checks one config on the device that `context` has open. TSR_OK even if cases failed: see the result. Errors mean
 * that the checker itself could not go on (memory). A config passes if failed == 0 and cases > 0. */
tsr_status lab_verify(tsr_context *context, const lab_kernel *kernel, const lab_verify_options *options,
                      lab_verify_result *result);

#endif
