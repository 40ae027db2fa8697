/* Which records a receiver may have without a copy: the rules of headgate/types/record_copies.py, for exact types.
 *
 * An object that Python code still holds has more references than this code owns. Values of other types than tuples,
 * lists, dicts and atomic types go to the functions of record_copies.py.
 *
 * The walk over a record calls no Python code, so nothing can change the record meanwhile. */
#include "native.h"

#define ATOMIC_MAX 64 /* types; record_copies.py has about 25 */
#define DEPTH_MAX 64  /* of a record: deeper ones are left to record_copies.py, which does not recurse */

struct Ownership {
    PyObject_HEAD
    PyObject *copied, *is_alone;      /* functions of record_copies.py */
    Py_ssize_t given;                 /* references to an argument that the caller holds in one variable */
    Py_ssize_t atomic_count;
    PyTypeObject *atomic[ATOMIC_MAX]; /* owned */
};

/* Whether a type is among the atomic ones. Compares addresses: a metaclass may define __eq__. */
static Py_NO_INLINE int is_listed(const Ownership *self, PyTypeObject *type) {
    if (type == Py_TYPE(Py_None) || type == &PyBool_Type || type == &PyBytes_Type) return 1;
    if (type == &PyTuple_Type || type == &PyDict_Type || type == &PyList_Type) return 0;
    for (Py_ssize_t i = 0; i < self->atomic_count; i++)
        if (type == self->atomic[i]) return 1;
    return 0;
}

/* Whether nothing can change a value, told by its type alone. */
static inline int is_atomic(const Ownership *self, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyLong_Type || type == &PyUnicode_Type || type == &PyFloat_Type || is_listed(self, type);
}

static inline int is_atomic_tuple(const Ownership *self, PyObject *value) {
    if (!PyTuple_CheckExact(value)) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
        if (!is_atomic(self, PyTuple_GET_ITEM(value, i))) return 0;
    return 1;
}

/* Whether no receiver could change a record. */
static inline int is_plain_record(const Ownership *self, PyObject *value) {
    return PyTuple_CheckExact(value) ? is_atomic_tuple(self, value) : is_atomic(self, value);
}

/* Whether this code can tell that nothing else holds what can change in a value; 0: record_copies.py has to tell. */
static int parts_are_alone(const Ownership *self, PyObject *value, int depth);

static inline int part_is_alone(const Ownership *self, PyObject *part, int depth) {
    if (is_atomic(self, part)) return 1;
    return Py_REFCNT(part) == 1 ? parts_are_alone(self, part, depth + 1) : is_atomic_tuple(self, part);
}

static int parts_are_alone(const Ownership *self, PyObject *value, int depth) {
    if (depth > DEPTH_MAX) return 0;
    if (PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
            if (!part_is_alone(self, PyTuple_GET_ITEM(value, i), depth)) return 0;
        return 1;
    }
    if (PyList_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
            if (!part_is_alone(self, PyList_GET_ITEM(value, i), depth)) return 0;
        return 1;
    }
    if (PyDict_CheckExact(value)) {
        Py_ssize_t at = 0;
        PyObject *key, *item;
        while (PyDict_Next(value, &at, &key, &item))
            if (!is_plain_record(self, key) || !part_is_alone(self, item, depth)) return 0;
        return 1;
    }
    return 0;
}

/* Append a record that is not plain to a list. Returns 0, or -1 with an exception. */
static Py_NO_INLINE int append_changeable(Ownership *self, PyObject *out, PyObject *record, int is_held) {
    if (!is_held) {
        int is_alone = parts_are_alone(self, record, 0);
        if (!is_alone) is_alone = call_truth(self->is_alone, record);
        if (is_alone < 0) return -1;
        if (is_alone) return PyList_Append(out, record);
    }
    PyObject *copy = call_one(self->copied, record);
    if (copy == NULL) return -1;
    int failed = PyList_Append(out, copy);
    Py_DECREF(copy);
    return failed;
}

/* Append a record to a list: a copy of it if somebody else may change it. `is_held`: something holds the record itself.
 * The caller keeps the record alive. Returns whether the record is plain, or -1 with an exception. */
static inline int append_record(Ownership *self, PyObject *out, PyObject *record, int is_held) {
    if (self != NULL && !is_plain_record(self, record)) return append_changeable(self, out, record, is_held);
    return PyList_Append(out, record) < 0 ? -1 : 1;
}

/* Append the item of a list or a tuple. `count`: the references to the item if only the container holds it. */
static inline int append_item(Ownership *self, PyObject *out, PyObject *item, Py_ssize_t count) {
    int is_held = Py_REFCNT(item) > count;
    Py_INCREF(item);
    int plain = append_record(self, out, item, is_held);
    Py_DECREF(item);
    return plain;
}

#define RECORDS_AT_A_TIME (1 << 16)

/* Let other threads run, and signals be handled, from time to time. Call where no borrowed reference is in use.
 *
 * The call of any Python function does both, if they are due. C code that releases the lock does not always: a thread
 * asks for the lock after waiting for 5 ms, and a release within that time only makes it wait anew. */
static inline int take_turns(Ownership *self, Py_ssize_t count) {
    if (self == NULL || count % RECORDS_AT_A_TIME != 0) return 0;
    return discard(call_one(self->copied, Py_None));
}

static int check_list(PyObject *out) {
    if (PyList_CheckExact(out)) return 0;
    PyErr_Format(PyExc_TypeError, "records are added to a list, not to %.100s", Py_TYPE(out)->tp_name);
    return -1;
}

int append_results(Ownership *self, PyObject *out, PyObject *results, Py_ssize_t given) {
    if (PyGen_CheckExact(results)) {
        PyObject *record;
        PySendResult sent;
        while ((sent = PyIter_Send(results, Py_None, &record)) == PYGEN_NEXT) {
            int plain = append_record(self, out, record, Py_REFCNT(record) > 1);
            Py_DECREF(record);
            if (plain < 0) return -1;
        }
        if (sent == PYGEN_ERROR) return -1;
        Py_DECREF(record);
        return 0;
    }
    if (PyList_CheckExact(results) || PyTuple_CheckExact(results)) {
        int is_list = PyList_CheckExact(results);
        Py_ssize_t alone = Py_REFCNT(results) > given ? 0 : 1;
        /* The size is read again each time: what copies a record may be Python code that changes the list. */
        for (Py_ssize_t i = 0; i < (is_list ? PyList_GET_SIZE(results) : PyTuple_GET_SIZE(results)); i++) {
            PyObject *item = is_list ? PyList_GET_ITEM(results, i) : PyTuple_GET_ITEM(results, i);
            if (append_item(self, out, item, alone) < 0 || take_turns(self, i + 1) < 0) return -1;
        }
        return 0;
    }
    PyObject *iterator = PyObject_GetIter(results), *record, *before = NULL;
    if (iterator == NULL) return -1;
    for (Py_ssize_t i = 1; (record = PyIter_Next(iterator)) != NULL; i++) {
        /* As the variable of a loop, which keeps `zip` and `enumerate` from using their last tuple again. */
        Py_XSETREF(before, record);
        if (append_record(self, out, record, Py_REFCNT(record) > 1) < 0 || take_turns(self, i) < 0) break;
    }
    Py_XDECREF(before);
    Py_DECREF(iterator);
    return PyErr_Occurred() ? -1 : 0;
}

int append_one(Ownership *self, PyObject *out, PyObject *record) {
    return append_record(self, out, record, Py_REFCNT(record) > 1) < 0 ? -1 : 0;
}

PyDoc_STRVAR(extend_doc, "extend(out, results)\n--\n\nAdd the records that one call of a function emits.\n\n"
                         "The caller has `results` in one variable. Raises TypeError where a record cannot be copied.");

static PyObject *ownership_extend(Ownership *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("extend", 2, count)) return NULL;
    if (check_list(args[0]) < 0 || append_results(self, args[0], args[1], self->given) < 0) return NULL;
    Py_RETURN_NONE;
}

int extend_by(Extend *extend, State *state, PyObject *function) {
    *extend = (Extend){.function = function};
    if (PyCFunction_Check(function) && PyCFunction_GET_SELF(function) != NULL &&
        Py_IS_TYPE(PyCFunction_GET_SELF(function), state->ownership) &&
        PyCFunction_GET_FUNCTION(function) == (PyCFunction)(void (*)(void))ownership_extend) {
        extend->ownership = (Ownership *)PyCFunction_GET_SELF(function);
        return 0;
    }
    PyObject *of_list = attribute_of((PyObject *)&PyList_Type, "extend");
    extend->is_by_reference = of_list == function;
    Py_XDECREF(of_list);
    return of_list == NULL ? -1 : 0;
}

PyDoc_STRVAR(mapped_doc, "mapped(call, records)\n--\n\n"
                         "Return the result of each call, for the iterator of a list, and whether all are plain.");

static PyObject *ownership_mapped(Ownership *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("mapped", 2, count)) return NULL;
    PyObject *call = args[0], *records = args[1], *value;
    if (!PyIter_Check(records))
        return PyErr_Format(PyExc_TypeError, "%.100s is no iterator", Py_TYPE(records)->tp_name);
    PyObject *out = PyList_New(0);
    if (out == NULL) return NULL;
    int all_plain = 1;
    while ((value = PyIter_Next(records)) != NULL) {
        PyObject *result = call_one(call, value);
        int plain = -1;
        if (result != NULL) {
            /* A function that returns its argument: `value`, `result` and the list that is iterated over. */
            plain = append_record(self, out, result, Py_REFCNT(result) > (result == value ? 3 : 1));
            Py_DECREF(result);
        }
        Py_DECREF(value);
        if (plain < 0) break;
        all_plain &= plain;
    }
    if (PyErr_Occurred()) {
        Py_DECREF(out);
        return NULL;
    }
    return Py_BuildValue("NO", out, all_plain ? Py_True : Py_False);
}

static int are_plain(Ownership *self, PyObject *records) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(records); i++)
        if (!is_plain_record(self, PyList_GET_ITEM(records, i))) return 0;
    return 1;
}

PyDoc_STRVAR(is_plain_doc, "is_plain(records)\n--\n\nReturn whether no receiver could change any record of a list.");

static PyObject *ownership_is_plain(Ownership *self, PyObject *records) {
    return check_list(records) < 0 ? NULL : PyBool_FromLong(are_plain(self, records));
}

PyDoc_STRVAR(owned_doc, "owned(polled)\n--\n\nReturn a new list of `polled.records`, and whether all are plain.\n\n"
                        "The caller has `polled` in one variable, and no part of it elsewhere.");

static PyObject *ownership_owned(Ownership *self, PyObject *polled) {
    int all_plain = 1;
    PyObject *records = attribute_of(polled, "records");
    if (records == NULL) return NULL;
    /* `records` may be a property, so `polled` is looked at after it. Its records: `polled` and this function. */
    int is_kept = Py_REFCNT(polled) > self->given || Py_REFCNT(records) > 2;
    if (PyList_CheckExact(records) && are_plain(self, records)) {
        PyObject *same = PyList_GetSlice(records, 0, PyList_GET_SIZE(records));
        Py_DECREF(records);
        return same == NULL ? NULL : Py_BuildValue("NO", same, Py_True);
    }
    PyObject *out = PyList_New(0);
    if (out != NULL && PyList_CheckExact(records)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(records); i++) {
            int plain = append_item(self, out, PyList_GET_ITEM(records, i), is_kept ? 0 : 1);
            if (plain < 0) break;
            all_plain &= plain;
        }
    } else if (out != NULL) {
        PyObject *iterator = PyObject_GetIter(records), *record;
        while (iterator != NULL && (record = PyIter_Next(iterator)) != NULL) {
            /* `records` and `record` */
            int plain = append_record(self, out, record, is_kept || Py_REFCNT(record) > 2);
            Py_DECREF(record);
            if (plain < 0) break;
            all_plain &= plain;
        }
        Py_XDECREF(iterator);
    }
    Py_DECREF(records);
    if (PyErr_Occurred()) {
        Py_XDECREF(out);
        return NULL;
    }
    return Py_BuildValue("NO", out, all_plain ? Py_True : Py_False);
}

PyDoc_STRVAR(references_doc, "references(value)\n--\n\nReturn how many references to its argument a method sees.");

static PyObject *ownership_references(PyObject *Py_UNUSED(type), PyObject *value) {
    return PyLong_FromSsize_t(Py_REFCNT(value));
}

static PyMethodDef methods[] = {
    {"extend", FASTCALL(ownership_extend), extend_doc},
    {"mapped", FASTCALL(ownership_mapped), mapped_doc},
    {"owned", (PyCFunction)ownership_owned, METH_O, owned_doc},
    {"is_plain", (PyCFunction)ownership_is_plain, METH_O, is_plain_doc},
    {"references", ownership_references, METH_O | METH_STATIC, references_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *ownership_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"atomic", "copied", "is_alone", "given", NULL};
    PyObject *atomic, *copied, *is_alone, *kind;
    Py_ssize_t given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOn", names, &atomic, &copied, &is_alone, &given)) return NULL;
    if (!PyFrozenSet_CheckExact(atomic)) { /* a subclass may iterate over more than it says */
        PyErr_SetString(PyExc_TypeError, "atomic types are a frozenset");
        return NULL;
    }
    if (PySet_GET_SIZE(atomic) > ATOMIC_MAX)
        return PyErr_Format(PyExc_ValueError, "%zd atomic types are too many", PySet_GET_SIZE(atomic));
    Ownership *self = (Ownership *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->copied = Py_NewRef(copied);
    self->is_alone = Py_NewRef(is_alone);
    self->given = given;
    PyObject *kinds = PyObject_GetIter(atomic);
    while (kinds != NULL && (kind = PyIter_Next(kinds)) != NULL) {
        if (!PyType_Check(kind)) {
            PyErr_Format(PyExc_TypeError, "an atomic type is a type, not %.100s", Py_TYPE(kind)->tp_name);
            Py_DECREF(kind);
            break;
        }
        self->atomic[self->atomic_count++] = (PyTypeObject *)kind;
    }
    Py_XDECREF(kinds);
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int ownership_traverse(Ownership *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->copied);
    Py_VISIT(self->is_alone);
    for (Py_ssize_t i = 0; i < self->atomic_count; i++) Py_VISIT(self->atomic[i]);
    return 0;
}

static int ownership_clear(Ownership *self) {
    /* None, and not NULL: a finaliser may still call a method, which raises then. */
    Py_XSETREF(self->copied, Py_NewRef(Py_None));
    Py_XSETREF(self->is_alone, Py_NewRef(Py_None));
    while (self->atomic_count > 0) {
        PyTypeObject *type = self->atomic[--self->atomic_count];
        Py_DECREF(type);
    }
    return 0;
}

static void ownership_dealloc(Ownership *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    ownership_clear(self);
    Py_DECREF(self->copied);
    Py_DECREF(self->is_alone);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(ownership_doc, "Ownership(atomic, copied, is_alone, given)\n--\n\n"
                            "How records pass by value, with the functions of `headgate.types.record_copies`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)ownership_doc},
    {Py_tp_new, ownership_new},
    {Py_tp_methods, methods},
    {Py_tp_traverse, ownership_traverse},
    {Py_tp_clear, ownership_clear},
    {Py_tp_dealloc, ownership_dealloc},
    {0, NULL},
};

PyType_Spec ownership_spec = {
    .name = "headgate._native.Ownership",
    .basicsize = sizeof(Ownership),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
