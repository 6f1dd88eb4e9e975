/* SPDX-License-Identifier: MIT */
/* Questions to an ensemble: do its members differ by more than rounding, does it still know what its start knew, and as surely? */
#include "metrics/warning_signs.h"

#include <math.h>

#include "base/memory.h"
#include "metrics/outcome.h"
#include "metrics/sort.h"

ll_status lli_warning_signs_spread(double *out, ll_context *ctx, const ll_outcome *points) {
    const double *sr = points->confidence[LL_CONFIDENCE_SR], *std = points->confidence[LL_CONFIDENCE_STD];
    *out = NAN;
    if (!lli_outcome_has(points, LL_CONFIDENCE_STD))
        return LL_OK;
    lli_sort_item *items, *scratch;
    LLI_TRY(lli_memory_new(ctx, &items, 2 * points->n, sizeof *items));
    scratch = items + points->n;
    int64_t count = 0;
    for (int64_t i = 0; i < points->n; i++) {
        double p = sr[i], tail = points->sr_tail[i], noise = 0x1p-24 * (1 + fabs(log(p / tail))) * p * tail;
        if (noise > 0 && isfinite(noise))
            items[count++] = (lli_sort_item){fabs(std[i]) / noise, i};
    }
    lli_sort_descending(items, scratch, count);
    if (count)
        *out = items[count / 2].key;
    lli_memory_free(items);
    return LL_OK;
}

/* The standard error of (lost - won) is sqrt(lost + won), as McNemar's test has it. */
lli_loss lli_warning_signs_loss(const ll_outcome *points, const ll_outcome *before) {
    int64_t lost = 0, won = 0;
    lli_loss loss = {0};
    for (int64_t i = 0; i < points->n; i++) {
        bool now = points->label[i] == points->truth[i], then = before->label[i] == before->truth[i];
        loss.right += now;
        loss.right_before += then;
        lost += then && !now;
        won += now && !then;
    }
    loss.certain = (double)(lost - won) > 0.05 * (double)points->n + 3 * sqrt((double)(lost + won));
    return loss;
}

double lli_warning_signs_unsure(const ll_outcome *points) {
    double sum = 0;
    for (int64_t i = 0; i < points->n; i++)
        sum += (points->label[i] == points->truth[i]) - points->confidence[LL_CONFIDENCE_SR][i];
    return sum / (double)points->n;
}
