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
             "Return the names of the rows of cells with these keys, and the places of keys that only Python names,\n"
             "or whose key groups are not from `first` up to `end`: the name there is None.\n\n"
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
    PyObject *keys = args[0], *names = PyList_New(PyList_GET_SIZE(keys)), *others = PyList_New(0);
    for (Py_ssize_t i = 0; names != NULL && others != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *name = row_name(PyList_GET_ITEM(keys, i), numbers[0], numbers[1], numbers[2]);
        if (name == NULL) goto fail;
        PyList_SET_ITEM(names, i, name);
        if (name != Py_None) continue;
        PyObject *place = PyLong_FromSsize_t(i);
        int failed = place == NULL || PyList_Append(others, place) < 0;
        Py_XDECREF(place);
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

PyMethodDef key_methods[] = {
    {"key_group", FASTCALL(key_group_of), key_group_doc},
    {"row_names", FASTCALL(row_names), row_names_doc},
    {NULL, NULL, 0, NULL},
};
