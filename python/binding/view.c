#include "binding/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding/dlpack.h"

int64_t view_element_bytes(const view *v)
{
    return (int64_t)tsr_dtype_bytes(v->dtype);
}

int64_t view_elements(const view *v)
{
    uint64_t elements = 1;
    for (int i = 0; i < v->ndim; i++)
        elements *= (uint64_t)v->shape[i];
    return (int64_t)elements;
}

int shape_fits(int ndim, const int64_t *shape, tsr_dtype dtype)
{
    int64_t bytes = (int64_t)tsr_dtype_bytes(dtype);
    for (int i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(bytes, shape[i] > 0 ? shape[i] : 1, &bytes))
            return 0;
    return 1;
}

int view_is_aligned(const view *v)
{
    uintptr_t all = (uintptr_t)v->data;
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] > 1)
            all |= (uintptr_t)v->strides[i];
    return (all & ((uintptr_t)view_element_bytes(v) - 1)) == 0;
}

size_t shape_describe(int ndim, const int64_t *shape, int left_out, char *text, size_t text_bytes)
{
    size_t used = (size_t)snprintf(text, text_bytes, "(");
    int shown_dims = 0;
    for (int i = 0; i < ndim && used < text_bytes; i++)
        if (i != left_out)
            used +=
                (size_t)snprintf(text + used, text_bytes - used, shown_dims++ ? ", %lld" : "%lld", (long long)shape[i]);
    if (used < text_bytes)
        used += (size_t)snprintf(text + used, text_bytes - used, shown_dims == 1 ? ",)" : ")");
    return used;
}

void view_describe(const view *v, char *text, size_t text_bytes)
{
    size_t used = (size_t)snprintf(text, text_bytes, "%s ", v->name);
    if (used < text_bytes)
        used += shape_describe(v->ndim, v->shape, v->added, text + used, text_bytes - used);
    const char *dtype = v->dtype != TSR_DTYPE_NONE ? binding_dtype_name(v->dtype) : NULL;
    PyObject *named = dtype ? NULL : PyObject_GetAttrString(v->object, "dtype");
    PyObject *shown = named ? PyObject_Str(named) : NULL;
    if (shown)
        dtype = PyUnicode_AsUTF8AndSize(shown, NULL);
    PyErr_Clear();
    if (used < text_bytes)
        snprintf(text + used, text_bytes - used, " %s", dtype ? dtype : "of another dtype");
    Py_XDECREF(named);
    Py_XDECREF(shown);
}

static int too_many_dims(const char *name)
{
    PyErr_Format(PyExc_ValueError, "%s has more than %d dimensions", name, MOST_DIMS);
    return -1;
}

/* Strides of tight rows. */
static void make_tight(view *out)
{
    uint64_t stride = (uint64_t)view_element_bytes(out);
    for (int i = out->ndim - 1; i >= 0; i--) {
        out->strides[i] = (int64_t)stride;
        stride *= (uint64_t)out->shape[i];
    }
}

void view_shape(view *out, const char *name, tsr_dtype dtype, int ndim, const int64_t *shape)
{
    out->name = name;
    out->object = NULL;
    out->data = NULL;
    out->dtype = dtype;
    out->ndim = ndim;
    memcpy(out->shape, shape, (size_t)ndim * sizeof *shape);
    out->added = -1;
    make_tight(out);
    out->gpu = -1;
    out->read_only = 0;
    out->prepared = NULL;
    out->has_buffer = 0;
    out->capsule = NULL;
}

/* ---- the buffer protocol: NumPy, memoryview, array.array, JAX in host memory ------------------------------------- */

/* Formats of the struct module, in this machine's byte order. */
static tsr_dtype dtype_of_format(const char *format, Py_ssize_t itemsize)
{
    if (!format)
        return TSR_U8;
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (format[0] && format[1])
        return TSR_DTYPE_NONE;
    switch (*format) {
    case 'f':
        return TSR_F32;
    case 'd':
        return TSR_F64;
    case 'e':
        return TSR_F16;
    case 'b':
        return TSR_S8;
    case 'B':
        return TSR_U8;
    case 'i':
    case 'l':
        return itemsize == 4 ? TSR_S32 : TSR_DTYPE_NONE;
    default:
        return TSR_DTYPE_NONE;
    }
}

static int view_of_buffer(view *out, view_request *request)
{
    const Py_buffer *b = &out->buffer;
    if (b->ndim > MOST_DIMS)
        return too_many_dims(request->name);
    out->data = b->buf;
    out->dtype = dtype_of_format(b->format, b->itemsize);
    out->ndim = b->ndim;
    int64_t tight = b->itemsize; /* ctypes gives no strides, even if they are asked for */
    for (int i = b->ndim - 1; i >= 0; i--) {
        out->shape[i] = b->shape[i];
        out->strides[i] = b->strides ? b->strides[i] : tight;
        tight *= b->shape[i];
    }
    out->read_only = b->readonly;
    return 0;
}

/* NumPy exports no buffer of dtypes that it does not know itself (ml_dtypes' bfloat16): their bytes are taken as
 * integers of the same size. */
static int take_foreign_dtype(PyObject *object, view_request *request, view *out)
{
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    const tsr_dtype found = dtype ? binding_dtype(dtype) : TSR_DTYPE_NONE;
    Py_XDECREF(dtype);
    PyErr_Clear();
    if (found != TSR_BF16 && found != TSR_E4M3 && found != TSR_E5M2)
        return -1;
    PyObject *integers = PyObject_CallMethod(object, "view", "s", found == TSR_BF16 ? "u2" : "u1");
    if (!integers)
        return -1;
    const int status = PyObject_GetBuffer(integers, &out->buffer, PyBUF_RECORDS_RO);
    Py_DECREF(integers);
    if (status != 0)
        return -1;
    out->has_buffer = 1;
    if (view_of_buffer(out, request) != 0)
        return -1;
    out->dtype = found;
    return 0;
}

/* ---- DLPack: torch, CuPy, JAX --------------------------------------------------------------------------------------
 */

static tsr_dtype dtype_of_dlpack(const dlpack_tensor *t)
{
    static const struct {
        uint8_t code, bits;
        tsr_dtype dtype;
    } known[] = {{DLPACK_FLOAT, 64, TSR_F64},   {DLPACK_FLOAT, 32, TSR_F32},  {DLPACK_FLOAT, 16, TSR_F16},
                 {DLPACK_BFLOAT, 16, TSR_BF16}, {DLPACK_E4M3FN, 8, TSR_E4M3}, {DLPACK_E5M2, 8, TSR_E5M2},
                 {DLPACK_INT, 8, TSR_S8},       {DLPACK_UINT, 8, TSR_U8},     {DLPACK_INT, 32, TSR_S32}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (t->dtype.code == known[i].code && t->dtype.bits == known[i].bits && t->dtype.lanes == 1)
            return known[i].dtype;
    return TSR_DTYPE_NONE;
}

static int view_of_tensor(view *out, const view_request *request, const dlpack_tensor *t)
{
    if (t->ndim > MOST_DIMS)
        return too_many_dims(request->name);
    out->data = (char *)t->data + t->byte_offset;
    out->dtype = dtype_of_dlpack(t);
    out->ndim = t->ndim;
    memcpy(out->shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
    make_tight(out);
    for (int i = 0; t->strides && i < t->ndim; i++)
        out->strides[i] = t->strides[i] * view_element_bytes(out);
    return 0;
}

static int view_of_capsule(view *out, const view_request *request)
{
    if (PyCapsule_IsValid(out->capsule, "dltensor_versioned")) {
        const dlpack_versioned *managed = PyCapsule_GetPointer(out->capsule, "dltensor_versioned");
        if (managed->major > 1) {
            PyErr_Format(PyExc_BufferError, "%s comes by DLPack %u.%u; this package knows versions 0 and 1",
                         request->name, managed->major, managed->minor);
            return -1;
        }
        out->read_only = (managed->flags & DLPACK_READ_ONLY) != 0;
        if (request->writable && managed->flags & DLPACK_IS_COPIED) {
            PyErr_Format(PyExc_ValueError, "%s comes by DLPack as a copy, so that no result would reach it",
                         request->name);
            return -1;
        }
        return view_of_tensor(out, request, &managed->tensor);
    }
    if (!PyCapsule_IsValid(out->capsule, "dltensor")) {
        PyErr_Format(PyExc_TypeError, "%s: __dlpack__ returned no DLPack capsule, or a used one", request->name);
        return -1;
    }
    const dlpack_managed *managed = PyCapsule_GetPointer(out->capsule, "dltensor");
    return view_of_tensor(out, request, &managed->tensor);
}

/* Asks for version 1; older exporters take no argument of that name. */
static PyObject *call_dlpack(PyObject *method, PyObject *stream)
{
    PyObject *none = PyTuple_New(0), *keywords = PyDict_New(), *version = Py_BuildValue("(ii)", 1, 0), *capsule = NULL;
    if (none && keywords && version && (!stream || PyDict_SetItemString(keywords, "stream", stream) == 0) &&
        PyDict_SetItemString(keywords, "max_version", version) == 0)
        capsule = PyObject_Call(method, none, keywords);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError) && keywords) {
        PyErr_Clear();
        if (PyDict_DelItemString(keywords, "max_version") == 0)
            capsule = PyObject_Call(method, none, keywords);
    }
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    Py_XDECREF(version);
    return capsule;
}

/* The stream on which the operand's framework works now; 0: the default stream. */
static int find_stream(binding_state *state, PyObject *object, view_request *request)
{
    if (request->has_stream)
        return 0;
    PyObject *found = PyObject_CallMethod(state->helpers, "current_stream", "O", object);
    if (!found)
        return -1;
    request->stream = (intptr_t)PyLong_AsSsize_t(found);
    request->has_stream = 1;
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

/* -1 with an error if it lies where no kernel of ours reads. */
static int dlpack_place(binding_state *state, PyObject *object, const view_request *request, int *gpu)
{
    PyObject *device = PyObject_CallMethodObjArgs(object, state->dlpack_device, NULL);
    if (!device)
        return -1;
    int type = 0, id = 0;
    const int parsed = PyTuple_Check(device) && PyArg_ParseTuple(device, "ii", &type, &id);
    Py_DECREF(device);
    if (!parsed) {
        PyErr_Format(PyExc_TypeError, "%s: __dlpack_device__ returned no pair of two numbers", request->name);
        return -1;
    }
    if (type == DLPACK_CPU || type == DLPACK_CUDA_HOST)
        *gpu = -1;
    else if (type == DLPACK_CUDA || type == DLPACK_CUDA_MANAGED)
        *gpu = id;
    else {
        PyErr_Format(PyExc_TypeError,
                     "%s lies on a device of DLPack's type %d; Tessera takes host memory and NVIDIA GPUs",
                     request->name, type);
        return -1;
    }
    return 0;
}

static int take_dlpack(binding_state *state, PyObject *object, view_request *request, view *out)
{
    if (dlpack_place(state, object, request, &out->gpu) != 0)
        return -1;
    PyObject *stream = NULL;
    if (out->gpu >= 0) {
        if (find_stream(state, object, request) != 0)
            return -1;
        stream = PyLong_FromSsize_t(request->stream ? request->stream : 1); /* DLPack's number of the default stream */
        if (!stream)
            return -1;
    }
    PyObject *method = PyObject_GetAttr(object, state->dlpack);
    out->capsule = method ? call_dlpack(method, stream) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(stream);
    return out->capsule ? view_of_capsule(out, request) : -1;
}

/* ---- all of them
 * ----------------------------------------------------------------------------------------------------- */

/* A tuple of int stands for a tight row-major matrix, or stack, of the request's dtype. */
static int take_shape(PyObject *object, const view_request *request, view *out)
{
    const Py_ssize_t ndim = PyTuple_Size(object);
    int64_t shape[MOST_DIMS];
    if (request->dtype == TSR_DTYPE_NONE) {
        PyErr_Format(PyExc_TypeError, "%s is a shape: dtype= says of what, where shapes are allowed", request->name);
        return -1;
    }
    if (ndim > MOST_DIMS)
        return too_many_dims(request->name);
    for (Py_ssize_t i = 0; i < ndim; i++) {
        PyObject *const extent = PyTuple_GetItem(object, i);
        shape[i] = PyLong_AsLongLong(extent);
        if (PyErr_Occurred()) {
            const int is_large = PyErr_ExceptionMatches(PyExc_OverflowError);
            PyErr_Format(is_large ? PyExc_ValueError : PyExc_TypeError, "%s: dimension %R is %s", request->name, extent,
                         is_large ? "beyond 64 bits" : "no whole number");
            return -1;
        }
        if (shape[i] < 0) {
            PyErr_Format(PyExc_ValueError, "%s: a dimension is negative", request->name);
            return -1;
        }
    }
    if (!shape_fits((int)ndim, shape, request->dtype)) {
        PyErr_Format(PyExc_ValueError, "%s has more than 2^63 - 1 bytes", request->name);
        return -1;
    }
    view_shape(out, request->name, request->dtype, (int)ndim, shape);
    return 0;
}

static int take_prepared(PyObject *object, const view_request *request, view *out)
{
    const prepared_object *prepared = (const prepared_object *)(void *)object;
    if (prepared->operand != request->name[0] || request->name[1]) {
        PyErr_Format(PyExc_ValueError, "%s: this operand was prepared as %c", request->name, prepared->operand);
        return -1;
    }
    view_shape(out, request->name, prepared->dtype, 2, prepared->shape);
    out->object = object; /* of which a result is made where both operands are prepared */
    out->prepared = prepared;
    return 0;
}

/* An array of a dtype that NumPy exports to nobody: dates, and numbers of other packages. */
static int refuse_numpy(PyObject *object, const view_request *request)
{
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    if (dtype)
        PyErr_Format(PyExc_TypeError, "%s has the dtype %S, of which Tessera makes no products", request->name, dtype);
    Py_XDECREF(dtype);
    return -1;
}

static int take_memory(binding_state *state, PyObject *object, view_request *request, view *out)
{
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &out->buffer, PyBUF_RECORDS_RO) == 0) {
            out->has_buffer = 1;
            return view_of_buffer(out, request);
        }
        PyErr_Clear();
        if (take_foreign_dtype(object, request, out) == 0)
            return 0;
        PyErr_Clear();
        if (Py_TYPE(object) == (PyTypeObject *)(void *)state->numpy_array)
            return refuse_numpy(object, request);
    }
    if (PyObject_HasAttr(object, state->dlpack_device))
        return take_dlpack(state, object, request, out);
    PyErr_Format(PyExc_TypeError, "%s is %R, which is no array: NumPy arrays and DLPack tensors are taken",
                 request->name, (PyObject *)Py_TYPE(object));
    return -1;
}

int view_take(binding_state *state, PyObject *object, view_request *request, view *out)
{
    out->name = request->name;
    out->object = object;
    out->data = NULL;
    out->ndim = 0;
    out->added = -1;
    out->gpu = -1;
    out->read_only = 0;
    out->prepared = NULL;
    out->has_buffer = 0;
    out->capsule = NULL;
    if (PyTuple_Check(object))
        return take_shape(object, request, out);
    if (Py_TYPE(object) == state->prepared_type)
        return take_prepared(object, request, out);
    if (take_memory(state, object, request, out) != 0)
        return -1;
    if (request->writable && out->read_only) {
        PyErr_Format(PyExc_ValueError, "%s is read-only", request->name);
        return -1;
    }
    return 0;
}

void view_release(view *v)
{
    if (v->has_buffer)
        PyBuffer_Release(&v->buffer);
    v->has_buffer = 0;
    if (!v->capsule)
        return;
    PyObject *type, *value, *traceback; /* its destructor, which lets go of the tensor, may be Python code */
    PyErr_Fetch(&type, &value, &traceback);
    Py_CLEAR(v->capsule);
    PyErr_Restore(type, value, traceback);
}

/* ---- elements
 * ---------------------------------------------------------------------------------------------------------- */

/* With `bytes` known when it is compiled, each element is one load and one store. */
static inline void copy_elements(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count,
                                 size_t bytes)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

static void copy_row(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t bytes)
{
    if (to_stride == (int64_t)bytes && from_stride == (int64_t)bytes)
        memcpy(to, from, (size_t)count * bytes);
    else if (bytes == 8)
        copy_elements(to, to_stride, from, from_stride, count, 8);
    else if (bytes == 4)
        copy_elements(to, to_stride, from, from_stride, count, 4);
    else if (bytes == 2)
        copy_elements(to, to_stride, from, from_stride, count, 2);
    else
        copy_elements(to, to_stride, from, from_stride, count, 1);
}

static void copy_dims(const view *to, const int64_t *from_strides, int dim, char *to_at, const char *from_at)
{
    if (dim == to->ndim - 1) {
        copy_row(to_at, to->strides[dim], from_at, from_strides[dim], to->shape[dim], tsr_dtype_bytes(to->dtype));
        return;
    }
    for (int64_t i = 0; i < to->shape[dim]; i++)
        copy_dims(to, from_strides, dim + 1, to_at + i * to->strides[dim], from_at + i * from_strides[dim]);
}

void view_copy(const view *to, const view *from)
{
    int64_t strides[MOST_DIMS] = {0}; /* of `from`, by the dimensions of `to`; 0 repeats */
    for (int i = 0; i < from->ndim; i++)
        if (from->shape[i] != 1)
            strides[to->ndim - from->ndim + i] = from->strides[i];
    if (view_elements(to) == 0)
        return;
    if (to->ndim == 0)
        memcpy(to->data, from->data, tsr_dtype_bytes(to->dtype));
    else
        copy_dims(to, strides, 0, to->data, from->data);
}

/* The bytes from the first to the last element; of the dimensions that step by multiples of `period`, if that is not 0,
 * only the first place. */
static void extent(const view *v, int64_t period, uintptr_t *first, uintptr_t *end)
{
    *first = *end = (uintptr_t)v->data;
    for (int i = 0; i < v->ndim; i++) {
        if (period && v->strides[i] % period == 0)
            continue;
        if (v->strides[i] < 0)
            *first -= (uintptr_t)(-v->strides[i] * (v->shape[i] - 1));
        else
            *end += (uintptr_t)(v->strides[i] * (v->shape[i] - 1));
    }
    *end += tsr_dtype_bytes(v->dtype);
}

int views_meet(const view *p, const view *q)
{
    uintptr_t p_first, p_end, q_first, q_end;
    if (!p->data || !q->data || view_elements(p) == 0 || view_elements(q) == 0)
        return 0;
    extent(p, 0, &p_first, &p_end);
    extent(q, 0, &q_first, &q_end);
    return p_first < q_end && q_first < p_end;
}

/* 1 if both take bytes of their own of each `period` bytes. */
static int are_interleaved(const view *p, const view *q, int64_t period)
{
    uintptr_t p_first, p_end, q_first, q_end;
    extent(p, period, &p_first, &p_end);
    extent(q, period, &q_first, &q_end);
    const int64_t apart = (int64_t)(q_first - p_first) % period;
    const int64_t from = apart < 0 ? apart + period : apart; /* where q begins, seen from a place of p */
    return (int64_t)(p_end - p_first) <= from && from + (int64_t)(q_end - q_first) <= period;
}

int views_share(const view *p, const view *q)
{
    if (!views_meet(p, q))
        return 0;
    for (int i = 0; i < p->ndim; i++)
        if (p->shape[i] > 1 && p->strides[i] != 0 && are_interleaved(p, q, llabs(p->strides[i])))
            return 0;
    return 1;
}

int views_are_equal(const view *p, const view *q)
{
    if (p->data != q->data || p->dtype != q->dtype || p->ndim != q->ndim)
        return 0;
    for (int i = 0; i < p->ndim; i++)
        if (p->shape[i] != q->shape[i] || (p->shape[i] > 1 && p->strides[i] != q->strides[i]))
            return 0;
    return 1;
}
