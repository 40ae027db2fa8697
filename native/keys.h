/* Keys as bytes, their hash codes and their key groups. docs/reference/key-hash.md describes all three. */
#ifndef HEADGATE_KEYS_H
#define HEADGATE_KEYS_H

#include "native.h"
#include <stdint.h>

/* The canonical bytes of an int, str or bytes. */
typedef struct {
    unsigned char kind;        /* 'i', 's' or 'b', the first byte */
    const unsigned char *data; /* the bytes after the first */
    Py_ssize_t size;           /* of `data` */
    int is_int32;              /* such a number is its own hash code */
    int32_t number;
    unsigned char digits[9];
    PyObject *owner; /* of `data`, or NULL */
} KeyBytes;

/* Whether a key is of exactly int, str or bytes. */
static inline int is_plain_key(PyObject *key) {
    return PyLong_CheckExact(key) || PyUnicode_CheckExact(key) || PyBytes_CheckExact(key);
}

/* Get the bytes of a key. Returns 1; 0 for a key of another type, or an int of more than 64 bits; -1 with an
 * exception. `release_key` after 1. The key must live as long as its bytes. */
int key_bytes(KeyBytes *bytes, PyObject *key);

static inline void release_key(KeyBytes *bytes) { Py_CLEAR(bytes->owner); }

/* Whether a key is its own hash code, as an int of 32 bits is. */
static inline int is_own_code(PyObject *key, int32_t *code) {
    int overflow;
    if (!PyLong_CheckExact(key)) return 0;
    long long number = PyLong_AsLongLongAndOverflow(key, &overflow);
    *code = (int32_t)number;
    return !overflow && *code == number;
}

/* Return the hash code of a key. */
int32_t hash_code(const KeyBytes *bytes);

/* Return the key group of a hash code. */
static inline uint32_t key_group(int32_t code, uint32_t max_parallelism) {
    uint32_t k = (uint32_t)code * 0xCC9E2D51u;
    k = (k << 15 | k >> 17) * 0x1B873593u;
    uint32_t h = (k << 13 | k >> 19) * 5 + 0xE6546B64u;
    h ^= 4;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    return (h < 0x80000000u ? h : (0u - h) & 0x7FFFFFFFu) % max_parallelism;
}

#endif
