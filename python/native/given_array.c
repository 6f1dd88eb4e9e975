/* SPDX-License-Identifier: MIT */
/* Arrays of callers, in place: the buffer protocol (numpy, memoryview, array) and __array_interface__. DLPack and Arrow have files of their
 * own. */
#include <stdlib.h>
#include <string.h>

#include "native.h"

void given_array_free(void *array) {
    given_array *a = array;
    if (a->release)
        a->release(a->resource);
    Py_XDECREF(a->owner);
    free(a);
}

/* The type by kind ('i', 'u', 'f', 'b') and bytes; -1 if there is none. */
static int find_type(char kind, Py_ssize_t size) {
    static const struct {
        char kind;
        ll_dtype dtype;
    } types[] = {
        {'b', LL_DTYPE_BOOL}, {'i', LL_DTYPE_I8},  {'u', LL_DTYPE_U8},  {'i', LL_DTYPE_I16}, {'u', LL_DTYPE_U16}, {'i', LL_DTYPE_I32},
        {'u', LL_DTYPE_U32},  {'i', LL_DTYPE_I64}, {'u', LL_DTYPE_U64}, {'f', LL_DTYPE_F16}, {'f', LL_DTYPE_F32}, {'f', LL_DTYPE_F64},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == kind && (Py_ssize_t)ll_dtype_size(types[i].dtype) == size)
            return (int)types[i].dtype;
    return -1;
}

static int shape_view(given_array *out, const void *data, int dtype, int rank, const int64_t *shape, const int64_t *strides) {
    static const double nothing[1]; /* an array without elements may have no address; the library says what it lacks */
    if (rank > LL_ARRAY_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "the array has %d axes; expected at most %d", rank, LL_ARRAY_RANK_MAX);
        return -1;
    }
    out->view = strides ? ll_array_strided(data ? data : nothing, (ll_dtype)dtype, rank, shape, strides)
                        : ll_array_view(data ? data : nothing, (ll_dtype)dtype, rank, shape);
    return 1;
}

static void release_buffer(void *resource) {
    PyBuffer_Release(resource);
    free(resource);
}

/* The kind of a format of the struct module, 0 for text, records, complex numbers and foreign byte order. */
static char buffer_kind(const char *format) {
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (!*format || format[1])
        return 0;
    return strchr("bhilqn", *format) ? 'i' : strchr("BHILQN", *format) ? 'u' : strchr("efd", *format) ? 'f' : *format == '?' ? 'b' : 0;
}

int given_buffer_take(given_array *out, PyObject *object) {
    if (!PyObject_CheckBuffer(object))
        return 0;
    Py_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(object, buffer, PyBUF_RECORDS_RO) != 0) {
        free(buffer);
        return -1;
    }
    out->how = "buffer";
    out->release = release_buffer;
    out->resource = buffer;
    int dtype = find_type(buffer_kind(buffer->format ? buffer->format : "B"), buffer->itemsize);
    if (dtype < 0) {
        PyErr_Format(PyExc_TypeError, "the elements have the format '%s'; expected numbers in the machine's byte order, of 8 to 64 bits",
                     buffer->format ? buffer->format : "");
        return -1;
    }
    int64_t shape[LL_ARRAY_RANK_MAX], strides[LL_ARRAY_RANK_MAX];
    for (int i = 0; i < buffer->ndim && i < LL_ARRAY_RANK_MAX; i++) {
        shape[i] = buffer->shape[i];
        strides[i] = buffer->strides[i];
    }
    return shape_view(out, buffer->buf, dtype, buffer->ndim, shape, strides);
}

/* A tuple of whole numbers into `out`; their count, or -1. */
static int take_numbers(int64_t out[LL_ARRAY_RANK_MAX], PyObject *tuple) {
    Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (count < 0)
        PyErr_SetString(PyExc_TypeError, "__array_interface__ has a shape or strides that is no tuple");
    for (Py_ssize_t i = 0; i < count && i < LL_ARRAY_RANK_MAX; i++)
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    return PyErr_Occurred() ? -1 : (int)count;
}

static int interface_parts(given_array *out, PyObject *dict) {
    PyObject *type = PyDict_GetItemString(dict, "typestr"), *data = PyDict_GetItemString(dict, "data");
    PyObject *shape = PyDict_GetItemString(dict, "shape"), *strides = PyDict_GetItemString(dict, "strides");
    const char *word = type && PyUnicode_Check(type) ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (!word || !shape || !data || !PyTuple_Check(data) || PyTuple_Size(data) != 2) {
        PyErr_SetString(PyExc_TypeError, "__array_interface__ lacks typestr, shape, or data as (address, read-only)");
        return -1;
    }
    bool plain = strlen(word) == 3 && word[2] >= '1' && word[2] <= '9' && (word[0] == '<' || word[0] == '|' || word[0] == '=');
    int dtype = plain ? find_type(word[1], word[2] - '0') : -1;
    if (dtype < 0) {
        PyErr_Format(PyExc_TypeError, "the elements have the type '%s'; expected numbers in the machine's byte order, of 8 to 64 bits",
                     word);
        return -1;
    }
    int64_t sizes[LL_ARRAY_RANK_MAX], steps[LL_ARRAY_RANK_MAX];
    bool strided = strides && strides != Py_None;
    int rank = take_numbers(sizes, shape), others = strided ? take_numbers(steps, strides) : rank;
    void *address = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
    if (rank < 0 || others < 0 || PyErr_Occurred())
        return -1;
    if (others != rank) {
        PyErr_SetString(PyExc_TypeError, "__array_interface__ has a shape and strides of different lengths");
        return -1;
    }
    return shape_view(out, address, dtype, rank, sizes, strided ? steps : NULL);
}

int given_interface_take(given_array *out, PyObject *object) {
    PyObject *dict = PyObject_GetAttrString(object, "__array_interface__");
    if (!dict) {
        PyErr_Clear();
        return 0;
    }
    out->how = "array_interface";
    out->owner = object;
    Py_INCREF(object);
    int taken = PyDict_Check(dict) ? interface_parts(out, dict) : -1;
    if (!PyDict_Check(dict))
        PyErr_SetString(PyExc_TypeError, "__array_interface__ is no dict");
    Py_DECREF(dict);
    return taken;
}
