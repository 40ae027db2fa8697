/* The keys of sessions by the times at which they are due: `DueKeys` of headgate/operators/windows/session_state.py.
 *
 * The hash of a key may run code of a user's class, and so may the collector, which may come back to these keys. So no
 * pointer into an array is kept over such a call. */
#include "due_keys.h"
#include "numbers.h"
#include "objects.h"

/* A time, and its keys: a list, or NULL in a slot without a time. */
typedef struct {
    long long time_ms;
    PyObject *keys;
} Slot;

struct DueKeys {
    PyObject_HEAD
    Slot *slots;       /* a hash table of the times: a time is in the first free slot from its own on */
    Py_ssize_t room;   /* the number of slots: a power of two, or 0; less than half of them have a time */
    Numbers times;     /* the heap of the times that keys have */
    PyObject *earlier; /* dict: the time that counts, for keys that may have others */
    PyTypeObject *times_type;
};

/* What `until` returns: an iterator that takes out times. */
struct DueTimes {
    PyObject_HEAD
    DueKeys *due; /* NULL once it has ended */
    long long until_ms;
    Py_ssize_t left;
};

/* --- the table of times */

static inline Py_ssize_t own_place(const DueKeys *self, long long time_ms) {
    unsigned long long mixed = (unsigned long long)time_ms * 0x9E3779B97F4A7C15ULL;
    return (Py_ssize_t)((mixed ^ mixed >> 32) & (unsigned long long)(self->room - 1));
}

/* Return the slot of a time, or the free one where it belongs. There must be slots. */
static inline Slot *slot_of(const DueKeys *self, long long time_ms) {
    Py_ssize_t at = own_place(self, time_ms);
    while (self->slots[at].keys != NULL && self->slots[at].time_ms != time_ms) at = (at + 1) & (self->room - 1);
    return &self->slots[at];
}

/* Have room for one more time. Returns -1 with an exception. */
static int make_slot(DueKeys *self) {
    if (2 * (self->times.count + 1) < self->room) return 0;
    Slot *before = self->slots;
    Py_ssize_t count = self->room, room = count == 0 ? 16 : 2 * count;
    Slot *slots = PyMem_Calloc(room, sizeof(Slot));
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->slots = slots;
    self->room = room;
    for (Py_ssize_t at = 0; at < count; at++)
        if (before[at].keys != NULL) *slot_of(self, before[at].time_ms) = before[at];
    PyMem_Free(before);
    return 0;
}

/* Empty a slot, and move those behind it nearer to where they belong. The caller has taken over the keys. */
static void free_slot(DueKeys *self, Slot *slot) {
    Py_ssize_t last = self->room - 1, hole = slot - self->slots;
    for (Py_ssize_t at = (hole + 1) & last; self->slots[at].keys != NULL; at = (at + 1) & last) {
        if (((at - own_place(self, self->slots[at].time_ms)) & last) < ((at - hole) & last)) continue;
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole].keys = NULL;
}

/* --- keys come and go */

/* Note which time of a key counts from now on, if the key may have others. Returns -1 with an exception. */
static int note_counting(DueKeys *self, PyObject *time, PyObject *key) {
    if (PyDict_GET_SIZE(self->earlier) == 0) return 0;
    int has_other = PyDict_Contains(self->earlier, key);
    return has_other > 0 ? PyDict_SetItem(self->earlier, key, time) : has_other;
}

/* Add a time with its first key. Returns -1 with an exception. */
static int add_time(DueKeys *self, long long time_ms, PyObject *key) {
    PyObject *keys = PyList_New(1); /* may run the collector, so it comes first */
    if (keys == NULL) return -1;
    PyList_SET_ITEM(keys, 0, Py_NewRef(key));
    Slot *slot = make_slot(self) < 0 ? NULL : slot_of(self, time_ms);
    int is_there = slot != NULL && slot->keys != NULL;
    if (slot == NULL || is_there || heap_push(&self->times, time_ms) < 0) {
        Py_DECREF(keys);
        return is_there ? PyList_Append(slot->keys, key) : -1;
    }
    *slot = (Slot){time_ms, keys};
    return 0;
}

static int add_key(DueKeys *self, long long time_ms, PyObject *key) {
    PyObject *keys = self->room > 0 ? slot_of(self, time_ms)->keys : NULL;
    return keys != NULL ? PyList_Append(keys, key) : add_time(self, time_ms, key);
}

int due_add(DueKeys *self, long long time_ms, PyObject *key) {
    if (add_key(self, time_ms, key) < 0) return -1;
    if (PyDict_GET_SIZE(self->earlier) == 0) return 0;
    PyObject *time = PyLong_FromLongLong(time_ms);
    int failed = time == NULL ? -1 : note_counting(self, time, key);
    Py_XDECREF(time);
    return failed;
}

int due_drop(DueKeys *self, PyObject *key) {
    if (PyDict_GET_SIZE(self->earlier) == 0) return 0;
    int is_there = PyDict_Contains(self->earlier, key);
    return is_there > 0 ? PyDict_DelItem(self->earlier, key) : is_there;
}

static PyObject *none_unless(int failed) { return failed ? NULL : Py_NewRef(Py_None); }

/* Read a time. Returns 1 if it is later than any, which no key is kept for; -1 with an exception. */
static int read_time(PyObject *time, long long *time_ms) {
    int overflow;
    *time_ms = PyLong_AsLongLongAndOverflow(time, &overflow);
    if (overflow >= 0) return PyErr_Occurred() ? -1 : overflow;
    PyErr_SetString(PyExc_OverflowError, "a time has 64 bits");
    return -1;
}

PyDoc_STRVAR(add_doc, "add(time_ms, key)\n--\n\nGive a key its time.");

static PyObject *add(DueKeys *self, PyObject *const *args, Py_ssize_t count) {
    long long time_ms;
    if (!takes("add", 2, count)) return NULL;
    int is_never = read_time(args[0], &time_ms);
    if (is_never != 0) return none_unless(is_never < 0 || note_counting(self, args[0], args[1]) < 0);
    return none_unless(due_add(self, time_ms, args[1]));
}

PyDoc_STRVAR(add_earlier_doc, "add_earlier(time_ms, key)\n--\n\nGive a key a time that is before the one it has.");

static PyObject *add_earlier(DueKeys *self, PyObject *const *args, Py_ssize_t count) {
    long long time_ms;
    if (!takes("add_earlier", 2, count)) return NULL;
    int is_never = read_time(args[0], &time_ms);
    return none_unless(is_never < 0 || PyDict_SetItem(self->earlier, args[1], args[0]) < 0 ||
                       (!is_never && add_key(self, time_ms, args[1]) < 0));
}

PyDoc_STRVAR(drop_doc, "drop(key)\n--\n\nForget a key that has no sessions left.");

static PyObject *drop(DueKeys *self, PyObject *key) { return none_unless(due_drop(self, key)); }

/* --- taking out times */

/* Return the keys for which a time counts, a new list, or NULL with an exception. */
static PyObject *keys_that_count(DueKeys *self, long long time_ms, PyObject *keys) {
    PyObject *kept = PyList_New(0), *time = PyLong_FromLongLong(time_ms);
    if (time == NULL) Py_CLEAR(kept);
    for (Py_ssize_t i = 0; kept != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, i));
        PyObject *counts = Py_XNewRef(PyDict_GetItemWithError(self->earlier, key));
        int is_kept = counts != NULL ? PyObject_RichCompareBool(counts, time, Py_EQ) : PyErr_Occurred() ? -1 : 1;
        if (is_kept < 0 || (is_kept && PyList_Append(kept, key) < 0)) Py_CLEAR(kept);
        Py_XDECREF(counts);
        Py_DECREF(key);
    }
    Py_XDECREF(time);
    return kept;
}

/* Take out keys of the first time: all of them, or the last `most`. Return a list, or NULL with an exception. */
static PyObject *take_keys(DueKeys *self, long long time_ms, Py_ssize_t most) {
    Slot *slot = slot_of(self, time_ms);
    if (PyList_GET_SIZE(slot->keys) <= most) {
        PyObject *keys = slot->keys;
        heap_pop(&self->times);
        free_slot(self, slot);
        return keys;
    }
    PyObject *keys = Py_NewRef(slot->keys), *taken = PyList_New(0);
    /* The size is asked again: to make an object may run a finaliser. */
    Py_ssize_t first = Py_MAX(PyList_GET_SIZE(keys) - most, 0);
    for (Py_ssize_t i = first; taken != NULL && i < PyList_GET_SIZE(keys); i++)
        if (PyList_Append(taken, PyList_GET_ITEM(keys, i)) < 0) Py_CLEAR(taken);
    if (taken != NULL && PyList_SetSlice(keys, first, PY_SSIZE_T_MAX, NULL) < 0) Py_CLEAR(taken);
    Py_DECREF(keys);
    return taken;
}

PyObject *due_next(DueTimes *self, long long *time_ms) {
    DueKeys *due = self->due;
    if (due == NULL) return NULL;
    Py_INCREF(due); /* the hash of a key may be Python code */
    PyObject *keys = NULL, *counted = NULL;
    if (self->left > 0 && due->times.count > 0 && due->times.items[0] <= self->until_ms) {
        *time_ms = due->times.items[0];
        keys = take_keys(due, *time_ms, self->left);
    }
    if (keys != NULL) {
        self->left -= PyList_GET_SIZE(keys);
        counted = PyDict_GET_SIZE(due->earlier) == 0 ? Py_NewRef(keys) : keys_that_count(due, *time_ms, keys);
    }
    if (counted == NULL) Py_CLEAR(self->due); /* an iterator that has ended stays so */
    Py_XDECREF(keys);
    Py_DECREF(due);
    return counted;
}

static PyObject *next(DueTimes *self) {
    long long time_ms;
    PyObject *keys = due_next(self, &time_ms);
    return keys == NULL ? NULL : Py_BuildValue("LN", time_ms, keys);
}

DueTimes *due_times_of(DueKeys *self, PyObject *iterator) {
    return self != NULL && Py_IS_TYPE(iterator, self->times_type) ? (DueTimes *)iterator : NULL;
}

PyDoc_STRVAR(until_doc, "until(until_ms, limit)\n--\n\n"
                        "Take out times until then, in order, with about `limit` keys, which are to be given their next\n"
                        "times.");

static PyObject *until(DueKeys *self, PyObject *const *args, Py_ssize_t count) {
    long long until_ms;
    if (!takes("until", 2, count)) return NULL;
    int is_never = read_time(args[0], &until_ms);
    Py_ssize_t limit = is_never < 0 ? -1 : PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred()) return NULL;
    DueTimes *times = (DueTimes *)self->times_type->tp_alloc(self->times_type, 0);
    if (times == NULL) return NULL;
    times->due = (DueKeys *)Py_NewRef(self);
    times->until_ms = is_never ? LLONG_MAX : until_ms;
    times->left = limit;
    return (PyObject *)times;
}

#define TIMES_OBJECTS(self) {(PyObject **)&(self)->due}

static int times_traverse(DueTimes *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(TIMES_OBJECTS(self)));
}

static int times_clear(DueTimes *self) {
    Py_CLEAR(self->due); /* without due keys the iterator has ended */
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

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTuple(args, "")) return NULL;
    DueKeys *self = (DueKeys *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->times_type = (PyTypeObject *)Py_NewRef((PyObject *)state->due_times);
    if ((self->earlier = PyDict_New()) == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(DueKeys *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->times_type);
    Py_VISIT(self->earlier);
    for (Py_ssize_t at = 0; at < self->room; at++) Py_VISIT(self->slots[at].keys);
    return 0;
}

static int clear(DueKeys *self) {
    /* Without times, and with a dict: a finaliser may still call a method. */
    Slot *slots = self->slots;
    Py_ssize_t room = self->room;
    self->slots = NULL;
    self->room = self->times.count = 0;
    for (Py_ssize_t at = 0; at < room; at++) Py_XDECREF(slots[at].keys);
    PyMem_Free(slots);
    if (self->earlier != NULL) PyDict_Clear(self->earlier);
    return 0;
}

static void dealloc(DueKeys *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    PyMem_Free(self->times.items);
    Py_XDECREF(self->earlier);
    Py_XDECREF(self->times_type);
    type->tp_free(self);
    Py_DECREF(type);
}

static Py_ssize_t length(DueKeys *self) { return self->times.count; }

static PyObject *head_ms(DueKeys *self, void *Py_UNUSED(closure)) {
    return self->times.count > 0 ? PyLong_FromLongLong(self->times.items[0]) : never();
}

static PyMethodDef methods[] = {
    {"add", FASTCALL(add), add_doc},
    {"add_earlier", FASTCALL(add_earlier), add_earlier_doc},
    {"drop", (PyCFunction)drop, METH_O, drop_doc},
    {"until", FASTCALL(until), until_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"head_ms", (getter)head_ms, NULL, "The earliest time of all; `NEVER` when there is none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(doc, "DueKeys()\n--\n\n"
                  "Keys by the earliest time at which something of theirs is due. See\n"
                  "`headgate.operators.windows.session_state`.");

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
