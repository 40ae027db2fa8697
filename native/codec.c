/* The object that writes and reads batches: it knows Row, and the types that C has no names for. */
#include "codec.h"
#include "objects.h"

/* Find where objects of a class have an attribute of its __slots__. Returns -1 with an exception. */
static int offset_of(PyTypeObject *type, const char *name, Py_ssize_t *offset) {
    PyObject *found = attribute_of((PyObject *)type, name);
    if (found == NULL) return -1;
    const PyMemberDef *member = Py_IS_TYPE(found, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)found)->d_member : NULL;
    int is_object = member != NULL && member->type == Py_T_OBJECT_EX;
    if (is_object) *offset = member->offset;
    Py_DECREF(found);
    if (!is_object) PyErr_Format(PyExc_TypeError, "%.100s.%s is no slot", type->tp_name, name);
    return is_object ? 0 : -1;
}

static PyObject *codec_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"row", "keyword_names", "decimal", "row_kinds", "class_of", "damaged", NULL};
    PyObject *row, *keyword_names, *decimal, *row_kinds, *class_of, *damaged;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!OO!", names, &PyType_Type, &row, &PyType_Type,
                                     &keyword_names, &PyType_Type, &decimal, &PyTuple_Type, &row_kinds, &class_of,
                                     &PyType_Type, &damaged))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)keyword_names, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "keyword_names is a class of tuples");
        return NULL;
    }
    Codec *self = (Codec *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->row = (PyTypeObject *)Py_NewRef(row);
    self->keyword_names = (PyTypeObject *)Py_NewRef(keyword_names);
    self->decimal = (PyTypeObject *)Py_NewRef(decimal);
    self->row_kinds = Py_NewRef(row_kinds);
    self->class_of = Py_NewRef(class_of);
    self->damaged = Py_NewRef(damaged);
    self->dates = PyCapsule_Import(PyDateTime_CAPSULE_NAME, 0);
    if (self->dates == NULL || offset_of(self->row, "_values", &self->values) < 0 ||
        offset_of(self->row, "_fields", &self->fields) < 0 || offset_of(self->row, "_row_kind", &self->row_kind) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

#define OBJECTS(self)                                                                                          \
    {(PyObject **)&(self)->row, (PyObject **)&(self)->keyword_names, (PyObject **)&(self)->decimal, \
     &(self)->row_kinds, &(self)->class_of, &(self)->damaged}

static int codec_traverse(Codec *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static void codec_dealloc(Codec *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMethodDef methods[] = {
    {"encode", FASTCALL(codec_encode), encode_doc},
    {"decode", (PyCFunction)codec_decode, METH_O, decode_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(codec_doc, "Codec(row, keyword_names, decimal, row_kinds, class_of, damaged)\n--\n\n"
                        "Encodes batches in their typed form, and decodes them: see `headgate.types.typed_batches`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)codec_doc},
    {Py_tp_new, codec_new},
    {Py_tp_methods, methods},
    {Py_tp_traverse, codec_traverse},
    {Py_tp_dealloc, codec_dealloc},
    {0, NULL},
};

PyType_Spec codec_spec = {
    .name = "headgate._native.Codec",
    .basicsize = sizeof(Codec),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
