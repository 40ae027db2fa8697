/* The cell of the current key, `Current` of headgate/state/keyed/cells.py, and the cells of a backend. */
#include "cells.h"

int cells_of(Cells *cells, PyObject *backend) {
    cells->by_key = attribute_of(backend, "cells");
    cells->generation = attribute_of(backend, "generation");
    cells->enter = attribute_of(backend, "enter");
    if (cells->by_key == NULL || cells->generation == NULL || cells->enter == NULL) return -1;
    if (PyDict_CheckExact(cells->by_key)) return 0;
    PyErr_SetString(PyExc_TypeError, "the cells of a backend are a dict");
    return -1;
}

void release_cells(Cells *cells) {
    Py_CLEAR(cells->by_key);
    Py_CLEAR(cells->generation);
    Py_CLEAR(cells->enter);
}

static PyObject *current_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"cell", "emptied", NULL};
    PyObject *cell, *emptied;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!", names, &cell, &PyList_Type, &emptied)) return NULL;
    Current *self = (Current *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->cell = Py_NewRef(cell);
    self->emptied = Py_NewRef(emptied);
    return (PyObject *)self;
}

static int current_traverse(Current *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->cell);
    Py_VISIT(self->emptied);
    return 0;
}

static int current_clear(Current *self) {
    Py_CLEAR(self->cell);
    Py_CLEAR(self->emptied);
    return 0;
}

static void current_dealloc(Current *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    current_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"cell", Py_T_OBJECT_EX, offsetof(Current, cell), 0, NULL},
    {"emptied", Py_T_OBJECT_EX, offsetof(Current, emptied), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(current_doc, "Current(cell, emptied)\n--\n\nThe cell of the current key. See `headgate.state.keyed.cells`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)current_doc},
    {Py_tp_new, current_new},
    {Py_tp_members, members},
    {Py_tp_traverse, current_traverse},
    {Py_tp_clear, current_clear},
    {Py_tp_dealloc, current_dealloc},
    {0, NULL},
};

PyType_Spec current_spec = {
    .name = "headgate._native.Current",
    .basicsize = sizeof(Current),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
