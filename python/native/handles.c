/* SPDX-License-Identifier: MIT */
/* Objects of the library as capsules, freed with the last reference. */
#include "native.h"

typedef struct kind {
    const char *name;
    void (*release)(void *object);
} kind;

#define RELEASE(noun, type)                    \
    static void release_##noun(void *object) { \
        ll_##noun##_free((type *)object);      \
    }
RELEASE(dataset, ll_dataset)
RELEASE(head, ll_head)
RELEASE(ensemble, ll_ensemble)
RELEASE(predictions, ll_predictions)
RELEASE(evaluation, ll_evaluation)
RELEASE(risk_coverage, ll_risk_coverage)
RELEASE(calibration, ll_calibration)
RELEASE(certificate, ll_certificate)
RELEASE(set_rule, ll_set_rule)
RELEASE(sets, ll_sets)
RELEASE(comparison, ll_comparison)
RELEASE(contrast, ll_contrast)
RELEASE(diagnosis, ll_diagnosis)

static const kind kinds[HANDLE_COUNT] = {
    [HANDLE_ARRAY] = {"lastlayer.array", given_array_free},
    [HANDLE_DATASET] = {"lastlayer.dataset", release_dataset},
    [HANDLE_HEAD] = {"lastlayer.head", release_head},
    [HANDLE_ENSEMBLE] = {"lastlayer.ensemble", release_ensemble},
    [HANDLE_PREDICTOR] = {"lastlayer.predictor", serving_free},
    [HANDLE_PREDICTIONS] = {"lastlayer.predictions", release_predictions},
    [HANDLE_EVALUATION] = {"lastlayer.evaluation", release_evaluation},
    [HANDLE_CURVE] = {"lastlayer.curve", release_risk_coverage},
    [HANDLE_CALIBRATION] = {"lastlayer.calibration", release_calibration},
    [HANDLE_CERTIFICATE] = {"lastlayer.certificate", release_certificate},
    [HANDLE_RULE] = {"lastlayer.set_rule", release_set_rule},
    [HANDLE_SETS] = {"lastlayer.sets", release_sets},
    [HANDLE_COMPARISON] = {"lastlayer.comparison", release_comparison},
    [HANDLE_CONTRAST] = {"lastlayer.contrast", release_contrast},
    [HANDLE_DIAGNOSIS] = {"lastlayer.diagnosis", release_diagnosis},
};

static void destroy(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    for (int k = 0; k < HANDLE_COUNT; k++)
        if (name == kinds[k].name) {
            PyObject *owner = PyCapsule_GetContext(capsule);
            kinds[k].release(PyCapsule_GetPointer(capsule, name));
            Py_XDECREF(owner);
            return;
        }
}

PyObject *handle_new(handle_kind k, void *object, PyObject *owner) {
    PyObject *capsule = PyCapsule_New(object, kinds[k].name, destroy);
    if (!capsule) {
        kinds[k].release(object);
        return NULL;
    }
    if (owner) {
        Py_INCREF(owner);
        PyCapsule_SetContext(capsule, owner);
    }
    return capsule;
}

PyObject *handle_made(int status, handle_kind k, void *object, PyObject *owner) {
    if (status == 0)
        return handle_new(k, object, owner);
    if (object)
        kinds[k].release(object);
    return NULL;
}

void *handle_get(PyObject *capsule, handle_kind k) {
    if (PyCapsule_IsValid(capsule, kinds[k].name))
        return PyCapsule_GetPointer(capsule, kinds[k].name);
    PyErr_Format(PyExc_TypeError, "expected a capsule %s, found %R", kinds[k].name, capsule);
    return NULL;
}

bool handle_get_optional(void **out, PyObject *capsule, handle_kind k) {
    *out = capsule == Py_None ? NULL : handle_get(capsule, k);
    return *out || capsule == Py_None;
}

PyObject *memory_of(const ll_array *array) {
    static const char *const types[] = {
        [LL_DTYPE_BOOL] = "|b1",  [LL_DTYPE_I8] = "|i1",  [LL_DTYPE_U8] = "|u1",  [LL_DTYPE_I16] = "<i2", [LL_DTYPE_U16] = "<u2",
        [LL_DTYPE_I32] = "<i4",   [LL_DTYPE_U32] = "<u4", [LL_DTYPE_I64] = "<i8", [LL_DTYPE_U64] = "<u8", [LL_DTYPE_F16] = "<f2",
        [LL_DTYPE_BF16] = "bf16", [LL_DTYPE_F32] = "<f4", [LL_DTYPE_F64] = "<f8",
    };
    if (array->rank < 0 || !array->data)
        Py_RETURN_NONE;
    PyObject *shape = PyTuple_New(array->rank), *strides = PyTuple_New(array->rank);
    for (int i = 0; shape && strides && i < array->rank; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(array->shape[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(array->strides[i]));
    }
    return Py_BuildValue("(nsNN)", (Py_ssize_t)array->data, types[array->dtype], shape, strides);
}

PyObject *text_take(char *text) {
    PyObject *taken = PyUnicode_FromString(text);
    ll_text_free(text);
    return taken;
}
