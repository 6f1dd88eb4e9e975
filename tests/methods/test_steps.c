/* SPDX-License-Identifier: MIT */
/* How the options of a fit reach its chains: batches, blocks, metric, control variates; who writes where ranks divide a chain; and members
 * that are not finite. */
#include "base/team.h"
#include "model/large_head.h"
#include "scene.h"

static lli_chain_options plain(const scene *s, const lli_optimiser *optimiser) {
    return (lli_chain_options){
        .optimiser = optimiser, .lr = s->o.lr, .lr_power = 0.55, .batch_size = s->o.batch_size, .prior_precision = 1, .seed = 17};
}

static void test_batches(void **state) {
    (void)state;
    static const char *const words[] = {"full", "independent", "block:10"};
    for (int c = 0; c < 3; c++) {
        scene s;
        scene_init(&s, "sgd");
        s.o.shuffle = words[c];
        fit(&s);
        lli_chain *chain;
        lli_chain_options o = plain(&s, &lli_optimiser_sgd);
        o.independent = c == 1;
        o.block_rows = c == 2 ? 10 : 0;
        CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, o.optimiser->rule, B, o.block_rows, false));
        lli_chain_start(chain, &o, s.theta);
        for (int64_t member = 0; member < 6; member++) {
            CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, 2 * STEPS + 3 * (member + 1)));
            check_member(&s, member, chain->theta);
        }
        lli_chain_free(chain);
        scene_free(&s);
    }
}

/* The variance of batches comes on top of that of the posterior: 1 + lr N / (2 B) times; the length of steps makes it 1/(1 - lr/2). */
static void check_doubt(const scene *s, bool expected) {
    double lr = s->o.lr, b = (double)s->o.batch_size;
    char words[400];
    snprintf(words, sizeof words,
             "warning: steps of lr=%g with precondition=kfac and plain batches make the variance of the members about %.3g times too large "
             "by the noise of batches of %g of 100 rows, and %.3g times by their length; use control_variates=on, or an lr of at most %.2g",
             lr, 1 + lr / 2 * N / b, b, lr < 1.99 ? 1 / (1 - lr / 2) : 1 / (1 - 1.99 / 2), b / 5 / N);
    assert_string_equal(s->told, expected ? words : "");
}

static void test_around(void **state) {
    (void)state;
    static const struct {
        const char *precondition, *control;
        double lr;
        int64_t batch_size;
        bool doubts;
    } cases[] = {
        {"none", "on", 0.1, B, false},        {"kfac", "on", 0.1, B, false},      {"kfac", "off", 0.1, B, true},
        {"kfac", "off", 0.059, B, false},     {"kfac", "off", 0.061, B, true},    {"kfac", "off", 0.3, N, false},
        {"kfac", "off", 0.1995, N - 1, true}, {"kfac", "off", 0.3, N + 1, false}, {"kfac", "auto", 0.1, B, false},
    };
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        scene s;
        scene_init(&s, "sgld");
        s.o.precondition = cases[c].precondition;
        s.o.control_variates = cases[c].control;
        s.o.lr = cases[c].lr;
        s.o.batch_size = cases[c].batch_size;
        s.o.thin = 1;
        s.o.burn_in = 0;
        fit(&s);
        check_doubt(&s, cases[c].doubts);
        lli_around around = {0};
        lli_chain *chain;
        lli_chain_options o = plain(&s, &lli_optimiser_sgld);
        CHECK_OK(s.ctx, lli_around_init(s.ctx, &around, s.p.data, &s.model, s.theta, 1, strcmp(cases[c].control, "off") != 0,
                                        strcmp(cases[c].precondition, "kfac") == 0));
        CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, o.optimiser->rule, o.batch_size, 0, false));
        CHECK_OK(s.ctx, lli_chain_surround(s.ctx, chain, &around, o.batch_size));
        lli_chain_start(chain, &o, s.theta);
        for (int64_t member = 0; member < 6; member++) {
            CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, member + 1));
            check_member(&s, member, chain->theta);
        }
        lli_chain_free(chain);
        lli_around_release(&around);
        scene_free(&s);
    }
    scene s; /* steps as long as the posterior is wide: the doubt stays finite */
    scene_init(&s, "sgld");
    s.o.precondition = "kfac";
    s.o.control_variates = "off";
    s.o.lr = 3;
    ll_fit_options o;
    lli_fit f;
    lli_meter meter;
    CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
    CHECK_OK(s.ctx, lli_fit_init(s.ctx, &f, lli_method_find("sgld"), &o, &s.star, s.p.data, NULL, &meter));
    check_doubt(&s, true);
    lli_fit_release(&f);
    scene_free(&s);
}

/* psgld at the MAP with all rows at once. */
static void test_psgld_batches(void **state) {
    (void)state;
    for (int64_t size = N - 1; size <= N; size++) {
        scene s;
        ll_fit_options o;
        lli_fit f;
        lli_meter meter;
        scene_init(&s, "psgld");
        s.o.batch_size = size;
        CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
        CHECK_OK(s.ctx, lli_fit_init(s.ctx, &f, lli_method_find("psgld"), &o, &s.star, s.p.data, NULL, &meter));
        assert_string_equal(s.told, size < N
                                        ? ""
                                        : "warning: batch_size=100 takes all 100 rows at once, whose gradient at theta* is near zero, so "
                                          "steps of psgld are up to 1e5 times lr; use a smaller batch_size, such as 10");
        lli_fit_release(&f);
        scene_free(&s);
    }
}

static void test_too_few_snapshots(void **state) {
    (void)state;
    for (int64_t thin = 6; thin <= 7; thin++) {
        scene s;
        ll_fit_options o;
        lli_fit f;
        lli_meter meter;
        scene_init(&s, "swag");
        s.o.thin = thin;
        CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
        if (thin == 6) /* two in 12 steps */
            CHECK_OK(s.ctx, lli_fit_init(s.ctx, &f, lli_method_find("swag"), &o, &s.star, s.p.data, NULL, &meter));
        else
            CHECK_FAILS(s.ctx, LL_ERR_USAGE, "swag needs at least two snapshots, and epochs=3 of 4 steps with thin=7 give 1",
                        lli_fit_init(s.ctx, &f, lli_method_find("swag"), &o, &s.star, s.p.data, NULL, &meter));
        lli_fit_release(&f);
        scene_free(&s);
    }
}

static void test_not_finite(void **state) {
    (void)state;
    scene s;
    lli_fit f;
    lli_meter meter;
    lli_store_memory store;
    scene_init(&s, "sgd");
    fit(&s);
    lli_store_memory_init(&store, s.e);
    CHECK_OK(s.ctx, lli_fit_init(s.ctx, &f, lli_method_find("sgd"), &s.o, &s.star, s.p.data, &store.store, &meter));
    for (int64_t i = 0; i <= s.model.floats; i += s.model.floats - 1) {
        float kept = s.theta[i];
        s.theta[i] = i ? INFINITY : NAN;
        CHECK_FAILS(s.ctx, LL_ERR_DIVERGED,
                    "training diverged: member 4 (lr 0.1) holds a parameter that is not finite; try a smaller lr, such as 0.01",
                    lli_fit_save(s.ctx, &f, 4, s.theta, 0));
        s.theta[i] = kept;
    }
    CHECK_OK(s.ctx, lli_fit_save(s.ctx, &f, 4, s.theta, 0));
    check_member(&s, 4, s.theta);
    lli_fit_release(&f);
    assert_true(!f.scratch && !f.prepared);
    scene_free(&s);
}

/* A run that fails leaves no ensemble. */
static void test_collect(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "sgd");
    fit(&s);
    ll_ensemble *e;
    CHECK_OK(s.ctx, lli_fit_collect(&e, s.ctx, &s.o, s.p.data, &s.star, "sgd"));
    assert_memory_equal(e->tensor[0], s.e->tensor[0], 6 * K * D * sizeof(float));
    CHECK_NEAR(s.total, 1, 0);
    ll_ensemble_free(e);
    s.theta[0] = NAN;
    assert_int_equal(lli_fit_collect(&e, s.ctx, &s.o, s.p.data, &s.star, "sgd"), LL_ERR_DIVERGED);
    assert_null(e);
    s.o.thin = 100;
    s.o.method = "swag";
    assert_int_equal(lli_fit_collect(&e, s.ctx, &s.o, s.p.data, &s.star, "swag"), LL_ERR_USAGE);
    assert_null(e);
    scene_free(&s);
}

/* ---- ranks ---- */

/* Ranks divide the classes of very wide heads in plain chains. */
static void test_divides(void **state) {
    (void)state;
    lli_model wide = {.ops = &lli_large_head_ops, .K = 4096}, narrow = {.ops = &lli_large_head_ops, .K = 4095};
    const lli_theta_star star = {.model = &wide}, other = {.model = &narrow};
    ll_fit_options o = ll_fit_options_default();
    static const char *const methods[] = {"sgld", "ensemble", "point", "bootstrap", "sgd"};
    for (int m = 0; m < 5; m++) {
        o.method = methods[m];
        assert_int_equal(lli_fit_divides(lli_method_find(methods[m]), &o, &star), m != 2);
        assert_false(lli_fit_divides(lli_method_find(methods[m]), &o, &other));
    }
    o.solve = true;
    o.method = "bootstrap";
    assert_false(lli_fit_divides(lli_method_find("bootstrap"), &o, &star));
    o.solve = false;
    o.method = "sgld";
    o.control_variates = "on";
    assert_false(lli_fit_divides(lli_method_find("sgld"), &o, &star));
    o.control_variates = "off";
    o.precondition = "kfac";
    assert_false(lli_fit_divides(lli_method_find("sgld"), &o, &star));
}

/* ---- the table of methods ---- */

/* docs/manual/methods: their order and groups; which of equals compare recommends, variants among them. */
static void test_table(void **state) {
    (void)state;
    static const struct {
        const char *name, *group;
    } rows[] = {{"point", "point"},         {"map", "point"},         {"laplace", "Gaussian"},  {"sgd", "samplers"},  {"sgld", "samplers"},
                {"sghmc", "samplers"},      {"cyclical", "samplers"}, {"psgld", "samplers"},    {"swag", "Gaussian"}, {"hmc", "samplers"},
                {"bootstrap", "ensembles"}, {"dropout", "ensembles"}, {"ensemble", "ensembles"}};
    static const char *const groups[] = {"point", "ensembles", "Gaussian", "samplers"};
    static const char *const simplest[] = {"point", "map",       "laplace",         "bootstrap", "sgd",      "sgld",  "dropout", "hmc",
                                           "sghmc", "sgld-kfac", "bootstrap-solve", "swag",      "cyclical", "psgld", "ensemble"};
    assert_int_equal(ll_method_count(), LLI_COUNT(rows));
    int simplicity[LLI_COUNT(simplest)];
    size_t variants = 0;
    for (size_t i = 0; i < LLI_COUNT(rows); i++) {
        assert_string_equal(ll_method_get(i)->name, rows[i].name);
        assert_string_equal(ll_method_get(i)->group, rows[i].group);
        const lli_method *m = lli_method_find(rows[i].name);
        for (size_t j = 0; j < LLI_COUNT(simplest); j++)
            simplicity[j] = strcmp(simplest[j], rows[i].name) == 0 ? m->simplicity : simplicity[j];
        for (const lli_variant *v = m->variants; v && v->name; v++, variants++) {
            assert_int_equal(v->places, LLI_PLACE_HEAD);
            for (size_t j = 0; j < LLI_COUNT(simplest); j++)
                simplicity[j] = strcmp(simplest[j], v->name) == 0 ? v->simplicity : simplicity[j];
            ll_fit_options o = ll_fit_options_default();
            assert_false(lli_method_variant_is_set(v, &o));
            lli_method_variant_set(v, &o);
            assert_true(lli_method_variant_is_set(v, &o));
            assert_int_equal(o.solve, strcmp(v->name, "bootstrap-solve") == 0);
            assert_string_equal(o.precondition, strcmp(v->name, "sgld-kfac") == 0 ? "kfac" : "none");
            o.precondition = NULL;
            o.solve = false;
            assert_false(lli_method_variant_is_set(v, &o));
        }
        bool trains = !strstr(" point map laplace hmc ", rows[i].name);
        assert_int_equal(lli_method_trains(m), trains);
    }
    assert_int_equal(variants, 2);
    for (size_t j = 1; j < LLI_COUNT(simplest); j++)
        assert_true(simplicity[j] < simplicity[j - 1]);
    assert_int_equal(simplicity[LLI_COUNT(simplest) - 1], 0);
    for (int i = 0; i < LLI_GROUPS; i++)
        assert_string_equal(lli_method_groups[i], groups[i]);
    ll_fit_options o = {.samples = 7, .chains = 3};
    assert_true(lli_method_one(&o) == 1 && lli_method_all(&o) == 7 && lli_method_chains(&o) == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),           cmocka_unit_test(test_around),     cmocka_unit_test(test_psgld_batches),
        cmocka_unit_test(test_too_few_snapshots), cmocka_unit_test(test_not_finite), cmocka_unit_test(test_collect),
        cmocka_unit_test(test_divides),           cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
