/* Reading tuples, lists, dicts and rows: their parts are columns. */
#include "decode.h"

/* Read columns into `parts`, one after the other. */
static int read_columns(Reader *r, int columns, Py_ssize_t n, PyObject **parts, int depth, int *are_atomic) {
    *are_atomic = 1;
    if (columns == 0) { /* each value takes a byte */
        if (need(r, (size_t)n) < 0) return -1;
        r->at += n;
    }
    for (int j = 0; j < columns; j++) {
        int is_atomic;
        if (read_column(r, n, parts + j * n, depth, &is_atomic) < 0) return -1;
        *are_atomic &= is_atomic;
    }
    return 0;
}

static inline PyObject *new_sequence(Kind kind, Py_ssize_t length) {
    return kind == TUPLE ? PyTuple_New(length) : PyList_New(length);
}

static inline PyObject **items_of(Kind kind, PyObject *value) {
    return kind == TUPLE ? ((PyTupleObject *)value)->ob_item : ((PyListObject *)value)->ob_item;
}

/* Read tuples or lists whose lengths are the same. */
static int read_even(Reader *r, Kind kind, int length, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    if (need(r, (size_t)length * (size_t)n) < 0) return -1;
    PyObject **parts = room_for(length * n);
    if (parts == NULL) return -1;
    int failed = read_columns(r, length, n, parts, depth, is_atomic);
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        PyObject *value = out[i] = new_sequence(kind, length);
        if ((failed = value == NULL)) break;
        PyObject **items = items_of(kind, value);
        for (int j = 0; j < length; j++) {
            items[j] = parts[j * n + i];
            parts[j * n + i] = NULL;
        }
        /* As the garbage collection does, when it first meets such a tuple. */
        if (kind == TUPLE && *is_atomic && length > 0) PyObject_GC_UnTrack(value);
    }
    release(parts, length * n);
    return failed ? -1 : 0;
}

/* Read tuples or lists of different lengths. */
static int read_uneven(Reader *r, Kind kind, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    Numbers lengths;
    Py_ssize_t total = read_lengths(r, &lengths, n), next = 0;
    if (total < 0) return -1;
    PyObject **parts = room_for(total);
    if (parts == NULL) return -1;
    int failed = read_column(r, total, parts, depth, is_atomic);
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        Py_ssize_t length = (Py_ssize_t)number_at(&lengths, i);
        PyObject *value = out[i] = new_sequence(kind, length);
        if ((failed = value == NULL)) break;
        for (Py_ssize_t j = 0; j < length; j++, next++) {
            items_of(kind, value)[j] = parts[next];
            parts[next] = NULL;
        }
    }
    release(parts, total);
    return failed ? -1 : 0;
}

static int read_sequences(Reader *r, Kind kind, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    if (need(r, 1) < 0) return -1;
    int length = *r->at++, are_atomic = 0;
    int failed = length == VARIED ? read_uneven(r, kind, n, out, depth, &are_atomic)
                                  : read_even(r, kind, length, n, out, depth, &are_atomic);
    *is_atomic = are_atomic && kind == TUPLE && length != VARIED;
    return failed;
}

static int read_dicts(Reader *r, Py_ssize_t n, PyObject **out, int depth) {
    Numbers lengths = {NULL, 0};
    int are_atomic;
    if (need(r, 1) < 0) return -1;
    int length = *r->at++, is_even = length != VARIED;
    Py_ssize_t total = is_even ? length * n : read_lengths(r, &lengths, n), next = 0;
    if (total < 0 || need(r, (size_t)total) < 0) return -1;
    Py_ssize_t key_count = is_even ? length : total;
    PyObject **keys = room_for(key_count), **values = room_for(total);
    int failed = keys == NULL || values == NULL || read_column(r, key_count, keys, depth, &are_atomic) < 0;
    if (!failed)
        failed = is_even ? read_columns(r, length, n, values, depth, &are_atomic)
                         : read_column(r, total, values, depth, &are_atomic);
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        Py_ssize_t size = is_even ? length : (Py_ssize_t)number_at(&lengths, i);
        failed = (out[i] = PyDict_New()) == NULL;
        for (Py_ssize_t j = 0; !failed && j < size; j++, next++)
            failed = PyDict_SetItem(out[i], keys[is_even ? j : next], values[is_even ? j * n + i : next]) < 0;
        if (!failed && PyDict_GET_SIZE(out[i]) != size) failed = damaged(r, "a dict has a key twice");
    }
    release(keys, key_count);
    release(values, total);
    return failed ? -1 : 0;
}

/* The names of rows, and the classes of rows with these names. Both own references. */
typedef struct {
    PyObject *names[256], *classes[256];
    int count;
} Shapes;

static PyObject *names_of(Reader *r, PyObject **names, int64_t length, int are_keyword_names) {
    if (length < 0) return Py_NewRef(Py_None);
    PyObject *made = PyTuple_New((Py_ssize_t)length);
    for (int64_t j = 0; made != NULL && j < length; j++)
        PyTuple_SET_ITEM(made, (Py_ssize_t)j, Py_NewRef(names[j]));
    if (made != NULL && are_keyword_names) Py_SETREF(made, call_one((PyObject *)r->codec->keyword_names, made));
    return made;
}

static int read_shapes(Reader *r, Shapes *shapes, int depth) {
    Numbers lengths;
    Py_ssize_t total = 0, next = 0;
    int are_atomic;
    if (need(r, 1) < 0) return -1;
    int count = *r->at++;
    if (read_numbers(r, &lengths, count) < 0 || need(r, (size_t)count) < 0) return -1;
    const unsigned char *are_keyword_names = r->at;
    r->at += count;
    for (int i = 0; i < count; i++) {
        int64_t length = number_at(&lengths, i);
        if (length < -1 || length > r->end - r->at - total) return damaged(r, "a length is wrong");
        total += length < 0 ? 0 : (Py_ssize_t)length;
    }
    PyObject **names = room_for(total);
    if (names == NULL) return -1;
    int failed = read_column(r, total, names, depth, &are_atomic);
    for (; !failed && shapes->count < count; shapes->count++) {
        int i = shapes->count;
        int64_t length = number_at(&lengths, i);
        if ((shapes->names[i] = names_of(r, names + next, length, are_keyword_names[i])) == NULL) break;
        if ((shapes->classes[i] = call_one(r->codec->class_of, shapes->names[i])) == NULL) {
            Py_CLEAR(shapes->names[i]);
            break;
        }
        next += length < 0 ? 0 : (Py_ssize_t)length;
    }
    release(names, total);
    return failed || shapes->count < count ? -1 : 0;
}

/* Make a row, with a reference to `values` that it takes over. */
static PyObject *new_row(Reader *r, PyObject *class, PyObject *names, PyObject *kind, PyObject *values) {
    PyTypeObject *type = (PyTypeObject *)class;
    if (!PyType_Check(class) || !PyType_IsSubtype(type, r->codec->row) ||
        !(PyList_CheckExact(values) || PyTuple_CheckExact(values))) {
        damaged(r, "a row has no values");
        return NULL;
    }
    PyObject *row = type->tp_alloc(type, 0);
    if (row == NULL) return NULL;
    *row_slot(row, r->codec->fields) = Py_NewRef(names);
    *row_slot(row, r->codec->row_kind) = Py_NewRef(kind);
    *row_slot(row, r->codec->values) = Py_NewRef(values);
    return row;
}

static int read_rows(Reader *r, Py_ssize_t n, PyObject **out, int depth) {
    Shapes shapes = {.count = 0};
    Numbers places;
    int is_atomic, failed = read_numbers(r, &places, n) < 0 || read_shapes(r, &shapes, depth) < 0 || need(r, (size_t)n) < 0;
    PyObject **values = failed ? NULL : room_for(n), *row_kinds = r->codec->row_kinds;
    const unsigned char *kinds = r->at;
    if (values == NULL) failed = 1;
    if (!failed) {
        r->at += n;
        failed = read_column(r, n, values, depth, &is_atomic);
    }
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        int64_t place = number_at(&places, i);
        if (place < 0 || place >= shapes.count || kinds[i] >= PyTuple_GET_SIZE(row_kinds)) {
            failed = damaged(r, "a row has unknown names, or an unknown kind");
            break;
        }
        out[i] = new_row(r, shapes.classes[place], shapes.names[place], PyTuple_GET_ITEM(row_kinds, kinds[i]), values[i]);
        failed = out[i] == NULL;
    }
    release(values, n);
    drop(shapes.names, shapes.count);
    drop(shapes.classes, shapes.count);
    return failed ? -1 : 0;
}

int read_containers(Reader *r, Kind kind, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    switch (kind) {
    case TUPLE:
    case LIST: return read_sequences(r, kind, n, out, depth, is_atomic);
    case DICT: return read_dicts(r, n, out, depth);
    case ROW: return read_rows(r, n, out, depth);
    default: return damaged(r, "a column has an unknown kind");
    }
}
