/* SPDX-License-Identifier: MIT */
/* Fitting, and what an ensemble holds. */
#include <string.h>

#include "native.h"

typedef struct fit_call {
    ll_ensemble *out;
    const ll_dataset *data;
    const ll_head *head;
    ll_fit_options options;
    const char *path;
    int resume;
} fit_call;

static ll_status run_fit(ll_context *ctx, void *arguments) {
    fit_call *c = arguments;
    return c->path ? ll_fit_write(&c->out, ctx, c->path, c->data, c->head, &c->options, c->resume != 0)
                   : ll_fit(&c->out, ctx, c->data, c->head, &c->options);
}

/* fit(dataset, head, validation, options, path, resume, how) */
static PyObject *fit(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *data, *head, *validation, *options, *how;
    fit_call c = {.options = ll_fit_options_default()};
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOOOzpO", &data, &head, &validation, &options, &c.path, &c.resume, &how) ||
        keywords_fill(options, table, count, &c.options) != 0)
        return NULL;
    c.data = handle_get(data, HANDLE_DATASET);
    if (!c.data || !handle_get_optional((void **)&c.head, head, HANDLE_HEAD) ||
        !handle_get_optional((void **)&c.options.validation, validation, HANDLE_DATASET))
        return NULL;
    int status = call_run(how, run_fit, &c);
    return handle_made(status, HANDLE_ENSEMBLE, c.out, NULL);
}

typedef struct file_call {
    ll_ensemble *ensemble;
    const char *path;
    void *bytes;
    size_t size;
    const ll_calibration *calibration;
    ll_certificate *certificate;
    const char *const *names;
    int64_t count;
} file_call;

static ll_status run_read(ll_context *ctx, void *arguments) {
    file_call *c = arguments;
    return c->path ? ll_ensemble_read(&c->ensemble, ctx, c->path) : ll_ensemble_read_bytes(&c->ensemble, ctx, c->bytes, c->size);
}

static ll_status run_write(ll_context *ctx, void *arguments) {
    file_call *c = arguments;
    return c->path ? ll_ensemble_write(ctx, c->path, c->ensemble) : ll_ensemble_write_bytes(&c->bytes, &c->size, ctx, c->ensemble);
}

/* ensemble_read(path or bytes, how) */
static PyObject *ensemble_read(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *source, *how;
    file_call c = {0};
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "OO", &source, &how))
        return NULL;
    if (PyBytes_Check(source)) {
        char *bytes;
        if (PyBytes_AsStringAndSize(source, &bytes, &size) != 0)
            return NULL;
        c.bytes = bytes;
        c.size = (size_t)size;
    } else if (!(c.path = PyUnicode_AsUTF8AndSize(source, NULL)))
        return NULL;
    int status = call_run(how, run_read, &c);
    return handle_made(status, HANDLE_ENSEMBLE, c.ensemble, NULL);
}

/* ensemble_write(ensemble, path or None, how): bytes without a path */
static PyObject *ensemble_write(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *how;
    file_call c = {0};
    if (!PyArg_ParseTuple(args, "OzO", &ensemble, &c.path, &how) || !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)))
        return NULL;
    PyObject *result = NULL;
    if (call_run(how, run_write, &c) == 0)
        result = c.path ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize(c.bytes, (Py_ssize_t)c.size);
    ll_bytes_free(c.bytes);
    return result;
}

typedef struct draw_call {
    const ll_ensemble *of;
    ll_ensemble *drawn;
} draw_call;

static ll_status run_draw(ll_context *ctx, void *arguments) {
    draw_call *c = arguments;
    return ll_ensemble_draw(&c->drawn, ctx, c->of);
}

/* ensemble_draw(ensemble, how) */
static PyObject *ensemble_draw(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *how;
    draw_call c = {0};
    if (!PyArg_ParseTuple(args, "OO", &ensemble, &how) || !(c.of = handle_get(ensemble, HANDLE_ENSEMBLE)))
        return NULL;
    int status = call_run(how, run_draw, &c);
    return handle_made(status, HANDLE_ENSEMBLE, c.drawn, NULL);
}

static PyObject *meta_of(const ll_ensemble *ensemble) {
    PyObject *meta = PyDict_New();
    for (int64_t i = 0; meta && i < ll_ensemble_meta_count(ensemble); i++) {
        PyObject *value = PyUnicode_FromString(ll_ensemble_meta_value(ensemble, i));
        if (!value || PyDict_SetItemString(meta, ll_ensemble_meta_key(ensemble, i), value) != 0)
            Py_CLEAR(meta);
        Py_XDECREF(value);
    }
    return meta;
}

/* ensemble_info(ensemble): a dict of what it says of itself */
static PyObject *ensemble_info(PyObject *module, PyObject *capsule) {
    (void)module;
    const ll_ensemble *e = handle_get(capsule, HANDLE_ENSEMBLE);
    return !e ? NULL
              : Py_BuildValue("{s:L,s:L,s:L,s:s,s:z,s:z,s:z,s:z,s:N}", "samples", (long long)ll_ensemble_samples(e), "classes",
                              (long long)ll_ensemble_classes(e), "features", (long long)ll_ensemble_features(e), "method",
                              ll_ensemble_method(e), "calibration", ll_ensemble_calibration(e), "certificate", ll_ensemble_certificate(e),
                              "promise", ll_ensemble_promise(e), "diagnosis", ll_ensemble_diagnosis(e), "meta", meta_of(e));
}

/* ensemble_memory(ensemble, "W" "b" or "weight"): (address, typestr, shape, strides) */
static PyObject *ensemble_memory(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule;
    const char *name;
    const ll_ensemble *e = PyArg_ParseTuple(args, "Os", &capsule, &name) ? handle_get(capsule, HANDLE_ENSEMBLE) : NULL;
    if (!e)
        return NULL;
    ll_array array = strcmp(name, "W") == 0   ? ll_ensemble_weight_view(e)
                     : strcmp(name, "b") == 0 ? ll_ensemble_bias_view(e)
                                              : ll_ensemble_member_weight_view(e);
    return memory_of(&array);
}

static ll_status run_set(ll_context *ctx, void *arguments) {
    file_call *c = arguments;
    return c->names         ? ll_ensemble_set_class_list(ctx, c->ensemble, c->names, c->count)
           : c->certificate ? ll_ensemble_set_certificate(ctx, c->ensemble, c->certificate)
                            : ll_ensemble_set_calibration(ctx, c->ensemble, c->calibration);
}

/* ensemble_set_calibration(ensemble, calibration or None, how) */
static PyObject *ensemble_set_calibration(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *calibration, *how;
    file_call c = {0};
    if (!PyArg_ParseTuple(args, "OOO", &ensemble, &calibration, &how) || !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)) ||
        !handle_get_optional((void **)&c.calibration, calibration, HANDLE_CALIBRATION) || call_run(how, run_set, &c) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ensemble_set_certificate(ensemble, certificate, how) */
static PyObject *ensemble_set_certificate(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *certificate, *how;
    file_call c = {0};
    if (!PyArg_ParseTuple(args, "OOO", &ensemble, &certificate, &how) || !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)) ||
        !(c.certificate = handle_get(certificate, HANDLE_CERTIFICATE)) || call_run(how, run_set, &c) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ensemble_set_class_names(ensemble, names, how) */
static PyObject *ensemble_set_class_names(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *names, *how;
    file_call c = {0};
    if (!PyArg_ParseTuple(args, "OOO", &ensemble, &names, &how) || !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)) ||
        !(c.names = names_take(names, &c.count)))
        return NULL;
    int status = call_run(how, run_set, &c);
    PyMem_Free((void *)c.names);
    if (status != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *methods(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    PyObject *list = PyList_New(0);
    for (size_t m = 0; list && m < ll_method_count(); m++) {
        const ll_method_info *info = ll_method_get(m);
        PyObject *uses = PyList_New(0);
        for (size_t i = 0; uses && i < count; i++)
            if (ll_method_uses(info->name, table[i].name)) {
                PyObject *name = PyUnicode_FromString(table[i].name);
                if (!name || PyList_Append(uses, name) != 0)
                    Py_CLEAR(uses);
                Py_XDECREF(name);
            }
        PyObject *row = Py_BuildValue("{s:s,s:s,s:L,s:L,s:N}", "name", info->name, "summary", info->summary, "samples",
                                      (long long)info->samples, "epochs", (long long)info->epochs, "uses", uses);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyMethodDef ensemble_functions[] = {
    {"fit", fit, METH_VARARGS, NULL},
    {"ensemble_read", ensemble_read, METH_VARARGS, NULL},
    {"ensemble_draw", ensemble_draw, METH_VARARGS, NULL},
    {"ensemble_write", ensemble_write, METH_VARARGS, NULL},
    {"ensemble_info", ensemble_info, METH_O, NULL},
    {"ensemble_memory", ensemble_memory, METH_VARARGS, NULL},
    {"ensemble_set_calibration", ensemble_set_calibration, METH_VARARGS, NULL},
    {"ensemble_set_certificate", ensemble_set_certificate, METH_VARARGS, NULL},
    {"ensemble_set_class_names", ensemble_set_class_names, METH_VARARGS, NULL},
    {"methods", methods, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
