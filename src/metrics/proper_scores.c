/* SPDX-License-Identifier: MIT */
/* Sums over points are compensated (the lost low part is kept and added at the end), so that the order of the points does not show. */
#include "metrics/proper_scores.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "base/array.h"
#include "base/costs.h"
#include "base/memory.h"
#include "base/pool.h"

enum { BLOCK = 256 }; /* rows per task */

typedef struct total {
    double sum, low;
} total;

static void total_add(total *t, double x) {
    double sum = t->sum + x;
    double big = fabs(t->sum) >= fabs(x) ? t->sum : x, small = fabs(t->sum) >= fabs(x) ? x : t->sum;
    t->low += (big - sum) + small;
    t->sum = sum;
}

static double total_mean(const total *t, int64_t n) {
    return (t->sum + t->low) / (double)n;
}

/* Standard error of the mean: sd/sqrt(n). */
static double total_error(const total *t, const total *squares, int64_t n) {
    double mean = total_mean(t, n), spread = total_mean(squares, n) - mean * mean;
    return n < 2 ? NAN : sqrt(fmax(0, spread) / (double)(n - 1));
}

/* p [K] / sum p: rows sum to 1 only as nearly as their type allows. */
static void normalise(double *p, int64_t K) {
    double sum = 0;
    for (int64_t k = 0; k < K; k++)
        sum += p[k];
    for (int64_t k = 0; sum > 0 && k < K; k++)
        p[k] /= sum;
}

ll_status lli_proper_scores_measure(lli_proper_scores *out, ll_context *ctx, const ll_array *probs, const int32_t *truth,
                                    const double *log_true, double *rows) {
    ll_status status = LL_OK;
    int64_t N = probs->shape[0], K = probs->shape[1];
    total nll = {0}, brier = {0}, nll_squares = {0}, brier_squares = {0};
    double *p = NULL; /* [K] */
    *out = (lli_proper_scores){0};
    LLI_DO(lli_memory_new(ctx, &p, K, sizeof *p));
    for (int64_t i = 0; i < N; i++) {
        lli_array_to_f64(p, probs, i * K, K);
        normalise(p, K);
        bool known = log_true && !isnan(log_true[i]);
        double square = 0, logp = known ? log_true[i] : log(p[truth[i]]);
        out->rounded += !known && probs->dtype == LL_DTYPE_F32 && p[truth[i]] < FLT_MIN;
        for (int64_t k = 0; k < K; k++) {
            double gap = p[k] - (k == truth[i]);
            square += gap * gap;
        }
        total_add(&brier, square);
        total_add(&brier_squares, square * square);
        if (logp > -INFINITY) {
            total_add(&nll, -logp);
            total_add(&nll_squares, logp * logp);
        } else
            out->zeros++;
        if (rows) {
            rows[i] = -logp;
            rows[N + i] = square;
        }
    }
    out->brier = total_mean(&brier, N);
    out->nll = out->zeros ? INFINITY : total_mean(&nll, N);
    out->brier_error = total_error(&brier, &brier_squares, N);
    out->nll_error = out->zeros ? NAN : total_error(&nll, &nll_squares, N);
done:
    lli_memory_free(p);
    return status;
}

typedef struct decide_job {
    int32_t *decision;
    const ll_array *probs;
    const double *costs;
    double *space; /* [workers, 2 K]: probabilities, then expected costs */
} decide_job;

static ll_status decide_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    const decide_job *job = arg;
    int64_t N = job->probs->shape[0], K = job->probs->shape[1];
    double *p = job->space + 2 * K * worker, *expected = p + K;
    LLI_TRY(lli_cancel_check(ctx));
    for (int64_t i = task * BLOCK; i < LLI_MIN(N, (task + 1) * BLOCK); i++) {
        lli_array_to_f64(p, job->probs, i * K, K);
        job->decision[i] = lli_costs_decide(expected, p, job->costs, K);
    }
    return LL_OK;
}

ll_status lli_proper_scores_decide(int32_t *decision, ll_context *ctx, const ll_array *probs, const double *costs) {
    int64_t N = probs->shape[0], K = probs->shape[1];
    decide_job job = {.decision = decision, .probs = probs, .costs = costs};
    LLI_TRY(lli_memory_new(ctx, &job.space, 2 * K * lli_pool_workers(ctx), sizeof *job.space));
    ll_status status = lli_pool_run(ctx, decide_block, &job, (N + BLOCK - 1) / BLOCK);
    lli_memory_free(job.space);
    return status;
}

double lli_proper_scores_cost(const int32_t *decision, const int32_t *truth, int64_t n, const double *costs, int64_t K) {
    total cost = {0};
    for (int64_t i = 0; i < n; i++)
        total_add(&cost, costs[truth[i] * K + decision[i]]);
    return total_mean(&cost, n);
}
