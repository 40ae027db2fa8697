/* headgate._native: loops of the hot path in C. Each function has the results, the errors and the copies of the Python
 * code that it stands in for, which runs where this module is missing.
 *
 * All state is in the state of the module: no variable that changes is static. */
#ifndef HEADGATE_NATIVE_H
#define HEADGATE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#ifdef Py_GIL_DISABLED
#error "reference counts do not tell who holds an object in a build without the global interpreter lock"
#endif

extern PyType_Spec ownership_spec;
extern PyMethodDef routing_methods[];

/* Return f(a), a new reference, or NULL with an exception. */
static inline PyObject *call_one(PyObject *f, PyObject *a) {
    PyObject *args[2] = {NULL, a};
    return PyObject_Vectorcall(f, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Return whether f(a) is true, or -1 with an exception. */
static inline int call_truth(PyObject *f, PyObject *a) {
    PyObject *result = call_one(f, a);
    if (result == NULL) return -1;
    int is_true = PyObject_IsTrue(result);
    Py_DECREF(result);
    return is_true;
}

#endif
