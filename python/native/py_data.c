/* SPDX-License-Identifier: MIT */
/* Arrays, data sets and heads. */
#include <stdlib.h>

#include "native.h"

/* array(object): where its elements lie. None where the object speaks none of the protocols. */
static PyObject *array(PyObject *module, PyObject *object) {
    (void)module;
    static int (*const ways[])(given_array *, PyObject *) = {given_buffer_take, given_arrow_take, given_dlpack_take, given_interface_take};
    given_array *out = calloc(1, sizeof *out);
    if (!out)
        return PyErr_NoMemory();
    int taken = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && taken == 0; i++)
        taken = ways[i](out, object);
    if (taken > 0)
        return handle_new(HANDLE_ARRAY, out, NULL);
    given_array_free(out);
    if (taken < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* array_memory(array): (how, (address, typestr, shape, strides)) */
static PyObject *array_memory(PyObject *module, PyObject *capsule) {
    (void)module;
    const given_array *a = handle_get(capsule, HANDLE_ARRAY);
    return a ? Py_BuildValue("(sN)", a->how, memory_of(&a->view)) : NULL;
}

typedef struct dataset_call {
    ll_dataset *out;
    const given_array *features, *labels, *weights, *class_weights;
    long long classes;
    int balance;
} dataset_call;

static ll_status make_dataset(ll_context *ctx, void *arguments) {
    dataset_call *c = arguments;
    const ll_array *weights = c->weights ? &c->weights->view : NULL, *by_class = c->class_weights ? &c->class_weights->view : NULL;
    ll_status status = ll_dataset_new(&c->out, ctx, c->features->view, c->labels ? &c->labels->view : NULL, c->classes);
    if (status == LL_OK && (weights || by_class))
        status = ll_dataset_weigh(ctx, c->out, weights, by_class);
    if (status == LL_OK && c->balance)
        status = ll_dataset_balance(ctx, c->out);
    if (status != LL_OK) {
        ll_dataset_free(c->out);
        c->out = NULL;
    }
    return status;
}

/* dataset(features, labels, classes, weights, class_weights, balance, how) */
static PyObject *dataset(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *features, *labels, *weights, *class_weights, *how;
    dataset_call c = {0};
    if (!PyArg_ParseTuple(args, "OOLOOpO", &features, &labels, &c.classes, &weights, &class_weights, &c.balance, &how))
        return NULL;
    c.features = handle_get(features, HANDLE_ARRAY);
    if (!c.features || !handle_get_optional((void **)&c.labels, labels, HANDLE_ARRAY) ||
        !handle_get_optional((void **)&c.weights, weights, HANDLE_ARRAY) ||
        !handle_get_optional((void **)&c.class_weights, class_weights, HANDLE_ARRAY))
        return NULL;
    int status = call_run(how, make_dataset, &c);
    return handle_made(status, HANDLE_DATASET, c.out, features);
}

/* dataset_shape(dataset): (N, D, K) */
static PyObject *dataset_shape(PyObject *module, PyObject *capsule) {
    (void)module;
    const ll_dataset *data = handle_get(capsule, HANDLE_DATASET);
    return data ? Py_BuildValue("(LLL)", (long long)ll_dataset_rows(data), (long long)ll_dataset_features(data),
                                (long long)ll_dataset_classes(data))
                : NULL;
}

typedef struct head_call {
    ll_head *out;
    const given_array *weight, *bias;
    long long features;
    int layout;
} head_call;

static ll_status make_head(ll_context *ctx, void *arguments) {
    head_call *c = arguments;
    return ll_head_new(&c->out, ctx, c->weight->view, c->bias ? &c->bias->view : NULL, c->features, (ll_head_layout)c->layout);
}

/* head(weight, bias, features, layout, how): layout 0 auto, 1 [K,D], 2 [D,K] */
static PyObject *head(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *weight, *bias, *how;
    head_call c = {0};
    if (!PyArg_ParseTuple(args, "OOLiO", &weight, &bias, &c.features, &c.layout, &how))
        return NULL;
    c.weight = handle_get(weight, HANDLE_ARRAY);
    if (!c.weight || !handle_get_optional((void **)&c.bias, bias, HANDLE_ARRAY))
        return NULL;
    int status = call_run(how, make_head, &c);
    return handle_made(status, HANDLE_HEAD, c.out, NULL);
}

PyMethodDef data_functions[] = {
    {"array", array, METH_O, NULL},           {"array_memory", array_memory, METH_O, NULL},
    {"dataset", dataset, METH_VARARGS, NULL}, {"dataset_shape", dataset_shape, METH_O, NULL},
    {"head", head, METH_VARARGS, NULL},       {NULL, NULL, 0, NULL},
};
