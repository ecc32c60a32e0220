/* Choosing rows of the kernel table by name. */
#ifndef LAB_KERNELS_H
#define LAB_KERNELS_H

#include "tessera.h"

struct tsr_row;

typedef struct lab_kernel {
    tsr_kernel_info info;
    double bound_c;            /* the row's error constant */
    int bm, bn, bk;            /* tile of D and step along K; 0: the row has none */
    int align_elems[4];        /* of A, B, C, D, after padding if a plan can pad it; 1: any alignment */
    const struct tsr_row *row; /* what the library knows of it; NULL: none of its schedules is forced */
} lab_kernel;

typedef struct lab_kernel_list {
    lab_kernel *items;
    size_t count;
} lab_kernel_list;

/* The instances that `names` asks for and that `device` ("cpu", "cuda:0", "emu") could run: "all", or kernel names
 * ("tiled") and instance names ("tiled_f32_t16") with commas between. A name that does not exist, or exists only on
 * another kind of device, is TSR_INVALID_ARGUMENT; the message lists what there is. */
tsr_status lab_kernels_select(const char *names, const char *device, lab_kernel_list *out);
void lab_kernels_free(lab_kernel_list *list);

#endif
