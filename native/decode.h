/* Reading batches: what the files decode*.c share. See decode.c. */
#ifndef HEADGATE_DECODE_H
#define HEADGATE_DECODE_H

#include "bytes.h"
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

/* Raise the error of the codec. */
void raise_damaged(Reader *r, const char *what);

/* Raise the error of the codec. Returns -1. */
static inline int damaged(Reader *r, const char *what) {
    raise_damaged(r, what);
    return -1;
}

static inline int need(Reader *r, size_t n) {
    if ((size_t)(r->end - r->at) >= n) return 0;
    return damaged(r, "it is cut off");
}

/* Return room for n references, all NULL; NULL with an exception. */
PyObject **room_for(Py_ssize_t n);

/* Let go of references, and, with `release`, of their room. */
void drop(PyObject **values, Py_ssize_t n);
void release(PyObject **values, Py_ssize_t n);

typedef struct {
    const unsigned char *at;
    int width;
} Numbers;

static inline int64_t number_at(const Numbers *numbers, Py_ssize_t i) {
    const unsigned char *at = numbers->at + numbers->width * i;
    switch (numbers->width) {
    case 1: return (int8_t)*at;
    case 2: return (int16_t)load(at, 2);
    case 4: return (int32_t)load(at, 4);
    default: return (int64_t)load(at, 8);
    }
}

/* Read numbers. Returns -1 with an exception. */
int read_numbers(Reader *r, Numbers *numbers, Py_ssize_t n);

/* Read lengths, and return their sum, which is no more than the bytes that follow; -1 with an exception. */
Py_ssize_t read_lengths(Reader *r, Numbers *lengths, Py_ssize_t n);

/* Read the values of a column, after its kind: of kinds up to TIMEDELTA, and of TUPLE to ROW. Returns -1 with an
 * exception; `out` may then have references. */
int read_scalars(Reader *r, Kind kind, Py_ssize_t n, PyObject **out);
int read_containers(Reader *r, Kind kind, Py_ssize_t n, PyObject **out, int depth, int *is_atomic);

/* Read a column of n values into `out`, new references. `is_atomic`: whether the garbage collection need not know them.
 * Returns -1 with an exception, and then `out` has no references. */
int read_column(Reader *r, Py_ssize_t n, PyObject **out, int depth, int *is_atomic);

#endif
