/* SPDX-License-Identifier: MIT */
/* One run of a search: fits the largest S, then judges the first members for each trial. Heads are fitted in memory. Networks are fitted
 * into a file of the store, which a kill leaves to go on with. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "formats/file.h"
#include "methods/method.h"
#include "metrics/evaluate.h"
#include "metrics/trial_score.h"
#include "store/partial.h"
#include "search/search.h"

/* ---- one trial ---- */

typedef struct judgement {
    ll_predictions *val, *test, *out, *halves[2];
    ll_evaluation *evaluations; /* [LL_SPLIT_COUNT] */
} judgement;

static void judgement_release(judgement *j) {
    ll_predictions *sets[] = {j->val, j->test, j->out, j->halves[0], j->halves[1]};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        ll_predictions_free(sets[i]);
    for (int split = 0; j->evaluations && split < LL_SPLIT_COUNT; split++)
        if (split == LL_SPLIT_ALL || j->evaluations[split].bin != j->evaluations[LL_SPLIT_ALL].bin) /* else it is the same one */
            lli_evaluate_release(&j->evaluations[split]);
    lli_memory_free(j->evaluations);
}

static ll_status predict(ll_context *ctx, ll_predictions **out, lli_search *s, const ll_ensemble *e, const ll_dataset *data, bool fitted,
                         bool running) {
    if (!data)
        return LL_OK;
    lli_meter meter;
    lli_meter_init_part(&meter, &s->meter, e->plan.S, data->rows.N);
    const lli_predict_request request = {.probs = true, .running = running, .meter = &meter, .fitted = fitted};
    ll_status status = lli_predictions_collect(out, ctx, e, data, &request);
    if (status == LL_ERR_DIVERGED)
        lli_meter_add(ctx, &meter, data->rows.N - atomic_load(&meter.done));
    return status;
}

/* All sets, also after one on which the members' logits are beyond single precision; LL_ERR_DIVERGED then. */
static ll_status predict_all(ll_context *ctx, judgement *j, lli_search *s, const ll_ensemble *e, bool fitted) {
    const ll_dataset *sets[] = {s->data.val, s->data.test, s->data.out};
    ll_predictions **const places[] = {&j->val, &j->test, &j->out};
    bool diverged = false;
    for (size_t i = 0; i < LLI_COUNT(sets); i++) {
        ll_status status = predict(ctx, places[i], s, e, sets[i], fitted, sets[i] == s->data.test);
        diverged = diverged || status == LL_ERR_DIVERGED;
        if (status != LL_OK && status != LL_ERR_DIVERGED)
            return status;
    }
    return diverged ? LL_ERR_DIVERGED : LL_OK;
}

static ll_status judge(ll_context *ctx, judgement *j, lli_search *s, const ll_ensemble *e, bool fitted) {
    const ll_search_data *d = &s->data;
    LLI_TRY(lli_memory_new(ctx, &j->evaluations, LL_SPLIT_COUNT, sizeof *j->evaluations));
    LLI_TRY(predict_all(ctx, j, s, e, fitted));
    const ll_outcome *out = j->out ? &j->out->view : NULL;
    ll_evaluate_options numbers = ll_evaluate_options_default();
    numbers.interval = 0; /* trials are many, and a store keeps none */
    LLI_TRY(lli_evaluate(&j->evaluations[LL_SPLIT_ALL], ctx, &j->test->view, out, &numbers, NULL));
    if (d->val) {
        j->evaluations[LL_SPLIT_TEST] = j->evaluations[LL_SPLIT_ALL];
        return lli_evaluate(&j->evaluations[LL_SPLIT_VAL], ctx, &j->val->view, NULL, &numbers, NULL);
    }
    int64_t N = d->test->rows.N, half = N / 2;
    LLI_TRY(lli_predictions_pick(&j->halves[0], ctx, j->test, s->halves, half));
    LLI_TRY(lli_predictions_pick(&j->halves[1], ctx, j->test, s->halves + half, N - half));
    LLI_TRY(lli_evaluate(&j->evaluations[LL_SPLIT_VAL], ctx, &j->halves[0]->view, NULL, &numbers, NULL));
    return lli_evaluate(&j->evaluations[LL_SPLIT_TEST], ctx, &j->halves[1]->view, out, &numbers, NULL);
}

static ll_status finish_trial(ll_context *ctx, lli_search *s, const lli_grid_run *run, int64_t S, const ll_ensemble *all, bool diverged,
                              double seconds_fit) {
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
    LLI_DO(lli_search_trial_name(&name, ctx, run, S));
    trial.name = name;
    if (!diverged) {
        const ll_ensemble prefix = lli_ensemble_prefix(all, S);
        status = judge(ctx, &j, s, &prefix, lli_method_trains(lli_method_find(o->method)));
        trial.diverged = status == LL_ERR_DIVERGED;
        if (!trial.diverged)
            LLI_DO(status);
        for (ll_split split = 0; !trial.diverged && split < LL_SPLIT_COUNT; split++)
            lli_trial_score_take(&trial.score[split], &j.evaluations[split]);
    }
    trial.seconds = seconds_fit * (double)S / (double)o->samples + lli_clock_seconds() - begin;
    const lli_trial_points points[LLI_PROTOCOLS] = {
        {j.halves[1] ? j.halves[1] : j.test, j.out},
        {j.test, j.out},
    };
    LLI_DO(lli_trial_store_add(ctx, &s->store, &trial, j.evaluations, points, all ? &all->plan.provenance : NULL));
done:
    judgement_release(&j);
    lli_memory_free(name);
    return status;
}

/* ---- one run ---- */

typedef struct fitted {
    ll_ensemble *ensemble;
    bool *saved; /* [stored] members that came; NULL = all */
    bool diverged;
    double seconds;
    char *path; /* of the file that holds it, or NULL */
} fitted;

static void fitted_release(fitted *f) {
    ll_ensemble_free(f->ensemble);
    lli_memory_free(f->saved);
    if (f->path)
        lli_file_remove(f->path);
    lli_memory_free(f->path);
}

static ll_status fit_into(ll_context *ctx, lli_search *s, const ll_fit_options *o, const lli_grid_run *run, lli_store *store,
                          bool *diverged) {
    lli_fit fit = {0};
    lli_meter meter;
    int64_t steps = lli_grid_run_steps(run, s->data.train, &s->found.star);
    lli_meter_init_part(&meter, &s->meter, lli_grid_run_step_cost(run, s->data.train), steps);
    LLI_TRY(lli_fit_init(ctx, &fit, lli_method_find(o->method), o, &s->found.star, s->data.train, store, &meter));
    ll_status status = lli_fit_run(ctx, &fit);
    lli_fit_release(&fit);
    *diverged = status == LL_ERR_DIVERGED;
    lli_meter_add(ctx, &meter, LLI_MAX(0, steps - atomic_load(&meter.done))); /* what a divergence left undone */
    return *diverged ? LL_OK : status;
}

/* A chain that diverges later than some trials need still gives those. */
static ll_status fit_memory(ll_context *ctx, fitted *f, lli_search *s, const lli_grid_run *run) {
    lli_ensemble_plan plan = {0};
    lli_store_memory store;
    LLI_TRY(lli_fit_plan(ctx, &plan, &run->options, s->data.train, &s->found.star));
    int64_t stored = plan.stored;
    LLI_TRY(lli_ensemble_new(&f->ensemble, ctx, &plan));
    LLI_TRY(lli_memory_new(ctx, &f->saved, stored, sizeof *f->saved));
    lli_store_memory_init(&store, f->ensemble);
    store.saved = f->saved;
    return fit_into(ctx, s, &run->options, run, &store.store, &f->diverged);
}

/* The same through PATH.partial. Nothing is left of a run that diverged. */
static ll_status fit_file(ll_context *ctx, fitted *f, lli_search *s, const lli_grid_run *run) {
    const ll_fit_options *o = &run->options;
    const lli_method *method = lli_method_find(o->method);
    lli_ensemble_plan plan = {0};
    lli_partial *partial = NULL;
    lli_text path;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/work/%s-S%" PRId64 ".safetensors", s->store.folder, run->name, o->samples);
    LLI_DO(lli_text_take(&path, &f->path));
    if (!lli_file_exists(f->path)) {
        LLI_DO(lli_partial_open(&partial, ctx, f->path, LLI_OUTFILE_RESUME));
        LLI_DO(lli_fit_plan(ctx, &plan, o, s->data.train, &s->found.star));
        LLI_DO(lli_partial_begin(ctx, partial, &plan, lli_fit_floats(method, &s->found.star), method->tasks(o)));
        if (!lli_partial_complete(partial))
            LLI_DO(fit_into(ctx, s, o, run, lli_partial_store(partial), &f->diverged));
        if (f->diverged)
            goto done;
        lli_partial *complete = partial;
        partial = NULL;
        LLI_DO(lli_partial_commit(ctx, complete));
    }
    LLI_DO(ll_ensemble_read(&f->ensemble, ctx, f->path));
done:
    if (partial)
        lli_partial_abandon(ctx, partial, f->diverged ? LL_ERR_DIVERGED : status);
    if (status != LL_OK) { /* what there is stays for the next time */
        lli_memory_free(f->path);
        f->path = NULL;
    }
    lli_ensemble_plan_release(&plan);
    lli_text_release(&path);
    return status;
}

static bool usable(const fitted *f, int64_t S) {
    if (!f->diverged)
        return true;
    for (int64_t i = 0; f->ensemble && i < LLI_MIN(S, f->ensemble->plan.stored); i++)
        if (!f->saved[i])
            return false;
    return f->ensemble != NULL;
}

/* The trials of a run that was fitted, from the largest down; those that it cannot give stay in run->trials, but the largest is finished
 * in any case. */
static ll_status finish_run(ll_context *ctx, lli_search *s, lli_grid_run *run, const fitted *f) {
    bool largest = true;
    for (int64_t t = run->trials - 1; t >= 0; t--, largest = false) {
        int64_t S = run->samples[t];
        bool broken = !usable(f, S);
        if (broken && !f->ensemble && !largest)
            continue; /* a network that diverged leaves no members: a run of fewer of them decides this trial */
        LLI_TRY(finish_trial(ctx, s, run, S, f->ensemble, broken, f->seconds));
        if (broken)
            lli_meter_add(ctx, &s->meter, S * lli_search_rows(s));
        memmove(run->samples + t, run->samples + t + 1, (size_t)(run->trials - t - 1) * sizeof *run->samples);
        run->trials--;
    }
    return LL_OK;
}

ll_status lli_search_run(ll_context *ctx, lli_search *s, lli_grid_run *run) {
    bool quiet = ctx->quiet;
    ll_status status = LL_OK;
    while (status == LL_OK && run->trials > 0) {
        fitted f = {0};
        double begin = lli_clock_seconds();
        run->options.samples = run->samples[run->trials - 1];
        status = s->found.star.network ? fit_file(ctx, &f, s, run) : fit_memory(ctx, &f, s, run);
        f.seconds = lli_clock_seconds() - begin;
        ctx->quiet = true; /* an infinite NLL is a number of the table here, not news */
        if (status == LL_OK)
            status = finish_run(ctx, s, run, &f);
        ctx->quiet = quiet;
        fitted_release(&f);
    }
    return status;
}
