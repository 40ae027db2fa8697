/* Writing tuples, lists, dicts and rows: their parts are columns. */
#include "encode.h"

static inline Py_ssize_t size_of(Kind kind, PyObject *value) {
    return kind == DICT ? PyDict_GET_SIZE(value) : Py_SIZE(value);
}

/* Return the length that all values have, or VARIED. */
static int common_length(Kind kind, PyObject *const *values, Py_ssize_t n) {
    Py_ssize_t length = n == 0 ? VARIED : size_of(kind, values[0]);
    for (Py_ssize_t i = 1; i < n && length < VARIED; i++)
        if (size_of(kind, values[i]) != length) return VARIED;
    return length < VARIED ? (int)length : VARIED;
}

/* Write the lengths of the values. Returns their sum, or FAILED. */
static Py_ssize_t write_lengths(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n) {
    Numbers lengths;
    Py_ssize_t total = 0;
    if (put_byte(w, VARIED) < 0 || numbers_begin(w, &lengths, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        total += size_of(kind, values[i]);
        number_add(&lengths, size_of(kind, values[i]));
    }
    numbers_end(w, &lengths, n);
    return total;
}

/* Write columns that lie one after the other. */
static int write_columns(Writer *w, PyObject *const *parts, int columns, Py_ssize_t n, int depth) {
    int done = columns == 0 ? put_zeros(w, (size_t)n) : DONE; /* each value takes a byte: see decode.c */
    for (int j = 0; done == DONE && j < columns; j++) done = write_column(w, parts + j * n, n, depth);
    return done;
}

static int write_sequences(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, int depth) {
    int length = common_length(kind, values, n), done;
    Py_ssize_t total = length * n;
    if (length == VARIED) total = write_lengths(w, kind, values, n);
    if (total < 0 || (length != VARIED && put_byte(w, length) < 0)) return FAILED;
    PyObject **parts = PyMem_New(PyObject *, total), **next = parts;
    if (parts == NULL) return PyErr_NoMemory(), FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const *items = items_of(values[i]);
        if (length == VARIED)
            for (Py_ssize_t j = 0; j < Py_SIZE(values[i]); j++) *next++ = items[j];
        else
            for (int j = 0; j < length; j++) parts[j * n + i] = items[j];
    }
    done = length == VARIED ? write_column(w, parts, total, depth) : write_columns(w, parts, length, n, depth);
    PyMem_Free(parts);
    return done;
}

static inline int is_same_key(PyObject *a, PyObject *b) {
    return a == b || (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0);
}

/* Put the values of dicts with the same keys, in the same order, into columns behind these keys. Returns whether the
 * dicts are like this. */
static int transpose(PyObject *const *dicts, Py_ssize_t n, int length, PyObject **parts) {
    PyObject *key, *value;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t at = 0;
        for (int j = 0; j < length && PyDict_Next(dicts[i], &at, &key, &value); j++) {
            if (i == 0) parts[j] = key;
            if (!is_same_key(parts[j], key)) return 0;
            parts[length + j * n + i] = value;
        }
    }
    return 1;
}

static int write_dicts(Writer *w, PyObject *const *values, Py_ssize_t n, int depth) {
    int length = common_length(DICT, values, n), done = FAILED;
    Py_ssize_t total = 0;
    for (Py_ssize_t i = 0; i < n; i++) total += PyDict_GET_SIZE(values[i]);
    PyObject **parts = PyMem_New(PyObject *, 2 * total + VARIED), *key, *value;
    if (parts == NULL) return PyErr_NoMemory(), FAILED;
    if (length != VARIED && transpose(values, n, length, parts)) {
        if (put_byte(w, length) == DONE) done = write_column(w, parts, length, depth);
        if (done == DONE) done = write_columns(w, parts + length, length, n, depth);
    } else if (write_lengths(w, DICT, values, n) >= 0) {
        Py_ssize_t next = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            Py_ssize_t at = 0;
            for (; PyDict_Next(values[i], &at, &key, &value); next++) parts[next] = key, parts[total + next] = value;
        }
        done = write_column(w, parts, total, depth);
        if (done == DONE) done = write_column(w, parts + total, total, depth);
    }
    PyMem_Free(parts);
    return done;
}

static inline int are_names(const Codec *codec, PyObject *fields) {
    return fields != NULL &&
           (fields == Py_None || PyTuple_CheckExact(fields) || Py_IS_TYPE(fields, codec->keyword_names));
}

/* Whether two names of rows are the same; Row(a=1) makes a new tuple of names for each row. */
static int are_same_names(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    if (a == Py_None || b == Py_None || Py_TYPE(a) != Py_TYPE(b) || Py_SIZE(a) != Py_SIZE(b)) return 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(a); i++)
        if (items_of(a)[i] != items_of(b)[i]) return 0;
    return 1;
}

/* Find the different names of the rows, and write which of them each row has. Returns how many, FAILED, or 0: LEFT. */
static int write_shapes(Writer *w, PyObject *const *rows, Py_ssize_t n, PyObject **shapes) {
    Numbers places;
    int count = 0, place = 0;
    if (numbers_begin(w, &places, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *fields = *row_slot(rows[i], w->codec->fields);
        if (!are_names(w->codec, fields)) return 0;
        if (place >= count || !are_same_names(shapes[place], fields))
            for (place = 0; place < count && !are_same_names(shapes[place], fields);) place++;
        if (place == ROW_SHAPES_MAX) return 0;
        if (place == count) shapes[count++] = fields;
        number_add(&places, place);
    }
    numbers_end(w, &places, n);
    return count;
}

/* Write the different names: how many, their lengths (-1: None), whether they are KeywordNames, and all of them. */
static int write_names(Writer *w, PyObject *const *shapes, int count, int depth) {
    Numbers numbers;
    Py_ssize_t total = 0, next = 0;
    if (put_byte(w, count) < 0 || numbers_begin(w, &numbers, count) < 0) return FAILED;
    for (int i = 0; i < count; i++) {
        number_add(&numbers, shapes[i] == Py_None ? -1 : Py_SIZE(shapes[i]));
        total += shapes[i] == Py_None ? 0 : Py_SIZE(shapes[i]);
    }
    numbers_end(w, &numbers, count);
    for (int i = 0; i < count; i++)
        if (put_byte(w, Py_IS_TYPE(shapes[i], w->codec->keyword_names)) < 0) return FAILED;
    PyObject **names = PyMem_New(PyObject *, total);
    if (names == NULL) return PyErr_NoMemory(), FAILED;
    for (int i = 0; i < count; i++)
        for (Py_ssize_t j = 0; shapes[i] != Py_None && j < Py_SIZE(shapes[i]); j++)
            names[next++] = ((PyTupleObject *)shapes[i])->ob_item[j];
    int done = write_column(w, names, total, depth);
    PyMem_Free(names);
    return done;
}

static int write_row_kinds(Writer *w, PyObject *const *rows, Py_ssize_t n) {
    PyObject *kinds = w->codec->row_kinds;
    for (Py_ssize_t i = 0; i < n; i++) {
        int place = 0;
        while (place < PyTuple_GET_SIZE(kinds) &&
               PyTuple_GET_ITEM(kinds, place) != *row_slot(rows[i], w->codec->row_kind))
            place++;
        if (place == PyTuple_GET_SIZE(kinds)) return LEFT;
        if (put_byte(w, place) < 0) return FAILED;
    }
    return DONE;
}

static int write_rows(Writer *w, PyObject *const *rows, Py_ssize_t n, int depth) {
    PyObject *shapes[ROW_SHAPES_MAX];
    int count = write_shapes(w, rows, n, shapes);
    if (count <= 0) return count < 0 ? FAILED : LEFT;
    int done = write_names(w, shapes, count, depth);
    if (done == DONE) done = write_row_kinds(w, rows, n);
    if (done != DONE) return done;
    PyObject **values = PyMem_New(PyObject *, n);
    if (values == NULL) return PyErr_NoMemory(), FAILED;
    for (Py_ssize_t i = 0; done == DONE && i < n; i++) {
        values[i] = *row_slot(rows[i], w->codec->values);
        if (values[i] == NULL || !(PyList_CheckExact(values[i]) || PyTuple_CheckExact(values[i]))) done = LEFT;
    }
    if (done == DONE) done = write_column(w, values, n, depth);
    PyMem_Free(values);
    return done;
}

int write_containers(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, int depth) {
    switch (kind) {
    case TUPLE:
    case LIST: return write_sequences(w, kind, values, n, depth);
    case DICT: return write_dicts(w, values, n, depth);
    case ROW: return write_rows(w, values, n, depth);
    default: return LEFT;
    }
}
