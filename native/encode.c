/* Writing batches in their typed form.
 *
 * What this code cannot write exactly, it leaves to pickle, and then the whole batch: a value of another type, a
 * container that is in two places of the records, so that its identity matters, and records nested too deeply.
 *
 * References are borrowed from the records. That is safe because no Python code runs: garbage collection is off
 * meanwhile, and no function of the exact types that is called here is written in Python. */
#include "codec.h"
#include <string.h>

enum { FAILED = -1, DONE, LEFT }; /* LEFT: to pickle */

/* An object that was met before: in which column, and at which place among its different values. */
typedef struct {
    PyObject *value;
    uint32_t column, place;
} Met;

typedef struct {
    const Codec *codec;
    unsigned char *data;
    size_t size, room;
    Py_ssize_t count;            /* of records */
    PyObject *const *beside[2];  /* timestamps and keys; NULL where there are none, and once their column is known */
    uint32_t same_as[2];         /* their columns, as the head has them */
    uint32_t columns;
    Met *met;                    /* by address, with open addressing */
    size_t met_room, met_count;
    PyTypeObject *known_rows;    /* a class of rows that is_row has found good */
} Writer;

static int write_column(Writer *w, PyObject *const *values, Py_ssize_t n, int depth);

/* --- bytes */

static int reserve(Writer *w, size_t more) {
    if (w->room - w->size >= more) return DONE;
    size_t room = w->room;
    while (room - w->size < more) {
        if (room > PY_SSIZE_T_MAX / 2) return PyErr_NoMemory(), FAILED;
        room *= 2;
    }
    unsigned char *data = PyMem_Realloc(w->data, room);
    if (data == NULL) return PyErr_NoMemory(), FAILED;
    w->data = data, w->room = room;
    return DONE;
}

static inline void store(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> (8 * i));
}

static int put_byte(Writer *w, int value) {
    if (reserve(w, 1) < 0) return FAILED;
    w->data[w->size++] = (unsigned char)value;
    return DONE;
}

static int put_bytes(Writer *w, const void *bytes, size_t n) {
    if (reserve(w, n) < 0) return FAILED;
    if (n > 0) memcpy(w->data + w->size, bytes, n);
    w->size += n;
    return DONE;
}

static int put_zeros(Writer *w, size_t n) {
    if (reserve(w, n) < 0) return FAILED;
    memset(w->data + w->size, 0, n);
    w->size += n;
    return DONE;
}

/* Numbers are gathered at the end of the buffer with eight bytes each, and then made as narrow as their range allows. */
typedef struct {
    unsigned char *at; /* the next number */
    int64_t least, most;
} Numbers;

static int numbers_begin(Writer *w, Numbers *numbers, Py_ssize_t n) {
    if (reserve(w, 1 + 8 * (size_t)n) < 0) return FAILED;
    *numbers = (Numbers){w->data + w->size + 1, 0, 0};
    return DONE;
}

static inline void number_add(Numbers *numbers, int64_t number) {
    memcpy(numbers->at, &number, 8);
    numbers->at += 8;
    if (number < numbers->least) numbers->least = number;
    if (number > numbers->most) numbers->most = number;
}

static inline void narrow(unsigned char *data, Py_ssize_t n, int width) {
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t number;
        memcpy(&number, data + 8 * i, 8);
        store(data + width * i, (uint64_t)number, width);
    }
}

static void numbers_end(Writer *w, const Numbers *numbers, Py_ssize_t n) {
    unsigned char *data = w->data + w->size + 1;
    int width = 8;
    if (numbers->least >= INT8_MIN && numbers->most <= INT8_MAX)
        narrow(data, n, width = 1);
    else if (numbers->least >= INT16_MIN && numbers->most <= INT16_MAX)
        narrow(data, n, width = 2);
    else if (numbers->least >= INT32_MIN && numbers->most <= INT32_MAX)
        narrow(data, n, width = 4);
    else
        narrow(data, n, 8);
    w->data[w->size] = (unsigned char)width;
    w->size += 1 + (size_t)width * (size_t)n;
}

/* --- values of exact types */

static inline int as_int64(PyObject *value, int64_t *number) {
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)value)) {
        *number = PyUnstable_Long_CompactValue((PyLongObject *)value);
        return 1;
    }
#else
    Py_ssize_t digits = Py_SIZE(value); /* with the sign */
    if (digits >= -1 && digits <= 1) {
        *number = digits == 0 ? 0 : digits * (int64_t)((PyLongObject *)value)->ob_digit[0];
        return 1;
    }
#endif
    int overflow;
    *number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

/* Whether the type is `Row`, or a class that `row.py` makes for names. A program's own subclass defines __reduce__. */
static int is_row(Writer *w, PyTypeObject *type) {
    if (type == w->codec->row || type == w->known_rows) return 1;
    if (type->tp_base != w->codec->row) return 0;
    PyObject *name = PyUnicode_InternFromString("__reduce__");
    int is_own = name == NULL ? -1 : PyDict_Contains(type->tp_dict, name);
    Py_XDECREF(name);
    if (is_own < 0) PyErr_Clear();
    if (is_own != 0) return 0;
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

static inline unsigned char *put_utf8(unsigned char *to, Py_UCS4 c) {
    if (c < 0x80)
        *to++ = (unsigned char)c;
    else if (c < 0x800) {
        *to++ = (unsigned char)(0xC0 | c >> 6);
        *to++ = (unsigned char)(0x80 | (c & 0x3F));
    } else {
        if (c < 0x10000)
            *to++ = (unsigned char)(0xE0 | c >> 12);
        else {
            *to++ = (unsigned char)(0xF0 | c >> 18);
            *to++ = (unsigned char)(0x80 | (c >> 12 & 0x3F));
        }
        *to++ = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (unsigned char)(0x80 | (c & 0x3F));
    }
    return to;
}

static inline int64_t utf8_size(PyObject *text) {
    int64_t size = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_IS_ASCII(text)) return size;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(text, i);
        size += (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
    }
    return size;
}

/* Text in UTF-8, with lone surrogates as if they were characters. */
static int write_texts(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers sizes;
    size_t total = 0;
    if (numbers_begin(w, &sizes, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
#if PY_VERSION_HEX < 0x030C0000
        if (PyUnicode_READY(values[i]) < 0) return FAILED;
#endif
        int64_t size = utf8_size(values[i]);
        total += (size_t)size;
        number_add(&sizes, size);
    }
    numbers_end(w, &sizes, n);
    if (reserve(w, total) < 0) return FAILED;
    unsigned char *to = w->data + w->size;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t length = PyUnicode_GET_LENGTH(values[i]);
        if (PyUnicode_IS_ASCII(values[i])) {
            memcpy(to, PyUnicode_DATA(values[i]), (size_t)length);
            to += length;
        } else {
            for (Py_ssize_t at = 0; at < length; at++) to = put_utf8(to, PyUnicode_READ_CHAR(values[i], at));
        }
    }
    w->size += total;
    return DONE;
}

static int write_byte_strings(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers sizes;
    if (numbers_begin(w, &sizes, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) number_add(&sizes, PyBytes_GET_SIZE(values[i]));
    numbers_end(w, &sizes, n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (put_bytes(w, PyBytes_AS_STRING(values[i]), (size_t)PyBytes_GET_SIZE(values[i])) < 0) return FAILED;
    return DONE;
}

/* Write numbers of more than 64 bits, or decimals, as text. */
static int write_as_texts(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n) {
    PyObject **texts = PyMem_New(PyObject *, n);
    if (texts == NULL) return PyErr_NoMemory(), FAILED;
    Py_ssize_t made = 0;
    for (; made < n; made++) {
        texts[made] = kind == DECIMAL ? PyObject_Str(values[made]) : PyNumber_ToBase(values[made], 16);
        if (texts[made] == NULL) break;
    }
    int done = made < n ? FAILED : write_texts(w, texts, n);
    while (made > 0) Py_DECREF(texts[--made]);
    PyMem_Free(texts);
    return done;
}

static inline int64_t date_number(PyObject *value) {
    return PyDateTime_GET_YEAR(value) * 512 + PyDateTime_GET_MONTH(value) * 32 + PyDateTime_GET_DAY(value);
}

static inline int64_t clock_number(int64_t hour, int minute, int second, int microsecond, int fold) {
    return ((((hour * 60 + minute) * 60 + second) * 1000000) + microsecond) * 2 + fold;
}

static int write_dates(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers numbers;
    if (numbers_begin(w, &numbers, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) number_add(&numbers, date_number(values[i]));
    numbers_end(w, &numbers, n);
    return DONE;
}

static int write_datetimes(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers numbers;
    if (write_dates(w, values, n) < 0 || numbers_begin(w, &numbers, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *at = values[i];
        number_add(&numbers, clock_number(PyDateTime_DATE_GET_HOUR(at), PyDateTime_DATE_GET_MINUTE(at),
                                          PyDateTime_DATE_GET_SECOND(at), PyDateTime_DATE_GET_MICROSECOND(at),
                                          PyDateTime_DATE_GET_FOLD(at)));
    }
    numbers_end(w, &numbers, n);
    return DONE;
}

static int write_times(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers numbers;
    if (numbers_begin(w, &numbers, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *at = values[i];
        number_add(&numbers, clock_number(PyDateTime_TIME_GET_HOUR(at), PyDateTime_TIME_GET_MINUTE(at),
                                          PyDateTime_TIME_GET_SECOND(at), PyDateTime_TIME_GET_MICROSECOND(at),
                                          PyDateTime_TIME_GET_FOLD(at)));
    }
    numbers_end(w, &numbers, n);
    return DONE;
}

static int write_timedeltas(Writer *w, PyObject *const *values, Py_ssize_t n) {
    Numbers numbers;
    if (numbers_begin(w, &numbers, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++) number_add(&numbers, PyDateTime_DELTA_GET_DAYS(values[i]));
    numbers_end(w, &numbers, n);
    if (numbers_begin(w, &numbers, n) < 0) return FAILED;
    for (Py_ssize_t i = 0; i < n; i++)
        number_add(&numbers, PyDateTime_DELTA_GET_SECONDS(values[i]) * (int64_t)1000000 +
                                 PyDateTime_DELTA_GET_MICROSECONDS(values[i]));
    numbers_end(w, &numbers, n);
    return DONE;
}

/* --- containers: their parts are columns */

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

static inline PyObject *const *items_of(PyObject *value) {
    return PyList_CheckExact(value) ? ((PyListObject *)value)->ob_item : ((PyTupleObject *)value)->ob_item;
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

/* --- columns */

/* Write the kind and the values of a column whose values are all of this kind. */
static int write_values(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, int depth) {
    if (depth > DEPTH_MAX) return LEFT;
    if (put_byte(w, kind) < 0) return FAILED;
    switch (kind) {
    case NONE: return put_zeros(w, (size_t)n);
    case BOOL:
        for (Py_ssize_t i = 0; i < n; i++)
            if (put_byte(w, values[i] == Py_True) < 0) return FAILED;
        return DONE;
    case INT: {
        Numbers numbers;
        int64_t number;
        if (numbers_begin(w, &numbers, n) < 0) return FAILED;
        for (Py_ssize_t i = 0; i < n; i++) {
            as_int64(values[i], &number);
            number_add(&numbers, number);
        }
        numbers_end(w, &numbers, n);
        return DONE;
    }
    case FLOAT:
        if (reserve(w, 8 * (size_t)n) < 0) return FAILED;
        for (Py_ssize_t i = 0; i < n; i++, w->size += 8) {
            double number = PyFloat_AS_DOUBLE(values[i]);
            uint64_t bits;
            memcpy(&bits, &number, 8);
            store(w->data + w->size, bits, 8);
        }
        return DONE;
    case STR: return write_texts(w, values, n);
    case BYTES: return write_byte_strings(w, values, n);
    case BIG_INT:
    case DECIMAL: return write_as_texts(w, kind, values, n);
    case DATE: return write_dates(w, values, n);
    case TIME: return write_times(w, values, n);
    case DATETIME:
    case DATETIME_UTC: return write_datetimes(w, values, n);
    case TIMEDELTA: return write_timedeltas(w, values, n);
    case TUPLE:
    case LIST: return write_sequences(w, kind, values, n, depth + 1);
    case DICT: return write_dicts(w, values, n, depth + 1);
    case ROW: return write_rows(w, values, n, depth + 1);
    default: return LEFT;
    }
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

static int write_column(Writer *w, PyObject *const *values, Py_ssize_t n, int depth) {
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
