/* Writing batches in their typed form.
 *
 * What this code cannot write exactly, it leaves to pickle, and then the whole batch: a value of another type, a
 * container that is in two places of the records, so that its identity matters, and records nested too deeply.
 *
 * References are borrowed from the records. That is safe because no Python code runs: garbage collection is off
 * meanwhile, and no function of the exact types that is called here is written in Python. */
#include "encode.h"

/* Whether the type is `Row`, or a class that `row.py` makes for names: in the module of `Row`, as no program's own is. */
static int is_row(Writer *w, PyTypeObject *type) {
    PyTypeObject *row = w->codec->row;
    if (type == row || type == w->known_rows) return 1;
    if (type->tp_base != row) return 0;
    PyObject *name = PyUnicode_InternFromString("__module__");
    PyObject *own = name == NULL ? NULL : PyDict_GetItemWithError(type->tp_dict, name);
    PyObject *of_row = own == NULL ? NULL : PyDict_GetItemWithError(row->tp_dict, name);
    Py_XDECREF(name);
    if (PyErr_Occurred()) PyErr_Clear();
    if (of_row == NULL || !PyUnicode_CheckExact(own) || !PyUnicode_CheckExact(of_row)) return 0;
    if (PyUnicode_Compare(own, of_row) != 0) return 0;
    w->known_rows = type;
    return 1;
}

/* Return the kind of a value, or -1 where there is none. */
static int kind_of(Writer *w, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    const PyDateTime_CAPI *dates = w->codec->dates;
    int64_t number;
    if (type == &PyLong_Type) return as_int64(value, &number) ? INT : BIG_INT;
    if (type == &PyUnicode_Type) return STR;
    if (type == &PyFloat_Type) return FLOAT;
    if (value == Py_None) return NONE;
    if (type == &PyBool_Type) return BOOL;
    if (type == &PyTuple_Type) return TUPLE;
    if (type == &PyList_Type) return LIST;
    if (type == &PyDict_Type) return DICT;
    if (type == &PyBytes_Type) return BYTES;
    if (type == dates->DateTimeType) {
        PyObject *zone = PyDateTime_DATE_GET_TZINFO(value);
        return zone == Py_None ? DATETIME : zone == dates->TimeZone_UTC ? DATETIME_UTC : -1;
    }
    if (type == dates->DateType) return DATE;
    if (type == dates->DeltaType) return TIMEDELTA;
    if (type == dates->TimeType) return PyDateTime_TIME_GET_TZINFO(value) == Py_None ? TIME : -1;
    if (type == w->codec->decimal) return DECIMAL;
    return is_row(w, type) ? ROW : -1;
}

/* Write the kind and the values of a column whose values are all of this kind. */
static int write_values(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, int depth) {
    if (depth > DEPTH_MAX) return LEFT;
    if (put_byte(w, kind) < 0) return FAILED;
    return kind < TUPLE ? write_scalars(w, kind, values, n) : write_containers(w, kind, values, n, depth + 1);
}

static size_t place_of(const Writer *w, PyObject *value) {
    size_t at = (size_t)(((uint64_t)(uintptr_t)value >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (w->met_room - 1);
    while (w->met[at].value != NULL && w->met[at].value != value) at = (at + 1) & (w->met_room - 1);
    return at;
}

/* Return the entry of an object, an empty one if it was not met before, or NULL with an exception. */
static Met *met_entry(Writer *w, PyObject *value) {
    if (2 * w->met_count >= w->met_room) {
        Met *before = w->met;
        size_t room = w->met_room;
        w->met_room = room == 0 ? 64 : 4 * room;
        while (w->met_room < 2 * (size_t)w->count) w->met_room *= 2; /* a source that keeps its records holds each */
        w->met = PyMem_Calloc(w->met_room, sizeof(Met));
        if (w->met == NULL) {
            w->met = before, w->met_room = room;
            return PyErr_NoMemory(), NULL;
        }
        for (size_t i = 0; i < room; i++)
            if (before[i].value != NULL) w->met[place_of(w, before[i].value)] = before[i];
        PyMem_Free(before);
    }
    return &w->met[place_of(w, value)];
}

/* The different objects of a column, in the order in which they come, and the place of each value among them. Both are
 * NULL as long as no object has come twice. */
typedef struct {
    PyObject **values;
    uint32_t *places;
    Py_ssize_t count;
} Different;

static int different_begin(Different *different, PyObject *const *values, Py_ssize_t so_far, Py_ssize_t n) {
    different->values = PyMem_New(PyObject *, n);
    different->places = PyMem_New(uint32_t, n);
    if (different->values == NULL || different->places == NULL) return PyErr_NoMemory(), FAILED;
    for (Py_ssize_t i = 0; i < so_far; i++) different->values[i] = values[i], different->places[i] = (uint32_t)i;
    return DONE;
}

/* Find the objects that come more than once. LEFT: a container is in another column, too. */
static int find_different(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, Different *different) {
    uint32_t column = w->columns;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = values[i];
        uint32_t place = (uint32_t)different->count;
        int is_new = 1;
        /* An object with one reference cannot come again, and () is everywhere the same. */
        if (Py_REFCNT(value) > 1 && !(kind == TUPLE && Py_SIZE(value) == 0)) {
            Met *entry = met_entry(w, value);
            if (entry == NULL) return FAILED;
            is_new = entry->value == NULL || entry->column != column;
            if (entry->value != NULL && is_new && kind >= TUPLE) return LEFT;
            if (is_new) {
                w->met_count += entry->value == NULL;
                *entry = (Met){value, column, place};
            } else {
                if (different->values == NULL && different_begin(different, values, i, n) < 0) return FAILED;
                place = entry->place;
            }
        }
        if (different->values != NULL) {
            different->places[i] = place;
            if (is_new) different->values[place] = value;
        }
        different->count += is_new;
    }
    return DONE;
}

/* Write a column whose values are all of one kind: if objects come again, the different ones and the places of all. */
static int write_kind(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, int depth) {
    if (kind != STR && kind != BYTES && kind < TUPLE) return write_values(w, kind, values, n, depth);
    Different different = {NULL, NULL, 0};
    int done = find_different(w, kind, values, n, &different);
    if (done == DONE && different.values == NULL) return write_values(w, kind, values, n, depth);
    if (done == DONE) {
        Numbers places;
        unsigned char count[4];
        store(count, (uint64_t)different.count, 4);
        done = put_byte(w, DISTINCT) < 0 || put_bytes(w, count, 4) < 0 || numbers_begin(w, &places, n) < 0 ? FAILED : DONE;
        if (done == DONE) {
            for (Py_ssize_t i = 0; i < n; i++) number_add(&places, different.places[i]);
            numbers_end(w, &places, n);
            w->columns++;
            done = write_values(w, kind, different.values, different.count, depth + 1);
        }
    }
    PyMem_Free(different.values);
    PyMem_Free(different.places);
    return done;
}

/* Write the kind of each value, which stands at the end of the buffer, and a column for each kind. */
static int write_mixed(Writer *w, PyObject *const *values, Py_ssize_t n, int depth) {
    size_t kinds = w->size; /* the buffer moves */
    w->size += (size_t)n;
    PyObject **group = PyMem_New(PyObject *, n);
    if (group == NULL) return PyErr_NoMemory(), FAILED;
    int done = DONE;
    for (int kind = 0; done == DONE && kind < KINDS_OF_VALUES; kind++) {
        Py_ssize_t count = 0;
        for (Py_ssize_t i = 0; i < n; i++)
            if (w->data[kinds + (size_t)i] == kind) group[count++] = values[i];
        if (count == 0) continue;
        w->columns++;
        done = write_kind(w, kind, group, count, depth);
    }
    PyMem_Free(group);
    return done;
}

/* Write a column of integers. LEFT, without an effect: there are other values, or some of more than 64 bits. */
static int write_ints(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers numbers;
    int64_t number;
    if (put_byte(w, INT) < 0 || numbers_begin(w, &numbers, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyLong_CheckExact(values[i]) || !as_int64(values[i], &number)) {
            w->size--;
            return LEFT;
        }
        number_add(&numbers, number);
    }
    numbers_end(w, &numbers, n);
    return DONE;
}

int write_column(Writer *w, PyObject *const *values, Py_ssize_t n, int depth) {
    if (depth > DEPTH_MAX || n > INT32_MAX) return LEFT;
    for (int i = 0; i < 2; i++)
        if (w->beside[i] != NULL && n == w->count && memcmp(values, w->beside[i], (size_t)n * sizeof *values) == 0) {
            w->beside[i] = NULL;
            w->same_as[i] = FIRST_COLUMN + w->columns;
        }
    w->columns++;
    if (n == 0) return put_byte(w, NONE);
    if (PyLong_CheckExact(values[0])) {
        int done = write_ints(w, values, n);
        if (done != LEFT) return done;
    }
    if (reserve(w, 1 + (size_t)n) < 0) return FAILED;
    int first = kind_of(w, values[0]), is_mixed = 0;
    unsigned char *kinds = w->data + w->size + 1; /* used if they differ */
    for (Py_ssize_t i = 0; i < n; i++) {
        int kind = kind_of(w, values[i]);
        if (kind < 0) return LEFT;
        is_mixed |= kind != first;
        kinds[i] = (unsigned char)kind;
    }
    if (!is_mixed) return write_kind(w, first, values, n, depth);
    w->data[w->size++] = MIXED;
    return write_mixed(w, values, n, depth + 1);
}

/* Write a batch. `beside`: timestamps and keys, lists or None. */
static int write_batch(Writer *w, PyObject *records, PyObject *const *beside) {
    memcpy(w->data, MAGIC, MAGIC_SIZE);
    w->size = HEAD_SIZE;
    w->count = PyList_GET_SIZE(records);
    if (w->count == 0) return LEFT;
    for (int i = 0; i < 2; i++) {
        if (beside[i] == Py_None) continue;
        if (PyList_GET_SIZE(beside[i]) != w->count) return LEFT;
        w->beside[i] = items_of(beside[i]);
        w->same_as[i] = OWN_COLUMN;
    }
    int done = write_column(w, items_of(records), w->count, 0);
    for (int i = 0; done == DONE && i < 2; i++) {
        PyObject *const *values = w->beside[i];
        w->beside[i] = NULL;
        if (values != NULL) done = write_column(w, values, w->count, 0);
    }
    store(w->data + MAGIC_SIZE, (uint64_t)w->count, 4);
    for (int i = 0; i < 2; i++) store(w->data + MAGIC_SIZE + 4 + 4 * i, w->same_as[i], 4);
    return done;
}

const char encode_doc[] = "encode(records, timestamps, keys)\n--\n\n"
                          "Return a batch as bytes; None where it has to be pickled.";

PyObject *codec_encode(Codec *self, PyObject *const *args, Py_ssize_t count) {
    if (!takes("encode", 3, count)) return NULL;
    for (Py_ssize_t i = 0; i < 3; i++)
        if (!PyList_CheckExact(args[i]) && !(i > 0 && args[i] == Py_None))
            return PyErr_Format(PyExc_TypeError, "encode() takes lists, not %.100s", Py_TYPE(args[i])->tp_name);
    Writer w = {.codec = self, .room = HEAD_SIZE + 32 * (size_t)(1 + PyList_GET_SIZE(args[0]))};
    w.data = PyMem_Malloc(w.room);
    if (w.data == NULL) return PyErr_NoMemory();
    int was_on = PyGC_Disable();
    int done = write_batch(&w, args[0], args + 1);
    if (was_on) PyGC_Enable();
    PyObject *encoded = NULL;
    if (done == DONE)
        encoded = PyBytes_FromStringAndSize((char *)w.data, (Py_ssize_t)w.size);
    else if (done == LEFT)
        encoded = Py_NewRef(Py_None);
    PyMem_Free(w.data);
    PyMem_Free(w.met);
    return encoded;
}
