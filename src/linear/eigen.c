/* SPDX-License-Identifier: MIT */
/* Eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to a tridiagonal one, then the implicit QL iteration
 * (Martin and Wilkinson, 1968). Reflections and rotations mix the rows of the matrix of eigenvectors, which is kept in panels of 16
 * columns: a panel stays in the cache while a worker applies all reflections, or many sweeps of rotations, to it. docs/math/linear.md */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "linear/linear.h"
#include "linear/tridiagonal.h"

enum { TURNS = 1 << 18, PANEL = LLI_LINEAR_PANEL, SWEEPS_EACH = 60 }; /* rotations kept before panels see them; sweeps per eigenvalue */

typedef struct eigen {
    const lli_kernels *kernels;
    double *a, *d, *e, *tau;
    int64_t n, panels;
    double *m; /* [panels,n,PANEL] the eigenvectors as rows */
    double *turns;
    int64_t turned, capacity; /* rotations kept; that fit */
    lli_sweep *sweeps;
    int64_t swept, sweeps_max;
} eigen;

static ll_status reflect_panel(ll_context *ctx, void *arg, int64_t panel, int worker) {
    (void)worker;
    const eigen *g = arg;
    double *m = g->m + panel * g->n * PANEL;
    for (int64_t j = 0; j < PANEL && panel * PANEL + j < g->n; j++)
        m[(panel * PANEL + j) * PANEL + j] = 1;
    for (int64_t k = 0; k < g->n - 1; k++) {
        if (k % 64 == 0)
            LLI_TRY(lli_cancel_check(ctx));
        if (g->tau[k] != 0)
            g->kernels->linear->reflect(m, g->a + k * g->n, g->tau[k], k + 1, g->n);
    }
    return LL_OK;
}

static ll_status rotate_panel(ll_context *ctx, void *arg, int64_t panel, int worker) {
    (void)worker;
    const eigen *g = arg;
    LLI_TRY(lli_cancel_check(ctx));
    for (int64_t s = 0; s < g->swept; s++)
        g->kernels->linear->rotate(g->m + panel * g->n * PANEL, &g->sweeps[s]);
    return LL_OK;
}

static ll_status flush(ll_context *ctx, eigen *g) {
    ll_status status = g->swept ? lli_pool_run(ctx, rotate_panel, g, g->panels) : LL_OK;
    g->swept = g->turned = 0;
    return status;
}

/* One implicit shift from place `top` down to l; a rotation of nothing ends it early. */
static void sweep(eigen *g, int64_t l, int64_t top) {
    double *d = g->d, *e = g->e, *turn = g->turns + 2 * g->turned;
    double half = (d[l + 1] - d[l]) / (2 * e[l]), root = sqrt(half * half + 1);
    double x = d[top] - d[l] + e[l] / (half + copysign(root, half)), s = 1, c = 1, p = 0;
    int64_t i = top - 1;
    for (; i >= l; i--) {
        double f = s * e[i], b = c * e[i], r = sqrt(f * f + x * x);
        e[i + 1] = r;
        if (r == 0)
            break;
        s = f / r;
        c = x / r;
        x = d[i + 1] - p;
        double y = (d[i] - x) * s + 2 * c * b;
        p = s * y;
        d[i + 1] = x + p;
        x = c * y - b;
        *turn++ = s;
        *turn++ = c;
    }
    if (i < l) {
        d[l] -= p;
        e[l] = x;
    } else
        d[i + 1] -= p;
    e[top] = 0;
    int64_t bottom = i < l ? l : i + 1;
    g->sweeps[g->swept++] = (lli_sweep){bottom, top, g->turns + 2 * g->turned};
    g->turned += top - bottom;
}

/* Beside which e is nothing: of its neighbours, or of the whole matrix, whose largest element is about 1. */
static bool is_small(const eigen *g, int64_t i) {
    return fabs(g->e[i]) <= DBL_EPSILON * (fabs(g->d[i]) + fabs(g->d[i + 1])) || fabs(g->e[i]) <= DBL_EPSILON * DBL_EPSILON;
}

static ll_status iterate(ll_context *ctx, eigen *g) {
    int64_t left = SWEEPS_EACH * g->n;
    for (int64_t l = 0; l < g->n; l++)
        for (;;) {
            int64_t top = l;
            while (top < g->n - 1 && !is_small(g, top))
                top++;
            if (top == l)
                break;
            if (left-- == 0)
                return lli_fail(ctx, LL_ERR_DIVERGED, "the eigenvalues of a matrix of %d rows did not converge; are its numbers sound?",
                                (int)g->n);
            if (g->turned + (top - l) > g->capacity || g->swept == g->sweeps_max)
                LLI_TRY(flush(ctx, g));
            sweep(g, l, top);
        }
    return flush(ctx, g);
}

/* Places of d, ascending: a merge sort, so that equal values keep their order. */
static void sort(int64_t *order, int64_t *spare, const double *d, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t at = 0; at < n; at += 2 * width) {
            int64_t a = at, middle = LLI_MIN(at + width, n), b = middle, end = LLI_MIN(at + 2 * width, n);
            for (int64_t to = at; to < end; to++)
                spare[to] = b >= end || (a < middle && d[order[a]] <= d[order[b]]) ? order[a++] : order[b++];
        }
        for (int64_t i = 0; i < n; i++)
            order[i] = spare[i];
    }
}

/* The power of two that brings the largest element near 1, so that no square overflows. NaN: not all are finite. */
static double scale_of(const double *a, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n * n; i++)
        largest = isfinite(a[i]) ? fmax(largest, fabs(a[i])) : INFINITY;
    int exponent = 0;
    if (largest > 0 && isfinite(largest))
        (void)frexp(largest, &exponent);
    return isfinite(largest) ? ldexp(1, LLI_MAX(-1000, LLI_MIN(1000, exponent))) : NAN;
}

static ll_status decompose(ll_context *ctx, eigen *g, double *values, int64_t *order) {
    int64_t n = g->n;
    double scale = scale_of(g->a, n);
    if (isnan(scale))
        return lli_fail(ctx, LL_ERR_DATA, "a matrix of %d rows holds numbers that are not finite; its eigenvalues do not exist", (int)n);
    for (int64_t i = 0; i < n * n; i++)
        g->a[i] /= scale;
    LLI_TRY(lli_tridiagonal_reduce(ctx, g->kernels, g->a, g->d, g->e, g->tau, n));
    LLI_TRY(lli_pool_run(ctx, reflect_panel, g, g->panels));
    LLI_TRY(iterate(ctx, g));
    sort(order, order + n, g->d, n);
    for (int64_t i = 0; i < n; i++) {
        values[i] = g->d[order[i]] * scale;
        for (int64_t j = 0; j < n; j++)
            g->a[i * n + j] = g->m[(j / PANEL * n + order[i]) * PANEL + j % PANEL];
    }
    return LL_OK;
}

ll_status lli_eigen_symmetric(ll_context *ctx, double *a, double *values, int64_t n) {
    const int64_t turns = n < 256 ? LLI_MIN(4 * n * n, TURNS) : TURNS; /* a small matrix seldom needs more */
    eigen g = {.a = a, .n = n, .panels = (n - 1) / PANEL + 1, .capacity = LLI_MAX(turns, n), .sweeps_max = turns / 8 + 1};
    int64_t *order = NULL;
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &g.kernels));
    LLI_DO(lli_memory_new(ctx, &g.d, n, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &g.e, n, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &g.tau, n, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &g.m, g.panels * n * PANEL, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &g.turns, 2 * g.capacity, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &g.sweeps, g.sweeps_max, sizeof *g.sweeps));
    LLI_DO(lli_memory_new(ctx, &order, 2 * n, sizeof *order));
    LLI_DO(decompose(ctx, &g, values, order));
done:;
    void *blocks[] = {g.d, g.e, g.tau, g.m, g.turns, g.sweeps, order};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    return status;
}
