/* Reading batches in their typed form. The bytes come from another process or from storage, and may be damaged.
 *
 * `need` stands before each read. Each value of a column takes at least one byte, so that a few bytes cannot ask for
 * many objects. */
#include "codec.h"
#include <string.h>

typedef struct {
    const Codec *codec;
    const unsigned char *at, *end;
    Py_ssize_t count;        /* of records */
    uint32_t columns;
    uint32_t same_as[2];     /* the columns with the timestamps and the keys, as the head has them */
    PyObject *beside[2];     /* lists of these, once they are known */
} Reader;

/* Read a column of n values into `out`, new references. `is_atomic`: whether the garbage collection need not know them.
 * Returns -1 with an exception, and then `out` has no references. */
static int read_column(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic);

static int damaged(Reader *r, const char *what) {
    PyErr_Format(r->codec->damaged, "an encoded batch is damaged %zd bytes before its end: %s", r->end - r->at, what);
    return -1;
}

static inline int need(Reader *r, size_t n) {
    if ((size_t)(r->end - r->at) >= n) return 0;
    return damaged(r, "it is cut off");
}

static inline uint64_t load(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void drop(PyObject **values, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) Py_CLEAR(values[i]);
}

/* Return room for n references, all NULL; NULL with an exception. */
static PyObject **room_for(Py_ssize_t n) {
    PyObject **values = PyMem_Calloc((size_t)n, sizeof *values);
    if (values == NULL) PyErr_NoMemory();
    return values;
}

static void release(PyObject **values, Py_ssize_t n) {
    if (values == NULL) return;
    drop(values, n);
    PyMem_Free(values);
}

/* --- numbers */

typedef struct {
    const unsigned char *at;
    int width;
} Numbers;

static int read_numbers(Reader *r, Numbers *numbers, Py_ssize_t n) {
    if (need(r, 1) < 0) return -1;
    int width = *r->at;
    if (width != 1 && width != 2 && width != 4 && width != 8) return damaged(r, "numbers have an unknown width");
    r->at++;
    if (need(r, (size_t)n) < 0 || need(r, (size_t)n * (size_t)width) < 0) return -1;
    *numbers = (Numbers){r->at, width};
    r->at += (size_t)n * (size_t)width;
    return 0;
}

static inline int64_t number_at(const Numbers *numbers, Py_ssize_t i) {
    const unsigned char *at = numbers->at + numbers->width * i;
    switch (numbers->width) {
    case 1: return (int8_t)*at;
    case 2: return (int16_t)load(at, 2);
    case 4: return (int32_t)load(at, 4);
    default: return (int64_t)load(at, 8);
    }
}

/* Read lengths, and return their sum, which is no more than the bytes that follow; -1 with an exception. */
static Py_ssize_t read_lengths(Reader *r, Numbers *lengths, Py_ssize_t n) {
    Py_ssize_t total = 0;
    if (read_numbers(r, lengths, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t length = number_at(lengths, i);
        if (length < 0 || length > r->end - r->at - total) return damaged(r, "a length is wrong");
        total += (Py_ssize_t)length;
    }
    return total;
}

/* --- values of exact types */

static int read_texts(Reader *r, Py_ssize_t n, PyObject **out, int is_text) {
    Numbers sizes;
    if (read_lengths(r, &sizes, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t size = (Py_ssize_t)number_at(&sizes, i);
        const char *at = (const char *)r->at;
        out[i] = is_text ? PyUnicode_DecodeUTF8(at, size, "surrogatepass") : PyBytes_FromStringAndSize(at, size);
        if (out[i] == NULL) return -1;
        r->at += size;
    }
    return 0;
}

static int read_from_texts(Reader *r, Kind kind, Py_ssize_t n, PyObject **out) {
    if (read_texts(r, n, out, 1) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *text = out[i];
        out[i] = kind == BIG_INT ? PyLong_FromUnicodeObject(text, 16)
                                 : call_one((PyObject *)r->codec->decimal, text);
        Py_DECREF(text);
        if (out[i] == NULL) return -1;
    }
    return 0;
}

static int read_ints(Reader *r, Py_ssize_t n, PyObject **out) {
    Numbers numbers;
    if (read_numbers(r, &numbers, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if ((out[i] = PyLong_FromLongLong(number_at(&numbers, i))) == NULL) return -1;
    return 0;
}

static int read_floats(Reader *r, Py_ssize_t n, PyObject **out) {
    if (need(r, (size_t)n) < 0 || need(r, 8 * (size_t)n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++, r->at += 8) {
        uint64_t bits = load(r->at, 8);
        double number;
        memcpy(&number, &bits, 8);
        if ((out[i] = PyFloat_FromDouble(number)) == NULL) return -1;
    }
    return 0;
}

static int read_constants(Reader *r, Kind kind, Py_ssize_t n, PyObject **out) {
    PyObject *const constants[] = {kind == NONE ? Py_None : Py_False, Py_True};
    if (need(r, (size_t)n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++, r->at++) {
        if (*r->at > (kind == BOOL)) return damaged(r, "a constant is unknown");
        out[i] = Py_NewRef(constants[*r->at]);
    }
    return 0;
}

/* A time of day, in the order of the arguments of the constructors, which check them. */
typedef struct {
    int hour, minute, second, microsecond, fold;
} Clock;

static int clock_of(Reader *r, int64_t number, Clock *clock) {
    if (number < 0 || number >= 2 * INT64_C(86400000000)) return damaged(r, "a time is wrong");
    clock->fold = (int)(number & 1);
    number /= 2;
    clock->microsecond = (int)(number % 1000000);
    number /= 1000000;
    clock->second = (int)(number % 60);
    clock->minute = (int)(number / 60 % 60);
    clock->hour = (int)(number / 3600);
    return 0;
}

static int read_dates(Reader *r, Kind kind, Py_ssize_t n, PyObject **out) {
    PyDateTime_CAPI *dates = r->codec->dates;
    Numbers days, clocks;
    Clock at;
    if (read_numbers(r, &days, n) < 0 || (kind != DATE && read_numbers(r, &clocks, n) < 0)) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t number = number_at(&days, i);
        if (number < 0 || number > 9999 * 512 + 511) return damaged(r, "a date is wrong");
        int year = (int)(number / 512), month = (int)(number / 32 % 16), day = (int)(number % 32);
        if (kind == DATE)
            out[i] = dates->Date_FromDate(year, month, day, dates->DateType);
        else if (clock_of(r, number_at(&clocks, i), &at) < 0)
            return -1;
        else
            out[i] = dates->DateTime_FromDateAndTimeAndFold(
                year, month, day, at.hour, at.minute, at.second, at.microsecond,
                kind == DATETIME_UTC ? dates->TimeZone_UTC : Py_None, at.fold, dates->DateTimeType);
        if (out[i] == NULL) return -1;
    }
    return 0;
}

static int read_times(Reader *r, Py_ssize_t n, PyObject **out) {
    PyDateTime_CAPI *dates = r->codec->dates;
    Numbers clocks;
    Clock at;
    if (read_numbers(r, &clocks, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (clock_of(r, number_at(&clocks, i), &at) < 0) return -1;
        out[i] = dates->Time_FromTimeAndFold(at.hour, at.minute, at.second, at.microsecond, Py_None, at.fold,
                                             dates->TimeType);
        if (out[i] == NULL) return -1;
    }
    return 0;
}

static int read_timedeltas(Reader *r, Py_ssize_t n, PyObject **out) {
    PyDateTime_CAPI *dates = r->codec->dates;
    Numbers days, clocks;
    if (read_numbers(r, &days, n) < 0 || read_numbers(r, &clocks, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t day = number_at(&days, i), clock = number_at(&clocks, i);
        if (day < -999999999 || day > 999999999 || clock < 0 || clock >= INT64_C(86400000000))
            return damaged(r, "a duration is wrong");
        out[i] = dates->Delta_FromDelta((int)day, (int)(clock / 1000000), (int)(clock % 1000000), 0, dates->DeltaType);
        if (out[i] == NULL) return -1;
    }
    return 0;
}

/* --- containers */

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

/* --- columns */

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
    Kind kind = *r->at++;
    *is_atomic = kind < TUPLE;
    switch (kind) {
    case NONE:
    case BOOL: return read_constants(r, kind, n, out);
    case INT: return read_ints(r, n, out);
    case FLOAT: return read_floats(r, n, out);
    case STR: return read_texts(r, n, out, 1);
    case BYTES: return read_texts(r, n, out, 0);
    case BIG_INT:
    case DECIMAL: return read_from_texts(r, kind, n, out);
    case DATE:
    case DATETIME:
    case DATETIME_UTC: return read_dates(r, kind, n, out);
    case TIME: return read_times(r, n, out);
    case TIMEDELTA: return read_timedeltas(r, n, out);
    case TUPLE:
    case LIST: return read_sequences(r, kind, n, out, depth + 1, is_atomic);
    case DICT: return read_dicts(r, n, out, depth + 1);
    case ROW: return read_rows(r, n, out, depth + 1);
    case MIXED: return read_mixed(r, n, out, depth + 1, is_atomic);
    case DISTINCT: return read_distinct(r, n, out, depth + 1, is_atomic);
    default: r->at--; return damaged(r, "a column has an unknown kind");
    }
}

/* Return a list of a column's values, NULL with an exception. */
static PyObject *list_of(PyObject *const *values, Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) PyList_SET_ITEM(list, i, Py_NewRef(values[i]));
    return list;
}

static int read_column(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic) {
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
    Reader r = {.codec = self, .at = view.buf, .end = (const unsigned char *)view.buf + view.len};
    PyObject *batch = read_batch(&r);
    if (batch == NULL) as_damaged(&r);
    Py_XDECREF(r.beside[0]);
    Py_XDECREF(r.beside[1]);
    PyBuffer_Release(&view);
    return batch;
}
