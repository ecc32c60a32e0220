#include "binding/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_BYTES = 400, /* of a message about both operands */
    ONE_BYTES = 190,
    /* Up to so much work (a microsecond or two) a product on the CPU keeps the GIL: giving it up and getting it back
     * may take longer when other threads want it. Elements of a copy may be far apart. */
    WORK_WITH_GIL = 1 << 17,
    COPIED_WITH_GIL = 1 << 11,
};

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static void describe_both(const call *c, char *text, size_t text_bytes)
{
    char a[ONE_BYTES], b[ONE_BYTES];
    view_describe(&c->a, a, sizeof a);
    view_describe(&c->b, b, sizeof b);
    snprintf(text, text_bytes, "%s, %s", a, b);
}

int call_refuse(const call *c, PyObject *type, const char *format, ...)
{
    char both[TEXT_BYTES], why[TEXT_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    describe_both(c, both, sizeof both);
    PyErr_Format(type, "%s: %s", both, why);
    return -1;
}

/* The same for a third operand, whose shape and dtype stand before the reason. */
static int refuse_view(const call *c, const view *v, PyObject *type, const char *why)
{
    char text[ONE_BYTES];
    view_describe(v, text, sizeof text);
    return call_refuse(c, type, "%s %s", text, why);
}

static int refuse_dtype(const call *c, const view *v)
{
    char why[ONE_BYTES];
    snprintf(why, sizeof why, "must have the dtype %s", binding_dtype_name(c->out_dtype));
    return refuse_view(c, v, PyExc_TypeError, why);
}

int call_raise(const call *c, tsr_status status)
{
    char both[TEXT_BYTES];
    describe_both(c, both, sizeof both);
    return binding_raise(c->state, status, both);
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

static int take(call *c, PyObject *object, const char *name, tsr_dtype shape_dtype, int writable, view *out)
{
    view_request request = argument_request(name, shape_dtype);
    request.writable = writable;
    request.has_stream = c->has_stream;
    request.stream = c->stream;
    const int status = view_take(c->state, object, &request, out);
    c->has_stream = request.has_stream;
    c->stream = request.stream;
    return status;
}

static int take_stream(call *c, const arguments *from)
{
    int64_t stream = 0;
    if (argument_int(from, ARG_STREAM, &stream) != 0)
        return -1;
    c->has_stream = from->at[ARG_STREAM] != NULL;
    c->stream = (intptr_t)stream;
    return 0;
}

static int take_factors(call *c, const arguments *from)
{
    c->alpha = 1;
    c->beta = from->at[ARG_C] ? 1 : 0; /* a C that is given is added unless beta says otherwise */
    return argument_double(from, ARG_ALPHA, &c->alpha) != 0 || argument_double(from, ARG_BETA, &c->beta) != 0 ? -1 : 0;
}

static void insert_dimension(view *v, int at)
{
    for (int i = v->ndim; i > at; i--) {
        v->shape[i] = v->shape[i - 1];
        v->strides[i] = v->strides[i - 1];
    }
    v->shape[at] = 1;
    v->strides[at] = 0;
    v->added = at;
    v->ndim++;
}

static int check_dtypes(call *c)
{
    if (c->a.dtype == TSR_DTYPE_NONE || c->b.dtype == TSR_DTYPE_NONE)
        return call_refuse(
            c, PyExc_TypeError,
            "Tessera multiplies float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8 and "
            "uint8, in this machine's byte order");
    if (c->a.dtype != c->b.dtype && (view_element_bytes(&c->a) > 1 || view_element_bytes(&c->b) > 1))
        return call_refuse(c, PyExc_TypeError, "dtypes differ; convert one: nothing is converted in silence");
    if (c->out_dtype == TSR_DTYPE_NONE)
        c->out_dtype = binding_result_dtype(c->a.dtype);
    return 0;
}

static int check_dims(call *c)
{
    if (c->a.ndim == 0 || c->b.ndim == 0)
        return call_refuse(c, PyExc_ValueError, "a matrix or a vector is wanted, not a scalar");
    if (c->a.ndim >= MOST_DIMS || c->b.ndim >= MOST_DIMS)
        return call_refuse(c, PyExc_ValueError, "at most %d dimensions", MOST_DIMS - 1);
    c->a_is_vector = c->a.ndim == 1;
    c->b_is_vector = c->b.ndim == 1;
    const int64_t columns = c->a.shape[c->a.ndim - 1], rows = c->b.shape[c->b_is_vector ? 0 : c->b.ndim - 2];
    if (columns != rows)
        return call_refuse(c, PyExc_ValueError, "a has %lld columns and b %lld rows, which must be as many",
                           (long long)columns, (long long)rows);
    return 0;
}

/* The product's batch dimensions: NumPy's rules of broadcasting. */
static int check_batch(call *c)
{
    const int batch_dims = c->a.ndim > c->b.ndim ? c->a.ndim - 2 : c->b.ndim - 2;
    for (int i = 0; i < batch_dims; i++) {
        const int at_a = i - (batch_dims - (c->a.ndim - 2)), at_b = i - (batch_dims - (c->b.ndim - 2));
        const int64_t a = at_a >= 0 ? c->a.shape[at_a] : 1, b = at_b >= 0 ? c->b.shape[at_b] : 1;
        if (a != b && a != 1 && b != 1)
            return call_refuse(c, PyExc_ValueError, "the batch dimensions %lld and %lld do not fit: as many, or one",
                               (long long)a, (long long)b);
        c->shape[c->ndim++] = a == 1 ? b : a;
    }
    return 0;
}

static int check_place(call *c, const view *v)
{
    const int gpu = c->a.prepared ? c->b.gpu : c->a.gpu;
    if (v->gpu == gpu || v->prepared)
        return 0;
    return call_refuse(c, PyExc_ValueError, "%s does not lie where the others do: all in host memory, or on one GPU",
                       v->name);
}

static int check_operands(call *c)
{
    if (check_dtypes(c) != 0 || check_dims(c) != 0 || check_place(c, &c->b) != 0)
        return -1;
    const int64_t m = c->a_is_vector ? 1 : c->a.shape[c->a.ndim - 2],
                  n = c->b_is_vector ? 1 : c->b.shape[c->b.ndim - 1];
    if (c->a_is_vector)
        insert_dimension(&c->a, 0);
    if (c->b_is_vector)
        insert_dimension(&c->b, 1);
    if (check_batch(c) != 0)
        return -1;
    if (!c->a_is_vector)
        c->shape[c->ndim++] = m;
    if (!c->b_is_vector)
        c->shape[c->ndim++] = n;
    return 0;
}

int call_begin(call *c, binding_state *state, const arguments *from)
{
    tsr_dtype dtype = TSR_DTYPE_NONE;
    c->state = state;
    c->has_c = 0;
    c->out = NULL;
    c->ndim = 0;
    c->out_dtype = TSR_DTYPE_NONE;
    c->device = NULL;
    memset(c->copies, 0, sizeof c->copies);
    memset(c->is_copied_on_gpu, 0, sizeof c->is_copied_on_gpu);
    c->a.has_buffer = c->b.has_buffer = c->c.has_buffer = c->d.has_buffer = 0;
    c->a.capsule = c->b.capsule = c->c.capsule = c->d.capsule = NULL;
    if (take_stream(c, from) != 0 || take_factors(c, from) != 0 || arguments_options(from, &c->options) != 0 ||
        argument_dtype(from, ARG_DTYPE, &dtype) != 0 || argument_dtype(from, ARG_OUT_DTYPE, &c->out_dtype) != 0 ||
        argument_text(from, ARG_DEVICE, &c->device) != 0)
        return -1;
    if (take(c, from->at[ARG_A], "a", dtype, 0, &c->a) != 0 || take(c, from->at[ARG_B], "b", dtype, 0, &c->b) != 0)
        return -1;
    if (from->at[ARG_C]) { /* a shape is of the result's dtype */
        const tsr_dtype result = c->out_dtype != TSR_DTYPE_NONE ? c->out_dtype : binding_result_dtype(c->a.dtype);
        if (take(c, from->at[ARG_C], "c", dtype == TSR_DTYPE_NONE ? dtype : result, 0, &c->c) != 0)
            return -1;
        c->has_c = 1;
    }
    c->out_given = from->at[ARG_OUT] != NULL;
    c->out = Py_XNewRef(from->at[ARG_OUT]);
    return check_operands(c);
}

void call_end(call *c)
{
    view_release(&c->a);
    view_release(&c->b);
    view_release(&c->c);
    view_release(&c->d);
    for (int i = 0; i < OPERANDS; i++)
        free(c->copies[i]);
    Py_CLEAR(c->out);
}

/* ---- D ----------------------------------------------------------------------------------------------------------- */

/* D's view, and C's, as matrices; C may have fewer dimensions than the product, or ones. */
static int fit_output(call *c)
{
    if (c->a_is_vector)
        insert_dimension(&c->d, c->d.ndim - (c->b_is_vector ? 0 : 1));
    if (c->b_is_vector)
        insert_dimension(&c->d, c->d.ndim);
    if (!c->has_c)
        return c->beta != 0 && !c->out_given ? call_refuse(c, PyExc_ValueError, "beta is not 0, but there is no c") : 0;
    if (c->c.dtype != c->out_dtype)
        return refuse_dtype(c, &c->c);
    int fits = c->c.ndim <= c->ndim;
    for (int i = 0; fits && i < c->c.ndim; i++)
        fits = c->c.shape[i] == 1 || c->c.shape[i] == c->shape[c->ndim - c->c.ndim + i];
    if (!fits)
        return refuse_view(c, &c->c, PyExc_ValueError, "does not fit the result");
    if (c->a_is_vector && (c->b_is_vector || c->c.ndim > 0))
        insert_dimension(&c->c, c->c.ndim - (c->b_is_vector ? 0 : 1));
    if (c->b_is_vector)
        insert_dimension(&c->c, c->c.ndim);
    while (c->c.ndim < 2)
        insert_dimension(&c->c, 0);
    return check_place(c, &c->c);
}

static PyObject *shape_tuple(const call *c)
{
    PyObject *shape = PyTuple_New(c->ndim);
    for (int i = 0; shape && i < c->ndim; i++) {
        PyObject *extent = PyLong_FromLongLong(c->shape[i]);
        if (!extent || PyTuple_SetItem(shape, i, extent) != 0)
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *new_output(call *c)
{
    PyObject *like = c->a.prepared ? c->b.object : c->a.object, *out = NULL;
    PyObject *dtype = c->state->dtypes[c->out_dtype], *shape = shape_tuple(c);
    if (shape && (PyObject *)Py_TYPE(like) == c->state->numpy_array && dtype)
        out = PyObject_CallFunctionObjArgs(c->state->numpy_empty, shape, dtype, NULL);
    else if (shape)
        out = PyObject_CallMethod(c->state->helpers, "empty", "OOs", like, shape, binding_dtype_name(c->out_dtype));
    Py_XDECREF(shape);
    return out;
}

/* The message tells the shape that out must have. */
static int refuse_shape(const call *c)
{
    char why[ONE_BYTES] = "does not have the result's shape, ";
    const size_t used = strlen(why);
    shape_describe(c->ndim, c->shape, -1, why + used, sizeof why - used);
    return refuse_view(c, &c->d, PyExc_ValueError, why);
}

static int check_given(call *c)
{
    int fits = c->d.ndim == c->ndim;
    for (int i = 0; fits && i < c->ndim; i++)
        fits = c->d.shape[i] == c->shape[i];
    if (c->d.dtype != c->out_dtype)
        return refuse_dtype(c, &c->d);
    return fits ? check_place(c, &c->d) : refuse_shape(c);
}

int call_output_shape(call *c)
{
    if (!shape_fits(c->ndim, c->shape, c->out_dtype))
        return call_refuse(c, PyExc_ValueError, "the result has more than 2^63 - 1 bytes");
    view_shape(&c->d, "out", c->out_dtype, c->ndim, c->shape);
    if (c->out && take(c, c->out, "out", c->out_dtype, 0, &c->d) != 0)
        return -1;
    c->d.gpu = c->a.prepared ? c->b.gpu : c->a.gpu;
    return c->out && check_given(c) != 0 ? -1 : fit_output(c);
}

int call_output(call *c)
{
    if (!c->out)
        c->out = new_output(c);
    if (!c->out || take(c, c->out, "out", TSR_DTYPE_NONE, 1, &c->d) != 0)
        return -1;
    if (check_given(c) != 0) /* what another library made, too */
        return -1;
    return fit_output(c);
}

/* ---- the run -------------------------------------------------------------------------------------------------------
 */

static const char *prepared_device(const call *c)
{
    const prepared_object *prepared = c->a.prepared ? c->a.prepared : c->b.prepared;
    return prepared && prepared->device[0] ? prepared->device : NULL;
}

int call_open(call *c)
{
    const int gpu = c->a.prepared ? c->b.gpu : c->a.gpu;
    if (gpu >= 0) {
        snprintf(c->device_name, sizeof c->device_name, "cuda:%d", gpu);
        if (c->device && strcmp(c->device, c->device_name) != 0)
            return call_refuse(c, PyExc_ValueError, "device = \"%.20s\", but the operands lie on %s", c->device,
                               c->device_name);
        c->device = c->device_name;
    }
    if (!c->device)
        c->device = prepared_device(c);
    c->context = binding_context(c->state, c->device);
    return c->context ? 0 : -1;
}

static product_fit make(call *c)
{
    const view *operands[OPERANDS] = {&c->a, &c->b, c->has_c && c->beta != 0 ? &c->c : NULL, &c->d};
    return product_make(&c->product, operands, &c->options);
}

int call_product(call *c)
{
    static const char *const names[] = {
        [PRODUCT_COPY_A] = "a", [PRODUCT_COPY_B] = "b", [PRODUCT_COPY_C] = "c", [PRODUCT_COPY_D] = "out"};
    const product_fit fit = make(c);
    if (fit == PRODUCT_OK)
        return 0;
    return call_refuse(c, PyExc_ValueError,
                       "%s lies in memory in a way that would need a copy: rows or columns must be contiguous%s, and "
                       "elements lie at multiples of their size",
                       names[fit], fit == PRODUCT_COPY_C ? ", as out's are" : "");
}

/* The emulator and GPUs take longer than that for any product. */
static int keeps_gil(const call *c, const product *p, tsr_plan *plan)
{
    const char *kernel = plan ? tsr_plan_kernel(plan) : c->options.kernel;
    return c->d.gpu < 0 && product_work(p) <= WORK_WITH_GIL && (!kernel || strncmp(kernel, "cpu", 3) == 0) &&
           (plan || binding_is_cpu(c->state, c->context));
}

static tsr_status run_unlocked(call *c, const product *p, tsr_plan *plan, workspace *w)
{
    const product_run_args args = {.operands = {&c->a, &c->b, c->has_c && c->beta != 0 ? &c->c : NULL, &c->d},
                                   .alpha = c->alpha,
                                   .beta = c->beta,
                                   .stream = (void *)c->stream,
                                   .workspace = w};
    if (!w && keeps_gil(c, p, plan))
        return product_run(p, c->context, plan, &args);
    tsr_status status;
    Py_BEGIN_ALLOW_THREADS status = product_run(p, c->context, plan, &args);
    Py_END_ALLOW_THREADS return status;
}

tsr_status call_make_plan(const call *c, tsr_plan **plan)
{
    tsr_status status;
    Py_BEGIN_ALLOW_THREADS status = tsr_plan_create(c->context, &c->product.desc, plan);
    Py_END_ALLOW_THREADS return status;
}

tsr_status call_run_plan(call *c, const product *p, tsr_plan *plan)
{
    const size_t bytes = c->d.gpu >= 0 ? tsr_plan_workspace_bytes(plan) : 0;
    workspace *w = bytes ? binding_workspace(c->state, c->context, (void *)c->stream, bytes) : NULL;
    return bytes && !w ? TSR_OUT_OF_MEMORY : run_unlocked(c, p, plan, w);
}

/* GPU operands: their workspace is known from the plan. */
static tsr_status run_on_gpu(call *c)
{
    tsr_plan *plan = NULL;
    tsr_status status = call_make_plan(c, &plan);
    if (status == TSR_OK)
        status = call_run_plan(c, &c->product, plan);
    tsr_plan_release(plan);
    return status;
}

static tsr_status run_made(call *c)
{
    return c->d.gpu >= 0 ? run_on_gpu(c) : run_unlocked(c, &c->product, NULL, NULL);
}

static void copy_elements(const view *to, const view *from)
{
    if (view_elements(to) <= COPIED_WITH_GIL) {
        view_copy(to, from);
        return;
    }
    Py_BEGIN_ALLOW_THREADS view_copy(to, from);
    Py_END_ALLOW_THREADS
}

/* A tight copy of an operand in host memory takes its place. */
static int copy_operand(call *c, int which, view *v)
{
    view tight;
    const int64_t bytes = view_elements(v) * view_element_bytes(v);
    view_shape(&tight, v->name, v->dtype, v->ndim, v->shape);
    tight.data = c->copies[which] = malloc(bytes ? (size_t)bytes : 1);
    if (!tight.data) {
        PyErr_NoMemory();
        return -1;
    }
    copy_elements(&tight, v);
    v->data = tight.data;
    memcpy(v->strides, tight.strides, sizeof v->strides);
    return 0;
}

/* A copy of a GPU's tensor by its own framework, on the stream of the product: the framework gives memory that is let
 * go of to later work of the stream that it was allocated on. */
static int copy_on_gpu(call *c, int which, view *v)
{
    if (c->is_copied_on_gpu[which])
        return call_refuse(c, PyExc_ValueError, "%s lies on a GPU, and its library's copy has no tight rows", v->name);
    c->is_copied_on_gpu[which] = 1;
    PyObject *object = v->object,
             *copied = PyObject_CallMethod(c->state->helpers, "contiguous", "On", object, (Py_ssize_t)c->stream);
    const int ndim = v->ndim;
    view_release(v);
    if (!copied)
        return -1;
    const int status = take(c, copied, v->name, TSR_DTYPE_NONE, 0, v);
    v->object = object;
    Py_DECREF(copied); /* the capsule keeps its memory */
    if (status == 0 && v->ndim < ndim)
        insert_dimension(v, v == &c->b ? 1 : 0);
    return status;
}

static int run_through_copy(call *c);

/* C's elements into D, which then is C: into a copy of an out that was given, as the product may yet fail. */
static int copy_c(call *c)
{
    if (c->d.gpu >= 0)
        return call_refuse(
            c, PyExc_ValueError,
            "c lies on a GPU in another way than out, or repeats elements; copy it to out and leave c out");
    if (c->out_given)
        return run_through_copy(c);
    copy_elements(&c->d, &c->c);
    c->has_c = 0;
    return call_run(c);
}

/* D in other memory first: it lies as no descriptor can say, shares elements with an operand, or is not C yet. */
static int run_through_copy(call *c)
{
    view out = c->d;
    const view *before = c->has_c ? &c->c : &c->d;
    if (out.gpu >= 0)
        return call_refuse(
            c, PyExc_ValueError,
            "out lies on a GPU with gaps both in rows and in columns, or shares elements with an operand");
    view tight;
    view_shape(&tight, "out", c->d.dtype, c->d.ndim, c->d.shape);
    tight.data = c->copies[OPERAND_D] = malloc((size_t)(view_elements(&tight) * view_element_bytes(&tight)) + 1);
    if (!tight.data) {
        PyErr_NoMemory();
        return -1;
    }
    if (c->beta != 0)
        copy_elements(&tight, before);
    out.has_buffer = 0; /* D's view goes on to own the caller's memory */
    memcpy(c->d.strides, tight.strides, sizeof c->d.strides);
    c->d.data = tight.data;
    c->has_c = 0;
    if (call_run(c) != 0)
        return -1;
    copy_elements(&out, &c->d);
    return 0;
}

static int shares_memory(const call *c)
{
    return views_meet(&c->a, &c->d) || views_meet(&c->b, &c->d) || (c->has_c && views_meet(&c->c, &c->d));
}

/* On a GPU no copy can be made of misaligned elements: no kernel can read them, the framework's neither. */
static int check_aligned(const call *c)
{
    const view *const views[] = {&c->a, &c->b, c->has_c ? &c->c : &c->d, &c->d};
    for (int i = 0; i < OPERANDS; i++)
        if (views[i]->gpu >= 0 && !view_is_aligned(views[i]))
            return call_refuse(c, PyExc_ValueError,
                               "%s has elements at addresses on a GPU that are not multiples of their size",
                               views[i]->name);
    return 0;
}

static int copy_input(call *c, int which, view *v)
{
    const int status = v->gpu >= 0 ? copy_on_gpu(c, which, v) : copy_operand(c, which, v);
    return status == 0 ? call_run(c) : -1;
}

static int copy_for(call *c, product_fit fit)
{
    if (check_aligned(c) != 0)
        return -1;
    switch (fit) {
    case PRODUCT_COPY_A:
        return copy_input(c, OPERAND_A, &c->a);
    case PRODUCT_COPY_B:
        return copy_input(c, OPERAND_B, &c->b);
    case PRODUCT_COPY_C:
        return copy_c(c);
    default:
        return run_through_copy(c);
    }
}

int call_overlaps(const call *c, const product *p, int (*share)(const view *, const view *))
{
    if (p->loop_dims == 0)
        return 0;
    return share(&c->a, &c->d) || share(&c->b, &c->d) ||
           (c->has_c && c->beta != 0 && !views_are_equal(&c->c, &c->d) && share(&c->c, &c->d));
}

int call_run(call *c)
{
    if (c->d.ndim > 2 && view_elements(&c->d) == 0)
        return 0;
    const product_fit fit = make(c);
    if (fit != PRODUCT_OK)
        return copy_for(c, fit);
    /* The library sees one product at a time, and might refuse one after others have run: where a copy is possible, it
     * is made of whatever meets. */
    if (call_overlaps(c, &c->product, c->d.gpu >= 0 ? views_share : views_meet))
        return run_through_copy(c);
    const tsr_status status = run_made(c);
    if (status == TSR_OK)
        return 0;
    if (PyErr_Occurred())
        return -1;
    /* The library knows best which views of one buffer share elements, and has written nothing. */
    if (status == TSR_INVALID_ARGUMENT && !c->copies[OPERAND_D] && shares_memory(c))
        return run_through_copy(c);
    return call_raise(c, status);
}

static int is_waited_for(const call *c, PyObject *object)
{
    PyObject *waits = object ? PyObject_CallMethod(c->state->helpers, "waits", "O", object) : Py_NewRef(Py_False);
    const int is_true = waits ? PyObject_IsTrue(waits) : -1;
    Py_XDECREF(waits);
    return is_true;
}

/* Until a product on a GPU is done, if an operand's library could not know when it is. JAX is the one that cannot. */
static int wait_for(const call *c)
{
    PyObject *const objects[] = {c->a.prepared ? NULL : c->a.object, c->b.prepared ? NULL : c->b.object,
                                 c->has_c ? c->c.object : NULL, c->out};
    int waits = 0;
    if (c->d.gpu < 0 || !PyDict_GetItemString(PyImport_GetModuleDict(), "jax"))
        return 0;
    for (size_t i = 0; i < sizeof objects / sizeof objects[0] && waits == 0; i++)
        waits = is_waited_for(c, objects[i]);
    if (waits <= 0)
        return waits;
    tsr_status status;
    Py_BEGIN_ALLOW_THREADS status = tsr_synchronize(c->context, (void *)c->stream);
    Py_END_ALLOW_THREADS return status == TSR_OK ? 0 : call_raise(c, status);
}

PyObject *call_result(call *c)
{
    PyObject *like = c->a.prepared ? c->b.object : c->a.object;
    if (wait_for(c) != 0)
        return NULL;
    PyObject *none_made = c->out_given || (PyObject *)Py_TYPE(like) == c->state->numpy_array ? Py_NewRef(c->out) : NULL;
    if (none_made && c->ndim == 0 && !c->out_given) { /* a scalar, as NumPy's product of two vectors is */
        PyObject *nothing = PyTuple_New(0), *scalar = nothing ? PyObject_GetItem(none_made, nothing) : NULL;
        Py_XDECREF(nothing);
        Py_DECREF(none_made);
        return scalar;
    }
    if (none_made)
        return none_made;
    return PyObject_CallMethod(c->state->helpers, "result", "OO", like, c->out);
}
