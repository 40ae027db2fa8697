/* Objects that refer to others: what the garbage collection asks of their types.
 *
 * A file says where the objects of a type have their references: OBJECTS(self) is a list of the places of all of them,
 * as `{&(self)->first, &(self)->second}`. */
#ifndef HEADGATE_OBJECTS_H
#define HEADGATE_OBJECTS_H

#include "native.h"

/* The places, and their number: two arguments for the functions below. */
#define ALL(list) (PyObject **const[])list, sizeof((PyObject **const[])list) / sizeof(PyObject **)

/* Visit the type of an object, and what it refers to: a tp_traverse. */
static inline int visit_all(void *self, visitproc visit, void *arg, PyObject **const *places, size_t count) {
    Py_VISIT(Py_TYPE(self));
    for (size_t i = 0; i < count; i++) Py_VISIT(*places[i]);
    return 0;
}

/* Put None into the places, and not NULL: a finaliser may still call a method, which raises then. For a tp_clear. */
static inline int forget_all(PyObject **const *places, size_t count) {
    for (size_t i = 0; i < count; i++) Py_XSETREF(*places[i], Py_NewRef(Py_None));
    return 0;
}

/* Let go of an object: a tp_dealloc. */
static inline void free_with_all(void *self, PyObject **const *places, size_t count) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (size_t i = 0; i < count; i++) Py_XDECREF(*places[i]);
    type->tp_free(self);
    Py_DECREF(type);
}

#endif
