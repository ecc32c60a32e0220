/* One operand as Python gives it: where it lies, how it is stored, who keeps it alive. */
#ifndef BINDING_VIEW_H
#define BINDING_VIEW_H

#include "binding/state.h"

enum { MOST_DIMS = 16 };

typedef struct view {
    const char *name; /* "a": for messages */
    PyObject *object; /* borrowed from the caller */
    char *data;       /* NULL: the shape stands alone (Plan, route), or the operand is prepared */
    tsr_dtype dtype;  /* TSR_DTYPE_NONE: none of ours */
    int ndim;
    int64_t shape[MOST_DIMS];
    int64_t strides[MOST_DIMS]; /* bytes */
    int added;                  /* a dimension of 1 that makes a vector a matrix; -1: none */
    int gpu;                    /* ordinal of the GPU in whose memory it lies; -1: host memory */
    int read_only;
    const prepared_object *prepared; /* instead of data */
    /* What keeps `data` alive. */
    int has_buffer;
    Py_buffer buffer;
    PyObject *capsule;
} view;

/* What matmul takes operands from. `dtype` is that of shapes, which are tuples of int; TSR_DTYPE_NONE refuses those.
 * `stream`, of GPU memory, is read and written: NULL becomes the stream on which the operand's framework works.
 * Returns 0, or -1 with a Python error. Release it in either case. */
typedef struct view_request {
    const char *name;
    tsr_dtype dtype;
    int writable;
    int has_stream;
    intptr_t stream;
} view_request;

int view_take(binding_state *state, PyObject *object, view_request *request, view *out);
void view_release(view *v);

/* A view without data of a tight row-major matrix stack. */
void view_shape(view *out, const char *name, tsr_dtype dtype, int ndim, const int64_t *shape);

/* "(3, 4)" into text; returns its length, or what it would be. `left_out`: a dimension that is not told; -1: none. */
size_t shape_describe(int ndim, const int64_t *shape, int left_out, char *text, size_t text_bytes);

/* "a (3, 4) float32" into text. */
void view_describe(const view *v, char *text, size_t text_bytes);

int64_t view_element_bytes(const view *v);
int64_t view_elements(const view *v);

/* 1 if every element lies at a multiple of its size. */
int view_is_aligned(const view *v);
/* 1 if a tight array of that shape has at most 2^63 - 1 bytes. */
int shape_fits(int ndim, const int64_t *shape, tsr_dtype dtype);

/* Copies all elements of `from`, repeated where its dimensions are 1 or missing, into `to`; both in host memory, of one
 * dtype. */
void view_copy(const view *to, const view *from);

/* 1 if the first to last bytes of both intersect. */
int views_meet(const view *p, const view *q);

/* 0 if both certainly share no element: they do not meet, or interleave evenly, as the columns of one matrix do. */
int views_share(const view *p, const view *q);

/* 1 if both are the same elements in the same order. */
int views_are_equal(const view *p, const view *q);

#endif
