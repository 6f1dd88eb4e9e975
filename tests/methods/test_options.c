/* SPDX-License-Identifier: MIT */
/* What lli_fit_resolve makes of options: the defaults and ranges that the manual states, the sentences, and the learning rate. */
#include <math.h>
#include <unistd.h>

#include "option_ends.h"
#include "scene.h"

static ll_status resolve(scene *s, ll_fit_options *o, bool network) {
    s->told[0] = 0;
    return lli_fit_resolve(s->ctx, o, &s->o, s->p.data, network);
}

static void scene_of_defaults(scene *s, const char *method) {
    scene_init(s, method);
    s->o = ll_fit_options_default();
    s->o.method = method;
}

static void test_defaults(void **state) {
    (void)state;
    ll_fit_options o = ll_fit_options_default();
    assert_string_equal(o.method, "sgld");
    assert_string_equal(o.shuffle, "full");
    assert_string_equal(o.dropout_at, "paper");
    assert_string_equal(o.key, "row");
    assert_string_equal(o.structure, "kfac");
    assert_string_equal(o.precondition, "none");
    assert_string_equal(o.control_variates, "auto");
    assert_true(o.batch_size == 128 && o.dropout == 0.5 && o.prior_precision == 1 && o.lr_power == 0.55 && o.layers == 1 && o.chains == 1);
    assert_true(o.samples == 0 && o.lr == 0 && o.epochs == 0 && o.thin == 0 && o.burn_in == 0 && o.lr_t0 == 0 && o.seed == 0);
    assert_true(!o.init && !o.scores && !o.solve && !o.common_mode && !o.validation);
}

static ll_status take(ll_context *ctx, const void *options) {
    scene s;
    ll_fit_options o;
    scene_init(&s, "sgd");
    ll_status status = lli_fit_resolve(ctx, &o, options, s.p.data, false);
    scene_free(&s);
    bool too_many = strstr(ctx->message, "more than 4e9 steps") || strstr(ctx->message, "cannot be divided equally");
    return status == LL_ERR_USAGE && too_many ? LL_OK : status; /* of all options together: the value is in its range */
}

static void test_ends(void **state) {
    (void)state;
    static const option_ends ends[] = {
        {"samples", 1, 16777216, false, false, true},
        {"lr", 0, 1e6, true, false, true},
        {"batch-size", 1, 16777216, false, false, false},
        {"epochs", 1, 1e6, false, false, true},
        {"dropout", 0, 1, true, true, false},
        {"prior-precision", 0, 1e12, false, false, false},
        {"thin", 1, 1e12, false, false, true},
        {"burn-in", 0, 1e6, false, false, false},
        {"lr-t0", 0, 1e15, true, false, true},
        {"lr-power", 0, 10, false, false, false},
        {"layers", 1, 3, false, false, false},
        {"chains", 1, 10000, false, false, false},
    };
    ll_context *ctx = check_context(1);
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    assert_ptr_equal(ll_fit_options_table(NULL), table);
    ll_fit_options o = ll_fit_options_default();
    o.method = "sgd";
    option_ends_check(ctx, table, count, &o, take, ends, LLI_COUNT(ends));
    ll_context_free(ctx);
}

/* What stands for 0: S, epochs, thin of one epoch, or a fifth of it rounded up. */
static void test_unset(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t batch, samples, epochs, thin;
    } rows[] = {{"sgd", 30, 100, 0, 4},      {"cyclical", 30, 100, 0, 1},  {"cyclical", 6, 100, 0, 4},   {"cyclical", 7, 100, 0, 3},
                {"cyclical", 20, 100, 0, 1}, {"bootstrap", 30, 10, 10, 4}, {"dropout", 50, 100, 100, 2}, {"swag", 25, 100, 40, 4},
                {"hmc", 100, 100, 0, 1},     {"laplace", 101, 100, 0, 1},  {"point", 128, 1, 0, 1},      {"map", 128, 1, 0, 1}};
    for (size_t i = 0; i < LLI_COUNT(rows); i++) {
        scene s;
        ll_fit_options o;
        scene_of_defaults(&s, rows[i].method);
        s.o.batch_size = rows[i].batch;
        CHECK_OK(s.ctx, resolve(&s, &o, false));
        assert_int_equal(o.samples, rows[i].samples);
        assert_int_equal(o.epochs, rows[i].epochs);
        assert_int_equal(o.thin, rows[i].thin);
        s.o.samples = 7;
        s.o.epochs = 8;
        s.o.thin = 9;
        CHECK_OK(s.ctx, resolve(&s, &o, false));
        assert_int_equal(o.samples, rows[i].samples == 1 ? 1 : 7);
        assert_true(o.epochs == 8 && o.thin == 9);
        assert_string_equal(o.control_variates, "off");
        scene_free(&s);
    }
    scene s;
    ll_fit_options o;
    scene_of_defaults(&s, "ensemble");
    CHECK_OK(s.ctx, resolve(&s, &o, true));
    assert_true(o.samples == 10 && o.epochs == 0);
    scene_free(&s);
}

/* 1/(1 + w mean |z|^2), a tenth of it for sghmc, ten times for cyclical; of networks at most 0.01 before that. */
static void test_lr(void **state) {
    (void)state;
    for (int c = 0; c < 24; c++) {
        scene s;
        ll_fit_options o;
        bool network = c & 4, weighted = c & 8;
        scene_of_defaults(&s, c % 4 == 0 ? "sgd" : c % 4 == 1 ? "sghmc" : c % 4 == 2 ? "cyclical" : "bootstrap");
        double square = 0, factor = c % 4 == 1 ? 0.1 : c % 4 == 2 ? 10 : 1;
        for (int64_t i = 0; i < N * D; i++)
            square += (double)s.p.z[i] * (double)s.p.z[i] / N;
        if (c >= 16)
            s.p.data->mean_square = square = 399; /* then less than 0.01 */
        if (weighted) {
            CHECK_OK(s.ctx, lli_memory_new(s.ctx, &s.p.data->weights, N, sizeof(float)));
            for (int i = 0; i < N; i++)
                s.p.data->weights[i] = 0.5f;
            s.p.data->weight_sum = 0.5 * N;
        }
        double plain = 1 / (1 + (weighted ? 0.5 : 1) * square), lr = factor * (network ? fmin(plain, 0.01) : plain);
        CHECK_OK(s.ctx, resolve(&s, &o, network));
        CHECK_NEAR(o.lr, lr, 1e-6 * lr);
        CHECK_NEAR(lli_fit_lr(&o, s.p.data, network), o.lr, 0);
        char words[200];
        const char *weight = weighted ? "mean weight x " : "";
        if (network)
            snprintf(words, sizeof words, "note: lr = %.4g, which is the lesser of %g and %g/(1 + %smean |x|^2)", o.lr, factor * 0.01,
                     factor, weight);
        else
            snprintf(words, sizeof words, "note: lr = %.4g, which is %g/(1 + %smean |z|^2)", o.lr, factor, weight);
        assert_string_equal(s.told, words);
        s.o.lr = 0.25;
        CHECK_OK(s.ctx, resolve(&s, &o, network));
        assert_true(o.lr == 0.25 && !s.told[0]);
        scene_free(&s);
    }
    static const char *const silent[] = {"laplace", "hmc", "point", "bootstrap"};
    for (size_t i = 0; i < LLI_COUNT(silent); i++) {
        scene s;
        ll_fit_options o;
        scene_of_defaults(&s, silent[i]);
        s.o.solve = true; /* bootstrap takes no steps then */
        CHECK_OK(s.ctx, resolve(&s, &o, false));
        assert_true(o.lr > 0 && !s.told[0]);
        scene_free(&s);
    }
}

/* Steps that know the whole problem: which methods take which words, and where they are refused. */
static void test_around(void **state) {
    (void)state;
    static const char *const methods[] = {"sgld", "sghmc", "sgd"}, *const when[] = {"auto", "on", "off"};
    for (int c = 0; c < 18; c++) {
        scene s;
        ll_fit_options o;
        scene_of_defaults(&s, methods[c % 3]);
        s.o.control_variates = when[c / 3 % 3];
        s.o.precondition = c >= 9 ? "kfac" : "none";
        bool metric = c >= 9 && c % 3 == 0, control = c % 3 < 2 && (c / 3 % 3 == 1 || (c / 3 % 3 == 0 && metric));
        assert_int_equal(lli_fit_preconditions(&s.o), metric);
        assert_int_equal(lli_fit_controls(&s.o), control);
        assert_int_equal(lli_fit_records(LLI_READS(precondition), &s.o), metric);
        assert_int_equal(lli_fit_records(LLI_READS(control_variates), &s.o), metric || control);
        CHECK_OK(s.ctx, resolve(&s, &o, false));
        assert_string_equal(o.control_variates, control ? "on" : "off");
        if (metric) {
            CHECK_NEAR(o.lr, 0.1, 0);
            assert_string_equal(s.told, "note: lr = 0.1 of the length of the posterior, in every direction");
        }
        for (int64_t layers = 1; layers <= 2; layers++) {
            char words[200];
            snprintf(words, sizeof words, "%s works on the last layer alone, not on %s: leave it out, or fit on features with layers=1",
                     metric ? "precondition" : "control_variates", layers == 1 ? "whole networks" : "several layers");
            s.o.layers = layers;
            if (metric || control)
                CHECK_FAILS(s.ctx, LL_ERR_USAGE, words, resolve(&s, &o, true));
            else
                CHECK_OK(s.ctx, resolve(&s, &o, true));
        }
        s.o.layers = 1;
        s.o.prior_precision = 1e-31;
        if (metric)
            CHECK_FAILS(s.ctx, LL_ERR_USAGE, "precondition=kfac needs a prior_precision of at least 1e-30, and it is 1e-31",
                        resolve(&s, &o, false));
        else
            CHECK_OK(s.ctx, resolve(&s, &o, false));
        for (int prior = 0; prior < 3; prior++) { /* chosen later, or just enough */
            s.o.prior_precision = prior == 0 ? 1e-30 : prior == 1 ? LL_PRIOR_EVIDENCE : LL_PRIOR_VALIDATION;
            assert_int_equal(lli_fit_chooses_prior(&s.o), prior > 0);
            CHECK_OK(s.ctx, resolve(&s, &o, false));
            if (prior && !metric && !control)
                CHECK_FAILS(s.ctx, LL_ERR_USAGE, "prior_precision can be chosen for one layer on features; here give a number",
                            resolve(&s, &o, true));
        }
        scene_free(&s);
    }
}

static void test_refusals(void **state) {
    (void)state;
    scene s;
    ll_fit_options o;
    scene_of_defaults(&s, "bootstrap");
    s.o.chains = 2;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "the method bootstrap has no chains that its members share: leave out chains=2",
                resolve(&s, &o, false));
    s.o.chains = 1;
    s.o.solve = true;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "solve is for one layer on features, whose MAP is unique; leave it out here", resolve(&s, &o, true));
    s.o.method = "sgld"; /* which does not read it */
    CHECK_OK(s.ctx, resolve(&s, &o, true));
    s.o.chains = 3;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "samples=100 cannot be divided equally among chains=3: S is the total, so make it a multiple",
                resolve(&s, &o, false));
    s.o.samples = 99;
    CHECK_OK(s.ctx, resolve(&s, &o, false));
    s.o.shuffle = "blocks";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "shuffle is blocks; expected full, independent, or block:ROWS with at least one row, like block:16384",
                resolve(&s, &o, false));
    s.o.shuffle = "independent";
    s.o.scores = "msp";
    CHECK_OK(s.ctx, resolve(&s, &o, false));
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "scores are of features and one layer on them", resolve(&s, &o, true));
    s.o.scores = "none of them";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "scores", resolve(&s, &o, false));
    s.o.scores = NULL;
    s.o.method = "ensemble";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "the method ensemble trains whole networks", resolve(&s, &o, false));
    scene_free(&s);
}

/* A chain has at most 2e9 steps of burn-in and of sampling, 4e9 of training. The rows are not looked at. */
static void test_totals(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t rows, burn_in, epochs, samples, thin, chains;
        bool fits;
    } cases[] = {
        {"sgld", 1999, 1000000, 1, 1, 1, 1, true},
        {"sgld", 2000, 1000000, 1, 1, 1, 1, false},
        {"bootstrap", 3999, 0, 1000000, 1, 1, 1, true},
        {"bootstrap", 4000, 0, 1000000, 1, 1, 1, false},
        {"sgld", 100, 0, 1, 2, 999999999, 1, true},
        {"sgld", 100, 0, 1, 2, 1000000000, 1, false},
        {"sgld", 100, 0, 1, 4, 999999999, 2, true},
        {"sgld", 100, 0, 1, 4, 1000000000, 2, false},
        {"cyclical", 100, 0, 1, 2, 199999999, 1, true},
        {"cyclical", 100, 0, 1, 2, 200000000, 1, false},
        {"sgld", (int64_t)1 << 60, 16, 1, 1, 1, 1, false}, /* beyond 64 bits, each alone */
        {"bootstrap", (int64_t)1 << 60, 0, 16, 1, 1, 1, false},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        scene s;
        ll_fit_options o;
        scene_of_defaults(&s, cases[i].method);
        s.o.batch_size = 1;
        s.o.lr = 0.1;
        s.o.burn_in = cases[i].burn_in;
        s.o.epochs = cases[i].epochs;
        s.o.samples = cases[i].samples;
        s.o.thin = cases[i].thin;
        s.o.chains = cases[i].chains;
        s.p.data->rows.N = cases[i].rows;
        if (cases[i].fits)
            CHECK_OK(s.ctx, resolve(&s, &o, false));
        else
            CHECK_FAILS(s.ctx, LL_ERR_USAGE, "these options ask for more than 4e9 steps in one chain", resolve(&s, &o, false));
        s.p.data->rows.N = N;
        scene_free(&s);
    }
}

static void ahead(const void *bytes, size_t count) {
    (void)bytes;
    (void)count;
}

/* Mapped features larger than memory, whose rows are drawn one by one, cost 0.1 ms for each row that memory does not hold. */
static void test_warning_of_size(void **state) {
    (void)state;
    for (int c = 0; c < 7; c++) {
        scene s;
        ll_fit_options o;
        scene_of_defaults(&s, c == 1 ? "laplace" : "sgd");
        s.o.lr = 0.1;
        s.o.batch_size = 1 << 24;
        s.o.shuffle = c == 2 ? "block:5" : c == 6 ? "independent" : "full";
        lli_rows *rows = &s.p.data->rows, kept = *rows;
        double memory = 0.9 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
        rows->half = c == 5;
        rows->D = 1000;
        rows->N = (int64_t)(memory / (c == 3 ? 4400 : c == 5 ? 1000 : 2000));
        rows->ahead = c == 4 ? NULL : ahead;
        double bytes = (double)rows->N * 1000 * (c == 5 ? 2 : 4);
        CHECK_OK(s.ctx, resolve(&s, &o, false));
        char words[300];
        snprintf(
            words, sizeof words,
            "warning: the features take %.1f GB and memory has %.1f GB: shuffle=%s reads single rows from disk, about %.0f s per epoch "
            "at 0.1 ms each; shuffle=block:16384 streams",
            bytes / 1e9, memory / 1e9, s.o.shuffle, (double)rows->N * (bytes - memory) / bytes * 0.1 / 1000);
        assert_string_equal(s.told, c == 0 || c >= 5 ? words : "");
        *rows = kept;
        scene_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_unset),    cmocka_unit_test(test_lr),
        cmocka_unit_test(test_around),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_totals),   cmocka_unit_test(test_warning_of_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
