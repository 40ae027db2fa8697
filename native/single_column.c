/* Rows of cells that have a single column: `SingleColumn` of headgate/state/rocksdb/single_column.py. */
#include "bytes.h"
#include "cells.h"
#include "keys.h"
#include "objects.h"
#include <string.h>

#define TAG_SIZE 2
#define CELL_SIZE (FIRST + 1)

typedef struct {
    PyObject_HEAD
    char tag[TAG_SIZE]; /* the first bytes of each row */
    char scalar;        /* the first byte of the values that are read and written here; 0: of none */
    PyObject *encode, *decode;
} SingleColumn;

/* --- reading */

/* Return the value in a row, a new reference, or NULL with an exception. */
static PyObject *value_of(SingleColumn *self, PyObject *row) {
    const unsigned char *body = (const unsigned char *)PyBytes_AS_STRING(row) + TAG_SIZE;
    Py_ssize_t size = PyBytes_GET_SIZE(row) - TAG_SIZE;
    if (size > 0 && body[0] == (unsigned char)self->scalar) {
        switch (self->scalar) {
        case 'i':
            if (size == 9) return PyLong_FromLongLong((long long)load(body + 1, 8));
            break;
        case 'f':
            if (size == 9) {
                uint64_t bits = load(body + 1, 8);
                double value;
                memcpy(&value, &bits, sizeof value);
                return PyFloat_FromDouble(value);
            }
            break;
        case 's': return PyUnicode_DecodeUTF8((const char *)body + 1, size - 1, NULL);
        case 'b': return PyBytes_FromStringAndSize((const char *)body + 1, size - 1);
        }
    }
    PyObject *copy = PyBytes_FromStringAndSize((const char *)body, size), *value;
    if (copy == NULL) return NULL;
    value = call_one(self->decode, copy);
    Py_DECREF(copy);
    return value;
}

static inline int has_tag(SingleColumn *self, PyObject *row) {
    return PyBytes_CheckExact(row) && PyBytes_GET_SIZE(row) >= TAG_SIZE &&
           memcmp(PyBytes_AS_STRING(row), self->tag, TAG_SIZE) == 0;
}

static PyObject *new_cell(SingleColumn *self, PyObject *key, PyObject *row, PyObject *generation, PyObject *other) {
    PyObject *value;
    if (row == Py_None)
        value = Py_NewRef(Py_None);
    else if (has_tag(self, row) && is_plain_key(key))
        value = value_of(self, row);
    else
        return PyObject_CallFunctionObjArgs(other, key, row, generation, NULL);
    PyObject *cell = value == NULL ? NULL : PyList_New(CELL_SIZE);
    if (cell == NULL) {
        Py_XDECREF(value);
        return NULL;
    }
    PyList_SET_ITEM(cell, GENERATION, Py_NewRef(generation));
    PyList_SET_ITEM(cell, SAVED, PyLong_FromLong(0));
    PyList_SET_ITEM(cell, 2, Py_NewRef(Py_None)); /* the key group */
    PyList_SET_ITEM(cell, KEY, Py_NewRef(key));
    PyList_SET_ITEM(cell, FIRST, value);
    return cell;
}

PyDoc_STRVAR(cells_doc, "cells(keys, rows, generation, other)\n--\n\n"
                        "Return new cells. `other(key, row, generation)` makes those of other rows and keys.");

static PyObject *cells(SingleColumn *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("cells", 4, count)) return NULL;
    PyObject *keys = args[0], *rows = args[1], *generation = args[2], *other = args[3];
    if (!PyList_CheckExact(keys) || !PyList_CheckExact(rows) || PyList_GET_SIZE(keys) != PyList_GET_SIZE(rows)) {
        PyErr_SetString(PyExc_TypeError, "cells() takes two lists of the same length, a generation and a function");
        return NULL;
    }
    PyObject *made = PyList_New(0);
    /* The sizes are asked each time: to read a value may run Python code. */
    for (Py_ssize_t i = 0; made != NULL && i < PyList_GET_SIZE(keys) && i < PyList_GET_SIZE(rows); i++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, i)), *row = Py_NewRef(PyList_GET_ITEM(rows, i));
        PyObject *cell = new_cell(self, key, row, generation, other);
        if (cell == NULL || PyList_Append(made, cell) < 0) Py_CLEAR(made);
        Py_XDECREF(cell);
        Py_DECREF(key);
        Py_DECREF(row);
    }
    return made;
}

/* --- writing */

/* Return the row of a value, a new reference, or NULL with an exception. */
static PyObject *row_of(SingleColumn *self, PyObject *value) {
    unsigned char number[9] = {(unsigned char)self->scalar};
    const char *body = NULL;
    Py_ssize_t size = 0;
    PyObject *encoded = NULL, *row;
    if (self->scalar == 'i' && PyLong_CheckExact(value)) {
        int overflow;
        long long integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow) {
            store(number + 1, (uint64_t)integer, 8);
            body = (const char *)number, size = 9;
        }
    } else if (self->scalar == 'f' && PyFloat_CheckExact(value)) {
        double real = PyFloat_AS_DOUBLE(value);
        uint64_t bits;
        memcpy(&bits, &real, sizeof bits);
        store(number + 1, bits, 8);
        body = (const char *)number, size = 9;
    }
    if (body == NULL) {
        encoded = call_one(self->encode, value);
        if (encoded == NULL) return NULL;
        if (!PyBytes_CheckExact(encoded)) {
            Py_DECREF(encoded);
            PyErr_SetString(PyExc_TypeError, "an encoded value is bytes");
            return NULL;
        }
        body = PyBytes_AS_STRING(encoded), size = PyBytes_GET_SIZE(encoded);
    }
    row = PyBytes_FromStringAndSize(NULL, TAG_SIZE + size);
    if (row != NULL) {
        memcpy(PyBytes_AS_STRING(row), self->tag, TAG_SIZE);
        memcpy(PyBytes_AS_STRING(row) + TAG_SIZE, body, size);
    }
    Py_XDECREF(encoded);
    return row;
}

/* Put the row of a cell into a dict. Returns its size; 0 if only Python writes this cell; -1 with an exception. */
static Py_ssize_t write_cell(SingleColumn *self, PyObject *cell, PyObject *into) {
    if (!PyList_CheckExact(cell) || PyList_GET_SIZE(cell) != CELL_SIZE) {
        PyErr_SetString(PyExc_TypeError, "a cell of a single column is a list of five");
        return -1;
    }
    PyObject *key = PyList_GET_ITEM(cell, KEY), *value = PyList_GET_ITEM(cell, FIRST);
    if (value == Py_None || !is_plain_key(key)) return 0;
    Py_INCREF(key);
    Py_INCREF(value);
    PyObject *row = row_of(self, value);
    Py_DECREF(value);
    Py_ssize_t size = row == NULL || PyDict_SetItem(into, key, row) < 0 ? -1 : PyBytes_GET_SIZE(row);
    Py_XDECREF(row);
    Py_DECREF(key);
    if (size < 0) return -1;
    if (PyList_GET_SIZE(cell) <= SAVED) { /* to write a value may run Python code */
        PyErr_SetString(PyExc_RuntimeError, "a cell has changed while it was written");
        return -1;
    }
    replace(cell, SAVED, Py_NewRef(PyList_GET_ITEM(cell, GENERATION)));
    return size;
}

PyDoc_STRVAR(write_doc, "write(position, into)\n--\n\n"
                        "Put the rows of cells into a dict, and mark these cells as saved. Return the number of these\n"
                        "rows, their bytes, and the cells that have no such row. `position` is an iterator of cells.");

static PyObject *write_rows(SingleColumn *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("write", 2, count)) return NULL;
    PyObject *position = args[0], *into = args[1], *cell;
    if (!PyIter_Check(position) || !PyDict_CheckExact(into)) {
        PyErr_SetString(PyExc_TypeError, "write() takes an iterator of cells and a dict");
        return NULL;
    }
    PyObject *others = PyList_New(0);
    if (others == NULL) return NULL;
    Py_ssize_t rows = 0, size = 0;
    while ((cell = PyIter_Next(position)) != NULL) {
        Py_ssize_t own = write_cell(self, cell, into);
        if (own > 0) rows++, size += own;
        int failed = own < 0 || (own == 0 && PyList_Append(others, cell) < 0);
        Py_DECREF(cell);
        if (failed) break;
    }
    if (PyErr_Occurred()) {
        Py_DECREF(others);
        return NULL;
    }
    return Py_BuildValue("nnN", rows, size, others);
}

/* --- the type */

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *tag, *scalar;
    Py_ssize_t tag_size, scalar_size;
    PyObject *encode, *decode;
    if (!PyArg_ParseTuple(args, "y#y#OO", &tag, &tag_size, &scalar, &scalar_size, &encode, &decode)) return NULL;
    if (tag_size != TAG_SIZE || scalar_size > 1)
        return PyErr_Format(PyExc_ValueError, "a tag of %zd bytes, and %zd of a scalar", tag_size, scalar_size);
    SingleColumn *self = (SingleColumn *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    memcpy(self->tag, tag, TAG_SIZE);
    self->scalar = scalar_size ? scalar[0] : 0;
    self->encode = Py_NewRef(encode);
    self->decode = Py_NewRef(decode);
    return (PyObject *)self;
}

#define OBJECTS(self) {&(self)->encode, &(self)->decode}

static int traverse(SingleColumn *self, visitproc visit, void *arg) {
    return visit_all(self, visit, arg, ALL(OBJECTS(self)));
}

static int clear(SingleColumn *self) { return forget_all(ALL(OBJECTS(self))); }

static void dealloc(SingleColumn *self) { free_with_all(self, ALL(OBJECTS(self))); }

static PyMethodDef methods[] = {
    {"cells", FASTCALL(cells), cells_doc},
    {"write", FASTCALL(write_rows), write_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(doc, "SingleColumn(tag, scalar, encode, decode)\n--\n\n"
                  "Makes cells of rows, and rows of cells. See `headgate.state.rocksdb.single_column`.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, new},
    {Py_tp_methods, methods},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

PyType_Spec single_column_spec = {
    .name = "headgate._native.SingleColumn",
    .basicsize = sizeof(SingleColumn),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

/* --- the cells in memory */

PyDoc_STRVAR(missing_doc, "missing(keys, cells)\n--\n\nReturn the keys without a cell, each once, in their order.");

static PyObject *missing(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (!takes("missing", 2, count)) return NULL;
    PyObject *keys = args[0], *cells = args[1];
    if (!PyList_CheckExact(keys) || !PyDict_CheckExact(cells)) {
        PyErr_SetString(PyExc_TypeError, "missing() takes a list and a dict");
        return NULL;
    }
    PyObject *seen = PyDict_New(), *found = NULL;
    /* The size is asked each time: the hash of a key may be Python code. */
    for (Py_ssize_t i = 0; seen != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, i));
        int has_cell = PyDict_Contains(cells, key);
        if (has_cell < 0 || (!has_cell && PyDict_SetDefault(seen, key, Py_None) == NULL)) Py_CLEAR(seen);
        Py_DECREF(key);
    }
    if (seen != NULL) found = PyDict_Keys(seen);
    Py_XDECREF(seen);
    return found;
}

PyDoc_STRVAR(buffered_doc, "buffered(keys, newest, older)\n--\n\n"
                           "Return the rows of keys in the first of two dicts that has the key, and the places of keys that\n"
                           "neither has: the row there is None.");

/* Return the value of a key in one of two dicts, borrowed; NULL for none, or with an exception. */
static inline PyObject *in_either(PyObject *first, PyObject *second, PyObject *key) {
    PyObject *found = PyDict_GetItemWithError(first, key);
    return found != NULL || PyErr_Occurred() ? found : PyDict_GetItemWithError(second, key);
}

static PyObject *buffered(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (!takes("buffered", 3, count)) return NULL;
    PyObject *keys = args[0], *newest = args[1], *older = args[2];
    if (!PyList_CheckExact(keys) || !PyDict_CheckExact(newest) || !PyDict_CheckExact(older)) {
        PyErr_SetString(PyExc_TypeError, "buffered() takes a list and two dicts");
        return NULL;
    }
    PyObject *rows = PyList_New(0), *wanted = PyList_New(0);
    /* The size is asked each time: the hash of a key may be Python code. */
    for (Py_ssize_t i = 0; rows != NULL && wanted != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, i)), *row = in_either(newest, older, key), *place = NULL;
        int failed = row == NULL && (PyErr_Occurred() || (place = PyLong_FromSsize_t(i)) == NULL);
        failed = failed || PyList_Append(rows, row == NULL ? Py_None : row) < 0;
        failed = failed || (place != NULL && PyList_Append(wanted, place) < 0);
        Py_XDECREF(place);
        Py_DECREF(key);
        if (failed) Py_CLEAR(rows);
    }
    if (rows != NULL && wanted != NULL) return Py_BuildValue("NN", rows, wanted);
    Py_XDECREF(rows);
    Py_XDECREF(wanted);
    return NULL;
}

PyDoc_STRVAR(evict_doc, "evict(cells, evicted, dead)\n--\n\n"
                        "Remove cells from the dict of cells, and mark them with the generation `dead`.");

static PyObject *evict(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (!takes("evict", 3, count)) return NULL;
    PyObject *cells = args[0], *evicted = args[1], *dead = args[2];
    if (!PyDict_CheckExact(cells) || !PyList_CheckExact(evicted)) {
        PyErr_SetString(PyExc_TypeError, "evict() takes a dict, a list and a generation");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(evicted); i++) {
        PyObject *cell = PyList_GET_ITEM(evicted, i);
        if (!PyList_CheckExact(cell) || PyList_GET_SIZE(cell) <= KEY)
            return PyErr_Format(PyExc_TypeError, "a cell is a list, not %.100s", Py_TYPE(cell)->tp_name);
        Py_INCREF(cell);
        PyObject *key = Py_NewRef(PyList_GET_ITEM(cell, KEY));
        int failed = PyDict_DelItem(cells, key);
        Py_DECREF(key);
        if (!failed && PyList_GET_SIZE(cell) > GENERATION) /* to hash a key may run Python code */
            replace(cell, GENERATION, Py_NewRef(dead));
        Py_DECREF(cell);
        if (failed) return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef cache_methods[] = {
    {"buffered", FASTCALL(buffered), buffered_doc},
    {"evict", FASTCALL(evict), evict_doc},
    {"missing", FASTCALL(missing), missing_doc},
    {NULL, NULL, 0, NULL},
};
