/* The few things that libtessera_cublas asks the CUDA driver, which it finds at run time. Without a driver every call
 * here says so, and calls go on to cuBLAS. Any thread may call at any time. */
#ifndef TSR_CUBLAS_NVIDIA_H
#define TSR_CUBLAS_NVIDIA_H

#include <stddef.h>
#include <stdint.h>

#include "cublas/measured.h"

enum { TSR_NVIDIA_DEVICES_MAX = 64 };

/* 1 if there is a driver, with or without a GPU. */
int tsr_nvidia_is_here(void);

/* The GPU of the calling thread's current context, by ordinal; -1 if there is none. */
int tsr_nvidia_current(void);

/* Name of GPU `ordinal` as the table of measurements has it ("H200"); "" if the driver does not tell. */
void tsr_nvidia_chip(int ordinal, char out[TSR_MEASURED_CHIP_BYTES]);

/* 1 if the calling thread's current context is the primary one of GPU `ordinal`, in which Tessera runs. */
int tsr_nvidia_is_primary(int ordinal);

typedef struct tsr_nvidia_stream {
    int is_capturing;
    uint64_t id; /* of this stream alone as long as the process lives, where the driver tells; else its address */
} tsr_nvidia_stream;

/* 0 if the driver fails: then nothing is known about the stream. */
int tsr_nvidia_look_at(void *stream, tsr_nvidia_stream *out);

/* Lets the calling thread allocate memory and load kernels while streams of other threads capture, until it is called
 * again with what it returned. */
int tsr_nvidia_relax_capture(int mode);
enum { TSR_NVIDIA_RELAXED = 2 };

/* Device memory of the current context, which may hold anything; NULL on failure. It is freed in the primary context of
 * GPU `ordinal`, whatever is current, when all work on that GPU is done. */
void *tsr_nvidia_alloc(size_t bytes);
void tsr_nvidia_free(int ordinal, void *memory);

/* Enqueues zeros on `stream`; 0 on failure. */
int tsr_nvidia_zero(void *device_to, size_t bytes, void *stream);

#endif
