/* The module headgate._native and its types. */
#include "native.h"

static int exec_module(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &ownership_spec, NULL);
    if (type == NULL || PyModule_AddFunctions(module, routing_methods) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "headgate._native",
    .m_doc = "Loops of the hot path in C, with the results of the Python code that they stand in for.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
