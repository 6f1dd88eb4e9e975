/* SPDX-License-Identifier: MIT */
/* Values may carry noise, such as the rounding of f32 logits: near the end, where they no longer show progress, the slope alone decides. */
#include "base/minimise.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Pairs kept: as many as HISTORY_BYTES hold, within limits; trials per line. */
enum { HISTORY_MIN = 20, HISTORY_MAX = 100, HISTORY_BYTES = 128 << 20, TRIALS_MAX = 40 };

static const double sufficient = 1e-4, curvature = 0.9;

typedef struct search {
    lli_minimise *m;
    int64_t n;
    double *x, *g;             /* point and gradient; x is the caller's */
    double *x_new, *g_new, *d; /* trial and direction */
    double norm;               /* as the function returned it last */
    int64_t history;           /* pairs kept at most */
    double *s, *y;             /* [history,n] differences of points and gradients */
    double rho[HISTORY_MAX];   /* 1 / <s,y> */
    int64_t pairs;             /* made so far; the last are kept */
    double value, slope;
} search;

static ll_status dot(ll_context *ctx, const search *v, double *sum, const double *a, const double *b) {
    if (v->m->dot)
        return v->m->dot(ctx, v->m->arg, sum, a, b);
    *sum = 0;
    for (int64_t i = 0; i < v->n; i++)
        *sum += a[i] * b[i];
    return LL_OK;
}

static void add_scaled(double *a, double scale, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        a[i] += scale * b[i];
}

static ll_status evaluate(ll_context *ctx, search *v, double *value, double *g, const double *x) {
    return v->m->function(ctx, v->m->arg, value, &v->norm, g, x);
}

/* d = -H g by the two-loop recursion. */
static ll_status find_direction(ll_context *ctx, search *v) {
    int64_t n = v->n, kept = LLI_MIN(v->pairs, v->history);
    double alpha[HISTORY_MAX], product;
    for (int64_t i = 0; i < n; i++)
        v->d[i] = -v->g[i];
    for (int64_t p = v->pairs - 1; p >= v->pairs - kept; p--) {
        int64_t slot = p % v->history;
        LLI_TRY(dot(ctx, v, &product, v->s + slot * n, v->d));
        alpha[slot] = v->rho[slot] * product;
        add_scaled(v->d, -alpha[slot], v->y + slot * n, n);
    }
    if (kept) {
        int64_t slot = (v->pairs - 1) % v->history;
        const double *y = v->y + slot * n;
        LLI_TRY(dot(ctx, v, &product, y, y));
        double scale = 1 / (v->rho[slot] * product);
        for (int64_t i = 0; i < n; i++)
            v->d[i] *= scale;
    }
    for (int64_t p = v->pairs - kept; p < v->pairs; p++) {
        int64_t slot = p % v->history;
        LLI_TRY(dot(ctx, v, &product, v->y + slot * n, v->d));
        add_scaled(v->d, alpha[slot] - v->rho[slot] * product, v->s + slot * n, n);
    }
    return dot(ctx, v, &v->slope, v->g, v->d);
}

/* Finds a step that meets both Wolfe conditions; x_new, g_new and *value are of that point. False if none was found. */
static ll_status search_line(ll_context *ctx, search *v, double *value, bool *found) {
    double low = 0, high = INFINITY, t = 1, slope, square;
    if (!v->pairs) {
        LLI_TRY(dot(ctx, v, &square, v->g, v->g));
        t = 1 / sqrt(square);
    }
    double noise = v->m->noise * fmax(1, fabs(v->value));
    *found = false;
    for (int trial = 0; trial < TRIALS_MAX; trial++) {
        for (int64_t i = 0; i < v->n; i++)
            v->x_new[i] = v->x[i] + t * v->d[i];
        LLI_TRY(evaluate(ctx, v, value, v->g_new, v->x_new));
        LLI_TRY(dot(ctx, v, &slope, v->g_new, v->d));
        bool lower = *value <= v->value + sufficient * t * v->slope;
        bool same = *value <= v->value + noise && slope <= -curvature * v->slope; /* too close to tell: not past the minimum by much */
        if (!(lower || same))
            high = t;
        else if (slope < curvature * v->slope)
            low = t;
        else {
            *found = true;
            return LL_OK;
        }
        t = isfinite(high) ? 0.5 * (low + high) : 2 * t;
    }
    return LL_OK;
}

static ll_status remember(ll_context *ctx, search *v) {
    int64_t slot = v->pairs % v->history, n = v->n;
    double *s = v->s + slot * n, *y = v->y + slot * n;
    for (int64_t i = 0; i < n; i++) {
        s[i] = v->x_new[i] - v->x[i];
        y[i] = v->g_new[i] - v->g[i];
    }
    double sy;
    LLI_TRY(dot(ctx, v, &sy, s, y));
    if (sy > 1e-300) {
        v->rho[slot] = 1 / sy;
        v->pairs++;
    }
    memcpy(v->x, v->x_new, (size_t)n * sizeof *v->x);
    memcpy(v->g, v->g_new, (size_t)n * sizeof *v->g);
    return LL_OK;
}

static ll_status iterate(ll_context *ctx, search *v) {
    lli_minimise *m = v->m;
    LLI_TRY(evaluate(ctx, v, &v->value, v->g, v->x));
    bool restarted = false;
    for (m->iterations = 0;; m->iterations++) {
        m->norm = v->norm;
        if (!isfinite(v->value) || !isfinite(m->norm))
            return lli_fail(ctx, LL_ERR_DIVERGED, "%s became infinite or NaN at iteration %" PRId64 "; scale its inputs down", m->what,
                            m->iterations);
        if (m->norm <= m->tolerance || m->iterations >= m->iterations_max)
            break;
        lli_progress(ctx, m->what, (double)m->iterations, (double)m->iterations_max);
        LLI_TRY(find_direction(ctx, v));
        double value;
        bool found;
        LLI_TRY(search_line(ctx, v, &value, &found));
        if (!found) { /* the curvature pairs mislead: once, start again from the gradient; then accept what is */
            if (restarted || v->pairs == 0)
                break;
            restarted = true;
            v->pairs = 0;
            v->norm = m->norm; /* of x, not of the last trial */
            continue;
        }
        restarted = false;
        LLI_TRY(remember(ctx, v));
        v->value = value;
    }
    lli_progress(ctx, m->what, 1, 1);
    return evaluate(ctx, v, &m->value, v->g, v->x); /* a failed line search leaves the function elsewhere */
}

ll_status lli_minimise_run(ll_context *ctx, lli_minimise *m, double *x) {
    search v = {.m = m, .n = m->n, .x = x};
    ll_status status;
    double **blocks[] = {&v.g, &v.x_new, &v.g_new, &v.d};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        LLI_DO(lli_memory_new(ctx, blocks[i], v.n, sizeof(double)));
    int64_t affordable = HISTORY_BYTES / (2 * (int64_t)sizeof(double)) / (m->all ? m->all : v.n);
    v.history = LLI_MIN(LLI_MAX(affordable, HISTORY_MIN), HISTORY_MAX);
    LLI_DO(lli_memory_new(ctx, &v.s, v.n, (size_t)v.history * sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &v.y, v.n, (size_t)v.history * sizeof(double)));
    LLI_DO(iterate(ctx, &v));
done:
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(*blocks[i]);
    lli_memory_free(v.s);
    lli_memory_free(v.y);
    return status;
}
