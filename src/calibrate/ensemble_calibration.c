/* SPDX-License-Identifier: MIT */
/* The calibration of an ensemble: rows are predicted, in memory where their logarithms fit, else again in every pass. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/pool.h"
#include "calibrate/calibrate.h"
#include "predict/predictor.h"

static const int64_t KEPT_BYTES = (int64_t)1 << 30;

typedef struct source {
    const ll_ensemble *ensemble;
    lli_rows rows;
    ll_predictor **predictors; /* [workers] */
    double *cached;            /* [n,K] or NULL */
} source;

static ll_status fill(ll_context *ctx, void *arg, double *f, int64_t first, int64_t n, int worker) {
    source *s = arg;
    int64_t K = s->ensemble->plan.K;
    if (s->cached) {
        memcpy(f, s->cached + first * K, (size_t)(n * K) * sizeof *f);
        return LL_OK;
    }
    ll_prediction out = {.log_probs = f};
    ll_status status = lli_predictor_run_rows(&out, s->predictors[worker], &s->rows, first, n, first, false);
    return status == LL_OK ? LL_OK : lli_fail(ctx, status, "%s", ll_predictor_message(s->predictors[worker]));
}

typedef struct keeping {
    const lli_evidence *e;
    double *to;
} keeping;

static ll_status keep_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    keeping *k = arg;
    int64_t block = lli_evidence_block(k->e), first = task * block;
    return k->e->fill(ctx, k->e->arg, k->to + first * k->e->K, first, LLI_MIN(block, k->e->n - first), worker);
}

/* What is predicted once need not be predicted again. */
static ll_status keep(ll_context *ctx, source *s, const lli_evidence *e) {
    int64_t count;
    if (!lli_multiply(&count, e->n, e->K) || count > KEPT_BYTES / 8 || count * 8 > lli_memory_left(ctx) / 2)
        return LL_OK;
    keeping k = {.e = e};
    LLI_TRY(lli_memory_new(ctx, &k.to, count, sizeof(double)));
    ll_status status = lli_pool_run(ctx, keep_block, &k, (e->n - 1) / lli_evidence_block(e) + 1);
    if (status == LL_OK)
        s->cached = k.to;
    else
        lli_memory_free(k.to);
    return status;
}

static ll_status check(ll_context *ctx, const ll_ensemble *e, const ll_dataset *data, bool force) {
    const char *seen = lli_provenance_get(&e->plan.provenance, "features_sha256");
    LLI_TRY(lli_predict_check_rows(ctx, e, &data->rows));
    if (!data->labels)
        return lli_fail(ctx, LL_ERR_DATA, "a calibration needs true labels, and these rows have none; give `labels`");
    LLI_TRY(lli_dataset_check_labels(ctx, data, e->plan.K, "ensemble"));
    if (seen && !force && strcmp(seen, data->features_hash) == 0)
        return lli_fail(ctx, LL_ERR_DATA,
                        "these are the rows that the ensemble was fitted on, where it is surer than on new ones; calibrate on other rows "
                        "(or set `force`)");
    return LL_OK;
}

ll_status ll_calibrate(ll_calibration **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                       const ll_calibrate_options *options) {
    LLI_NEED(ctx, out, ensemble, data);
    *out = NULL;
    ll_calibrate_options o = ll_calibrate_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_calibrate_options", &o, sizeof o, options, 0));
    LLI_TRY(check(ctx, ensemble, data, o.force));
    ll_ensemble plain = *ensemble; /* as it was before any calibration */
    plain.plan.calibration = NULL;
    int workers = lli_pool_workers(ctx);
    source s = {.ensemble = &plain, .rows = data->rows};
    if (plain.network)
        lli_ensemble_apply_input(&s.rows, &plain.plan.input, plain.plan.scaling);
    const lli_evidence e = {.n = data->rows.N, .K = plain.plan.K, .truth = data->labels, .fill = fill, .arg = &s};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &s.predictors, workers, sizeof *s.predictors));
    for (int w = 0; w < workers; w++)
        LLI_DO(ll_predictor_new(&s.predictors[w], ctx, &plain));
    LLI_DO(keep(ctx, &s, &e));
    LLI_DO(lli_calibrate_fit(out, ctx, &e, options));
    LLI_DO(lli_dataset_known_hash((*out)->rows_hash, ctx, data));
    memcpy((*out)->labels_hash, data->labels_hash, LLI_HASH_TEXT);
done:
    for (int w = 0; s.predictors && w < workers; w++)
        ll_predictor_free(s.predictors[w]);
    lli_memory_free(s.predictors);
    lli_memory_free(s.cached);
    return status;
}

/* The entries of the record that a calibration has; NULL removes them. */
static ll_status record(ll_context *ctx, lli_provenance *p, const ll_calibration *c) {
    lli_text text;
    lli_text_init(&text, ctx);
    const double numbers[] = {c ? c->info.temperature : 0, c ? c->info.nll_before : 0, c ? c->info.nll : 0};
    static const char *const keys[] = {"calibration_temperature", "calibration_nll_before", "calibration_nll"};
    ll_status status;
    LLI_DO(lli_provenance_set(ctx, p, "calibration", c ? c->info.kind : NULL));
    for (size_t i = 0; i < LLI_COUNT(keys); i++) {
        text.length = 0;
        lli_text_number(&text, numbers[i]);
        LLI_DO(text.status);
        LLI_DO(lli_provenance_set(ctx, p, keys[i], c ? text.data : NULL));
    }
    text.length = 0;
    lli_text_add(&text, "%" PRId64, c ? c->info.n : 0);
    LLI_DO(text.status);
    LLI_DO(lli_provenance_set(ctx, p, "calibration_rows", c ? text.data : NULL));
    LLI_DO(lli_provenance_set(ctx, p, "calibration_features_sha256", c && *c->rows_hash ? c->rows_hash : NULL));
    LLI_DO(lli_provenance_set(ctx, p, "calibration_labels_sha256", c && *c->labels_hash ? c->labels_hash : NULL));
done:
    lli_text_release(&text);
    return status;
}

ll_status ll_ensemble_set_calibration(ll_context *ctx, ll_ensemble *ensemble, const ll_calibration *c) {
    LLI_NEED(ctx, ensemble);
    lli_ensemble_plan *plan = &ensemble->plan;
    double *copy = NULL;
    if (c && c->info.classes != plan->K)
        return lli_fail(ctx, LL_ERR_DATA, "the calibration has %" PRId64 " classes and the ensemble %" PRId64, c->info.classes, plan->K);
    if (c) {
        LLI_TRY(lli_memory_new(ctx, &copy, 2 * plan->K, sizeof *copy));
        memcpy(copy, c->parameters, (size_t)(2 * plan->K) * sizeof *copy);
    }
    ll_status status = record(ctx, &plan->provenance, c);
    if (status != LL_OK) {
        lli_memory_free(copy);
        return status;
    }
    if (plan->cut)
        lli_log(ctx, LL_LOG_WARNING, "the certificate of this ensemble is removed: it was made of other probabilities; certify again");
    lli_memory_free(plan->calibration);
    lli_memory_free(plan->cut);
    plan->calibration = copy;
    plan->cut = NULL;
    for (int i = 0; lli_certificate_entries[i]; i++)
        LLI_TRY(lli_provenance_set(ctx, &plan->provenance, lli_certificate_entries[i], NULL));
    return LL_OK;
}

const char *ll_ensemble_calibration(const ll_ensemble *ensemble) {
    return ensemble && ensemble->plan.calibration ? lli_provenance_get(&ensemble->plan.provenance, "calibration") : NULL;
}
