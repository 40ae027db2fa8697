/* Writing the values of columns that are no containers. */
#include "encode.h"

/* --- bytes */

int reserve_more(Writer *w, size_t more) {
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

int put_byte(Writer *w, int value) {
    if (reserve(w, 1) < 0) return FAILED;
    w->data[w->size++] = (unsigned char)value;
    return DONE;
}

int put_bytes(Writer *w, const void *bytes, size_t n) {
    if (reserve(w, n) < 0) return FAILED;
    if (n > 0) memcpy(w->data + w->size, bytes, n);
    w->size += n;
    return DONE;
}

int put_zeros(Writer *w, size_t n) {
    if (reserve(w, n) < 0) return FAILED;
    memset(w->data + w->size, 0, n);
    w->size += n;
    return DONE;
}

int numbers_begin(Writer *w, Numbers *numbers, Py_ssize_t n) {
    if (reserve(w, 1 + 8 * (size_t)n) < 0) return FAILED;
    *numbers = (Numbers){w->data + w->size + 1, 0, 0};
    return DONE;
}

static inline void narrow(unsigned char *data, Py_ssize_t n, int width) {
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t number;
        memcpy(&number, data + 8 * i, 8);
        store(data + width * i, (uint64_t)number, width);
    }
}

void numbers_end(Writer *w, const Numbers *numbers, Py_ssize_t n) {
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

int write_scalars(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n) {
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
    default: return LEFT;
    }
}
