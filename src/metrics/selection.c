/* SPDX-License-Identifier: MIT */
/* The argmin over finished trials. */
#include "metrics/selection.h"

#include <math.h>
#include <string.h>

const char *ll_split_name(ll_split split) {
    static const char *const names[] = {"val", "test", "all"};
    return split < LL_SPLIT_COUNT ? names[split] : "";
}

ll_status lli_selection_parse(lli_selection *out, ll_context *ctx, const char *protocol, const char *by) {
    bool paper = protocol && strcmp(protocol, "paper") == 0;
    if (protocol && !paper && strcmp(protocol, "honest") != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "--protocol is %.100s; expected honest or paper", protocol);
    static const char *const words[] = {"aurc", "aurc-hq", "auroc"};
    size_t rule = 0;
    while (by && rule < LLI_COUNT(words) && strcmp(by, words[rule]) != 0)
        rule++;
    if (rule == LLI_COUNT(words))
        return lli_fail(ctx, LL_ERR_USAGE, "--by is %.100s; expected aurc, aurc-hq or auroc", by);
    if (rule == LLI_SELECTION_AUROC && !paper)
        return lli_fail(ctx, LL_ERR_USAGE, "--by auroc chooses with the out-of-distribution rows, which only --protocol paper allows");
    *out = (lli_selection){(lli_selection_rule)rule, paper ? LL_SPLIT_ALL : LL_SPLIT_VAL, paper ? LL_SPLIT_ALL : LL_SPLIT_TEST};
    return LL_OK;
}

double lli_selection_aurc(const ll_score *score, bool hq) {
    double least = fmin(score->aurc[LL_CONFIDENCE_SR], score->aurc[LL_CONFIDENCE_STD]); /* fmin and fmax pass over NaN */
    return hq ? fmin(least, score->aurc[LL_CONFIDENCE_HQ]) : least;
}

double lli_selection_largest(const double values[LL_CONFIDENCE_COUNT]) {
    return fmax(fmax(values[LL_CONFIDENCE_SR], values[LL_CONFIDENCE_STD]), values[LL_CONFIDENCE_HQ]);
}

double lli_selection_value(const lli_selection *s, const ll_trial *trial) {
    if (trial->diverged)
        return INFINITY;
    const ll_score *score = &trial->score[s->chooses];
    double value = s->rule == LLI_SELECTION_AUROC ? -lli_selection_largest(score->auroc) : lli_selection_aurc(score, s->rule == LLI_SELECTION_AURC_HQ);
    return isnan(value) ? INFINITY : value;
}

int64_t lli_selection_best(const lli_selection *s, const ll_trial *trials, int64_t count, const char *method) {
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (method && strcmp(method, trials[i].method) != 0)
            continue;
        double value = lli_selection_value(s, &trials[i]);
        if (value < least) {
            best = i;
            least = value;
        }
    }
    return best;
}
