/* The typed form of a batch: columns of values of exact types. docs/reference/snapshot-format.md describes it. */
#ifndef HEADGATE_CODEC_H
#define HEADGATE_CODEC_H

#include "native.h"
#include <datetime.h>
#include <stdint.h>

#define MAGIC "HGB\1"     /* the last byte is the version */
#define MAGIC_SIZE 4
#define HEAD_SIZE 16      /* magic; u32 records, timestamps, keys */
#define NO_COLUMN 0       /* timestamps or keys: there are none */
#define OWN_COLUMN 1      /* they have a column of their own, after the records */
#define FIRST_COLUMN 2    /* plus the number of a column: they are the values of that column */
#define DEPTH_MAX 64      /* columns inside columns; records that are nested more deeply are pickled */
#define VARIED 255        /* as a length: the values of the column have different lengths */
#define ROW_SHAPES_MAX 64 /* of names, in one column of rows */

/* Sizes that damaged bytes tell are at most the number of bytes, times 255. */
_Static_assert(sizeof(size_t) >= 8, "the codec needs 64 bits");

/* The header of Python has a variable that we do not use: each codec finds the functions of dates by itself. */
static inline void ignore_variable_of_header(void) { (void)PyDateTimeAPI; }

/* What a column holds. Values of a batch's MIXED column have one of the first kinds each. */
typedef enum {
    NONE, BOOL, INT, BIG_INT, FLOAT, STR, BYTES, DECIMAL, DATE, TIME, DATETIME, DATETIME_UTC, TIMEDELTA,
    TUPLE, LIST, DICT, ROW, MIXED, DISTINCT
} Kind;
#define KINDS_OF_VALUES MIXED

typedef struct {
    PyObject_HEAD
    PyDateTime_CAPI *dates;
    PyTypeObject *row, *keyword_names, *decimal;
    Py_ssize_t values, fields, row_kind; /* where a row has its attributes */
    PyObject *row_kinds;                 /* a tuple of the members, by their numbers */
    PyObject *class_of;                  /* returns the class of rows, by their names */
    PyObject *damaged;                   /* the class of the error for bytes that are no batch */
} Codec;

/* An attribute of a row, borrowed; NULL if it was never set. */
static inline PyObject **row_slot(PyObject *row, Py_ssize_t offset) { return (PyObject **)((char *)row + offset); }

PyObject *codec_encode(Codec *self, PyObject *const *args, Py_ssize_t count);
PyObject *codec_decode(Codec *self, PyObject *payload);
extern const char encode_doc[], decode_doc[];

#endif
