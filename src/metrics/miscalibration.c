/* SPDX-License-Identifier: MIT */
/* Labels are drawn anew from the confidences, in the bins that the points have. */
#include "metrics/miscalibration.h"

#include <math.h>

#include "base/memory.h"
#include "base/pool.h"
#include "metrics/resample.h"

typedef struct job {
    const lli_bin_runs *runs;
    int64_t *right; /* [workers, runs] */
    double *ece;    /* [draws] times n */
    uint64_t seed;
} job;

static ll_status draw_labels(ll_context *ctx, void *arg, int64_t draw, int worker) {
    const job *j = arg;
    int64_t count = j->runs->count, *right = j->right + count * worker;
    LLI_TRY(lli_cancel_check(ctx));
    lli_bin_runs_labels(right, j->runs, j->seed, draw);
    j->ece[draw] = 0;
    for (int64_t b = 1; b < count; b++)
        j->ece[draw] += fabs((double)right[b] - j->runs->expected[b]);
    return LL_OK;
}

ll_status lli_miscalibration_p(double *p, ll_context *ctx, const lli_bin_runs *runs, double ece, uint64_t seed) {
    double drawn[LLI_RESAMPLE_DRAWS], n = (double)runs->end[runs->count - 1];
    job j = {.runs = runs, .ece = drawn, .seed = seed};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &j.right, runs->count * lli_pool_workers(ctx), sizeof *j.right));
    LLI_DO(lli_pool_run(ctx, draw_labels, &j, LLI_RESAMPLE_DRAWS));
    int64_t reached = 1;
    for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++)
        reached += drawn[d] >= ece * n * (1 - 1e-12); /* equal but for rounding is equal */
    *p = (double)reached / (LLI_RESAMPLE_DRAWS + 1);
done:
    lli_memory_free(j.right);
    return status;
}

double lli_miscalibration_l2(const ll_bin *bin, int64_t bins, int64_t n) {
    double sum = 0;
    for (int64_t b = 0; b < bins; b++) {
        double count = (double)bin[b].n, gap = bin[b].accuracy - bin[b].confidence;
        double chance = bin[b].n < 2 ? 0 : bin[b].accuracy * (1 - bin[b].accuracy) / (count - 1);
        sum += bin[b].n ? count / (double)n * (gap * gap - chance) : 0;
    }
    return sum;
}
