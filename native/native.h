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

#ifndef Py_T_OBJECT_EX /* before Python 3.12 */
#include <structmember.h>
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

typedef struct {
    PyTypeObject *ownership, *current;
} State;

extern struct PyModuleDef native_module;
extern PyType_Spec ownership_spec, current_spec;
extern PyMethodDef routing_methods[], handle_methods[];

/* The state of the module, by one of its types. NULL with an exception. */
static inline State *state_of(PyTypeObject *type) {
    PyObject *module = PyType_GetModuleByDef(type, &native_module);
    return module == NULL ? NULL : PyModule_GetState(module);
}

/* The cell of the current key. Either is NULL once garbage collection has taken the object apart. */
typedef struct {
    PyObject_HEAD
    PyObject *cell, *emptied; /* `emptied` is a list */
} Current;

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
