/* The loops over the records of a batch: `KeyedLoop` of headgate/operators/keyed_loop.py, and `RecordLoop` of
 * headgate/operators/plain.py, which has no keys. */
#include "cells.h"
#include "objects.h"

typedef struct {
    PyObject_HEAD
    PyTypeObject *call_type;
    Extend extend;
    PyObject *backend; /* of a keyed loop only, as is `current` */
    Current *current;
} Loop;

/* The records of one batch, and what they share. NULL: `keys` without keys, `times` without timestamps, `context` where
 * the function takes none. */
typedef struct {
    PyObject *keys, *times, *position, *call, *context;
    Cells cells;
    PyObject *set_timestamp; /* owned */
} Batch;

/* Call the function for one record and append its results. `key`, `time`: NULL without. Returns -1 with an exception. */
static inline int process(Loop *self, const Batch *batch, PyObject *key, PyObject *time, PyObject *value,
                          PyObject *out) {
    if (key != NULL) {
        PyObject *cell = entered(&batch->cells, key);
        if (cell == NULL) return -1;
        Py_XSETREF(self->current->cell, cell);
    }
    if (time != NULL && batch->set_timestamp != NULL &&
        Py_TYPE(batch->set_timestamp)->tp_descr_set(batch->set_timestamp, batch->context, time) < 0)
        return -1;
    if (Py_IS_TYPE(batch->call, self->call_type))
        return extend_by_call(&self->extend, out, batch->call, value, batch->context);
    PyObject *results =
        batch->context == NULL ? call_one(batch->call, value) : call_two(batch->call, value, batch->context);
    if (results == NULL) return -1;
    int failed = extend_with(&self->extend, out, results);
    Py_DECREF(results);
    return failed;
}

/* Give each result that has no timestamp yet this one. Returns -1 with an exception. */
static inline int fill(PyObject *out_times, PyObject *time, PyObject *out) {
    int failed = 0;
    while (failed == 0 && PyList_GET_SIZE(out_times) < PyList_GET_SIZE(out)) failed = PyList_Append(out_times, time);
    return failed;
}

/* Process the record at one place. Returns 1 at the end, or -1 with an exception. */
static inline int process_next(Loop *self, const Batch *batch, Py_ssize_t at, PyObject *out, PyObject *out_times) {
    PyObject *key = NULL, *time = NULL, *value;
    if (batch->keys != NULL && (key = item_at(batch->keys, at)) == NULL) return 1;
    if (batch->times != NULL && (time = item_at(batch->times, at)) == NULL) {
        Py_XDECREF(key);
        return 1;
    }
    int done = 1;
    if ((value = PyIter_Next(batch->position)) != NULL) {
        done = process(self, batch, key, time, value, out);
        if (done == 0 && time != NULL) done = fill(out_times, time, out);
        Py_DECREF(value);
    } else if (PyErr_Occurred()) {
        done = -1;
    }
    Py_XDECREF(key);
    Py_XDECREF(time);
    return done;
}

/* Get the slot that `RecordContext.at` sets. Returns -1 with an exception. */
static int prepare_times(Batch *batch) {
    batch->set_timestamp = attribute_of((PyObject *)Py_TYPE(batch->context), "_timestamp");
    if (batch->set_timestamp == NULL) return -1;
    if (Py_TYPE(batch->set_timestamp)->tp_descr_set != NULL) return 0;
    PyErr_SetString(PyExc_TypeError, "the timestamp is a slot of the context");
    return -1;
}

/* Get what is asked of the backend and of the context once for a batch. Returns -1 with an exception. */
static int prepare(Loop *self, Batch *batch) {
    if (!PyIter_Check(batch->position) || (batch->keys != NULL && !PyList_CheckExact(batch->keys)) ||
        (batch->times != NULL && !PyList_CheckExact(batch->times))) {
        PyErr_SetString(PyExc_TypeError, "a loop takes lists of keys and timestamps, and an iterator of records");
        return -1;
    }
    if (batch->keys != NULL && cells_of(&batch->cells, self->backend) < 0) return -1;
    return batch->times == NULL || batch->context == NULL ? 0 : prepare_times(batch);
}

/* Return the results for a batch, and their timestamps if it has any. */
static PyObject *run(Loop *self, Batch batch) {
    PyObject *out = NULL, *out_times = NULL, *result = NULL;
    if (prepare(self, &batch) == 0 && (out = PyList_New(0)) != NULL &&
        (batch.times == NULL || (out_times = PyList_New(0)) != NULL)) {
        int done = 0;
        for (Py_ssize_t at = 0; done == 0; at++) done = process_next(self, &batch, at, out, out_times);
        if (done > 0) result = out_times == NULL ? Py_NewRef(out) : PyTuple_Pack(2, out, out_times);
    }
    release_cells(&batch.cells);
    Py_XDECREF(batch.set_timestamp);
    Py_XDECREF(out);
    Py_XDECREF(out_times);
    return result;
}

PyDoc_STRVAR(keyed_run_doc, "run(keys, position, call, context)\n--\n\n"
                            "Call a function with each record and the context. Return the results.");

static PyObject *keyed_run(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("run", 4, count)) return NULL;
    return run(self, (Batch){.keys = args[0], .position = args[1], .call = args[2], .context = args[3]});
}

PyDoc_STRVAR(keyed_run_timed_doc, "run_timed(keys, timestamps, position, call, context)\n--\n\n"
                                  "Call a function with each record, and the context with its timestamp.\n\n"
                                  "Return the results, and their timestamps.");

static PyObject *keyed_run_timed(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("run_timed", 5, count)) return NULL;
    return run(self, (Batch){.keys = args[0], .times = args[1], .position = args[2], .call = args[3],
                             .context = args[4]});
}

PyDoc_STRVAR(keyed_fire_doc, "fire(timers, until_ms, limit, call, context)\n--\n\n"
                             "Call a function with the time of each due timer, and the context with this timestamp.\n\n"
                             "Return the results, and their timestamps.");

static PyObject *keyed_fire(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("fire", 5, count)) return NULL;
    Batch batch = {.call = args[3], .context = args[4]};
    PyObject *out = PyList_New(0), *out_times = PyList_New(0), *due = NULL, *result = NULL, *time;
    if (out != NULL && out_times != NULL && prepare_times(&batch) == 0)
        due = call_method(args[0], "due", "(OOO)", args[1], args[2], out);
    batch.position = due == NULL ? NULL : PyObject_GetIter(due);
    if (batch.position != NULL) {
        int failed = 0;
        while (failed == 0 && (time = PyIter_Next(batch.position)) != NULL) {
            failed = process(self, &batch, NULL, time, time, out);
            if (failed == 0) failed = fill(out_times, time, out);
            Py_DECREF(time);
        }
        if (!PyErr_Occurred()) result = PyTuple_Pack(2, out, out_times);
    }
    Py_XDECREF(batch.position);
    Py_XDECREF(batch.set_timestamp);
    Py_XDECREF(due);
    Py_XDECREF(out);
    Py_XDECREF(out_times);
    return result;
}

PyDoc_STRVAR(record_run_doc, "run(position, call, context)\n--\n\n"
                             "Call a function with each record and the context. Return the results.");

static PyObject *record_run(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("run", 3, count)) return NULL;
    return run(self, (Batch){.position = args[0], .call = args[1], .context = args[2]});
}

PyDoc_STRVAR(record_run_timed_doc, "run_timed(timestamps, position, call, context)\n--\n\n"
                                   "Call a function with each record, and the context with its timestamp.\n\n"
                                   "Return the results, and their timestamps.");

static PyObject *record_run_timed(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("run_timed", 4, count)) return NULL;
    return run(self, (Batch){.times = args[0], .position = args[1], .call = args[2], .context = args[3]});
}

PyDoc_STRVAR(flat_doc, "flat(position, call)\n--\n\nCall a function with each record. Return the results.");

static PyObject *record_flat(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("flat", 2, count)) return NULL;
    return run(self, (Batch){.position = args[0], .call = args[1]});
}

PyDoc_STRVAR(flat_timed_doc, "flat_timed(timestamps, position, call)\n--\n\n"
                             "Call a function with each record. Return the results, and their timestamps.");

static PyObject *record_flat_timed(Loop *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("flat_timed", 3, count)) return NULL;
    return run(self, (Batch){.times = args[0], .position = args[1], .call = args[2]});
}

/* --- the types */

/* Return a new loop without a backend. */
static Loop *made(PyTypeObject *type, State *state, PyObject *extend) {
    Loop *self = (Loop *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->call_type = (PyTypeObject *)Py_NewRef((PyObject *)state->call);
    if (extend_by(&self->extend, state, Py_NewRef(extend)) < 0) Py_CLEAR(self);
    return self;
}

static PyObject *record_loop_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"extend", NULL};
    PyObject *extend;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &extend)) return NULL;
    return (PyObject *)made(type, state, extend);
}

static PyObject *keyed_loop_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"backend", "extend", NULL};
    PyObject *backend, *extend;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "OO", names, &backend, &extend)) return NULL;
    Loop *self = made(type, state, extend);
    if (self == NULL) return NULL;
    self->backend = Py_NewRef(backend);
    self->current = (Current *)attribute_of(backend, "current");
    if (self->current != NULL && !Py_IS_TYPE(self->current, state->current))
        PyErr_Format(PyExc_TypeError, "the current cell of a compiled loop is in a headgate._native.Current, not in %R",
                     self->current);
    if (PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

#define OBJECTS(self)                                                                                   \
    {(PyObject **)&(self)->call_type, &(self)->extend.function, &(self)->backend, (PyObject **)&(self)->current}

static int loop_traverse(Loop *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int loop_clear(Loop *self) {
    self->extend.ownership = NULL;
    self->extend.is_by_reference = 0;
    PyObject **const taken[] = {&self->extend.function, &self->backend}; /* `current` takes itself apart */
    return forget_all(taken, Py_ARRAY_LENGTH(taken));
}

static void loop_dealloc(Loop *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMethodDef keyed_methods[] = {
    {"run", FASTCALL(keyed_run), keyed_run_doc},
    {"run_timed", FASTCALL(keyed_run_timed), keyed_run_timed_doc},
    {"fire", FASTCALL(keyed_fire), keyed_fire_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef record_methods[] = {
    {"run", FASTCALL(record_run), record_run_doc},
    {"run_timed", FASTCALL(record_run_timed), record_run_timed_doc},
    {"flat", FASTCALL(record_flat), flat_doc},
    {"flat_timed", FASTCALL(record_flat_timed), flat_timed_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(keyed_loop_doc, "KeyedLoop(backend, extend)\n--\n\n"
                             "The loop of a keyed operator. See `headgate.operators.keyed_loop`.");
PyDoc_STRVAR(record_loop_doc, "RecordLoop(extend)\n--\n\n"
                              "The loop of an operator without keys. See `headgate.operators.plain`.");

static PyType_Slot keyed_slots[] = {
    {Py_tp_doc, (void *)keyed_loop_doc},
    {Py_tp_new, keyed_loop_new},
    {Py_tp_methods, keyed_methods},
    {Py_tp_traverse, loop_traverse},
    {Py_tp_clear, loop_clear},
    {Py_tp_dealloc, loop_dealloc},
    {0, NULL},
};

static PyType_Slot record_slots[] = {
    {Py_tp_doc, (void *)record_loop_doc},
    {Py_tp_new, record_loop_new},
    {Py_tp_methods, record_methods},
    {Py_tp_traverse, loop_traverse},
    {Py_tp_clear, loop_clear},
    {Py_tp_dealloc, loop_dealloc},
    {0, NULL},
};

PyType_Spec keyed_loop_spec = {
    .name = "headgate._native.KeyedLoop",
    .basicsize = sizeof(Loop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = keyed_slots,
};

PyType_Spec record_loop_spec = {
    .name = "headgate._native.RecordLoop",
    .basicsize = sizeof(Loop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = record_slots,
};
