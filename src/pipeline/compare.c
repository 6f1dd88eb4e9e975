/* SPDX-License-Identifier: MIT */
/* All methods side by side on one split: every independent piece of every method is one task of one parallel run. */
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "methods/method.h"
#include "metrics/evaluate.h"
#include "pipeline/doubt.h"
#include "pipeline/fit.h"
#include "pipeline/network.h"
#include "predict/predictions.h"
#include "report/compare.h"

enum { METHODS_MAX = 8 };

struct ll_comparison {
    double risk;
    int64_t count;
    ll_compare_row rows[METHODS_MAX];
    ll_evaluation evaluations[METHODS_MAX];
};

void ll_compare_options_init(ll_compare_options *options, size_t struct_size) {
    const ll_compare_options defaults = {.risk = 0.01};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

typedef struct entry {
    ll_fit_options options;
    ll_ensemble *ensemble;
    lli_store_memory store;
    lli_fit fit;
    int64_t tasks;
    double *seconds;     /* [tasks] */
    ll_status *outcomes; /* [tasks] */
} entry;

typedef struct work {
    entry entries[METHODS_MAX];
    size_t count;
    int64_t tasks;
    int64_t *order;  /* [tasks] entry of each task */
    int64_t *number; /* [tasks] its number there */
} work;

static ll_status entry_init(ll_context *ctx, entry *e, const lli_start *start, const ll_dataset *train, const ll_fit_options *given,
                            const char *method, lli_meter *meter) {
    ll_fit_options options = *given;
    options.method = method;
    LLI_TRY(lli_fit_resolve(ctx, &e->options, &options, train, start->origin.network != NULL));
    lli_ensemble_plan plan = {0};
    LLI_TRY(lli_fit_plan(ctx, &plan, &e->options, train, &start->origin));
    LLI_TRY(lli_ensemble_new(&e->ensemble, ctx, &plan));
    lli_store_memory_init(&e->store, e->ensemble);
    LLI_TRY(lli_fit_init(ctx, &e->fit, &e->options, &start->origin, train, &e->store.store, meter));
    e->tasks = e->fit.method->tasks(&e->options);
    LLI_TRY(lli_memory_new(ctx, &e->seconds, e->tasks, sizeof *e->seconds));
    return lli_memory_new(ctx, &e->outcomes, e->tasks, sizeof *e->outcomes);
}

static void entry_release(entry *e) {
    lli_fit_release(&e->fit);
    ll_ensemble_free(e->ensemble);
    lli_memory_free(e->seconds);
    lli_memory_free(e->outcomes);
}

/* Long single chains first, so that the many short tasks fill the gaps at the end. */
static ll_status order_tasks(ll_context *ctx, work *c) {
    for (size_t i = 0; i < c->count; i++)
        c->tasks += c->entries[i].tasks;
    LLI_TRY(lli_memory_new(ctx, &c->order, c->tasks, sizeof *c->order));
    LLI_TRY(lli_memory_new(ctx, &c->number, c->tasks, sizeof *c->number));
    int64_t at = 0;
    for (int several = 0; several < 2; several++)
        for (size_t i = 0; i < c->count; i++)
            for (int64_t t = 0; (c->entries[i].tasks > 1) == several && t < c->entries[i].tasks; t++) {
                c->order[at] = (int64_t)i;
                c->number[at++] = t;
            }
    return LL_OK;
}

static ll_status run_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    work *c = arg;
    entry *e = &c->entries[c->order[task]];
    int64_t number = c->number[task];
    double begin = lli_clock_seconds();
    ll_status status = lli_fit_task(ctx, &e->fit, number, worker);
    e->seconds[number] = lli_clock_seconds() - begin;
    e->outcomes[number] = status;
    return status == LL_ERR_DIVERGED ? LL_OK : status; /* a finding, not a failure: the others go on */
}

static ll_status predict(ll_context *ctx, ll_predictions **out, const entry *e, const ll_dataset *data) {
    const lli_predict_request request = {.probs = true, .fitted = strcmp(e->options.method, "point") != 0};
    lli_predict_totals totals = {0};
    return lli_predictions_collect(out, ctx, e->ensemble, data, &request, &totals);
}

static ll_status judge(ll_context *ctx, ll_compare_row *row, ll_evaluation *evaluation, const entry *e, const ll_dataset *test,
                       const ll_dataset *out, double risk) {
    ll_predictions *p = NULL, *outside = NULL;
    ll_status status;
    double begin = lli_clock_seconds();
    LLI_DO(predict(ctx, &p, e, test));
    row->seconds_predict = lli_clock_seconds() - begin;
    if (out)
        LLI_DO(predict(ctx, &outside, e, out));
    LLI_DO(lli_evaluate(evaluation, ctx, &p->view, outside ? &outside->view : NULL, NULL, NULL));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (p->view.confidence[c])
            LLI_DO(ll_threshold_at_risk(&row->threshold[c], ctx, &p->view, (ll_confidence)c, risk));
done:
    ll_predictions_free(p);
    ll_predictions_free(outside);
    return status;
}

/* FOLDER/METHOD.npz, as lastlayer predict writes it. */
static ll_status write_predictions(ll_context *ctx, const entry *e, const ll_dataset *test, const ll_compare_options *o) {
    lli_text path;
    ll_predict_options options = ll_predict_options_default();
    options.members = o->members;
    options.out = o->out;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s.npz", o->predictions, e->fit.method->info.name);
    LLI_DO(path.status);
    LLI_DO(ll_predict_write(ctx, path.data, e->ensemble, test, &options));
done:
    lli_text_release(&path);
    return status;
}

static ll_status check(ll_context *ctx, const ll_dataset *train, const ll_dataset *test, const ll_compare_options *o) {
    if (!(o->risk >= 0 && o->risk <= 1))
        return lli_fail(ctx, LL_ERR_USAGE, "--risk is %g; expected a number in [0,1]", o->risk);
    if (!test->labels)
        return lli_fail(ctx, LL_ERR_DATA, "the test rows have no labels to compare with");
    if (test->rows.D != train->rows.D)
        return lli_fail(ctx, LL_ERR_DATA, "the test features have %lld columns and the training features %lld", (long long)test->rows.D,
                        (long long)train->rows.D);
    if (o->out && o->out->rows.D != train->rows.D)
        return lli_fail(ctx, LL_ERR_DATA, "the out-of-distribution features have %lld columns and the training features %lld",
                        (long long)o->out->rows.D, (long long)train->rows.D);
    return LL_OK;
}

/* An entry for each method that starts at theta*, and the order of their tasks. */
static ll_status work_init(ll_context *ctx, work *c, const lli_start *start, const ll_dataset *train,
                                 const ll_fit_options *options, lli_meter *meter) {
    int64_t steps = 0;
    for (size_t i = 0; i < ll_method_count(); i++) {
        const char *name = ll_method_get(i)->name;
        if (lli_method_find(name)->networks_only)
            continue;
        entry *e = &c->entries[c->count++];
        LLI_TRY(entry_init(ctx, e, start, train, options, name, meter));
        steps += e->fit.method->steps(&e->fit);
    }
    lli_meter_init(meter, "fitting", steps);
    return order_tasks(ctx, c);
}

static void work_release(work *c) {
    for (size_t i = 0; i < LLI_COUNT(c->entries); i++)
        entry_release(&c->entries[i]);
    lli_memory_free(c->order);
    lli_memory_free(c->number);
}

/* What a method's tasks came to. */
static ll_status report(ll_context *ctx, ll_comparison *out, const entry *e, const ll_dataset *test, const ll_compare_options *options) {
    ll_compare_row *row = &out->rows[out->count];
    ll_evaluation *evaluation = &out->evaluations[out->count++];
    *row = (ll_compare_row){.method = e->fit.method->info.name, .samples = e->options.samples, .evaluation = evaluation};
    for (int64_t t = 0; t < e->tasks; t++) {
        row->seconds_fit += e->seconds[t];
        row->diverged = row->diverged || e->outcomes[t] == LL_ERR_DIVERGED;
    }
    if (row->diverged)
        return LL_OK;
    ll_status status = judge(ctx, row, evaluation, e, test, options->out, options->risk);
    row->diverged = status == LL_ERR_DIVERGED;
    if (row->diverged || status != LL_OK)
        return row->diverged ? LL_OK : status;
    return options->predictions ? write_predictions(ctx, e, test, options) : LL_OK;
}

static ll_status compare(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test, const ll_head *head,
                         const ll_network *network, const ll_compare_options *options) {
    LLI_TRY(check(ctx, train, test, options));
    lli_start start = {0};
    lli_meter meter;
    ll_comparison *made = NULL;
    work *c;
    LLI_TRY(lli_memory_new(ctx, &c, 1, sizeof *c));
    ll_status status;
    ll_fit_options each = ll_fit_options_default();
    LLI_DO(lli_abi_take(ctx, "ll_fit_options", &each, sizeof each, options->fit, 0));
    ll_fit_options shared = each;
    shared.method = "sgd";
    LLI_DO(lli_fit_resolve(ctx, &shared, &shared, train, network || each.layers > 1));
    LLI_DO(lli_start_init(ctx, &start, train, head, network, &shared));
    if (test->K > start.origin.model->K)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "the largest test label is %lld, but there are %lld classes", (long long)test->K - 1,
                        (long long)start.origin.model->K));
    each.lr = shared.lr; /* chosen, and told, once */
    LLI_DO(lli_memory_new(ctx, &made, 1, sizeof *made));
    made->risk = options->risk;
    LLI_DO(work_init(ctx, c, &start, train, &each, &meter));
    LLI_DO(lli_pool_run(ctx, run_task, c, c->tasks));
    for (size_t i = 0; i < c->count; i++)
        LLI_DO(report(ctx, made, &c->entries[i], test, options));
    for (size_t i = 0; i < c->count; i++)
        if (!made->rows[i].diverged)
            lli_fit_doubt(ctx, c->entries[i].ensemble, &start, &c->entries[i].options, train);
    *out = made;
    made = NULL;
done:
    ll_comparison_free(made);
    work_release(c);
    lli_memory_free(c);
    lli_start_release(&start);
    return status;
}

ll_status ll_compare(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test, const ll_head *head,
                     const ll_compare_options *options) {
    LLI_NEED(ctx, out, train, test);
    *out = NULL;
    ll_compare_options o = ll_compare_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_compare_options", &o, sizeof o, options, 0));
    return compare(out, ctx, train, test, head, NULL, &o);
}

ll_status ll_compare_network(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test,
                             const ll_network *network, const ll_compare_options *options) {
    LLI_NEED(ctx, out, train, test, network);
    *out = NULL;
    ll_compare_options o = ll_compare_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_compare_options", &o, sizeof o, options, 0));
    ll_dataset *kept;
    ll_status status = lli_network_split(&kept, NULL, ctx, train, network);
    if (status == LL_OK)
        status = compare(out, ctx, kept ? kept : train, test, NULL, network, &o);
    ll_dataset_free(kept);
    return status;
}

void ll_comparison_free(ll_comparison *comparison) {
    lli_memory_free(comparison);
}

int64_t ll_comparison_count(const ll_comparison *comparison) {
    return comparison ? comparison->count : 0;
}

const ll_compare_row *ll_comparison_row(const ll_comparison *comparison, int64_t i) {
    return comparison && i >= 0 && i < comparison->count ? &comparison->rows[i] : NULL;
}

ll_status ll_comparison_text(char **out, ll_context *ctx, const ll_comparison *comparison, ll_text_form form) {
    LLI_NEED(ctx, out, comparison);
    LLI_TRY(lli_need_form(ctx, form));
    return lli_compare_text(out, ctx, comparison->rows, comparison->count, comparison->risk, form);
}
