/* SPDX-License-Identifier: MIT */
/* What is said of members that have not crossed the posterior, or left it: the diffusion time, where curvatures are known in closed form,
 * and the virial ratio, on both sides of where a note becomes a warning. */
#include "methods/diffusion.h"
#include "methods/virial.h"
#include "scene.h"

/* Two classes on one feature, as often +z as -z, under a head of zeros: then the Hessian has, besides the common mode, the directions
 * N z^2 / 2 and N / 2. Returns what lli_diffusion_lambda finds of `rows` such rows, as if they were some of `all`. */
static double lambda_of(double z, double tau, int64_t rows, int64_t all) {
    ll_context *ctx = check_context(1);
    float *features = problem_room(rows, sizeof *features), zeros[4] = {0};
    int64_t *labels = problem_room(rows, sizeof *labels);
    for (int64_t i = 0; i < rows; i++) {
        features[i] = (float)(i % 2 ? z : -z);
        labels[i] = i / 2 % 2;
    }
    ll_dataset *data;
    ll_array y = ll_array_view(labels, LL_DTYPE_I64, 1, &rows);
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(features, LL_DTYPE_F32, 2, (int64_t[]){rows, 1}), &y, 2));
    double lambda;
    CHECK_OK(ctx, lli_diffusion_lambda(ctx, &lambda, data, all, &(lli_curvature_head){2, zeros, zeros + 2}, tau));
    ll_dataset_free(data);
    free(features);
    free(labels);
    ll_context_free(ctx);
    return lambda;
}

/* A direction h counts by its part a / (h + tau) of the variance; the tenth of the variance lies in it or in the other. */
static void test_lambda(void **state) {
    (void)state;
    for (int64_t all = 40; all <= 400; all *= 10) {
        double n = (double)all;
        /* almost no prior: both have the same share, and the slower one has the tenth */
        CHECK_NEAR(lambda_of(2, 1e-9 * n, 40, all), 0.5, 1e-6);
        CHECK_NEAR(lambda_of(0.5, 1e-9 * n, 40, all), 0.125, 1e-6);
        CHECK_NEAR(lambda_of(0.5, 0, 40, all), 0.125, 1e-6);
        /* a strong one: shares are as z^2 to 1, times 1/(h + tau) */
        for (int over = 0; over < 2; over++) {
            double tau = 3, share = over ? 0.11 : 0.09, slow,
                   z; /* of the slow direction: s = z^2/(z^2/2 + tau), against f = 1/(1/2 + tau) */
            slow = share / (1 - share) / (0.5 + tau);
            z = sqrt(slow * tau / (1 - slow / 2));
            CHECK_NEAR(lambda_of(z, tau * n, 40, all), over ? z * z / 2 + tau : 0.5 + tau, 1e-6);
        }
    }
    CHECK_NEAR(lambda_of(1e-4, 0, 40, 40), 5e-9, 1e-12); /* far below the other, and found */
}

/* The sum of lr along a chain: of cyclical that of the cosine, lr (C + 1) / 2 for a cycle of C steps. None where lr says nothing. */
static void test_length(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t chains;
        double length;
    } rows[] = {{"sgld", 1, 0.1 * 18},          {"sgld", 3, 0.1 * 6}, {"sgd", 1, 0.1 * 18}, {"cyclical", 1, 0.05 * 3 * 31},
                {"cyclical", 2, 0.05 * 3 * 16}, {"psgld", 1, NAN},    {"swag", 1, NAN},     {"hmc", 1, NAN},
                {"bootstrap", 1, NAN},          {"dropout", 1, NAN},  {"ensemble", 1, NAN}, {"laplace", 1, NAN}};
    for (size_t r = 0; r < LLI_COUNT(rows); r++) {
        scene s;
        scene_init(&s, rows[r].method);
        s.o.chains = rows[r].chains;
        const lli_fit f = {.method = lli_method_find(rows[r].method), .options = s.o, .star = &s.star, .data = s.p.data};
        double length = lli_diffusion_length(&f);
        assert_int_equal(isnan(length), isnan(rows[r].length));
        if (!isnan(length))
            CHECK_NEAR(length, rows[r].length, 0.002 * length);
        scene_free(&s);
    }
}

/* The sentences, and where there is none: a network, a head that is too wide. In the metric of the posterior lambda is 1. */
static void test_times(void **state) {
    (void)state;
    static const struct {
        double lr;
        const char *words;
    } rows[] = {
        {0.0556, "note: the chain of sgld covers a diffusion time of 1"},
        {0.0555,
         "warning: the chain of sgld covers a diffusion time of 0.999, and 1 or more is needed to cross the posterior; use more samples, "
         "or a larger thin"},
    };
    for (size_t r = 0; r < LLI_COUNT(rows); r++) {
        scene s;
        scene_init(&s, "sgld");
        s.o.precondition = "kfac";
        s.o.lr = rows[r].lr;
        CHECK_OK(s.ctx, lli_diffusion_tell(s.ctx, &s.o, s.p.data, s.p.data, &s.star));
        assert_string_equal(s.told, rows[r].words);
        s.told[0] = 0;
        s.star.network = (const lli_network *)&s; /* it is not looked at */
        CHECK_OK(s.ctx, lli_diffusion_tell(s.ctx, &s.o, s.p.data, s.p.data, &s.star));
        assert_string_equal(s.told, "");
        scene_free(&s);
    }
    for (int plain = 0; plain < 2; plain++) { /* on both sides of 1 */
        scene s;
        scene_init(&s, "sgld");
        double lambda;
        CHECK_OK(s.ctx, lli_diffusion_lambda(s.ctx, &lambda, s.p.data, N, &(lli_curvature_head){K, s.p.head->W, s.p.head->b}, 1));
        s.o.lr = (plain ? 1.001 : 0.997) / 18 / lambda;
        CHECK_OK(s.ctx, lli_diffusion_tell(s.ctx, &s.o, s.p.data, s.p.data, &s.star));
        char words[300];
        snprintf(words, sizeof words,
                 plain ? "note: the chain of sgld covers a diffusion time of 1 (lambda %.3g): 1 or more crosses the posterior"
                       : "warning: the chain of sgld covers a diffusion time of 1 (lambda %.3g) where 1 or more crosses the posterior: its "
                         "members stay near theta*",
                 lambda);
        assert_memory_equal(s.told, words, strlen(words));
        scene_free(&s);
    }
    static const int64_t shapes[][3] = {{1024, 5, 1}, {1025, 5, 0}, {5, 1025, 0}};
    for (int i = 1; i < 3; i++) {
        scene s;
        scene_init(&s, "sgd");
        lli_model model;
        CHECK_OK(s.ctx, lli_head_model(s.ctx, &model, shapes[i][0], shapes[i][1]));
        s.star.model = &model;
        CHECK_OK(s.ctx, lli_diffusion_tell(s.ctx, &s.o, s.p.data, s.p.data, &s.star));
        assert_string_equal(s.told, "note: the diffusion time of sgd is not computed for heads of more than 1024 classes or features");
        scene_free(&s);
    }
}

/* Members theta* + t (theta - theta*), whose ratio grows with t: where it is `ratio`, near enough. */
static void spread(scene *s, float *W, float *b, double ratio, double tau) {
    double low = 0, high = 1, found = 0;
    static float from[40 * (K * D + K)];
    int64_t S = s->e->plan.S;
    memcpy(from, W, (size_t)(S * K * D) * sizeof *from);
    memcpy(from + S * K * D, b, (size_t)(S * K) * sizeof *from);
    for (int i = 0; i < 60; i++) {
        double t = i < 20 && found < ratio ? high : (low + high) / 2;
        for (int64_t m = 0; m < S * K * D; m++)
            W[m] = (float)((double)s->p.head->W[m % (K * D)] + t * ((double)from[m] - (double)s->p.head->W[m % (K * D)]));
        for (int64_t m = 0; m < S * K; m++)
            b[m] = (float)((double)s->p.head->b[m % K] + t * ((double)from[S * K * D + m] - (double)s->p.head->b[m % K]));
        CHECK_OK(s->ctx, lli_virial_ratio(s->ctx, &found, s->e, s->p.data, &s->star, tau));
        if (found < ratio && t == high)
            low = high, high *= 2;
        else if (found < ratio)
            low = t;
        else
            high = t;
    }
    CHECK_NEAR(found, ratio, 1e-3 * ratio);
}

/* Chance moves the ratio of ten members of d parameters by sqrt(2 / (10 d)): three times that beyond 0.5 and 1.15 is a warning. The lr that
 * is proposed is to bring the excess to 0.05, and is at least a tenth. */
static void test_ratios(void **state) {
    (void)state;
    double chance = 3 * sqrt(2.0 / (10 * K * (D + 1)));
    const double ratios[] = {0.5 - chance - 0.004, 0.5 - chance + 0.004, 1, 1.15 + chance - 0.004, 1.15 + chance + 0.004, 3};
    for (int r = 0; r < 6; r++) {
        scene s;
        scene_init(&s, "psgld");
        s.o.samples = 40;
        s.o.prior_precision = 1.5;
        fit(&s);
        spread(&s, (float *)(uintptr_t)s.e->tensor[0], (float *)(uintptr_t)s.e->tensor[1], ratios[r], 1.5);
        double ratio;
        CHECK_OK(s.ctx, lli_virial_ratio(s.ctx, &ratio, s.e, s.p.data, &s.star, 1.5));
        CHECK_OK(s.ctx, lli_virial_tell(s.ctx, &s.o, s.e, s.p.data, &s.star));
        char words[500];
        if (r == 0)
            snprintf(
                words, sizeof words,
                "warning: the virial ratio of the members of psgld is %.2g, and that of the posterior is 1: they stay near theta*; for the "
                "posterior use method=sgld with precondition=kfac, or method=hmc, else more samples, a larger thin or a larger lr",
                ratio);
        else if (r < 4)
            snprintf(words, sizeof words, "note: the virial ratio of the members of psgld is %.3g; that of the posterior is 1", ratio);
        else
            snprintf(words, sizeof words,
                     "warning: the virial ratio of the members of psgld is %.3g, and that of the posterior is 1: they are too wide, "
                     "because steps "
                     "are too long or batches too small; use a smaller lr, such as %.1g, or a larger batch_size",
                     ratio, r == 4 ? 0.1 * 0.05 / (ratio - 1) : 0.1 * 0.1);
        assert_string_equal(s.told, words);
        scene_free(&s);
    }
}

/* Of methods whose lr does not say how far they go. */
static void test_applies(void **state) {
    (void)state;
    static const char *const none[] = {"sgld", "sgd", "sghmc", "cyclical", "laplace", "hmc", "point", "ensemble", "bootstrap"};
    ll_fit_options o = ll_fit_options_default();
    for (size_t i = 0; i < LLI_COUNT(none); i++) {
        o.method = none[i];
        assert_false(lli_virial_applies(&o));
    }
    o.method = "psgld";
    assert_true(lli_virial_applies(&o));
    o.precondition = "kfac";
    o.method = "sgld";
    assert_true(lli_virial_applies(&o));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lambda), cmocka_unit_test(test_length),  cmocka_unit_test(test_times),
        cmocka_unit_test(test_ratios), cmocka_unit_test(test_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
