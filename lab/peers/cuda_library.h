/* NVIDIA's libraries, found at run time: where they are looked for, and the numbers of types that they share. */
#ifndef LAB_CUDA_LIBRARY_H
#define LAB_CUDA_LIBRARY_H

#include "tessera.h"

/* Types of elements and factors, as in library_types.h. */
enum {
    LAB_CUDA_R_32F = 0,
    LAB_CUDA_R_64F = 1,
    LAB_CUDA_R_16F = 2,
    LAB_CUDA_R_8I = 3,
    LAB_CUDA_R_8U = 8,
    LAB_CUDA_R_32I = 10,
    LAB_CUDA_R_16BF = 14,
    LAB_CUDA_R_8F_E4M3 = 28,
    LAB_CUDA_R_8F_E5M2 = 29
};

/* The number of a dtype, -1 if there is none. */
int lab_cuda_type(tsr_dtype dtype);

typedef struct lab_cuda_library {
    const char *title;    /* "cuBLASLt" */
    const char *variable; /* of the environment: the library or its folder */
    const char *names[2]; /* its files, the newest version first; NULL: there is no second */
} lab_cuda_library;

/* Looks at $VARIABLE (the library or its folder) and nowhere else if that is set; otherwise where the loader looks, in
 * the folders of CUDA toolkits and in the packages of the python3 on the PATH. TSR_NO_DEVICE with what was tried. */
tsr_status lab_cuda_library_open(const lab_cuda_library *wanted, void **out);

#endif
