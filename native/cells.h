/* Cells of keyed state, which headgate/state/keyed/cells.py describes. */
#ifndef HEADGATE_CELLS_H
#define HEADGATE_CELLS_H

#include "native.h"

enum { GENERATION = 0, SAVED = 1, KEY = 3, FIRST = 4 }; /* places in a cell */

/* The current cell if it is a list with the place, borrowed; else NULL. */
static inline PyObject *listed_cell(Current *current, Py_ssize_t place) {
    PyObject *cell = current->cell;
    return cell != NULL && PyList_CheckExact(cell) && place < PyList_GET_SIZE(cell) ? cell : NULL;
}

/* The current cell of any class, a new reference, or NULL with an exception. */
static inline PyObject *any_cell(Current *current) {
    if (current->cell == NULL) PyErr_SetString(PyExc_AttributeError, "cell");
    return Py_XNewRef(current->cell);
}

/* Return what is at a place of the current cell, a new reference, or NULL with an exception. */
static inline PyObject *get_at(Current *current, Py_ssize_t place) {
    PyObject *cell = listed_cell(current, place), *index, *content = NULL;
    if (cell != NULL) return Py_NewRef(PyList_GET_ITEM(cell, place));
    if ((cell = any_cell(current)) == NULL) return NULL;
    if ((index = PyLong_FromSsize_t(place)) != NULL) content = PyObject_GetItem(cell, index);
    Py_XDECREF(index);
    Py_DECREF(cell);
    return content;
}

/* Put a new reference into a place that a list has, and let go of what was there. */
static inline void replace(PyObject *cell, Py_ssize_t place, PyObject *content) {
    PyObject *before = PyList_GET_ITEM(cell, place);
    PyList_SET_ITEM(cell, place, content);
    Py_DECREF(before);
}

/* Set what is at a place of the current cell. Returns -1 with an exception. */
static inline int set_at(Current *current, Py_ssize_t place, PyObject *content) {
    PyObject *cell = listed_cell(current, place), *index;
    if (cell != NULL) {
        replace(cell, place, Py_NewRef(content));
        return 0;
    }
    int failed = -1;
    if ((cell = any_cell(current)) == NULL) return -1;
    if ((index = PyLong_FromSsize_t(place)) != NULL) failed = PyObject_SetItem(cell, index, content);
    Py_XDECREF(index);
    Py_DECREF(cell);
    return failed;
}

/* The cells of a backend, as they are for the length of a batch. All objects are owned. */
typedef struct {
    PyObject *by_key; /* an exact dict */
    PyObject *generation, *enter;
} Cells;

/* Get the cells of a backend. Returns -1 with an exception; `release_cells` in any case. */
int cells_of(Cells *cells, PyObject *backend);
void release_cells(Cells *cells);

/* Return the cell of a key, safe to read and change: a new reference, or NULL with an exception. */
static inline PyObject *entered(const Cells *cells, PyObject *key) {
    PyObject *cell = PyDict_GetItemWithError(cells->by_key, key);
    if (cell == NULL) return PyErr_Occurred() ? NULL : call_two(cells->enter, key, Py_None);
    Py_INCREF(cell);
    int is_current = 0;
    if (PyList_CheckExact(cell) && PyList_GET_SIZE(cell) > GENERATION) {
        PyObject *generation = PyList_GET_ITEM(cell, GENERATION);
        is_current =
            generation == cells->generation || PyObject_RichCompareBool(generation, cells->generation, Py_EQ);
    }
    if (is_current > 0) return cell;
    PyObject *found = is_current < 0 ? NULL : call_two(cells->enter, key, cell);
    Py_DECREF(cell);
    return found;
}

#endif
