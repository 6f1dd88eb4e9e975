/* SPDX-License-Identifier: MIT */
/* Tensors by DLPack, in place: PyTorch, JAX, CuPy and others. Both versions of the protocol; the structs are those of dlpack.h. */
#include <string.h>

#include "native.h"

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides in elements, NULL = dense */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

enum { DL_CPU = 1, DL_CUDA_HOST = 3, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

static void release_managed(void *resource) {
    dl_managed *managed = resource;
    if (managed->deleter)
        managed->deleter(managed);
}

static void release_versioned(void *resource) {
    dl_versioned *managed = resource;
    if (managed->deleter)
        managed->deleter(managed);
}

static int find_type(const dl_tensor *t) {
    static const struct {
        uint8_t code, bits;
        ll_dtype dtype;
    } types[] = {
        {DL_BOOL, 8, LL_DTYPE_BOOL},    {DL_INT, 8, LL_DTYPE_I8},     {DL_UINT, 8, LL_DTYPE_U8},    {DL_INT, 16, LL_DTYPE_I16},
        {DL_UINT, 16, LL_DTYPE_U16},    {DL_INT, 32, LL_DTYPE_I32},   {DL_UINT, 32, LL_DTYPE_U32},  {DL_INT, 64, LL_DTYPE_I64},
        {DL_UINT, 64, LL_DTYPE_U64},    {DL_FLOAT, 16, LL_DTYPE_F16}, {DL_FLOAT, 32, LL_DTYPE_F32}, {DL_FLOAT, 64, LL_DTYPE_F64},
        {DL_BFLOAT, 16, LL_DTYPE_BF16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (t->dtype.lanes == 1 && types[i].code == t->dtype.code && types[i].bits == t->dtype.bits)
            return (int)types[i].dtype;
    return -1;
}

static int view_tensor(given_array *out, const dl_tensor *t) {
    static const double nothing[1];
    int dtype = find_type(t);
    if (t->device.type != DL_CPU && t->device.type != DL_CUDA_HOST) {
        PyErr_SetString(PyExc_ValueError, "the tensor is not in the processor's memory; move it there first, as with .cpu()");
        return -1;
    }
    if (dtype < 0 || t->rank > LL_ARRAY_RANK_MAX) {
        PyErr_Format(PyExc_TypeError,
                     "the tensor has elements of DLPack type %d with %d bits on %d axes; expected real numbers on at most %d",
                     t->dtype.code, t->dtype.bits, (int)t->rank, LL_ARRAY_RANK_MAX);
        return -1;
    }
    const char *data = t->data ? (const char *)t->data + t->byte_offset : (const char *)nothing;
    int64_t strides[LL_ARRAY_RANK_MAX];
    for (int i = 0; t->strides && i < t->rank; i++)
        strides[i] = t->strides[i] * (int64_t)ll_dtype_size((ll_dtype)dtype);
    out->view = t->strides ? ll_array_strided(data, (ll_dtype)dtype, t->rank, t->shape, strides)
                           : ll_array_view(data, (ll_dtype)dtype, t->rank, t->shape);
    return 1;
}

/* __dlpack__(max_version=(1, 0)), and without arguments where the object does not know them. */
static PyObject *ask(PyObject *method) {
    PyObject *none = PyTuple_New(0), *named = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
    PyObject *capsule = none && named ? PyObject_Call(method, none, named) : NULL;
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(none);
    Py_XDECREF(named);
    return capsule;
}

static int take_capsule(given_array *out, PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (managed->version.major != 1) {
            PyErr_Format(PyExc_BufferError, "the tensor comes by DLPack %u; expected version 1", managed->version.major);
            return -1;
        }
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        out->release = release_versioned;
        out->resource = managed;
        return view_tensor(out, &managed->tensor);
    }
    dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (!managed)
        return -1;
    PyCapsule_SetName(capsule, "used_dltensor");
    out->release = release_managed;
    out->resource = managed;
    return view_tensor(out, &managed->tensor);
}

int given_dlpack_take(given_array *out, PyObject *object) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (!method) {
        PyErr_Clear();
        return 0;
    }
    out->how = "dlpack";
    PyObject *capsule = ask(method);
    Py_DECREF(method);
    int taken = capsule ? take_capsule(out, capsule) : -1;
    Py_XDECREF(capsule);
    return taken;
}
