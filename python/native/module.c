/* SPDX-License-Identifier: MIT */
/* The module lastlayer._lastlayer: functions that take capsules, arrays and dicts of options. The classes of lastlayer call it. */
#include "native.h"

static PyObject *version(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(ll_version());
}

/* The kernels in use: "v3" and so on. */
static PyObject *isa(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(ll_isa());
}

static PyObject *confidences(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *names = PyTuple_New(LL_CONFIDENCE_COUNT);
    for (int c = 0; names && c < LL_CONFIDENCE_COUNT; c++)
        PyTuple_SetItem(names, c, PyUnicode_FromString(ll_confidence_name((ll_confidence)c)));
    return names;
}

static PyMethodDef own_functions[] = {
    {"version", version, METH_NOARGS, NULL},        {"isa", isa, METH_NOARGS, NULL}, {"confidences", confidences, METH_NOARGS, NULL},
    {"tables", keywords_tables, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module) {
    PyMethodDef *const lists[] = {own_functions,    data_functions,    ensemble_functions, predict_functions,
                                  metric_functions, promise_functions, text_functions};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (PyModule_AddFunctions(module, lists[i]) != 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_lastlayer",
    .m_doc = "The library, for the classes of lastlayer.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__lastlayer(void);

PyMODINIT_FUNC PyInit__lastlayer(void) {
    return PyModuleDef_Init(&definition);
}
