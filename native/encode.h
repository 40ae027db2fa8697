/* Writing batches: what the files encode*.c share. See encode.c. */
#ifndef HEADGATE_ENCODE_H
#define HEADGATE_ENCODE_H

#include "bytes.h"
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

/* --- bytes; each function returns DONE, or FAILED with an exception */

int reserve_more(Writer *w, size_t more);

/* Have room for so many bytes. */
static inline int reserve(Writer *w, size_t more) { return w->room - w->size >= more ? DONE : reserve_more(w, more); }

int put_byte(Writer *w, int value);
int put_bytes(Writer *w, const void *bytes, size_t n);
int put_zeros(Writer *w, size_t n);

/* Numbers are gathered at the end of the buffer with eight bytes each, and then made as narrow as their range allows. */
typedef struct {
    unsigned char *at; /* the next number */
    int64_t least, most;
} Numbers;

int numbers_begin(Writer *w, Numbers *numbers, Py_ssize_t n);
void numbers_end(Writer *w, const Numbers *numbers, Py_ssize_t n);

static inline void number_add(Numbers *numbers, int64_t number) {
    memcpy(numbers->at, &number, 8);
    numbers->at += 8;
    if (number < numbers->least) numbers->least = number;
    if (number > numbers->most) numbers->most = number;
}

/* --- values; each function returns DONE, LEFT, or FAILED with an exception */

/* Return whether an integer has 64 bits at most, and the number. */
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

static inline PyObject *const *items_of(PyObject *value) {
    return PyList_CheckExact(value) ? ((PyListObject *)value)->ob_item : ((PyTupleObject *)value)->ob_item;
}

/* Write the values of a column, after its kind: of kinds up to TIMEDELTA, and of TUPLE to ROW. */
int write_scalars(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n);
int write_containers(Writer *w, Kind kind, PyObject *const *values, Py_ssize_t n, int depth);

/* Write a column. */
int write_column(Writer *w, PyObject *const *values, Py_ssize_t n, int depth);

#endif
