/* Canonical bytes and hash codes of the keys that most programs have: those of headgate/types/keys.py. */
#include "keys.h"
#include <string.h>

/* The CRC-32 of zlib for each half of a byte. */
static const uint32_t CRC_OF_HALF[16] = {
    0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
};

static inline uint32_t crc_step(uint32_t crc, unsigned char byte) {
    crc ^= byte;
    crc = crc >> 4 ^ CRC_OF_HALF[crc & 15];
    return crc >> 4 ^ CRC_OF_HALF[crc & 15];
}

int32_t hash_code(const KeyBytes *bytes) {
    if (bytes->is_int32) return bytes->number;
    uint32_t crc = crc_step(0xFFFFFFFFu, bytes->kind);
    for (Py_ssize_t i = 0; i < bytes->size; i++) crc = crc_step(crc, bytes->data[i]);
    return (int32_t)~crc;
}

/* Two's complement, big-endian, with `bit_length // 8 + 1` bytes, as `int.to_bytes` writes it. */
static void write_digits(KeyBytes *bytes, long long number) {
    unsigned long long magnitude = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    int bits = 0;
    while (bits < 64 && magnitude >> bits != 0) bits++;
    bytes->size = bits / 8 + 1;
    for (Py_ssize_t i = 0; i < bytes->size; i++) {
        Py_ssize_t shift = 8 * (bytes->size - 1 - i);
        bytes->digits[i] = shift >= 64 ? (number < 0 ? 0xFF : 0) : (unsigned char)((unsigned long long)number >> shift);
    }
    bytes->data = bytes->digits;
    bytes->is_int32 = INT32_MIN <= number && number <= INT32_MAX;
    bytes->number = (int32_t)number;
}

int key_bytes(KeyBytes *bytes, PyObject *key) {
    bytes->owner = NULL;
    bytes->is_int32 = 0;
    if (PyLong_CheckExact(key)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(key, &overflow);
        if (overflow) return 0;
        bytes->kind = 'i';
        write_digits(bytes, number);
        return 1;
    }
    if (PyUnicode_CheckExact(key)) {
        bytes->kind = 's';
        if (PyUnicode_IS_COMPACT_ASCII(key)) {
            bytes->data = PyUnicode_DATA(key);
            bytes->size = PyUnicode_GET_LENGTH(key);
            return 1;
        }
        bytes->owner = PyUnicode_AsEncodedString(key, "utf-8", "surrogatepass");
        if (bytes->owner == NULL) return -1;
        key = bytes->owner;
    } else if (PyBytes_CheckExact(key)) {
        bytes->kind = 'b';
    } else {
        return 0;
    }
    bytes->data = (const unsigned char *)PyBytes_AS_STRING(key);
    bytes->size = PyBytes_GET_SIZE(key);
    return 1;
}

PyDoc_STRVAR(row_names_doc,
             "row_names(keys, max_parallelism, first, end)\n--\n\n"
             "Return the names of the rows of cells with these keys, and the places of keys that Python code must name,\n"
             "or whose key groups are not from `first` up to `end`: their names here are None.\n\n"
             "A name is the key group (2 bytes), a zero, the length of the key's bytes (4 bytes), and these bytes.");

/* Return the name of a row, a new reference; None for a key that only Python names; NULL with an exception. */
static PyObject *row_name(PyObject *key, uint32_t max_parallelism, uint32_t first, uint32_t end) {
    KeyBytes bytes;
    int found = key_bytes(&bytes, key);
    if (found < 0) return NULL;
    if (found == 0) return Py_NewRef(Py_None);
    uint32_t group = key_group(hash_code(&bytes), max_parallelism);
    PyObject *name;
    if (group < first || group >= end || bytes.size >= INT32_MAX) {
        name = Py_NewRef(Py_None);
    } else if ((name = PyBytes_FromStringAndSize(NULL, 8 + bytes.size)) != NULL) {
        unsigned char *at = (unsigned char *)PyBytes_AS_STRING(name);
        uint32_t length = (uint32_t)bytes.size + 1;
        at[0] = (unsigned char)(group >> 8);
        at[1] = (unsigned char)group;
        at[2] = 0;
        for (int i = 0; i < 4; i++) at[3 + i] = (unsigned char)(length >> (24 - 8 * i));
        at[7] = bytes.kind;
        memcpy(at + 8, bytes.data, bytes.size);
    }
    release_key(&bytes);
    return name;
}

static PyObject *row_names(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (!takes("row_names", 4, count)) return NULL;
    long numbers[3];
    for (int i = 0; i < 3; i++) {
        numbers[i] = PyLong_AsLong(args[1 + i]);
        if (numbers[i] == -1 && PyErr_Occurred()) return NULL;
    }
    if (!PyList_CheckExact(args[0]) || numbers[0] < 1 || numbers[0] > 1 << 15 || numbers[1] < 0 || numbers[2] > 1 << 15) {
        PyErr_SetString(PyExc_TypeError, "row_names() takes a list, a max parallelism, and a range of its key groups");
        return NULL;
    }
    PyObject *keys = args[0], *names = PyList_New(0), *others = PyList_New(0);
    /* The size is asked each time: to make an object may run a finaliser. */
    for (Py_ssize_t i = 0; names != NULL && others != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = Py_NewRef(PyList_GET_ITEM(keys, i)), *place = NULL;
        PyObject *name = row_name(key, numbers[0], numbers[1], numbers[2]);
        int failed = name == NULL || PyList_Append(names, name) < 0;
        if (!failed && name == Py_None)
            failed = (place = PyLong_FromSsize_t(i)) == NULL || PyList_Append(others, place) < 0;
        Py_XDECREF(place);
        Py_XDECREF(name);
        Py_DECREF(key);
        if (failed) goto fail;
    }
    if (names != NULL && others != NULL) return Py_BuildValue("NN", names, others);
fail:
    Py_XDECREF(names);
    Py_XDECREF(others);
    return NULL;
}

PyDoc_STRVAR(key_group_doc, "key_group(key, max_parallelism)\n--\n\n"
                            "Return the key group of a key, or None for a key whose hash code only Python computes.");

static PyObject *key_group_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (!takes("key_group", 2, count)) return NULL;
    long max_parallelism = PyLong_AsLong(args[1]);
    if (max_parallelism == -1 && PyErr_Occurred()) return NULL;
    if (max_parallelism < 1 || max_parallelism > 1 << 15)
        return PyErr_Format(PyExc_ValueError, "max parallelism %ld", max_parallelism);
    KeyBytes bytes;
    int found = key_bytes(&bytes, args[0]);
    if (found < 0) return NULL;
    if (found == 0) Py_RETURN_NONE;
    uint32_t group = key_group(hash_code(&bytes), (uint32_t)max_parallelism);
    release_key(&bytes);
    return PyLong_FromLong(group);
}

/* --- columns of Arrow */

/* An Arrow column of 64-bit integers, strings or bytes. `sizes`: where its values end, in 4 or 8 bytes each. */
typedef struct {
    Py_buffer validity, sizes, data;
    Py_ssize_t width; /* of the numbers in `sizes`; 0: the values are integers */
    Py_ssize_t first, count;
    unsigned char kind;
} Column;

static void release_column(Column *column) {
    Py_buffer *buffers[] = {&column->validity, &column->sizes, &column->data};
    for (int i = 0; i < 3; i++)
        if (buffers[i]->obj != NULL) PyBuffer_Release(buffers[i]);
}

/* Get a buffer, or none for None. Returns -1 with an exception. */
static int get_buffer(PyObject *object, Py_buffer *buffer) {
    return object == Py_None ? 0 : PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE);
}

static inline int is_null(const Column *column, Py_ssize_t at) {
    return column->validity.obj != NULL && !(((unsigned char *)column->validity.buf)[at / 8] >> (at % 8) & 1);
}

static int64_t size_at(const Column *column, Py_ssize_t at) {
    int64_t wide;
    int32_t narrow;
    const char *from = (const char *)column->sizes.buf + at * column->width;
    if (column->width == 4) return memcpy(&narrow, from, 4), narrow;
    return memcpy(&wide, from, 8), wide;
}

/* Whether the buffers have as many values as the column is to have. */
static int is_whole(const Column *column) {
    if (column->first < 0 || column->count < 0 || column->first > PY_SSIZE_T_MAX / 8 - 1 - column->count) return 0;
    Py_ssize_t end = column->first + column->count;
    if (column->validity.obj != NULL && column->validity.len < (end + 7) / 8) return 0;
    if (column->width == 0) return column->data.len >= 8 * end;
    return column->count == 0 || column->sizes.len >= column->width * (end + 1);
}

/* Get the bytes of a value. Returns -1 with an exception. */
static int value_bytes(const Column *column, Py_ssize_t at, KeyBytes *bytes) {
    bytes->owner = NULL;
    bytes->is_int32 = 0;
    if (is_null(column, at)) {
        bytes->kind = 'n';
        bytes->size = 0;
    } else if (column->width == 0) {
        int64_t number;
        memcpy(&number, (const char *)column->data.buf + 8 * at, 8);
        bytes->kind = 'i';
        write_digits(bytes, number);
    } else {
        int64_t start = size_at(column, at), end = size_at(column, at + 1);
        if (start < 0 || end < start || end > column->data.len) {
            PyErr_Format(PyExc_ValueError, "value %zd of a column lies outside of its data", at);
            return -1;
        }
        bytes->kind = column->kind;
        bytes->data = (const unsigned char *)column->data.buf + start;
        bytes->size = (Py_ssize_t)(end - start);
    }
    return 0;
}

PyDoc_STRVAR(column_groups_doc,
             "column_groups(kind, width, validity, sizes, data, first, count, max_parallelism)\n--\n\n"
             "Return the key groups of values of an Arrow column, as 32-bit numbers.\n\n"
             "`kind` is the first of a value's canonical bytes: i for 64-bit integers, s or b. `width` is that of the\n"
             "numbers in `sizes`, 0 for integers. Raises ValueError for buffers that are too short.");

static PyObject *column_groups(PyObject *Py_UNUSED(module), PyObject *args) {
    Column column = {0};
    PyObject *validity, *sizes, *data, *groups = NULL;
    int kind, max_parallelism;
    if (!PyArg_ParseTuple(args, "CnOOOnni", &kind, &column.width, &validity, &sizes, &data, &column.first,
                          &column.count, &max_parallelism))
        return NULL;
    column.kind = (unsigned char)kind;
    if (get_buffer(validity, &column.validity) == 0 && get_buffer(sizes, &column.sizes) == 0 &&
        get_buffer(data, &column.data) == 0) {
        int fits = (column.width == 0 || column.width == 4 || column.width == 8) && max_parallelism > 0;
        if (fits && is_whole(&column))
            groups = PyBytes_FromStringAndSize(NULL, 4 * column.count);
        else
            PyErr_SetString(PyExc_ValueError, "the buffers of a column are too short, or its width is wrong");
    }
    for (Py_ssize_t i = 0; groups != NULL && i < column.count; i++) {
        KeyBytes bytes;
        if (value_bytes(&column, column.first + i, &bytes) < 0) {
            Py_CLEAR(groups);
        } else {
            int32_t group = (int32_t)key_group(hash_code(&bytes), (uint32_t)max_parallelism);
            memcpy(PyBytes_AS_STRING(groups) + 4 * i, &group, 4);
        }
    }
    release_column(&column);
    return groups;
}

PyMethodDef key_methods[] = {
    {"column_groups", column_groups, METH_VARARGS, column_groups_doc},
    {"key_group", FASTCALL(key_group_of), key_group_doc},
    {"row_names", FASTCALL(row_names), row_names_doc},
    {NULL, NULL, 0, NULL},
};
