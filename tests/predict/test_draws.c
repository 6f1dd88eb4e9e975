/* SPDX-License-Identifier: MIT */
/* Predictions of a Gaussian around theta*: its covariance by plain loops of what ensemble/gaussian.h says, then the closed forms in f64,
 * and the mean of draws against draws of this test's own, made with Box and Muller's normals. */
#include <math.h>

#include "base/bundle.h"
#include "check.h"
#include "ensemble/ensemble.h"
#include "problem.h"

enum { K = 3, D = 4, M = D + 1, N = 40, S = 3000, OWN = 30000 };

typedef struct gauss {
    const char *structure;
    bool common;
    float W[K * D], b[K], V[M * M], U[K * K], R[K * M];
    double P[K * M * K * M], weight[S];
} gauss;

static void fill(gauss *g, const char *structure, bool common) {
    g->structure = structure;
    g->common = common;
    for (int i = 0; i < K * D; i++)
        g->W[i] = problem_number(21, i);
    for (int i = 0; i < K; i++)
        g->b[i] = problem_number(22, i);
    for (int i = 0; i < M * M; i++)
        g->V[i] = problem_number(23, i);
    for (int i = 0; i < K * K; i++)
        g->U[i] = problem_number(24, i);
    for (int i = 0; i < K * M; i++)
        g->R[i] = 0.2f + (float)check_uniform(25, i);
    double F[K * M][K * M]; /* P = C F F' C, C takes the mean over classes away unless it stays */
    for (int a = 0; a < K * M; a++)
        for (int c = 0; c < K * M; c++)
            F[a][c] = 0.3 * (double)problem_number(26, a * K * M + c);
    for (int c = 0; c < K * M && !common; c++)
        for (int j = 0; j < M; j++) {
            double mean = 0;
            for (int k = 0; k < K; k++)
                mean += F[k * M + j][c] / K;
            for (int k = 0; k < K; k++)
                F[k * M + j][c] -= mean;
        }
    for (int a = 0; a < K * M; a++)
        for (int c = 0; c < K * M; c++) {
            g->P[a * K * M + c] = 0;
            for (int l = 0; l < K * M; l++)
                g->P[a * K * M + c] += F[a][l] * F[c][l];
        }
    for (int s = 0; s < S; s++)
        g->weight[s] = 1.0 / S;
}

static ll_ensemble *ensemble_of(ll_context *ctx, gauss *g) {
    ll_bundle *bundle;
    ll_ensemble *e;
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "test"));
    const ll_named_array arrays[] = {{"W", ll_array_view(g->W, LL_DTYPE_F32, 3, (int64_t[]){1, K, D})},
                                     {"b", ll_array_view(g->b, LL_DTYPE_F32, 2, (int64_t[]){1, K})},
                                     {"weight", ll_array_view(g->weight, LL_DTYPE_F64, 1, (int64_t[]){S})},
                                     {"laplace_V", ll_array_view(g->V, LL_DTYPE_F32, 2, (int64_t[]){M, M})},
                                     {"laplace_U", ll_array_view(g->U, LL_DTYPE_F32, 2, (int64_t[]){K, K})},
                                     {"laplace_R", ll_array_view(g->R, LL_DTYPE_F32, 2, (int64_t[]){K, M})},
                                     {"laplace_P", ll_array_view(g->P, LL_DTYPE_F64, 2, (int64_t[]){K * M, K * M})}};
    for (size_t i = 0; i < LLI_COUNT(arrays); i++) {
        int which = (int)i - 3;
        if (which < 0 || lli_gaussian_has(g->structure, which))
            CHECK_OK(ctx, lli_bundle_add(ctx, bundle, arrays[i].name, arrays[i].array, NULL));
    }
    CHECK_OK(ctx, lli_bundle_add_meta(ctx, bundle, "format", LLI_ENSEMBLE_FORMAT));
    CHECK_OK(ctx, lli_bundle_add_meta(ctx, bundle, "method", "laplace"));
    CHECK_OK(ctx, lli_bundle_add_meta(ctx, bundle, "seed", "5"));
    CHECK_OK(ctx, lli_bundle_add_meta(ctx, bundle, LLI_GAUSSIAN_STRUCTURE, g->structure));
    CHECK_OK(ctx, lli_bundle_add_meta(ctx, bundle, LLI_GAUSSIAN_COMMON, g->common ? "true" : "false"));
    CHECK_OK(ctx, lli_ensemble_from(&e, ctx, bundle, "file"));
    return e;
}

/* mu [K] without its mean, and Sigma [K,K] of the logits of a row. */
static void plain(double mu[K], double Sigma[K][K], const gauss *g, const float *z) {
    double one[M], mean = 0, s[K];
    for (int j = 0; j < M; j++)
        one[j] = j < D ? (double)z[j] : 1;
    for (int k = 0; k < K; k++) {
        mu[k] = (double)g->b[k];
        for (int j = 0; j < D; j++)
            mu[k] += (double)g->W[k * D + j] * one[j];
        mean += mu[k] / K;
    }
    for (int k = 0; k < K; k++)
        mu[k] -= mean;
    bool full = strcmp(g->structure, "full") == 0, diag = strcmp(g->structure, "diag") == 0, kfac = strcmp(g->structure, "kfac") == 0;
    for (int i = 0; i < K; i++) {
        s[i] = 0;
        for (int j = 0; j < M; j++) {
            double along = 0;
            for (int l = 0; l < M; l++)
                along += diag ? (l == j) * one[l] : (double)g->V[j * M + l] * one[l];
            s[i] += (double)g->R[i * M + j] * along * along;
        }
    }
    for (int k = 0; k < K; k++)
        for (int l = 0; l < K; l++) {
            Sigma[k][l] = 0;
            for (int i = 0; i < K && !full; i++)
                Sigma[k][l] += s[i] * (kfac ? (double)g->U[i * K + k] * (double)g->U[i * K + l] : (k == i) * (l == i));
            for (int i = 0; i < M && full; i++)
                for (int j = 0; j < M; j++)
                    Sigma[k][l] += one[i] * g->P[(k * M + i) * K * M + l * M + j] * one[j];
        }
    if (g->common || full)
        return;
    double row[K] = {0}, all = 0;
    for (int k = 0; k < K; k++)
        for (int l = 0; l < K; l++) {
            row[k] += Sigma[k][l] / K;
            all += Sigma[k][l] / (K * K);
        }
    for (int k = 0; k < K; k++)
        for (int l = 0; l < K; l++)
            Sigma[k][l] += all - row[k] - row[l];
}

static void softmax(double *p, const double *a) {
    double total = 0;
    for (int k = 0; k < K; k++)
        total += p[k] = exp(a[k]);
    for (int k = 0; k < K; k++)
        p[k] /= total;
}

/* The mean of softmax(mu + L e), L L' = Sigma, over normals of this test. */
static void own_draws(double mean[K], const double mu[K], double Sigma[K][K]) {
    double L[K][K] = {{0}};
    for (int j = 0; j < K; j++)
        for (int i = j; i < K; i++) {
            double sum = Sigma[i][j];
            for (int l = 0; l < j; l++)
                sum -= L[i][l] * L[j][l];
            L[i][j] = i == j ? sqrt(fmax(sum, 0)) : L[j][j] > 1e-6 ? sum / L[j][j] : 0;
        }
    for (int k = 0; k < K; k++)
        mean[k] = 0;
    for (int64_t s = 0; s < OWN; s++) {
        double a[K], p[K], e[K];
        for (int k = 0; k < K; k++)
            e[k] = sqrt(-2 * log(1 - check_uniform(31, s * K + k))) * cos(6.283185307179586 * check_uniform(32, s * K + k));
        for (int k = 0; k < K; k++) {
            a[k] = mu[k];
            for (int l = 0; l <= k; l++)
                a[k] += L[k][l] * e[l];
        }
        softmax(p, a);
        for (int k = 0; k < K; k++)
            mean[k] += p[k] / OWN;
    }
}

static void expected(double p[K], lli_link link, const double mu[K], double Sigma[K][K]) {
    double a[K], sum = 0, total = 0;
    if (link == LLI_LINK_MC) {
        own_draws(p, mu, Sigma);
        return;
    }
    for (int l = 0; l < K; l++)
        sum += exp(-mu[l]);
    for (int k = 0; k < K; k++) {
        a[k] = mu[k] / sqrt(1 + 3.141592653589793 / 8 * Sigma[k][k]);
        p[k] = (1 - 2.0 / K + exp(mu[k]) * sum / (K * K)) / Sigma[k][k];
        total += p[k];
    }
    if (link == LLI_LINK_PROBIT)
        softmax(p, a);
    for (int k = 0; k < K && link == LLI_LINK_BRIDGE; k++)
        p[k] /= total;
}

static void check_link(ll_context *ctx, const gauss *g, const ll_ensemble *e, const float *z, lli_link link) {
    ll_ensemble seen = *e; /* a closed form is one member */
    seen.plan.gaussian.link = link;
    double one = 1;
    if (link != LLI_LINK_MC) {
        seen.plan.S = 1;
        seen.plan.weight = &one;
    }
    float probs[N * K], parts[N * K];
    ll_prediction out = {.probs = probs};
    ll_predictor *predictor;
    CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, &seen));
    CHECK_OK(ctx, ll_predictor_run(&out, predictor, z, N, 1000));
    for (int64_t at = 0; at < N; at += 7) { /* in any blocks, the same bits */
        out.probs = parts + at * K;
        CHECK_OK(ctx, ll_predictor_run(&out, predictor, z + at * D, LLI_MIN(7, N - at), 1000 + at));
    }
    assert_memory_equal(probs, parts, sizeof probs);
    ll_predictor_free(predictor);
    for (int64_t i = 0; i < N; i += link == LLI_LINK_MC ? 13 : 1) {
        double mu[K], Sigma[K][K], p[K];
        plain(mu, Sigma, g, z + i * D);
        expected(p, link, mu, Sigma);
        for (int k = 0; k < K; k++)
            CHECK_NEAR((double)probs[i * K + k], p[k], link == LLI_LINK_MC ? 0.03 : 2e-5);
    }
}

static void test_links(void **state) {
    (void)state;
    static const char *const structures[] = {"diag", "diagb", "kfac", "full"};
    static gauss g;
    ll_context *ctx = check_context(1);
    float z[N * D];
    for (int i = 0; i < N * D; i++)
        z[i] = 1.5f * problem_number(27, i);
    for (int i = 0; i < 8; i++) {
        fill(&g, structures[i / 2], i % 2);
        ll_ensemble *e = ensemble_of(ctx, &g);
        for (int link = LLI_LINK_MC; link <= LLI_LINK_BRIDGE; link++)
            check_link(ctx, &g, e, z, (lli_link)link);
        ll_ensemble_free(e);
    }
    ll_context_free(ctx);
}

static void test_without_memory(void **state) {
    (void)state;
    static const char *const structures[] = {"kfac", "full"};
    static gauss g;
    ll_context *ctx = check_context(1);
    for (int i = 0; i < 4; i++) {
        fill(&g, structures[i / 2], false);
        ll_ensemble *e = ensemble_of(ctx, &g), seen = *e;
        seen.plan.gaussian.link = i % 2 ? LLI_LINK_PROBIT : LLI_LINK_MC;
        for (int64_t n = 1;; n++) {
            ll_predictor *predictor;
            lli_memory_fail_at(ctx, n);
            ll_status status = ll_predictor_new(&predictor, ctx, &seen);
            lli_memory_fail_at(ctx, 0);
            if (status == LL_OK) {
                assert_true(n > 10);
                ll_predictor_free(predictor);
                break;
            }
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_null(predictor);
        }
        ll_ensemble_free(e);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links), cmocka_unit_test(test_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
