/* SPDX-License-Identifier: MIT */
/* What the files of the extension module share. Functions and capsules only: classes are Python's. */
#ifndef PY_NATIVE_H
#define PY_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdbool.h>

#include "lastlayer.h"

/* ---- capsules ---- */

typedef enum handle_kind {
    HANDLE_ARRAY, /* given_array */
    HANDLE_DATASET,
    HANDLE_HEAD,
    HANDLE_ENSEMBLE,
    HANDLE_PREDICTOR, /* serving */
    HANDLE_PREDICTIONS,
    HANDLE_EVALUATION,
    HANDLE_CURVE,
    HANDLE_CALIBRATION,
    HANDLE_CERTIFICATE,
    HANDLE_RULE,
    HANDLE_SETS,
    HANDLE_COMPARISON,
    HANDLE_CONTRAST,
    HANDLE_DIAGNOSIS,
    HANDLE_COUNT
} handle_kind;

/* Takes over the object, and keeps `owner` (may be NULL) alive as long as it lives. NULL with an exception: then the object is freed. */
PyObject *handle_new(handle_kind kind, void *object, PyObject *owner);
/* The same for what call_run was to make: where it failed, even after the work was done, the object is freed if there is one. */
PyObject *handle_made(int status, handle_kind kind, void *object, PyObject *owner);
/* NULL with a TypeError, where the capsule is none of this kind. */
void *handle_get(PyObject *capsule, handle_kind kind);
/* The same, where None stands for nothing: *out is NULL then. false: an exception. */
bool handle_get_optional(void **out, PyObject *capsule, handle_kind kind);

/* ---- arrays of callers ---- */

typedef struct given_array {
    ll_array view;
    const char *how;                 /* "buffer", "dlpack", "array_interface", "arrow" */
    void (*release)(void *resource); /* NULL = nothing to give back */
    void *resource;
    PyObject *owner; /* or NULL */
} given_array;

void given_array_free(void *array);
/* Each fills an array of zeros. 1: done; 0: the object does not speak this; -1: it does, and an exception says what is wrong. */
int given_buffer_take(given_array *out, PyObject *object);
int given_interface_take(given_array *out, PyObject *object);
int given_dlpack_take(given_array *out, PyObject *object);
int given_arrow_take(given_array *out, PyObject *object);

/* ---- calls ---- */

/* Every function that computes has as its last argument the tuple (threads, memory, progress, log): the first two as in
 * ll_context_options, the others called as progress(what, done, total) and log(warning, sentence), or None. */
typedef ll_status call_work(ll_context *ctx, void *arguments);
/* work(ctx, arguments) on a thread of its own, without the GIL. This thread looks at signals and hands on progress and sentences. 0, or -1
 * with an exception: that of lastlayer, or the one that ended the call from outside. */
int call_run(PyObject *how, call_work *work, void *arguments);
/* The same at once, on this thread and without signals, for what is over in microseconds. */
int call_now(call_work *work, void *arguments);
/* Raises the exception of lastlayer that belongs to a status. Returns -1. */
int call_raise(ll_status status, const char *sentence);

/* ---- options ---- */

/* Fills the struct, which has its defaults, from a dict: names as Python writes them, batch_size. Texts are borrowed from the dict. -1 with
 * a TypeError for an unknown name or a value of the wrong type. */
int keywords_fill(PyObject *dict, const ll_option *table, size_t count, void *options);
PyObject *keywords_tables(PyObject *module, PyObject *unused); /* {"fit": [option, ...], ...} */

/* (address, typestr, shape, strides) of an array, None where it is not there. */
PyObject *memory_of(const ll_array *array);
PyObject *text_take(char *text); /* frees it */
/* The texts of a list, to free with PyMem_Free; they are borrowed from it. NULL with an exception. */
const char *const *names_take(PyObject *list, int64_t *count);
void serving_free(void *object); /* what HANDLE_PREDICTOR holds */

/* ---- the functions, one list per file ---- */

extern PyMethodDef data_functions[], ensemble_functions[], predict_functions[], metric_functions[], promise_functions[], text_functions[];

#endif
