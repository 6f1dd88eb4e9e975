/* SPDX-License-Identifier: MIT */
/* L-BFGS with a weak Wolfe line search (bisection), in coordinates where the features are white. The objective is convex and smooth; its
 * values carry the rounding of f32 logits, so near the end, where values no longer tell, the slope alone decides. */
#include "train/solve.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "train/precondition.h"

enum { HISTORY = 20, TRIALS_MAX = 40, WHITE_MAX = 8192 }; /* pairs kept; trials per line; largest D to whiten */

static const double sufficient = 1e-4, curvature = 0.9, value_noise = 1e-8;

typedef struct solver {
    lli_objective *objective;
    lli_precondition *white;    /* the coordinates x; NULL = theta itself */
    int64_t n;
    double *x, *g;              /* point and gradient */
    double *x_new, *g_new, *d;  /* trial and direction */
    double *theta;              /* of the last evaluation */
    double norm;                /* of the gradient in theta there */
    double *s, *y;              /* [HISTORY,n] differences of points and gradients */
    double rho[HISTORY];        /* 1 / <s,y> */
    int64_t pairs;              /* made so far; the last HISTORY are kept */
    double value, slope;
} solver;

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *a, double scale, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        a[i] += scale * b[i];
}

/* Value and gradient at x; theta and the norm of its gradient on the way. */
static ll_status evaluate(ll_context *ctx, solver *v, double *value, double *g, const double *x) {
    memcpy(v->theta, x, (size_t)v->n * sizeof *x);
    if (v->white)
        LLI_TRY(lli_precondition_theta(ctx, v->white, v->theta));
    LLI_TRY(lli_objective_run(ctx, v->objective, value, g, v->theta));
    v->norm = sqrt(dot(g, g, v->n));
    return v->white ? lli_precondition_gradient(ctx, v->white, g) : LL_OK;
}

/* d = -H g by the two-loop recursion. */
static void find_direction(solver *v) {
    int64_t n = v->n, kept = LLI_MIN(v->pairs, HISTORY);
    double alpha[HISTORY];
    for (int64_t i = 0; i < n; i++)
        v->d[i] = -v->g[i];
    for (int64_t p = v->pairs - 1; p >= v->pairs - kept; p--) {
        int64_t slot = p % HISTORY;
        alpha[slot] = v->rho[slot] * dot(v->s + slot * n, v->d, n);
        add_scaled(v->d, -alpha[slot], v->y + slot * n, n);
    }
    if (kept) {
        int64_t slot = (v->pairs - 1) % HISTORY;
        const double *y = v->y + slot * n;
        double scale = 1 / (v->rho[slot] * dot(y, y, n));
        for (int64_t i = 0; i < n; i++)
            v->d[i] *= scale;
    }
    for (int64_t p = v->pairs - kept; p < v->pairs; p++) {
        int64_t slot = p % HISTORY;
        double beta = v->rho[slot] * dot(v->y + slot * n, v->d, n);
        add_scaled(v->d, alpha[slot] - beta, v->s + slot * n, n);
    }
    v->slope = dot(v->g, v->d, n);
}

/* Finds a step that meets both Wolfe conditions; x_new, g_new and *value are of that point. False if none was found. */
static ll_status search_line(ll_context *ctx, solver *v, double *value, bool *found) {
    double low = 0, high = INFINITY, t = v->pairs ? 1 : 1 / sqrt(dot(v->g, v->g, v->n));
    double noise = value_noise * fmax(1, fabs(v->value));
    *found = false;
    for (int trial = 0; trial < TRIALS_MAX; trial++) {
        for (int64_t i = 0; i < v->n; i++)
            v->x_new[i] = v->x[i] + t * v->d[i];
        LLI_TRY(evaluate(ctx, v, value, v->g_new, v->x_new));
        double slope = dot(v->g_new, v->d, v->n);
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

static void remember(solver *v) {
    int64_t slot = v->pairs % HISTORY, n = v->n;
    double *s = v->s + slot * n, *y = v->y + slot * n;
    for (int64_t i = 0; i < n; i++) {
        s[i] = v->x_new[i] - v->x[i];
        y[i] = v->g_new[i] - v->g[i];
    }
    double sy = dot(s, y, n);
    if (sy > 1e-300) {
        v->rho[slot] = 1 / sy;
        v->pairs++;
    }
    memcpy(v->x, v->x_new, (size_t)n * sizeof *v->x);
    memcpy(v->g, v->g_new, (size_t)n * sizeof *v->g);
}

static ll_status minimise(ll_context *ctx, solver *v, const ll_head_solve_options *options, double *norm, int64_t *iterations) {
    LLI_TRY(evaluate(ctx, v, &v->value, v->g, v->x));
    bool restarted = false;
    for (*iterations = 0;; ++*iterations) {
        *norm = v->norm;
        if (!isfinite(v->value) || !isfinite(*norm))
            return lli_fail(ctx, LL_ERR_DIVERGED,
                            "the search for theta* left the finite numbers at iteration %" PRId64 "; scale the features down", *iterations);
        if (*norm <= options->tolerance || *iterations >= options->iterations_max)
            break;
        lli_progress(ctx, "solving for theta*", (double)*iterations, (double)options->iterations_max);
        find_direction(v);
        double value;
        bool found;
        LLI_TRY(search_line(ctx, v, &value, &found));
        if (!found) { /* the curvature pairs mislead: once, start again from the gradient; then accept what is */
            if (restarted || v->pairs == 0)
                break;
            restarted = true;
            v->pairs = 0;
            v->norm = *norm; /* of x, not of the last trial */
            continue;
        }
        restarted = false;
        remember(v);
        v->value = value;
    }
    lli_progress(ctx, "solving for theta*", 1, 1);
    return evaluate(ctx, v, &v->value, v->g, v->x); /* a failed line search leaves theta elsewhere */
}

void ll_head_solve_options_init(ll_head_solve_options *options, size_t struct_size) {
    const ll_head_solve_options defaults = {.prior_precision = 1, .tolerance = 1e-5, .iterations_max = 1000};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

static ll_status solver_alloc(ll_context *ctx, solver *v) {
    double **blocks[] = {&v->x, &v->g, &v->x_new, &v->g_new, &v->d, &v->theta};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        LLI_TRY(lli_memory_new(ctx, blocks[i], v->n, sizeof(double)));
    LLI_TRY(lli_memory_new(ctx, &v->s, HISTORY * v->n, sizeof(double)));
    return lli_memory_new(ctx, &v->y, HISTORY * v->n, sizeof(double));
}

static void solver_release(solver *v) {
    double *blocks[] = {v->x, v->g, v->x_new, v->g_new, v->d, v->theta, v->s, v->y};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    lli_objective_free(v->objective);
    lli_precondition_free(v->white);
}

ll_status ll_head_solve(ll_head **out, ll_context *ctx, const ll_dataset *data, const ll_head_solve_options *given) {
    LLI_NEED(ctx, out, data);
    *out = NULL;
    ll_head_solve_options o = ll_head_solve_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_head_solve_options", &o, sizeof o, given, 0));
    if (!(o.prior_precision >= 0) || !(o.tolerance > 0) || o.iterations_max < 1)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_head_solve_options holds impossible values: start from ll_head_solve_options_default()");
    LLI_TRY(lli_dataset_check_trainable(ctx, data, false));
    int64_t K = data->K, D = data->rows.D, ld = lli_kernels_stride(D), count;
    if (!lli_multiply(&count, K, ld) || !lli_multiply(&count, count, 8 * HISTORY))
        return lli_fail(ctx, LL_ERR_MEMORY, "a head of %" PRId64 " classes and %" PRId64 " features is too large to solve for", K, D);
    solver v = {.n = K * ld};
    ll_head *head = NULL;
    ll_status status;
    LLI_DO(lli_objective_new(&v.objective, ctx, data, K, o.prior_precision));
    LLI_DO(solver_alloc(ctx, &v));
    if (D <= WHITE_MAX)
        LLI_DO(lli_precondition_new(&v.white, ctx, data, K, 10 * o.prior_precision / (double)data->rows.N));
    LLI_DO(lli_head_alloc(&head, ctx, K, D));
    int64_t iterations;
    LLI_DO(minimise(ctx, &v, &o, &head->gradient_norm, &iterations));
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            head->W[k * D + j] = (float)v.theta[k * ld + j];
        head->b[k] = (float)v.theta[k * ld + D];
    }
    LLI_DO(lli_head_seal(ctx, head));
    if (head->gradient_norm > o.tolerance)
        lli_log(ctx, LL_LOG_WARNING,
                "theta* is not fully converged: after %" PRId64 " L-BFGS iterations the gradient has norm %.2e, wanted %.0e; the ensemble "
                "starts from there",
                iterations, head->gradient_norm, o.tolerance);
    else
        lli_log(ctx, LL_LOG_NOTE, "theta* is the MAP: gradient norm %.1e after %" PRId64 " L-BFGS iterations", head->gradient_norm,
                iterations);
    *out = head;
    head = NULL;
done:
    ll_head_free(head);
    solver_release(&v);
    return status;
}
