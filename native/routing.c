/* Dealing records to the channels of an edge by their keys. */
#include "keys.h"

#define CHANNELS_ON_STACK 64

/* The records for one channel: lists that the channel owns. `times` is NULL where the batch has no timestamps. */
typedef struct {
    PyObject *records, *times, *keys;
} Part;

/* The channels of an edge: `routes` maps a key to its channel, a cache that fills itself by __missing__. */
typedef struct {
    PyObject *routes;
    Py_ssize_t count;
    uint32_t max_parallelism;
} Channels;

/* Return the channel of a key, or -1 with an exception. To compute that of a number is faster than to look it up. */
static Py_ssize_t channel_of(const Channels *channels, PyObject *key) {
    int32_t code;
    if (is_own_code(key, &code))
        return key_group(code, channels->max_parallelism) * channels->count / channels->max_parallelism;
    PyObject *found = PyDict_GetItemWithError(channels->routes, key);
    if (found != NULL)
        Py_INCREF(found);
    else if (PyErr_Occurred() || (found = PyObject_GetItem(channels->routes, key)) == NULL)
        return -1;
    Py_ssize_t channel = PyLong_AsSsize_t(found);
    Py_DECREF(found);
    if (channel >= 0 && channel < channels->count) return channel;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "channel %zd of %zd", channel, channels->count);
    return -1;
}

static int add(PyObject **list, PyObject *item) {
    if (*list == NULL && (*list = PyList_New(0)) == NULL) return -1;
    return PyList_Append(*list, item);
}

/* Add the record at one place of the batch to the part of its channel. Returns -1 with an exception. */
static int deal_one(Part *part, PyObject *key, PyObject *records, PyObject *times, Py_ssize_t at) {
    /* The sizes are asked each time: the hash of a key may be Python code. */
    if (at >= PyList_GET_SIZE(records) || (times != Py_None && at >= PyList_GET_SIZE(times))) {
        PyErr_SetString(PyExc_ValueError, "there are more keys than records or timestamps");
        return -1;
    }
    if (add(&part->records, PyList_GET_ITEM(records, at)) < 0) return -1;
    if (times != Py_None && add(&part->times, PyList_GET_ITEM(times, at)) < 0) return -1;
    return add(&part->keys, key);
}

PyDoc_STRVAR(deal_doc,
             "deal(max_parallelism, routes, keys, records, times, count)\n--\n\n"
             "Divide records among channels by their keys.\n\n"
             "`routes` maps a key to its channel, a number below `count`; it is not asked for ints of 32 bits. `keys` is\n"
             "an iterator, which tells the key that failed. Return a tuple of channel, records, timestamps or None, and\n"
             "keys for each channel that gets records.");

static PyObject *deal(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t argument_count) {
    if (!takes("deal", 6, argument_count)) return NULL;
    PyObject *routes = args[1], *keys = args[2], *records = args[3], *times = args[4], *key, *dealt = NULL;
    Py_ssize_t max_parallelism = PyLong_AsSsize_t(args[0]), count = PyLong_AsSsize_t(args[5]), at = 0;
    if (PyErr_Occurred()) return NULL;
    if (!PyDict_Check(routes) || !PyIter_Check(keys) || !PyList_CheckExact(records) ||
        !(times == Py_None || PyList_CheckExact(times)) || count < 1 || max_parallelism < count ||
        max_parallelism > 1 << 15) {
        PyErr_SetString(PyExc_TypeError, "deal() takes a max parallelism, a dict, an iterator, a list, a list or None, "
                                         "and a number of channels");
        return NULL;
    }
    Channels channels = {.routes = routes, .count = count, .max_parallelism = (uint32_t)max_parallelism};
    Part few[CHANNELS_ON_STACK], *parts = few;
    if (count > CHANNELS_ON_STACK && (parts = PyMem_New(Part, count)) == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) parts[i] = (Part){NULL, NULL, NULL};
    while ((key = PyIter_Next(keys)) != NULL) {
        Py_ssize_t channel = channel_of(&channels, key);
        int failed = channel < 0 || deal_one(&parts[channel], key, records, times, at++) < 0;
        Py_DECREF(key);
        if (failed) break;
    }
    if (!PyErr_Occurred() && at != PyList_GET_SIZE(records))
        PyErr_SetString(PyExc_ValueError, "there are fewer keys than records");
    if (!PyErr_Occurred()) dealt = PyList_New(0);
    for (Py_ssize_t i = 0; dealt != NULL && i < count; i++) {
        Part *part = &parts[i];
        if (part->records == NULL) continue;
        PyObject *own = part->times == NULL ? Py_None : part->times;
        PyObject *four = Py_BuildValue("nOOO", i, part->records, own, part->keys);
        if (four == NULL || PyList_Append(dealt, four) < 0) Py_CLEAR(dealt);
        Py_XDECREF(four);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_XDECREF(parts[i].records);
        Py_XDECREF(parts[i].times);
        Py_XDECREF(parts[i].keys);
    }
    if (parts != few) PyMem_Free(parts);
    return dealt;
}

PyDoc_STRVAR(selected_doc,
             "selected(select, records)\n--\n\n"
             "Call a key selector for each record of an iterator. Return the keys, and whether all are of exactly int,\n"
             "str or bytes.");

static PyObject *selected(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t argument_count) {
    if (!takes("selected", 2, argument_count)) return NULL;
    PyObject *select = args[0], *records = args[1], *record;
    if (!PyIter_Check(records))
        return PyErr_Format(PyExc_TypeError, "%.100s is no iterator", Py_TYPE(records)->tp_name);
    PyObject *keys = PyList_New(0);
    if (keys == NULL) return NULL;
    int are_simple = 1;
    while ((record = PyIter_Next(records)) != NULL) {
        PyObject *key = call_one(select, record);
        Py_DECREF(record);
        if (key == NULL) break;
        are_simple &= is_plain_key(key);
        int failed = PyList_Append(keys, key);
        Py_DECREF(key);
        if (failed < 0) break;
    }
    if (PyErr_Occurred()) {
        Py_DECREF(keys);
        return NULL;
    }
    return Py_BuildValue("NO", keys, are_simple ? Py_True : Py_False);
}

PyMethodDef routing_methods[] = {
    {"selected", FASTCALL(selected), selected_doc},
    {"deal", FASTCALL(deal), deal_doc},
    {NULL, NULL, 0, NULL},
};
