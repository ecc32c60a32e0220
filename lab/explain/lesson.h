/* A lesson: what one CTA of a kernel does, phase by phase, taken from runs in the emulator.
 *
 * The kernel runs twice on the same addresses. The first time each element of A and B holds a number of its own, so
 * that whatever a thread keeps in shared memory or multiplies tells where it came from. The second time A and B hold
 * small numbers that are good to read. Both runs must make the same accesses; the sums are those of the second. */
#ifndef LAB_LESSON_H
#define LAB_LESSON_H

#include "lab/common/product_types.h"
#include "tessera.h"

typedef struct lab_lesson_request {
    const char *kernel; /* a kernel's name or an instance's */
    lab_types types;
    int64_t m, n, k; /* 0: small ones are chosen */
    int tile;        /* the instance whose tile of D is tile x tile; 0: the one that the library prefers */
    int trans_a, trans_b;
    int64_t block_x, block_y; /* tile of D: column, row */
} lab_lesson_request;

typedef enum lab_step_kind {
    LAB_STEP_LOAD,  /* global memory to registers */
    LAB_STEP_FILL,  /* registers to shared memory */
    LAB_STEP_COPY,  /* global to shared memory, cp.async */
    LAB_STEP_READ,  /* shared memory to registers */
    LAB_STEP_STORE, /* registers to global memory */
    LAB_STEP_WARP   /* the lanes of a warp do something together: a matrix instruction, say */
} lab_step_kind;

/* What is not an element of an operand. */
enum { LAB_NO_THREAD = -1, LAB_ZERO = -2, LAB_UNKNOWN = -3 };

/* One instruction, as all threads of the CTA execute it. */
typedef struct lab_step {
    lab_step_kind kind;
    int phase, stage;
    unsigned order; /* how far into the stage threads are, at most */
    unsigned place; /* index of lab_lesson.places */
    unsigned turn;  /* how often the threads' warps were there before, in this stage */
    char operand;   /* 'A' to 'D'; FILL and READ: whose elements; 'Z': zeros alone; 'M': of several; 0: not known */
    unsigned bytes; /* of a thread's access; 0: WARP */
    unsigned width; /* elements of it */
    unsigned active;
    int32_t *elements; /* threads x width: row * columns + column in the operand (op(A) is M x K, op(B) K x N) */
    int32_t *words;    /* threads: offset in shared memory in elements; NULL where there is none */
} lab_step;

/* A multiply-add. */
typedef struct lab_product {
    int32_t row, column, k; /* of D; row is -1 where a factor is a zero that pads a tile */
    float a, b, sum;        /* factors, and the sum with them */
    int32_t phase, stage;
    uint16_t thread;
    unsigned order; /* as a step's */
} lab_product;

/* Fragments that a warp multiplies on tensor cores: rows and columns of A, and columns of B; what lies beyond is zeros.
 */
typedef struct lab_warp_product {
    int warp;
    int row0, row1, k0, k1, column0, column1; /* row1 < row0, column1 < column0: zeros alone */
} lab_warp_product;

typedef struct lab_lesson {
    const char *kernel, *instance, *summary, *source;
    tsr_dtype dtype, dtype_b, dtype_d; /* of A, B and D */
    int64_t m, n, k;
    int trans_a, trans_b;
    int is_sparse_a; /* A is compressed 2:4: of each four elements along K the second and the fourth are kept */
    int bm, bn, bk;
    int threads_x, threads_y;
    int smem_bytes, elem_bytes, elem_bytes_d;
    int64_t blocks_x, blocks_y, block_x, block_y;
    int stages;      /* what lies between two barriers, where something does */
    int phases;      /* stages that belong together: data are brought, and then multiplied */
    lab_step *steps; /* by stage, then order */
    size_t step_count;
    lab_product *products; /* in the order of the run: stage by stage, thread by thread */
    size_t product_count;
    lab_warp_product *warp_products; /* of tensor cores, each warp's in its order; none where they are not told apart */
    size_t warp_product_count;
    int has_products; /* 0: the products are the tensor cores', and not followed */
    char (*places)[160];
    size_t place_count;
    float *a, *b; /* of the second run; op(A) M x K, op(B) K x N */
} lab_lesson;

/* TSR_UNSUPPORTED says why a kernel cannot be followed; TSR_INVALID_ARGUMENT names the request's fault. */
tsr_status lab_lesson_make(const lab_lesson_request *asked, lab_lesson *out);
void lab_lesson_free(lab_lesson *lesson); /* a zeroed struct is fine */

/* Elements from row to row of an operand as elements are counted here. */
int64_t lab_lesson_columns(const lab_lesson *lesson, char operand);
/* From one element of a wide access to the next: 2 in a compressed A, of which every second is kept, else 1. */
int lab_lesson_pitch(const lab_lesson *lesson, char operand);
/* 1 if the elements of a wide access lie below each other in op(X): a transposed operand. */
int lab_lesson_goes_down(const lab_lesson *lesson, char operand);

/* What the memory system makes of a step: each warp's access is one request. */
typedef struct lab_step_cost {
    unsigned requests;
    unsigned sectors, ideal_sectors;       /* of global memory; those that as many different elements need */
    unsigned wavefronts, ideal_wavefronts; /* of shared memory, as lab_warp_wavefronts counts them */
} lab_step_cost;

/* Of warp `warp`, or of all (-1). */
lab_step_cost lab_step_cost_of(const lab_lesson *lesson, const lab_step *step, int warp);

/* What was counted of one kind, over all phases. */
typedef struct lab_lesson_count {
    double elements;    /* of the block's threads together */
    double different;   /* of the operand: each element once; 0 where elements are no operand's */
    double of_warp;     /* different ones of one warp */
    double least, most; /* of one thread that works */
    double average;     /* of those */
    int bytes;          /* of an element; 0: products */
} lab_lesson_count;

typedef enum lab_lesson_kind {
    LAB_COUNT_LOADS_A, /* from global memory, copies by cp.async too */
    LAB_COUNT_LOADS_B,
    LAB_COUNT_FILLS, /* put into shared memory, padding zeros too */
    LAB_COUNT_READS, /* read from it */
    LAB_COUNT_PRODUCTS,
    LAB_COUNT_ZEROS, /* products with a padding zero */
    LAB_COUNTS
} lab_lesson_kind;

typedef struct lab_lesson_totals {
    int threads, working; /* a thread works if it loads, stores, or multiplies two elements */
    lab_lesson_count of[LAB_COUNTS];
} lab_lesson_totals;

/* Counts the whole lesson; `warp` is the one of `of_warp`. 0 if memory ran out. */
int lab_lesson_total(const lab_lesson *lesson, int warp, lab_lesson_totals *out);

#endif
