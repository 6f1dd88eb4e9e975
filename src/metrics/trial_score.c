/* SPDX-License-Identifier: MIT */
/* An evaluation without its bins, bands and rules. */
#include "metrics/trial_score.h"

#define ONE(member) \
    { #member, offsetof(ll_score, member), false }
#define EACH(member) \
    { #member, offsetof(ll_score, member), true }

const lli_trial_score_field lli_trial_score_fields[] = {
    ONE(accuracy), ONE(nll), ONE(brier), ONE(ece), ONE(mce), EACH(aurc), EACH(auroc), EACH(aupr_in), EACH(aupr_out), EACH(fpr95),
};
const size_t lli_trial_score_field_count = LLI_COUNT(lli_trial_score_fields);

void lli_trial_score_take(ll_score *score, const ll_evaluation *e) {
    *score = (ll_score){
        .n = e->n, .errors = e->errors, .accuracy = e->accuracy, .nll = e->nll, .brier = e->brier, .ece = e->ece, .mce = e->mce};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        score->aurc[c] = e->selective[c].aurc;
        score->auroc[c] = e->ood[c].auroc;
        score->aupr_in[c] = e->ood[c].aupr_in;
        score->aupr_out[c] = e->ood[c].aupr_out;
        score->fpr95[c] = e->ood[c].fpr95;
    }
}
