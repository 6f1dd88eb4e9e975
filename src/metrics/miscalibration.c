/* SPDX-License-Identifier: MIT */
/* Labels are drawn anew from the confidences, in the bins that the points have. */
#include "metrics/miscalibration.h"

#include <math.h>

#include "base/memory.h"
#include "base/pool.h"
#include "metrics/resample.h"

ll_status lli_miscalibration_runs_init(lli_bin_runs *runs, ll_context *ctx, const lli_curve *curve, const ll_bin *bin, int64_t bins) {
    *runs = (lli_bin_runs){.count = bins + 1};
    LLI_TRY(lli_memory_new(ctx, &runs->end, runs->count, sizeof *runs->end));
    LLI_TRY(lli_memory_new(ctx, &runs->gap, curve->n, sizeof *runs->gap));
    int64_t inside = 0;
    for (int64_t b = 0; b < bins; b++)
        inside += bin[b].n;
    runs->end[0] = curve->n - inside; /* those in no bin have confidence 1, so they come first */
    for (int64_t b = 1; b <= bins; b++)
        runs->end[b] = runs->end[b - 1] + bin[bins - b].n;
    for (int64_t i = 0; i < curve->n; i++)
        runs->gap[i] = !lli_curve_is_marked(curve, i) - curve->items[i].key;
    return LL_OK;
}

void lli_miscalibration_runs_release(lli_bin_runs *runs) {
    lli_memory_free(runs->end);
    lli_memory_free(runs->gap);
    *runs = (lli_bin_runs){0};
}

typedef struct job {
    const lli_bin_runs *runs;
    const lli_chance *chance; /* [n] */
    const double *expected;   /* [runs] sum of the confidences */
    int64_t *right;           /* [workers, runs] */
    double *ece;              /* [draws] times n */
    uint64_t seed;
} job;

static ll_status draw_labels(ll_context *ctx, void *arg, int64_t draw, int worker) {
    const job *j = arg;
    int64_t count = j->runs->count, *right = j->right + count * worker;
    LLI_TRY(lli_cancel_check(ctx));
    lli_resample_labels(right, j->runs->end, count, j->chance, j->seed, draw);
    j->ece[draw] = 0;
    for (int64_t b = 1; b < count; b++)
        j->ece[draw] += fabs((double)right[b] - j->expected[b]);
    return LL_OK;
}

static void expect(double *expected, lli_chance *chance, const lli_curve *curve, const lli_bin_runs *runs) {
    for (int64_t b = 0, i = 0; b < runs->count; b++)
        for (; i < runs->end[b]; i++) {
            expected[b] += curve->items[i].key;
            chance[i] = lli_resample_chance(curve->items[i].key);
        }
}

ll_status lli_miscalibration_p(double *p, ll_context *ctx, const lli_curve *curve, const lli_bin_runs *runs, double ece, uint64_t seed) {
    ll_status status;
    lli_chance *chance = NULL;
    double *expected = NULL, drawn[LLI_RESAMPLE_DRAWS];
    job j = {.runs = runs, .ece = drawn, .seed = seed};
    LLI_DO(lli_memory_new(ctx, &chance, curve->n, sizeof *chance));
    LLI_DO(lli_memory_new(ctx, &expected, runs->count, sizeof *expected));
    LLI_DO(lli_memory_new(ctx, &j.right, runs->count * lli_pool_workers(ctx), sizeof *j.right));
    expect(expected, chance, curve, runs);
    j.chance = chance;
    j.expected = expected;
    LLI_DO(lli_pool_run(ctx, draw_labels, &j, LLI_RESAMPLE_DRAWS));
    int64_t reached = 1;
    for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++)
        reached += drawn[d] >= ece * (double)curve->n * (1 - 1e-12); /* equal but for rounding is equal */
    *p = (double)reached / (LLI_RESAMPLE_DRAWS + 1);
done:
    lli_memory_free(chance);
    lli_memory_free(expected);
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
