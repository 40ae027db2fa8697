/* Handles of state with one object: value, reducing and aggregating state. */
#include "handles.h"

PyDoc_STRVAR(clear_doc, "clear()\n--\n\nRemove the state of the current key.");

static PyObject *single_clear(Handle *self, PyObject *Py_UNUSED(ignored)) {
    if (set_content(self, Py_None) < 0) return NULL;
    PyObject *cell = any_cell(self->current), *emptied = self->current->emptied;
    int failed = cell == NULL || emptied == NULL || PyList_Append(emptied, cell) < 0;
    Py_XDECREF(cell);
    if (!failed) Py_RETURN_NONE;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "emptied");
    return NULL;
}

PyDoc_STRVAR(value_doc, "value()\n--\n\nReturn the value of the current key, None if it has none.");

static PyObject *value_value(Handle *self, PyObject *Py_UNUSED(ignored)) { return get_content(self); }

PyDoc_STRVAR(update_doc, "update(value)\n--\n\nSet the value of the current key; None clears it.\n\n"
                         "Raises `StateAccessError` for a value of another type.");

static inline PyObject *update(Handle *self, PyObject *value) {
    if (value == Py_None) return single_clear(self, NULL);
    return stored(self, fitted(self, value));
}

static PyObject *value_update(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (!are_positional(count, names, 1)) return as_in_python(self, "update", args, count, names);
    return update(self, args[0]);
}

PyObject *handle_value(PyObject *handle) { return get_content((Handle *)handle); }

int handle_update(PyObject *handle, PyObject *value) {
    return discard(update((Handle *)handle, value));
}

PyMethodDef value_methods[] = {
    {"value", (PyCFunction)value_value, METH_NOARGS, value_doc},
    {"update", METHOD(value_update), update_doc},
    {"clear", (PyCFunction)single_clear, METH_NOARGS, clear_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(reducing_get_doc, "get()\n--\n\nReturn the combined value, None if nothing was added.");
PyDoc_STRVAR(reducing_add_doc, "add(value)\n--\n\nCombine the current value with `value`. None clears the state.\n\n"
                               "Raises `StateAccessError` if the combined value is not of the declared type.");

static PyObject *reducing_add(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (!are_positional(count, names, 1) || args[0] == Py_None) return as_in_python(self, "add", args, count, names);
    PyObject *so_far = get_content(self), *combined;
    if (so_far == NULL) return NULL;
    combined = so_far == Py_None ? Py_NewRef(args[0]) : call_two(self->more, so_far, args[0]);
    Py_DECREF(so_far);
    if (combined == NULL) return NULL;
    PyObject *none = update(self, combined);
    Py_DECREF(combined);
    return none;
}

PyMethodDef reducing_methods[] = {
    {"get", (PyCFunction)value_value, METH_NOARGS, reducing_get_doc},
    {"add", METHOD(reducing_add), reducing_add_doc},
    {"clear", (PyCFunction)single_clear, METH_NOARGS, clear_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(aggregating_get_doc, "get()\n--\n\nReturn the result of the added values, None if nothing was added.");

static PyObject *aggregating_get(Handle *self, PyObject *Py_UNUSED(ignored)) {
    PyObject *accumulator = get_content(self);
    if (accumulator == NULL || accumulator == Py_None) return accumulator;
    PyObject *get_result = attribute_of(self->more, "get_result");
    PyObject *result = get_result == NULL ? NULL : call_one(get_result, accumulator);
    Py_XDECREF(get_result);
    Py_DECREF(accumulator);
    return result;
}

/* Return the accumulator with a value added, a new reference, or NULL with an exception. */
static PyObject *accumulated(Handle *self, PyObject *value) {
    PyObject *accumulator = get_content(self), *add, *result = NULL;
    if (accumulator == Py_None) Py_SETREF(accumulator, call_method(self->more, "create_accumulator", "()"));
    if (accumulator == NULL) return NULL;
    if ((add = attribute_of(self->more, "add")) != NULL) result = call_two(add, value, accumulator);
    Py_XDECREF(add);
    Py_DECREF(accumulator);
    if (result != Py_None) return result;
    Py_DECREF(result);
    PyObject *error = call_method((PyObject *)self, "_no_accumulator", "()");
    if (error != NULL) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

PyDoc_STRVAR(aggregating_add_doc, "add(value)\n--\n\nAdd a value to the accumulator. None clears the state.\n\n"
                                  "Raises `ProgramError` if the aggregate function returns None for the accumulator,\n"
                                  "and `StateAccessError` if the accumulator is not of the declared type.");

static PyObject *aggregating_add(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (!are_positional(count, names, 1) || args[0] == Py_None) return as_in_python(self, "add", args, count, names);
    PyObject *accumulator = accumulated(self, args[0]);
    if (accumulator == NULL) return NULL;
    PyObject *none = stored(self, fitted(self, accumulator));
    Py_DECREF(accumulator);
    return none;
}

PyMethodDef aggregating_methods[] = {
    {"get", (PyCFunction)aggregating_get, METH_NOARGS, aggregating_get_doc},
    {"add", METHOD(aggregating_add), aggregating_add_doc},
    {"clear", (PyCFunction)single_clear, METH_NOARGS, clear_doc},
    {NULL, NULL, 0, NULL},
};
