/* Reading batches in their typed form. The bytes come from another process or from storage, and may be damaged.
 *
 * `need` stands before each read. Each value of a column takes at least one byte, so that a few bytes cannot ask for
 * many objects. */
#include "decode.h"

static int read_mixed(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    Py_ssize_t counts[256] = {0};
    if (need(r, (size_t)n) < 0) return -1;
    const unsigned char *kinds = r->at;
    r->at += n;
    for (Py_ssize_t i = 0; i < n; i++) counts[kinds[i]]++;
    PyObject **group = room_for(n);
    if (group == NULL) return -1;
    *is_atomic = 1;
    int failed = 0;
    for (int kind = 0; !failed && kind < 256; kind++) {
        int are_atomic;
        Py_ssize_t next = 0;
        if (counts[kind] == 0) continue;
        if ((failed = read_column(r, counts[kind], group, depth, &are_atomic))) break;
        *is_atomic &= are_atomic;
        for (Py_ssize_t i = 0; i < n; i++)
            if (kinds[i] == kind) {
                out[i] = group[next];
                group[next++] = NULL;
            }
    }
    release(group, n);
    return failed;
}

static int read_distinct(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    Numbers places;
    if (need(r, 4) < 0) return -1;
    Py_ssize_t count = (Py_ssize_t)load(r->at, 4);
    r->at += 4;
    if (read_numbers(r, &places, n) < 0 || need(r, (size_t)count) < 0) return -1;
    PyObject **values = room_for(count);
    if (values == NULL) return -1;
    int failed = read_column(r, count, values, depth, is_atomic);
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        int64_t place = number_at(&places, i);
        if (place < 0 || place >= count)
            failed = damaged(r, "a place is wrong");
        else
            out[i] = Py_NewRef(values[place]);
    }
    release(values, count);
    return failed;
}

static int read_values(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    if (need(r, 1) < 0) return -1;
    int kind = *r->at++;
    *is_atomic = kind < TUPLE;
    if (kind < TUPLE) return read_scalars(r, kind, n, out);
    if (kind == MIXED) return read_mixed(r, n, out, depth + 1, is_atomic);
    if (kind == DISTINCT) return read_distinct(r, n, out, depth + 1, is_atomic);
    return read_containers(r, kind, n, out, depth + 1, is_atomic);
}

/* Return a list of a column's values, NULL with an exception. */
static PyObject *list_of(PyObject *const *values, Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) PyList_SET_ITEM(list, i, Py_NewRef(values[i]));
    return list;
}

int read_column(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
    if (depth > DEPTH_MAX) return damaged(r, "columns are nested too deeply");
    uint32_t column = FIRST_COLUMN + r->columns++;
    int failed = read_values(r, n, out, depth, is_atomic) < 0;
    for (int i = 0; !failed && i < 2; i++)
        if (r->same_as[i] == column && n == r->count) failed = (r->beside[i] = list_of(out, n)) == NULL;
    if (failed) drop(out, n);
    return failed ? -1 : 0;
}

/* Read a column of as many values as there are records, as a list; NULL with an exception. */
static PyObject *read_list(Reader *r) {
    int is_atomic;
    PyObject **values = room_for(r->count), *list = NULL;
    if (values != NULL && read_column(r, r->count, values, 0, &is_atomic) == 0) list = list_of(values, r->count);
    release(values, r->count);
    return list;
}

static PyObject *read_batch(Reader *r) {
    if (need(r, HEAD_SIZE) < 0) return NULL;
    if (memcmp(r->at, MAGIC, MAGIC_SIZE) != 0) {
        damaged(r, "it has an unknown version");
        return NULL;
    }
    r->count = (Py_ssize_t)load(r->at + MAGIC_SIZE, 4);
    for (int i = 0; i < 2; i++) r->same_as[i] = (uint32_t)load(r->at + MAGIC_SIZE + 4 + 4 * i, 4);
    r->at += HEAD_SIZE;
    if (need(r, (size_t)r->count) < 0) return NULL;
    PyObject *records = read_list(r);
    for (int i = 0; records != NULL && i < 2; i++) {
        if (r->same_as[i] == NO_COLUMN)
            r->beside[i] = Py_NewRef(Py_None);
        else if (r->same_as[i] == OWN_COLUMN)
            r->beside[i] = read_list(r);
        else if (r->beside[i] == NULL)
            damaged(r, "it names a column that it does not have");
        if (r->beside[i] == NULL) Py_CLEAR(records);
    }
    if (records != NULL && r->at != r->end) {
        damaged(r, "it is too long");
        Py_CLEAR(records);
    }
    PyObject *batch = records == NULL ? NULL : PyTuple_Pack(3, records, r->beside[0], r->beside[1]);
    Py_XDECREF(records);
    return batch;
}

/* What constructors raise for damaged bytes, such as a text that is no UTF-8, becomes the cause of the error. */
static void as_damaged(Reader *r) {
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(r->codec->damaged) ||
        PyErr_ExceptionMatches(PyExc_MemoryError))
        return;
    PyObject *type, *error, *traceback, *own_type, *own, *own_traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    damaged(r, "a value is wrong");
    PyErr_Fetch(&own_type, &own, &own_traceback);
    PyErr_NormalizeException(&own_type, &own, &own_traceback);
    if (own != NULL && error != NULL) PyException_SetCause(own, Py_NewRef(error));
    PyErr_Restore(own_type, own, own_traceback);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

const char decode_doc[] = "decode(payload)\n--\n\n"
                          "Return records, timestamps and keys of a batch. Raises the error for damaged bytes.";

PyObject *codec_decode(Codec *self, PyObject *payload) {
    Py_buffer view;
    if (PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE) < 0) return NULL;
    if (!view.readonly) { /* lengths are checked once, and used after Python code has run */
        PyBuffer_Release(&view);
        PyErr_SetString(PyExc_TypeError, "an encoded batch is read from memory that cannot change");
        return NULL;
    }
    Reader r = {.codec = self, .at = view.buf, .end = (const unsigned char *)view.buf + view.len};
    PyObject *batch = read_batch(&r);
    if (batch == NULL) as_damaged(&r);
    Py_XDECREF(r.beside[0]);
    Py_XDECREF(r.beside[1]);
    PyBuffer_Release(&view);
    return batch;
}
