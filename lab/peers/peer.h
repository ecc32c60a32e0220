/* Libraries to compare with: opened by name when they are there, never linked. A peer is used by one thread at a time.
 */
#ifndef LAB_PEER_H
#define LAB_PEER_H

#include "tessera.h"

#define LAB_PEER_CHOICES_MAX 16

/* One library. Every status other than TSR_OK comes with a message in tsr_last_error(). */
typedef struct lab_peer_ops {
    const char *name; /* as --vs spells it */
    int is_cuda;      /* operands are in GPU memory; otherwise in host memory */
    /* Finds and starts the library for device `ordinal` (CPU: with `threads` threads, 0: all that the process may use).
     * TSR_NO_DEVICE or TSR_UNSUPPORTED, with the reason, when it is not there: that is news, not a failure. */
    tsr_status (*open)(int ordinal, int threads, void **state);
    void (*close)(void *state);
    /* One line, such as "OpenBLAS 0.3.21 SkylakeX". */
    void (*version)(void *state, char *out, size_t out_bytes);
    /* Readies the problem: dtypes, layouts, leading dimensions, true alignments (align_bytes), batch and compute type
     * are those of `desc`, which is fully valid for tsr_plan_create; a library of a GPU has its epilogue too, those of
     * the CPU are not asked for one. *choices gets the number of algorithms that run can be told to use, at least 1 and
     * at most LAB_PEER_CHOICES_MAX; choice 0 is what a plain user of the library gets. All allocation and searching
     * happens here. With TSR_SPARSE24_A or _B in the flags a library that multiplies compressed operands brings that
     * one itself, the numbers of lab_pruned, and run does not read it; others multiply the whole operand that run
     * brings. TSR_UNSUPPORTED when the library cannot compute this. */
    tsr_status (*prepare)(void *state, const tsr_gemm_desc *desc, void **problem, int *choices);
    void (*release)(void *problem);
    /* Computes with choice `choice`; reads a, b, c, d, bias, alpha, beta (values) and stream of `args`. GPU: enqueues
     * only.
     */
    tsr_status (*run)(void *problem, int choice, const tsr_run_args *args);
    /* The same as prepare for operands with scales of the descriptor's modes: run reads scale_a and scale_b too. NULL:
     * the library is not asked for scales. */
    tsr_status (*prepare_scaled)(void *state, const tsr_gemm_desc *desc, void **problem, int *choices);
} lab_peer_ops;

/* All peers in the order of the help text; NULL past the last. */
const lab_peer_ops *lab_peer_at(size_t index);

extern const lab_peer_ops lab_peer_cublas, lab_peer_cusparselt, lab_peer_openblas, lab_peer_blis, lab_peer_onednn,
    lab_peer_memory;

#endif
