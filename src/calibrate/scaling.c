/* SPDX-License-Identifier: MIT */
/* The parameters of the search are x = (v, c), v one number or [K]. */
#include "calibrate/scaling.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minimise.h"

static const double TOLERANCE = 1e-10, NOISE = 1e-14;
enum { ITERATIONS_MAX = 1000 };

typedef struct problem {
    const lli_evidence *e;
    int64_t scales; /* 1 or K */
    double beta;
    const double *x; /* [scales + K] */
    double *sums;    /* [1 + scales + K]: NLL, then the gradient */
    double nll;      /* at the last x */
} problem;

void lli_scaling_normalise(double *f, int64_t K) {
    double most = f[0], sum = 0;
    for (int64_t k = 1; k < K; k++)
        most = fmax(most, f[k]);
    for (int64_t k = 0; k < K; k++)
        sum += exp(f[k] - most);
    double total = log(sum);
    for (int64_t k = 0; k < K; k++)
        f[k] = f[k] - most - total;
}

/* The gradient of -log p_y in v_k is (p_k - 1{k = y}) f_k, in c_k without f_k. */
static void visit(double *sum, const lli_evidence *e, const void *arg, double *f, int64_t first, int64_t n) {
    const problem *p = arg;
    int64_t K = e->K;
    const double *v = p->x, *c = p->x + p->scales;
    double *gv = sum + 1, *gc = sum + 1 + p->scales;
    bool vector = p->scales > 1;
    for (int64_t i = 0; i < n; i++) {
        double *row = f + i * K, most = -INFINITY, total = 0;
        int32_t y = e->truth[first + i];
        lli_scaling_normalise(row, K);
        for (int64_t k = 0; k < K; k++)
            most = fmax(most, v[vector ? k : 0] * row[k] + c[k]);
        for (int64_t k = 0; k < K; k++)
            total += exp(v[vector ? k : 0] * row[k] + c[k] - most);
        sum[0] += log(total) + most - (v[vector ? y : 0] * row[y] + c[y]);
        for (int64_t k = 0; k < K; k++) {
            double d = exp(v[vector ? k : 0] * row[k] + c[k] - most) / total - (k == y);
            gv[vector ? k : 0] += d * row[k];
            gc[k] += d;
        }
    }
}

static ll_status evaluate(ll_context *ctx, void *arg, double *value, double *norm, double *g, const double *x) {
    problem *p = arg;
    int64_t count = p->scales + p->e->K;
    double n = (double)p->e->n, ridge = 0, square = 0;
    p->x = x;
    LLI_TRY(lli_evidence_pass(ctx, p->e, p->sums, 1 + count, visit, p));
    for (int64_t j = 0; j < count; j++) {
        double d = x[j] - (j < p->scales ? p->beta : 0);
        ridge += d * d;
        g[j] = (p->sums[1 + j] + d) / n;
        square += g[j] * g[j];
    }
    p->nll = p->sums[0] / n;
    *value = p->nll + ridge / (2 * n);
    *norm = sqrt(square);
    return LL_OK;
}

ll_status lli_scaling_fit(ll_context *ctx, lli_scaling *out, double *scale, double *shift, const lli_evidence *e, lli_scaling_kind kind,
                          double beta) {
    int64_t K = e->K;
    problem p = {.e = e, .scales = kind == LLI_SCALING_VECTOR ? K : 1, .beta = beta};
    double *x = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &x, p.scales + K, sizeof *x));
    LLI_DO(lli_memory_new(ctx, &p.sums, 1 + p.scales + K, sizeof *p.sums));
    for (int64_t j = 0; j < p.scales; j++)
        x[j] = beta;
    lli_minimise m = {
        .n = p.scales + K,
        .function = evaluate,
        .arg = &p,
        .tolerance = TOLERANCE,
        .iterations_max = ITERATIONS_MAX,
        .noise = NOISE,
        .what = "calibrating",
    };
    LLI_DO(lli_minimise_run(ctx, &m, x));
    for (int64_t k = 0; k < K; k++)
        scale[k] = x[p.scales > 1 ? k : 0];
    memcpy(shift, x + p.scales, (size_t)K * sizeof *shift);
    *out = (lli_scaling){.nll = p.nll, .norm = m.norm, .converged = m.norm <= m.tolerance, .iterations = m.iterations};
done:
    lli_memory_free(x);
    lli_memory_free(p.sums);
    return status;
}
