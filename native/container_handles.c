/* Handles of list state and of map state, where the content is a list or a dict, as on the hash map. */
#include "handles.h"

PyDoc_STRVAR(list_get_doc, "get()\n--\n\nReturn the elements of the current key in a new list.");

static PyObject *list_get(Handle *self, PyObject *Py_UNUSED(ignored)) {
    PyObject *elements = get_content(self);
    if (elements == NULL) return NULL;
    PyObject *copy = elements == Py_None ? PyList_New(0) : PySequence_List(elements);
    Py_DECREF(elements);
    return copy;
}

PyDoc_STRVAR(list_add_doc, "add(value)\n--\n\nAdd an element at the end.\n\n"
                           "Raises `StateAccessError` if it is None or of another type.");

static PyObject *list_add(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (!are_positional(count, names, 1) || !fits(self, args[0])) return as_in_python(self, "add", args, count, names);
    PyObject *elements = get_content(self), *none = NULL;
    if (elements != NULL && !PyList_CheckExact(elements))
        none = as_in_python(self, "add", args, count, names);
    else if (elements != NULL && PyList_Append(elements, args[0]) == 0)
        none = Py_NewRef(Py_None);
    Py_XDECREF(elements);
    return none;
}

PyMethodDef list_methods[] = {
    {"get", (PyCFunction)list_get, METH_NOARGS, list_get_doc},
    {"add", METHOD(list_add), list_add_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(map_get_doc, "get(key)\n--\n\nReturn the value of the key, None if it has none.");

static PyObject *map_get(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    PyObject *content = are_positional(count, names, 1) ? get_content(self) : NULL, *value;
    if (content == Py_None || PyErr_Occurred()) return content;
    if (content == NULL || !PyDict_CheckExact(content)) {
        value = as_in_python(self, "get", args, count, names);
    } else {
        value = Py_XNewRef(PyDict_GetItemWithError(content, args[0]));
        if (value == NULL && !PyErr_Occurred()) value = Py_NewRef(Py_None);
    }
    Py_XDECREF(content);
    return value;
}

PyDoc_STRVAR(map_put_doc, "put(key, value)\n--\n\nSet the value of the key.\n\n"
                          "Raises `StateAccessError` if the key or the value is of another type.");

static inline int entry_fits(Handle *self, PyObject *key, PyObject *value) {
    return ((PyObject *)Py_TYPE(key) == self->more || key == Py_None) && (fits(self, value) || value == Py_None);
}

static PyObject *map_put(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (!are_positional(count, names, 2) || !entry_fits(self, args[0], args[1]))
        return as_in_python(self, "put", args, count, names);
    PyObject *content = get_content(self), *none = NULL;
    if (content != NULL && !PyDict_CheckExact(content))
        none = as_in_python(self, "put", args, count, names);
    else if (content != NULL && PyDict_SetItem(content, args[0], args[1]) == 0)
        none = Py_NewRef(Py_None);
    Py_XDECREF(content);
    return none;
}

PyDoc_STRVAR(map_contains_doc, "contains(key)\n--\n\nReturn whether the map has the key. The value may be None.");

static PyObject *map_contains(Handle *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (!are_positional(count, names, 1)) return as_in_python(self, "contains", args, count, names);
    PyObject *content = get_content(self);
    if (content == NULL) return NULL;
    int is_there = content == Py_None ? 0 : PySequence_Contains(content, args[0]);
    Py_DECREF(content);
    return is_there < 0 ? NULL : PyBool_FromLong(is_there);
}

PyMethodDef map_methods[] = {
    {"get", METHOD(map_get), map_get_doc},
    {"put", METHOD(map_put), map_put_doc},
    {"contains", METHOD(map_contains), map_contains_doc},
    {NULL, NULL, 0, NULL},
};
