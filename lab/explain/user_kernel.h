/* A learner's own kernel: compiled for the emulator with the compiler and the kernel headers of this machine, and from
 * then on known to all of lab/ by its name, as those of the table are. */
#ifndef LAB_USER_KERNEL_H
#define LAB_USER_KERNEL_H

#include <limits.h>
#include <stddef.h>

#include "tessera.h"

enum { LAB_USER_DEFINES = 32 };

typedef struct lab_user_kernel {
    const char *path; /* of the source, as the user wrote it */
    int threads_x, threads_y;
    int bm, bn, bk; /* tile of D that a block makes, its step along K */
    int shared_bytes;
    int any_problem;                       /* 0: only D = A B with A and B as they are; 1: transposed ones, too */
    tsr_dtype dtype;                       /* of A, B, C and D */
    const char *defines[LAB_USER_DEFINES]; /* "TILE=16" */
    size_t define_count;
} lab_user_kernel;

/* The folder with the kernel headers: beside the command in a build tree, in share/tessera where it is installed. 0: it
 * is not there; then `path` is where it was looked for. */
int lab_user_kernel_data(char path[PATH_MAX]);

/* Compiles the kernel into the folder `work`. The compiler says on stderr what it has to say, with the user's file and
 * lines; then the status is TSR_INVALID_ARGUMENT. */
tsr_status lab_user_kernel_compile(const lab_user_kernel *kernel, const char *data, const char *work);

/* Loads what was compiled. The name under which all know it goes to *name. Once in a process. */
tsr_status lab_user_kernel_load(const lab_user_kernel *kernel, const char *work, const char **name);

/* 1 if the instance is the kernel that was loaded. */
int lab_is_user_kernel(const char *instance);

/* Where a signal that the calling process sends itself or gets from its parent finds the kernel: from now on SIGUSR1,
 * sent with the address of a lab_user_place in memory that both share (sigqueue), fills that and ends the process. */
typedef struct lab_user_place {
    char text[160]; /* "my_kernel.cu:12"; "": it was not in the kernel */
} lab_user_place;
void lab_user_kernel_tell_place(void);

#endif
