#include "binding/arguments.h"

#include <string.h>

static const char *const argument_names[ARG_COUNT] = {
    [ARG_A] = "a",
    [ARG_B] = "b",
    [ARG_OUT] = "out",
    [ARG_ALPHA] = "alpha",
    [ARG_BETA] = "beta",
    [ARG_C] = "c",
    [ARG_DEVICE] = "device",
    [ARG_KERNEL] = "kernel",
    [ARG_OUT_DTYPE] = "out_dtype",
    [ARG_COMPUTE] = "compute",
    [ARG_THREADS] = "threads",
    [ARG_BATCH_INVARIANT] = "batch_invariant",
    [ARG_STREAM] = "stream",
    [ARG_DTYPE] = "dtype",
    [ARG_OPERAND] = "operand",
    [ARG_ROWS] = "rows",
};

static int take_positional(arguments *out, const signature *s, argument which, PyObject *value)
{
    if ((int)which >= s->positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments without their names", s->function,
                     s->positional);
        return -1;
    }
    out->at[which] = value == Py_None ? NULL : value;
    return 0;
}

static int take_keyword(arguments *out, const signature *s, PyObject *name, PyObject *value)
{
    for (int i = 0; i < ARG_COUNT; i++) {
        if (!(s->accepted & ACCEPT(i)) || !PyUnicode_Check(name) ||
            PyUnicode_CompareWithASCIIString(name, argument_names[i]) != 0)
            continue;
        if (out->at[i]) {
            PyErr_Format(PyExc_TypeError, "%s() got two values for '%s'", s->function, argument_names[i]);
            return -1;
        }
        out->at[i] = value == Py_None ? NULL : value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() has no argument %R", s->function, name);
    return -1;
}

static int check_required(const arguments *out, const signature *s)
{
    for (int i = 0; i < s->required; i++)
        if (!out->at[i]) {
            PyErr_Format(PyExc_TypeError, "%s() lacks its argument '%s'", s->function, argument_names[i]);
            return -1;
        }
    return 0;
}

int arguments_fast(arguments *out, const signature *s, PyObject *const *given, Py_ssize_t positional, PyObject *names)
{
    const Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
    memset(out, 0, sizeof *out);
    for (Py_ssize_t i = 0; i < positional; i++)
        if (take_positional(out, s, (argument)i, given[i]) != 0)
            return -1;
    for (Py_ssize_t i = 0; i < keywords; i++)
        if (take_keyword(out, s, PyTuple_GetItem(names, i), given[positional + i]) != 0)
            return -1;
    return check_required(out, s);
}

int arguments_of_type(arguments *out, const signature *s, PyObject *given, PyObject *keywords)
{
    const Py_ssize_t positional = PyTuple_Size(given);
    PyObject *name, *value;
    memset(out, 0, sizeof *out);
    for (Py_ssize_t i = 0; i < positional; i++)
        if (take_positional(out, s, (argument)i, PyTuple_GetItem(given, i)) != 0)
            return -1;
    for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &name, &value);)
        if (take_keyword(out, s, name, value) != 0)
            return -1;
    return check_required(out, s);
}

/* In place of Python's own TypeError, which does not name the argument. */
static int refuse_type(const arguments *from, argument which, const char *wanted)
{
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Format(PyExc_ValueError, "%s is too large for %s", argument_names[which], wanted);
        return -1;
    }
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(from->at[which]), "__name__");
        if (type)
            PyErr_Format(PyExc_TypeError, "%s must be %s, not %U", argument_names[which], wanted, type);
        Py_XDECREF(type);
    }
    return -1;
}

int argument_double(const arguments *from, argument which, double *value)
{
    if (!from->at[which])
        return 0;
    *value = PyFloat_AsDouble(from->at[which]);
    return *value == -1.0 && PyErr_Occurred() ? refuse_type(from, which, "a number") : 0;
}

int argument_text(const arguments *from, argument which, const char **value)
{
    PyObject *given = from->at[which];
    if (!given)
        return 0;
    if (!PyUnicode_Check(given)) {
        PyErr_Format(PyExc_TypeError, "%s is %R, not a str", argument_names[which], (PyObject *)Py_TYPE(given));
        return -1;
    }
    Py_ssize_t bytes;
    *value = PyUnicode_AsUTF8AndSize(given, &bytes);
    if (*value && strlen(*value) != (size_t)bytes) {
        PyErr_Format(PyExc_ValueError, "%s = %R holds a null character", argument_names[which], given);
        return -1;
    }
    return *value ? 0 : -1;
}

int argument_dtype(const arguments *from, argument which, tsr_dtype *value)
{
    if (!from->at[which])
        return 0;
    *value = binding_dtype(from->at[which]);
    if (*value == TSR_DTYPE_NONE && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "%s = %R is none of float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8, uint8 "
                     "and int32",
                     argument_names[which], from->at[which]);
    return PyErr_Occurred() ? -1 : 0;
}

int argument_int(const arguments *from, argument which, int64_t *value)
{
    if (!from->at[which])
        return 0;
    *value = PyLong_AsLongLong(from->at[which]);
    return *value == -1 && PyErr_Occurred() ? refuse_type(from, which, "a whole number") : 0;
}

static int take_compute(const arguments *from, tsr_compute *out)
{
    const char *name = NULL;
    if (argument_text(from, ARG_COMPUTE, &name) != 0)
        return -1;
    for (int i = 0; name && i < TSR_COMPUTE_COUNT; i++)
        if (strcmp(name, tsr_compute_name((tsr_compute)i)) == 0) {
            *out = (tsr_compute)i;
            return 0;
        }
    if (name)
        PyErr_Format(PyExc_ValueError,
                     "compute = '%.50s' is none of \"default\", \"f64\", \"f32\", \"tf32\", \"s32\" and \"fast\"",
                     name);
    return name ? -1 : 0;
}

int arguments_options(const arguments *from, product_options *out)
{
    int64_t threads = 0;
    *out = (product_options){0};
    if (argument_text(from, ARG_KERNEL, &out->kernel) != 0 || take_compute(from, &out->compute) != 0 ||
        argument_int(from, ARG_THREADS, &threads) != 0)
        return -1;
    if (threads < 0 || threads > 4096) {
        PyErr_SetString(PyExc_ValueError, "threads is not in 0 to 4096");
        return -1;
    }
    out->threads = (int)threads;
    if (from->at[ARG_BATCH_INVARIANT])
        out->batch_invariant = PyObject_IsTrue(from->at[ARG_BATCH_INVARIANT]);
    return out->batch_invariant < 0 ? -1 : 0;
}

view_request argument_request(const char *name, tsr_dtype dtype)
{
    return (view_request){.name = name, .dtype = dtype};
}
