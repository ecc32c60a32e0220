/* How cpu-tiled multiplies a product on this machine: the algorithm that it chooses, and the blocks that it cuts. */
#ifndef LAB_CPU_LESSON_H
#define LAB_CPU_LESSON_H

#include "tessera.h"

typedef struct lab_cpu_lesson {
    const char *kernel; /* as it was asked for */
    tsr_dtype dtype;    /* of A and B */
    int64_t m, n, k;
    /* A block of D and steps of K whose operands are widened to f32 at a time; what follows is then told of that
     * product. 0: elements are multiplied as they are. */
    int64_t widened_m, widened_n, widened_k;
    tsr_dtype computed; /* f32 where they are widened, else `dtype` */
    int trans_a, trans_b, elem_bytes, threads;
    const char *isa, *algorithm, *source;
    char why[400];
    int k_parts;       /* of K whose sums are added in the end; 1: all of K is summed at once */
    int mr, nr, lanes; /* register tile; elements of a vector */
    int64_t l1_bytes, l2_bytes, l3_bytes;
    int is_blocked; /* what follows is set */
    int64_t kc, mc, region_m, region_n, grid_m, grid_n;
    int tasks_at_once, a_in_place, past_cache;
    const char *b_packing;
    size_t packed_bytes;
} lab_cpu_lesson;

/* TSR_OK if a kernel of the CPU, by name or instance, multiplies an A of the type. */
tsr_status lab_cpu_kernel_check(const char *kernel, tsr_dtype dtype);

tsr_status lab_cpu_lesson_make(const char *kernel, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int trans_a,
                               int trans_b, lab_cpu_lesson *out);

#endif
