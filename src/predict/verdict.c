/* SPDX-License-Identifier: MIT */
/* From a verdict to the confidences. */
#include "predict/verdict.h"

#include <math.h>

int64_t lli_verdict_vote_piece(double share) {
    return share > 0 ? llrint(-share * log(share) / LLI_VERDICT_UNIT) : 0;
}

static double confidence(const lli_verdict *v, ll_confidence c) {
    if (v->members == 1 && ll_confidence_needs_members(c))
        return NAN;
    /* 0 - x, so that no uncertainty is 0 and not -0 */
    switch (c) {
    case LL_CONFIDENCE_SR: return v->most;
    case LL_CONFIDENCE_STD: return 0 - v->spread;
    case LL_CONFIDENCE_HQ: return 0 - v->vote_entropy;
    case LL_CONFIDENCE_MAXMIN: return 0 - v->range;
    case LL_CONFIDENCE_ENTROPY: return 0 - v->mixed;
    case LL_CONFIDENCE_MI: return 0 - v->information;
    case LL_CONFIDENCE_MARGIN: return v->margin;
    default: break;
    }
    return NAN;
}

/* log(1 - x) with the digits of whichever is known better, x or its tail 1 - x. */
static double log_of_tail(double x, double tail) {
    return x < 0.5 ? log1p(-x) : log(tail);
}

void lli_verdict_write(ll_prediction *out, int64_t at, const lli_verdict *v) {
    if (out->label)
        out->label[at] = (int32_t)v->label;
    if (out->vote)
        out->vote[at] = (int32_t)v->vote;
    if (out->sr_tail)
        out->sr_tail[at] = v->tail;
    if (out->sr_logtail)
        out->sr_logtail[at] = v->saturated ? v->log_tail : log_of_tail(v->most, v->tail);
    if (out->margin_logtail)
        out->margin_logtail[at] = v->saturated ? v->log_margin_tail : log_of_tail(v->margin, v->tail + v->second);
    for (int c = 0; c <= LL_CONFIDENCE_MARGIN; c++)
        if (out->confidence[c])
            out->confidence[c][at] = confidence(v, (ll_confidence)c);
    uintptr_t scores = 0; /* seldom asked for: a look at all of them at once */
    for (int c = LL_CONFIDENCE_MARGIN + 1; c < LL_CONFIDENCE_COUNT; c++)
        scores |= (uintptr_t)out->confidence[c];
    for (int c = LL_CONFIDENCE_MARGIN + 1; scores && c < LL_CONFIDENCE_COUNT; c++)
        if (out->confidence[c])
            out->confidence[c][at] = NAN; /* made of features, not of members */
}
