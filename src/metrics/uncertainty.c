/* SPDX-License-Identifier: MIT */
/* Which interval belongs to which number. The arithmetic lives in the other files of this room. */
#include "metrics/uncertainty.h"

#include <math.h>

#include "base/memory.h"
#include "metrics/coverage_draw.h"
#include "metrics/influence.h"
#include "metrics/interval.h"
#include "metrics/special.h"

void lli_uncertainty_init(lli_uncertainty *u, ll_context *ctx, ll_evaluation *out) {
    double level = out->rules.interval;
    *u = (lli_uncertainty){.ctx = ctx, .out = out, .z = level > 0 ? lli_special_normal_quantile((1 + level) / 2) : 0};
    ll_interval *all = (ll_interval *)&out->intervals; /* it holds nothing else */
    for (size_t i = 0; i < sizeof out->intervals / sizeof *all; i++)
        all[i] = lli_interval_none;
}

void lli_uncertainty_release(lli_uncertainty *u) {
    for (size_t i = 0; i < LLI_COUNT(u->code); i++) {
        lli_memory_free(u->cut[i]);
        lli_memory_free(u->code[i]);
    }
    lli_bin_runs_release(&u->runs);
}

void lli_uncertainty_rank(lli_uncertainty *u, ll_confidence c, const lli_curve *curve) {
    const ll_selective *s = &u->out->selective[c];
    ll_intervals *out = &u->out->intervals;
    if (u->z == 0)
        return;
    out->aurc[c] = lli_interval_log(s->aurc, lli_influence_error(curve, LLI_RANKING_AURC), u->z);
    out->augrc[c] = lli_interval_log(s->augrc, lli_influence_error(curve, LLI_RANKING_AUGRC), u->z);
    out->eaurc[c] = lli_interval_above_zero(s->eaurc, lli_influence_error(curve, LLI_RANKING_EAURC), u->z);
    out->failure_auroc[c] = lli_interval_logit(s->failure_auroc, lli_influence_error(curve, LLI_RANKING_AUROC), u->z);
}

/* Without errors, or with errors only, every draw is the same and says nothing. */
ll_status lli_uncertainty_cut(lli_uncertainty *u, ll_confidence c, const lli_curve *curve) {
    if (u->z == 0 || curve->marked == 0 || curve->marked == curve->n)
        return LL_OK;
    uint8_t **code = &u->cut[u->cuts];
    LLI_TRY(lli_memory_new(u->ctx, code, curve->n, 1));
    lli_statistic_code(*code, curve);
    u->cut_interval[u->cuts++] = &u->out->intervals.coverage_at_risk[c];
    return LL_OK;
}

ll_status lli_uncertainty_detect(lli_uncertainty *u, ll_confidence c, const lli_curve *curve) {
    double auroc = u->out->ood[c].auroc;
    if (u->z == 0)
        return LL_OK;
    u->out->intervals.ood_auroc[c] = lli_interval_logit(auroc, lli_influence_error(curve, LLI_RANKING_AUROC), u->z);
    if (!(auroc > 0 && auroc < 1))
        return LL_OK;
    uint8_t **code = &u->code[u->fars];
    LLI_TRY(lli_memory_new(u->ctx, code, curve->n, 1));
    lli_statistic_code(*code, curve);
    u->far[u->fars] = (lli_statistic_out){.code = *code, .n = curve->n - curve->marked, .n_out = curve->marked};
    u->far_interval[u->fars++] = &u->out->intervals.ood_fpr95[c];
    return LL_OK;
}

ll_status lli_uncertainty_calibrate(lli_uncertainty *u, const lli_curve *curve) {
    ll_evaluation *e = u->out;
    if (u->z == 0)
        return LL_OK;
    LLI_TRY(lli_bin_runs_init(&u->runs, u->ctx, curve, e->bin, e->bins));
    return lli_miscalibration_p(&e->ece_p, u->ctx, &u->runs, e->ece, e->rules.seed);
}

/* Where all draws are the same there is none. */
static ll_interval middle_of(double *values, double level) {
    ll_interval middle = lli_resample_middle(values, level);
    return middle.lo == middle.hi ? lli_interval_none : middle;
}

static ll_status finish_detection(lli_uncertainty *u, double *values) {
    const ll_evaluation *e = u->out;
    lli_statistic *statistic[LL_CONFIDENCE_COUNT];
    const void *arg[LL_CONFIDENCE_COUNT];
    for (int64_t i = 0; i < u->fars; i++) {
        statistic[i] = lli_statistic_fpr95;
        arg[i] = &u->far[i];
    }
    lli_resample plan = {.n = e->n, .n_out = e->n_out, .seed = e->rules.seed, .count = u->fars, .statistic = statistic, .arg = arg};
    LLI_TRY(lli_resample_run(values, u->ctx, &plan));
    for (int64_t i = 0; i < u->fars; i++)
        *u->far_interval[i] = middle_of(values + i * LLI_RESAMPLE_DRAWS, e->rules.interval);
    return LL_OK;
}

ll_status lli_uncertainty_finish(lli_uncertainty *u) {
    ll_evaluation *e = u->out;
    double *values = NULL, level = e->rules.interval;
    uint64_t seed = e->rules.seed;
    ll_status status = LL_OK;
    if (u->z == 0)
        return LL_OK;
    LLI_DO(lli_memory_new(u->ctx, &values, LL_CONFIDENCE_COUNT * LLI_RESAMPLE_DRAWS, sizeof *values));
    if (u->cuts)
        LLI_DO(lli_coverage_draw(values, u->ctx, (const uint8_t *const *)u->cut, u->cuts, e->n, e->rules.risk, seed));
    for (int64_t i = 0; i < u->cuts; i++)
        *u->cut_interval[i] = middle_of(values + i * LLI_RESAMPLE_DRAWS, level);
    if (u->runs.count) {
        LLI_DO(lli_bin_runs_ece(values, u->ctx, &u->runs, seed));
        ll_interval middle = middle_of(values, level);
        if (!isnan(middle.lo))
            e->intervals.ece = (ll_interval){fmax(0, 2 * e->ece - middle.hi), fmax(0, 2 * e->ece - middle.lo)};
    }
    if (u->fars)
        LLI_DO(finish_detection(u, values));
done:
    lli_memory_free(values);
    return status;
}
