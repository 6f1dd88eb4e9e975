/* SPDX-License-Identifier: MIT */
/* The objective against a plain loop in f64 and its finite differences; the MAP against SciPy and scikit-learn. */
#include <math.h>

#include "check.h"
#include "fixture.h"
#include "heard.h"
#include "kernels/kernels.h"
#include "problem.h"
#include "train/solve.h"

/* f of theta [K,ld], in f64 throughout, divided by the sum of the weights. */
static double plain_objective(const problem *p, const double *theta, double tau) {
    int64_t ld = lli_kernels_stride(p->D);
    double nll = 0, square = 0, weight = 0;
    for (int64_t i = 0; i < p->N; i++) {
        double logits[64], most = -INFINITY, total = 0;
        for (int64_t k = 0; k < p->K; k++) {
            logits[k] = theta[k * ld + p->D];
            for (int64_t j = 0; j < p->D; j++)
                logits[k] += theta[k * ld + j] * (double)p->z[i * p->D + j];
            most = fmax(most, logits[k]);
        }
        for (int64_t k = 0; k < p->K; k++)
            total += exp(logits[k] - most);
        double w = p->data->weights ? (double)p->data->weights[i] : 1;
        nll += w * (log(total) + most - logits[p->y[i]]);
        weight += w;
    }
    for (int64_t i = 0; i < p->K * ld; i++)
        square += theta[i] * theta[i];
    return nll / weight + tau / (2 * weight) * square;
}

static double *random_theta(const problem *p) {
    int64_t ld = lli_kernels_stride(p->D);
    double *theta = problem_room(p->K * ld, sizeof *theta);
    for (int64_t k = 0; k < p->K; k++)
        for (int64_t j = 0; j <= p->D; j++)
            theta[k * ld + j] = (double)problem_number(9, k * ld + j);
    return theta;
}

/* Weights of least .. least + span. */
static void weigh(ll_context *ctx, problem *p, double least, double span) {
    double *w = problem_room(p->N, sizeof *w);
    for (int64_t i = 0; i < p->N; i++)
        w[i] = least + span * check_uniform(8, i);
    ll_array view = ll_array_view(w, LL_DTYPE_F64, 1, &p->N);
    CHECK_OK(ctx, ll_dataset_weigh(ctx, p->data, &view, NULL));
    free(w);
}

static void test_gradient(void **state) {
    (void)state;
    static const struct {
        int64_t N, D, K;
        double tau;
        bool weighted;
    } cases[] = {{300, 6, 4, 1, false}, {40, 3, 2, 0, false}, {700, 17, 5, 50, false}, {257, 1, 3, 2, false}, {300, 6, 4, 1, true}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        ll_context *ctx = check_context(1);
        problem p = problem_new(ctx, cases[c].N, cases[c].D, cases[c].K);
        if (cases[c].weighted)
            weigh(ctx, &p, 0.1, 2);
        int64_t ld = lli_kernels_stride(p.D);
        double *theta = random_theta(&p), *gradient = problem_room(p.K * ld, sizeof *gradient), value;
        lli_objective *objective;
        CHECK_OK(ctx, lli_objective_new(&objective, ctx, p.data, p.K, cases[c].tau));
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, gradient, theta));
        CHECK_NEAR(value, plain_objective(&p, theta, cases[c].tau), 1e-6);
        for (int64_t k = 0; k < p.K; k++)
            for (int64_t j = 0; j < ld; j++) {
                double here = theta[k * ld + j], h = 1e-5, slope = 0;
                if (j <= p.D) {
                    theta[k * ld + j] = here + h;
                    slope = plain_objective(&p, theta, cases[c].tau);
                    theta[k * ld + j] = here - h;
                    slope = (slope - plain_objective(&p, theta, cases[c].tau)) / (2 * h);
                    theta[k * ld + j] = here;
                }
                CHECK_NEAR(gradient[k * ld + j], slope, 1e-6);
            }
        double *exact = problem_room(p.K * ld, sizeof *exact);
        CHECK_OK(ctx, lli_objective_exact(ctx, objective, true));
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, exact, theta));
        CHECK_NEAR(value, plain_objective(&p, theta, cases[c].tau), 1e-13);
        for (int64_t i = 0; i < p.K * ld; i += 3) {
            double here = theta[i], h = 1e-4, slope = 0;
            if (i % ld > p.D)
                continue;
            theta[i] = here + h;
            slope = plain_objective(&p, theta, cases[c].tau);
            theta[i] = here - h;
            slope = (slope - plain_objective(&p, theta, cases[c].tau)) / (2 * h);
            theta[i] = here;
            CHECK_NEAR(exact[i], slope, 3e-9);
        }
        CHECK_OK(ctx, lli_objective_exact(ctx, objective, false)); /* as it was, to the bit */
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, exact, theta));
        assert_memory_equal(exact, gradient, (size_t)(p.K * ld) * sizeof *exact);
        free(exact);
        lli_objective_free(objective);
        free(theta);
        free(gradient);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* A very wide head, whose classes are added as integers, against f64; the same bits for any number of threads. */
static void test_very_wide(void **state) {
    (void)state;
    enum { N = 130, D = 2, K = 4099 };
    double *first = NULL;
    for (int threads = 1; threads <= 3; threads += 2) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, N, D, K);
        weigh(ctx, &p, 0.1, 2);
        int64_t ld = lli_kernels_stride(D);
        double *theta = random_theta(&p), *gradient = problem_room(K * ld, sizeof *gradient), value, nll = 0, square = 0, weight = 0;
        double *expected = problem_room(K * ld, sizeof *expected), *e = problem_room(K, sizeof *e);
        for (int64_t i = 0; i < N; i++) {
            double z[D + 1] = {(double)p.z[i * D], (double)p.z[i * D + 1], 1}, w = (double)p.data->weights[i], total = 0;
            for (int64_t k = 0; k < K; k++)
                total += e[k] = exp(theta[k * ld] * z[0] + theta[k * ld + 1] * z[1] + theta[k * ld + 2]);
            for (int64_t k = 0; k < K; k++)
                for (int64_t j = 0; j <= D; j++)
                    expected[k * ld + j] += w * (e[k] / total - (k == p.y[i])) * z[j];
            nll -= w * log(e[p.y[i]] / total);
            weight += w;
        }
        for (int64_t i = 0; i < K * ld; i++)
            square += theta[i] * theta[i];
        lli_objective *objective;
        CHECK_OK(ctx, lli_objective_new(&objective, ctx, p.data, K, 3));
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, gradient, theta));
        CHECK_NEAR(value, nll / weight + 3 / (2 * weight) * square, 2e-6);
        for (int64_t i = 0; i < K * ld; i++)
            CHECK_NEAR(gradient[i], expected[i] / weight + 3 / weight * theta[i], 1e-7);
        if (first)
            assert_memory_equal(first, gradient, (size_t)(K * ld) * sizeof *gradient);
        free(first);
        first = gradient;
        free(theta);
        free(expected);
        free(e);
        lli_objective_free(objective);
        problem_free(&p);
        ll_context_free(ctx);
    }
    free(first);
}

/* Value and gradient, then the whole solution: the same bits for any number of threads. */
static void test_threads(void **state) {
    (void)state;
    double *gradients[4] = {NULL}, values[4];
    ll_head *heads[4];
    size_t bytes = 0;
    for (int threads = 1; threads <= 3; threads++) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, 5000, 9, 3);
        weigh(ctx, &p, 0.1, 2);
        int64_t ld = lli_kernels_stride(p.D);
        bytes = (size_t)(p.K * ld) * sizeof(double);
        double *theta = random_theta(&p);
        gradients[threads] = problem_room(p.K * ld, sizeof(double));
        lli_objective *objective;
        CHECK_OK(ctx, lli_objective_new(&objective, ctx, p.data, p.K, 1));
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &values[threads], gradients[threads], theta));
        CHECK_OK(ctx, ll_head_solve(&heads[threads], ctx, p.data, NULL));
        lli_objective_free(objective);
        free(theta);
        problem_free(&p);
        ll_context_free(ctx);
    }
    for (int threads = 2; threads <= 3; threads++) {
        CHECK_NEAR(values[threads], values[1], 0);
        assert_memory_equal(gradients[threads], gradients[1], bytes);
        assert_memory_equal(ll_head_weight_view(heads[threads]).data, ll_head_weight_view(heads[1]).data, 3 * 9 * sizeof(float));
        assert_memory_equal(ll_head_bias_view(heads[threads]).data, ll_head_bias_view(heads[1]).data, 3 * sizeof(float));
    }
    for (int threads = 1; threads <= 3; threads++) {
        free(gradients[threads]);
        ll_head_free(heads[threads]);
    }
}

static void test_map(void **state) {
    (void)state;
    json_t *root = fixture_read("map"), *cases = fixture_get(root, "cases"), *c;
    size_t i;
    json_array_foreach(cases, i, c) {
        heard n;
        ll_context *ctx = heard_context(&n);
        int64_t N = fixture_integer(c, "N"), D = fixture_integer(c, "D"), K = fixture_integer(c, "K"), *y = problem_room(N, sizeof *y);
        double *z = fixture_reals(c, "features", N * D), *labels = fixture_reals(c, "labels", N),
               *theta = fixture_reals(c, "theta", K * (D + 1));
        for (int64_t r = 0; r < N; r++)
            y[r] = (int64_t)labels[r];
        ll_array label_view = ll_array_view(y, LL_DTYPE_I64, 1, &N);
        ll_dataset *data;
        CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F64, 2, (int64_t[]){N, D}), &label_view, 0));
        double weight = (double)N;
        if (json_object_get(c, "weights")) {
            double *w = fixture_reals(c, "weights", N);
            ll_array view = ll_array_view(w, LL_DTYPE_F64, 1, &N);
            CHECK_OK(ctx, ll_dataset_weigh(ctx, data, &view, NULL));
            weight = lli_dataset_weight(data);
            free(w);
        }
        if (json_object_get(c, "balanced"))
            CHECK_OK(ctx, ll_dataset_balance(ctx, data));
        ll_head_solve_options options = ll_head_solve_options_default();
        assert_true(options.tolerance <= 1e-5 && options.iterations_max == 1000 && options.prior_precision == 1);
        options.prior_precision = fixture_real(c, "tau");
        ll_head *head;
        CHECK_OK(ctx, ll_head_solve(&head, ctx, data, &options));
        assert_true(ll_head_gradient_norm(head) <= 1e-5);
        assert_int_equal(n.warnings, 0);
        assert_non_null(strstr(n.last, "the MAP is found"));
        /* a gradient of norm 1e-5 leaves an error of at most 1e-5 w / tau, the least curvature being tau / w, w = sum of the weights */
        double allowed = fmax(1e-4, 1.1e-5 * weight / options.prior_precision), worst = 0;
        for (int64_t k = 0; k < K; k++)
            for (int64_t j = 0; j <= D; j++) {
                double have = (double)(j < D ? ((const float *)ll_head_weight_view(head).data)[k * D + j]
                                             : ((const float *)ll_head_bias_view(head).data)[k]);
                worst = fmax(worst, fabs(have - theta[k * (D + 1) + j]));
            }
        if (worst > allowed)
            fail_msg("%s: off by %g", json_string_value(fixture_get(c, "name")), worst);
        /* and with a tighter tolerance, 1e-4 for each of them */
        ll_head_free(head);
        options.tolerance = 1e-7;
        CHECK_OK(ctx, ll_head_solve(&head, ctx, data, &options));
        for (int64_t k = 0; k < K; k++)
            for (int64_t j = 0; j < D; j++)
                CHECK_NEAR((double)((const float *)ll_head_weight_view(head).data)[k * D + j], theta[k * (D + 1) + j], 1e-4);
        ll_head_free(head);
        ll_dataset_free(data);
        free(z);
        free(y);
        free(labels);
        free(theta);
        ll_context_free(ctx);
    }
    json_decref(root);
}

static double most_apart(const ll_head *a, const ll_head *b) {
    const float *v = ll_head_weight_view(a).data, *w = ll_head_weight_view(b).data;
    double worst = 0;
    for (int64_t i = 0; i < ll_head_classes(a) * ll_head_features(a); i++)
        worst = fmax(worst, fabs((double)v[i] - (double)w[i]));
    return worst;
}

/* A row of weight m is m equal rows, for m = 0 too, with the same prior. Weights of 1 change no bit, and a common factor of weights and
 * prior changes nothing but rounding. */
static void test_weights_are_repeats(void **state) {
    (void)state;
    enum { MOST = 4 };
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 120, 5, 3);
    ll_head_solve_options options = ll_head_solve_options_default();
    options.tolerance = 1e-7;
    options.prior_precision = 5;
    ll_head *plain, *ones, *weighed, *repeated, *scaled;
    CHECK_OK(ctx, ll_head_solve(&plain, ctx, p.data, &options));
    double *w = problem_room(p.N, sizeof *w);
    float *z = problem_room(MOST * p.N * p.D, sizeof *z);
    int64_t *y = problem_room(MOST * p.N, sizeof *y), n = 0;
    for (int64_t i = 0; i < p.N; i++)
        w[i] = 1;
    ll_array view = ll_array_view(w, LL_DTYPE_F64, 1, &p.N);
    CHECK_OK(ctx, ll_dataset_weigh(ctx, p.data, &view, NULL));
    CHECK_OK(ctx, ll_head_solve(&ones, ctx, p.data, &options));
    assert_memory_equal(ll_head_weight_view(ones).data, ll_head_weight_view(plain).data, (size_t)(p.K * p.D) * sizeof(float));
    for (int64_t i = 0; i < p.N; i++) {
        w[i] = (double)(i * 7 % (MOST + 1));
        for (int64_t m = 0; m < (int64_t)w[i]; m++, n++) {
            memcpy(z + n * p.D, p.z + i * p.D, (size_t)p.D * sizeof *z);
            y[n] = p.y[i];
        }
    }
    CHECK_OK(ctx, ll_dataset_weigh(ctx, p.data, &view, NULL));
    CHECK_OK(ctx, ll_head_solve(&weighed, ctx, p.data, &options));
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &n);
    ll_dataset *long_data;
    CHECK_OK(ctx, ll_dataset_new(&long_data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){n, p.D}), &labels, p.K));
    CHECK_OK(ctx, ll_head_solve(&repeated, ctx, long_data, &options));
    assert_true(most_apart(weighed, repeated) < 2e-5 && most_apart(weighed, plain) > 1e-2);
    for (int64_t i = 0; i < p.N; i++)
        w[i] *= 1e-6;
    CHECK_OK(ctx, ll_dataset_weigh(ctx, p.data, &view, NULL));
    options.prior_precision *= 1e-6;
    CHECK_OK(ctx, ll_head_solve(&scaled, ctx, p.data, &options));
    assert_true(most_apart(weighed, scaled) < 2e-5);
    ll_head *const heads[] = {plain, ones, weighed, repeated, scaled};
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        ll_head_free(heads[i]);
    ll_dataset_free(long_data);
    free(w);
    free(z);
    free(y);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Very uneven weights: L-BFGS still gets there, in coordinates made for them. */
static void test_uneven_weights(void **state) {
    (void)state;
    heard n;
    ll_context *ctx = heard_context(&n);
    problem p = problem_new(ctx, 2000, 30, 4);
    double *w = problem_room(p.N, sizeof *w);
    for (int64_t i = 0; i < p.N; i++)
        w[i] = exp(4 * (double)problem_number(8, i));
    ll_array view = ll_array_view(w, LL_DTYPE_F64, 1, &p.N);
    CHECK_OK(ctx, ll_dataset_weigh(ctx, p.data, &view, NULL));
    ll_head *head;
    CHECK_OK(ctx, ll_head_solve(&head, ctx, p.data, NULL));
    assert_true(ll_head_gradient_norm(head) <= 1e-5);
    assert_non_null(strstr(n.last, "the MAP is found"));
    ll_head_free(head);
    free(w);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Of few rows the rounding of f32 logits does not average out, and of large ones it is large: the end of the search is in f64. The same
 * bits for any number of threads, and a search that follows on other weights is not touched by it. */
static void test_few_rows(void **state) {
    (void)state;
    static const int64_t rows[] = {6, 8, 12, 30};
    static const double precisions[] = {0.01, 1, 100};
    static const float scales[] = {1, 5, 30};
    int searches = 0;
    for (size_t c = 0; c < LLI_COUNT(rows) * LLI_COUNT(precisions) * LLI_COUNT(scales); c++) {
        float scale = scales[c % LLI_COUNT(scales)];
        int64_t N = rows[c / LLI_COUNT(scales) % LLI_COUNT(rows)];
        ll_head_solve_options o = ll_head_solve_options_default();
        o.prior_precision = precisions[c / LLI_COUNT(scales) / LLI_COUNT(rows)];
        ll_head *heads[2];
        for (int threads = 1; threads <= 2; threads++, searches++) {
            heard n = {0};
            ll_context *ctx = threads == 1 ? heard_context(&n) : check_context(threads);
            problem p = problem_new(ctx, N, 9, 3);
            for (int64_t i = 0; i < N * p.D; i++)
                p.z[i] *= scale;
            ll_array labels = ll_array_view(p.y, LL_DTYPE_I64, 1, &N);
            ll_dataset *scaled;
            CHECK_OK(ctx, ll_dataset_new(&scaled, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){N, p.D}), &labels, p.K));
            CHECK_OK(ctx, ll_head_solve(&heads[threads - 1], ctx, scaled, &o));
            assert_int_equal(n.warnings, 0);
            assert_true(ll_head_gradient_norm(heads[threads - 1]) <= 1e-5);
            ll_dataset_free(scaled);
            problem_free(&p);
            ll_context_free(ctx);
        }
        assert_memory_equal(ll_head_weight_view(heads[0]).data, ll_head_weight_view(heads[1]).data, 3 * 9 * sizeof(float));
        ll_head_free(heads[0]);
        ll_head_free(heads[1]);
    }
    assert_int_equal(searches, 72);
}

static void test_not_converged(void **state) {
    (void)state;
    heard n;
    ll_context *ctx = heard_context(&n);
    problem p = problem_new(ctx, 300, 6, 4);
    ll_head_solve_options options = ll_head_solve_options_default();
    options.iterations_max = 2;
    ll_head *head;
    CHECK_OK(ctx, ll_head_solve(&head, ctx, p.data, &options));
    assert_int_equal(n.warnings, 1);
    assert_non_null(strstr(n.last, "not fully converged: after 2 L-BFGS iterations the gradient has norm"));
    assert_non_null(strstr(n.last, "0.0 % of the rows are fitted exactly"));
    assert_true(ll_head_gradient_norm(head) > 1e-5);
    ll_head_free(head);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Many features, more than one band of the preconditioner; the solution must be one by the objective's own gradient. */
static void test_wide(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 300, 150, 20);
    ll_head *head;
    CHECK_OK(ctx, ll_head_solve(&head, ctx, p.data, NULL));
    assert_true(ll_head_gradient_norm(head) <= 1e-5);
    int64_t ld = lli_kernels_stride(p.D);
    double *theta = problem_room(p.K * ld, sizeof *theta), *gradient = problem_room(p.K * ld, sizeof *gradient), value, norm = 0;
    for (int64_t k = 0; k < p.K; k++)
        for (int64_t j = 0; j <= p.D; j++)
            theta[k * ld + j] = (double)(j < p.D ? ((const float *)ll_head_weight_view(head).data)[k * p.D + j]
                                                 : ((const float *)ll_head_bias_view(head).data)[k]);
    lli_objective *objective;
    CHECK_OK(ctx, lli_objective_new(&objective, ctx, p.data, p.K, 1));
    CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, gradient, theta));
    for (int64_t i = 0; i < p.K * ld; i++)
        norm += gradient[i] * gradient[i];
    assert_true(sqrt(norm) <= 1.1e-5);
    lli_objective_free(objective);
    ll_head_free(head);
    free(theta);
    free(gradient);
    problem_free(&p);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 50, 2, 3);
    ll_head *head;
    ll_head_solve_options good = ll_head_solve_options_default(), bad = good;
    bad.struct_size = 3;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "ll_head_solve_options_default()", ll_head_solve(&head, ctx, p.data, &bad));
    bad = good;
    bad.prior_precision = -1;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "impossible", ll_head_solve(&head, ctx, p.data, &bad));
    bad = good;
    bad.tolerance = NAN;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "impossible", ll_head_solve(&head, ctx, p.data, &bad));
    bad = good;
    bad.iterations_max = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "impossible", ll_head_solve(&head, ctx, p.data, &bad));
    for (int64_t failing = 1;; failing++) {
        lli_memory_fail_at(ctx, failing);
        ll_status status = ll_head_solve(&head, ctx, p.data, &good);
        if (status == LL_OK) {
            assert_true(failing > 10);
            ll_head_free(head);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(head);
    }
    lli_memory_fail_at(ctx, 0);
    const float one_row[2] = {1, 2};
    const int32_t one_label = 2;
    ll_array labels = ll_array_view(&one_label, LL_DTYPE_I32, 1, (int64_t[]){1});
    ll_dataset *one_class;
    CHECK_OK(ctx, ll_dataset_new(&one_class, ctx, ll_array_view(one_row, LL_DTYPE_F32, 2, (int64_t[]){1, 2}), &labels, 0));
    CHECK_FAILS(ctx, LL_ERR_DATA, "labels are class 2", ll_head_solve(&head, ctx, one_class, NULL));
    assert_null(head);
    ll_dataset_free(one_class);
    ll_context_cancel(ctx);
    CHECK_FAILS(ctx, LL_ERR_CANCELLED, "interrupted", ll_head_solve(&head, ctx, p.data, NULL));
    problem_free(&p);
    ll_context_free(ctx);
}

/* Features so large that logits overflow are told, not turned into a head of NaN. */
static void test_overflow(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    float z[8] = {3e38f, -3e38f, 2e38f, -1e38f, 3e38f, 1e38f, -2e38f, -3e38f};
    int64_t y[8] = {0, 1, 1, 0, 1, 0, 0, 1}, N = 8;
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &N);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){N, 1}), &labels, 0));
    ll_head *head;
    ll_status status = ll_head_solve(&head, ctx, data, NULL);
    assert_true(status == LL_OK || status == LL_ERR_DIVERGED);
    if (status == LL_OK) {
        assert_true(isfinite(((const float *)ll_head_weight_view(head).data)[0]));
        ll_head_free(head);
    } else
        assert_non_null(strstr(ctx->message, "scale them"));
    ll_dataset_free(data);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),       cmocka_unit_test(test_very_wide),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_map),
        cmocka_unit_test(test_few_rows),       cmocka_unit_test(test_not_converged),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_wide),           cmocka_unit_test(test_weights_are_repeats),
        cmocka_unit_test(test_uneven_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
