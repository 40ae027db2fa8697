/* Reading the values of columns that are no containers. */
#include "decode.h"

void raise_damaged(Reader *r, const char *what) {
    PyErr_Format(r->codec->damaged, "an encoded batch is damaged %zd bytes before its end: %s", r->end - r->at, what);
}

void drop(PyObject **values, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) Py_CLEAR(values[i]);
}

PyObject **room_for(Py_ssize_t n) {
    PyObject **values = PyMem_Calloc((size_t)n, sizeof *values);
    if (values == NULL) PyErr_NoMemory();
    return values;
}

void release(PyObject **values, Py_ssize_t n) {
    if (values == NULL) return;
    drop(values, n);
    PyMem_Free(values);
}

/* --- numbers */

int read_numbers(Reader *r, Numbers *numbers, Py_ssize_t n) {
    if (need(r, 1) < 0) return -1;
    int width = *r->at;
    if (width != 1 && width != 2 && width != 4 && width != 8) return damaged(r, "numbers have an unknown width");
    r->at++;
    if (need(r, (size_t)n) < 0 || need(r, (size_t)n * (size_t)width) < 0) return -1;
    *numbers = (Numbers){r->at, width};
    r->at += (size_t)n * (size_t)width;
    return 0;
}

Py_ssize_t read_lengths(Reader *r, Numbers *lengths, Py_ssize_t n) {
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

int read_scalars(Reader *r, Kind kind, Py_ssize_t n, PyObject **out) {
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
    default: return damaged(r, "a column has an unknown kind");
    }
}
