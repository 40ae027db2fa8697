/* The keys of sessions by the times at which they are due: `DueKeys` of headgate/operators/windows/session_state.py.
 *
 * Times are Python integers of any size, in a heap that the functions of `heapq` keep. */
#include "due_keys.h"
#include "objects.h"

struct DueKeys {
    PyObject_HEAD
    PyObject *keys;    /* dict: a time to a list of keys */
    PyObject *times;   /* the heap of the times that keys have, a list */
    PyObject *earlier; /* dict: the time that counts, for keys that may have others */
    PyObject *never, *push, *pop;
    PyTypeObject *times_type;
};

/* What `until` returns: an iterator that takes out times. */
typedef struct {
    PyObject_HEAD
    DueKeys *due; /* NULL once it has ended */
    PyObject *until;
    Py_ssize_t left;
} DueTimes;

int due_add(DueKeys *self, PyObject *time, PyObject *key) {
    PyObject *keys = PyDict_GetItemWithError(self->keys, time);
    if (keys != NULL) {
        if (PyList_Append(keys, key) < 0) return -1;
    } else {
        if (PyErr_Occurred() || (keys = PyList_New(1)) == NULL) return -1;
        PyList_SET_ITEM(keys, 0, Py_NewRef(key));
        int failed = PyDict_SetItem(self->keys, time, keys);
        Py_DECREF(keys);
        if (failed || discard(call_two(self->push, self->times, time)) < 0) return -1;
    }
    if (PyDict_GET_SIZE(self->earlier) == 0) return 0;
    int has_other = PyDict_Contains(self->earlier, key);
    return has_other > 0 ? PyDict_SetItem(self->earlier, key, time) : has_other;
}

int due_drop(DueKeys *self, PyObject *key) {
    if (PyDict_GET_SIZE(self->earlier) == 0) return 0;
    int is_there = PyDict_Contains(self->earlier, key);
    return is_there > 0 ? PyDict_DelItem(self->earlier, key) : is_there;
}

static PyObject *none_unless(int failed) { return failed ? NULL : Py_NewRef(Py_None); }

PyDoc_STRVAR(add_doc, "add(time_ms, key)\n--\n\nGive a key its time.");

static PyObject *add(DueKeys *self, PyObject *const *args, Py_ssize_t count) {
    return takes("add", 2, count) ? none_unless(due_add(self, args[0], args[1])) : NULL;
}

PyDoc_STRVAR(add_earlier_doc, "add_earlier(time_ms, key)\n--\n\nGive a key a time that is before the one it has.");

static PyObject *add_earlier(DueKeys *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("add_earlier", 2, count)) return NULL;
    return none_unless(PyDict_SetItem(self->earlier, args[1], args[0]) < 0 || due_add(self, args[0], args[1]) < 0);
}

PyDoc_STRVAR(drop_doc, "drop(key)\n--\n\nForget a key that has no sessions left.");

static PyObject *drop(DueKeys *self, PyObject *key) { return none_unless(due_drop(self, key)); }

/* --- taking out times */

/* Return the keys for which a time counts, a new list, or NULL with an exception. */
static PyObject *keys_that_count(DueKeys *self, PyObject *time, PyObject *keys) {
    PyObject *kept = PyList_New(0);
    for (Py_ssize_t i = 0; kept != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, i));
        PyObject *counts = Py_XNewRef(PyDict_GetItemWithError(self->earlier, key));
        int is_kept = counts != NULL ? PyObject_RichCompareBool(counts, time, Py_EQ) : PyErr_Occurred() ? -1 : 1;
        if (is_kept < 0 || (is_kept && PyList_Append(kept, key) < 0)) Py_CLEAR(kept);
        Py_XDECREF(counts);
        Py_DECREF(key);
    }
    return kept;
}

/* Take out keys of the first time: all of them, or the last `most`. Return a list, or NULL with an exception. */
static PyObject *take_keys(DueKeys *self, PyObject *time, Py_ssize_t most) {
    PyObject *keys = Py_XNewRef(PyDict_GetItemWithError(self->keys, time)), *taken = NULL;
    if (keys == NULL) {
        if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, time);
    } else if (PyList_GET_SIZE(keys) <= most) {
        if (discard(call_one(self->pop, self->times)) == 0 && PyDict_DelItem(self->keys, time) == 0)
            taken = Py_NewRef(keys);
    } else if ((taken = PyList_New(0)) != NULL) {
        /* The size is asked again: to make an object may run a finaliser. */
        Py_ssize_t first = Py_MAX(PyList_GET_SIZE(keys) - most, 0);
        for (Py_ssize_t i = first; taken != NULL && i < PyList_GET_SIZE(keys); i++)
            if (PyList_Append(taken, PyList_GET_ITEM(keys, i)) < 0) Py_CLEAR(taken);
        if (taken != NULL && PyList_SetSlice(keys, first, PY_SSIZE_T_MAX, NULL) < 0) Py_CLEAR(taken);
    }
    Py_XDECREF(keys);
    return taken;
}

static PyObject *next(DueTimes *self) {
    DueKeys *due = self->due;
    if (due == NULL) return NULL;
    Py_INCREF(due); /* the hash of a key may be Python code */
    PyObject *time = NULL, *keys = NULL, *counted = NULL, *found = NULL;
    if (self->left > 0 && PyList_GET_SIZE(due->times) > 0) time = Py_NewRef(PyList_GET_ITEM(due->times, 0));
    if (time != NULL && PyObject_RichCompareBool(time, self->until, Py_LE) == 1) keys = take_keys(due, time, self->left);
    if (keys != NULL) {
        self->left -= PyList_GET_SIZE(keys);
        counted = PyDict_GET_SIZE(due->earlier) == 0 ? Py_NewRef(keys) : keys_that_count(due, time, keys);
    }
    if (counted != NULL) found = PyTuple_Pack(2, time, counted);
    if (found == NULL) Py_CLEAR(self->due); /* an iterator that has ended stays so */
    Py_XDECREF(counted);
    Py_XDECREF(keys);
    Py_XDECREF(time);
    Py_DECREF(due);
    return found;
}

PyDoc_STRVAR(until_doc, "until(until_ms, limit)\n--\n\n"
                        "Take out times until then, in order, with about `limit` keys, which are to be given their next\n"
                        "times.");

static PyObject *until(DueKeys *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("until", 2, count)) return NULL;
    Py_ssize_t limit = PyLong_AsSsize_t(args[1]);
    if (limit == -1 && PyErr_Occurred()) return NULL;
    DueTimes *times = (DueTimes *)self->times_type->tp_alloc(self->times_type, 0);
    if (times == NULL) return NULL;
    times->due = (DueKeys *)Py_NewRef(self);
    times->until = Py_NewRef(args[0]);
    times->left = limit;
    return (PyObject *)times;
}

#define TIMES_OBJECTS(self) {(PyObject **)&(self)->due, &(self)->until}

static int times_traverse(DueTimes *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(TIMES_OBJECTS(self)));
}

static int times_clear(DueTimes *self) {
    Py_CLEAR(self->due); /* without due keys the iterator has ended */
    Py_CLEAR(self->until);
    return 0;
}

static void times_dealloc(DueTimes *self) { free_with_all(self, ALL(TIMES_OBJECTS(self))); }

static PyType_Slot times_slots[] = {
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, next},
    {Py_tp_traverse, times_traverse},
    {Py_tp_clear, times_clear},
    {Py_tp_dealloc, times_dealloc},
    {0, NULL},
};

PyType_Spec due_times_spec = {
    .name = "headgate._native.DueTimes",
    .basicsize = sizeof(DueTimes),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = times_slots,
};

/* --- the type */

#define OBJECTS(self) \
    {&(self)->keys, &(self)->times, &(self)->earlier, &(self)->never, &(self)->push, &(self)->pop, \
     (PyObject **)&(self)->times_type}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *never, *push, *pop;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTuple(args, "OOO", &never, &push, &pop)) return NULL;
    DueKeys *self = (DueKeys *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->times_type = (PyTypeObject *)Py_NewRef((PyObject *)state->due_times);
    self->never = Py_NewRef(never);
    self->push = Py_NewRef(push);
    self->pop = Py_NewRef(pop);
    self->keys = PyDict_New();
    self->times = PyList_New(0);
    self->earlier = PyDict_New();
    if (self->keys == NULL || self->times == NULL || self->earlier == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(DueKeys *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int clear(DueKeys *self) {
    /* The containers stay, empty: a finaliser may still call a method. */
    PyDict_Clear(self->keys);
    PyDict_Clear(self->earlier);
    return PyList_SetSlice(self->times, 0, PY_SSIZE_T_MAX, NULL);
}

static void dealloc(DueKeys *self) { free_with_all(self, ALL(OBJECTS(self))); }

static Py_ssize_t length(DueKeys *self) { return PyList_GET_SIZE(self->times); }

static PyObject *head_ms(DueKeys *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(PyList_GET_SIZE(self->times) > 0 ? PyList_GET_ITEM(self->times, 0) : self->never);
}

static PyMethodDef methods[] = {
    {"add", FASTCALL(add), add_doc},
    {"add_earlier", FASTCALL(add_earlier), add_earlier_doc},
    {"drop", (PyCFunction)drop, METH_O, drop_doc},
    {"until", FASTCALL(until), until_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"head_ms", (getter)head_ms, NULL, "The earliest time of all; never when there is none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(doc, "DueKeys(never, push, pop)\n--\n\n"
                  "Keys by the earliest time at which something of theirs is due. See\n"
                  "`headgate.operators.windows.session_state`. `push` and `pop` are the functions of a heap.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, new},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_sq_length, length},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec due_keys_spec = {
    .name = "headgate._native.DueKeys",
    .basicsize = sizeof(DueKeys),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

/* Return the object whose bound method a function is, borrowed; NULL if it is no such function. */
static PyObject *owner(PyObject *function, PyCFunction method) {
    if (!PyCFunction_CheckExact(function) || PyCFunction_GET_FUNCTION(function) != method) return NULL;
    return PyCFunction_GET_SELF(function);
}

DueKeys *due_keys_of(State *state, PyObject *add_function, PyObject *drop_function) {
    PyObject *found = owner(add_function, methods[0].ml_meth);
    if (found == NULL || found != owner(drop_function, methods[2].ml_meth)) return NULL;
    return Py_IS_TYPE(found, state->due_keys) ? (DueKeys *)found : NULL;
}
