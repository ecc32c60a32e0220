/* Plan: a product of fixed shapes, dtypes and layouts, analysed once. */
#include "binding/types.h"

#include <string.h>

/* An operand's part of the plan. */
typedef struct expected {
    tsr_dtype dtype;
    int ndim, gpu, is_prepared;
    int64_t shape[MOST_DIMS], strides[MOST_DIMS];
} expected;

typedef struct plan_object {
    PyObject ob_base;
    tsr_plan *plan;
    tsr_context *context;
    product product;
    expected operands[OPERANDS];
    char device[DEVICE_NAME_BYTES];
} plan_object;

static void expect(expected *out, const view *v)
{
    *out = (expected){.dtype = v->dtype, .ndim = v->ndim, .gpu = v->gpu, .is_prepared = v->prepared != NULL};
    memcpy(out->shape, v->shape, (size_t)v->ndim * sizeof *v->shape);
    memcpy(out->strides, v->strides, (size_t)v->ndim * sizeof *v->strides);
}

/* A stride counts where there is something to step to. */
static int is_as_expected(const view *v, const expected *e)
{
    if (v->dtype != e->dtype || v->ndim != e->ndim || v->gpu != e->gpu || (v->prepared != NULL) != e->is_prepared)
        return 0;
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] != e->shape[i] || (v->shape[i] > 1 && !v->prepared && v->strides[i] != e->strides[i]))
            return 0;
    return 1;
}

static int check_as_expected(const call *c, const plan_object *plan)
{
    const view *views[OPERANDS] = {&c->a, &c->b, c->has_c ? &c->c : NULL, &c->d};
    for (int i = 0; i < OPERANDS; i++)
        if (views[i] && !is_as_expected(views[i], &plan->operands[i]))
            return call_refuse(c, PyExc_ValueError,
                               "%s has not the shape, dtype, strides and place that the plan was made for",
                               views[i]->name);
    if (!c->has_c && c->beta != 0 && !is_as_expected(&c->d, &plan->operands[OPERAND_C]))
        return call_refuse(c, PyExc_ValueError, "out is C too, but the plan was made for a c that lies in another way");
    return 0;
}

static const signature make_signature = {
    "Plan", 3, 2, ACCEPT(ARG_A) | ACCEPT(ARG_B) | ACCEPT(ARG_OUT) | ACCEPT(ARG_C) | ACCEPT(ARG_DTYPE) | ACCEPT_OPTIONS};
static const signature run_signature = {"Plan.__call__", 3, 2,
                                        ACCEPT(ARG_A) | ACCEPT(ARG_B) | ACCEPT(ARG_OUT) | ACCEPT(ARG_ALPHA) |
                                            ACCEPT(ARG_BETA) | ACCEPT(ARG_C) | ACCEPT(ARG_STREAM)};

/* D's example may be a shape too. */
static int example_output(call *c)
{
    if (!c->out || PyTuple_Check(c->out))
        return call_output_shape(c);
    return call_output(c);
}

static int plan_fill(plan_object *self, call *c)
{
    if (example_output(c) != 0 || call_open(c) != 0 || call_product(c) != 0)
        return -1;
    const tsr_status status = call_make_plan(c, &self->plan);
    if (status != TSR_OK)
        return call_raise(c, status);
    self->context = c->context;
    self->product = c->product;
    self->product.desc.kernel = NULL; /* the caller's text */
    expect(&self->operands[OPERAND_A], &c->a);
    expect(&self->operands[OPERAND_B], &c->b);
    expect(&self->operands[OPERAND_C], c->has_c ? &c->c : &c->d);
    expect(&self->operands[OPERAND_D], &c->d);
    strcpy(self->device, c->device ? c->device : "auto");
    return 0;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *given, PyObject *keywords)
{
    arguments from;
    call c;
    if (arguments_of_type(&from, &make_signature, given, keywords) != 0)
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    plan_object *const self = (plan_object *)(void *)alloc(type, 0);
    if (!self)
        return NULL;
    const int begun = call_begin(&c, PyType_GetModuleState(type), &from);
    const int status = begun == 0 ? plan_fill(self, &c) : -1;
    call_end(&c);
    if (status == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void plan_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tsr_plan_release(((plan_object *)(void *)object)->plan);
    release(object);
    Py_DECREF(type);
}

static int plan_run(plan_object *self, call *c)
{
    if (call_output(c) != 0 || check_as_expected(c, self) != 0)
        return -1;
    c->context = self->context;
    if (c->d.ndim > 2 && view_elements(&c->d) == 0)
        return 0;
    if (call_overlaps(c, &self->product, views_share))
        return call_refuse(c, PyExc_ValueError,
                           "the plan's batch runs as several products, so out must share no element with a, b or c");
    const tsr_status status = call_run_plan(c, &self->product, self->plan);
    return status == TSR_OK ? 0 : PyErr_Occurred() ? -1 : call_raise(c, status);
}

static PyObject *plan_call(PyObject *object, PyObject *given, PyObject *keywords)
{
    arguments from;
    call c;
    if (arguments_of_type(&from, &run_signature, given, keywords) != 0)
        return NULL;
    plan_object *const self = (plan_object *)(void *)object;
    const int begun = call_begin(&c, PyType_GetModuleState(Py_TYPE(object)), &from);
    if (begun == 0)
        c.out_dtype = self->operands[OPERAND_D].dtype;
    PyObject *result = begun == 0 && plan_run(self, &c) == 0 ? call_result(&c) : NULL;
    call_end(&c);
    return result;
}

static PyObject *plan_kernel(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(tsr_plan_kernel(((plan_object *)(void *)object)->plan));
}

static PyObject *plan_device(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((plan_object *)(void *)object)->device);
}

static PyObject *plan_workspace_bytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tsr_plan_workspace_bytes(((plan_object *)(void *)object)->plan));
}

static PyObject *plan_dtype(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(binding_dtype_name(((plan_object *)(void *)object)->operands[OPERAND_D].dtype));
}

static PyObject *plan_repr(PyObject *object)
{
    const plan_object *self = (const plan_object *)(void *)object;
    const tsr_gemm_desc *desc = &self->product.desc;
    return PyUnicode_FromFormat("<tessera.Plan %lld x %lld x %lld, batch %lld, %s on %s: %s>",
                                (long long)(self->product.swapped ? desc->n : desc->m),
                                (long long)(self->product.swapped ? desc->m : desc->n), (long long)desc->k,
                                (long long)desc->batch_count, binding_dtype_name(self->operands[OPERAND_A].dtype),
                                self->device, tsr_plan_kernel(self->plan));
}

PyTypeObject *plan_type_make(PyObject *module)
{
    static PyGetSetDef attributes[] = {
        {"kernel", plan_kernel, NULL, "The kernel instance that runs: \"cpu_tiled_f32\".", NULL},
        {"device", plan_device, NULL, "The device as it was named, or found from the operands.", NULL},
        {"workspace_bytes", plan_workspace_bytes, NULL, "GPU memory that a run needs besides its operands.", NULL},
        {"dtype", plan_dtype, NULL, "The result's dtype.", NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)plan_new},
        {Py_tp_dealloc, (void *)plan_dealloc},
        {Py_tp_call, (void *)plan_call},
        {Py_tp_repr, (void *)plan_repr},
        {Py_tp_getset, (void *)attributes},
        {Py_tp_doc,
         "Plan(a, b, out=None, *, c=None, dtype=None, device=None, kernel=None, out_dtype=None, compute=None, "
         "threads=0, batch_invariant=False)\n--\n\n"
         "A product of fixed shapes, dtypes and strides, analysed once; plan(a, b) runs it."},
        {0, NULL}};
    static PyType_Spec spec = {"tessera.Plan", sizeof(plan_object), 0, Py_TPFLAGS_DEFAULT, slots};
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
