/* The loops that emit values of windows: `Emission` of headgate/operators/windows/emission.py. */
#include "numbers.h"
#include "objects.h"

typedef struct {
    PyObject_HEAD
    PyObject *result, *none_made;
    Extend extend;
} Emission;

/* Append the result of a value, if there is one. Returns -1 with an exception. */
static int emit(Emission *self, PyObject *value, PyObject *out) {
    PyObject *record = value == Py_None ? call_none(self->none_made) : call_one(self->result, value);
    if (record == NULL) return -1;
    int failed = record == Py_None ? 0 : extend_with_one(&self->extend, out, record);
    Py_DECREF(record);
    return failed;
}

/* Return an item of a tuple of so many, borrowed, or NULL with an exception. */
static PyObject *item_of(PyObject *tuple, Py_ssize_t size, Py_ssize_t at) {
    if (PyTuple_CheckExact(tuple) && PyTuple_GET_SIZE(tuple) == size) return PyTuple_GET_ITEM(tuple, at);
    PyErr_Format(PyExc_TypeError, "expected a tuple of %zd", size);
    return NULL;
}

/* Append the result of a window, given its key and its value. Returns -1 with an exception. */
static int emit_window(Emission *self, PyObject *item, PyObject *out) {
    PyObject *value = item_of(item, 2, 1);
    return value == NULL ? -1 : emit(self, value, out);
}

/* Append the result of a session, and its timestamp, unless it was evaluated before. Returns -1 with an exception. */
static int emit_session(Emission *self, PyObject *session, PyObject *out, PyObject *times) {
    PyObject *evaluated = item_of(session, 4, 3);
    int is_evaluated = evaluated == NULL ? -1 : PyObject_IsTrue(evaluated);
    if (is_evaluated != 0) return is_evaluated < 0 ? -1 : 0;
    Py_ssize_t before = PyList_GET_SIZE(out);
    if (emit(self, PyTuple_GET_ITEM(session, 2), out) < 0) return -1;
    if (PyList_GET_SIZE(out) == before) return 0;
    PyObject *last = one_less(PyTuple_GET_ITEM(session, 1));
    int failed = last == NULL ? -1 : PyList_Append(times, last);
    Py_XDECREF(last);
    return failed;
}

/* Emit each of the items. `times`: NULL for windows. */
static PyObject *emit_all(Emission *self, PyObject *items, PyObject *out, PyObject *times) {
    if (!PyList_CheckExact(out) || (times != NULL && !PyList_CheckExact(times))) {
        PyErr_SetString(PyExc_TypeError, "results are added to lists");
        return NULL;
    }
    PyObject *position = PyObject_GetIter(items), *item;
    int failed = position == NULL ? -1 : 0;
    while (failed == 0 && (item = PyIter_Next(position)) != NULL) {
        failed = times == NULL ? emit_window(self, item, out) : emit_session(self, item, out, times);
        Py_DECREF(item);
    }
    Py_XDECREF(position);
    return failed < 0 || PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(windows_doc, "emit_windows(position, out)\n--\n\nAdd the results of keys and values to a list.");

static PyObject *emit_windows(Emission *self, PyObject *const *args, Py_ssize_t count) {
    return takes("emit_windows", 2, count) ? emit_all(self, args[0], args[1], NULL) : NULL;
}

PyDoc_STRVAR(sessions_doc, "emit_sessions(position, out, times)\n--\n\n"
                           "Add the results of sessions, and their timestamps, to lists.");

static PyObject *emit_sessions(Emission *self, PyObject *const *args, Py_ssize_t count) {
    return takes("emit_sessions", 3, count) ? emit_all(self, args[0], args[1], args[2]) : NULL;
}

/* --- the type */

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *result, *none_made, *extend;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTuple(args, "OOO", &result, &none_made, &extend)) return NULL;
    Emission *self = (Emission *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->result = Py_NewRef(result);
    self->none_made = Py_NewRef(none_made);
    if (extend_by(&self->extend, state, Py_NewRef(extend)) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

#define OBJECTS(self) {&(self)->result, &(self)->none_made, &(self)->extend.function}

static int traverse(Emission *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int clear(Emission *self) {
    self->extend.ownership = NULL;
    self->extend.is_by_reference = 0;
    return forget_all(ALL(OBJECTS(self)));
}

static void dealloc(Emission *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMethodDef methods[] = {
    {"emit_windows", FASTCALL(emit_windows), windows_doc},
    {"emit_sessions", FASTCALL(emit_sessions), sessions_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(doc, "Emission(result, none_made, extend)\n--\n\n"
                  "The loops that emit values of windows. See `headgate.operators.windows.emission`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, new},
    {Py_tp_methods, methods},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec emission_spec = {
    .name = "headgate._native.Emission",
    .basicsize = sizeof(Emission),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
