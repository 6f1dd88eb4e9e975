/* SPDX-License-Identifier: MIT */
/* simulate_intervals TRIALS: how often each interval holds the truth on simulated rows, as JSON. docs/results/promises has a table. What is
 * resampled takes a thousand times as long as the rest and is compared with numpy's bootstrap elsewhere, so it is left out here: the linker
 * puts the functions below in place of the draws. */
#include "metrics/coverage_draw.h"
#include "metrics/interval_simulation.h"
#include "metrics/miscalibration.h"
#include "metrics/resample.h"

ll_status __wrap_lli_resample_run(double *values, ll_context *ctx, const lli_resample *plan);
ll_status __wrap_lli_coverage_draw(double *values, ll_context *ctx, const uint8_t *const *code, int64_t count, int64_t n, double risk,
                                   uint64_t seed);
ll_status __wrap_lli_bin_runs_ece(double *values, ll_context *ctx, const lli_bin_runs *runs, uint64_t seed);
ll_status __wrap_lli_miscalibration_p(double *p, ll_context *ctx, const lli_bin_runs *runs, double ece, uint64_t seed);

ll_status __wrap_lli_resample_run(double *values, ll_context *ctx, const lli_resample *plan) {
    (void)ctx;
    memset(values, 0, (size_t)plan->count * LLI_RESAMPLE_DRAWS * sizeof *values);
    return LL_OK;
}

ll_status __wrap_lli_coverage_draw(double *values, ll_context *ctx, const uint8_t *const *code, int64_t count, int64_t n, double risk,
                                   uint64_t seed) {
    (void)ctx, (void)code, (void)n, (void)risk, (void)seed;
    memset(values, 0, (size_t)count * LLI_RESAMPLE_DRAWS * sizeof *values);
    return LL_OK;
}

ll_status __wrap_lli_bin_runs_ece(double *values, ll_context *ctx, const lli_bin_runs *runs, uint64_t seed) {
    (void)ctx, (void)runs, (void)seed;
    memset(values, 0, LLI_RESAMPLE_DRAWS * sizeof *values);
    return LL_OK;
}

ll_status __wrap_lli_miscalibration_p(double *p, ll_context *ctx, const lli_bin_runs *runs, double ece, uint64_t seed) {
    (void)ctx, (void)runs, (void)ece, (void)seed;
    *p = 1;
    return LL_OK;
}

int main(int argc, char **argv) {
    int64_t trials = argc > 1 ? atoll(argv[1]) : 0;
    if (trials < 1) {
        fprintf(stderr, "usage: simulate_intervals TRIALS\n");
        return 2;
    }
    ll_context *ctx = check_context(1);
    printf("{\"trials\": %lld, \"cases\": [", (long long)trials);
    for (size_t i = 0; i < LLI_COUNT(interval_cases); i++) {
        const interval_case *c = &interval_cases[i];
        interval_tally t = interval_run(ctx, c, 0, trials);
        printf("%s\n {\"n\": %lld, \"rate\": %g, \"errors\": %g", i ? "," : "", (long long)c->n, c->rate, c->rate * (double)c->n);
        for (ll_metric m = 0; m < LL_METRIC_COUNT; m++)
            if (!interval_resampled(m))
                printf(", \"%s\": [%.6g, %.6g]", ll_metric_name(m), (double)t.inside[m] / (double)t.defined[m],
                       (double)t.paired[m] / (double)t.paired_defined[m]);
        printf("}");
    }
    printf("]}\n");
    ll_context_free(ctx);
    return 0;
}
