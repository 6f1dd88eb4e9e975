/* SPDX-License-Identifier: MIT */
/* Runs the grid: single chains side by side, one per worker, then methods of many members one after the other, their members side by side.
 * Either way a run gives the same bits. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/pool.h"
#include "data/split.h"
#include "methods/method.h"
#include "metrics/evaluate.h"
#include "metrics/score.h"
#include "pipeline/fit.h"
#include "pipeline/grid.h"
#include "pipeline/trial_store.h"

/* What a row costs: once through a training step, against once through a member's prediction. */
enum { TRAIN_COST = 3 };

typedef struct search {
    const ll_search_data *data;
    int64_t *halves; /* [N test] the rows that choose, then the others; NULL when there are validation rows */
    lli_start start;
    lli_grid grid;
    lli_trial_store store;
    int64_t *order;  /* [pending] runs with something left to do: single chains first, the costly ones before the cheap ones */
    int64_t pending, chains;
    lli_meter meter;
} search;

/* ---- what is left to do ---- */

static ll_status trial_name(char **out, ll_context *ctx, const lli_run *run, int64_t S) {
    lli_text name;
    lli_text_init(&name, ctx);
    lli_text_add(&name, "%s-S%" PRId64, run->name, S);
    return lli_text_take(&name, out);
}

/* Leaves in each run the trials that the store does not hold. */
static ll_status drop_finished(ll_context *ctx, search *s) {
    for (int64_t i = 0; i < s->grid.count; i++) {
        lli_run *run = &s->grid.runs[i];
        int64_t left = 0;
        for (int64_t t = 0; t < run->trials; t++) {
            char *name;
            LLI_TRY(trial_name(&name, ctx, run, run->samples[t]));
            if (lli_results_find(s->store.results, name) < 0)
                run->samples[left++] = run->samples[t];
            lli_memory_free(name);
        }
        run->trials = left;
        if (left)
            run->options.samples = run->samples[left - 1];
    }
    return LL_OK;
}

static int64_t training_steps(const search *s, const lli_run *run) {
    const lli_fit fit = {.options = run->options, .data = s->data->train, .origin = &s->start.origin};
    return lli_method_find(run->options.method)->steps(&fit);
}

static bool many_tasks(const lli_run *run) {
    return lli_method_find(run->options.method)->tasks(&run->options) > 1;
}

static int64_t evaluated_rows(const search *s) {
    const ll_dataset *sets[] = {s->data->val, s->data->test, s->data->out};
    int64_t rows = 0;
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        rows += sets[i] ? sets[i]->rows.N : 0;
    return rows;
}

static int64_t training_unit(const search *s, const lli_run *run) {
    return TRAIN_COST * LLI_MIN(run->options.batch_size, s->data->train->rows.N);
}

static int64_t cost(const search *s, const lli_run *run) {
    int64_t members = 0;
    for (int64_t t = 0; t < run->trials; t++)
        members += run->samples[t];
    return training_steps(s, run) * training_unit(s, run) + members * evaluated_rows(s);
}

static ll_status plan(ll_context *ctx, search *s) {
    int64_t total = 0;
    LLI_TRY(lli_memory_new(ctx, &s->order, s->grid.count, sizeof *s->order));
    for (int many = 0; many < 2; many++) {
        for (int64_t i = 0; i < s->grid.count; i++) {
            const lli_run *run = &s->grid.runs[i];
            if (!run->trials || many_tasks(run) != many)
                continue;
            int64_t at = s->pending++;
            for (; !many && at > 0 && cost(s, &s->grid.runs[s->order[at - 1]]) < cost(s, run); at--)
                s->order[at] = s->order[at - 1];
            s->order[at] = i;
            total += cost(s, run);
        }
        if (!many)
            s->chains = s->pending;
    }
    lli_meter_init(&s->meter, "searching", total);
    return LL_OK;
}

/* ---- one trial ---- */

typedef struct judgement {
    ll_predictions *val, *test, *out, *halves[2];
    ll_evaluation *evaluations; /* [LL_SPLIT_COUNT] */
} judgement;

static void judgement_release(judgement *j) {
    ll_predictions *sets[] = {j->val, j->test, j->out, j->halves[0], j->halves[1]};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        ll_predictions_free(sets[i]);
    lli_memory_free(j->evaluations);
}

static ll_status predict(ll_context *ctx, ll_predictions **out, search *s, const ll_ensemble *e, const ll_dataset *data, double *running) {
    if (!data)
        return LL_OK;
    lli_meter meter;
    lli_meter_init_part(&meter, &s->meter, e->plan.S, data->rows.N);
    const lli_predict_request request = {.probs = true, .running = running != NULL, .meter = &meter};
    lli_predict_totals totals = {.running = running};
    return lli_predictions_collect(out, ctx, e, data, &request, &totals);
}

static ll_status judge(ll_context *ctx, judgement *j, search *s, const ll_ensemble *e, double *running) {
    const ll_search_data *d = s->data;
    LLI_TRY(lli_memory_new(ctx, &j->evaluations, LL_SPLIT_COUNT, sizeof *j->evaluations));
    LLI_TRY(predict(ctx, &j->val, s, e, d->val, NULL));
    LLI_TRY(predict(ctx, &j->test, s, e, d->test, running));
    LLI_TRY(predict(ctx, &j->out, s, e, d->out, NULL));
    const ll_outcome *out = j->out ? &j->out->view : NULL;
    LLI_TRY(lli_evaluate(&j->evaluations[LL_SPLIT_ALL], ctx, &j->test->view, out, NULL, NULL));
    if (d->val) {
        j->evaluations[LL_SPLIT_TEST] = j->evaluations[LL_SPLIT_ALL];
        return lli_evaluate(&j->evaluations[LL_SPLIT_VAL], ctx, &j->val->view, NULL, NULL, NULL);
    }
    int64_t N = d->test->rows.N, half = N / 2;
    LLI_TRY(lli_predictions_pick(&j->halves[0], ctx, j->test, s->halves, half));
    LLI_TRY(lli_predictions_pick(&j->halves[1], ctx, j->test, s->halves + half, N - half));
    LLI_TRY(lli_evaluate(&j->evaluations[LL_SPLIT_VAL], ctx, &j->halves[0]->view, NULL, NULL, NULL));
    return lli_evaluate(&j->evaluations[LL_SPLIT_TEST], ctx, &j->halves[1]->view, out, NULL, NULL);
}

static ll_status finish_trial(ll_context *ctx, search *s, const lli_run *run, int64_t S, const ll_ensemble *whole, bool diverged, double seconds_fit,
                              double *running) {
    const ll_fit_options *o = &run->options;
    ll_trial trial = {
        .run = run->name,
        .method = o->method,
        .samples = S,
        .batch_size = ll_method_uses(o->method, "batch-size") ? o->batch_size : 0,
        .epochs = ll_method_uses(o->method, "epochs") ? o->epochs : 0,
        .lr = ll_method_uses(o->method, "lr") ? o->lr : NAN,
        .dropout = ll_method_uses(o->method, "dropout") ? o->dropout : NAN,
        .diverged = diverged,
    };
    judgement j = {0};
    char *name = NULL;
    ll_status status;
    double begin = lli_clock_seconds();
    LLI_DO(trial_name(&name, ctx, run, S));
    trial.name = name;
    if (!diverged) {
        const ll_ensemble prefix = lli_ensemble_prefix(whole, S);
        LLI_DO(judge(ctx, &j, s, &prefix, running));
        for (ll_split split = 0; split < LL_SPLIT_COUNT; split++)
            lli_score_take(&trial.score[split], &j.evaluations[split]);
    }
    trial.seconds = seconds_fit * (double)S / (double)o->samples + lli_clock_seconds() - begin;
    const lli_trial_points points[LLI_PROTOCOLS] = {
        {j.halves[1] ? j.halves[1] : j.test, j.out, j.halves[1] ? NULL : running},
        {j.test, j.out, running},
    };
    LLI_DO(lli_trial_store_add(ctx, &s->store, &trial, j.evaluations, points, &whole->plan.provenance));
done:
    judgement_release(&j);
    lli_memory_free(name);
    return status;
}

/* ---- one run ---- */

/* Fits the largest S. A chain that diverges later than some trials need still gives those: saved[i] = member i came. */
static ll_status fit_run(ll_context *ctx, search *s, const lli_run *run, ll_ensemble **out, bool **saved, bool *diverged) {
    const ll_fit_options *o = &run->options;
    lli_ensemble_plan plan = {0};
    lli_store_memory store;
    lli_fit fit = {0};
    lli_meter meter;
    LLI_TRY(lli_fit_plan(ctx, &plan, o, s->data->train, &s->start.origin));
    int64_t stored = plan.stored, steps = training_steps(s, run);
    LLI_TRY(lli_ensemble_new(out, ctx, &plan));
    LLI_TRY(lli_memory_new(ctx, saved, stored, sizeof **saved));
    lli_store_memory_init(&store, *out);
    store.saved = *saved;
    lli_meter_init_part(&meter, &s->meter, training_unit(s, run), steps);
    LLI_TRY(lli_fit_init(ctx, &fit, o, &s->start.origin, s->data->train, &store.store, &meter));
    ll_status status = lli_fit_run(ctx, &fit);
    lli_fit_release(&fit);
    *diverged = status == LL_ERR_DIVERGED;
    lli_meter_add(ctx, &meter, LLI_MAX(0, steps - atomic_load(&meter.done))); /* what a divergence left undone */
    return *diverged ? LL_OK : status;
}

static bool all_saved(const bool *saved, int64_t stored) {
    for (int64_t i = 0; i < stored; i++)
        if (!saved[i])
            return false;
    return true;
}

static ll_status do_run(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)worker;
    search *s = arg;
    const lli_run *run = &s->grid.runs[s->order[task]];
    ll_ensemble *ensemble = NULL;
    bool *saved = NULL, diverged = false, quiet = ctx->quiet;
    double *running = NULL, begin = lli_clock_seconds();
    ll_status status;
    LLI_DO(fit_run(ctx, s, run, &ensemble, &saved, &diverged));
    double seconds = lli_clock_seconds() - begin;
    LLI_DO(lli_memory_new(ctx, &running, 3 * run->options.samples, sizeof *running));
    ctx->quiet = true; /* an infinite NLL is a number of the table here, not news */
    for (int64_t t = 0; t < run->trials; t++) {
        int64_t S = run->samples[t];
        memset(running, 0, (size_t)(3 * S) * sizeof *running);
        bool broken = diverged && !all_saved(saved, LLI_MIN(S, ensemble->plan.stored));
        LLI_DO(finish_trial(ctx, s, run, S, ensemble, broken, seconds, running));
        if (broken)
            lli_meter_add(ctx, &s->meter, S * evaluated_rows(s));
    }
done:
    ctx->quiet = quiet;
    lli_memory_free(running);
    lli_memory_free(saved);
    ll_ensemble_free(ensemble);
    return status;
}

/* ---- the search ---- */

static ll_status check(ll_context *ctx, const ll_search_data *d, const ll_search_options *o) {
    size_t count;
    const ll_option *table = ll_search_options_table(&count);
    if (o->struct_size != sizeof *o)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_search_options has %zu bytes where %zu were expected: start from ll_search_options_default()", o->struct_size, sizeof *o);
    LLI_TRY(ll_option_check(ctx, table, count, o));
    if (!d->train || !d->test)
        return lli_fail(ctx, LL_ERR_USAGE, "a search needs training rows and test rows");
    const ll_dataset *sets[] = {d->val, d->test, d->out};
    static const char *const names[] = {"validation", "test", "out-of-distribution"};
    for (size_t i = 0; i < LLI_COUNT(sets); i++) {
        if (!sets[i])
            continue;
        if (!sets[i]->labels && sets[i] != d->out)
            return lli_fail(ctx, LL_ERR_DATA, "the %s rows have no labels", names[i]);
        if (sets[i]->rows.D != d->train->rows.D)
            return lli_fail(ctx, LL_ERR_DATA, "the %s features have %" PRId64 " columns and the training features %" PRId64, names[i], sets[i]->rows.D,
                            d->train->rows.D);
    }
    if (o->by && strcmp(o->by, "auroc") == 0 && !d->out)
        return lli_fail(ctx, LL_ERR_USAGE, "--by auroc needs out-of-distribution rows: --out-features FILE");
    return d->val || d->test->rows.N >= 2 ? LL_OK : lli_fail(ctx, LL_ERR_DATA, "one test row cannot be split; give validation rows");
}

static ll_status check_labels(ll_context *ctx, const ll_search_data *d, int64_t K) {
    const ll_dataset *sets[] = {d->val, d->test};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        for (int64_t r = 0; sets[i] && sets[i]->K > K && r < sets[i]->rows.N; r++)
            if (sets[i]->labels[r] >= K)
                return lli_fail(ctx, LL_ERR_DATA, "the %s label at row %" PRId64 " is %d, but there are %" PRId64 " classes (0 to %" PRId64 ")", i ? "test" : "validation", r,
                                sets[i]->labels[r], K, K - 1);
    return LL_OK;
}

static ll_status identify_option(ll_context *ctx, lli_provenance *p, const char *name, const ll_search_options *o) {
    size_t count, i = 0;
    const ll_option *table = ll_search_options_table(&count);
    while (strcmp(table[i].name, name) != 0)
        i++;
    lli_text text;
    char *value;
    lli_text_init(&text, ctx);
    lli_option_text(&text, &table[i], o);
    LLI_TRY(lli_text_take(&text, &value));
    ll_status status = lli_provenance_add(ctx, p, name, value);
    lli_memory_free(value);
    return status;
}

/* All that decides the numbers of every trial, and nothing that a grid may vary. */
static ll_status identify(ll_context *ctx, lli_provenance *p, const search *s, const ll_search_options *o) {
    const ll_search_data *d = s->data;
    static const char *const shared[] = {"prior-precision", "seed", "thin", "burn-in", "lr-t0", "lr-power", "shuffle"};
    const struct {
        const char *features, *labels;
        const ll_dataset *data;
    } sets[] = {{"features_train_sha256", "labels_train_sha256", d->train},
                {"features_val_sha256", "labels_val_sha256", d->val},
                {"features_test_sha256", "labels_test_sha256", d->test},
                {"features_out_sha256", NULL, d->out}};
    LLI_TRY(lli_provenance_add(ctx, p, "format", "lastlayer-search-1"));
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(lli_provenance_add(ctx, p, "isa", ll_isa()));
    for (size_t i = 0; i < LLI_COUNT(sets); i++) {
        LLI_TRY(lli_provenance_add(ctx, p, sets[i].features, sets[i].data ? sets[i].data->features_hash : "none"));
        if (sets[i].labels)
            LLI_TRY(lli_provenance_add(ctx, p, sets[i].labels, sets[i].data ? sets[i].data->labels_hash : "none"));
    }
    LLI_TRY(lli_provenance_add(ctx, p, "init", s->start.origin.init));
    LLI_TRY(lli_provenance_add(ctx, p, "head_sha256", s->start.origin.hash));
    for (size_t i = 0; i < LLI_COUNT(shared); i++)
        LLI_TRY(identify_option(ctx, p, shared[i], o));
    return LL_OK;
}

static ll_status run_all(ll_context *ctx, search *s) {
    LLI_TRY(lli_pool_run(ctx, do_run, s, s->chains));
    for (int64_t i = s->chains; i < s->pending; i++)
        LLI_TRY(do_run(ctx, s, i, 0));
    return LL_OK;
}

ll_status ll_search(ll_context *ctx, const char *store, const ll_search_data *data, const ll_search_options *options) {
    ll_search_options defaults = ll_search_options_default();
    const ll_search_options *o = options ? options : &defaults;
    lli_selection selection;
    LLI_TRY(check(ctx, data, o));
    LLI_TRY(lli_selection_parse(&selection, ctx, o->protocol, o->by));
    lli_provenance identity = {0};
    search *s;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    s->data = data;
    ll_status status;
    LLI_DO(lli_grid_init(&s->grid, ctx, o, data->train));
    ll_fit_options start = ll_fit_options_default();
    start.prior_precision = o->prior_precision;
    LLI_DO(lli_start_init(ctx, &s->start, data->train, data->head, NULL, &start));
    LLI_DO(check_labels(ctx, data, s->start.origin.model->K));
    if (!data->val)
        LLI_DO(lli_split_half(&s->halves, ctx, data->test->rows.N, o->seed));
    LLI_DO(identify(ctx, &identity, s, o));
    LLI_DO(lli_trial_store_open(&s->store, ctx, store, &identity, o->by));
    LLI_DO(drop_finished(ctx, s));
    LLI_DO(plan(ctx, s));
    LLI_DO(run_all(ctx, s));
    LLI_DO(lli_trial_store_conclude(ctx, &s->store, &selection));
done:
    lli_trial_store_close(&s->store);
    lli_provenance_release(&identity);
    lli_grid_release(&s->grid);
    lli_start_release(&s->start);
    lli_memory_free(s->halves);
    lli_memory_free(s->order);
    lli_memory_free(s);
    return status;
}
