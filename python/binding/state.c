#include "binding/state.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    tsr_dtype dtype;
    const char *name, *others[4]; /* Tessera's name, NumPy's short one */
} dtype_names[] = {
    {TSR_F64, "float64", {"f64", "f8", "double", "float"}},
    {TSR_F32, "float32", {"f32", "f4", "single"}},
    {TSR_F16, "float16", {"f16", "f2", "half"}},
    {TSR_BF16, "bfloat16", {"bf16"}},
    {TSR_E4M3, "float8_e4m3fn", {"e4m3"}},
    {TSR_E5M2, "float8_e5m2", {"e5m2"}},
    {TSR_S8, "int8", {"s8", "i1"}},
    {TSR_U8, "uint8", {"u8", "u1"}},
    {TSR_S32, "int32", {"s32", "i4"}},
};
enum { DTYPE_NAMES = sizeof dtype_names / sizeof dtype_names[0] };

const char *binding_dtype_name(tsr_dtype dtype)
{
    for (int i = 0; i < DTYPE_NAMES; i++)
        if (dtype_names[i].dtype == dtype)
            return dtype_names[i].name;
    return "?";
}

static tsr_dtype dtype_of_text(const char *text)
{
    const char *dot = strrchr(text, '.'); /* "torch.float32" */
    const char *name = dot ? dot + 1 : text;
    for (int i = 0; i < DTYPE_NAMES; i++) {
        if (strcmp(name, dtype_names[i].name) == 0)
            return dtype_names[i].dtype;
        for (int j = 0; j < 4 && dtype_names[i].others[j]; j++)
            if (strcmp(name, dtype_names[i].others[j]) == 0)
                return dtype_names[i].dtype;
    }
    return TSR_DTYPE_NONE;
}

/* The text of an attribute, or NULL without an error where there is none. */
static PyObject *text_attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value && PyUnicode_Check(value))
        return value;
    Py_XDECREF(value);
    PyErr_Clear();
    return NULL;
}

tsr_dtype binding_dtype(PyObject *object)
{
    PyObject *text = NULL;
    if (PyUnicode_Check(object))
        text = Py_NewRef(object);
    if (!text)
        text = text_attribute(object, "name"); /* numpy.dtype */
    if (!text && PyType_Check(object))
        text = text_attribute(object, "__name__"); /* numpy.float32 */
    if (!text)
        text = PyObject_Str(object); /* torch.float32 */
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    const tsr_dtype dtype = utf8 ? dtype_of_text(utf8) : TSR_DTYPE_NONE;
    Py_XDECREF(text);
    return dtype;
}

tsr_dtype binding_result_dtype(tsr_dtype operands)
{
    if (operands == TSR_S8 || operands == TSR_U8)
        return TSR_S32;
    return operands == TSR_E4M3 || operands == TSR_E5M2 ? TSR_F32 : operands;
}

int binding_raise(binding_state *state, tsr_status status, const char *what)
{
    PyObject *type = status == TSR_INVALID_ARGUMENT ? PyExc_ValueError
                     : status == TSR_UNSUPPORTED    ? PyExc_NotImplementedError
                     : status == TSR_OUT_OF_MEMORY  ? PyExc_MemoryError
                                                    : state->error;
    const char *message = tsr_last_error();
    PyErr_Format(type, "%s%s%s%s", message[0] ? message : tsr_status_text(status), what ? " (" : "", what ? what : "",
                 what ? ")" : "");
    return -1;
}

tsr_context *binding_context(binding_state *state, const char *device)
{
    tsr_context *context = NULL;
    const char *name = device ? device : "";
    if (device && !*device) {
        PyErr_SetString(PyExc_ValueError, "device '' is none of \"auto\", \"cpu\", \"cuda:N\" and \"emu\"");
        return NULL;
    }
    for (int i = 0; i < state->context_count; i++)
        if (strcmp(state->contexts[i].device, name) == 0)
            return state->contexts[i].context;
    if (strlen(name) >= DEVICE_NAME_BYTES || state->context_count == MOST_CONTEXTS) {
        PyErr_Format(PyExc_ValueError, "device '%.100s' is none of \"auto\", \"cpu\", \"cuda:N\" and \"emu\"", name);
        return NULL;
    }
    const tsr_status status = device ? tsr_context_create(device, NULL, &context) : tsr_default_context(&context);
    if (status != TSR_OK) {
        binding_raise(state, status, NULL);
        return NULL;
    }
    const char *opened = device ? device : getenv("TESSERA_DEVICE"); /* as tsr_default_context reads it */
    strcpy(state->contexts[state->context_count].device, name);
    state->contexts[state->context_count].is_cpu =
        !opened || !*opened || strcmp(opened, "cpu") == 0 || strcmp(opened, "auto") == 0;
    state->contexts[state->context_count++].context = context;
    return context;
}

int binding_is_cpu(const binding_state *state, const tsr_context *context)
{
    for (int i = 0; i < state->context_count; i++)
        if (state->contexts[i].context == context)
            return state->contexts[i].is_cpu;
    return 0;
}

static workspace *workspace_new(tsr_context *context, void *stream)
{
    workspace *const w = PyMem_Calloc(1, sizeof *w);
    if (!w || pthread_mutex_init(&w->lock, NULL) != 0) {
        PyMem_Free(w);
        PyErr_NoMemory();
        return NULL;
    }
    w->context = context;
    w->stream = stream;
    return w;
}

/* The old memory stays allocated: a CUDA graph that was captured with it may be replayed at any time. Each size is at
 * least twice the last, so that all old ones together are smaller than the new one. */
static tsr_status workspace_grow(workspace *w, size_t bytes)
{
    void *memory = NULL;
    const size_t grown = bytes > 2 * w->bytes ? bytes : 2 * w->bytes;
    const tsr_status status = tsr_device_alloc(w->context, grown, &memory);
    if (status != TSR_OK)
        return status;
    pthread_mutex_lock(&w->lock);
    w->memory = memory;
    w->bytes = grown;
    pthread_mutex_unlock(&w->lock);
    return TSR_OK;
}

workspace *binding_workspace(binding_state *state, tsr_context *context, void *stream, size_t bytes)
{
    workspace *w = state->workspaces;
    while (w && (w->context != context || w->stream != stream))
        w = w->next;
    if (!w) {
        w = workspace_new(context, stream);
        if (!w)
            return NULL;
        w->next = state->workspaces;
        state->workspaces = w;
    }
    const tsr_status status = w->bytes < bytes ? workspace_grow(w, bytes) : TSR_OK;
    if (status == TSR_OK)
        return w;
    binding_raise(state, status, "workspace");
    return NULL;
}
