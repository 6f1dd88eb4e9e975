/* SPDX-License-Identifier: MIT */
/* Results as text, and the page. */
#include "native.h"

typedef struct text_call {
    char *out;
    PyObject *capsule;
    handle_kind kind;
    void *object;
    const ll_sets *sets; /* of a rule */
    int form;
} text_call;

static ll_status run_text(ll_context *ctx, void *arguments) {
    text_call *c = arguments;
    ll_text_form form = (ll_text_form)c->form;
    switch (c->kind) {
    case HANDLE_EVALUATION: return ll_evaluation_text(&c->out, ctx, c->object, form);
    case HANDLE_CALIBRATION: return ll_calibration_text(&c->out, ctx, c->object, form);
    case HANDLE_CERTIFICATE: return ll_certificate_text(&c->out, ctx, c->object, form);
    case HANDLE_COMPARISON: return ll_comparison_text(&c->out, ctx, c->object, form);
    case HANDLE_CONTRAST: return ll_contrast_text(&c->out, ctx, c->object, form);
    case HANDLE_DIAGNOSIS: return ll_diagnosis_text(&c->out, ctx, c->object, form);
    default: return ll_sets_text(&c->out, ctx, c->object, c->sets, form);
    }
}

/* text(object, form, sets): of an evaluation, calibration, certificate, comparison, contrast or diagnosis; of a rule with its sets. The
 * form is a number: 0 plain, 1 JSON, 2 CSV, 3 Markdown. */
static PyObject *text(PyObject *module, PyObject *args) {
    (void)module;
    static const handle_kind kinds[] = {HANDLE_EVALUATION, HANDLE_CALIBRATION, HANDLE_CERTIFICATE, HANDLE_COMPARISON,
                                        HANDLE_CONTRAST,   HANDLE_DIAGNOSIS,   HANDLE_RULE};
    PyObject *sets;
    text_call c = {0};
    if (!PyArg_ParseTuple(args, "OiO", &c.capsule, &c.form, &sets) || !handle_get_optional((void **)&c.sets, sets, HANDLE_SETS))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !c.object; i++) {
        PyErr_Clear();
        c.kind = kinds[i];
        c.object = handle_get(c.capsule, c.kind);
    }
    return c.object && call_now(run_text, &c) == 0 ? text_take(c.out) : NULL;
}

const char *const *names_take(PyObject *list, int64_t *count) {
    Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : -1;
    const char **names = size >= 0 ? PyMem_Malloc((size_t)(size + 1) * sizeof *names) : NULL;
    if (!names) {
        if (size < 0)
            PyErr_SetString(PyExc_TypeError, "expected a list of names");
        else
            PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++)
        if (!(names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL))) {
            PyMem_Free(names);
            return NULL;
        }
    names[size] = NULL;
    *count = size;
    return names;
}

enum { INPUTS_MAX = 16 };

typedef struct page_call {
    char *out;
    size_t size;
    ll_report_input inputs[INPUTS_MAX];
    int64_t count;
    ll_report_options options;
} page_call;

static ll_status run_report(ll_context *ctx, void *arguments) {
    page_call *c = arguments;
    return ll_report(&c->out, &c->size, ctx, c->inputs, c->count, &c->options);
}

static bool take_inputs(page_call *c, PyObject *list) {
    c->count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (c->count < 1 || c->count > INPUTS_MAX) {
        PyErr_Format(PyExc_ValueError, "expected 1 to %d predictions side by side", INPUTS_MAX);
        return false;
    }
    for (int64_t i = 0; i < c->count; i++) {
        PyObject *predictions;
        ll_report_input *input = &c->inputs[i];
        *input = (ll_report_input){.struct_size = sizeof *input};
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "zO", &input->name, &predictions) ||
            !(input->predictions = handle_get(predictions, HANDLE_PREDICTIONS)))
            return false;
    }
    return true;
}

/* report([(name or None, predictions)], options, class names or None, images or None, how): the page */
static PyObject *report(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *inputs, *options, *names, *images, *how, *page = NULL;
    given_array *pixels;
    page_call c = {.options = ll_report_options_default()};
    size_t count;
    const ll_option *table = ll_report_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOOOO", &inputs, &options, &names, &images, &how) || !take_inputs(&c, inputs) ||
        keywords_fill(options, table, count, &c.options) != 0 || !handle_get_optional((void **)&pixels, images, HANDLE_ARRAY))
        return NULL;
    c.options.image_array = pixels ? &pixels->view : NULL;
    if (names != Py_None && !(c.options.class_list = names_take(names, &c.options.class_count)))
        return NULL;
    if (call_run(how, run_report, &c) == 0)
        page = PyUnicode_FromStringAndSize(c.out, (Py_ssize_t)c.size);
    ll_text_free(c.out);
    PyMem_Free((void *)c.options.class_list);
    return page;
}

PyMethodDef text_functions[] = {
    {"text", text, METH_VARARGS, NULL},
    {"report", report, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
