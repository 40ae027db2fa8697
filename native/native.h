/* headgate._native: loops of the hot path in C. Each function has the results, the errors and the copies of the Python
 * code that it stands in for, which runs where this module is missing.
 *
 * All state is in the state of the module: no variable that changes is static. */
#ifndef HEADGATE_NATIVE_H
#define HEADGATE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <string.h>

#ifdef Py_GIL_DISABLED
#error "reference counts do not tell who holds an object in a build without the global interpreter lock"
#endif

#ifndef Py_T_OBJECT_EX /* before Python 3.12 */
#include <structmember.h>
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_T_BOOL T_BOOL
#define Py_READONLY READONLY
#endif

/* The CRC of _native.pyi. Python code refuses a module with another one than its own. */
#define INTERFACE "d64938b4"

typedef struct {
    PyTypeObject *ownership, *current, *call, *timer_index, *due, *due_keys, *due_times;
} State;

extern struct PyModuleDef native_module;
extern PyType_Spec ownership_spec, current_spec, call_spec, keyed_loop_spec, record_loop_spec, codec_spec;
extern PyType_Spec timer_index_spec, due_spec, timers_spec, session_loop_spec, emission_spec, single_column_spec;
extern PyType_Spec due_keys_spec, due_times_spec, step_spec;
extern PyMethodDef routing_methods[], handle_methods[], pane_methods[], key_methods[], cache_methods[];

/* The state of the module, by one of its types. NULL with an exception. */
static inline State *state_of(PyTypeObject *type) {
    PyObject *module = PyType_GetModuleByDef(type, &native_module);
    return module == NULL ? NULL : PyModule_GetState(module);
}

/* A method that takes its arguments as an array, for a table of methods. */
#define FASTCALL(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL

/* Return whether a method has got as many arguments as it takes; else there is an exception. */
static inline int takes(const char *name, Py_ssize_t wanted, Py_ssize_t count) {
    if (count == wanted) return 1;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, wanted, count);
    return 0;
}

/* Return the place of a name in a list that ends with NULL, or -1 with an exception. */
static inline int kind_named(const char *what, const char *const *names, const char *name) {
    for (int at = 0; names[at] != NULL; at++)
        if (strcmp(names[at], name) == 0) return at;
    PyErr_Format(PyExc_ValueError, "no kind of %s is named %s", what, name);
    return -1;
}

/* Let go of the result of a call. Returns -1 if there is none, but an exception. */
static inline int discard(PyObject *result) {
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Return an attribute, a new reference, or NULL with an exception. Its name is the one object that all use for it: Python
 * keeps thousands of names by which attributes of classes were looked up, and finds attributes by the same objects. */
static inline PyObject *attribute_of(PyObject *object, const char *name) {
    PyObject *interned = PyUnicode_InternFromString(name);
    PyObject *found = interned == NULL ? NULL : PyObject_GetAttr(object, interned);
    Py_XDECREF(interned);
    return found;
}

/* Call a method with arguments as for `Py_BuildValue`, whose format is that of a tuple: a new reference, or NULL with an
 * exception. */
static inline PyObject *call_method(PyObject *object, const char *name, const char *format, ...) {
    PyObject *method = attribute_of(object, name), *args = NULL;
    va_list values;
    va_start(values, format);
    if (method != NULL) args = Py_VaBuildValue(format, values);
    va_end(values);
    PyObject *result = args == NULL ? NULL : PyObject_CallObject(method, args);
    Py_XDECREF(args);
    Py_XDECREF(method);
    return result;
}

/* Who may have a record without a copy: see ownership.c. */
typedef struct Ownership Ownership;

/* Append the results of one call to a list. `ownership`: NULL appends them as they are. `given`: the references to
 * `results` that the caller has. Returns -1 with an exception. */
int append_results(Ownership *ownership, PyObject *out, PyObject *results, Py_ssize_t given);

/* Append one record, to which the caller has the only reference of ours, in the same way. */
int append_one(Ownership *ownership, PyObject *out, PyObject *record);

/* The function by which an operator adds the results of a call to a list, as `Passing.extend`. */
typedef struct {
    PyObject *function;
    Ownership *ownership; /* the owner of `function`, or NULL */
    int is_by_reference;  /* whether it is `list.extend` */
} Extend;

/* Take over a function, which the caller owns from then on. Returns -1 with an exception. */
int extend_by(Extend *extend, State *state, PyObject *function);

/* Append what a call has returned, to which the caller has the only reference of ours. Returns -1 with an exception. */
static inline int extend_with(const Extend *extend, PyObject *out, PyObject *results) {
    if (results == Py_None) return 0;
    if (extend->ownership != NULL || extend->is_by_reference)
        return append_results(extend->ownership, out, results, 1);
    return discard(PyObject_CallFunctionObjArgs(extend->function, out, results, NULL));
}

/* Append one record, to which the caller has the only reference of ours. Returns -1 with an exception. */
static inline int extend_with_one(const Extend *extend, PyObject *out, PyObject *record) {
    if (extend->ownership != NULL || extend->is_by_reference) return append_one(extend->ownership, out, record);
    return discard(PyObject_CallFunction(extend->function, "O(O)", out, record));
}

/* Append what a `Call` emits for a record. `context`: NULL for a call that takes none. Returns -1 with an exception. */
int extend_by_call(const Extend *extend, PyObject *out, PyObject *call, PyObject *value, PyObject *context);

/* Handles of value state: whether an object is one; the value, a new reference or NULL with an exception; and setting
 * it, -1 with an exception. */
int is_value_handle(PyObject *object);
PyObject *handle_value(PyObject *handle);
int handle_update(PyObject *handle, PyObject *value);

/* The cell of the current key. Either is NULL once garbage collection has taken the object apart. */
typedef struct {
    PyObject_HEAD
    PyObject *cell, *emptied; /* `emptied` is a list */
} Current;

/* Return what a function returns for the last `count` of these arguments, a new reference, or NULL with an exception. The
 * two places before the arguments are free. A bound method is called as the function that it binds, which is faster. */
static inline PyObject *call_with(PyObject *f, PyObject **free_and_args, size_t count) {
    if (!PyMethod_Check(f))
        return PyObject_Vectorcall(f, free_and_args + 2, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    free_and_args[1] = PyMethod_GET_SELF(f);
    return PyObject_Vectorcall(PyMethod_GET_FUNCTION(f), free_and_args + 1,
                               (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Return f(), f(a) and f(a, b), a new reference, or NULL with an exception. The caller owns the function. */
static inline PyObject *call_none(PyObject *f) { return call_with(f, (PyObject *[2]){NULL}, 0); }

static inline PyObject *call_one(PyObject *f, PyObject *a) { return call_with(f, (PyObject *[3]){NULL, NULL, a}, 1); }

static inline PyObject *call_two(PyObject *f, PyObject *a, PyObject *b) {
    return call_with(f, (PyObject *[4]){NULL, NULL, a, b}, 2);
}

/* Return an item of a list, a new reference; NULL behind its end: functions of users may reach a list and shorten it. */
static inline PyObject *item_at(PyObject *list, Py_ssize_t at) {
    return at < PyList_GET_SIZE(list) ? Py_NewRef(PyList_GET_ITEM(list, at)) : NULL;
}

/* The items of an iterable: those of a list by their places, which is faster. Owned. */
typedef struct {
    PyObject *list, *iterator; /* one of the two is NULL */
    Py_ssize_t at;
} Items;

/* Begin with the items of an iterable. Returns -1 with an exception. */
static inline int begin_items(Items *items, PyObject *iterable) {
    *items = (Items){0};
    if (PyList_CheckExact(iterable))
        items->list = Py_NewRef(iterable);
    else
        items->iterator = PyObject_GetIter(iterable);
    return items->list == NULL && items->iterator == NULL ? -1 : 0;
}

/* Return the next item, a new reference; NULL at the end, or with an exception. */
static inline PyObject *next_item(Items *items) {
    return items->list == NULL ? PyIter_Next(items->iterator) : item_at(items->list, items->at++);
}

static inline void release_items(Items *items) {
    Py_CLEAR(items->list);
    Py_CLEAR(items->iterator);
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
