/* One case of the checker on one device: its operands, its call, and what came of it. */
#ifndef LAB_TRIAL_H
#define LAB_TRIAL_H

#include "lab/verify/cases.h"
#include "lab/verify/guarded.h"
#include "lab/verify/reference.h"
#include "lab/verify/verify.h"

typedef struct lab_trial {
    const lab_case *c;
    const lab_kernel *kernel;
    tsr_context *context;
    char name[128]; /* of the kernel, with the case's schedule */
    tsr_gemm_desc desc;
    tsr_run_args args;
    lab_guarded a, b, own_c, d;  /* own_c: only where C is apart from D */
    lab_guarded bias;            /* only with a form */
    lab_guarded scales[4], amax; /* of A, B, C and D; each only where the case has it */
    lab_guarded zeros[2];        /* of A and B, likewise */
    int reads_ab, reads_c;
    char sparse; /* 'a' or 'b': that operand keeps the 2:4 pattern and is compressed; 0: neither */
} lab_trial;

/* Makes the operands, fills them, puts them in place, and writes the descriptor and arguments. */
tsr_status lab_trial_make(tsr_context *context, const lab_kernel *kernel, const lab_case *c, lab_trial *out);
void lab_trial_free(lab_trial *trial);

/* Runs it (twice if the case says so) and fetches D. `run` as in lab/verify/verify.h. Returns the call's status; the
 * text in `wrong`, if not "", says what is wrong although it was TSR_OK. */
tsr_status lab_trial_run(lab_trial *trial, lab_verify_run *run, void *user, char *wrong, size_t wrong_bytes);

/* The scales of operand 0..3 (A, B, C, D) in a problem of the batch, in host memory; NULL: none. */
const float *lab_trial_scales(const lab_trial *trial, int number, int64_t batch);
/* Those of A and B with their layout and zero points. */
lab_scales lab_trial_operand_scales(const lab_trial *trial, int number, int64_t batch);

/* The operand that the product's C is read from. */
const lab_guarded *lab_trial_c(const lab_trial *trial);

/* 1 if inputs and outputs are whole numbers whose sums round nowhere. */
int lab_trial_exact(const lab_trial *trial);

#endif
