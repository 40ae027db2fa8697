/* Handles of keyed state: their attributes, and the column of the current cell. */
#ifndef HEADGATE_HANDLES_H
#define HEADGATE_HANDLES_H

#include "cells.h"

typedef struct {
    PyObject_HEAD
    PyObject *name, *owner, *fitting, *type_check;
    PyObject *more; /* of a map: `_fitting_key`; of reducing state: `_combine`; of aggregating state: `_function` */
    Current *current;
    Py_ssize_t column;
} Handle;

/* Return the content of the column, a new reference, or NULL with an exception. */
static inline PyObject *get_content(Handle *self) { return get_at(self->current, self->column); }

/* Set the content of the column. Returns -1 with an exception. */
static inline int set_content(Handle *self, PyObject *content) { return set_at(self->current, self->column, content); }

static inline int fits(Handle *self, PyObject *value) { return (PyObject *)Py_TYPE(value) == self->fitting; }

/* Whether the arguments of a method are so many, all by position. */
static inline int are_positional(Py_ssize_t count, PyObject *names, Py_ssize_t wanted) {
    return count == wanted && names == NULL;
}

/* Call the Python method that a method here stands in for: what is rare is left to it, with its errors. */
PyObject *as_in_python(Handle *self, const char *method, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* Return the value as one of the declared type, a new reference, or NULL with an exception. The value is not None. */
static inline PyObject *fitted(Handle *self, PyObject *value) {
    if (fits(self, value)) return Py_NewRef(value);
    PyObject *fit = attribute_of((PyObject *)self, "_fit");
    PyObject *result = fit == NULL ? NULL : call_one(fit, value);
    Py_XDECREF(fit);
    return result;
}

/* Set the content to a new reference, and return None; NULL: there is an exception. */
static inline PyObject *stored(Handle *self, PyObject *content) {
    if (content == NULL) return NULL;
    int failed = set_content(self, content);
    Py_DECREF(content);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}

#define METHOD(function) FASTCALL(function) | METH_KEYWORDS

extern PyMethodDef value_methods[], reducing_methods[], aggregating_methods[], list_methods[], map_methods[];

#endif
