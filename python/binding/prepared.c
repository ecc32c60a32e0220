/* Prepared: an operand packed once for many products. */
#include "binding/types.h"

#include <string.h>

enum { USUAL_ROWS = 256 }; /* of the product that a packed form is made by; it serves every other number too */

/* The product by which the library packs the operand: its own extents, and `rows` of the other. */
static int make_plan(binding_state *state, const view *v, char operand, int64_t rows, const char *kernel,
                     tsr_context *context, tsr_plan **out, tsr_trans *trans)
{
    view other, d;
    product p;
    product_options options = {.kernel = kernel};
    const int64_t k = v->shape[operand == 'a' ? 1 : 0], n = v->shape[operand == 'a' ? 0 : 1];
    const int64_t other_shape[2] = {operand == 'a' ? k : rows, operand == 'a' ? rows : k};
    const int64_t d_shape[2] = {operand == 'a' ? n : rows, operand == 'a' ? rows : n};
    view_shape(&other, operand == 'a' ? "b" : "a", v->dtype, 2, other_shape);
    view_shape(&d, "out", binding_result_dtype(v->dtype), 2, d_shape);
    const view *operands[OPERANDS] = {operand == 'a' ? v : &other, operand == 'a' ? &other : v, NULL, &d};
    if (product_make(&p, operands, &options) != PRODUCT_OK) {
        PyErr_Format(PyExc_ValueError, "%s: rows or columns must be contiguous", v->name);
        return -1;
    }
    *trans = (operand == 'a' ? &p.desc.a : &p.desc.b)->trans;
    const tsr_status status = tsr_plan_create(context, &p.desc, out);
    return status == TSR_OK ? 0 : binding_raise(state, status, NULL);
}

static int is_preparable(const view *v)
{
    if (v->dtype == TSR_DTYPE_NONE || v->ndim != 2 || v->gpu >= 0) {
        char text[200];
        view_describe(v, text, sizeof text);
        PyErr_Format(PyExc_ValueError, "%s: a matrix in host memory is wanted, of a dtype that Tessera multiplies",
                     text);
        return 0;
    }
    return 1;
}

static int prepared_fill(binding_state *state, prepared_object *self, const arguments *from, const view *v)
{
    const char *kernel = NULL, *device = NULL;
    int64_t rows = USUAL_ROWS;
    tsr_plan *plan = NULL;
    if (!is_preparable(v) || argument_text(from, ARG_KERNEL, &kernel) != 0 ||
        argument_text(from, ARG_DEVICE, &device) != 0 || argument_int(from, ARG_ROWS, &rows) != 0)
        return -1;
    self->context = binding_context(state, device);
    if (!self->context || make_plan(state, v, self->operand, rows, kernel, self->context, &plan, &self->trans) != 0)
        return -1;
    tsr_status status;
    Py_BEGIN_ALLOW_THREADS status = tsr_prepare(plan, self->operand, v->data, &self->prepared);
    Py_END_ALLOW_THREADS tsr_plan_release(plan);
    if (status != TSR_OK)
        return binding_raise(state, status, NULL);
    self->dtype = v->dtype;
    memcpy(self->shape, v->shape, sizeof self->shape);
    self->ld = self->trans ? v->shape[0] : v->shape[1];
    strcpy(self->device, device ? device : "");
    return 0;
}

static int take_which(const arguments *from, char *out)
{
    const char *which = "b";
    if (argument_text(from, ARG_OPERAND, &which) != 0)
        return -1;
    if (strcmp(which, "a") != 0 && strcmp(which, "b") != 0) {
        PyErr_SetString(PyExc_ValueError, "operand is \"a\" or \"b\"");
        return -1;
    }
    *out = which[0];
    return 0;
}

PyObject *prepared_make(binding_state *state, const arguments *from)
{
    view v;
    view_request request = argument_request("operand", TSR_DTYPE_NONE);
    PyTypeObject *type = state->prepared_type;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    prepared_object *const self = (prepared_object *)(void *)alloc(type, 0);
    if (!self)
        return NULL;
    int status = take_which(from, &self->operand);
    if (status == 0) {
        status = view_take(state, from->at[ARG_A], &request, &v);
        if (status == 0)
            status = prepared_fill(state, self, from, &v);
        view_release(&v);
    }
    if (status == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void prepared_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tsr_prepared_release(((prepared_object *)(void *)object)->prepared);
    release(object);
    Py_DECREF(type);
}

static PyObject *prepared_shape(PyObject *object, void *unused)
{
    (void)unused;
    const prepared_object *self = (const prepared_object *)(void *)object;
    return Py_BuildValue("(LL)", (long long)self->shape[0], (long long)self->shape[1]);
}

static PyObject *prepared_dtype(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(binding_dtype_name(((const prepared_object *)(void *)object)->dtype));
}

static PyObject *prepared_operand(PyObject *object, void *unused)
{
    (void)unused;
    const char operand[2] = {((const prepared_object *)(void *)object)->operand, 0};
    return PyUnicode_FromString(operand);
}

static PyObject *prepared_repr(PyObject *object)
{
    const prepared_object *self = (const prepared_object *)(void *)object;
    return PyUnicode_FromFormat("<tessera.Prepared %c (%lld, %lld) %s>", self->operand, (long long)self->shape[0],
                                (long long)self->shape[1], binding_dtype_name(self->dtype));
}

PyTypeObject *prepared_type_make(PyObject *module)
{
    static PyGetSetDef attributes[] = {{"shape", prepared_shape, NULL, "As the product reads the operand.", NULL},
                                       {"dtype", prepared_dtype, NULL, "Its dtype: \"float32\".", NULL},
                                       {"operand", prepared_operand, NULL, "\"a\" or \"b\".", NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)prepared_dealloc},
                                  {Py_tp_repr, (void *)prepared_repr},
                                  {Py_tp_getset, (void *)attributes},
                                  {Py_tp_doc, "An operand that prepare() packed; matmul and Plan take it as a or b."},
                                  {0, NULL}};
    static PyType_Spec spec = {"tessera.Prepared", sizeof(prepared_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
