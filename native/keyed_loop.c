/* The loop of keyed operators: `KeyedLoop` of headgate/operators/keyed_loop.py. */
#include "native.h"

#define GENERATION 0 /* the place in a cell, as in headgate/state/keyed/cells.py */

typedef struct {
    PyObject_HEAD
    PyObject *backend, *enter;
    Current *current;
    Extend extend;
} KeyedLoop;

/* What the records of one batch share. */
typedef struct {
    PyObject *cells, *generation, *call, *context, *set_timestamp;
} Batch;

/* Return the cell of a key, safe to read and change: a new reference, or NULL with an exception. */
static PyObject *cell_of(KeyedLoop *self, const Batch *batch, PyObject *key) {
    PyObject *cell = PyDict_GetItemWithError(batch->cells, key);
    if (cell == NULL) return PyErr_Occurred() ? NULL : call_two(self->enter, key, Py_None);
    Py_INCREF(cell);
    int is_current = 0;
    if (PyList_CheckExact(cell) && PyList_GET_SIZE(cell) > GENERATION) {
        PyObject *generation = PyList_GET_ITEM(cell, GENERATION);
        is_current = generation == batch->generation ||
                     PyObject_RichCompareBool(generation, batch->generation, Py_EQ);
    }
    if (is_current > 0) return cell;
    PyObject *entered = is_current < 0 ? NULL : call_two(self->enter, key, cell);
    Py_DECREF(cell);
    return entered;
}

/* Call the function for one record and append its results. `time`: NULL without timestamps. */
static int process(KeyedLoop *self, const Batch *batch, PyObject *key, PyObject *time, PyObject *value, PyObject *out) {
    PyObject *cell = cell_of(self, batch, key);
    if (cell == NULL) return -1;
    Py_XSETREF(self->current->cell, cell);
    if (time != NULL &&
        Py_TYPE(batch->set_timestamp)->tp_descr_set(batch->set_timestamp, batch->context, time) < 0)
        return -1;
    PyObject *results = call_two(batch->call, value, batch->context);
    if (results == NULL) return -1;
    int failed = extend_with(&self->extend, out, results);
    Py_DECREF(results);
    return failed;
}

/* Process records until the keys or the iterator end. `times` and `out_times`: NULL without timestamps. */
static int process_all(KeyedLoop *self, const Batch *batch, PyObject *keys, PyObject *times, PyObject *position,
                       PyObject *out, PyObject *out_times) {
    /* The sizes are asked each time: functions of users may reach the lists. */
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(keys); at++) {
        if (times != NULL && at >= PyList_GET_SIZE(times)) return 0;
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, at));
        PyObject *time = times == NULL ? NULL : Py_NewRef(PyList_GET_ITEM(times, at));
        PyObject *value = PyIter_Next(position);
        int failed = value == NULL || process(self, batch, key, time, value, out) < 0;
        while (!failed && times != NULL && PyList_GET_SIZE(out_times) < PyList_GET_SIZE(out))
            failed = PyList_Append(out_times, time) < 0;
        Py_DECREF(key);
        Py_XDECREF(time);
        Py_XDECREF(value);
        if (failed) return PyErr_Occurred() ? -1 : 0;
    }
    return 0;
}

/* Return the records, and their timestamps if `times` is not NULL. */
static PyObject *run(KeyedLoop *self, PyObject *keys, PyObject *times, PyObject *position, PyObject *call,
                     PyObject *context) {
    if (!PyList_CheckExact(keys) || !PyIter_Check(position) || (times != NULL && !PyList_CheckExact(times))) {
        PyErr_SetString(PyExc_TypeError, "a keyed loop takes lists of keys and times, and an iterator of records");
        return NULL;
    }
    Batch batch = {.call = call, .context = context};
    PyObject *out = NULL, *out_times = NULL, *result = NULL;
    batch.cells = PyObject_GetAttrString(self->backend, "cells");
    batch.generation = PyObject_GetAttrString(self->backend, "generation");
    if (batch.cells == NULL || batch.generation == NULL) goto done;
    if (times != NULL) {
        /* `RecordContext.at` sets this attribute for each record. */
        batch.set_timestamp = PyObject_GetAttrString((PyObject *)Py_TYPE(context), "_timestamp");
        if (batch.set_timestamp == NULL) goto done;
    }
    if (!PyDict_CheckExact(batch.cells) || (times != NULL && Py_TYPE(batch.set_timestamp)->tp_descr_set == NULL)) {
        PyErr_SetString(PyExc_TypeError, "cells are a dict, and a timestamp is a slot of the context");
        goto done;
    }
    out = PyList_New(0);
    out_times = times == NULL ? NULL : PyList_New(0);
    if (out == NULL || (times != NULL && out_times == NULL)) goto done;
    if (process_all(self, &batch, keys, times, position, out, out_times) < 0) goto done;
    result = times == NULL ? Py_NewRef(out) : PyTuple_Pack(2, out, out_times);
done:
    Py_XDECREF(batch.cells);
    Py_XDECREF(batch.generation);
    Py_XDECREF(batch.set_timestamp);
    Py_XDECREF(out);
    Py_XDECREF(out_times);
    return result;
}

PyDoc_STRVAR(run_doc, "run(keys, position, call, context)\n--\n\n"
                      "Call a function with each record and the context. Return the results.");

static PyObject *keyed_loop_run(KeyedLoop *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "run() takes 4 arguments, not %zd", count);
    return run(self, args[0], NULL, args[1], args[2], args[3]);
}

PyDoc_STRVAR(run_timed_doc, "run_timed(keys, timestamps, position, call, context)\n--\n\n"
                            "Call a function with each record, and the context with its timestamp.\n\n"
                            "Return the results, and their timestamps.");

static PyObject *keyed_loop_run_timed(KeyedLoop *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "run_timed() takes 5 arguments, not %zd", count);
    return run(self, args[0], args[1], args[2], args[3], args[4]);
}

static PyObject *keyed_loop_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"backend", "extend", NULL};
    PyObject *backend, *extend;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "OO", names, &backend, &extend)) return NULL;
    KeyedLoop *self = (KeyedLoop *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->backend = Py_NewRef(backend);
    self->current = (Current *)PyObject_GetAttrString(backend, "current");
    if (self->current == NULL) goto fail;
    if (!Py_IS_TYPE(self->current, state->current)) {
        PyErr_Format(PyExc_TypeError, "the current cell of a compiled loop is in a headgate._native.Current, not in %R",
                     self->current);
        goto fail;
    }
    self->enter = PyObject_GetAttrString(backend, "enter");
    if (self->enter == NULL || extend_by(&self->extend, state, Py_NewRef(extend)) < 0) goto fail;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

static int keyed_loop_traverse(KeyedLoop *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->backend);
    Py_VISIT(self->enter);
    Py_VISIT(self->current);
    Py_VISIT(self->extend.function);
    return 0;
}

static int keyed_loop_clear(KeyedLoop *self) {
    /* None, and not NULL: a finaliser may still call a method, which raises then. `current` clears itself. */
    Py_XSETREF(self->backend, Py_NewRef(Py_None));
    Py_XSETREF(self->enter, Py_NewRef(Py_None));
    PyObject *extend = self->extend.function;
    self->extend = (Extend){.function = Py_NewRef(Py_None)};
    Py_XDECREF(extend);
    return 0;
}

static void keyed_loop_dealloc(KeyedLoop *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->backend);
    Py_XDECREF(self->enter);
    Py_XDECREF(self->current);
    Py_XDECREF(self->extend.function);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))keyed_loop_run, METH_FASTCALL, run_doc},
    {"run_timed", (PyCFunction)(void (*)(void))keyed_loop_run_timed, METH_FASTCALL, run_timed_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(keyed_loop_doc, "KeyedLoop(backend, extend)\n--\n\n"
                             "The loop of a keyed operator. See `headgate.operators.keyed_loop`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)keyed_loop_doc},
    {Py_tp_new, keyed_loop_new},
    {Py_tp_methods, methods},
    {Py_tp_traverse, keyed_loop_traverse},
    {Py_tp_clear, keyed_loop_clear},
    {Py_tp_dealloc, keyed_loop_dealloc},
    {0, NULL},
};

PyType_Spec keyed_loop_spec = {
    .name = "headgate._native.KeyedLoop",
    .basicsize = sizeof(KeyedLoop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
