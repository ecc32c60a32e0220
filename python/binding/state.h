/* What the module keeps, and the errors that its functions raise. All of it is guarded by the GIL. */
#ifndef BINDING_STATE_H
#define BINDING_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdint.h>

#include "tessera.h"

enum { MOST_CONTEXTS = 32, DEVICE_NAME_BYTES = 16 };

/* Work of one stream runs in order, so its products can share a workspace. */
typedef struct workspace {
    struct workspace *next;
    tsr_context *context;
    void *stream;
    void *memory;
    size_t bytes;
    pthread_mutex_t lock; /* one product at a time: its launches must not mix with another's */
} workspace;

typedef struct binding_state {
    PyObject *error;   /* tessera.Error */
    PyObject *helpers; /* tessera._arrays: what other array libraries are asked for */
    PyObject *numpy_empty, *numpy_array;
    PyObject *dtypes[TSR_DTYPE_COUNT]; /* NumPy's; NULL where there is none */
    PyObject *dlpack, *dlpack_device;  /* method names */
    PyTypeObject *plan_type, *prepared_type;
    struct {
        char device[DEVICE_NAME_BYTES];
        tsr_context *context;
        int is_cpu; /* a small product runs on the CPU */
    } contexts[MOST_CONTEXTS];
    int context_count;
    int thread_limit; /* of the last set_threads(); 0: none */
    workspace *workspaces;
} binding_state;

/* An operand packed by tsr_prepare; a type of Python. */
typedef struct prepared_object {
    PyObject ob_base;
    tsr_prepared *prepared;
    tsr_context *context;
    char operand; /* 'a' or 'b' */
    tsr_dtype dtype;
    tsr_trans trans;
    int64_t ld;
    int64_t shape[2]; /* as the product reads it: K x N of b */
    char device[DEVICE_NAME_BYTES];
} prepared_object;

/* The context of a device, opened once; NULL: the library's default context. NULL is returned with a Python error. */
tsr_context *binding_context(binding_state *state, const char *device);

/* 1 if a small product runs on the CPU in this context, unless its kernel is named. */
int binding_is_cpu(const binding_state *state, const tsr_context *context);

/* Device memory of at least `bytes` for products on a stream; NULL with a Python error. */
workspace *binding_workspace(binding_state *state, tsr_context *context, void *stream, size_t bytes);

/* NumPy's names of dtypes: "float32". */
const char *binding_dtype_name(tsr_dtype dtype);

/* A dtype from what callers write: "f32", "float32", numpy.float32, numpy.dtype("float32"), torch.float32.
 * TSR_DTYPE_NONE if it is none of ours, with a Python error where the object itself raised one. */
tsr_dtype binding_dtype(PyObject *object);

/* The result's dtype where the caller names none: that of the operands, which 8 bits would be too few for. */
tsr_dtype binding_result_dtype(tsr_dtype operands);

/* Raises what fits a failed call: ValueError, NotImplementedError, MemoryError, tessera.Error. Returns -1. */
int binding_raise(binding_state *state, tsr_status status, const char *what);

#endif
