/* SPDX-License-Identifier: MIT */
/* Calibrations, certificates and sets. */
#include "native.h"

typedef struct calibrate_call {
    ll_calibration *out;
    const ll_ensemble *ensemble; /* with data, or NULL: outputs with labels */
    const ll_dataset *data;
    const given_array *outputs, *labels;
    int logits;
    ll_calibrate_options options;
    double *log_probs;
} calibrate_call;

static ll_status run_calibrate(ll_context *ctx, void *arguments) {
    calibrate_call *c = arguments;
    return c->ensemble ? ll_calibrate(&c->out, ctx, c->ensemble, c->data, &c->options)
                       : ll_calibrate_outputs(&c->out, ctx, c->outputs->view, c->logits != 0, &c->labels->view, &c->options);
}

static int calibrate_options(calibrate_call *c, PyObject *options) {
    size_t count;
    const ll_option *table = ll_calibrate_options_table(&count);
    c->options = ll_calibrate_options_default();
    return keywords_fill(options, table, count, &c->options);
}

/* calibrate(ensemble, dataset, options, how) */
static PyObject *calibrate(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *data, *options, *how;
    calibrate_call c = {0};
    if (!PyArg_ParseTuple(args, "OOOO", &ensemble, &data, &options, &how) || calibrate_options(&c, options) != 0 ||
        !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)) || !(c.data = handle_get(data, HANDLE_DATASET)))
        return NULL;
    int status = call_run(how, run_calibrate, &c);
    return handle_made(status, HANDLE_CALIBRATION, c.out, NULL);
}

/* calibrate_outputs(outputs, logits, labels, options, how) */
static PyObject *calibrate_outputs(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *outputs, *labels, *options, *how;
    calibrate_call c = {0};
    if (!PyArg_ParseTuple(args, "OpOOO", &outputs, &c.logits, &labels, &options, &how) || calibrate_options(&c, options) != 0 ||
        !(c.outputs = handle_get(outputs, HANDLE_ARRAY)) || !(c.labels = handle_get(labels, HANDLE_ARRAY)))
        return NULL;
    int status = call_run(how, run_calibrate, &c);
    return handle_made(status, HANDLE_CALIBRATION, c.out, NULL);
}

static ll_status run_apply(ll_context *ctx, void *arguments) {
    calibrate_call *c = arguments;
    return ll_calibration_apply(c->log_probs, ctx, c->out, c->outputs->view, c->logits != 0);
}

/* calibration_apply(calibration, outputs, logits, log_probs f64 [N,K] to fill, how) */
static PyObject *calibration_apply(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *calibration, *outputs, *target, *how, *result = NULL;
    calibrate_call c = {0};
    Py_buffer buffer;
    if (!PyArg_ParseTuple(args, "OOpOO", &calibration, &outputs, &c.logits, &target, &how) ||
        !(c.out = handle_get(calibration, HANDLE_CALIBRATION)) || !(c.outputs = handle_get(outputs, HANDLE_ARRAY)) ||
        PyObject_GetBuffer(target, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0)
        return NULL;
    const ll_array *a = &c.outputs->view;
    int64_t N = a->rank >= 2 ? a->shape[a->rank - 2] : 0, K = ll_calibration_view(c.out)->classes;
    c.log_probs = buffer.buf;
    if (buffer.len != N * K * (int64_t)sizeof(double))
        PyErr_Format(PyExc_ValueError, "the outputs are of %lld rows for %lld classes, which is not what was calibrated", (long long)N,
                     (long long)K);
    else if (call_run(how, run_apply, &c) == 0)
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&buffer);
    return result;
}

/* calibration_info(calibration): (kind, n, classes, found, temperature, temperature_error, nll_before, nll, parameters) */
static PyObject *calibration_info(PyObject *module, PyObject *capsule) {
    (void)module;
    const ll_calibration *calibration = handle_get(capsule, HANDLE_CALIBRATION);
    if (!calibration)
        return NULL;
    const ll_calibration_info *i = ll_calibration_view(calibration);
    ll_array parameters = ll_calibration_parameters(calibration);
    return Py_BuildValue("{s:s,s:L,s:L,s:N,s:d,s:d,s:d,s:d,s:N}", "kind", i->kind, "n", (long long)i->n, "classes", (long long)i->classes,
                         "found", PyBool_FromLong(i->found), "temperature", i->temperature, "temperature_error", i->temperature_error,
                         "nll_before", i->nll_before, "nll", i->nll, "parameters", memory_of(&parameters));
}

typedef struct certify_call {
    ll_certificate *out;
    const ll_predictions *points, *out_points;
    ll_certify_options options;
    const char *path;
} certify_call;

static ll_status run_certify(ll_context *ctx, void *arguments) {
    certify_call *c = arguments;
    return ll_certify_predictions(&c->out, ctx, c->points, c->out_points, &c->options);
}

/* certify(predictions, out, options, how) */
static PyObject *certify(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *points, *out, *options, *how;
    certify_call c = {.options = ll_certify_options_default()};
    size_t count;
    const ll_option *table = ll_certify_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOOO", &points, &out, &options, &how) || keywords_fill(options, table, count, &c.options) != 0 ||
        !(c.points = handle_get(points, HANDLE_PREDICTIONS)) || !handle_get_optional((void **)&c.out_points, out, HANDLE_PREDICTIONS))
        return NULL;
    int status = call_run(how, run_certify, &c);
    return handle_made(status, HANDLE_CERTIFICATE, c.out, NULL);
}

static ll_status run_write(ll_context *ctx, void *arguments) {
    certify_call *c = arguments;
    return ll_certificate_write(ctx, c->path, c->out);
}

/* certificate_write(certificate, path, how) */
static PyObject *certificate_write(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *certificate, *how;
    certify_call c = {0};
    if (!PyArg_ParseTuple(args, "OsO", &certificate, &c.path, &how) || !(c.out = handle_get(certificate, HANDLE_CERTIFICATE)) ||
        call_run(how, run_write, &c) != 0)
        return NULL;
    Py_RETURN_NONE;
}

typedef struct sets_call {
    ll_set_rule *rule;
    ll_sets *out;
    const ll_predictions *points;
    ll_sets_options options;
    long long row;
} sets_call;

static ll_status run_rule(ll_context *ctx, void *arguments) {
    sets_call *c = arguments;
    return ll_set_rule_fit(&c->rule, ctx, ll_predictions_view(c->points), &c->options);
}

/* set_rule(predictions, options, how) */
static PyObject *set_rule(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *points, *options, *how;
    sets_call c = {.options = ll_sets_options_default()};
    size_t count;
    const ll_option *table = ll_sets_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOO", &points, &options, &how) || keywords_fill(options, table, count, &c.options) != 0 ||
        !(c.points = handle_get(points, HANDLE_PREDICTIONS)))
        return NULL;
    int status = call_run(how, run_rule, &c);
    return handle_made(status, HANDLE_RULE, c.rule, NULL);
}

static ll_status run_sets(ll_context *ctx, void *arguments) {
    sets_call *c = arguments;
    return ll_sets_new(&c->out, ctx, c->rule, ll_predictions_view(c->points), c->row);
}

/* sets(rule, predictions, row, how): (capsule, set, size), the arrays as (address, typestr, shape, strides) */
static PyObject *sets(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *rule, *points, *how;
    sets_call c = {0};
    if (!PyArg_ParseTuple(args, "OOLO", &rule, &points, &c.row, &how) || !(c.rule = handle_get(rule, HANDLE_RULE)) ||
        !(c.points = handle_get(points, HANDLE_PREDICTIONS)))
        return NULL;
    int status = call_run(how, run_sets, &c);
    if (status != 0)
        return handle_made(status, HANDLE_SETS, c.out, NULL);
    const ll_sets_info *info = ll_sets_view(c.out);
    const int64_t shape[] = {info->n, info->bytes};
    ll_array set = ll_array_view(info->set, LL_DTYPE_U8, 2, shape), size = ll_array_view(info->size, LL_DTYPE_I32, 1, shape);
    PyObject *owner = handle_new(HANDLE_SETS, c.out, NULL);
    return owner ? Py_BuildValue("(NNN)", owner, memory_of(&set), memory_of(&size)) : NULL;
}

typedef struct diagnose_call {
    ll_diagnosis *out;
    ll_ensemble *ensemble;
    const ll_dataset *data;
} diagnose_call;

static ll_status run_diagnose(ll_context *ctx, void *arguments) {
    diagnose_call *c = arguments;
    ll_status status = ll_diagnose(&c->out, ctx, c->ensemble, c->data);
    return status == LL_OK ? ll_ensemble_set_diagnosis(ctx, c->ensemble, c->out) : status;
}

/* diagnose(ensemble, dataset, how) */
static PyObject *diagnose(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *data, *how;
    diagnose_call c = {0};
    if (!PyArg_ParseTuple(args, "OOO", &ensemble, &data, &how) || !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)) ||
        !(c.data = handle_get(data, HANDLE_DATASET)) || call_run(how, run_diagnose, &c) != 0)
        return NULL;
    return handle_new(HANDLE_DIAGNOSIS, c.out, NULL);
}

/* diagnosis_memory(diagnosis, name) */
static PyObject *diagnosis_memory(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule;
    const char *name;
    const ll_diagnosis *diagnosis;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &name) || !(diagnosis = handle_get(capsule, HANDLE_DIAGNOSIS)))
        return NULL;
    ll_array array = ll_diagnosis_array(diagnosis, name);
    return memory_of(&array);
}

PyMethodDef promise_functions[] = {
    {"calibrate", calibrate, METH_VARARGS, NULL},
    {"calibrate_outputs", calibrate_outputs, METH_VARARGS, NULL},
    {"calibration_apply", calibration_apply, METH_VARARGS, NULL},
    {"calibration_info", calibration_info, METH_O, NULL},
    {"certify", certify, METH_VARARGS, NULL},
    {"certificate_write", certificate_write, METH_VARARGS, NULL},
    {"diagnose", diagnose, METH_VARARGS, NULL},
    {"diagnosis_memory", diagnosis_memory, METH_VARARGS, NULL},
    {"set_rule", set_rule, METH_VARARGS, NULL},
    {"sets", sets, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
