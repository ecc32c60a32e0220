/* What a Python's NumPy and SciPy do with libtessera_blas preloaded, and PyTorch with libtessera_cublas. */
#ifndef CLI_DOCTOR_PYTHON_H
#define CLI_DOCTOR_PYTHON_H

#include <stddef.h>
#include <stdint.h>

enum { CLI_DOCTOR_TEXT = 1024 };

/* One package under the Python. */
typedef struct cli_doctor_package {
    int present;
    char version[64], file[CLI_DOCTOR_TEXT];
    char blas[CLI_DOCTOR_TEXT];    /* BLAS libraries in the process besides ours, comma between; "" for none */
    int ended;                     /* Python ended, by an error or a signal, before all was told */
    int right;                     /* its products were right */
    char symbols[CLI_DOCTOR_TEXT]; /* ours that were called, comma between; "" for none */
    char trouble[CLI_DOCTOR_TEXT]; /* what kept it from being tried; "" for nothing */
    /* Of PyTorch alone. */
    int has_gpu;                   /* it sees one; without one it makes no product */
    char library[CLI_DOCTOR_TEXT]; /* the file of it that calls cuBLAS; "" for none */
    int calls, answered;           /* of cuBLAS, and those that Tessera computed */
    char whys[CLI_DOCTOR_TEXT];    /* why it did not compute the others, as the call log says, comma between */
    char chip[64], cublas[64];     /* the GPU ("" if the driver does not name it) and cuBLAS's version, as the table */
    int lines;                     /* names them, and its lines of both; -1: not known */
} cli_doctor_package;

/* Runs `python` with the library `preload` preloaded and the call log on; `package` is numpy, scipy or torch. 0 with a
 * message if it could not be run at all, or takes longer than so many seconds. */
int cli_doctor_python(const char *python, const char *preload, const char *package, int64_t seconds,
                      cli_doctor_package *out, char message[CLI_DOCTOR_TEXT]);

#endif
