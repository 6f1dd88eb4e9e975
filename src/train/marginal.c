/* SPDX-License-Identifier: MIT */
/* tau |theta|^2 grows with tau and g falls: they meet once, and bisection finds where. Around it theta* is solved again. */
#include "train/marginal.h"

#include <math.h>

#include "train/solve.h"

enum { HALVINGS = 50, SOLVES_MAX = 30 };
static const double settled_at = 1e-3; /* relative */

/* g */
static double determined(const lli_curvature *c, double tau) {
    double sum = 0;
    for (int64_t i = 0; i < c->K; i++)
        for (int64_t j = 0; j < c->n; j++) {
            double eigenvalue = c->b[i] * c->a[j];
            sum += eigenvalue / (eigenvalue + tau);
        }
    return sum;
}

/* sum over classes of (x_k - mean)^2 */
static double spread(const float *x, int64_t K, int64_t stride) {
    double mean = 0, sum = 0;
    for (int64_t k = 0; k < K; k++)
        mean += (double)x[k * stride] / (double)K;
    for (int64_t k = 0; k < K; k++)
        sum += ((double)x[k * stride] - mean) * ((double)x[k * stride] - mean);
    return sum;
}

lli_marginal lli_marginal_at(const lli_curvature *c, const lli_curvature_head *head) {
    int64_t K = head->K, D = c->n - 1;
    double square = spread(head->b, K, 1), low = log(LLI_MARGINAL_LOW), high = log(LLI_MARGINAL_HIGH);
    for (int64_t j = 0; j < D; j++)
        square += spread(head->W + j, K, D);
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (exp(middle) * square < determined(c, exp(middle)))
            low = middle;
        else
            high = middle;
    }
    double tau = exp((low + high) / 2);
    return (lli_marginal){.tau = tau, .determined = determined(c, tau), .settled = true};
}

ll_status lli_marginal_solve(ll_context *ctx, lli_marginal *out, lli_curvature *c, ll_head *head, const ll_dataset *data, double tau,
                             bool diagonal) {
    const lli_curvature_head at = {head->K, head->W, head->b};
    int solves = 0;
    LLI_TRY(lli_curvature_init(ctx, c, data, &at, diagonal));
    *out = lli_marginal_at(c, &at);
    while (fabs(log(out->tau / tau)) > settled_at && solves < SOLVES_MAX) {
        tau = out->tau;
        lli_curvature_release(c);
        LLI_TRY(lli_solve_head(ctx, head, data, tau));
        solves++;
        LLI_TRY(lli_curvature_init(ctx, c, data, &at, diagonal));
        *out = lli_marginal_at(c, &at);
    }
    out->settled = fabs(log(out->tau / tau)) <= settled_at;
    out->tau = tau; /* the one that theta* belongs to */
    out->solves = solves;
    return LL_OK;
}
