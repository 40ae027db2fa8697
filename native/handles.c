/* The types of handles of keyed state without a time to live.
 *
 * A type is made for each class of headgate/state/kinds that is given, as its subclass. It has the methods that every
 * record calls; other methods are inherited, and read the attributes here. */
#include "handles.h"
#include "objects.h"

PyObject *as_in_python(Handle *self, const char *method, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Py_ssize_t total = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *function = attribute_of((PyObject *)Py_TYPE(self)->tp_base, method), *result = NULL;
    PyObject **all = function == NULL ? NULL : PyMem_New(PyObject *, total + 1);
    if (all != NULL) {
        all[0] = (PyObject *)self;
        for (Py_ssize_t i = 0; i < total; i++) all[i + 1] = args[i];
        result = PyObject_Vectorcall(function, all, count + 1, names);
        PyMem_Free(all);
    } else if (function != NULL) {
        PyErr_NoMemory();
    }
    Py_XDECREF(function);
    return result;
}

static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name", "owner", "current", "column", "type_check", "more", NULL};
    PyObject *name, *owner, *current, *type_check, *more;
    Py_ssize_t column;
    State *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "OOO!nOO", names, &name, &owner, state->current,
                                                      &current, &column, &type_check, &more))
        return NULL;
    if (column < 0) return PyErr_Format(PyExc_ValueError, "column %zd", column);
    Handle *self = (Handle *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->name = Py_NewRef(name);
    self->owner = Py_NewRef(owner);
    self->current = (Current *)Py_NewRef(current);
    self->column = column;
    self->type_check = Py_NewRef(type_check);
    self->more = Py_NewRef(more);
    self->fitting = Py_NewRef((PyObject *)state->current); /* no value has this class */
    return (PyObject *)self;
}

/* What a handle refers to, apart from `current`, which takes itself apart. */
#define OWN(self) &(self)->name, &(self)->owner, &(self)->fitting, &(self)->type_check, &(self)->more
#define OBJECTS(self) {OWN(self), (PyObject **)&(self)->current}

static int handle_traverse(Handle *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int handle_clear(Handle *self) {
    PyObject **const own[] = {OWN(self)};
    return forget_all(own, Py_ARRAY_LENGTH(own));
}

static void handle_dealloc(Handle *self) { free_with_all(self, ALL(OBJECTS(self))); }

#define MEMBERS                                                                     \
    {"_name", Py_T_OBJECT_EX, offsetof(Handle, name), Py_READONLY, NULL},             \
    {"_owner", Py_T_OBJECT_EX, offsetof(Handle, owner), Py_READONLY, NULL},           \
    {"_current", Py_T_OBJECT_EX, offsetof(Handle, current), Py_READONLY, NULL},       \
    {"_column", Py_T_PYSSIZET, offsetof(Handle, column), Py_READONLY, NULL},          \
    {"_type_check", Py_T_OBJECT_EX, offsetof(Handle, type_check), Py_READONLY, NULL}, \
    {"_fitting", Py_T_OBJECT_EX, offsetof(Handle, fitting), 0, NULL}
#define END {NULL, 0, 0, 0, NULL}

static PyMemberDef members[] = {MEMBERS, END};
static PyMemberDef map_members[] = {MEMBERS, {"_fitting_key", Py_T_OBJECT_EX, offsetof(Handle, more), 0, NULL}, END};
static PyMemberDef reducing_members[] = {
    MEMBERS, {"_combine", Py_T_OBJECT_EX, offsetof(Handle, more), Py_READONLY, NULL}, END};
static PyMemberDef aggregating_members[] = {
    MEMBERS, {"_function", Py_T_OBJECT_EX, offsetof(Handle, more), Py_READONLY, NULL}, END};

static PyObject *handle_type(PyObject *module, PyObject *base, const char *name, PyMethodDef *methods,
                             PyMemberDef *attributes) {
    PyType_Slot slots[] = {
        {Py_tp_new, handle_new},
        {Py_tp_methods, methods},
        {Py_tp_members, attributes},
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

int is_value_handle(PyObject *object) {
    return Py_TYPE(object)->tp_new == handle_new && Py_TYPE(object)->tp_methods == value_methods;
}

static PyObject *value_handle(PyObject *module, PyObject *base) {
    return handle_type(module, base, "headgate._native.ValueState", value_methods, members);
}

static PyObject *list_handle(PyObject *module, PyObject *base) {
    return handle_type(module, base, "headgate._native.ListState", list_methods, members);
}

static PyObject *map_handle(PyObject *module, PyObject *base) {
    return handle_type(module, base, "headgate._native.MapState", map_methods, map_members);
}

static PyObject *reducing_handle(PyObject *module, PyObject *base) {
    return handle_type(module, base, "headgate._native.ReducingState", reducing_methods, reducing_members);
}

static PyObject *aggregating_handle(PyObject *module, PyObject *base) {
    return handle_type(module, base, "headgate._native.AggregatingState", aggregating_methods, aggregating_members);
}

#define HANDLE_DOC(kind) #kind "_handle(base)\n--\n\nReturn a new subclass of the class of " #kind " state."

PyMethodDef handle_methods[] = {
    {"value_handle", value_handle, METH_O, HANDLE_DOC(value)},
    {"list_handle", list_handle, METH_O, HANDLE_DOC(list)},
    {"map_handle", map_handle, METH_O, HANDLE_DOC(map)},
    {"reducing_handle", reducing_handle, METH_O, HANDLE_DOC(reducing)},
    {"aggregating_handle", aggregating_handle, METH_O, HANDLE_DOC(aggregating)},
    {NULL, NULL, 0, NULL},
};
