/* Calls of the methods of user functions, as the adapters of headgate/operators/calls.py return them.
 *
 * The loops of this module take what a method emits without a tuple around it; other code calls a `Call` like the
 * Python function that it stands in for. */
#include "objects.h"

/* What a method takes and returns. The first kinds emit at most one record. */
typedef enum { ONE, OPTIONAL, ITSELF, REDUCED, MANY, MANY_OF_ONE } Kind;
static const char *const kind_names[] = {"one", "optional", "itself", "reduced", "many", "many_of_one", NULL};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Kind kind;
    PyObject *method;
    PyObject *other; /* REDUCED: a handle of value state. MANY, MANY_OF_ONE: `expect_records` */
} Call;

/* Return the record that a call emits, a new reference; NULL with an exception, or without one where it emits none. */
static PyObject *record_of(Call *self, PyObject *value) {
    if (self->kind == ITSELF) return call_truth(self->method, value) > 0 ? Py_NewRef(value) : NULL;
    if (self->kind != REDUCED) {
        PyObject *result = call_one(self->method, value);
        if (self->kind == OPTIONAL && result == Py_None) Py_CLEAR(result);
        return result;
    }
    PyObject *so_far = handle_value(self->other);
    if (so_far == NULL) return NULL;
    PyObject *result = so_far == Py_None ? Py_NewRef(value) : call_two(self->method, so_far, value);
    Py_DECREF(so_far);
    if (result != NULL && handle_update(self->other, result) < 0) Py_CLEAR(result);
    return result;
}

static inline int are_records(PyObject *results) {
    return results == Py_None || PyGen_CheckExact(results) || PyList_CheckExact(results) || PyTuple_CheckExact(results);
}

/* Return the results of a call, a new reference, or NULL with an exception. */
static PyObject *results_of(Call *self, PyObject *value, PyObject *context) {
    PyObject *results =
        self->kind == MANY ? call_two(self->method, value, context) : call_one(self->method, value);
    if (results == NULL || are_records(results)) return results;
    if (discard(call_two(self->other, results, self->method)) < 0) Py_CLEAR(results);
    return results;
}

int extend_by_call(const Extend *extend, PyObject *out, PyObject *call, PyObject *value, PyObject *context) {
    Call *self = (Call *)call;
    if (self->kind >= MANY) {
        PyObject *results = results_of(self, value, context);
        int failed = results == NULL ? -1 : extend_with(extend, out, results);
        Py_XDECREF(results);
        return failed;
    }
    PyObject *record = record_of(self, value);
    if (record == NULL) return PyErr_Occurred() ? -1 : 0;
    int failed = extend_with_one(extend, out, record);
    Py_DECREF(record);
    return failed;
}

static PyObject *call_vectorcall(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names) {
    Call *self = (Call *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (names != NULL || (count != 2 && (count != 1 || self->kind == MANY)))
        return PyErr_Format(PyExc_TypeError, "a call takes a record and a context, not %zd arguments", count);
    if (self->kind >= MANY) return results_of(self, args[0], count == 2 ? args[1] : NULL);
    PyObject *record = record_of(self, args[0]);
    if (record == NULL) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *one = PyTuple_New(1);
    if (one == NULL)
        Py_DECREF(record);
    else
        PyTuple_SET_ITEM(one, 0, record);
    return one;
}

static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"kind", "method", "other", NULL};
    const char *kind;
    PyObject *method, *other;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sOO", names, &kind, &method, &other)) return NULL;
    int at = kind_named("call", kind_names, kind);
    if (at < 0) return NULL;
    if (at == REDUCED && !is_value_handle(other))
        return PyErr_Format(PyExc_TypeError, "a reduced call takes a compiled handle of value state, not %R", other);
    Call *self = (Call *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = call_vectorcall;
    self->kind = (Kind)at;
    self->method = Py_NewRef(method);
    self->other = Py_NewRef(other);
    return (PyObject *)self;
}

#define OBJECTS(self) {&(self)->method, &(self)->other}

static int call_traverse(Call *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int call_clear(Call *self) {
    /* None, and not NULL: a finaliser may still call it, which raises then. A handle takes itself apart. */
    Py_XSETREF(self->method, Py_NewRef(Py_None));
    if (self->kind != REDUCED) Py_XSETREF(self->other, Py_NewRef(Py_None));
    return 0;
}

static void call_dealloc(Call *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMemberDef members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Call, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(call_doc, "Call(kind, method, other)\n--\n\n"
                       "A call with a record and a context. See `headgate.operators.calls`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)call_doc},
    {Py_tp_new, call_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {Py_tp_traverse, call_traverse},
    {Py_tp_clear, call_clear},
    {Py_tp_dealloc, call_dealloc},
    {0, NULL},
};

PyType_Spec call_spec = {
    .name = "headgate._native.Call",
    .basicsize = sizeof(Call),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};
