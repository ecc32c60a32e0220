/* The CUDA driver as far as libtessera_cublas asks it: libcuda.so.1 without a GPU. */
#ifndef TESTS_CUBLAS_FAKE_DRIVER_H
#define TESTS_CUBLAS_FAKE_DRIVER_H

#include <stddef.h>

typedef struct fake_driver {
    const char *chip; /* of every device */
    int ordinal;      /* of the current device; -1: no context is current */
    int is_foreign;   /* the current context is not the device's primary one */
    int capturing;    /* what every stream does; -1: the driver fails */
    int spoilt;       /* calls that a capture does not survive */
    int first_number; /* of device 0: numbers need not be ordinals */
    int allocations;  /* calls that asked for memory */
    size_t allocated_bytes;
    int frees;
    int freed_elsewhere; /* of them, without the context that the memory was of */
    int has_no_memory;
    int cannot_zero;
    int zeroed; /* calls that zeroed memory */
    size_t zeroed_bytes;
    void *zeroed_on; /* the stream of the last one */
    int mode;        /* for captures, of every thread */
} fake_driver;

fake_driver *fake_driver_state(void);

#endif
