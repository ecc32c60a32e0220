/* A program that calls cuBLAS, to be run with and without libtessera_cublas before it. What its files share. */
#ifndef TESTS_CUBLAS_CLIENT_H
#define TESTS_CUBLAS_CLIENT_H

#include <stdio.h>

/* Calls every product with arguments that point nowhere, and tells `seen` after each; 1 if that was always content. */
int vendor_calls(void *handle, int (*seen)(const char *symbol, int status));

/* Pointers that are told apart and never followed point in here. */
extern char client_places[];

extern int failures;
#define CHECK(condition, ...)                               \
    do {                                                    \
        if (!(condition)) {                                 \
            failures++;                                     \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
            fprintf(stderr, __VA_ARGS__);                   \
            fprintf(stderr, " (%s)\n", #condition);         \
        }                                                   \
    } while (0)

#endif
