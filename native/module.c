/* The module headgate._native and its types. */
#include "numbers.h"

PyDoc_STRVAR(greatest_doc, "greatest(numbers)\n--\n\nReturn the greatest of some numbers, the first of several: `max`.");

static PyObject *greatest(PyObject *Py_UNUSED(module), PyObject *numbers) {
    Items items = {0};
    PyObject *found = begin_items(&items, numbers) < 0 ? NULL : next_item(&items), *each;
    long long most = 0, number = 0;
    int is_short = found != NULL && is_number(found, &most);
    if (found == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "greatest() of no numbers");
    while (found != NULL && (each = next_item(&items)) != NULL) {
        int is_each_short = is_number(each, &number);
        int is_more = is_short && is_each_short ? number > most : PyObject_RichCompareBool(each, found, Py_GT);
        if (is_more > 0) {
            Py_SETREF(found, Py_NewRef(each));
            most = number;
            is_short = is_each_short;
        }
        Py_DECREF(each);
        if (is_more < 0) Py_CLEAR(found);
    }
    if (PyErr_Occurred()) Py_CLEAR(found);
    release_items(&items);
    return found;
}

static PyMethodDef methods[] = {
    {"greatest", greatest, METH_O, greatest_doc},
    {NULL, NULL, 0, NULL},
};

/* Make a type and add it to the module. `kept`: where the state keeps it, or NULL. Returns -1 with an exception. */
static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **kept) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL) return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    if (kept != NULL)
        *kept = (PyTypeObject *)type;
    else
        Py_DECREF(type);
    return failed;
}

static int exec_module(PyObject *module) {
    State *state = PyModule_GetState(module);
    if (PyModule_AddStringConstant(module, "INTERFACE", INTERFACE) < 0) return -1;
    if (PyModule_AddFunctions(module, methods) < 0 || PyModule_AddFunctions(module, routing_methods) < 0 || PyModule_AddFunctions(module, handle_methods) < 0 ||
        PyModule_AddFunctions(module, pane_methods) < 0 || PyModule_AddFunctions(module, key_methods) < 0 ||
        PyModule_AddFunctions(module, cache_methods) < 0)
        return -1;
    struct {
        PyType_Spec *spec;
        PyTypeObject **kept;
    } types[] = {
        {&ownership_spec, &state->ownership},
        {&current_spec, &state->current},
        {&call_spec, &state->call},
        {&keyed_loop_spec, NULL},
        {&record_loop_spec, NULL},
        {&codec_spec, NULL},
        {&timer_index_spec, &state->timer_index},
        {&due_spec, &state->due},
        {&timers_spec, NULL},
        {&session_loop_spec, NULL},
        {&emission_spec, NULL},
        {&single_column_spec, NULL},
        {&step_spec, NULL},
        {&due_keys_spec, &state->due_keys},
        {&due_times_spec, &state->due_times},
    };
    for (size_t at = 0; at < Py_ARRAY_LENGTH(types); at++)
        if (add_type(module, types[at].spec, types[at].kept) < 0) return -1;
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    State *state = PyModule_GetState(module);
    Py_VISIT(state->ownership);
    Py_VISIT(state->current);
    Py_VISIT(state->call);
    Py_VISIT(state->timer_index);
    Py_VISIT(state->due);
    Py_VISIT(state->due_keys);
    Py_VISIT(state->due_times);
    return 0;
}

static int clear(PyObject *module) {
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->ownership);
    Py_CLEAR(state->current);
    Py_CLEAR(state->call);
    Py_CLEAR(state->timer_index);
    Py_CLEAR(state->due);
    Py_CLEAR(state->due_keys);
    Py_CLEAR(state->due_times);
    return 0;
}

static void release(void *module) { clear(module); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "headgate._native",
    .m_doc = "Loops of the hot path in C, with the results of the Python code that they stand in for.",
    .m_size = sizeof(State),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&native_module); }
