/* The index of timers in memory: `HeapTimerIndex` of headgate/state/keyed/timer_index.py, line by line.
 *
 * Any call that hashes or compares keys may run code of a user's class, which may come back to this index. So no
 * pointer into an array is kept over such a call, and dicts that are in use are owned. */
#include "numbers.h"
#include "timers.h"

#define SPAN_BITS 12
#define STALE_MIN 1024
#define PAST_MAX 4096

struct TimerIndex {
    PyObject_HEAD
    PyObject *spans; /* dict: the number of a span to a dict of its times, each with a key or a dict of keys */
    Numbers heap;    /* numbers of spans; those of removed spans stay for a while */
    Numbers times;   /* the sorted times of the open span; those before `at` are past */
    Py_ssize_t at;
    int is_open;
    long long open, head_ms; /* only if `is_open` */
};

/* --- spans */

/* Return the times of a span, a new reference; NULL if there is no such span, or with an exception. */
static PyObject *span_of(TimerIndex *self, long long number) {
    PyObject *name = PyLong_FromLongLong(number);
    if (name == NULL) return NULL;
    PyObject *span = Py_XNewRef(PyDict_GetItemWithError(self->spans, name));
    Py_DECREF(name);
    return span;
}

/* Set the times of a span; NULL: remove the span. Returns -1 with an exception. */
static int set_span(TimerIndex *self, long long number, PyObject *span) {
    PyObject *name = PyLong_FromLongLong(number);
    if (name == NULL) return -1;
    int failed = span == NULL ? PyDict_DelItem(self->spans, name) : PyDict_SetItem(self->spans, name, span);
    Py_DECREF(name);
    return failed;
}

/* Read the keys of a dict, which are integers. Returns -1 with an exception. */
static int read_numbers(Numbers *numbers, PyObject *dict) {
    Py_ssize_t at = 0;
    PyObject *each, *value;
    numbers->count = 0;
    if (make_room(numbers, PyDict_GET_SIZE(dict)) < 0) return -1;
    while (PyDict_Next(dict, &at, &each, &value)) numbers->items[numbers->count++] = PyLong_AsLongLong(each);
    return PyErr_Occurred() ? -1 : 0;
}

static int compare(const void *one, const void *other) {
    long long a = *(const long long *)one, b = *(const long long *)other;
    return (a > b) - (a < b);
}

/* Open the earliest span, and remove empty spans before it. Returns -1 with an exception. */
static int open_first(TimerIndex *self) {
    self->is_open = 0;
    self->at = self->times.count = 0;
    while (self->heap.count > 0) {
        long long number = self->heap.items[0];
        PyObject *span = span_of(self, number);
        if (span == NULL && PyErr_Occurred()) return -1;
        if (span != NULL && PyDict_GET_SIZE(span) > 0) {
            int failed = read_numbers(&self->times, span);
            Py_DECREF(span);
            if (failed) return -1;
            qsort(self->times.items, self->times.count, sizeof(long long), compare);
            self->open = number;
            self->head_ms = self->times.items[0];
            self->is_open = 1;
            return 0;
        }
        heap_pop(&self->heap);
        int failed = span != NULL && set_span(self, number, NULL) < 0;
        Py_XDECREF(span);
        if (failed) return -1;
    }
    return 0;
}

static int next_time(TimerIndex *self) {
    if (self->at >= self->times.count) return open_first(self);
    self->head_ms = self->times.items[self->at];
    return 0;
}

/* Return the index of the first time of the open span that is not before this one. */
static Py_ssize_t place_of(TimerIndex *self, long long time_ms) {
    Py_ssize_t low = self->at, high = self->times.count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (self->times.items[middle] < time_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put a new time of the open span among its sorted times. Returns -1 with an exception. */
static int insert_time(TimerIndex *self, long long time_ms) {
    Numbers *times = &self->times;
    if (self->at > PAST_MAX) {
        times->count -= self->at;
        memmove(times->items, times->items + self->at, times->count * sizeof(long long));
        self->at = 0;
    }
    if (make_room(times, times->count + 1) < 0) return -1;
    Py_ssize_t place = place_of(self, time_ms);
    memmove(times->items + place + 1, times->items + place, (times->count - place) * sizeof(long long));
    times->items[place] = time_ms;
    times->count++;
    self->head_ms = times->items[self->at];
    return 0;
}

/* Add a key to those at a time of a span, `there`. Returns -1 with an exception. */
static int add_key(PyObject *span, PyObject *time, PyObject *there, PyObject *key) {
    if (PyDict_CheckExact(there)) return PyDict_SetItem(there, key, Py_None);
    PyObject *keys = PyDict_New();
    int failed = keys == NULL || PyDict_SetItem(keys, there, Py_None) < 0 || PyDict_SetItem(keys, key, Py_None) < 0 ||
                 PyDict_SetItem(span, time, keys) < 0;
    Py_XDECREF(keys);
    return failed ? -1 : 0;
}

int index_add(TimerIndex *self, PyObject *time, long long time_ms, PyObject *key) {
    long long number = time_ms >> SPAN_BITS;
    PyObject *span = span_of(self, number), *there;
    int failed = 0;
    if (span == NULL) {
        if (PyErr_Occurred() || (span = PyDict_New()) == NULL) return -1;
        failed = PyDict_SetItem(span, time, key) < 0 || set_span(self, number, span) < 0 ||
                 heap_push(&self->heap, number) < 0 ||
                 ((!self->is_open || time_ms < self->head_ms) && open_first(self) < 0);
    } else if ((there = PyDict_GetItemWithError(span, time)) != NULL) {
        Py_INCREF(there);
        failed = add_key(span, time, there, key);
        Py_DECREF(there);
    } else {
        failed = PyErr_Occurred() || PyDict_SetItem(span, time, key) < 0 ||
                 (self->is_open && number == self->open && insert_time(self, time_ms) < 0);
    }
    Py_DECREF(span);
    return failed ? -1 : 0;
}

/* Remove an empty span. Its number stays on the heap until many spans have been removed. */
static int drop(TimerIndex *self, long long number) {
    if (set_span(self, number, NULL) < 0) return -1;
    Numbers *heap = &self->heap;
    if (heap->count <= 2 * PyDict_GET_SIZE(self->spans) + STALE_MIN) return 0;
    if (read_numbers(heap, self->spans) < 0) return -1;
    for (Py_ssize_t at = heap->count / 2; at-- > 0;) sift(heap, at);
    return 0;
}

/* Remove a key from those at a time. Returns 1 if keys are left there, or the key was not; -1 with an exception. */
static int remove_key(PyObject *there, PyObject *key) {
    if (!PyDict_CheckExact(there)) return PyObject_RichCompareBool(there, key, Py_NE);
    int has = PyDict_Contains(there, key);
    if (has > 0) has = PyDict_DelItem(there, key);
    return has < 0 ? -1 : PyDict_GET_SIZE(there) > 0;
}

/* Forget a time of a span that has no keys any more. Returns -1 with an exception. */
static int remove_time(TimerIndex *self, long long number, PyObject *span, PyObject *time, long long time_ms) {
    if (PyDict_DelItem(span, time) < 0) return -1;
    if (!self->is_open || number != self->open) return PyDict_GET_SIZE(span) == 0 ? drop(self, number) : 0;
    Numbers *times = &self->times;
    Py_ssize_t place = place_of(self, time_ms);
    if (place < times->count && times->items[place] == time_ms) {
        times->count--;
        memmove(times->items + place, times->items + place + 1, (times->count - place) * sizeof(long long));
    }
    return next_time(self);
}

int index_remove(TimerIndex *self, PyObject *time, long long time_ms, PyObject *key) {
    long long number = time_ms >> SPAN_BITS;
    PyObject *span = span_of(self, number);
    if (span == NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject *there = Py_XNewRef(PyDict_GetItemWithError(span, time));
    int left = there == NULL ? (PyErr_Occurred() ? -1 : 1) : remove_key(there, key);
    if (left == 0) left = remove_time(self, number, span, time, time_ms);
    Py_XDECREF(there);
    Py_DECREF(span);
    return left < 0 ? -1 : 0;
}

int index_head(TimerIndex *self, long long *head_ms) {
    *head_ms = self->head_ms;
    return self->is_open;
}

/* Remove the first `limit` keys of a dict, and return them as a list. */
static PyObject *first_keys(PyObject *there, Py_ssize_t limit) {
    PyObject *first = PyList_New(0), *key, *value;
    Py_ssize_t at = 0;
    while (first != NULL && PyList_GET_SIZE(first) < limit && PyDict_Next(there, &at, &key, &value))
        if (PyList_Append(first, key) < 0) Py_CLEAR(first);
    for (at = 0; first != NULL && at < PyList_GET_SIZE(first); at++)
        if (PyDict_DelItem(there, PyList_GET_ITEM(first, at)) < 0) Py_CLEAR(first);
    return first;
}

PyObject *index_pop(TimerIndex *self, Py_ssize_t limit) {
    PyObject *time = PyLong_FromLongLong(self->head_ms), *span = time == NULL ? NULL : span_of(self, self->open);
    PyObject *there = span == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(span, time)), *keys = NULL;
    if (there == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "the index of timers lost a time");
    } else if (PyDict_CheckExact(there) && PyDict_GET_SIZE(there) > limit) {
        keys = first_keys(there, limit);
    } else {
        keys = PyDict_CheckExact(there) ? PyDict_Keys(there) : PyTuple_Pack(1, there);
        self->at++;
        if (keys != NULL && (PyDict_DelItem(span, time) < 0 || next_time(self) < 0)) Py_CLEAR(keys);
    }
    Py_XDECREF(there);
    Py_XDECREF(span);
    Py_XDECREF(time);
    return keys;
}

/* --- the type */

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (!PyArg_ParseTuple(args, "")) return NULL;
    TimerIndex *self = (TimerIndex *)type->tp_alloc(type, 0);
    if (self != NULL && (self->spans = PyDict_New()) == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(TimerIndex *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->spans);
    return 0;
}

static int clear(TimerIndex *self) {
    /* Its contents, and not the dict: a finaliser may still add a timer. */
    if (self->spans != NULL) PyDict_Clear(self->spans);
    self->heap.count = self->times.count = self->at = self->is_open = 0;
    return 0;
}

static void dealloc(TimerIndex *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->spans);
    PyMem_Free(self->heap.items);
    PyMem_Free(self->times.items);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *head(TimerIndex *self, void *Py_UNUSED(closure)) {
    return self->is_open ? PyLong_FromLongLong(self->head_ms) : never();
}

/* Call index_add or index_remove with the arguments of a method. */
static PyObject *changed(TimerIndex *self, int (*change)(TimerIndex *, PyObject *, long long, PyObject *),
                         const char *name, PyObject *const *args, Py_ssize_t count) {
    if (!takes(name, 2, count)) return NULL;
    long long time_ms = PyLong_AsLongLong(args[0]);
    if (PyErr_Occurred() || change(self, args[0], time_ms, args[1]) < 0) return NULL;
    return Py_NewRef(Py_None);
}

static PyObject *add(TimerIndex *self, PyObject *const *args, Py_ssize_t count) {
    return changed(self, index_add, "add", args, count);
}

static PyObject *remove_(TimerIndex *self, PyObject *const *args, Py_ssize_t count) {
    return changed(self, index_remove, "remove", args, count);
}

static PyObject *pop(TimerIndex *self, PyObject *argument) {
    Py_ssize_t limit = PyNumber_AsSsize_t(argument, NULL);
    if (PyErr_Occurred()) return NULL;
    if (!self->is_open) return PyErr_Format(PyExc_ValueError, "there are no timers");
    long long head_ms = self->head_ms;
    PyObject *keys = index_pop(self, limit);
    return keys == NULL ? NULL : Py_BuildValue("LN", head_ms, keys);
}

static Py_ssize_t length(TimerIndex *self) {
    Py_ssize_t count = 0, at = 0;
    PyObject *name, *span;
    while (PyDict_Next(self->spans, &at, &name, &span)) count += PyDict_GET_SIZE(span);
    return count;
}

static PyGetSetDef attributes[] = {
    {"head_ms", (getter)head, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"add", FASTCALL(add), "add(timestamp_ms, key)\n--\n\nAdd a timer of the cell of a key."},
    {"remove", FASTCALL(remove_), "remove(timestamp_ms, key)\n--\n\nRemove a timer that was deleted before it was due."},
    {"pop", (PyCFunction)pop, METH_O, "pop(limit)\n--\n\nRemove and return timers of the earliest time."},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(doc, "HeapTimerIndex()\n--\n\nTimers in memory, by time. See `headgate.state.keyed.timer_index`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, new},
    {Py_tp_getset, attributes},
    {Py_tp_methods, methods},
    {Py_mp_length, length},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec timer_index_spec = {
    .name = "headgate._native.HeapTimerIndex",
    .basicsize = sizeof(TimerIndex),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
