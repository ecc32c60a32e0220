/* The cases of the checker: what DESIGN calls "what every test run must show", as factors and their covers. */
#ifndef LAB_CASES_H
#define LAB_CASES_H

#include "lab/common/kernel_names.h"
#include "lab/common/random.h"

typedef enum lab_c_mode {
    LAB_C_IN_PLACE, /* D is C */
    LAB_C_APART,    /* another buffer, same leading dimension */
    LAB_C_OTHER_LD  /* another buffer and leading dimension */
} lab_c_mode;

typedef enum lab_batch_mode {
    LAB_BATCH_ONE,
    LAB_BATCH_TIGHT,      /* three problems, one right after the other */
    LAB_BATCH_GAPS,       /* three problems with gaps */
    LAB_BATCH_REPEAT_A,   /* two problems share A */
    LAB_BATCH_REPEAT_BC,  /* two problems share B, and C where it is apart */
    LAB_BATCH_INTERLEAVED /* two problems whose rows of D take turns */
} lab_batch_mode;

typedef enum lab_memory_mode {
    LAB_MEMORY_DEVICE,
    LAB_MEMORY_HOST,
    LAB_MEMORY_MIXED /* A and D on the device, B and C on the host */
} lab_memory_mode;

typedef struct lab_case {
    tsr_dtype dtype_a, dtype_b, dtype_d; /* C has D's */
    int64_t m, n, k, batch;
    int trans_a, trans_b;
    double alpha, beta;
    int64_t pad[4];    /* of A, B, C, D: leading dimension beyond the row length */
    int64_t offset[4]; /* elements that the pointer lies beyond 256-byte alignment */
    lab_c_mode c_mode;
    lab_batch_mode batch_mode;
    lab_fill_kind fill;
    lab_memory_mode memory;
    int declare_align;    /* the descriptor promises the alignment that the pointers have */
    int null_unread;      /* operands that must not be read are NULL instead of full of NaN */
    int prepared;         /* 1: A, 2: B, 3: both are prepared first, where the kernel has such a form */
    int epilogue;         /* tsr_epilogue */
    int scale_a, scale_b; /* 0: none; else the mode of A's and B's scales, and 1 */
    int scale_d;          /* 1: D of 8-bit floats has a scale, C one too, and the greatest magnitude is asked for */
    int overflows;        /* 1: TSR_OVERFLOW_SPECIAL */
    int zeros;            /* 1: A, 2: B, 3: both have zero points */
    int threads;          /* of the CPU; 0: the context's */
    int twice;            /* run again: the bits must be the same */
    char schedule[64];    /* that the plan must take, as after the "@" of a kernel's name; "": the library's choice */
    uint64_t seed;        /* of the data */
} lab_case;

typedef struct lab_case_list {
    lab_case *items;
    size_t count;
} lab_case_list;

/* All cases for one kernel. `small` leaves out sizes beyond a few tiles. */
tsr_status lab_cases_make(const lab_kernel *kernel, int full, int small, uint64_t seed, lab_case_list *out);
void lab_cases_free(lab_case_list *list);

/* Adds a copy of the case, with data of its own. TSR_OUT_OF_MEMORY. */
tsr_status lab_cases_add(lab_case_list *list, const lab_case *c);

/* 1 if the kernel has schedules to force. */
int lab_has_schedules(const lab_kernel *kernel);

/* Adds cases that force one schedule of each kind that the kernel has (tsr_schedule_kinds): all of them with every
 * layout, and with alpha 0 and beta 0 among the factors, if `full`; otherwise a pairwise cover. With K = 0, where K is
 * legal whole alone, two cases for each orientation. */
tsr_status lab_cases_add_schedules(const lab_kernel *kernel, int full, uint64_t seed, lab_case_list *out);

/* Gives each case types that the kernel takes, at random where there are several, and scales likewise; cases with a
 * result in s32 get whole factors. */
void lab_cases_set_types(const lab_kernel *kernel, uint64_t seed, lab_case_list *list);

/* Of each case its sizes and data: D = A B, nothing transposed, tight rows, one problem, each size once. */
void lab_cases_make_plain(lab_case_list *list);

/* The case in words: "nt 33x17x65 alpha 0.5 beta -1 ...", naming only what is not the simplest choice. */
void lab_case_text(const lab_case *c, char *out, size_t out_bytes);

#endif
