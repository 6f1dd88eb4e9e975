/* SPDX-License-Identifier: MIT */
/* Refuses outcomes that no metric can be made of. */
#include "metrics/outcome.h"

#include <inttypes.h>
#include <math.h>

#include "base/abi.h"
#include "base/array.h"

/* How far a probability may leave [0,1]: the rows of other programs sum to 1 only roughly. */
static const double SLACK = 1e-3;

static ll_status check_classes(ll_context *ctx, const char *name, const int32_t *class, int64_t n, int64_t K, const char *what) {
    int64_t top = K > 0 ? K - 1 : INT32_MAX;
    for (int64_t i = 0; class && i < n; i++)
        if (class[i] < 0 || class[i] > top)
            return lli_fail(ctx, LL_ERR_DATA, "%s: the %s is %" PRId32 " in row %" PRId64 "; expected a class of 0..%" PRId64, name, what,
                            class[i], i, top);
    return LL_OK;
}

static ll_status check_probs(ll_context *ctx, const char *name, const ll_array *probs, int64_t n, int64_t K) {
    enum { BLOCK = 1024 };
    char text[LLI_ARRAY_TEXT];
    double p[BLOCK];
    if (probs->rank != 2 || probs->shape[0] != n || probs->shape[1] != K || K < 1)
        return lli_fail(ctx, LL_ERR_DATA, "%s: probs is %s; expected [%" PRId64 ",%" PRId64 "]", name, lli_array_text(text, probs), n, K);
    for (int64_t first = 0; first < n * K; first += BLOCK) {
        int64_t count = LLI_MIN(n * K - first, (int64_t)BLOCK);
        LLI_TRY(lli_cancel_check(ctx));
        lli_array_to_f64(p, probs, first, count);
        for (int64_t i = 0; i < count; i++)
            if (!(p[i] >= -SLACK && p[i] <= 1 + SLACK))
                return lli_fail(ctx, LL_ERR_DATA, "%s: probs has %g in row %" PRId64 ", class %" PRId64 "; expected a probability in [0,1]",
                                name, p[i], (first + i) / K, (first + i) % K);
    }
    return LL_OK;
}

/* x [n]; one that needs members and is NaN in every row does not exist (S = 1), any other number that is not finite is refused. */
static ll_status check_confidence(ll_context *ctx, const char *name, const double *x, int64_t n, ll_confidence c) {
    int64_t bad = 0, first = -1;
    for (int64_t i = 0; x && i < n; i++)
        if (!isfinite(x[i])) {
            bad += isnan(x[i]);
            first = first < 0 ? i : first;
        }
    if (first < 0 || (bad == n && ll_confidence_needs_members(c)))
        return LL_OK;
    return lli_fail(ctx, LL_ERR_DATA, "%s: confidence %s is %s in row %" PRId64 "; every point needs a finite number", name,
                    ll_confidence_name(c), isnan(x[first]) ? "NaN" : "infinite", first);
}

static ll_status check_sr(ll_context *ctx, const char *name, const ll_outcome *points) {
    const double *sr = points->confidence[LL_CONFIDENCE_SR], *tail = points->sr_tail;
    for (int64_t i = 0; sr && i < points->n; i++)
        if (sr[i] < 0 || sr[i] > 1 + SLACK)
            return lli_fail(ctx, LL_ERR_DATA, "%s: confidence sr is %g in row %" PRId64 "; expected a probability in [0,1]", name, sr[i],
                            i);
    for (int64_t i = 0; tail && i < points->n; i++)
        if (!(tail[i] >= -SLACK && tail[i] <= 1 + SLACK))
            return lli_fail(ctx, LL_ERR_DATA, "%s: sr_tail is %g in row %" PRId64 "; expected a probability in [0,1]", name, tail[i], i);
    return LL_OK;
}

ll_status lli_outcome_take(ll_outcome *out, ll_context *ctx, const ll_outcome *given) {
    LLI_TRY(lli_abi_take(ctx, "ll_outcome", out, sizeof *out, given, LLI_ABI_UP_TO(ll_outcome, log_true)));
    if (out->n < 0 || out->classes < 0)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_outcome: n is %" PRId64 " and classes is %" PRId64 "; neither can be below 0", out->n,
                        out->classes);
    return out->probs.data ? lli_array_check(ctx, "ll_outcome: probs", &out->probs) : LL_OK;
}

static ll_status check_logs(ll_context *ctx, const char *name, const ll_outcome *points) {
    const struct {
        const char *name;
        const double *x;
        bool unknown; /* NaN is one that is not known */
    } logs[] = {
        {"sr_logtail", points->sr_logtail, false},
        {"margin_logtail", points->margin_logtail, false},
        {"log_true", points->log_true, true},
    };
    for (size_t a = 0; a < LLI_COUNT(logs); a++)
        for (int64_t i = 0; logs[a].x && i < points->n; i++) {
            double x = logs[a].x[i];
            if (x > SLACK || (isnan(x) && !logs[a].unknown))
                return lli_fail(ctx, LL_ERR_DATA, "%s: %s is %g in row %" PRId64 "; expected the logarithm of a probability, 0 or less",
                                name, logs[a].name, x, i);
        }
    return LL_OK;
}

ll_status lli_outcome_check(ll_context *ctx, const char *name, const ll_outcome *points) {
    const ll_array *probs = &points->probs;
    int64_t n = points->n, K = probs->data && points->classes == 0 ? probs->shape[1] : points->classes;
    if (n <= 0)
        return lli_fail(ctx, LL_ERR_DATA, "%s: there is no point to evaluate", name);
    if (probs->data)
        LLI_TRY(check_probs(ctx, name, probs, n, K));
    LLI_TRY(check_classes(ctx, name, points->truth, n, K, "true class"));
    LLI_TRY(check_classes(ctx, name, points->label, n, K, "decided class"));
    LLI_TRY(check_classes(ctx, name, points->vote, n, K, "vote"));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        LLI_TRY(check_confidence(ctx, name, points->confidence[c], n, c));
    LLI_TRY(check_sr(ctx, name, points));
    return check_logs(ctx, name, points);
}

ll_status lli_outcome_check_truth(ll_context *ctx, const char *name, const ll_outcome *points) {
    LLI_TRY(lli_outcome_check(ctx, name, points));
    if (!points->label || !points->truth)
        return lli_fail(ctx, LL_ERR_DATA, "%s: they have no %s; metrics need both the decided and the true classes", name,
                        points->label ? "true classes" : "decided classes");
    return LL_OK;
}

bool lli_outcome_has(const ll_outcome *points, ll_confidence c) {
    return points->confidence[c] && !isnan(points->confidence[c][0]);
}

static const double *tail_of(const ll_outcome *points, ll_confidence c, bool logarithm) {
    if (c == LL_CONFIDENCE_SR)
        return logarithm ? points->sr_logtail : points->sr_tail;
    return c == LL_CONFIDENCE_MARGIN && logarithm ? points->margin_logtail : NULL;
}

const double *lli_outcome_ranking(bool *falling, const ll_outcome *points, ll_confidence c, const ll_outcome *beside) {
    *falling = true;
    for (int logarithm = 1; logarithm >= 0; logarithm--)
        if (tail_of(points, c, logarithm) && (!beside || tail_of(beside, c, logarithm)))
            return tail_of(points, c, logarithm);
    *falling = false;
    return points->confidence[c];
}

void lli_outcome_mark_errors(uint8_t *mark, const int32_t *decided, const ll_outcome *points) {
    for (int64_t i = 0; i < points->n; i++)
        mark[i] = decided[i] != points->truth[i];
}
