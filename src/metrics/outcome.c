/* SPDX-License-Identifier: MIT */
/* Refuses outcomes that no metric can be made of. */
#include "metrics/outcome.h"

#include <inttypes.h>
#include <math.h>

#include "base/array.h"

static ll_status check_classes(ll_context *ctx, const int32_t *class, int64_t n, int64_t K, const char *what) {
    int64_t top = K > 0 ? K - 1 : INT32_MAX;
    for (int64_t i = 0; i < n; i++)
        if (class[i] < 0 || class[i] > top)
            return lli_fail(ctx, LL_ERR_DATA, "%s is %" PRId32 " in row %" PRId64 "; expected a class of 0..%" PRId64, what, class[i], i,
                            top);
    return LL_OK;
}

ll_status lli_outcome_check_points(ll_context *ctx, const ll_outcome *points) {
    char text[LLI_ARRAY_TEXT];
    if (points->n <= 0)
        return lli_fail(ctx, LL_ERR_DATA, "there is no point to evaluate");
    if (!points->label || !points->truth)
        return lli_fail(ctx, LL_ERR_DATA, "the predictions have no %s; metrics need both the decided and the true classes",
                        points->label ? "true classes" : "decided classes");
    const ll_array *probs = &points->probs;
    int64_t K = probs->data && points->classes == 0 ? probs->shape[1] : points->classes;
    if (probs->data && (probs->rank != 2 || probs->shape[0] != points->n || probs->shape[1] != K || K < 1))
        return lli_fail(ctx, LL_ERR_DATA, "probs is %s; expected [%" PRId64 ",%" PRId64 "]", lli_array_text(text, probs), points->n, K);
    LLI_TRY(check_classes(ctx, points->truth, points->n, K, "the true class"));
    LLI_TRY(check_classes(ctx, points->label, points->n, K, "the decided class"));
    return points->vote ? check_classes(ctx, points->vote, points->n, K, "the vote") : LL_OK;
}

/* Whether the confidence exists, and that every row has it. */
ll_status lli_outcome_check_confidence(bool *exists, ll_context *ctx, const ll_outcome *points, ll_confidence c, const char *where) {
    const double *x = points->confidence[c];
    *exists = false;
    if (!x)
        return LL_OK;
    int64_t missing = 0, first = -1;
    for (int64_t i = 0; i < points->n; i++)
        if (isnan(x[i])) {
            missing++;
            first = first < 0 ? i : first;
        }
    if (missing == points->n && ll_confidence_needs_members(c))
        return LL_OK;
    if (missing)
        return lli_fail(ctx, LL_ERR_DATA, "confidence %s is NaN in row %" PRId64 "%s; every point needs a number", ll_confidence_name(c),
                        first, where);
    *exists = true;
    return LL_OK;
}

ll_status lli_outcome_check_sr(ll_context *ctx, const ll_outcome *points) {
    const double *sr = points->confidence[LL_CONFIDENCE_SR];
    for (int64_t i = 0; sr && i < points->n; i++)
        if (sr[i] < 0 || sr[i] > 1 + 1e-3)
            return lli_fail(ctx, LL_ERR_DATA, "confidence sr is %g in row %" PRId64 "; expected a probability in [0,1]", sr[i], i);
    for (int64_t i = 0; points->sr_tail && i < points->n; i++)
        if (isnan(points->sr_tail[i]))
            return lli_fail(ctx, LL_ERR_DATA, "sr_tail is NaN in row %" PRId64 "; every point needs a number", i);
    return LL_OK;
}

void lli_outcome_mark_errors(uint8_t *mark, const int32_t *decided, const ll_outcome *points) {
    for (int64_t i = 0; i < points->n; i++)
        mark[i] = decided[i] != points->truth[i];
}
