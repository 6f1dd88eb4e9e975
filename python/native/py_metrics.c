/* SPDX-License-Identifier: MIT */
/* Metrics of predictions: evaluations, cuts, curves, comparisons. */
#include "native.h"

typedef struct metrics_call {
    ll_evaluation *evaluation;
    ll_threshold threshold;
    ll_risk_coverage *curve;
    const ll_predictions *points, *out_points;
    ll_evaluate_options options;
    ll_confidence by;
    double risk, coverage;
} metrics_call;

static const ll_outcome *outcome(const ll_predictions *predictions) {
    return predictions ? ll_predictions_view(predictions) : NULL;
}

static ll_status run_evaluate(ll_context *ctx, void *arguments) {
    metrics_call *c = arguments;
    return ll_evaluate(&c->evaluation, ctx, outcome(c->points), outcome(c->out_points), &c->options);
}

/* evaluate(predictions, out, options, costs, how) */
static PyObject *evaluate(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *points, *out, *options, *costs, *how;
    given_array *matrix;
    metrics_call c = {.options = ll_evaluate_options_default()};
    size_t count;
    const ll_option *table = ll_evaluate_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOOOO", &points, &out, &options, &costs, &how) || keywords_fill(options, table, count, &c.options) != 0 ||
        !(c.points = handle_get(points, HANDLE_PREDICTIONS)) || !handle_get_optional((void **)&c.out_points, out, HANDLE_PREDICTIONS) ||
        !handle_get_optional((void **)&matrix, costs, HANDLE_ARRAY))
        return NULL;
    c.options.costs = matrix ? &matrix->view : NULL;
    int status = call_run(how, run_evaluate, &c);
    return handle_made(status, HANDLE_EVALUATION, c.evaluation, NULL);
}

static ll_status run_threshold(ll_context *ctx, void *arguments) {
    metrics_call *c = arguments;
    return c->risk == c->risk ? ll_threshold_at_risk(&c->threshold, ctx, outcome(c->points), c->by, c->risk)
                              : ll_threshold_at_coverage(&c->threshold, ctx, outcome(c->points), c->by, c->coverage);
}

/* threshold(predictions, by, risk, coverage, how): one of the two is NaN */
static PyObject *threshold(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *points, *how;
    const char *by;
    metrics_call c = {0};
    if (!PyArg_ParseTuple(args, "OsddO", &points, &by, &c.risk, &c.coverage, &how) || !(c.points = handle_get(points, HANDLE_PREDICTIONS)))
        return NULL;
    c.by = ll_confidence_find(by);
    if (call_run(how, run_threshold, &c) != 0)
        return NULL;
    const ll_threshold *t = &c.threshold;
    return Py_BuildValue("{s:N,s:d,s:d,s:d,s:L,s:L,s:L,s:L}", "found", PyBool_FromLong(t->found), "cut", t->cut, "coverage", t->coverage,
                         "risk", t->risk, "accepted", (long long)t->accepted, "accepted_errors", (long long)t->accepted_errors, "n",
                         (long long)t->n, "errors", (long long)t->errors);
}

static ll_status run_curve(ll_context *ctx, void *arguments) {
    metrics_call *c = arguments;
    return ll_risk_coverage_new(&c->curve, ctx, outcome(c->points), c->by);
}

/* curve(predictions, by, how): (capsule, cut, coverage, risk), the arrays as (address, typestr, shape, strides) */
static PyObject *curve(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *points, *how;
    const char *by;
    metrics_call c = {0};
    if (!PyArg_ParseTuple(args, "OsO", &points, &by, &how) || !(c.points = handle_get(points, HANDLE_PREDICTIONS)))
        return NULL;
    c.by = ll_confidence_find(by);
    int status = call_run(how, run_curve, &c);
    if (status != 0)
        return handle_made(status, HANDLE_CURVE, c.curve, NULL);
    const int64_t shape[] = {ll_risk_coverage_count(c.curve)};
    ll_array cut = ll_array_view(ll_risk_coverage_cut(c.curve), LL_DTYPE_F64, 1, shape);
    ll_array coverage = ll_array_view(ll_risk_coverage_coverage(c.curve), LL_DTYPE_F64, 1, shape);
    ll_array risk = ll_array_view(ll_risk_coverage_risk(c.curve), LL_DTYPE_F64, 1, shape);
    PyObject *owner = handle_new(HANDLE_CURVE, c.curve, NULL);
    return owner ? Py_BuildValue("(NNNN)", owner, memory_of(&cut), memory_of(&coverage), memory_of(&risk)) : NULL;
}

typedef struct contrast_call {
    ll_contrast *out;
    const char *const *names;
    const ll_outcome **points, **out_points; /* [count] */
    int64_t count;
    ll_confidence by;
    ll_evaluate_options options;
} contrast_call;

static ll_status run_contrast(ll_context *ctx, void *arguments) {
    contrast_call *c = arguments;
    return ll_contrast_new(&c->out, ctx, c->names, c->points, c->out_points, c->count, c->by, &c->options);
}

static bool take_outcomes(const ll_outcome **out, PyObject *list, int64_t count) {
    if (!PyList_Check(list) || PyList_Size(list) != count) {
        PyErr_SetString(PyExc_TypeError, "expected a list with an entry for each name");
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        ll_predictions *predictions;
        if (!handle_get_optional((void **)&predictions, PyList_GetItem(list, i), HANDLE_PREDICTIONS))
            return false;
        out[i] = outcome(predictions);
    }
    return true;
}

/* contrast(names, [predictions], [out or None], by, options, how) */
static PyObject *contrast(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *names, *points, *outs, *options, *how, *result = NULL;
    const char *by;
    contrast_call c = {.options = ll_evaluate_options_default()};
    size_t count;
    const ll_option *table = ll_evaluate_options_table(&count);
    if (!PyArg_ParseTuple(args, "OOOsOO", &names, &points, &outs, &by, &options, &how) ||
        keywords_fill(options, table, count, &c.options) != 0 || !(c.names = names_take(names, &c.count)))
        return NULL;
    c.by = ll_confidence_find(by);
    c.points = PyMem_Malloc((size_t)(2 * c.count) * sizeof *c.points);
    c.out_points = c.points ? c.points + c.count : NULL;
    if (!c.points)
        PyErr_NoMemory();
    else if (take_outcomes(c.points, points, c.count) && take_outcomes(c.out_points, outs, c.count)) {
        int status = call_run(how, run_contrast, &c);
        result = handle_made(status, HANDLE_CONTRAST, c.out, NULL);
    }
    PyMem_Free(c.points);
    PyMem_Free((void *)c.names);
    return result;
}

typedef struct compare_call {
    ll_comparison *out;
    const ll_dataset *train, *test;
    const ll_head *head;
    ll_compare_options options;
    ll_fit_options fit;
} compare_call;

static ll_status run_compare(ll_context *ctx, void *arguments) {
    compare_call *c = arguments;
    c->options.fit = &c->fit;
    return ll_compare(&c->out, ctx, c->train, c->test, c->head, &c->options);
}

/* compare(train, test, head, out, choose, options, fit, how) */
static PyObject *compare(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *train, *test, *head, *out, *choose, *options, *fit, *how;
    compare_call c = {.options = ll_compare_options_default(), .fit = ll_fit_options_default()};
    size_t count, fit_count;
    const ll_option *table = ll_compare_options_table(&count), *fit_table = ll_fit_options_table(&fit_count);
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &train, &test, &head, &out, &choose, &options, &fit, &how) ||
        keywords_fill(options, table, count, &c.options) != 0 || keywords_fill(fit, fit_table, fit_count, &c.fit) != 0 ||
        !(c.train = handle_get(train, HANDLE_DATASET)) || !(c.test = handle_get(test, HANDLE_DATASET)) ||
        !handle_get_optional((void **)&c.head, head, HANDLE_HEAD) || !handle_get_optional((void **)&c.options.out, out, HANDLE_DATASET) ||
        !handle_get_optional((void **)&c.options.choose, choose, HANDLE_DATASET))
        return NULL;
    int status = call_run(how, run_compare, &c);
    return handle_made(status, HANDLE_COMPARISON, c.out, NULL);
}

PyMethodDef metric_functions[] = {
    {"evaluate", evaluate, METH_VARARGS, NULL}, {"threshold", threshold, METH_VARARGS, NULL}, {"curve", curve, METH_VARARGS, NULL},
    {"contrast", contrast, METH_VARARGS, NULL}, {"compare", compare, METH_VARARGS, NULL},     {NULL, NULL, 0, NULL},
};
