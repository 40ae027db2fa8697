/* Integers of 64 bits in an array that grows, which may be a heap: the least first. */
#ifndef HEADGATE_NUMBERS_H
#define HEADGATE_NUMBERS_H

#include "native.h"

typedef struct {
    long long *items;
    Py_ssize_t count, room;
} Numbers;

/* Make room for so many. Returns -1 with an exception. */
static inline int make_room(Numbers *numbers, Py_ssize_t wanted) {
    if (wanted <= numbers->room) return 0;
    Py_ssize_t room = wanted + wanted / 2 + 16;
    long long *items = PyMem_Realloc(numbers->items, room * sizeof(long long));
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    numbers->items = items;
    numbers->room = room;
    return 0;
}

/* Add a number to a heap. Returns -1 with an exception. */
static inline int heap_push(Numbers *heap, long long number) {
    if (make_room(heap, heap->count + 1) < 0) return -1;
    Py_ssize_t at = heap->count++;
    for (Py_ssize_t up; at > 0 && heap->items[up = (at - 1) / 2] > number; at = up) heap->items[at] = heap->items[up];
    heap->items[at] = number;
    return 0;
}

/* Move a number of a heap to behind those that are less. */
static inline void sift(Numbers *heap, Py_ssize_t at) {
    long long number = heap->items[at];
    for (Py_ssize_t down; (down = 2 * at + 1) < heap->count; at = down) {
        if (down + 1 < heap->count && heap->items[down + 1] < heap->items[down]) down++;
        if (heap->items[down] >= number) break;
        heap->items[at] = heap->items[down];
    }
    heap->items[at] = number;
}

/* Remove the least number of a heap, which is not empty. */
static inline void heap_pop(Numbers *heap) {
    heap->items[0] = heap->items[--heap->count];
    if (heap->count > 0) sift(heap, 0);
}

/* Whether an object is an integer of 64 bits. */
static inline int is_number(PyObject *object, long long *number) {
    int overflow;
    if (!PyLong_CheckExact(object)) return 0;
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* Return what is one less: an integer, or whatever is one less. NULL with an exception. */
static inline PyObject *one_less(PyObject *object) {
    long long number;
    if (is_number(object, &number) && number > LLONG_MIN) return PyLong_FromLongLong(number - 1);
    PyObject *one = PyLong_FromLong(1), *less = one == NULL ? NULL : PyNumber_Subtract(object, one);
    Py_XDECREF(one);
    return less;
}

/* Return `NEVER`, which is one more than the latest time. */
static inline PyObject *never(void) { return PyLong_FromUnsignedLongLong(1ULL << 63); }

#endif
