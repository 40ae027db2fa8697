/* The timers of one time domain: `Timers` of headgate/time/timers.py, and the iterator over those that are due. */
#include "objects.h"
#include "timers.h"

#define KEYS_AT_ONCE 128

typedef struct {
    PyObject_HEAD
    PyObject *backend, *index, *whole_time;
    PyTypeObject *due_type;
    TimerIndex *own;          /* `index` if it is compiled, else NULL */
    Current *current, *fired; /* the current cell of registered timers, and of timers that fire */
    Py_ssize_t column;
    char is_closed;
} Timers;

/* --- one timer */

/* Return the timers of the current cell, a new reference; None for none; NULL with an exception. */
static PyObject *timers_of(Timers *self) {
    PyObject *timers = get_at(self->current, self->column);
    if (timers == NULL || timers == Py_None || PyDict_CheckExact(timers)) return timers;
    PyErr_Format(PyExc_TypeError, "the timers of a key are a dict, not %R", timers);
    Py_DECREF(timers);
    return NULL;
}

/* Give the index a timer of the current cell, or take it away. Returns -1 with an exception. */
static int tell_index(Timers *self, const char *method, int (*change)(TimerIndex *, PyObject *, long long, PyObject *),
                      PyObject *time, long long time_ms) {
    PyObject *key = get_at(self->current, KEY);
    if (key == NULL) return -1;
    int failed = self->own != NULL ? change(self->own, time, time_ms, key)
                                   : discard(call_method(self->index, method, "(OO)", time, key));
    Py_DECREF(key);
    return failed;
}

/* Add a time to the timers of the current cell. Returns whether it is new, or -1 with an exception. */
static int note(Timers *self, PyObject *time) {
    PyObject *timers = timers_of(self);
    if (timers == NULL) return -1;
    int is_new = 1;
    if (timers == Py_None) {
        Py_SETREF(timers, PyDict_New());
        if (timers == NULL || PyDict_SetItem(timers, time, Py_None) < 0 ||
            set_at(self->current, self->column, timers) < 0)
            is_new = -1;
    } else {
        Py_ssize_t before = PyDict_GET_SIZE(timers);
        is_new = PyDict_SetDefault(timers, time, Py_None) == NULL ? -1 : PyDict_GET_SIZE(timers) > before;
    }
    Py_XDECREF(timers);
    return is_new;
}

/* Take a time out of the timers of a cell, and note in `emptied` if none is left. Returns whether it was there, or -1
 * with an exception. */
static int take(Timers *self, Current *current, PyObject *timers, PyObject *time) {
    int is_there = PyDict_Contains(timers, time);
    if (is_there <= 0) return is_there;
    if (PyDict_DelItem(timers, time) < 0) return -1;
    if (PyDict_GET_SIZE(timers) > 0) return 1;
    PyObject *cell = any_cell(current), *emptied = self->fired->emptied;
    int failed = cell == NULL || emptied == NULL || set_at(current, self->column, Py_None) < 0 ||
                 PyList_Append(emptied, cell) < 0;
    Py_XDECREF(cell);
    if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "emptied");
    return failed ? -1 : 1;
}

PyDoc_STRVAR(register_doc, "register(timestamp)\n--\n\nRegister a timer of the current key, at a time in milliseconds.");

static PyObject *register_(Timers *self, PyObject *argument) {
    int overflow = 1;
    long long time_ms = PyLong_CheckExact(argument) ? PyLong_AsLongLongAndOverflow(argument, &overflow) : 0;
    /* `whole_time` returns an int of 64 bits, or raises an error. */
    PyObject *time = overflow ? call_one(self->whole_time, argument) : Py_NewRef(argument);
    if (overflow && time != NULL) time_ms = PyLong_AsLongLong(time);
    int is_new = time == NULL || PyErr_Occurred() ? -1 : note(self, time);
    if (is_new > 0 && !self->is_closed && tell_index(self, "add", index_add, time, time_ms) < 0) is_new = -1;
    Py_XDECREF(time);
    return is_new < 0 ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(delete_doc, "delete(timestamp)\n--\n\nDelete a timer of the current key. Do nothing if it does not exist.");

static PyObject *delete_(Timers *self, PyObject *argument) {
    PyObject *timers = timers_of(self), *time = NULL;
    if (timers == NULL) return NULL;
    int done = timers == Py_None ? 0 : take(self, self->current, timers, argument);
    Py_DECREF(timers);
    if (done > 0) {
        time = PyNumber_Long(argument);
        long long time_ms = time == NULL ? -1 : PyLong_AsLongLong(time);
        done = PyErr_Occurred() ? -1 : tell_index(self, "remove", index_remove, time, time_ms);
        Py_XDECREF(time);
    }
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(earliest_doc, "earliest()\n--\n\nReturn the time of the current key's earliest timer; None without any.");

static PyObject *earliest(Timers *self, PyObject *Py_UNUSED(argument)) {
    PyObject *timers = timers_of(self), *time, *value, *first = NULL;
    if (timers == NULL || timers == Py_None) return timers;
    Py_ssize_t at = 0;
    long long first_ms = 0;
    while (PyDict_Next(timers, &at, &time, &value)) {
        long long time_ms = PyLong_AsLongLong(time);
        if (first == NULL || time_ms < first_ms) first = time, first_ms = time_ms;
    }
    Py_XINCREF(first);
    Py_DECREF(timers);
    if (PyErr_Occurred()) Py_CLEAR(first);
    if (first == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a key has an empty dict of timers");
    return first;
}

PyDoc_STRVAR(count_times_doc, "count_times()\n--\n\nReturn the number of different times of the timers.");

static PyObject *count_times(Timers *self, PyObject *Py_UNUSED(argument)) {
    Py_ssize_t count = PyObject_Size(self->index);
    return count < 0 ? NULL : PyLong_FromSsize_t(count);
}

static PyObject *head_ms(Timers *self, void *Py_UNUSED(closure)) {
    return attribute_of(self->index, "head_ms");
}

/* --- those that are due */

typedef struct {
    PyObject_HEAD
    Timers *timers;
    Cells cells;
    PyObject *until, *out;
    long long until_ms;
    Py_ssize_t limit, left; /* `left`: so many timers may still be taken from the index */
    PyObject *time, *keys;  /* the time that fires now, and its keys as a tuple or a list; NULL: none */
    Py_ssize_t at;          /* the next of the keys */
    char is_running;        /* `next` looks for a timer: a key whose hash calls it is refused, as by a generator */
} Due;

/* Whether the index has a timer that is due. Returns -1 with an exception. */
static int is_due(Due *self) {
    Timers *timers = self->timers;
    if (timers->own != NULL) {
        long long head_ms;
        return index_head(timers->own, &head_ms) && head_ms <= self->until_ms;
    }
    PyObject *head = attribute_of(timers->index, "head_ms");
    int due = head == NULL ? -1 : PyObject_RichCompareBool(head, self->until, Py_LE);
    Py_XDECREF(head);
    return due;
}

/* Take the keys of the earliest time out of the index. Returns -1 with an exception. */
static int pop(Due *self) {
    Timers *timers = self->timers;
    Py_ssize_t limit = self->left < KEYS_AT_ONCE ? self->left : KEYS_AT_ONCE;
    self->at = 0;
    if (timers->own != NULL) {
        long long head_ms;
        index_head(timers->own, &head_ms);
        self->time = PyLong_FromLongLong(head_ms);
        self->keys = self->time == NULL ? NULL : index_pop(timers->own, limit);
    } else {
        PyObject *popped = call_method(timers->index, "pop", "(n)", limit), *keys;
        if (popped != NULL && PyArg_ParseTuple(popped, "OO", &self->time, &keys)) {
            Py_INCREF(self->time);
            self->keys = PySequence_List(keys);
        } else {
            self->time = NULL;
        }
        Py_XDECREF(popped);
    }
    if (self->keys == NULL) return -1;
    self->left -= Py_MAX(PySequence_Fast_GET_SIZE(self->keys), 1);
    return 0;
}

/* Make the cell of a key the current one if the key has a timer at the time, and remove that timer. Returns whether
 * there was one, or -1 with an exception. */
static int fire(Due *self, PyObject *key) {
    Timers *timers = self->timers;
    Current *current = timers->fired;
    PyObject *cell = entered(&self->cells, key);
    if (cell == NULL) return -1;
    if (!PyList_CheckExact(cell) || PyList_GET_SIZE(cell) <= timers->column) {
        Py_DECREF(cell);
        PyErr_SetString(PyExc_TypeError, "a cell is a list with a place for timers");
        return -1;
    }
    PyObject *of_cell = Py_NewRef(PyList_GET_ITEM(cell, timers->column));
    int is_there = PyDict_CheckExact(of_cell) ? PyDict_Contains(of_cell, self->time) : 0;
    if (is_there > 0) {
        Py_XSETREF(current->cell, Py_NewRef(cell));
        is_there = take(timers, current, of_cell, self->time);
    }
    Py_DECREF(of_cell);
    Py_DECREF(cell);
    return is_there;
}

static PyObject *next_due(Due *self) {
    while (1) {
        while (self->keys != NULL && self->at < PySequence_Fast_GET_SIZE(self->keys)) {
            PyObject *key = Py_NewRef(PySequence_Fast_GET_ITEM(self->keys, self->at));
            self->at++;
            int fires = fire(self, key);
            Py_DECREF(key);
            if (fires != 0) return fires < 0 ? NULL : Py_XNewRef(self->time);
        }
        Py_CLEAR(self->keys);
        Py_CLEAR(self->time);
        int due = is_due(self);
        if (due <= 0 || self->left <= 0) return NULL;
        Py_ssize_t count = PyObject_Size(self->out);
        if (count < 0 || count >= self->limit || pop(self) < 0) return NULL;
    }
}

static PyObject *next(Due *self) {
    if (self->timers == NULL) return NULL;
    if (self->is_running) {
        PyErr_SetString(PyExc_ValueError, "due timers are already being taken");
        return NULL;
    }
    self->is_running = 1;
    PyObject *time = next_due(self);
    self->is_running = 0;
    return time;
}

PyDoc_STRVAR(due_doc, "due(until_ms, limit, out=())\n--\n\n"
                      "Return an iterator over the times of the timers that are due. It makes their keys current.");

static PyObject *due(Timers *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 && !takes("due", 3, count)) return NULL;
    int overflow;
    long long until_ms = PyLong_AsLongLongAndOverflow(args[0], &overflow);
    Py_ssize_t limit = PyNumber_AsSsize_t(args[1], NULL);
    if (PyErr_Occurred()) return NULL;
    PyObject *out = count == 3 ? Py_NewRef(args[2]) : PyTuple_New(0);
    Due *due = out == NULL ? NULL : (Due *)self->due_type->tp_alloc(self->due_type, 0);
    if (due == NULL) {
        Py_XDECREF(out);
        return NULL;
    }
    due->timers = (Timers *)Py_NewRef(self);
    due->until = Py_NewRef(args[0]);
    due->until_ms = overflow == 0 ? until_ms : overflow > 0 ? LLONG_MAX : LLONG_MIN;
    due->out = out;
    due->limit = due->left = limit;
    if (cells_of(&due->cells, self->backend) < 0) Py_CLEAR(due);
    return (PyObject *)due;
}

static int due_traverse(Due *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->timers);
    Py_VISIT(self->cells.by_key);
    Py_VISIT(self->cells.generation);
    Py_VISIT(self->cells.enter);
    Py_VISIT(self->out);
    Py_VISIT(self->keys);
    return 0;
}

static int due_clear(Due *self) {
    Py_CLEAR(self->timers); /* without timers the iterator has ended */
    release_cells(&self->cells);
    Py_CLEAR(self->until);
    Py_CLEAR(self->out);
    Py_CLEAR(self->time);
    Py_CLEAR(self->keys);
    return 0;
}

static void due_dealloc(Due *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    due_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot due_slots[] = {
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, next},
    {Py_tp_traverse, due_traverse},
    {Py_tp_clear, due_clear},
    {Py_tp_dealloc, due_dealloc},
    {0, NULL},
};

PyType_Spec due_spec = {
    .name = "headgate._native.Due",
    .basicsize = sizeof(Due),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = due_slots,
};

/* --- the type of timers */

/* Return an attribute that is a compiled `Current`, or NULL with an exception. */
static Current *checked(State *state, PyObject *current) {
    if (current == NULL || Py_IS_TYPE(current, state->current)) return (Current *)current;
    PyErr_Format(PyExc_TypeError, "the current cell of compiled timers is in a headgate._native.Current, not in %R",
                 current);
    Py_DECREF(current);
    return NULL;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *backend, *name, *current, *whole_time, *found, *index;
    Py_ssize_t column;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTuple(args, "OOOO", &backend, &name, &current, &whole_time)) return NULL;
    Timers *self = (Timers *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->backend = Py_NewRef(backend);
    self->whole_time = Py_NewRef(whole_time);
    self->due_type = (PyTypeObject *)Py_NewRef((PyObject *)state->due);
    self->fired = checked(state, attribute_of(backend, "current"));
    self->current = self->fired == NULL ? NULL
                    : current == Py_None ? (Current *)Py_NewRef((PyObject *)self->fired)
                                         : checked(state, Py_NewRef(current));
    found = self->current == NULL ? NULL : call_method(backend, "timers", "(O)", name);
    if (found != NULL && PyArg_ParseTuple(found, "nO", &column, &index)) {
        self->column = column;
        self->index = Py_NewRef(index);
        if (Py_IS_TYPE(index, state->timer_index)) self->own = (TimerIndex *)index;
        if (column < 0) PyErr_Format(PyExc_ValueError, "column %zd", column);
    }
    Py_XDECREF(found);
    if (PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

#define OBJECTS(self)                                                                                 \
    {&(self)->backend, &(self)->index, &(self)->whole_time, (PyObject **)&(self)->due_type, \
     (PyObject **)&(self)->current, (PyObject **)&(self)->fired}

static int traverse(Timers *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int clear(Timers *self) {
    self->own = NULL;
    PyObject **const taken[] = {&self->index, &self->backend, &self->whole_time}; /* the others take themselves apart */
    return forget_all(taken, Py_ARRAY_LENGTH(taken));
}

static void dealloc(Timers *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyGetSetDef attributes[] = {
    {"head_ms", (getter)head_ms, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"is_closed", Py_T_BOOL, offsetof(Timers, is_closed), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
    {"register", (PyCFunction)register_, METH_O, register_doc},
    {"delete", (PyCFunction)delete_, METH_O, delete_doc},
    {"earliest", (PyCFunction)earliest, METH_NOARGS, earliest_doc},
    {"count_times", (PyCFunction)count_times, METH_NOARGS, count_times_doc},
    {"due", FASTCALL(due), due_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(doc, "Timers(backend, name, current, whole_time)\n--\n\n"
                  "The timers of one time domain. See `headgate.time.timers`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, new},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec timers_spec = {
    .name = "headgate._native.Timers",
    .basicsize = sizeof(Timers),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
