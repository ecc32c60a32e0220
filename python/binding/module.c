/* The extension module tessera._core. */
#include <string.h>

#include "binding/types.h"

/* ---- functions --------------------------------------------------------------------------------------------------- */

static PyObject *run_matmul(binding_state *state, const arguments *from)
{
    call c;
    PyObject *result = NULL;
    if (call_begin(&c, state, from) == 0 && call_open(&c) == 0 && call_output(&c) == 0 && call_run(&c) == 0)
        result = call_result(&c);
    call_end(&c);
    return result;
}

static PyObject *core_matmul(PyObject *module, PyObject *const *given, Py_ssize_t positional, PyObject *names)
{
    static const signature s = {"matmul", 3, 2,
                                ACCEPT(ARG_A) | ACCEPT(ARG_B) | ACCEPT(ARG_OUT) | ACCEPT(ARG_ALPHA) | ACCEPT(ARG_BETA) |
                                    ACCEPT(ARG_C) | ACCEPT(ARG_STREAM) | ACCEPT_OPTIONS};
    arguments from;
    return arguments_fast(&from, &s, given, positional, names) == 0 ? run_matmul(PyModule_GetState(module), &from)
                                                                    : NULL;
}

static PyObject *core_prepare(PyObject *module, PyObject *const *given, Py_ssize_t positional, PyObject *names)
{
    static const signature s = {"prepare", 1, 1,
                                ACCEPT(ARG_A) | ACCEPT(ARG_OPERAND) | ACCEPT(ARG_DEVICE) | ACCEPT(ARG_KERNEL) |
                                    ACCEPT(ARG_ROWS)};
    arguments from;
    return arguments_fast(&from, &s, given, positional, names) == 0 ? prepared_make(PyModule_GetState(module), &from)
                                                                    : NULL;
}

/* ---- route ------------------------------------------------------------------------------------------------------- */

static PyObject *candidate_tuple(const tsr_candidate *k)
{
    return Py_BuildValue("(ssNNsddss)", k->kernel, k->device, PyBool_FromLong(k->applicable),
                         PyBool_FromLong(k->chosen), k->reason, k->cost_ns, k->bytes, k->limiter ? k->limiter : "",
                         k->schedule);
}

static PyObject *candidate_list(const tsr_candidate *candidates, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *tuple = candidate_tuple(&candidates[i]);
        if (!tuple || PyList_Append(list, tuple) != 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

static PyObject *route_of(call *c)
{
    size_t count = 0;
    tsr_status status = tsr_route(c->context, &c->product.desc, NULL, sizeof(tsr_candidate), 0, &count);
    tsr_candidate *candidates = status == TSR_OK ? PyMem_Calloc(count + 1, sizeof *candidates) : NULL;
    if (status == TSR_OK && !candidates)
        return PyErr_NoMemory();
    if (status == TSR_OK)
        status = tsr_route(c->context, &c->product.desc, candidates, sizeof *candidates, count, &count);
    PyObject *list = status == TSR_OK ? candidate_list(candidates, count) : NULL;
    if (status != TSR_OK)
        call_raise(c, status);
    PyMem_Free(candidates);
    return list;
}

static PyObject *core_route(PyObject *module, PyObject *const *given, Py_ssize_t positional, PyObject *names)
{
    static const signature s = {"route", 2, 2,
                                ACCEPT(ARG_A) | ACCEPT(ARG_B) | ACCEPT(ARG_C) | ACCEPT(ARG_DTYPE) | ACCEPT_OPTIONS};
    arguments from;
    call c;
    PyObject *list = NULL;
    if (arguments_fast(&from, &s, given, positional, names) != 0)
        return NULL;
    if (call_begin(&c, PyModule_GetState(module), &from) == 0 && call_output_shape(&c) == 0 && call_open(&c) == 0 &&
        call_product(&c) == 0)
        list = route_of(&c);
    call_end(&c);
    return list;
}

/* ---- the library ----------------------------------------------------------------------------------------------------
 */

static PyObject *kernel_tuple(const tsr_kernel_info *k)
{
    return Py_BuildValue("(sssssssNN)", k->name, k->instance, k->summary, k->source, k->constants,
                         tsr_dtype_name(k->dtype_ab), tsr_dtype_name(k->dtype_cd), PyBool_FromLong(k->is_cuda),
                         PyBool_FromLong(k->has_device_code));
}

static PyObject *core_dtype_name(PyObject *module, PyObject *dtype)
{
    (void)module;
    const tsr_dtype found = binding_dtype(dtype);
    if (PyErr_Occurred())
        return NULL;
    return found == TSR_DTYPE_NONE ? Py_NewRef(Py_None) : PyUnicode_FromString(tsr_dtype_name(found));
}

static PyObject *core_kernels(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; list && tsr_kernel(i, &info) == TSR_OK; i++) {
        PyObject *tuple = kernel_tuple(&info);
        if (!tuple || PyList_Append(list, tuple) != 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

static PyObject *core_set_threads(PyObject *module, PyObject *threads)
{
    binding_state *const state = PyModule_GetState(module);
    long wanted = PyLong_AsLong(threads);
    if (wanted == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return NULL;
        PyErr_Clear();
    }
    if (wanted < 0 || wanted > INT32_MAX)
        wanted = -1;
    const tsr_status status = tsr_set_threads((int)wanted);
    if (status != TSR_OK) {
        binding_raise(state, status, NULL);
        return NULL;
    }
    state->thread_limit = (int)wanted;
    return Py_NewRef(Py_None);
}

static PyObject *core_thread_limit(PyObject *module, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(((const binding_state *)PyModule_GetState(module))->thread_limit);
}

static PyObject *core_get_threads(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(tsr_get_threads());
}

/* ---- the module
 * -------------------------------------------------------------------------------------------------------- */

#define OPTIONS_TEXT "device=None, kernel=None, out_dtype=None, compute=None, threads=0, batch_invariant=False"

static PyMethodDef methods[] = {
    {"matmul", (PyCFunction)(void (*)(void))core_matmul, METH_FASTCALL | METH_KEYWORDS,
     "matmul(a, b, out=None, *, alpha=1.0, beta=None, c=None, stream=None, " OPTIONS_TEXT ")\n--\n\n"
     "alpha * a @ b + beta * c, for matrices, vectors and stacks of them."},
    {"prepare", (PyCFunction)(void (*)(void))core_prepare, METH_FASTCALL | METH_KEYWORDS,
     "prepare(a, *, operand='b', device=None, kernel=None, rows=256)\n--\n\nPacks an operand once for many products."},
    {"route", (PyCFunction)(void (*)(void))core_route, METH_FASTCALL | METH_KEYWORDS,
     "route(a, b, *, c=None, dtype=None, " OPTIONS_TEXT ")\n--\n\nEvery kernel's answer to a product."},
    {"kernels", core_kernels, METH_NOARGS, "kernels()\n--\n\nEvery kernel instance of the library."},
    {"dtype_name", core_dtype_name, METH_O,
     "dtype_name(dtype)\n--\n\nThe command's name of a dtype, however it is named; None: there is no such dtype."},
    {"set_threads", core_set_threads, METH_O,
     "set_threads(threads)\n--\n\nCPU threads of a call, at most; 0: no limit."},
    {"thread_limit", core_thread_limit, METH_NOARGS,
     "thread_limit()\n--\n\nWhat set_threads() was last given; 0: no limit."},
    {"get_threads", core_get_threads, METH_NOARGS,
     "get_threads()\n--\n\nCPU threads that a call of this thread may use."},
    {NULL, NULL, 0, NULL}};

/* NumPy's dtype objects; ml_dtypes has those that NumPy lacks, where it is installed. */
static int find_dtypes(binding_state *state, PyObject *numpy)
{
    PyObject *ml_dtypes = PyImport_ImportModule("ml_dtypes");
    PyErr_Clear();
    for (int i = 1; i < TSR_DTYPE_COUNT; i++) {
        const char *name = binding_dtype_name((tsr_dtype)i);
        const int is_foreign = i == TSR_BF16 || i == TSR_E4M3 || i == TSR_E5M2;
        PyObject *type = !is_foreign ? PyObject_GetAttrString(numpy, name)
                         : ml_dtypes ? PyObject_GetAttrString(ml_dtypes, name)
                                     : NULL;
        if (type)
            state->dtypes[i] = PyObject_CallMethod(numpy, "dtype", "O", type);
        Py_XDECREF(type);
        if (is_foreign)
            PyErr_Clear();
        else if (!state->dtypes[i])
            break;
    }
    Py_XDECREF(ml_dtypes);
    return PyErr_Occurred() ? -1 : 0;
}

static int find_numpy(binding_state *state)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy)
        return -1;
    state->numpy_empty = PyObject_GetAttrString(numpy, "empty");
    state->numpy_array = PyObject_GetAttrString(numpy, "ndarray");
    const int status = state->numpy_empty && state->numpy_array ? find_dtypes(state, numpy) : -1;
    Py_DECREF(numpy);
    return status;
}

static int add_types(PyObject *module, binding_state *state)
{
    state->error = PyErr_NewExceptionWithDoc(
        "tessera.Error", "No such device, or a device, driver or kernel that failed.", PyExc_RuntimeError, NULL);
    state->plan_type = plan_type_make(module);
    state->prepared_type = prepared_type_make(module);
    if (!state->error || !state->plan_type || !state->prepared_type)
        return -1;
    return PyModule_AddObjectRef(module, "Error", state->error) != 0 ||
                   PyModule_AddType(module, state->plan_type) != 0 ||
                   PyModule_AddType(module, state->prepared_type) != 0
               ? -1
               : 0;
}

static int core_exec(PyObject *module)
{
    binding_state *const state = PyModule_GetState(module);
    memset(state, 0, sizeof *state);
    state->dlpack = PyUnicode_InternFromString("__dlpack__");
    state->dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
    state->helpers = PyImport_ImportModule("tessera._arrays");
    if (!state->dlpack || !state->dlpack_device || !state->helpers || find_numpy(state) != 0 ||
        add_types(module, state) != 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", tsr_version());
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    const binding_state *state = PyModule_GetState(module);
    if (!state)
        return 0;
    Py_VISIT(state->error);
    Py_VISIT(state->helpers);
    Py_VISIT(state->numpy_empty);
    Py_VISIT(state->numpy_array);
    Py_VISIT(state->plan_type);
    Py_VISIT(state->prepared_type);
    return 0;
}

static int core_clear(PyObject *module)
{
    binding_state *const state = PyModule_GetState(module);
    if (!state)
        return 0;
    Py_CLEAR(state->error);
    Py_CLEAR(state->helpers);
    Py_CLEAR(state->numpy_empty);
    Py_CLEAR(state->numpy_array);
    for (int i = 0; i < TSR_DTYPE_COUNT; i++)
        Py_CLEAR(state->dtypes[i]);
    Py_CLEAR(state->dlpack);
    Py_CLEAR(state->dlpack_device);
    Py_CLEAR(state->plan_type);
    Py_CLEAR(state->prepared_type);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)core_exec}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tessera._core",
    .m_doc = "Tessera's products, on the library's public interface.",
    .m_size = sizeof(binding_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
