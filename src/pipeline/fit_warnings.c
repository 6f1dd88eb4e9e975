/* SPDX-License-Identifier: MIT */
/* Some training rows through the ensemble, and through theta* where dropout may have unlearned it; metrics/warning_signs.h judges. */
#include "pipeline/fit_warnings.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "data/dataset_select.h"
#include "data/row_list.h"
#include "methods/diffusion.h"
#include "methods/virial.h"
#include "metrics/warning_signs.h"
#include "pipeline/diagnose.h"
#include "predict/predictions.h"

/* Enough rows for a median, or to see a loss of accuracy; few passes of dropout are as good as many there. */
enum { MEDIAN_ROWS = 256, LOSS_ROWS = 1000, LOSS_PASSES = 20 };
#define CHAIN_ROWS 2000
#define CHAIN_ROWS_LEAST 200
#define WIDTH_ROWS_LEAST 50
#define CHAIN_PRODUCTS 2e9 /* multiply-adds: a fraction of a second */

static ll_status draw_rows(ll_dataset **out, ll_context *ctx, const ll_dataset *data, int64_t most, uint64_t seed) {
    int64_t n, *rows;
    LLI_TRY(lli_row_list_spread(ctx, &rows, &n, data->rows.N, most, lli_rng_stream(seed, LLI_PURPOSE_DOUBT, 0, 0)));
    ll_status status = lli_dataset_look(out, ctx, data, rows, n);
    lli_memory_free(rows);
    return status;
}

static ll_status predict(ll_predictions **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *rows) {
    lli_meter meter;
    lli_meter_init(&meter, "checking members", rows->rows.N);
    const lli_predict_request request = {.meter = &meter};
    return lli_predictions_collect(out, ctx, ensemble, rows, &request);
}

/* theta* as the method point has it. */
static ll_status predict_star(ll_predictions **out, ll_context *ctx, const lli_found_theta *found, const ll_fit_options *options,
                              const ll_dataset *data, const ll_dataset *rows) {
    ll_fit_options point = *options;
    ll_ensemble *ensemble;
    point.method = "point";
    point.samples = 1;
    point.scores = NULL;
    LLI_TRY(lli_fit_collect(&ensemble, ctx, &point, data, &found->star, "checking members"));
    ll_status status = predict(out, ctx, ensemble, rows);
    ll_ensemble_free(ensemble);
    return status;
}

static ll_status doubt_loss(ll_context *ctx, const ll_ensemble *ensemble, const lli_found_theta *found, const ll_fit_options *o,
                            const ll_dataset *data) {
    const ll_ensemble passes = lli_ensemble_prefix(ensemble, LLI_MIN(ensemble->plan.S, LOSS_PASSES));
    ll_dataset *rows = NULL;
    ll_predictions *now = NULL, *before = NULL;
    ll_status status;
    LLI_DO(draw_rows(&rows, ctx, data, LOSS_ROWS, o->seed));
    LLI_DO(predict(&now, ctx, &passes, rows));
    LLI_DO(predict_star(&before, ctx, found, o, data, rows));
    lli_loss loss = lli_warning_signs_loss(&now->view, &before->view);
    double n = (double)rows->rows.N;
    if (loss.certain)
        lli_log(ctx, LL_LOG_WARNING,
                "with `dropout %g` the accuracy on training rows falls from %.3f (theta*) to %.3f: there are too few features to drop "
                "that many; use a smaller `dropout`, wider features, or another method",
                o->dropout, (double)loss.right_before / n, (double)loss.right / n);
done:
    ll_predictions_free(now);
    ll_predictions_free(before);
    ll_dataset_free(rows);
    return status;
}

/* A Gaussian much wider than the posterior moves every logit: few draws on few rows show it. */
static ll_status doubt_width(ll_context *ctx, const ll_ensemble *ensemble, const lli_found_theta *found, const ll_fit_options *o,
                             const ll_dataset *data) {
    const ll_ensemble draws = lli_ensemble_prefix(ensemble, LLI_MIN(ensemble->plan.S, LOSS_PASSES));
    double K = (double)draws.plan.K, n = (double)draws.plan.D + 1, row = n * n + K * n + (double)draws.plan.S * K * fmin(K, n);
    ll_dataset *rows = NULL;
    ll_predictions *now = NULL, *before = NULL;
    ll_status status;
    LLI_DO(draw_rows(&rows, ctx, data, (int64_t)fmax(WIDTH_ROWS_LEAST, fmin(LOSS_ROWS, CHAIN_PRODUCTS / row)), o->seed));
    LLI_DO(predict(&now, ctx, &draws, rows));
    LLI_DO(predict_star(&before, ctx, found, o, data, rows));
    lli_loss loss = lli_warning_signs_loss(&now->view, &before->view);
    double unsure = lli_warning_signs_unsure(&now->view), count = (double)rows->rows.N, right = (double)loss.right / count;
    if (unsure > LLI_WARNING_SIGNS_UNSURE + lli_warning_signs_unsure(&before->view))
        lli_log(ctx, LL_LOG_WARNING,
                "the Gaussian is too wide with `prior-precision %.4g`: on training rows its draws are right on %.3f (theta*: %.3f) "
                "with a mean confidence of %.3f; use `prior-precision validation`, or a larger number",
                o->prior_precision, right, (double)loss.right_before / count, right - unsure);
done:
    ll_predictions_free(now);
    ll_predictions_free(before);
    ll_dataset_free(rows);
    return status;
}

static ll_status doubt_spread(ll_context *ctx, bool *doubted, const ll_ensemble *ensemble, const ll_fit_options *o,
                              const ll_dataset *data) {
    ll_dataset *rows = NULL;
    ll_predictions *points = NULL;
    double spread;
    ll_status status;
    LLI_DO(draw_rows(&rows, ctx, data, MEDIAN_ROWS, o->seed));
    LLI_DO(predict(&points, ctx, ensemble, rows));
    LLI_DO(lli_warning_signs_spread(&spread, ctx, &points->view));
    *doubted = spread < LLI_WARNING_SIGNS_SPREAD;
    if (*doubted)
        lli_log(ctx, LL_LOG_WARNING,
                "the members of %s hardly differ: their spread on training rows is %.2g times the rounding error of single precision, and "
                "below %d std, hq and mi rank by chance; use a larger `lr` (it is %g), a larger %s, or another method",
                o->method, spread, LLI_WARNING_SIGNS_SPREAD, o->lr,
                lli_option_name(ctx, ll_method_uses(o->method, "thin") ? "thin" : "epochs").text);
done:
    ll_predictions_free(points);
    ll_dataset_free(rows);
    return status;
}

/* How far the chains went, and whether they are too wide where nothing but lr limits that. */
static ll_status measure_time(ll_context *ctx, const ll_ensemble *ensemble, const lli_found_theta *found, const ll_fit_options *o,
                              const ll_dataset *data) {
    ll_dataset *rows;
    if (found->star.network || !ll_method_uses(o->method, "thin"))
        return LL_OK;
    LLI_TRY(draw_rows(&rows, ctx, data, LLI_DIFFUSION_ROWS, o->seed));
    ll_status status = lli_diffusion_tell(ctx, o, rows, data, &found->star);
    ll_dataset_free(rows);
    if (status == LL_OK && lli_virial_applies(o))
        status = lli_virial_tell(ctx, o, ensemble, data, &found->star);
    return status;
}

/* A look at fewer rows than lastlayer diagnose takes where members are large: it must not take longer than the fit. */
static ll_status doubt_chains(ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data) {
    const lli_ensemble_plan *p = &ensemble->plan;
    double row = (double)p->S * (double)p->K * (double)p->D;
    int64_t candidates = (int64_t)fmax(CHAIN_ROWS_LEAST, fmin(CHAIN_ROWS, CHAIN_PRODUCTS / row));
    ll_diagnosis *diagnosis;
    LLI_TRY(lli_diagnose(&diagnosis, ctx, ensemble, data, candidates));
    const ll_diagnosis_info *i = ll_diagnosis_view(diagnosis);
    if (i->chains > 1)
        lli_log(ctx, LL_LOG_NOTE,
                "%" PRId64 " chains on %" PRId64 " training rows of small margin: median R-hat %.4g (above %.4g on %" PRId64
                " rows), bulk ESS %.3g, tail ESS %.3g of %" PRId64 " members",
                i->chains, i->rows, i->rhat_median, i->rhat_limit, i->above, i->bulk_median, i->tail_median, i->members);
    else
        lli_log(ctx, LL_LOG_NOTE,
                "one chain on %" PRId64 " training rows of small margin: median bulk ESS %.3g, tail ESS %.3g of %" PRId64
                " members; `chains 4` gives an R-hat too",
                i->rows, i->bulk_median, i->tail_median, i->members);
    ll_diagnosis_free(diagnosis);
    return LL_OK;
}

void lli_fit_warnings(ll_context *ctx, const ll_ensemble *ensemble, const lli_found_theta *found, const ll_fit_options *options,
                      const ll_dataset *data) {
    ll_context aside = *ctx; /* its sentences stay here */
    ll_status status = LL_OK;
    bool doubted = false;
    if (ensemble->plan.drop16)
        status = doubt_loss(&aside, ensemble, found, options, data);
    else if (ensemble->plan.gaussian.structure)
        status = doubt_width(&aside, ensemble, found, options, data);
    else if (ensemble->plan.S > 1 && ll_method_uses(options->method, "lr") && !options->solve)
        status = doubt_spread(&aside, &doubted, ensemble, options, data);
    if (status == LL_OK && !doubted)
        status = measure_time(&aside, ensemble, found, options, data);
    if (status == LL_OK && !doubted && lli_diagnose_check(ensemble) == LLI_DIAGNOSE_YES)
        status = doubt_chains(&aside, ensemble, data);
    (void)status; /* the ensemble is whole: nothing is lost but a warning */
}
