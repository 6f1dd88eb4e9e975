/* SPDX-License-Identifier: MIT */
/* Predictions of whole data sets, of other programs' outputs, and of single points. */
#include <stdlib.h>

#include "native.h"

typedef struct predict_call {
    ll_predictions *out;
    const ll_ensemble *ensemble;
    const ll_dataset *data;
    ll_predict_options options;
    const given_array *costs, *outputs, *labels;
    int logits;
    const char *path;
} predict_call;

static ll_status run_predict(ll_context *ctx, void *arguments) {
    predict_call *c = arguments;
    return ll_predict(&c->out, ctx, c->ensemble, c->data, &c->options);
}

/* predict(ensemble, dataset, options, costs, out, how) */
static PyObject *predict(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *ensemble, *data, *options, *costs, *out, *how;
    predict_call c = {.options = ll_predict_options_default()};
    size_t count;
    const ll_option *table = ll_predict_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOOOOO", &ensemble, &data, &options, &costs, &out, &how) ||
        keywords_fill(options, table, count, &c.options) != 0 || !(c.ensemble = handle_get(ensemble, HANDLE_ENSEMBLE)) ||
        !(c.data = handle_get(data, HANDLE_DATASET)) || !handle_get_optional((void **)&c.costs, costs, HANDLE_ARRAY) ||
        !handle_get_optional((void **)&c.options.out, out, HANDLE_DATASET))
        return NULL;
    c.options.costs = c.costs ? &c.costs->view : NULL;
    int status = call_run(how, run_predict, &c);
    return handle_made(status, HANDLE_PREDICTIONS, c.out, NULL);
}

static ll_status run_outputs(ll_context *ctx, void *arguments) {
    predict_call *c = arguments;
    return ll_predictions_new(&c->out, ctx, c->outputs->view, c->logits != 0, c->labels ? &c->labels->view : NULL);
}

/* predictions_of(outputs, logits, labels, how): of someone else's probabilities or logits */
static PyObject *predictions_of(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *outputs, *labels, *how;
    predict_call c = {0};
    if (!PyArg_ParseTuple(args, "OpOO", &outputs, &c.logits, &labels, &how) || !(c.outputs = handle_get(outputs, HANDLE_ARRAY)) ||
        !handle_get_optional((void **)&c.labels, labels, HANDLE_ARRAY))
        return NULL;
    int status = call_run(how, run_outputs, &c);
    return handle_made(status, HANDLE_PREDICTIONS, c.out, NULL);
}

/* predictions_memory(predictions, name): (address, typestr, shape, strides), None where there is no such array */
static PyObject *predictions_memory(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule;
    const char *name;
    const ll_predictions *p = PyArg_ParseTuple(args, "Os", &capsule, &name) ? handle_get(capsule, HANDLE_PREDICTIONS) : NULL;
    if (!p)
        return NULL;
    ll_array array = ll_predictions_array(p, name);
    return memory_of(&array);
}

/* predictions_shape(predictions): (N, K) */
static PyObject *predictions_shape(PyObject *module, PyObject *capsule) {
    (void)module;
    const ll_predictions *p = handle_get(capsule, HANDLE_PREDICTIONS);
    const ll_outcome *view = p ? ll_predictions_view(p) : NULL;
    return view ? Py_BuildValue("(LL)", (long long)view->n, (long long)view->classes) : NULL;
}

static ll_status run_write(ll_context *ctx, void *arguments) {
    predict_call *c = arguments;
    return ll_predictions_write(ctx, c->path, c->out);
}

/* predictions_write(predictions, path, how) */
static PyObject *predictions_write(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule, *how;
    predict_call c = {0};
    if (!PyArg_ParseTuple(args, "OsO", &capsule, &c.path, &how) || !(c.out = handle_get(capsule, HANDLE_PREDICTIONS)) ||
        call_run(how, run_write, &c) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* fields(): [(name, shape, when, meaning), ...] of all that predictions may hold */
static PyObject *fields(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < ll_field_count(); i++) {
        const ll_field *f = ll_field_get(i);
        PyObject *row = Py_BuildValue("(ssss)", f->name, f->shape, f->when, f->meaning);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* A predictor with a context of its own, for single points. */
typedef struct serving {
    ll_context *ctx;
    ll_predictor *predictor;
    int64_t features, classes;
    bool busy;
} serving;

void serving_free(void *object) {
    serving *s = object;
    ll_predictor_free(s->predictor);
    ll_context_free(s->ctx);
    free(s);
}

/* predictor(ensemble) */
static PyObject *predictor(PyObject *module, PyObject *capsule) {
    (void)module;
    const ll_ensemble *ensemble = handle_get(capsule, HANDLE_ENSEMBLE);
    serving *s = ensemble ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return ensemble ? PyErr_NoMemory() : NULL;
    s->features = ll_ensemble_features(ensemble);
    s->classes = ll_ensemble_classes(ensemble);
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    ll_status status = ll_context_new(&s->ctx, &options);
    if (status == LL_OK)
        status = ll_predictor_new(&s->predictor, s->ctx, ensemble);
    if (status == LL_OK)
        return handle_new(HANDLE_PREDICTOR, s, capsule);
    call_raise(status, ll_context_message(s->ctx));
    serving_free(s);
    return NULL;
}

/* Arrays of the answers, in the order of the tuple: label, sr_tail, probs, then the confidences. */
enum { ANSWERS = 3 + LL_CONFIDENCE_COUNT };

typedef struct answers {
    Py_buffer buffer[1 + ANSWERS]; /* the features first */
    int held;
} answers;

static void answers_release(answers *a) {
    for (int i = 0; i < a->held; i++)
        PyBuffer_Release(&a->buffer[i]);
}

/* The next buffer, dense and of so many bytes; NULL with an exception. */
static void *answers_hold(answers *a, PyObject *object, int flags, int64_t bytes) {
    Py_buffer *buffer = &a->buffer[a->held];
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | flags) != 0)
        return NULL;
    a->held++;
    if (bytes >= 0 && buffer->len != bytes) {
        PyErr_Format(PyExc_ValueError, "an array of answers has %zd bytes; expected %lld", buffer->len, (long long)bytes);
        return NULL;
    }
    return buffer->buf;
}

static bool answers_fill(answers *a, ll_prediction *out, PyObject *arrays, int64_t n, int64_t K) {
    for (int i = 0; i < ANSWERS; i++) {
        PyObject *array = PyTuple_GetItem(arrays, i);
        if (array == Py_None)
            continue;
        int64_t bytes = i == 0 ? n * 4 : i == 2 ? n * K * 4 : n * 8;
        void *data = answers_hold(a, array, PyBUF_WRITABLE, bytes);
        if (!data)
            return false;
        if (i == 0)
            out->label = data;
        else if (i == 1)
            out->sr_tail = data;
        else if (i == 2)
            out->probs = data;
        else
            out->confidence[i - 3] = data;
    }
    return true;
}

/* predictor_run(predictor, features f32 [n,D], row, arrays) */
static PyObject *predictor_run(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule, *features, *arrays;
    long long row;
    serving *s = PyArg_ParseTuple(args, "OOLO", &capsule, &features, &row, &arrays) ? handle_get(capsule, HANDLE_PREDICTOR) : NULL;
    if (!s)
        return NULL;
    if (s->busy || !PyTuple_Check(arrays) || PyTuple_Size(arrays) != ANSWERS) {
        PyErr_SetString(PyExc_RuntimeError, s->busy ? "this predictor is at work in another thread; make one for each thread"
                                                    : "expected a tuple of one array or None for each answer");
        return NULL;
    }
    answers a = {.held = 0};
    ll_prediction out = {.struct_size = sizeof out};
    const float *z = answers_hold(&a, features, PyBUF_SIMPLE, -1);
    int64_t n = z ? (int64_t)a.buffer[0].len / (s->features * (int64_t)sizeof *z) : 0;
    PyObject *result = NULL;
    if (z && (int64_t)a.buffer[0].len != n * s->features * (int64_t)sizeof *z)
        PyErr_Format(PyExc_ValueError, "the features have %zd bytes; expected rows of %lld numbers, f32", a.buffer[0].len,
                     (long long)s->features);
    else if (z && answers_fill(&a, &out, arrays, n, s->classes)) {
        ll_status status;
        s->busy = true;
        Py_BEGIN_ALLOW_THREADS;
        status = ll_predictor_run(&out, s->predictor, z, n, row);
        Py_END_ALLOW_THREADS;
        s->busy = false;
        if (status == LL_OK)
            result = Py_NewRef(Py_None);
        else
            call_raise(status, ll_predictor_message(s->predictor));
    }
    answers_release(&a);
    return result;
}

PyMethodDef predict_functions[] = {
    {"predict", predict, METH_VARARGS, NULL},
    {"predictions_of", predictions_of, METH_VARARGS, NULL},
    {"predictions_memory", predictions_memory, METH_VARARGS, NULL},
    {"predictions_shape", predictions_shape, METH_O, NULL},
    {"predictions_write", predictions_write, METH_VARARGS, NULL},
    {"fields", fields, METH_NOARGS, NULL},
    {"predictor", predictor, METH_O, NULL},
    {"predictor_run", predictor_run, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
