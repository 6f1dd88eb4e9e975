/* SPDX-License-Identifier: MIT */
/* Labels by thinning: in a run whose confidences lie in [lo, hi] every point is right with chance lo, wrong with chance 1 - hi, and looked
 * at with chance hi - lo. The first two are counts of the run; who is looked at is right with chance (p - lo)/(hi - lo). */
#include "metrics/bin_runs.h"

#include <math.h>

#include "base/memory.h"
#include "base/pool.h"
#include "metrics/digits.h"
#include "metrics/resample.h"
#include "metrics/special.h"

enum { RUN = 4096 };

static int64_t begin_of(const lli_bin_runs *runs, int64_t b) {
    return b ? runs->end[b - 1] : 0;
}

/* Right points to the front of their bin, wrong ones behind them, each by falling confidence. */
static void take_points(lli_bin_runs *runs, const lli_curve *curve) {
    for (int64_t b = 0; b < runs->count; b++) {
        int64_t begin = begin_of(runs, b), next[2] = {begin, runs->end[b]};
        for (int64_t i = begin; i < runs->end[b]; i++)
            next[1] -= lli_curve_is_marked(curve, i);
        runs->wrong[b] = next[1];
        for (int64_t i = begin; i < runs->end[b]; i++) {
            runs->confidence[next[lli_curve_is_marked(curve, i)]++] = curve->items[i].key;
            runs->expected[b] += curve->items[i].key;
        }
    }
}

static void take_ranges(lli_bin_runs *runs) {
    int64_t r = 0;
    for (int64_t b = 0; b < runs->count; b++)
        for (int64_t first = begin_of(runs, b); first < runs->end[b]; first += RUN, r++) {
            runs->lo[r] = 1;
            runs->hi[r] = 0;
            for (int64_t i = first; i < LLI_MIN(runs->end[b], first + RUN); i++) {
                runs->lo[r] = fmin(runs->lo[r], fmax(runs->confidence[i], 0));
                runs->hi[r] = fmax(runs->hi[r], fmin(runs->confidence[i], 1));
            }
        }
}

ll_status lli_bin_runs_init(lli_bin_runs *runs, ll_context *ctx, const lli_curve *curve, const ll_bin *bin, int64_t bins) {
    *runs = (lli_bin_runs){.count = bins + 1};
    int64_t most = curve->n / RUN + runs->count, inside = 0;
    LLI_TRY(lli_memory_new(ctx, &runs->end, runs->count, sizeof *runs->end));
    LLI_TRY(lli_memory_new(ctx, &runs->wrong, runs->count, sizeof *runs->wrong));
    LLI_TRY(lli_memory_new(ctx, &runs->expected, runs->count, sizeof *runs->expected));
    LLI_TRY(lli_memory_new(ctx, &runs->confidence, curve->n, sizeof *runs->confidence));
    LLI_TRY(lli_memory_new(ctx, &runs->lo, most, sizeof *runs->lo));
    LLI_TRY(lli_memory_new(ctx, &runs->hi, most, sizeof *runs->hi));
    for (int64_t b = 0; b < bins; b++)
        inside += bin[b].n;
    runs->end[0] = curve->n - inside; /* those in no bin have confidence 1, so they come first */
    for (int64_t b = 1; b <= bins; b++)
        runs->end[b] = runs->end[b - 1] + bin[bins - b].n;
    take_points(runs, curve);
    take_ranges(runs);
    return LL_OK;
}

void lli_bin_runs_release(lli_bin_runs *runs) {
    lli_memory_free(runs->end);
    lli_memory_free(runs->wrong);
    lli_memory_free(runs->expected);
    lli_memory_free(runs->confidence);
    lli_memory_free(runs->lo);
    lli_memory_free(runs->hi);
    *runs = (lli_bin_runs){0};
}

/* How many of `count` different points of the run, all equally likely, come out right. */
static int64_t look_at(const double *confidence, int64_t size, int64_t count, double lo, double hi, lli_digits *digits) {
    uint64_t seen[RUN / 64] = {0};
    int64_t right = 0;
    while (count > 0) {
        uint32_t i = lli_digits_below(digits, (uint32_t)size);
        if (seen[i / 64] >> i % 64 & 1)
            continue;
        seen[i / 64] |= UINT64_C(1) << i % 64;
        right += lli_digits_share(digits) * (hi - lo) < confidence[i] - lo;
        count--;
    }
    return right;
}

void lli_bin_runs_labels(int64_t *right, const lli_bin_runs *runs, uint64_t seed, int64_t draw) {
    lli_digits counts = lli_digits_of(seed, LLI_DIGITS_LABELS, draw), places = lli_digits_of(seed, LLI_DIGITS_LABEL_PLACES, draw);
    int64_t r = 0;
    for (int64_t b = 0; b < runs->count; b++) {
        right[b] = 0;
        for (int64_t first = begin_of(runs, b); first < runs->end[b]; first += RUN, r++) {
            int64_t size = LLI_MIN(runs->end[b] - first, (int64_t)RUN);
            double lo = runs->lo[r], hi = runs->hi[r];
            int64_t surely = lli_digits_binomial(&counts, size, lo);
            right[b] += surely;
            if (hi > lo)
                right[b] += look_at(runs->confidence + first, size, lli_digits_binomial(&counts, size - surely, (hi - lo) / (1 - lo)), lo,
                                    hi, &places);
        }
    }
}

/* Mean and standard deviation of the confidences of the right or wrong points of a bin, for sums of many. */
typedef struct spread {
    double mean, deviation;
} spread;

static spread spread_of(const double *confidence, int64_t n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += confidence[i];
    double mean = n ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++)
        squares += (confidence[i] - mean) * (confidence[i] - mean);
    return (spread){mean, n ? sqrt(squares / (double)n) : 0};
}

typedef struct job {
    const lli_bin_runs *runs;
    const spread *spread; /* [count,2] of the right and the wrong points of each bin */
    uint64_t seed;
    double *values;
} job;

/* The sum of the confidences of `drawn` of n points, drawn with replacement. */
static double sum_of(const double *confidence, int64_t n, int64_t drawn, const spread *s, lli_digits *digits) {
    if (drawn > RUN)
        return (double)drawn * s->mean +
               sqrt((double)drawn) * s->deviation * lli_special_normal_quantile(lli_digits_share(digits) + 0x1p-54);
    double sum = 0;
    for (int64_t i = 0; i < drawn; i++)
        sum += confidence[lli_digits_below(digits, (uint32_t)n)];
    return sum;
}

static ll_status draw_points(ll_context *ctx, void *arg, int64_t draw, int worker) {
    (void)worker;
    const job *j = arg;
    const lli_bin_runs *runs = j->runs;
    int64_t n = runs->end[runs->count - 1], left = n;
    lli_digits counts = lli_digits_of(j->seed, LLI_DIGITS_BINS, draw), places = lli_digits_of(j->seed, LLI_DIGITS_BIN_PLACES, draw);
    double sum = 0;
    LLI_TRY(lli_cancel_check(ctx));
    for (int64_t b = 0; b < runs->count; b++) {
        int64_t begin = begin_of(runs, b), size = runs->end[b] - begin, wrong = runs->end[b] - runs->wrong[b];
        if (size == 0)
            continue;
        int64_t drawn = lli_digits_binomial(&counts, left, (double)size / (double)(n - begin));
        int64_t errors = lli_digits_binomial(&counts, drawn, (double)wrong / (double)size);
        left -= drawn;
        if (b == 0)
            continue;
        double right = sum_of(runs->confidence + begin, size - wrong, drawn - errors, &j->spread[2 * b], &places);
        sum += fabs((double)(drawn - errors) - right -
                    sum_of(runs->confidence + runs->wrong[b], wrong, errors, &j->spread[2 * b + 1], &places));
    }
    j->values[draw] = sum / (double)n;
    return LL_OK;
}

ll_status lli_bin_runs_ece(double *values, ll_context *ctx, const lli_bin_runs *runs, uint64_t seed) {
    spread *s = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &s, 2 * runs->count, sizeof *s));
    for (int64_t b = 0; b < runs->count; b++) {
        int64_t begin = begin_of(runs, b);
        s[2 * b] = spread_of(runs->confidence + begin, runs->wrong[b] - begin);
        s[2 * b + 1] = spread_of(runs->confidence + runs->wrong[b], runs->end[b] - runs->wrong[b]);
    }
    job j = {.runs = runs, .spread = s, .seed = seed, .values = values};
    LLI_DO(lli_pool_run(ctx, draw_points, &j, LLI_RESAMPLE_DRAWS));
done:
    lli_memory_free(s);
    return status;
}
