/* The loops of session windows with one gap: `SessionLoop` of headgate/operators/windows/session_loop.py.
 *
 * A record whose cell or time has anything but lists, and integers of 64 bits, goes to the loop in Python. */
#include "cells.h"
#include "due_keys.h"
#include "numbers.h"
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
    PyObject *found = attribute_of(steps, name);
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
        if ((*objects[i].kept = attribute_of(steps, objects[i].name)) == NULL) return -1;
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

/* --- adding records */

/* Add one record in Python. Returns -1 with an exception. */
static int add_in_python(SessionLoop *self, PyObject *key, PyObject *time, PyObject *value,
                         PyObject *watermark) {
    PyObject *records = PyTuple_Pack(1, value), *position = records == NULL ? NULL : PyObject_GetIter(records);
    int failed = -1;
    if (position != NULL)
        failed = discard(call_method(self->in_python, "add", "([O](O)OO)", key, time, position, watermark));
    Py_XDECREF(position);
    Py_XDECREF(records);
    return failed;
}

/* Note a time at which sessions of a key may be due. Returns -1 with an exception. */
static inline int note(SessionLoop *self, PyObject *key, long long time_ms) {
    if (self->due_keys != NULL) return due_add(self->due_keys, time_ms, key);
    PyObject *time = PyLong_FromLongLong(time_ms);
    int failed = time == NULL ? -1 : discard(call_two(self->note, time, key));
    Py_XDECREF(time);
    return failed;
}

/* Forget a key that has no sessions left. Returns -1 with an exception. */
static inline int drop(SessionLoop *self, PyObject *key) {
    if (self->due_keys != NULL) return due_drop(self->due_keys, key);
    return discard(call_one(self->drop, key));
}

/* Whether an object may refer to containers, for good: as the collector asks about the items of a tuple. */
static inline int may_refer(PyObject *object) {
    return PyObject_IS_GC(object) && (!PyTuple_CheckExact(object) || PyObject_GC_IsTracked(object));
}

/* Return a session that was not evaluated, of what the columns of a cell have: a new reference.
 *
 * Sessions wait in great numbers for a watermark, and the collector visits all young objects. So it is not to know of
 * sessions that refer to no container; it would forget them itself, after it has visited them once. */
static PyObject *open_session(SessionLoop *self, PyObject *cell) {
    PyObject *start = PyList_GET_ITEM(cell, self->start), *end = PyList_GET_ITEM(cell, self->end);
    PyObject *value = PyList_GET_ITEM(cell, self->value), *session = PyTuple_Pack(4, start, end, value, Py_False);
    if (session != NULL && !may_refer(start) && !may_refer(end) && !may_refer(value)) PyObject_GC_UnTrack(session);
    return session;
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
    if ((is_only ? note(self, key, until_ms - 1) : close_open(self, cell)) < 0) return -1;
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
    Items keys = {0}, times = {0};
    PyObject *records = NULL;
    long long watermark_ms = PyLong_AsLongLong(args[3]);
    int is_ready = !PyErr_Occurred() && cells_of(&cells, self->backend) == 0 && begin_items(&keys, args[0]) == 0 &&
                   begin_items(&times, args[1]) == 0 && (records = PyObject_GetIter(args[2])) != NULL;
    int ended = is_ready ? 0 : -1;
    while (ended == 0) {
        PyObject *key = next_item(&keys), *time = NULL, *value = NULL;
        if (key != NULL && (time = next_item(&times)) != NULL) value = PyIter_Next(records);
        ended = value == NULL ? (PyErr_Occurred() ? -1 : 1)
                              : add(self, &cells, key, time, value, args[3], watermark_ms);
        Py_XDECREF(key);
        Py_XDECREF(time);
        Py_XDECREF(value);
    }
    release_items(&keys);
    release_items(&times);
    Py_XDECREF(records);
    release_cells(&cells);
    return ended < 0 ? NULL : Py_NewRef(Py_None);
}

/* --- taking out sessions that are due */

/* What all looks at keys share: the cells, and what the backend has beside them; the sessions that are due, behind their
 * keys. All objects are owned. */
typedef struct {
    Cells cells;
    PyObject *emptied, *prefetch, *of_keys, *sessions;
} Due;

/* Whether a cell has other sessions than the open one. */
static inline int has_others(SessionLoop *self, PyObject *cell) {
    PyObject *others = PyList_GET_ITEM(cell, self->others);
    return PyList_CheckExact(others) && PyList_GET_SIZE(others) > 0;
}

/* Read the last time of the first session of a cell. Returns 1 if there is no session, or -1 with an exception. */
static int read_last(SessionLoop *self, PyObject *cell, long long *last_ms) {
    PyObject *end = PyList_GET_ITEM(cell, self->end);
    if (has_others(self, cell)) {
        PyObject *first = PyList_GET_ITEM(PyList_GET_ITEM(cell, self->others), 0);
        if (!PyTuple_CheckExact(first) || PyTuple_GET_SIZE(first) != 4) {
            PyErr_SetString(PyExc_TypeError, "a session is a tuple of four");
            return -1;
        }
        end = PyTuple_GET_ITEM(first, 1);
    }
    if (end == Py_None) return 1;
    if (is_number(end, last_ms) && *last_ms > LLONG_MIN) {
        *last_ms -= 1;
        return 0;
    }
    PyObject *last = one_less(end); /* the latest end has more than 64 bits */
    *last_ms = last == NULL ? -1 : PyLong_AsLongLong(last);
    Py_XDECREF(last);
    return PyErr_Occurred() ? -1 : 0;
}

/* Add a session to those that are due, with its key. Takes over the session. Returns -1 with an exception. */
static int note_due(Due *due, PyObject *key, PyObject *session) {
    int failed = session == NULL || PyList_Append(due->of_keys, key) < 0 || PyList_Append(due->sessions, session) < 0;
    Py_XDECREF(session);
    return failed ? -1 : 0;
}

/* Have the backend look whether a cell is empty, whose key has no sessions left. Returns -1 with an exception. */
static int leave(SessionLoop *self, Due *due, PyObject *key, PyObject *cell) {
    return PyList_Append(due->emptied, cell) < 0 || drop(self, key) < 0 ? -1 : 0;
}

/* Take out the only session of a key. Returns -1 with an exception. */
static int take_only(SessionLoop *self, Due *due, PyObject *key, PyObject *cell) {
    if (note_due(due, key, open_session(self, cell)) < 0 || put(cell, self->start, Py_NewRef(Py_None)) < 0 ||
        put(cell, self->end, Py_NewRef(Py_None)) < 0 || put(cell, self->value, Py_NewRef(Py_None)) < 0)
        return -1;
    return leave(self, due, key, cell);
}

/* Take out the first of several sessions of a key. Returns -1 with an exception. */
static int take_first(SessionLoop *self, Due *due, PyObject *key, PyObject *cell) {
    PyObject *others = Py_NewRef(PyList_GET_ITEM(cell, self->others));
    int failed = note_due(due, key, Py_NewRef(PyList_GET_ITEM(others, 0))) < 0 ||
                 PyList_SetSlice(others, 0, 1, NULL) < 0 ||
                 (PyList_GET_SIZE(others) == 0 && put(cell, self->others, Py_NewRef(Py_None)) < 0);
    Py_DECREF(others);
    if (failed) return -1;
    long long last_ms;
    int is_none = read_last(self, cell, &last_ms);
    return is_none < 0 ? -1 : is_none ? leave(self, due, key, cell) : note(self, key, last_ms);
}

/* Take out the session that is due in a cell where sessions stay for late records. Returns -1 with an exception. */
static int take_kept(SessionLoop *self, Due *due, PyObject *key, PyObject *cell, long long time_ms) {
    PyObject *time = PyLong_FromLongLong(time_ms);
    PyObject *session = time == NULL ? NULL : PyObject_CallFunctionObjArgs(self->take, key, cell, time, NULL);
    Py_XDECREF(time);
    if (session != Py_None) return note_due(due, key, session);
    Py_DECREF(session);
    return 0;
}

/* Look at one key. Returns -1 with an exception. */
static int look(SessionLoop *self, Due *due, PyObject *key, long long time_ms) {
    long long last_ms;
    PyObject *cell = entered(&due->cells, key);
    if (cell == NULL) return -1;
    int failed = -1, is_none = -1;
    if (is_wide(self, cell))
        is_none = read_last(self, cell, &last_ms);
    else
        PyErr_SetString(PyExc_IndexError, "a cell is a list with the columns of sessions");
    if (is_none != 0)
        failed = is_none < 0 ? -1 : 0;
    else if (last_ms > time_ms)
        failed = note(self, key, last_ms);
    else if (self->keeps)
        failed = take_kept(self, due, key, cell, time_ms);
    else
        failed = has_others(self, cell) ? take_first(self, due, key, cell) : take_only(self, due, key, cell);
    Py_DECREF(cell);
    return failed;
}

/* Load the cells of keys at once, if that is faster. Returns -1 with an exception. */
static int prefetch(SessionLoop *self, Due *due, PyObject *keys) {
    if (due->prefetch == Py_None) return 0;
    if (discard(call_one(due->prefetch, keys)) < 0) return -1;
    Py_XSETREF(due->prefetch, attribute_of(self->backend, "prefetch")); /* a call may turn it off */
    return due->prefetch == NULL ? -1 : 0;
}

/* Look at the keys of one time. Returns -1 with an exception. */
static int look_at(SessionLoop *self, Due *due, PyObject *keys, long long time_ms) {
    int failed = prefetch(self, due, keys);
    for (Py_ssize_t at = 0; failed == 0 && at < PyList_GET_SIZE(keys); at++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, at));
        failed = look(self, due, key, time_ms);
        Py_DECREF(key);
    }
    return failed;
}

/* Return the next keys that may be due, a new reference; NULL at the end, or with an exception. `times`: NULL for an
 * iterator of another kind. */
static PyObject *next_keys(PyObject *position, DueTimes *times, long long *time_ms) {
    if (times != NULL) return due_next(times, time_ms);
    PyObject *each = PyIter_Next(position), *keys = NULL;
    if (each == NULL) return NULL;
    if (PyTuple_CheckExact(each) && PyTuple_GET_SIZE(each) == 2 && PyList_CheckExact(PyTuple_GET_ITEM(each, 1))) {
        *time_ms = PyLong_AsLongLong(PyTuple_GET_ITEM(each, 0));
        if (!PyErr_Occurred()) keys = Py_NewRef(PyTuple_GET_ITEM(each, 1));
    } else {
        PyErr_SetString(PyExc_TypeError, "keys that may be due are a list, in a tuple with their time");
    }
    Py_DECREF(each);
    return keys;
}

PyDoc_STRVAR(take_doc, "take(due_keys)\n--\n\nReturn sessions that are due, behind their keys.");

static PyObject *take_all(SessionLoop *self, PyObject *due_keys) {
    Due due = {0};
    PyObject *position = PyObject_GetIter(due_keys), *keys, *result = NULL;
    long long time_ms;
    if (position != NULL && cells_of(&due.cells, self->backend) == 0 &&
        (due.emptied = attribute_of(self->backend, "emptied")) != NULL &&
        (due.prefetch = attribute_of(self->backend, "prefetch")) != NULL &&
        (due.of_keys = PyList_New(0)) != NULL && (due.sessions = PyList_New(0)) != NULL) {
        DueTimes *times = due_times_of(self->due_keys, position);
        int failed = 0;
        while (failed == 0 && (keys = next_keys(position, times, &time_ms)) != NULL) {
            failed = look_at(self, &due, keys, time_ms);
            Py_DECREF(keys);
        }
        if (failed == 0 && !PyErr_Occurred()) result = PyTuple_Pack(2, due.of_keys, due.sessions);
    }
    Py_XDECREF(due.sessions);
    Py_XDECREF(due.of_keys);
    Py_XDECREF(due.prefetch);
    Py_XDECREF(due.emptied);
    release_cells(&due.cells);
    Py_XDECREF(position);
    return result;
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
