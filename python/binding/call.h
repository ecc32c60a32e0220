/* One call of matmul, Plan or route: operands taken and checked, D found or made, the product run. */
#ifndef BINDING_CALL_H
#define BINDING_CALL_H

#include "binding/arguments.h"

typedef struct call {
    binding_state *state;
    view a, b, c, d;
    int has_c;
    int a_is_vector, b_is_vector; /* then its view has a dimension more, of 1, and D's view too */
    int ndim;                     /* of D as the caller sees it */
    int64_t shape[MOST_DIMS];
    tsr_dtype out_dtype;
    PyObject *out; /* owned: the caller's, or a new one */
    int out_given;
    double alpha, beta;
    int has_stream;
    intptr_t stream;    /* of GPU operands */
    const char *device; /* NULL: the library's default context */
    char device_name[DEVICE_NAME_BYTES];
    tsr_context *context;
    product_options options;
    product product;
    void *copies[OPERANDS];         /* operands in host memory whose layout no descriptor has */
    int is_copied_on_gpu[OPERANDS]; /* their own framework made a copy */
} call;

/* All return 0, or -1 with a Python error; after call_begin, call_end comes last in either case. */
int call_begin(call *c, binding_state *state, const arguments *from);
void call_end(call *c);

/* D as out= gives it, a new one, or, for plans and routes, only its view: tight rows where A and B lie; out= may be its
 * shape. */
int call_output(call *c);
int call_output_shape(call *c);

/* Opens the device that the operands and device= name. */
int call_open(call *c);

/* The descriptor of operands as they lie; an operand that would need a copy is an error. */
int call_product(call *c);

/* The product, with copies where a layout in host memory demands them. */
int call_run(call *c);

/* 1 if `p` is several products, one of which may write what a later one reads; `share` compares two operands. */
int call_overlaps(const call *c, const product *p, int (*share)(const view *, const view *));

/* A plan of the call's product, without the GIL: the first of a kernel loads it. */
tsr_status call_make_plan(const call *c, tsr_plan **plan);

/* One run of a plan made from `p`, without the GIL where that takes longer than giving it up. */
tsr_status call_run_plan(call *c, const product *p, tsr_plan *plan);

/* What the caller gets: a new reference, NULL with a Python error. */
PyObject *call_result(call *c);

/* Raises a ValueError or TypeError that begins with both operands' shapes and dtypes. Returns -1. */
int call_refuse(const call *c, PyObject *type, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Raises the library's last error with both operands. Returns -1. */
int call_raise(const call *c, tsr_status status);

#endif
