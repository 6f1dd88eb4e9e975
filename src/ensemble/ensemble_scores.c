/* SPDX-License-Identifier: MIT */
/* The scores of an ensemble that comes from a file. */
#include "base/memory.h"
#include "ensemble/ensemble.h"

/* Weighted mean over what is stored of a head. */
static ll_status mean_theta(ll_context *ctx, ll_ensemble *e) {
    const lli_ensemble_plan *p = &e->plan;
    int64_t count[2] = {p->K * p->D, p->K};
    float *theta[2] = {NULL, NULL};
    double total = 0;
    ll_status status;
    for (int64_t s = 0; s < p->stored; s++)
        total += p->weight[s];
    for (int t = 0; t < 2; t++) {
        LLI_DO(lli_memory_new(ctx, &theta[t], count[t], sizeof(float)));
        for (int64_t i = 0; i < count[t]; i++) {
            double sum = 0;
            for (int64_t s = 0; s < p->stored; s++)
                sum += (p->stored > 1 ? p->weight[s] / total : 1) * (double)e->tensor[t][s * count[t] + i];
            theta[t][i] = (float)sum;
        }
    }
    LLI_DO(lli_scores_theta(ctx, &e->plan.scores, theta[0], theta[1], p->K, p->D));
done:
    lli_memory_free(theta[0]);
    lli_memory_free(theta[1]);
    return status;
}

ll_status lli_ensemble_take_scores(ll_context *ctx, ll_ensemble *e, const ll_bundle *bundle, const char *path) {
    lli_scores *s = &e->plan.scores;
    const char *names = lli_provenance_get(&e->plan.provenance, LLI_SCORES_ENTRY);
    if (!names)
        return LL_OK;
    if (lli_scores_parse(ctx, &s->which, names, path) != LL_OK || !s->which)
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: the metadata entry " LLI_SCORES_ENTRY " is %.60s; expected names of " LL_SCORE_NAMES " with commas", path,
                        names);
    if (e->network)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry " LLI_SCORES_ENTRY " is for ensembles of heads", path);
    LLI_TRY(lli_scores_from(ctx, s, bundle, path, e->plan.K, e->plan.D));
    return lli_scores_need(s->which, LLI_SCORES_THETA_W) && !s->at[LLI_SCORES_THETA_W] ? mean_theta(ctx, e) : LL_OK;
}
