/* The loop that adds records to panes of windows: `add_to_panes` of headgate/operators/windows/pane_loop.py. */
#include "numbers.h"

/* What a `PaneSteps` has, and the stretch of time that the record before was in. All objects are owned. */
typedef struct {
    PyObject *first, *more, *turn, *sought, *too_late, *again;
    PyObject *sealed_name;
    PyObject *start, *end, *pane, *values; /* `values`: NULL where the windows are over */
    long long start_ms, end_ms;
    int is_late;
} Adding;

static void forget_stretch(Adding *adding) {
    Py_CLEAR(adding->start);
    Py_CLEAR(adding->end);
    Py_CLEAR(adding->pane);
    Py_CLEAR(adding->values);
    adding->start_ms = adding->end_ms = 0; /* no time is within */
}

/* Whether a time is in the stretch. A time or stretch of any other type is asked for each time, which costs time only. */
static inline int is_within(const Adding *adding, PyObject *time) {
    long long time_ms;
    return is_number(time, &time_ms) && adding->start_ms <= time_ms && time_ms < adding->end_ms;
}

/* Return an integer of a stretch, or -1 with an exception. One of more than 64 bits sets `overflow`. */
static long long bound(PyObject *number, int *overflow) {
    int own;
    long long bound_ms = PyLong_AsLongLongAndOverflow(number, &own);
    *overflow |= own;
    return bound_ms;
}

/* Turn to the stretch that a time is in. Returns -1 with an exception. */
static int turn_to(Adding *adding, PyObject *time) {
    int overflow = 0;
    forget_stretch(adding);
    PyObject *found = call_one(adding->turn, time);
    if (found == NULL) return -1;
    if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 4) {
        PyErr_SetString(PyExc_TypeError, "a stretch is a tuple of its start, its end, its pane and whether it is late");
        goto fail;
    }
    adding->start = Py_NewRef(PyTuple_GET_ITEM(found, 0));
    adding->end = Py_NewRef(PyTuple_GET_ITEM(found, 1));
    adding->is_late = PyObject_IsTrue(PyTuple_GET_ITEM(found, 3));
    if (adding->is_late < 0) goto fail;
    if (PyTuple_GET_ITEM(found, 2) != Py_None) {
        adding->pane = Py_NewRef(PyTuple_GET_ITEM(found, 2));
        adding->values = attribute_of(adding->pane, "open");
        if (adding->values == NULL) goto fail;
        if (!PyDict_CheckExact(adding->values)) {
            PyErr_SetString(PyExc_TypeError, "the open values of a pane are a dict");
            goto fail;
        }
    }
    long long start_ms = bound(adding->start, &overflow), end_ms = bound(adding->end, &overflow);
    if (PyErr_Occurred()) goto fail;
    if (!overflow) adding->start_ms = start_ms, adding->end_ms = end_ms;
    Py_DECREF(found);
    return 0;
fail:
    Py_DECREF(found);
    return -1;
}

/* Return the value of a key that the open values lack, a new reference; None for none; NULL with an exception. */
static PyObject *sought(const Adding *adding, PyObject *key, int is_none) {
    if (!is_none) {
        PyObject *sealed = PyObject_GetAttr(adding->pane, adding->sealed_name);
        int any = sealed == NULL ? -1 : PyObject_IsTrue(sealed);
        Py_XDECREF(sealed);
        if (any <= 0) return any < 0 ? NULL : Py_NewRef(Py_None);
    }
    return call_two(adding->sought, adding->pane, key);
}

/* Add one record. Returns -1 with an exception. */
static int add(Adding *adding, PyObject *key, PyObject *time, PyObject *value) {
    if (!is_within(adding, time) && turn_to(adding, time) < 0) return -1;
    if (adding->values == NULL) return discard(call_two(adding->too_late, value, time));
    PyObject *so_far = Py_XNewRef(PyDict_GetItemWithError(adding->values, key));
    if (so_far == NULL && PyErr_Occurred()) return -1;
    if (so_far == NULL || so_far == Py_None) {
        int is_none = so_far != NULL;
        Py_CLEAR(so_far);
        so_far = sought(adding, key, is_none);
        if (so_far == NULL) return -1;
    }
    PyObject *combined =
        so_far == Py_None ? call_one(adding->first, value) : call_two(adding->more, value, so_far);
    Py_DECREF(so_far);
    if (combined == NULL) return -1;
    int failed = PyDict_SetItem(adding->values, key, combined);
    Py_DECREF(combined);
    if (failed || !adding->is_late) return failed;
    return discard(PyObject_CallFunctionObjArgs(adding->again, adding->start, adding->end, key, value, NULL));
}

/* Add the next record. Returns 1 at the end of any of the iterables, or -1 with an exception. */
static int add_next(Adding *adding, Items *keys, Items *times, PyObject *records) {
    PyObject *key = next_item(keys), *time = NULL, *value = NULL;
    if (key != NULL && (time = next_item(times)) != NULL) value = PyIter_Next(records);
    int failed = value == NULL ? (PyErr_Occurred() ? -1 : 1) : add(adding, key, time, value);
    Py_XDECREF(key);
    Py_XDECREF(time);
    Py_XDECREF(value);
    return failed;
}

PyDoc_STRVAR(add_to_panes_doc, "add_to_panes(keys, timestamps, records, steps)\n--\n\n"
                               "Add records to panes of windows. See `headgate.operators.windows.pane_loop`.");

static PyObject *add_to_panes(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (!takes("add_to_panes", 4, count)) return NULL;
    Adding adding = {0};
    struct {
        const char *name;
        PyObject **kept;
    } steps[] = {{"first", &adding.first},   {"more", &adding.more},         {"turn", &adding.turn},
                 {"sought", &adding.sought}, {"too_late", &adding.too_late}, {"again", &adding.again}};
    int at = 0, of = Py_ARRAY_LENGTH(steps);
    while (at < of && (*steps[at].kept = attribute_of(args[3], steps[at].name)) != NULL) at++;
    Items keys = {0}, times = {0};
    PyObject *records = NULL, *result = NULL;
    adding.sealed_name = PyUnicode_InternFromString("sealed");
    if (at == of && adding.sealed_name != NULL && begin_items(&keys, args[0]) == 0 &&
        begin_items(&times, args[1]) == 0 && (records = PyObject_GetIter(args[2])) != NULL) {
        int ended = 0;
        while (ended == 0) ended = add_next(&adding, &keys, &times, records);
        if (ended > 0) result = Py_NewRef(Py_None);
    }
    release_items(&keys);
    release_items(&times);
    Py_XDECREF(records);
    Py_XDECREF(adding.sealed_name);
    for (at = 0; at < of; at++) Py_XDECREF(*steps[at].kept);
    forget_stretch(&adding);
    return result;
}

PyMethodDef pane_methods[] = {
    {"add_to_panes", FASTCALL(add_to_panes), add_to_panes_doc},
    {NULL, NULL, 0, NULL},
};
