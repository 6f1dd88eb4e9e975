/* SPDX-License-Identifier: MIT */
/* All methods side by side on one split: every independent piece of every method is one task of one parallel run. */
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/pool.h"
#include "base/text.h"
#include "data/dataset_select.h"
#include "methods/method.h"
#include "pipeline/fit_warnings.h"
#include "search/judge.h"
#include "search/lineup.h"
#include "search/nearness.h"
#include "pipeline/found_theta.h"
#include "interop/trained.h"

typedef struct entry {
    lli_lineup_row row;
    ll_fit_options options;
    ll_ensemble *ensemble;
    lli_store_memory store;
    lli_fit fit;
    int64_t tasks, first_row;
    double prepared;     /* seconds, before the tasks */
    double *seconds;     /* [tasks] */
    ll_status *outcomes; /* [tasks] */
} entry;

typedef struct work {
    entry *entries; /* [methods] */
    size_t count;
    int64_t tasks;
    int64_t *order;  /* [tasks] entry of each task */
    int64_t *number; /* [tasks] its number there */
} work;

static ll_status entry_init(ll_context *ctx, entry *e, const lli_found_theta *found, const ll_dataset *train, const ll_fit_options *given,
                            lli_meter *meter) {
    const lli_method *method = e->row.method;
    ll_fit_options options = *given;
    options.method = method->info.name;
    options.prior_precision = lli_found_theta_prior(found, method->info.name);
    if (e->row.variant)
        lli_method_variant_set(e->row.variant, &options);
    if (!lli_method_reads(method, LLI_READS(chains)))
        options.chains = 1;
    bool network = found->star.network != NULL;
    if (options.lr == 0 && !method->lr_factor && !lli_fit_preconditions(&options))
        options.lr = lli_fit_lr(&options, train, network); /* so that the note comes once */
    LLI_TRY(lli_fit_resolve(ctx, &e->options, &options, train, network));
    lli_ensemble_plan plan = {0};
    double begin = lli_clock_seconds(); /* the plan of a Gaussian has its eigenvectors */
    LLI_TRY(lli_fit_plan(ctx, &plan, &e->options, train, &found->star));
    LLI_TRY(lli_ensemble_new(&e->ensemble, ctx, &plan));
    lli_store_memory_init(&e->store, e->ensemble);
    LLI_TRY(lli_fit_init(ctx, &e->fit, method, &e->options, &found->star, train, &e->store.store, meter));
    e->prepared = lli_clock_seconds() - begin;
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

static ll_status check_rows(ll_context *ctx, const ll_dataset *train, const ll_dataset *rows, const char *what) {
    if (rows->rows.D != train->rows.D)
        return lli_fail(ctx, LL_ERR_DATA, "the %s features have %lld columns and the training features %lld", what, (long long)rows->rows.D,
                        (long long)train->rows.D);
    return LL_OK;
}

static ll_status check(ll_context *ctx, const ll_dataset *train, const ll_dataset *test, const ll_compare_options *o) {
    if (!test->labels)
        return lli_fail(ctx, LL_ERR_DATA, "the test rows have no labels to compare with");
    if (o->choose && !o->choose->labels)
        return lli_fail(ctx, LL_ERR_DATA, "the rows that choose have no labels");
    LLI_TRY(check_rows(ctx, train, test, "test"));
    if (o->choose)
        LLI_TRY(check_rows(ctx, train, o->choose, "validation"));
    return o->out ? check_rows(ctx, train, o->out, "out-of-distribution") : LL_OK;
}

#define SCORES "rmds++" /* shown where there are rows unlike those of training, unless others are named */

/* An entry for each row, and the order of their tasks. */
static ll_status work_init(ll_context *ctx, work *c, const lli_lineup *lineup, const lli_found_theta *found, const ll_dataset *train,
                           const ll_fit_options *options, lli_meter *meter) {
    int64_t steps = 0;
    bool at_map = !isnan(found->star.gradient_norm);
    LLI_TRY(lli_memory_new(ctx, &c->entries, lineup->count, sizeof *c->entries));
    for (int64_t i = 0; i < lineup->count; i++) {
        const lli_lineup_row *row = &lineup->rows[i];
        if (row->method->needs & LLI_NEEDS_OTHER_START && at_map && !row->named)
            continue;
        ll_fit_options own = *options;
        if (c->count > 0)
            own.scores = NULL; /* those of the first are those of all */
        entry *e = &c->entries[c->count++];
        e->row = *row;
        LLI_TRY(entry_init(ctx, e, found, train, &own, meter));
        steps += e->fit.method->steps(&e->fit);
    }
    lli_meter_init(meter, "fitting", steps);
    return order_tasks(ctx, c);
}

static void work_release(work *c) {
    for (size_t i = 0; i < c->count; i++)
        entry_release(&c->entries[i]);
    lli_memory_free(c->entries);
    lli_memory_free(c->order);
    lli_memory_free(c->number);
}

/* What a method's tasks came to: a row, and another one with a temperature where that is wanted. */
static ll_status report(ll_context *ctx, lli_judge *j, entry *e) {
    const lli_method *method = e->fit.method;
    ll_compare_row row = {.method = method->info.name,
                          .name = lli_lineup_name(&e->row),
                          .group = method->info.group,
                          .samples = e->options.samples,
                          .seconds_fit = e->prepared};
    int simplicity = e->row.variant ? e->row.variant->simplicity : method->simplicity;
    bool fitted = lli_method_trains(method), all = strcmp(j->options.temperature, "all") == 0;
    for (int64_t t = 0; t < e->tasks; t++) {
        row.seconds_fit += e->seconds[t];
        row.diverged = row.diverged || e->outcomes[t] == LL_ERR_DIVERGED;
    }
    e->first_row = j->out->count;
    LLI_TRY(lli_judge_add(ctx, j, &row, e->ensemble, fitted, simplicity, false));
    bool wanted = all || (e->first_row == 0 && strcmp(j->options.temperature, "none") != 0);
    if (!wanted || j->choosing < 2 || j->out->rows[e->first_row].diverged)
        return LL_OK;
    return lli_judge_add(ctx, j, &row, e->ensemble, fitted, simplicity, true);
}

static ll_status check_classes(ll_context *ctx, const ll_dataset *rows, const char *what, int64_t K) {
    return rows->K <= K ? LL_OK
                        : lli_fail(ctx, LL_ERR_DATA, "the largest %s label is %lld, but there are %lld classes", what,
                                   (long long)rows->K - 1, (long long)K);
}

/* From ensembles to a table. */
static ll_status judge_all(ll_context *ctx, lli_judge *j, work *c) {
    for (size_t i = 0; i < c->count; i++)
        LLI_TRY(report(ctx, j, &c->entries[i]));
    LLI_TRY(lli_comparison_finish(j->out, ctx, j->candidates, j->candidate_count, j->options.risk, j->seed));
    for (size_t i = 0; i < c->count && j->options.predictions; i++) {
        int64_t end = i + 1 < c->count ? c->entries[i + 1].first_row : j->out->count;
        for (int64_t row = c->entries[i].first_row; row < end; row++)
            if (!j->out->rows[row].diverged)
                LLI_TRY(lli_judge_write(ctx, j, row, c->entries[i].ensemble));
        LLI_TRY(ll_ensemble_set_calibration(ctx, c->entries[i].ensemble, NULL));
    }
    return LL_OK;
}

/* Before theta* is looked for. */
static ll_status check_methods(ll_context *ctx, const lli_lineup *lineup, const ll_fit_options *each, const ll_dataset *train) {
    for (int64_t i = 0; i < lineup->count; i++) {
        const lli_lineup_row *row = &lineup->rows[i];
        ll_fit_options options = *each;
        options.method = row->method->info.name;
        if (row->variant)
            lli_method_variant_set(row->variant, &options);
        if (row->method->check)
            LLI_TRY(row->method->check(ctx, &options, train->K, train->rows.D));
    }
    return LL_OK;
}

static void warn(ll_context *ctx, entry *e, const lli_found_theta *found, const ll_dataset *train) {
    if (e->fit.method->tell)
        e->fit.method->tell(ctx, &e->fit);
    lli_fit_warnings(ctx, e->ensemble, found, &e->options, train);
}

/* Of all methods that finished; nothing is lost but a note if it fails. */
static void say(ll_context *ctx, work *c, const ll_comparison *made, const lli_found_theta *found, const ll_dataset *train) {
    lli_nearness near = {0};
    ll_context aside = *ctx;
    ll_status status = LL_OK;
    lli_text_init(&near.names, &aside);
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->entries[i];
        if (made->rows[e->first_row].diverged)
            continue;
        warn(ctx, e, found, train);
        if (status == LL_OK)
            status = lli_nearness_add(&aside, &near, lli_lineup_name(&e->row), e->ensemble, train, &found->star,
                                      e->options.prior_precision);
    }
    if (status == LL_OK)
        lli_nearness_tell(ctx, &near);
    lli_text_release(&near.names);
}

static ll_status compare(ll_comparison **out, ll_context *ctx, const ll_dataset *all, const ll_dataset *test, const ll_head *head,
                         const ll_network *network, const ll_compare_options *options) {
    LLI_TRY(check(ctx, all, test, options));
    lli_found_theta found = {0};
    lli_lineup lineup = {0};
    lli_judge judge = {0};
    lli_meter meter;
    ll_comparison *made = NULL;
    ll_dataset *weighted = NULL;
    work *c;
    LLI_TRY(lli_memory_new(ctx, &c, 1, sizeof *c));
    ll_status status;
    LLI_DO(lli_dataset_select_weighted(&weighted, ctx, all));
    const ll_dataset *train = weighted ? weighted : all;
    ll_fit_options each = ll_fit_options_default();
    LLI_DO(lli_abi_take(ctx, "ll_fit_options", &each, sizeof each, options->fit, 0));
    const lli_place place = lli_place_of(network || each.layers > 1, each.layers);
    if (!each.scores && options->out && place == LLI_PLACE_HEAD)
        each.scores = SCORES;
    LLI_DO(lli_lineup_init(&lineup, ctx, options->methods ? options->methods : "default", place, &each));
    ll_fit_options shared = each;
    shared.method = ll_fit_options_default().method;
    shared.precondition = ll_fit_options_default().precondition;
    LLI_DO(lli_fit_resolve(ctx, &shared, &shared, train, place != LLI_PLACE_HEAD));
    if (place == LLI_PLACE_HEAD)
        LLI_DO(check_methods(ctx, &lineup, &each, train));
    shared.validation = shared.validation ? shared.validation : options->choose;
    LLI_DO(lli_found_theta_init(ctx, &found, train, head, network, &shared));
    LLI_DO(check_classes(ctx, test, "test", found.star.model->K));
    if (options->choose)
        LLI_DO(check_classes(ctx, options->choose, "validation", found.star.model->K));
    LLI_DO(lli_memory_new(ctx, &made, 1, sizeof *made));
    LLI_DO(work_init(ctx, c, &lineup, &found, train, &each, &meter));
    LLI_DO(lli_judge_init(&judge, ctx, made, test, options, each.seed, 2 * (int64_t)c->count));
    LLI_DO(lli_pool_run(ctx, run_task, c, c->tasks));
    LLI_DO(judge_all(ctx, &judge, c));
    say(ctx, c, made, &found, train);
    *out = made;
    made = NULL;
done:
    lli_judge_release(&judge);
    ll_comparison_free(made);
    work_release(c);
    lli_memory_free(c);
    lli_lineup_release(&lineup);
    lli_found_theta_release(&found);
    ll_dataset_free(weighted);
    return status;
}

static ll_status take_options(ll_compare_options *out, ll_context *ctx, const ll_compare_options *given) {
    size_t count;
    const ll_option *table = ll_compare_options_table(&count);
    *out = ll_compare_options_default();
    return LLI_OPTION_TAKE(ctx, ll_compare_options, out, given, table, count);
}

ll_status ll_compare(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test, const ll_head *head,
                     const ll_compare_options *options) {
    LLI_NEED(ctx, out, train, test);
    *out = NULL;
    ll_compare_options o;
    LLI_TRY(take_options(&o, ctx, options));
    return compare(out, ctx, train, test, head, NULL, &o);
}

ll_status ll_compare_network(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test,
                             const ll_network *network, const ll_compare_options *options) {
    LLI_NEED(ctx, out, train, test, network);
    *out = NULL;
    ll_compare_options o;
    LLI_TRY(take_options(&o, ctx, options));
    ll_dataset *training, *held_out;
    ll_status status = lli_trained_split(&training, &held_out, ctx, train, network);
    o.choose = o.choose ? o.choose : held_out;
    if (status == LL_OK)
        status = compare(out, ctx, training ? training : train, test, NULL, network, &o);
    ll_dataset_free(training);
    ll_dataset_free(held_out);
    return status;
}
