/* The loops of session windows with one gap: `SessionLoop` of headgate/operators/windows/session_loop.py.
 *
 * A record whose cell or time has anything but lists, and integers of 64 bits, goes to the loop in Python. */
#include "cells.h"
#include "due_keys.h"
#include "objects.h"

typedef struct {
    PyObject_HEAD
    PyObject *in_python; /* the same in Python */
    /* what a `SessionSteps` has */
    PyObject *backend, *first, *more, *note, *drop, *merge, *take;
    DueKeys *due_keys; /* the owner of `note` and `drop` if it is compiled, which these keep alive; else NULL */
    Py_ssize_t start, end, value, others;
    long long gap_ms;
    int keeps;
} SessionLoop;

/* Return an attribute that is an integer, or -1 with an exception, also of a call before. */
static long long number_of(PyObject *steps, const char *name) {
    if (PyErr_Occurred()) return -1;
    PyObject *found = PyObject_GetAttrString(steps, name);
    long long number = found == NULL ? -1 : PyLong_AsLongLong(found);
    Py_XDECREF(found);
    return number;
}

/* Read a `SessionSteps`. Returns -1 with an exception. */
static int read_steps(SessionLoop *self, PyObject *steps) {
    struct {
        const char *name;
        PyObject **kept;
    } objects[] = {{"backend", &self->backend}, {"first", &self->first}, {"more", &self->more},
                   {"note", &self->note},       {"drop", &self->drop},   {"merge", &self->merge},
                   {"take", &self->take}};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(objects); i++)
        if ((*objects[i].kept = PyObject_GetAttrString(steps, objects[i].name)) == NULL) return -1;
    self->start = (Py_ssize_t)number_of(steps, "start");
    self->end = (Py_ssize_t)number_of(steps, "end");
    self->value = (Py_ssize_t)number_of(steps, "value");
    self->others = (Py_ssize_t)number_of(steps, "others");
    self->gap_ms = number_of(steps, "gap_ms");
    self->keeps = (int)number_of(steps, "keeps");
    if (PyErr_Occurred()) return -1;
    if (self->start >= 0 && self->end >= 0 && self->value >= 0 && self->others >= 0 && self->gap_ms > 0) return 0;
    PyErr_SetString(PyExc_ValueError, "sessions have a gap, and columns of cells");
    return -1;
}

/* Whether a cell is a list that has all columns. Functions of users may reach a cell and shorten it. */
static inline int is_wide(const SessionLoop *self, PyObject *cell) {
    Py_ssize_t last = Py_MAX(Py_MAX(self->start, self->end), Py_MAX(self->value, self->others));
    return PyList_CheckExact(cell) && last < PyList_GET_SIZE(cell);
}

/* Put a new reference into a column, and let go of what was there. Returns -1 with an exception. */
static inline int put(PyObject *cell, Py_ssize_t column, PyObject *content) {
    if (content == NULL) return -1;
    if (column >= PyList_GET_SIZE(cell)) return PyList_SetItem(cell, column, content); /* raises IndexError */
    replace(cell, column, content);
    return 0;
}

/* Whether an object is an integer of 64 bits. */
static inline int is_number(PyObject *object, long long *number) {
    int overflow;
    if (!PyLong_CheckExact(object)) return 0;
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* --- adding records */

/* Add one record in Python. Returns -1 with an exception. */
static int add_in_python(SessionLoop *self, PyObject *key, PyObject *time, PyObject *value,
                         PyObject *watermark) {
    PyObject *records = PyTuple_Pack(1, value), *position = records == NULL ? NULL : PyObject_GetIter(records);
    int failed = position == NULL ? -1
                                  : discard(PyObject_CallMethod(self->in_python, "add", "[O](O)OO", key, time,
                                                                position, watermark));
    Py_XDECREF(position);
    Py_XDECREF(records);
    return failed;
}

/* Note a time at which sessions of a key may be due. Returns -1 with an exception. */
static inline int note(SessionLoop *self, PyObject *key, PyObject *time) {
    if (self->due_keys != NULL) return due_add(self->due_keys, time, key);
    return discard(call_two(self->note, time, key));
}

/* Forget a key that has no sessions left. Returns -1 with an exception. */
static inline int drop(SessionLoop *self, PyObject *key) {
    if (self->due_keys != NULL) return due_drop(self->due_keys, key);
    return discard(call_one(self->drop, key));
}

/* Note that a session which begins is due at its last time. Returns -1 with an exception. */
static int note_end(SessionLoop *self, PyObject *key, long long until_ms) {
    PyObject *last = PyLong_FromLongLong(until_ms - 1);
    int failed = last == NULL ? -1 : note(self, key, last);
    Py_XDECREF(last);
    return failed;
}

/* Return a session that was not evaluated, of what the columns of a cell have: a new reference. */
static PyObject *open_session(SessionLoop *self, PyObject *cell) {
    return PyTuple_Pack(4, PyList_GET_ITEM(cell, self->start), PyList_GET_ITEM(cell, self->end),
                        PyList_GET_ITEM(cell, self->value), Py_False);
}

/* Move the open session to the end of the other sessions. Returns -1 with an exception. */
static int close_open(SessionLoop *self, PyObject *cell) {
    PyObject *session = open_session(self, cell), *others = PyList_GET_ITEM(cell, self->others), *first;
    int failed = -1;
    if (session == NULL) return -1;
    if (PyList_CheckExact(others)) {
        failed = PyList_Append(others, session);
    } else if (others != Py_None) {
        PyErr_Format(PyExc_TypeError, "the other sessions of a key are a list, not %R", others);
    } else if ((first = PyList_New(1)) != NULL) {
        PyList_SET_ITEM(first, 0, Py_NewRef(session));
        failed = put(cell, self->others, first);
    }
    Py_DECREF(session);
    return failed;
}

/* Begin a session with a record. `is_only`: the key has no other open session. Returns -1 with an exception. */
static int begin(SessionLoop *self, PyObject *cell, PyObject *key, PyObject *time, PyObject *value, long long until_ms,
                 int is_only) {
    if ((is_only ? note_end(self, key, until_ms) : close_open(self, cell)) < 0) return -1;
    PyObject *made = call_one(self->first, value);
    if (made == NULL) return -1;
    int failed = put(cell, self->start, Py_NewRef(time)) < 0 ||
                 put(cell, self->end, PyLong_FromLongLong(until_ms)) < 0 ||
                 put(cell, self->value, Py_NewRef(made)) < 0;
    Py_DECREF(made);
    return failed ? -1 : 0;
}

/* Add a record to the open session of its key. Returns -1 with an exception. */
static int extend(SessionLoop *self, PyObject *cell, PyObject *value, long long until_ms, long long end_ms) {
    if (until_ms > end_ms && put(cell, self->end, PyLong_FromLongLong(until_ms)) < 0) return -1;
    PyObject *so_far = Py_NewRef(PyList_GET_ITEM(cell, self->value));
    int failed = put(cell, self->value, call_two(self->more, value, so_far));
    Py_DECREF(so_far);
    return failed;
}

/* Merge the session of a record with those that it meets. Returns -1 with an exception. */
static int merge(SessionLoop *self, PyObject *cell, PyObject *key, PyObject *time, PyObject *value,
                 long long until_ms) {
    PyObject *own = Py_BuildValue("(OL)", time, until_ms);
    int failed = own == NULL ? -1
                             : discard(PyObject_CallFunctionObjArgs(self->merge, key, cell, own, value, NULL));
    Py_XDECREF(own);
    return failed;
}

/* Add one record. Returns -1 with an exception. */
static int add(SessionLoop *self, const Cells *cells, PyObject *key, PyObject *time, PyObject *value,
               PyObject *watermark, long long watermark_ms) {
    long long time_ms, start_ms = 0, end_ms = 0;
    PyObject *cell = entered(cells, key);
    if (cell == NULL) return -1;
    int failed = 1; /* not decided yet */
    if (is_wide(self, cell) && is_number(time, &time_ms) && time_ms <= LLONG_MAX - self->gap_ms) {
        PyObject *start = PyList_GET_ITEM(cell, self->start), *end = PyList_GET_ITEM(cell, self->end);
        int is_open = PyList_GET_ITEM(cell, self->value) != Py_None, is_only = end == Py_None;
        long long until_ms = time_ms + self->gap_ms;
        if ((!is_open || is_number(start, &start_ms)) && (is_only ? !is_open : is_number(end, &end_ms))) {
            if (is_open && start_ms <= time_ms && time_ms <= end_ms) {
                failed = extend(self, cell, value, until_ms, end_ms);
            } else {
                int meets = time_ms <= watermark_ms || (!is_only && time_ms <= end_ms);
                if (!meets && is_only) meets = PyObject_IsTrue(PyList_GET_ITEM(cell, self->others));
                failed = meets < 0 ? -1
                         : meets   ? merge(self, cell, key, time, value, until_ms)
                                   : begin(self, cell, key, time, value, until_ms, is_only);
            }
        }
    }
    Py_DECREF(cell);
    return failed > 0 ? add_in_python(self, key, time, value, watermark) : failed;
}

PyDoc_STRVAR(add_doc, "add(keys, timestamps, records, watermark_ms)\n--\n\n"
                      "Add records, with a key and a timestamp each, to sessions.");

static PyObject *add_all(SessionLoop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("add", 4, count)) return NULL;
    Cells cells = {0};
    PyObject *keys = NULL, *times = NULL, *records = NULL;
    long long watermark_ms = PyLong_AsLongLong(args[3]);
    int is_ready = !PyErr_Occurred() && cells_of(&cells, self->backend) == 0 &&
                   (keys = PyObject_GetIter(args[0])) != NULL && (times = PyObject_GetIter(args[1])) != NULL &&
                   (records = PyObject_GetIter(args[2])) != NULL;
    int ended = is_ready ? 0 : -1;
    while (ended == 0) {
        PyObject *key = PyIter_Next(keys), *time = NULL, *value = NULL;
        if (key != NULL && (time = PyIter_Next(times)) != NULL) value = PyIter_Next(records);
        ended = value == NULL ? (PyErr_Occurred() ? -1 : 1)
                              : add(self, &cells, key, time, value, args[3], watermark_ms);
        Py_XDECREF(key);
        Py_XDECREF(time);
        Py_XDECREF(value);
    }
    Py_XDECREF(keys);
    Py_XDECREF(times);
    Py_XDECREF(records);
    release_cells(&cells);
    return ended < 0 ? NULL : Py_NewRef(Py_None);
}

/* --- taking out sessions that are due */

/* Whether a cell has other sessions than the open one. */
static inline int has_others(SessionLoop *self, PyObject *cell) {
    PyObject *others = PyList_GET_ITEM(cell, self->others);
    return PyList_CheckExact(others) && PyList_GET_SIZE(others) > 0;
}

/* Return the end of the first session of a cell, a new reference; None for none; NULL with an exception. */
static PyObject *first_end(SessionLoop *self, PyObject *cell) {
    if (!has_others(self, cell)) return Py_NewRef(PyList_GET_ITEM(cell, self->end));
    PyObject *first = Py_NewRef(PyList_GET_ITEM(PyList_GET_ITEM(cell, self->others), 0));
    PyObject *end = PySequence_GetItem(first, 1);
    Py_DECREF(first);
    return end;
}

/* Return the last time of a session with an end: an integer, or whatever is one less. */
static PyObject *last_of(PyObject *end) {
    long long end_ms;
    if (is_number(end, &end_ms) && end_ms > LLONG_MIN) return PyLong_FromLongLong(end_ms - 1);
    PyObject *one = PyLong_FromLong(1), *last = one == NULL ? NULL : PyNumber_Subtract(end, one);
    Py_XDECREF(one);
    return last;
}

/* Have the backend look whether a cell is empty. Returns -1 with an exception. */
static int note_emptied(SessionLoop *self, PyObject *cell) {
    PyObject *emptied = PyObject_GetAttrString(self->backend, "emptied");
    int failed = emptied == NULL ? -1 : PyList_Append(emptied, cell);
    Py_XDECREF(emptied);
    return failed;
}

/* Add a session to the ones that are due, with its key. Takes over the session. Returns -1 with an exception. */
static int note_due(PyObject *due, PyObject *key, PyObject *session) {
    PyObject *pair = session == NULL ? NULL : PyTuple_Pack(2, key, session);
    int failed = pair == NULL ? -1 : PyList_Append(due, pair);
    Py_XDECREF(pair);
    Py_XDECREF(session);
    return failed;
}

/* Take out the only session of a key. Returns -1 with an exception. */
static int take_only(SessionLoop *self, PyObject *cell, PyObject *key, PyObject *due) {
    if (note_due(due, key, open_session(self, cell)) < 0 || put(cell, self->start, Py_NewRef(Py_None)) < 0 ||
        put(cell, self->end, Py_NewRef(Py_None)) < 0 || put(cell, self->value, Py_NewRef(Py_None)) < 0 ||
        note_emptied(self, cell) < 0)
        return -1;
    return drop(self, key);
}

/* Take out the first of several sessions of a key. Returns -1 with an exception. */
static int take_first(SessionLoop *self, PyObject *cell, PyObject *key, PyObject *due) {
    PyObject *others = Py_NewRef(PyList_GET_ITEM(cell, self->others)), *end = NULL, *last = NULL;
    int failed = note_due(due, key, Py_NewRef(PyList_GET_ITEM(others, 0))) < 0 ||
                 PyList_SetSlice(others, 0, 1, NULL) < 0 || (end = first_end(self, cell)) == NULL;
    if (!failed && PyList_GET_SIZE(others) == 0) failed = put(cell, self->others, Py_NewRef(Py_None)) < 0;
    Py_DECREF(others);
    if (!failed && end == Py_None)
        failed = drop(self, key) < 0 || note_emptied(self, cell) < 0;
    else if (!failed)
        failed = (last = last_of(end)) == NULL || note(self, key, last) < 0;
    Py_XDECREF(last);
    Py_XDECREF(end);
    return failed ? -1 : 0;
}

/* Look at the sessions of a cell. Returns -1 with an exception. */
static int look(SessionLoop *self, PyObject *cell, PyObject *key, PyObject *time, PyObject *due) {
    PyObject *end = first_end(self, cell), *last = NULL, *session;
    int failed = end == NULL ? -1 : 0;
    if (!failed && end != Py_None) {
        int is_later = (last = last_of(end)) == NULL ? -1 : PyObject_RichCompareBool(last, time, Py_GT);
        if (is_later != 0)
            failed = is_later < 0 ? -1 : note(self, key, last);
        else if (!self->keeps && has_others(self, cell))
            failed = take_first(self, cell, key, due);
        else if (!self->keeps)
            failed = take_only(self, cell, key, due);
        else if ((session = PyObject_CallFunctionObjArgs(self->take, key, cell, time, NULL)) != Py_None)
            failed = note_due(due, key, session);
        else
            Py_DECREF(session);
    }
    Py_XDECREF(last);
    Py_XDECREF(end);
    return failed;
}

/* Look at one key. Returns -1 with an exception. */
static int take(SessionLoop *self, const Cells *cells, PyObject *key, PyObject *time, PyObject *due) {
    PyObject *cell = entered(cells, key);
    if (cell == NULL) return -1;
    int failed = -1;
    if (is_wide(self, cell))
        failed = look(self, cell, key, time, due);
    else
        PyErr_SetString(PyExc_IndexError, "a cell is a list with the columns of sessions");
    Py_DECREF(cell);
    return failed;
}

/* Load the cells of keys at once, if that is faster. Returns -1 with an exception. */
static int prefetch(SessionLoop *self, PyObject *keys) {
    PyObject *load = PyObject_GetAttrString(self->backend, "prefetch");
    int failed = load == NULL ? -1 : load == Py_None ? 0 : discard(call_one(load, keys));
    Py_XDECREF(load);
    return failed;
}

/* Look at the keys of one time. Returns -1 with an exception. */
static int take_at(SessionLoop *self, const Cells *cells, PyObject *time_and_keys, PyObject *due) {
    if (!PyTuple_CheckExact(time_and_keys) || PyTuple_GET_SIZE(time_and_keys) != 2 ||
        !PyList_CheckExact(PyTuple_GET_ITEM(time_and_keys, 1))) {
        PyErr_SetString(PyExc_TypeError, "keys that may be due are a list, in a tuple with their time");
        return -1;
    }
    PyObject *time = PyTuple_GET_ITEM(time_and_keys, 0), *keys = PyTuple_GET_ITEM(time_and_keys, 1);
    int failed = prefetch(self, keys);
    for (Py_ssize_t at = 0; failed == 0 && at < PyList_GET_SIZE(keys); at++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, at));
        failed = take(self, cells, key, time, due);
        Py_DECREF(key);
    }
    return failed;
}

PyDoc_STRVAR(take_doc, "take(due_keys)\n--\n\nReturn the sessions of keys that are due.");

static PyObject *take_all(SessionLoop *self, PyObject *due_keys) {
    Cells cells = {0};
    PyObject *position = PyObject_GetIter(due_keys), *due = PyList_New(0), *each;
    int failed = position == NULL || due == NULL ? -1 : cells_of(&cells, self->backend);
    while (failed == 0 && (each = PyIter_Next(position)) != NULL) {
        failed = take_at(self, &cells, each, due);
        Py_DECREF(each);
    }
    if (failed < 0 || PyErr_Occurred()) Py_CLEAR(due);
    Py_XDECREF(position);
    release_cells(&cells);
    return due;
}

/* --- the type */

#define OBJECTS(self)                                                                                          \
    {&(self)->in_python, &(self)->backend, &(self)->first, &(self)->more, &(self)->note, &(self)->drop, \
     &(self)->merge,     &(self)->take}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *steps, *in_python;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTuple(args, "OO", &steps, &in_python)) return NULL;
    SessionLoop *self = (SessionLoop *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->in_python = Py_NewRef(in_python);
    if (read_steps(self, steps) < 0) Py_CLEAR(self);
    if (self != NULL) self->due_keys = due_keys_of(state, self->note, self->drop);
    return (PyObject *)self;
}

static int traverse(SessionLoop *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int clear(SessionLoop *self) {
    self->due_keys = NULL;
    return forget_all(ALL(OBJECTS(self)));
}

static void dealloc(SessionLoop *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMethodDef methods[] = {
    {"add", FASTCALL(add_all), add_doc},
    {"take", (PyCFunction)take_all, METH_O, take_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(doc, "SessionLoop(steps, in_python)\n--\n\n"
                  "The loops of session windows with one gap. See `headgate.operators.windows.session_loop`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, new},
    {Py_tp_methods, methods},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec session_loop_spec = {
    .name = "headgate._native.SessionLoop",
    .basicsize = sizeof(SessionLoop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
