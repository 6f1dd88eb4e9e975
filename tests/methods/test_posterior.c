/* SPDX-License-Identifier: MIT */
/* What methods say of the posterior, against sums over the rows that only follow the equations: the Gaussian of laplace, the chains of hmc,
 * the snapshots of swag, the virial ratio and the diffusion time. */
#include "methods/chains.h"
#include "methods/diffusion.h"
#include "methods/virial.h"
#include "scene.h"
#include "train/hamilton.h"

enum { n = D + 1, SIZE = K * n };

/* z~ = (z,1), and its probabilities under W [K,D] and b [K]. */
static void look(const scene *s, int64_t row, const float *W, const float *b, double x[n], double p[K]) {
    double sum = 0;
    for (int j = 0; j < n; j++)
        x[j] = j < D ? (double)s->p.z[row * D + j] : 1;
    for (int k = 0; k < K; k++) {
        p[k] = (double)b[k];
        for (int j = 0; j < D; j++)
            p[k] += (double)W[k * D + j] * x[j];
        sum += p[k] = exp(p[k]);
    }
    for (int k = 0; k < K; k++)
        p[k] /= sum;
}

/* H = sum over rows of (diag p - p p') x (z~ z~'). */
static void hessian(double H[SIZE][SIZE], const scene *s) {
    memset(H, 0, SIZE * sizeof *H);
    for (int64_t row = 0; row < N; row++) {
        double x[n], p[K];
        look(s, row, s->p.head->W, s->p.head->b, x, p);
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++)
                H[i][j] += (p[i / n] * (i / n == j / n) - p[i / n] * p[j / n]) * x[i % n] * x[j % n];
    }
}

/* P (H + tau I) = I; without the common mode from both sides I - 11'/K. */
static void test_full(void **state) {
    (void)state;
    static double H[SIZE][SIZE];
    for (int common = 0; common < 2; common++) {
        scene s;
        scene_init(&s, "laplace");
        s.o.structure = "full";
        s.o.common_mode = common;
        s.o.prior_precision = 2;
        fit(&s);
        assert_true(s.e->plan.stored == 1 && s.e->plan.S == 6 && s.e->plan.gaussian.common == common);
        check_member(&s, 0, s.theta);
        hessian(H, &s);
        const double *P = s.e->plan.gaussian.at[LLI_GAUSSIAN_P];
        for (int i = 0; i < SIZE; i++)
            H[i][i] += 2;
        /* where a mode is common to all classes, H + tau I is tau there: P of it is 1/tau, or 0 where it is taken out */
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) {
                double sum = 0;
                for (int k = 0; k < SIZE; k++)
                    sum += P[i * SIZE + k] * H[k][j];
                CHECK_NEAR(sum, (i == j) - (common ? 0 : (i % n == j % n) / (double)K), 1e-8);
            }
        scene_free(&s);
    }
}

static void test_diagonal(void **state) {
    (void)state;
    static double H[SIZE][SIZE];
    scene s;
    scene_init(&s, "laplace");
    s.o.structure = "diag";
    s.o.prior_precision = 2;
    fit(&s);
    hessian(H, &s);
    const float *R = s.e->plan.gaussian.at[LLI_GAUSSIAN_R];
    for (int i = 0; i < SIZE; i++)
        CHECK_NEAR((double)R[i], 1 / (H[i][i] + 2), 1e-6 / (H[i][i] + 2));
    scene_free(&s);
}

/* kfac: V' diag(a) V = sum of z~ z~', U' diag(b) U = mean of diag p - p p', R = 1/(b a + tau). */
static void test_factors(void **state) {
    (void)state;
    static const char *const structures[] = {"kfac", "diagb"};
    for (int which = 0; which < 2; which++) {
        scene s;
        scene_init(&s, "laplace");
        s.o.structure = structures[which];
        s.o.prior_precision = 2;
        fit(&s);
        double A[n][n] = {{0}}, of_classes[K][K] = {{0}};
        for (int64_t row = 0; row < N; row++) {
            double x[n], p[K];
            look(&s, row, s.p.head->W, s.p.head->b, x, p);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    A[i][j] += x[i] * x[j];
            for (int k = 0; k < K; k++)
                for (int l = 0; l < K; l++)
                    of_classes[k][l] += (p[k] * (k == l) - p[k] * p[l]) / N;
        }
        const lli_gaussian *g = &s.e->plan.gaussian;
        const float *V = g->at[LLI_GAUSSIAN_V], *U = g->at[LLI_GAUSSIAN_U], *R = g->at[LLI_GAUSSIAN_R];
        assert_int_equal(U != NULL, which == 0);
        for (int i = 0; i < K; i++)
            for (int j = 0; j < n; j++) {
                double a = 0, b = which ? of_classes[i][i] : 0;
                for (int k = 0; k < n; k++)
                    for (int l = 0; l < n; l++)
                        a += (double)V[j * n + k] * A[k][l] * (double)V[j * n + l];
                for (int k = 0; U && k < K; k++)
                    for (int l = 0; l < K; l++)
                        b += (double)U[i * K + k] * of_classes[k][l] * (double)U[i * K + l];
                CHECK_NEAR((double)R[i * n + j] * (b * a + 2), 1, 1e-4);
            }
        scene_free(&s);
    }
    scene s;
    scene_init(&s, "laplace");
    ll_fit_options o;
    s.o.prior_precision = 1e-31;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "at least 1e-30", lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
    scene_free(&s);
}

/* Members are the draws of chains after their warm-up, started where theta* is the MAP. */
static void test_hmc(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "hmc");
    s.o.chains = 2;
    s.star.gradient_norm = 1e-6;
    fit(&s);
    assert_int_equal(s.steps, 2 * (LLI_HAMILTON_WARMUP + 3));
    assert_non_null(strstr(s.told, "note: hmc: step "));
    lli_hamilton_space space;
    CHECK_OK(s.ctx, lli_hamilton_space_init(s.ctx, &space, s.p.data, &(lli_curvature_head){K, s.p.head->W, s.p.head->b}, 1));
    double log_step = 0, acceptance = 0, passes = 0;
    for (int chain = 0; chain < 2; chain++) {
        lli_hamilton *h;
        CHECK_OK(s.ctx, lli_hamilton_new(&h, s.ctx, &space));
        lli_hamilton_start(h, 17, chain);
        CHECK_OK(s.ctx, lli_hamilton_arrive(s.ctx, h));
        for (int i = 0; i < LLI_HAMILTON_WARMUP + 3; i++) {
            CHECK_OK(s.ctx, lli_hamilton_draw(s.ctx, h));
            int member = 3 * chain + i - LLI_HAMILTON_WARMUP;
            for (int k = 0; i >= LLI_HAMILTON_WARMUP && k < SIZE; k++) {
                float x = k % n < D ? s.e->tensor[0][(member * K + k / n) * D + k % n] : s.e->tensor[1][member * K + k / n];
                assert_true(x == (float)h->theta[k]);
            }
        }
        log_step += log(lli_hamilton_step(h->state)) / 2;
        acceptance += lli_hamilton_acceptance(h->state) / 2;
        passes += h->state->passes;
        lli_hamilton_free(h);
    }
    char words[200];
    snprintf(words, sizeof words, "note: hmc: step %.3g, acceptance %.2f, %.0f passes over the data", exp(log_step), acceptance, passes);
    assert_string_equal(s.told, words);
    lli_hamilton_space_release(&space);
    scene_free(&s);
}

/* Mean and variance of the snapshots by their definition, and the draw from them. */
static void test_swag(void **state) {
    (void)state;
    enum { SNAPSHOTS = 3 * STEPS / 3, FLOATS = 200 };
    scene s;
    scene_init(&s, "swag");
    fit(&s);
    assert_int_equal(s.steps, 3 * SNAPSHOTS);
    int64_t floats = s.model.floats;
    assert_true(floats <= FLOATS);
    double snapshot[SNAPSHOTS][FLOATS], mean[FLOATS] = {0}, so_far[FLOATS] = {0}, deviation[SNAPSHOTS][FLOATS], variance[FLOATS] = {0};
    lli_chain_options o = {.optimiser = &lli_optimiser_swag,
                           .lr = 0.1,
                           .lr_power = s.o.lr_power,
                           .batch_size = B,
                           .prior_precision = 1,
                           .seed = 17,
                           .independent = true};
    lli_chain *chain;
    CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, o.optimiser->rule, B, 0, false));
    lli_chain_start(chain, &o, s.theta);
    for (int t = 0; t < SNAPSHOTS; t++) {
        CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, 3 * (t + 1)));
        for (int64_t i = 0; i < floats; i++) {
            snapshot[t][i] = (double)chain->theta[i];
            so_far[i] += snapshot[t][i];
            mean[i] += snapshot[t][i] / SNAPSHOTS;
            deviation[t][i] = snapshot[t][i] - so_far[i] / (t + 1);
        }
    }
    lli_chain_free(chain);
    for (int64_t i = 0; i < floats; i++)
        for (int t = 0; t < SNAPSHOTS; t++)
            variance[i] += pow(snapshot[t][i] - mean[i], 2) / SNAPSHOTS;
    for (int member = 0; member < 6; member++) {
        float z1[FLOATS], z2[32], theta[FLOATS], W[K * D], b[K];
        lli_model_normals(&s.model, z1, lli_rng_stream(17, LLI_PURPOSE_SWAG, member, 0), 0, floats);
        s.model.kernels->normals(z2, lli_rng_stream(17, LLI_PURPOSE_SWAG, member, 1), 0, LLI_OPTIMISER_SWAG_SLOTS - 2);
        for (int64_t i = 0; i < floats; i++) {
            double x = mean[i] + (double)z1[i] * sqrt(variance[i] / 2);
            for (int t = 0; t < SNAPSHOTS; t++)
                x += (double)z2[t] * deviation[t][i] / sqrt(2.0 * (SNAPSHOTS - 1));
            theta[i] = (float)x;
        }
        s.model.ops->unpack(&s.model, (float *[]){W, b}, theta);
        for (int i = 0; i < K * D; i++)
            CHECK_NEAR((double)s.e->tensor[0][member * K * D + i], (double)W[i], 2e-6);
        for (int k = 0; k < K; k++)
            CHECK_NEAR((double)s.e->tensor[1][member * K + k], (double)b[k], 2e-6);
    }
    scene_free(&s);
}

/* The mean over at most ten members, spread over the second half, of (theta - theta*)' grad, where grad = sum (p - y) z~' + tau theta. */
static void check_virial(int64_t samples, int64_t count, int64_t step) {
    scene s;
    scene_init(&s, "sgld");
    s.o.lr = 0.01;
    s.o.samples = samples;
    fit(&s);
    double ratio, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t member = samples - 1 - i * step;
        const float *W = s.e->tensor[0] + member * K * D, *b = s.e->tensor[1] + member * K;
        double gradient[SIZE];
        for (int j = 0; j < SIZE; j++)
            gradient[j] = 1.5 * (double)(j % n < D ? W[j / n * D + j % n] : b[j / n]);
        for (int64_t row = 0; row < N; row++) {
            double x[n], p[K];
            look(&s, row, W, b, x, p);
            for (int j = 0; j < SIZE; j++)
                gradient[j] += (p[j / n] - (s.p.y[row] == j / n)) * x[j % n];
        }
        for (int j = 0; j < SIZE; j++) {
            int at = j / n * D + j % n;
            double off = j % n < D ? (double)W[at] - (double)s.p.head->W[at] : (double)b[j / n] - (double)s.p.head->b[j / n];
            sum += off * gradient[j];
        }
    }
    CHECK_OK(s.ctx, lli_virial_ratio(s.ctx, &ratio, s.e, s.p.data, &s.star, 1.5));
    CHECK_NEAR(ratio, sum / (double)(count * SIZE), 1e-6 * fabs(sum));
    scene_free(&s);
}

static void test_virial(void **state) {
    (void)state;
    check_virial(1, 1, 1);
    check_virial(6, 3, 1);
    check_virial(40, 10, 2);
}

/* Length: the sum of lr between the first and the last sample, halved by friction 2; the sentences on both sides of 1. */
static void test_diffusion(void **state) {
    (void)state;
    static const char *const methods[] = {"sgd", "sghmc", "bootstrap"};
    for (int m = 0; m < 3; m++) {
        scene s;
        scene_init(&s, methods[m]);
        s.o.chains = m == 1 ? 2 : 1;
        s.o.lr_t0 = m == 0 ? 20 : 0;
        ll_fit_options o;
        CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
        const lli_fit f = {.method = lli_method_find(o.method), .options = o, .star = &s.star, .data = s.p.data};
        double length = lli_diffusion_length(&f), sum = 0;
        if (m == 2)
            assert_true(isnan(length));
        for (int step = 2 * STEPS; m == 0 && step < 2 * STEPS + 18; step++)
            sum += 0.1 * pow(1 + step / 20.0, -0.55);
        if (m < 2)
            CHECK_NEAR(length, m == 0 ? sum : 0.1 * 9 / lli_optimiser_sghmc.friction, 1e-4);
        s.told[0] = 0;
        CHECK_OK(s.ctx, lli_diffusion_tell(s.ctx, &o, s.p.data, s.p.data, &s.star));
        double lambda = 0, time = 0;
        const lli_curvature_head head = {K, s.p.head->W, s.p.head->b};
        CHECK_OK(s.ctx, lli_diffusion_lambda(s.ctx, &lambda, s.p.data, N, &head, o.prior_precision));
        time = length * lambda;
        char words[200];
        snprintf(words, sizeof words, "%s: %s of %s covers a diffusion time of %.*g (lambda %.3g)", time < 1 ? "warning" : "note",
                 m == 1 ? "each chain" : "the chain", o.method, time < 1 ? 2 : 3, time, lambda);
        if (m == 2 ? s.told[0] != 0 : !strstr(s.told, words))
            fail_msg("%s, where %s was expected", s.told, words);
        scene_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full), cmocka_unit_test(test_diagonal), cmocka_unit_test(test_factors),   cmocka_unit_test(test_hmc),
        cmocka_unit_test(test_swag), cmocka_unit_test(test_virial),   cmocka_unit_test(test_diffusion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
