/* SPDX-License-Identifier: MIT */
/* Evidence needs the training rows alone. Validation fits laplace for each tau that golden section asks for, and predicts. */
#include "pipeline/prior.h"

#include <inttypes.h>
#include <math.h>

#include "base/golden.h"
#include "methods/method.h"
#include "metrics/proper_scores.h"
#include "predict/predictions.h"
#include "train/marginal.h"

/* log10 of tau: the interval, and how short it becomes */
static const double low = -4, high = 4, tolerance = 0.02;

/* Nothing K x K where the structure has nothing of the kind. */
static bool by_diagonal(const char *structure) {
    return !lli_gaussian_has(structure, LLI_GAUSSIAN_U) && !lli_gaussian_has(structure, LLI_GAUSSIAN_P);
}

ll_status lli_prior_infer(ll_context *ctx, double *tau, lli_curvature *c, const char *structure, ll_head *ours, const ll_head *given,
                          const ll_dataset *data) {
    const lli_curvature_head head = {given->K, given->W, given->b};
    lli_marginal e;
    if (ours)
        LLI_TRY(lli_marginal_solve(ctx, &e, c, ours, data, LLI_PRIOR_START, by_diagonal(structure)));
    else {
        LLI_TRY(lli_curvature_init(ctx, c, data, &head, by_diagonal(structure)));
        e = lli_marginal_at(c, &head);
    }
    *tau = e.tau;
    lli_log(ctx, LL_LOG_NOTE, "prior precision %.4g by evidence: the rows determine %.4g of %" PRId64 " parameters; theta* was %s", e.tau,
            e.determined, c->K * c->n, ours ? "solved for it" : "given and stays");
    if (!e.settled)
        lli_log(ctx, LL_LOG_WARNING,
                "the prior precision by evidence has not settled after %d MAPs: use `prior-precision validation`, or a number", e.solves);
    if (e.tau < 2 * LLI_MARGINAL_LOW || e.tau > LLI_MARGINAL_HIGH / 2)
        lli_log(ctx, LL_LOG_WARNING,
                "the prior precision by evidence ran to the end of [%g,%g]: the rows say nothing about theta*, or fix it exactly; give a "
                "number",
                LLI_MARGINAL_LOW, LLI_MARGINAL_HIGH);
    return LL_OK;
}

typedef struct trial {
    ll_fit_options options;
    const lli_theta_star *star;
    const ll_dataset *data, *validation;
} trial;

/* NLL of laplace at tau = 10^x. */
static ll_status try_tau(ll_context *ctx, void *arg, double *nll, double x) {
    trial *t = arg;
    ll_ensemble *ensemble;
    ll_predictions *points = NULL;
    lli_proper_scores scores;
    lli_meter meter;
    t->options.prior_precision = pow(10, x);
    LLI_TRY(lli_fit_collect(&ensemble, ctx, &t->options, t->data, t->star, "choosing the prior precision"));
    lli_meter_init(&meter, "choosing the prior precision", t->validation->rows.N);
    const lli_predict_request request = {.probs = true, .meter = &meter};
    ll_status status;
    LLI_DO(lli_predictions_collect(&points, ctx, ensemble, t->validation, &request));
    const ll_outcome *v = &points->view;
    LLI_DO(lli_proper_scores_measure(&scores, ctx, &v->probs, v->truth, v->log_true, NULL));
    *nll = scores.nll;
done:
    ll_predictions_free(points);
    ll_ensemble_free(ensemble);
    return status;
}

ll_status lli_prior_check(ll_context *ctx, const ll_dataset *rows, int64_t K, int64_t D) {
    if (!rows)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`prior-precision validation` needs rows that training has not seen, with labels: `val-features` and `val-labels`; "
                        "`prior-precision evidence` needs none");
    if (!rows->labels)
        return lli_fail(ctx, LL_ERR_DATA, "the validation rows have no labels");
    if (rows->rows.D != D)
        return lli_fail(ctx, LL_ERR_DATA, "the validation features have %" PRId64 " columns and the training features %" PRId64,
                        rows->rows.D, D);
    return lli_dataset_check_labels(ctx, rows, K, "head");
}

ll_status lli_prior_validate(ll_context *ctx, double *tau, const ll_fit_options *o, const lli_theta_star *star, const ll_dataset *data) {
    ll_fit_options options = *o;
    double x, nll;
    options.method = "laplace";
    options.scores = NULL;
    options.chains = 1;
    options.prior_precision = LLI_PRIOR_START;
    options.samples = lli_method_find(o->method)->members == LLI_MEMBERS_DRAWS ? o->samples : 0;
    trial t = {.star = star, .data = data, .validation = o->validation};
    LLI_TRY(lli_fit_resolve(ctx, &t.options, &options, data, false));
    LLI_TRY(lli_golden_run(ctx, &x, &nll, try_tau, &t, low, high, tolerance));
    *tau = pow(10, x);
    lli_log(ctx, LL_LOG_NOTE, "prior precision %.4g of the Gaussian by validation: NLL %.4f of laplace on %" PRId64 " rows; theta* stays",
            *tau, nll, o->validation->rows.N);
    if (fabs(x) > high - 5 * tolerance)
        lli_log(ctx, LL_LOG_WARNING, "the prior precision by validation ran to the end of [1e%g,1e%g]: a number beyond it may be better",
                low, high);
    return LL_OK;
}
