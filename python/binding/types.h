/* The module's types. */
#ifndef BINDING_TYPES_H
#define BINDING_TYPES_H

#include "binding/call.h"

PyTypeObject *plan_type_make(PyObject *module);
PyTypeObject *prepared_type_make(PyObject *module);

/* prepare(operand, ...): a new Prepared, or NULL with a Python error. */
PyObject *prepared_make(binding_state *state, const arguments *from);

#endif
