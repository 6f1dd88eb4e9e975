/* SPDX-License-Identifier: MIT */
/* Members and places that are solved for: the MAPs of resamples, the MAP that hmc begins at, the Hessian of laplace; and what methods say
 * where a solver or a sampler does badly, which functions that stand in for it here pretend. */
#include "data/order.h"
#include "heard.h"
#include "linear/linear.h"
#include "scene.h"
#include "train/hamilton.h"

static struct {
    int64_t solves, failed; /* failed: 1 + the parameter at which a factorisation ends; 0: it is a real one */
    double norm[6], acceptance;
} pretend;

ll_status __real_lli_solve_run(ll_context *ctx, lli_solve *solve, lli_solve_result *result, float *W, float *b, const float *weights,
                               const ll_head_solve_options *options);
ll_status __wrap_lli_solve_run(ll_context *ctx, lli_solve *solve, lli_solve_result *result, float *W, float *b, const float *weights,
                               const ll_head_solve_options *options);
double __real_lli_hamilton_acceptance(const lli_hamilton_state *state);
double __wrap_lli_hamilton_acceptance(const lli_hamilton_state *state);
ll_status __real_lli_cholesky_factor(ll_context *ctx, int64_t *failed, double *a, int64_t n);
ll_status __wrap_lli_cholesky_factor(ll_context *ctx, int64_t *failed, double *a, int64_t n);

ll_status __wrap_lli_solve_run(ll_context *ctx, lli_solve *solve, lli_solve_result *result, float *W, float *b, const float *weights,
                               const ll_head_solve_options *options) {
    ll_status status = __real_lli_solve_run(ctx, solve, result, W, b, weights, options);
    if (pretend.norm[pretend.solves % 6] > 0) {
        result->norm = pretend.norm[pretend.solves % 6];
        result->passes = 10 + pretend.solves;
    }
    pretend.solves++;
    return status;
}

double __wrap_lli_hamilton_acceptance(const lli_hamilton_state *state) {
    return pretend.acceptance > 0 ? pretend.acceptance : __real_lli_hamilton_acceptance(state);
}

ll_status __wrap_lli_cholesky_factor(ll_context *ctx, int64_t *failed, double *a, int64_t n) {
    ll_status status = __real_lli_cholesky_factor(ctx, failed, a, n);
    *failed = pretend.failed ? pretend.failed - 1 : *failed;
    return status;
}

static int reset(void **state) {
    (void)state;
    memset(&pretend, 0, sizeof pretend);
    return 0;
}

/* Half of the rows count twice as much as the others. */
static void weigh(const scene *s, ll_dataset *data, const int64_t *rows) {
    double w[N];
    for (int64_t i = 0; i < N; i++)
        w[i] = rows[i] % 2 ? 2 : 1;
    ll_array weights = ll_array_view(w, LL_DTYPE_F64, 1, (int64_t[]){N});
    CHECK_OK(s->ctx, ll_dataset_weigh(s->ctx, data, &weights, NULL));
}

/* Each member is the MAP of the data set in which a row stands as often as its resample has it. */
static void test_resamples(void **state) {
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        scene s;
        int64_t list[N];
        scene_init(&s, "bootstrap");
        s.o.solve = true;
        s.o.prior_precision = 3;
        for (int64_t i = 0; i < N; i++)
            list[i] = i;
        if (weighted)
            weigh(&s, s.p.data, list);
        fit(&s);
        assert_int_equal(s.steps, 6);
        for (int64_t member = 0; member < 6; member++) {
            static float z[N * D];
            int64_t y[N];
            lli_order_resample(list, s.model.kernels, N, 17, member);
            for (int64_t i = 0; i < N; i++) {
                y[i] = s.p.y[list[i]];
                memcpy(z + i * D, s.p.z + list[i] * D, D * sizeof *z);
            }
            ll_dataset *data;
            ll_head *head;
            ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, (int64_t[]){N});
            CHECK_OK(s.ctx, ll_dataset_new(&data, s.ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &labels, K));
            if (weighted)
                weigh(&s, data, list);
            ll_head_solve_options options = ll_head_solve_options_default();
            options.prior_precision = 3;
            CHECK_OK(s.ctx, ll_head_solve(&head, s.ctx, data, &options));
            for (int i = 0; i < K * D; i++)
                CHECK_NEAR((double)s.e->tensor[0][member * K * D + i], (double)head->W[i], 5e-4);
            for (int k = 0; k < K; k++)
                CHECK_NEAR((double)s.e->tensor[1][member * K + k], (double)head->b[k], 5e-4);
            ll_head_free(head);
            ll_dataset_free(data);
        }
        scene_free(&s);
    }
}

/* Passes are counted together; a warning counts the resamples whose gradient stayed above the tolerance, and has the largest. */
static void test_what_solves_say(void **state) {
    (void)state;
    static const double norms[3][6] = {
        {1e-6, 1e-5, 1e-7, 9e-6, 1e-6, 1e-6}, {1e-6, 2e-5, 1e-6, 3e-4, 1.5e-5, 1e-6}, {2e-5, 2e-5, 2e-5, 2e-5, 2e-5, 2e-5}};
    static const char *const words[] = {
        "",
        "the MAP of 3 of 6 resamples is not fully converged: gradients have norms of up to 3.00e-04, expected 1e-05; use a larger "
        "prior_precision\n",
        "the MAP of 6 of 6 resamples is not fully converged: gradients have norms of up to 2.00e-05, expected 1e-05; use a larger "
        "prior_precision\n",
    };
    for (int c = 0; c < 3; c++) {
        reset(NULL);
        memcpy(pretend.norm, norms[c], sizeof pretend.norm);
        scene s;
        heard h;
        ll_ensemble *e;
        scene_init(&s, "bootstrap");
        s.o.solve = true;
        ll_context *ctx = heard_context(&h);
        CHECK_OK(ctx, lli_fit_collect(&e, ctx, &s.o, s.p.data, &s.star, "bootstrap"));
        char all[1000];
        snprintf(all, sizeof all, "bootstrap: 75 passes over the data for the MAPs of the resamples\n%s", words[c]);
        assert_string_equal(h.text, all);
        assert_true(h.notes == 1 && h.warnings == (c > 0));
        ll_ensemble_free(e);
        ll_context_free(ctx);
        scene_free(&s);
    }
}

/* Where theta* is not the MAP, hmc solves for it, with the classes of theta*; and it begins there. */
static void test_begin(void **state) {
    (void)state;
    scene s, from_map;
    scene_init(&s, "hmc");
    s.o.prior_precision = 2;
    s.o.samples = 2;
    fit(&s);
    scene_init(&from_map, "hmc");
    ll_head *head;
    ll_head_solve_options options = ll_head_solve_options_default();
    options.prior_precision = 2;
    CHECK_OK(s.ctx, ll_head_solve(&head, s.ctx, s.p.data, &options));
    s.model.ops->pack(&s.model, from_map.theta, (const float *const[]){head->W, head->b});
    from_map.o.prior_precision = 2;
    from_map.o.samples = 2;
    from_map.star.gradient_norm = 1e-6;
    fit(&from_map);
    assert_memory_equal(s.e->tensor[0], from_map.e->tensor[0], 2 * K * D * sizeof(float));
    assert_memory_equal(s.e->tensor[1], from_map.e->tensor[1], 2 * K * sizeof(float));
    ll_head_free(head);
    scene_free(&from_map);
    s.p.data->K = 2; /* of the labels alone */
    for (int64_t i = 0; i < N; i++)
        s.p.data->labels[i] %= 2;
    s.p.data->K_given = false;
    const lli_fit f = {.star = &s.star, .data = s.p.data, .options = {.prior_precision = 5}};
    CHECK_OK(s.ctx, lli_fit_solve(&head, s.ctx, &f));
    assert_int_equal(head->K, 3);
    ll_head *other;
    options.prior_precision = 5;
    s.p.data->K = 3;
    s.p.data->K_given = true;
    CHECK_OK(s.ctx, ll_head_solve(&other, s.ctx, s.p.data, &options));
    assert_memory_equal(head->W, other->W, K * D * sizeof(float));
    ll_head_free(other);
    ll_head_free(head);
    scene_free(&s);
}

static void test_what_hmc_says(void **state) {
    (void)state;
    for (int c = 0; c < 3; c++) {
        scene s;
        heard h;
        ll_ensemble *e;
        scene_init(&s, "hmc");
        ll_context *ctx = heard_context(&h);
        s.o.chains = 2;
        s.o.samples = 2;
        s.star.gradient_norm = 1e-6;
        pretend.acceptance = c == 0 ? 0.61 : 0.59;
        s.o.prior_precision = c == 2 ? 0.9e-30 : 1;
        ll_fit_options o;
        ll_status status = c == 2 ? lli_fit_resolve(ctx, &o, &s.o, s.p.data, false) : LL_OK;
        e = NULL;
        if (status == LL_OK)
            status = lli_fit_collect(&e, ctx, &s.o, s.p.data, &s.star, "hmc");
        assert_int_equal(status, c == 2 ? LL_ERR_USAGE : LL_OK);
        if (c == 2)
            assert_non_null(strstr(ctx->message, "hmc needs a prior_precision of at least 1e-30, and it is 9e-31"));
        else
            assert_non_null(strstr(h.text, c == 0 ? "acceptance 0.61, " : "acceptance 0.59, "));
        assert_int_equal(h.notes, c < 2);
        assert_int_equal(h.warnings, c == 1);
        if (c == 1)
            assert_non_null(strstr(h.last, "hmc accepts only 0.59 of its draws, expected about 0.9: its members repeat"));
        ll_ensemble_free(e);
        ll_context_free(ctx);
        scene_free(&s);
    }
    pretend.acceptance = 0;
    for (int part = 0; part < 3; part++) { /* of three, of two chains: the first has none, the others speak of their own */
        scene s;
        ll_fit_options o;
        lli_ensemble_plan plan;
        lli_store_memory store;
        lli_meter meter;
        lli_fit f;
        scene_init(&s, "hmc");
        s.o.chains = 2;
        s.o.samples = 2;
        s.star.gradient_norm = 1e-6;
        CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
        CHECK_OK(s.ctx, lli_fit_plan(s.ctx, &plan, &o, s.p.data, &s.star));
        CHECK_OK(s.ctx, lli_ensemble_new(&s.e, s.ctx, &plan));
        lli_store_memory_init(&store, s.e);
        CHECK_OK(s.ctx, lli_fit_init(s.ctx, &f, lli_method_find("hmc"), &o, &s.star, s.p.data, &store.store, &meter));
        lli_meter_init(&meter, "hmc", f.method->steps(&f));
        f.part = (lli_share){part, 3};
        int64_t own = lli_share_end(&f.part, 2) - lli_share_begin(&f.part, 2);
        CHECK_OK(s.ctx, lli_fit_run(s.ctx, &f));
        assert_int_equal(strncmp(s.told, "note: hmc: step ", 16) == 0, own > 0);
        assert_int_equal(atomic_load(&meter.done), own ? LLI_HAMILTON_WARMUP + 1 : 0);
        lli_fit_release(&f);
        scene_free(&s);
    }
}

/* A curvature that is known is taken, by the structures that are made of it, and by no other. */
static void test_known(void **state) {
    (void)state;
    static const char *const structures[] = {"kfac", "diag", "full"};
    scene s;
    scene_init(&s, "laplace");
    float none[K * D + K] = {0};
    lli_curvature c;
    CHECK_OK(s.ctx, lli_curvature_init(s.ctx, &c, s.p.data, &(lli_curvature_head){K, none, none + K * D}, false));
    scene_free(&s);
    for (int which = 0; which < 3; which++) {
        scene_init(&s, "laplace");
        s.o.structure = structures[which];
        s.o.prior_precision = 2;
        fit(&s);
        ll_ensemble *own = s.e;
        s.star.curvature = &c;
        fit(&s);
        const lli_gaussian *g = &s.e->plan.gaussian, *before = &own->plan.gaussian;
        const float *R = g->at[LLI_GAUSSIAN_R], *V = g->at[LLI_GAUSSIAN_V];
        if (which == 0) {
            for (int64_t i = 0; i < K * (D + 1); i++)
                CHECK_NEAR((double)R[i], 1 / (c.b[i / (D + 1)] * c.a[i % (D + 1)] + 2), 1e-6);
            for (int64_t i = 0; i < (D + 1) * (D + 1); i++)
                CHECK_NEAR((double)V[i], c.V[i], 1e-6);
        } else if (which == 1)
            assert_memory_equal(g->at[LLI_GAUSSIAN_R], before->at[LLI_GAUSSIAN_R], K * (D + 1) * sizeof(float));
        else
            assert_memory_equal(g->at[LLI_GAUSSIAN_P], before->at[LLI_GAUSSIAN_P], K * (D + 1) * K * (D + 1) * sizeof(double));
        ll_ensemble_free(own);
        scene_free(&s);
    }
    lli_curvature_release(&c);
}

/* The least prior that laplace and hmc take, and the most classes of eigenvectors: refused before anything is solved for. */
static void test_refused_early(void **state) {
    (void)state;
    static const char *const methods[] = {"laplace", "hmc"};
    for (int m = 0; m < 2; m++)
        for (int below = 0; below < 2; below++) {
            scene s;
            ll_fit_options o;
            scene_init(&s, methods[m]);
            s.o.prior_precision = below ? nextafter(1e-30, 0) : 1e-30;
            assert_int_equal(lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false), below ? LL_ERR_USAGE : LL_OK);
            s.o.prior_precision = LL_PRIOR_EVIDENCE; /* a number later */
            CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
            scene_free(&s);
        }
    static const struct {
        const char *method, *structure, *precondition;
        int64_t K;
        bool fits;
    } rows[] = {
        {"laplace", "kfac", "none", 16384, true}, {"laplace", "kfac", "none", 16385, false}, {"laplace", "diagb", "none", 16385, true},
        {"laplace", "diag", "none", 16385, true}, {"laplace", "full", "none", 1365, true},   {"laplace", "full", "none", 1366, false},
        {"sgld", "kfac", "kfac", 16384, true},    {"sgld", "kfac", "kfac", 16385, false},    {"sgld", "kfac", "none", 16385, true}};
    for (size_t r = 0; r < LLI_COUNT(rows); r++) {
        scene s;
        ll_fit_options o;
        scene_init(&s, rows[r].method);
        s.o.structure = rows[r].structure;
        s.o.precondition = rows[r].precondition;
        s.p.data->K = rows[r].K; /* the options alone are looked at */
        assert_int_equal(lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false), rows[r].fits ? LL_OK : LL_ERR_USAGE);
        s.p.data->K = K;
        scene_free(&s);
    }
}

/* K (D + 1) = 8192 is the largest, for which the memory is asked for; and a Hessian without a factor. */
static void test_limits_of_full(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 20, 3, 3);
    for (int64_t classes = 2048; classes <= 2049; classes++) {
        lli_model model;
        CHECK_OK(ctx, lli_head_model(ctx, &model, classes, 3));
        float *theta = problem_room(model.floats, sizeof *theta);
        const lli_theta_star star = {.model = &model, .theta = theta};
        ll_fit_options o = ll_fit_options_default();
        lli_gaussian g = {0};
        o.structure = "full";
        lli_memory_fail_at(ctx, 2);
        ll_status status = lli_method_laplace.gaussian(ctx, &g, &o, p.data, &star);
        lli_memory_fail_at(ctx, 0);
        assert_int_equal(status, classes == 2048 ? LL_ERR_MEMORY : LL_ERR_USAGE);
        if (classes > 2048)
            assert_non_null(strstr(ctx->message, "structure=full is for K (D + 1) of up to 8192 parameters, and this head has 8196"));
        free(theta);
    }
    problem_free(&p);
    ll_context_free(ctx);
    for (pretend.failed = 0; pretend.failed < 3; pretend.failed++) {
        scene s;
        ll_ensemble *e;
        scene_init(&s, "laplace");
        s.o.structure = "full";
        if (pretend.failed) {
            char words[100];
            snprintf(words, sizeof words, "singular within rounding at parameter %d with prior_precision=1; use a larger one",
                     (int)pretend.failed - 1);
            CHECK_FAILS(s.ctx, LL_ERR_DATA, words, lli_fit_collect(&e, s.ctx, &s.o, s.p.data, &s.star, "laplace"));
        } else {
            CHECK_OK(s.ctx, lli_fit_collect(&e, s.ctx, &s.o, s.p.data, &s.star, "laplace"));
            ll_ensemble_free(e);
        }
        scene_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_resamples, reset),     cmocka_unit_test_setup(test_what_solves_say, reset),
        cmocka_unit_test_setup(test_begin, reset),         cmocka_unit_test_setup(test_what_hmc_says, reset),
        cmocka_unit_test_setup(test_known, reset),         cmocka_unit_test_setup(test_limits_of_full, reset),
        cmocka_unit_test_setup(test_refused_early, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
