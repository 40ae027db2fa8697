/* The functions that make values of windows of records: those of headgate/operators/windows/combined_contents.py. */
#include "objects.h"

typedef enum { ITSELF, ADDED, SWAPPED } StepKind;
static const char *const kind_names[] = {"itself", "added", "swapped", NULL};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    StepKind kind;
    PyObject *function; /* ADDED: of a record and a value; SWAPPED: of a value and a record */
    PyObject *create;   /* ADDED: makes the value to which the first record is added */
} Step;

static PyObject *step_vectorcall(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names) {
    Step *self = (Step *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(flags), wanted = self->kind == SWAPPED ? 2 : 1;
    if (names != NULL || count != wanted)
        return PyErr_Format(PyExc_TypeError, "a step takes %zd arguments, not %zd", wanted, count);
    if (self->kind == ITSELF) return Py_NewRef(args[0]);
    if (self->kind == SWAPPED) return call_two(self->function, args[1], args[0]);
    PyObject *created = call_none(self->create);
    if (created == NULL) return NULL;
    PyObject *value = call_two(self->function, args[0], created);
    Py_DECREF(created);
    return value;
}

static PyObject *step_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *kind;
    PyObject *function, *create;
    if (!PyArg_ParseTuple(args, "sOO", &kind, &function, &create)) return NULL;
    int at = kind_named("step", kind_names, kind);
    if (at < 0) return NULL;
    Step *self = (Step *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = step_vectorcall;
    self->kind = (StepKind)at;
    self->function = Py_NewRef(function);
    self->create = Py_NewRef(create);
    return (PyObject *)self;
}

#define OBJECTS(self) {&(self)->function, &(self)->create}

static int traverse(Step *self, visitproc visit, void *arg) { return visit_all(self, visit, arg, ALL(OBJECTS(self))); }

static int clear(Step *self) { return forget_all(ALL(OBJECTS(self))); }

static void dealloc(Step *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMemberDef members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Step, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(step_doc, "Step(kind, function, create)\n--\n\n"
                       "A function that makes values of windows. See `headgate.operators.windows.combined_contents`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)step_doc},
    {Py_tp_new, step_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec step_spec = {
    .name = "headgate._native.Step",
    .basicsize = sizeof(Step),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};
