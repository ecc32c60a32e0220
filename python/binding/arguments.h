/* Arguments of the module's functions, which take the same names. */
#ifndef BINDING_ARGUMENTS_H
#define BINDING_ARGUMENTS_H

#include "binding/product.h"

typedef enum argument {
    ARG_A,
    ARG_B,
    ARG_OUT,
    ARG_ALPHA,
    ARG_BETA,
    ARG_C,
    ARG_DEVICE,
    ARG_KERNEL,
    ARG_OUT_DTYPE,
    ARG_COMPUTE,
    ARG_THREADS,
    ARG_BATCH_INVARIANT,
    ARG_STREAM,
    ARG_DTYPE,
    ARG_OPERAND,
    ARG_ROWS,
    ARG_COUNT
} argument;

/* Borrowed; NULL: not given, or None. */
typedef struct arguments {
    PyObject *at[ARG_COUNT];
} arguments;

/* Up to `positional` of the function's arguments may come without their name, in the order of the enum. */
typedef struct signature {
    const char *function;
    int positional, required;
    unsigned accepted; /* bits of the enum */
} signature;

#define ACCEPT(argument) (1u << (argument))
#define ACCEPT_OPTIONS                                                                                             \
    (ACCEPT(ARG_DEVICE) | ACCEPT(ARG_KERNEL) | ACCEPT(ARG_OUT_DTYPE) | ACCEPT(ARG_COMPUTE) | ACCEPT(ARG_THREADS) | \
     ACCEPT(ARG_BATCH_INVARIANT))

/* All return 0, or -1 with a Python error. Keywords come as in METH_FASTCALL (names in a tuple, values behind the
 * positional ones) or as in a call of a type. */
int arguments_fast(arguments *out, const signature *s, PyObject *const *given, Py_ssize_t positional, PyObject *names);
int arguments_of_type(arguments *out, const signature *s, PyObject *given, PyObject *keywords);

int argument_double(const arguments *from, argument which, double *value);
/* A text, valid as long as the argument. */
int argument_text(const arguments *from, argument which, const char **value);
int argument_dtype(const arguments *from, argument which, tsr_dtype *value);
int argument_int(const arguments *from, argument which, int64_t *value);
int arguments_options(const arguments *from, product_options *out);

/* The request for an operand: shapes count as one where dtype= is given. */
view_request argument_request(const char *name, tsr_dtype dtype);

#endif
