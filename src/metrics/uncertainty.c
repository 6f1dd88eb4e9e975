/* SPDX-License-Identifier: MIT */
/* Which interval belongs to which number. The arithmetic lives in the other files of this room. */
#include "metrics/uncertainty.h"

#include <math.h>

#include "base/memory.h"
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
    for (size_t i = 0; i < LLI_COUNT(u->code); i++)
        lli_memory_free(u->code[i]);
    lli_miscalibration_runs_release(&u->runs);
}

static void later(lli_uncertainty *u, lli_statistic *statistic, const void *arg, ll_interval *interval) {
    u->statistic[u->count] = statistic;
    u->arg[u->count] = arg;
    u->interval[u->count++] = interval;
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
    LLI_TRY(lli_memory_new(u->ctx, &u->code[c], curve->n, 1));
    lli_statistic_code(u->code[c], curve);
    u->cut[c] = (lli_statistic_cut){.code = u->code[c], .n = curve->n, .risk = u->out->rules.risk};
    later(u, lli_statistic_coverage, &u->cut[c], &u->out->intervals.coverage_at_risk[c]);
    return LL_OK;
}

ll_status lli_uncertainty_detect(lli_uncertainty *u, ll_confidence c, const lli_curve *curve) {
    double auroc = u->out->ood[c].auroc;
    if (u->z == 0)
        return LL_OK;
    u->out->intervals.ood_auroc[c] = lli_interval_logit(auroc, lli_influence_error(curve, LLI_RANKING_AUROC), u->z);
    if (!(auroc > 0 && auroc < 1))
        return LL_OK;
    uint8_t **code = &u->code[LL_CONFIDENCE_COUNT + c];
    LLI_TRY(lli_memory_new(u->ctx, code, curve->n, 1));
    lli_statistic_code(*code, curve);
    u->far[c] = (lli_statistic_out){.code = *code, .n = curve->n - curve->marked, .n_out = curve->marked};
    later(u, lli_statistic_fpr95, &u->far[c], &u->out->intervals.ood_fpr95[c]);
    return LL_OK;
}

ll_status lli_uncertainty_calibrate(lli_uncertainty *u, const lli_curve *curve) {
    ll_evaluation *e = u->out;
    if (u->z == 0)
        return LL_OK;
    LLI_TRY(lli_miscalibration_runs_init(&u->runs, u->ctx, curve, e->bin, e->bins));
    LLI_TRY(lli_miscalibration_p(&e->ece_p, u->ctx, curve, &u->runs, e->ece, e->rules.seed));
    u->bins = (lli_statistic_bins){.gap = u->runs.gap, .end = u->runs.end, .count = u->runs.count, .n = curve->n};
    later(u, lli_statistic_ece, &u->bins, &e->intervals.ece);
    return LL_OK;
}

ll_status lli_uncertainty_finish(lli_uncertainty *u) {
    const ll_evaluation *e = u->out;
    lli_resample plan = {.n = e->n, .n_out = e->n_out, .seed = e->rules.seed, .count = u->count, .statistic = u->statistic, .arg = u->arg};
    double *values = NULL;
    ll_status status = LL_OK;
    if (u->count == 0)
        return LL_OK;
    LLI_DO(lli_memory_new(u->ctx, &values, u->count * LLI_RESAMPLE_DRAWS, sizeof *values));
    LLI_DO(lli_resample_run(values, u->ctx, &plan));
    for (int64_t i = 0; i < u->count; i++) {
        ll_interval middle = lli_resample_middle(values + i * LLI_RESAMPLE_DRAWS, e->rules.interval);
        bool reflect = u->statistic[i] == lli_statistic_ece, all_equal = middle.lo == middle.hi;
        *u->interval[i] = all_equal ? lli_interval_none
                          : reflect ? (ll_interval){fmax(0, 2 * e->ece - middle.hi), fmax(0, 2 * e->ece - middle.lo)}
                                    : middle;
    }
done:
    lli_memory_free(values);
    return status;
}
