/* SPDX-License-Identifier: MIT */
/* Samplers beside sgld: steps with control variates and in the metric of KFAC against plain sums and a dense solve, the rule with friction
 * against its recurrence, and the stationary law of each against the posterior by quadrature (tests/oracle/posterior.py). */
#include <math.h>

#include "data/dataset.h"
#include "fixture.h"
#include "model/head.h"
#include "problem.h"
#include "train/chain.h"

typedef struct scene {
    ll_context *ctx;
    problem p;
    lli_model model;
    float *start;   /* [floats] */
    double *theta;  /* [K,n] of the plain loop */
    double *centre; /* [K,n] theta* */
} scene;

enum { BATCH = 16, STEPS = 4 };

static void to_plain(const scene *s, double *x, const float *packed) {
    int64_t K = s->p.K, D = s->p.D;
    float *W = problem_room(K * D, sizeof *W), *b = problem_room(K, sizeof *b);
    s->model.ops->unpack(&s->model, (float *const[]){W, b}, packed);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            x[k * (D + 1) + j] = (double)W[k * D + j];
        x[k * (D + 1) + D] = (double)b[k];
    }
    free(W);
    free(b);
}

static scene scene_new(int64_t N, int64_t D, int64_t K, bool weighted) {
    scene s = {.ctx = check_context(1)};
    s.p = problem_new(s.ctx, N, D, K);
    if (weighted) {
        float *w = problem_room(N, sizeof *w);
        for (int64_t i = 0; i < N; i++)
            w[i] = 0.25f * (float)(1 + i % 9);
        ll_array view = ll_array_view(w, LL_DTYPE_F32, 1, &N);
        CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.p.data, &view, NULL));
        free(w);
    }
    CHECK_OK(s.ctx, lli_head_model(s.ctx, &s.model, K, D));
    s.start = problem_room(s.model.floats, sizeof *s.start);
    s.model.ops->pack(&s.model, s.start, (const float *const[]){s.p.head->W, s.p.head->b});
    s.theta = problem_room(K * (D + 1), sizeof *s.theta);
    s.centre = problem_room(K * (D + 1), sizeof *s.centre);
    to_plain(&s, s.centre, s.start);
    return s;
}

static void scene_free(scene *s) {
    free(s->start);
    free(s->theta);
    free(s->centre);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

/* Adds scale times the sum over the rows of -w grad log p at theta [K,n]; rows NULL: all.
 */
static void add_gradient(const scene *s, double *g, const double *theta, const int64_t *rows, int64_t count, double scale) {
    int64_t K = s->p.K, n = s->p.D + 1;
    double *p = problem_room(K, sizeof *p);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = rows ? rows[i] : i;
        const float *z = s->p.z + row * s->p.D;
        double top = -INFINITY, total = 0, w = s->p.data->weights ? (double)s->p.data->weights[row] : 1;
        for (int64_t k = 0; k < K; k++) {
            p[k] = theta[k * n + n - 1];
            for (int64_t j = 0; j < n - 1; j++)
                p[k] += theta[k * n + j] * (double)z[j];
            top = fmax(top, p[k]);
        }
        for (int64_t k = 0; k < K; k++)
            total += exp(p[k] - top);
        for (int64_t k = 0; k < K; k++) {
            double r = scale * w * (exp(p[k] - top) / total - (k == s->p.y[row]));
            for (int64_t j = 0; j < n; j++)
                g[k * n + j] += r * (j < n - 1 ? (double)z[j] : 1);
        }
    }
    free(p);
}

/* P = B (x) A + tau I at theta*, built from plain sums. */
static double *precision(const scene *s, double tau) {
    int64_t K = s->p.K, n = s->p.D + 1, size = K * n, N = s->p.N;
    double *P = problem_room(size * size, sizeof *P), *A = problem_room(n * n, sizeof *A), *B = problem_room(K * K, sizeof *B), weight = 0;
    double *p = problem_room(K, sizeof *p);
    for (int64_t i = 0; i < N; i++) {
        double w = s->p.data->weights ? (double)s->p.data->weights[i] : 1, total = 0;
        weight += w;
        for (int64_t k = 0; k < K; k++) {
            double f = s->centre[k * n + n - 1];
            for (int64_t j = 0; j < n - 1; j++)
                f += s->centre[k * n + j] * (double)s->p.z[i * s->p.D + j];
            total += p[k] = exp(f);
        }
        for (int64_t k = 0; k < K; k++)
            for (int64_t l = 0; l < K; l++)
                B[k * K + l] += w * ((k == l ? p[k] / total : 0) - p[k] * p[l] / total / total);
        for (int64_t a = 0; a < n; a++)
            for (int64_t b = 0; b < n; b++)
                A[a * n + b] += w * (a < n - 1 ? (double)s->p.z[i * s->p.D + a] : 1) * (b < n - 1 ? (double)s->p.z[i * s->p.D + b] : 1);
    }
    for (int64_t a = 0; a < size; a++)
        for (int64_t b = 0; b < size; b++)
            P[a * size + b] = B[a / n * K + b / n] * A[a % n * n + b % n] / weight + (a == b ? tau : 0);
    free(A);
    free(B);
    free(p);
    return P;
}

/* x <- P^-1 x by elimination. */
static void solve_dense(const double *P, double *x, int64_t size) {
    double *a = problem_room(size * size, sizeof *a);
    memcpy(a, P, (size_t)(size * size) * sizeof *a);
    for (int64_t c = 0; c < size; c++)
        for (int64_t r = c + 1; r < size; r++) {
            double f = a[r * size + c] / a[c * size + c];
            for (int64_t k = c; k < size; k++)
                a[r * size + k] -= f * a[c * size + k];
            x[r] -= f * x[c];
        }
    for (int64_t r = size - 1; r >= 0; r--) {
        for (int64_t k = r + 1; k < size; k++)
            x[r] -= a[r * size + k] * x[k];
        x[r] /= a[r * size + r];
    }
    free(a);
}

static lli_chain *chain_new(scene *s, const lli_optimiser *optimiser, lli_around *around, bool control, bool metric) {
    lli_chain *chain;
    CHECK_OK(s->ctx, lli_chain_new(&chain, s->ctx, &s->model, s->p.data, optimiser->rule, BATCH, 0, false));
    CHECK_OK(s->ctx, lli_around_init(s->ctx, around, s->p.data, &s->model, s->start, 2, control, metric));
    CHECK_OK(s->ctx, lli_chain_surround(s->ctx, chain, around, BATCH));
    return chain;
}

static lli_chain_options options_of(const lli_optimiser *optimiser, double lr) {
    return (lli_chain_options){.optimiser = optimiser, .lr = lr, .batch_size = BATCH, .prior_precision = 2, .seed = 8, .member = 1};
}

static double farthest(const double *a, const double *b, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(a[i] - b[i]) / (1 + fabs(b[i])));
    return most;
}

/* Without noise: theta - lr (g or N P^-1 g), g of the batch or corrected by theta*, against f64, step by step. */
static void check_steps(int64_t N, int64_t D, int64_t K, bool weighted, bool control, bool metric) {
    scene s = scene_new(N, D, K, weighted);
    int64_t size = K * (D + 1);
    lli_around around;
    lli_chain *chain = chain_new(&s, &lli_optimiser_sgd, &around, control, metric);
    const lli_chain_options o = options_of(&lli_optimiser_sgd, 0.3);
    double *P = metric ? precision(&s, 2) : NULL, *g = problem_room(size, sizeof *g), *found = problem_room(size, sizeof *found);
    memcpy(s.theta, s.centre, (size_t)size * sizeof *g);
    lli_chain_start(chain, &o, s.start);
    for (int64_t step = 0; step < STEPS; step++) {
        CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, step + 1));
        const int64_t *rows = chain->order + step * BATCH;
        memset(g, 0, (size_t)size * sizeof *g);
        add_gradient(&s, g, s.theta, rows, BATCH, 1.0 / BATCH);
        if (control) {
            add_gradient(&s, g, s.centre, rows, BATCH, -1.0 / BATCH);
            add_gradient(&s, g, s.centre, NULL, N, 1.0 / (double)N);
        }
        for (int64_t i = 0; i < size; i++)
            g[i] += 2.0 / (double)N * s.theta[i];
        if (metric)
            solve_dense(P, g, size);
        for (int64_t i = 0; i < size; i++)
            s.theta[i] -= 0.3 * (metric ? (double)N : 1) * g[i];
        to_plain(&s, found, chain->theta);
        double off = farthest(found, s.theta, size);
        if (!(off < 3e-6))
            fail_msg("%d x %d, control %d, metric %d: step %d is off by %g", (int)D, (int)K, control, metric, (int)step, off);
    }
    free(P);
    free(g);
    free(found);
    lli_chain_free(chain);
    lli_around_release(&around);
    scene_free(&s);
}

static void test_steps(void **state) {
    (void)state;
    for (int which = 0; which < 8; which++)
        if (which & 6)
            check_steps(80, 6, 3, which & 1, which & 2, which & 4);
    check_steps(200, 600, 131, true, true, false); /* theta in panels */
    check_steps(90, 20, 12, false, true, true);
}

/* The noise of a step in the metric has covariance 2 lr P^-1: with x = P n, the mean of x n' / (2 lr) is the identity. */
static void test_noise(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    scene s = scene_new(80, 3, 3, true);
    const int64_t size = 12;
    lli_around around;
    lli_chain *chain = chain_new(&s, &lli_optimiser_sgld, &around, true, true);
    double *P = precision(&s, 2), n[12], quiet[12], mean[12][12] = {{0}};
    for (int64_t draw = 0; draw < DRAWS; draw++) {
        for (int noise = 0; noise < 2; noise++) {
            lli_chain_options o = options_of(noise ? &lli_optimiser_sgld : &lli_optimiser_sgd, 0.3);
            o.seed = (uint64_t)draw;
            lli_chain_start(chain, &o, s.start);
            CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, 1));
            to_plain(&s, noise ? n : quiet, chain->theta);
        }
        for (int64_t i = 0; i < size; i++)
            n[i] -= quiet[i];
        for (int64_t i = 0; i < size; i++) {
            double x = 0;
            for (int64_t j = 0; j < size; j++)
                x += P[i * size + j] * n[j];
            for (int64_t j = 0; j < size; j++)
                mean[i][j] += x * n[j] / 0.6 / DRAWS;
        }
    }
    for (int64_t i = 0; i < size; i++) {
        CHECK_NEAR(mean[i][i], 1, 5 * sqrt(3.0 / DRAWS));
        for (int64_t j = 0; j < size; j++) /* an entry scales with the widths of its two directions */
            if (i != j)
                CHECK_NEAR(mean[i][j] / sqrt(1 + P[i * size + i] * mean[j][j] / P[j * size + j]), 0, 5 / sqrt(DRAWS));
    }
    free(P);
    lli_chain_free(chain);
    lli_around_release(&around);
    scene_free(&s);
}

/* v <- (1 - a) v - lr g + sqrt(2 a lr / N) xi, theta <- theta + v; plain batches, and as differences to theta*. */
static void check_friction(bool control) {
    scene s = scene_new(80, 6, 3, true);
    int64_t size = 3 * 7, ld = lli_kernels_stride(6);
    lli_around around = {0};
    lli_chain *chain;
    if (control)
        chain = chain_new(&s, &lli_optimiser_sghmc, &around, true, false);
    else
        CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, lli_optimiser_sghmc.rule, BATCH, 0, false));
    const lli_chain_options o = options_of(&lli_optimiser_sghmc, 0.05);
    double g[21], v[21] = {0}, found[21];
    float *xi = problem_room(s.model.floats, sizeof *xi);
    memcpy(s.theta, s.centre, (size_t)size * sizeof *g);
    lli_chain_start(chain, &o, s.start);
    for (int64_t step = 0; step < STEPS; step++) {
        CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, step + 1));
        const int64_t *rows = chain->order + step * BATCH;
        s.model.kernels->normals(xi, lli_rng_stream(8, LLI_PURPOSE_NOISE, 1, step), 0, s.model.floats);
        memset(g, 0, sizeof g);
        add_gradient(&s, g, s.theta, rows, BATCH, 1.0 / BATCH);
        if (control) {
            add_gradient(&s, g, s.centre, rows, BATCH, -1.0 / BATCH);
            add_gradient(&s, g, s.centre, NULL, 80, 1.0 / 80);
        }
        for (int64_t i = 0; i < size; i++) {
            double noise = sqrt(2 * 0.1 * 0.05 / 80) * (double)xi[i / 7 * ld + i % 7];
            v[i] = 0.9 * v[i] - 0.05 * (g[i] + 2.0 / 80 * s.theta[i]) + noise;
        }
        for (int64_t i = 0; i < size; i++)
            s.theta[i] += v[i];
        to_plain(&s, found, chain->theta);
        assert_true(farthest(found, s.theta, size) < 1e-6);
    }
    free(xi);
    lli_chain_free(chain);
    lli_around_release(&around);
    scene_free(&s);
}

static void test_friction(void **state) {
    (void)state;
    check_friction(false);
    check_friction(true);
}

/* One epoch at rest, whose mean of g^2 is v; then v <- .99 v + .01 g^2, G = 1/(1e-5 + sqrt v), theta - lr G g + sqrt(2 lr G / N) xi. */
static void test_scaled(void **state) {
    (void)state;
    scene s = scene_new(80, 6, 3, true);
    const int64_t size = 3 * 7, ld = lli_kernels_stride(6), epoch = 80 / BATCH;
    lli_chain *chain;
    CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, lli_optimiser_psgld.rule, BATCH, 0, false));
    const lli_chain_options o = options_of(&lli_optimiser_psgld, 0.05);
    double g[21], v[21] = {0}, found[21];
    float *xi = problem_room(s.model.floats, sizeof *xi);
    memcpy(s.theta, s.centre, (size_t)size * sizeof *g);
    lli_chain_start(chain, &o, s.start);
    for (int64_t step = 0; step < 3 * epoch; step++) {
        CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, step + 1));
        s.model.kernels->normals(xi, lli_rng_stream(8, LLI_PURPOSE_NOISE, 1, step), 0, s.model.floats);
        memset(g, 0, sizeof g);
        add_gradient(&s, g, s.theta, chain->order + step % epoch * BATCH, BATCH, 1.0 / BATCH);
        for (int64_t i = 0; i < size; i++) {
            g[i] += 2.0 / 80 * s.theta[i];
            v[i] = step < epoch ? v[i] + g[i] * g[i] / (double)epoch : 0.99 * v[i] + 0.01 * g[i] * g[i];
            double G = 1 / (1e-5 + sqrt(v[i]));
            if (step >= epoch)
                s.theta[i] += sqrt(2 * 0.05 * G / 80) * (double)xi[i / 7 * ld + i % 7] - 0.05 * G * g[i];
        }
        to_plain(&s, found, chain->theta);
        assert_true(farthest(found, s.theta, size) < 2e-6);
    }
    to_plain(&s, found, chain->theta + s.model.floats);
    assert_true(farthest(found, v, size) < 1e-6);
    free(xi);
    lli_chain_free(chain);
    scene_free(&s);
}

/* ---- stationary laws ---- */

typedef struct sampler {
    const char *name;
    const lli_optimiser *optimiser;
    bool control, metric;
    double lr; /* times N in units of 1/tau, or that of the metric */
    int64_t B;
    int64_t steps;
    double worse;  /* the variance is too large by this, for steps have a length and batches noise */
    int64_t cycle; /* of lr in steps, of which the last fifth counts; 0: none */
} sampler;

/* With plain steps theta forgets itself over 1/(lr tau / N) of them. What remains of chance is some 2 %. */
static const sampler samplers[] = {
    {"metric", &lli_optimiser_sgld, true, true, 0.05, 12, 150000, 1 / (1 - 0.025)},
    {"metric, batches", &lli_optimiser_sgld, true, true, 0.05, 4, 150000, 1.03},
    {"metric, plain batches", &lli_optimiser_sgld, false, true, 0.02, 4, 250000, 1 + 0.02 * 12 / 8},
    {"control", &lli_optimiser_sgld, true, false, 0.02, 4, 400000, 1.02},
    {"friction", &lli_optimiser_sghmc, false, false, 0.002, 12, 400000, 1.01},
    {"friction, control", &lli_optimiser_sghmc, true, false, 0.002, 4, 400000, 1.01},
    {"cycles", &lli_optimiser_sgld, false, false, 0.08, 12, 1500000, 1, 500},
};

static void check_law(json_t *root, json_t *expected, const sampler *t, bool weighted) {
    ll_context *ctx = check_context(1);
    enum { N = 12 };
    int64_t y[N], rows = N, ld = lli_kernels_stride(1);
    double *z = fixture_reals(root, "features", N), *labels = fixture_reals(root, "labels", N), *w = fixture_reals(root, "weights", N);
    for (int64_t i = 0; i < N; i++)
        y[i] = (int64_t)labels[i];
    ll_array label_view = ll_array_view(y, LL_DTYPE_I64, 1, &rows), weights = ll_array_view(w, LL_DTYPE_F64, 1, &rows);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F64, 2, (int64_t[]){N, 1}), &label_view, 0));
    if (weighted)
        CHECK_OK(ctx, ll_dataset_weigh(ctx, data, &weights, NULL));
    lli_model model;
    CHECK_OK(ctx, lli_head_model(ctx, &model, 2, 1));
    float *start = problem_room(model.floats, sizeof *start);
    start[0] = -0.3f, start[ld] = 0.3f; /* near the MAP, not at it */
    double tau = fixture_real(expected, "tau");
    lli_around around;
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, data, t->optimiser->rule, t->B, 0, false));
    if (t->control || t->metric) {
        CHECK_OK(ctx, lli_around_init(ctx, &around, data, &model, start, tau, t->control, t->metric));
        CHECK_OK(ctx, lli_chain_surround(ctx, chain, &around, t->B));
    }
    lli_chain_options o = {.optimiser = t->optimiser, .lr = t->metric ? t->lr : t->lr * N / tau, .batch_size = t->B, .seed = 5};
    o.prior_precision = tau;
    if (t->cycle)
        o.schedule = (lli_schedule){.curve = &lli_schedule_cycles, .every = t->cycle};
    o.independent = !weighted && !t->cycle; /* so few rows of large weight drawn at once would count as a divergence */
    lli_chain_start(chain, &o, start);
    CHECK_OK(ctx, lli_chain_run(ctx, chain, 1000));
    double sum[4] = {0}, square[4] = {0}, n = 0;
    for (int64_t step = 0; step < t->steps; step++) {
        CHECK_OK(ctx, lli_chain_run(ctx, chain, 1001 + step));
        if (t->cycle && (chain->state.step - 1) % t->cycle < t->cycle - t->cycle / 5)
            continue;
        n++;
        const float *at = chain->theta;
        const double x[4] = {(double)at[ld] - (double)at[0], (double)at[ld + 1] - (double)at[1], (double)at[0] + (double)at[ld],
                             (double)at[1] + (double)at[ld + 1]};
        for (int i = 0; i < 4; i++)
            sum[i] += x[i], square[i] += x[i] * x[i];
    }
    double *means = fixture_reals(expected, "mean", 2), *variances = fixture_reals(expected, "variance", 2);
    for (int i = 0; i < 4; i++) {
        double prior = fixture_real(expected, "sums_variance"), v = i < 2 ? variances[i] : prior, m = i < 2 ? means[i] : 0;
        double ratio = (square[i] / n - sum[i] / n * (sum[i] / n)) / v, off = (sum[i] / n - m) / sqrt(v);
        if (fabs(ratio / t->worse - 1) > 0.07 || fabs(off) > 0.06)
            fail_msg("%s: of direction %d the variance is %g of the exact one, the mean is off by %g deviations", t->name, i, ratio, off);
    }
    free(means);
    free(variances);
    free(z);
    free(labels);
    free(w);
    free(start);
    lli_chain_free(chain);
    if (t->control || t->metric)
        lli_around_release(&around);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_laws(void **state) {
    (void)state;
    json_t *root = fixture_read("posterior");
    for (size_t i = 0; i < LLI_COUNT(samplers); i++)
        check_law(root, json_array_get(fixture_get(root, "cases"), 0), &samplers[i], false);
    check_law(root, fixture_get(root, "weighted"), &samplers[0], true);
    check_law(root, fixture_get(root, "weighted"), &samplers[3], true);
    check_law(root, fixture_get(root, "weighted"), &samplers[5], true);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),  cmocka_unit_test(test_noise), cmocka_unit_test(test_friction),
        cmocka_unit_test(test_scaled), cmocka_unit_test(test_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
