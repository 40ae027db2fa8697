/* Handles of keyed state without a time to live: the methods of headgate/state/kinds that every record calls.
 *
 * A type is made for each class of handles that is given, as its subclass: other methods are inherited, and read the
 * attributes here. Cells and contents of other classes than lists and dicts go through their own methods. */
#include "native.h"

typedef struct {
    PyObject_HEAD
    PyObject *name, *owner, *fitting, *type_check;
    Current *current;
    Py_ssize_t column;
} Handle;

/* --- the column of the current cell */

/* The current cell if it is a list with the column, borrowed; else NULL. */
static inline PyObject *listed_cell(Handle *self) {
    PyObject *cell = self->current->cell;
    return cell != NULL && PyList_CheckExact(cell) && self->column < PyList_GET_SIZE(cell) ? cell : NULL;
}

/* The current cell of any class, a new reference, or NULL with an exception. */
static PyObject *any_cell(Handle *self) {
    if (self->current->cell == NULL) PyErr_SetString(PyExc_AttributeError, "cell");
    return Py_XNewRef(self->current->cell);
}

/* Return the content of the column, a new reference, or NULL with an exception. */
static inline PyObject *get_content(Handle *self) {
    PyObject *cell = listed_cell(self), *column, *content = NULL;
    if (cell != NULL) return Py_NewRef(PyList_GET_ITEM(cell, self->column));
    if ((cell = any_cell(self)) == NULL) return NULL;
    if ((column = PyLong_FromSsize_t(self->column)) != NULL) content = PyObject_GetItem(cell, column);
    Py_XDECREF(column);
    Py_DECREF(cell);
    return content;
}

/* Set the content of the column. Returns -1 with an exception. */
static inline int set_content(Handle *self, PyObject *content) {
    PyObject *cell = listed_cell(self), *column;
    if (cell != NULL) {
        PyObject *before = PyList_GET_ITEM(cell, self->column);
        PyList_SET_ITEM(cell, self->column, Py_NewRef(content));
        Py_DECREF(before);
        return 0;
    }
    int failed = -1;
    if ((cell = any_cell(self)) == NULL) return -1;
    if ((column = PyLong_FromSsize_t(self->column)) != NULL) failed = PyObject_SetItem(cell, column, content);
    Py_XDECREF(column);
    Py_DECREF(cell);
    return failed;
}

/* Call the method of a handle or of anything else with one argument. */
static PyObject *call_method(PyObject *self, const char *name, PyObject *argument) {
    PyObject *method = PyObject_GetAttrString(self, name);
    if (method == NULL) return NULL;
    PyObject *result = call_one(method, argument);
    Py_DECREF(method);
    return result;
}

static inline int fits(Handle *self, PyObject *value) { return (PyObject *)Py_TYPE(value) == self->fitting; }

/* --- value state */

PyDoc_STRVAR(clear_doc, "clear()\n--\n\nRemove the state of the current key.");

static PyObject *single_clear(Handle *self, PyObject *Py_UNUSED(ignored)) {
    if (set_content(self, Py_None) < 0) return NULL;
    PyObject *cell = any_cell(self), *emptied = self->current->emptied;
    int failed = cell == NULL || emptied == NULL || PyList_Append(emptied, cell) < 0;
    Py_XDECREF(cell);
    if (!failed) Py_RETURN_NONE;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "emptied");
    return NULL;
}

PyDoc_STRVAR(value_doc, "value()\n--\n\nReturn the value of the current key, None if it has none.");

static PyObject *value_value(Handle *self, PyObject *Py_UNUSED(ignored)) { return get_content(self); }

PyDoc_STRVAR(update_doc, "update(value)\n--\n\nSet the value of the current key; None clears it.\n\n"
                         "Raises `StateAccessError` for a value of another type.");

static PyObject *value_update(Handle *self, PyObject *value) {
    if (!fits(self, value)) {
        if (value == Py_None) return single_clear(self, NULL);
        value = call_method((PyObject *)self, "_fit", value);
        if (value == NULL) return NULL;
    } else {
        Py_INCREF(value);
    }
    int failed = set_content(self, value);
    Py_DECREF(value);
    if (failed < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef value_methods[] = {
    {"value", (PyCFunction)value_value, METH_NOARGS, value_doc},
    {"update", (PyCFunction)value_update, METH_O, update_doc},
    {"clear", (PyCFunction)single_clear, METH_NOARGS, clear_doc},
    {NULL, NULL, 0, NULL},
};

/* --- the types */

static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name", "owner", "current", "column", "type_check", NULL};
    PyObject *name, *owner, *current, *type_check;
    Py_ssize_t column;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "OOO!nO", names, &name, &owner, state->current,
                                                      &current, &column, &type_check))
        return NULL;
    if (column < 0) return PyErr_Format(PyExc_ValueError, "column %zd", column);
    Handle *self = (Handle *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->name = Py_NewRef(name);
    self->owner = Py_NewRef(owner);
    self->current = (Current *)Py_NewRef(current);
    self->column = column;
    self->type_check = Py_NewRef(type_check);
    self->fitting = Py_NewRef((PyObject *)state->current); /* no value has this class */
    return (PyObject *)self;
}

static int handle_traverse(Handle *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->name);
    Py_VISIT(self->owner);
    Py_VISIT(self->fitting);
    Py_VISIT(self->type_check);
    Py_VISIT(self->current);
    return 0;
}

static int handle_clear(Handle *self) {
    /* None, and not NULL: a finaliser may still call a method, which raises then. `current` clears itself. */
    Py_XSETREF(self->name, Py_NewRef(Py_None));
    Py_XSETREF(self->owner, Py_NewRef(Py_None));
    Py_XSETREF(self->fitting, Py_NewRef(Py_None));
    Py_XSETREF(self->type_check, Py_NewRef(Py_None));
    return 0;
}

static void handle_dealloc(Handle *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->name);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->fitting);
    Py_XDECREF(self->type_check);
    Py_XDECREF(self->current);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"_name", Py_T_OBJECT_EX, offsetof(Handle, name), Py_READONLY, NULL},
    {"_owner", Py_T_OBJECT_EX, offsetof(Handle, owner), Py_READONLY, NULL},
    {"_current", Py_T_OBJECT_EX, offsetof(Handle, current), Py_READONLY, NULL},
    {"_column", Py_T_PYSSIZET, offsetof(Handle, column), Py_READONLY, NULL},
    {"_type_check", Py_T_OBJECT_EX, offsetof(Handle, type_check), Py_READONLY, NULL},
    {"_fitting", Py_T_OBJECT_EX, offsetof(Handle, fitting), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *handle_type(PyObject *module, PyObject *base, const char *name, PyMethodDef *methods) {
    PyType_Slot slots[] = {
        {Py_tp_new, handle_new},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_traverse, handle_traverse},
        {Py_tp_clear, handle_clear},
        {Py_tp_dealloc, handle_dealloc},
        {0, NULL},
    };
    PyType_Spec spec = {name, sizeof(Handle), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
    if (!PyType_Check(base) || ((PyTypeObject *)base)->tp_basicsize != (Py_ssize_t)sizeof(PyObject))
        return PyErr_Format(PyExc_TypeError, "a handle extends a class without attributes, not %R", base);
    return PyType_FromModuleAndSpec(module, &spec, base);
}

PyDoc_STRVAR(value_handle_doc, "value_handle(base)\n--\n\nReturn a new subclass of `ValueState`, with attributes.");

static PyObject *value_handle(PyObject *module, PyObject *base) {
    return handle_type(module, base, "headgate._native.ValueState", value_methods);
}

PyMethodDef handle_methods[] = {
    {"value_handle", value_handle, METH_O, value_handle_doc},
    {NULL, NULL, 0, NULL},
};
