/* SPDX-License-Identifier: MIT */
/* The paper's numbers agree with each other: minima, maxima and ratios of its tables follow from their columns. */
#include <math.h>

#include "check.h"
#include "lastlayer-paper.h"
#include "paper/paper.h"

static const char *const methods[] = {"dropout", "bootstrap", "sgd", "sgld", "point"};

static double value(const char *dataset, const char *task, const char *scope, const char *method, const char *what, const char *which) {
    char metric[64];
    snprintf(metric, sizeof metric, "%s%s%s", what, *which ? "_" : "", which);
    return lli_paper_value(dataset, task, scope, method, metric);
}

/* Printed with few digits: 3 per cent of a ratio, half a unit of the last place of a minimum. */
static int check_rows(const char *dataset, const char *task, const char *scope, const char *kind, double reference, bool least,
                      bool shows_hq) {
    int rows = 0;
    for (size_t m = 0; m < LLI_COUNT(methods); m++) {
        double sr = value(dataset, task, scope, methods[m], kind, "sr"), std = value(dataset, task, scope, methods[m], kind, "std"),
               hq = value(dataset, task, scope, methods[m], kind, "hq"),
               best = value(dataset, task, scope, methods[m], least ? "min" : "max", kind),
               ratio = value(dataset, task, scope, methods[m], "ratio", kind);
        if (isnan(sr))
            continue;
        rows++;
        bool point = strcmp(methods[m], "point") == 0;
        assert_int_equal(isnan(std), point);
        assert_int_equal(isnan(hq), point || !shows_hq);
        /* Some of the printed maxima include a fourth confidence: a little above, never below. */
        double own = least ? fmin(sr, std) : fmax(fmax(sr, std), hq);
        assert_true(least ? best == own : best >= own && best <= own + 0.0025);
        CHECK_NEAR(ratio, best / reference, 0.011);
    }
    return rows;
}

static void test_tables(void **state) {
    (void)state;
    static const char *const sets[] = {"mnist", "cifar10", "cifar100"}, *const scopes[] = {"last", "full"},
                             *const kinds[] = {"auroc", "aupr_in", "aupr_out"};
    for (size_t d = 0; d < 3; d++) {
        double reference = lli_paper_value(sets[d], "selective", "last", "point", "aurc_sr");
        for (size_t s = 0; s < 2; s++) {
            assert_int_equal(check_rows(sets[d], "selective", scopes[s], "aurc", reference, true, false), s == 0 ? 5 : 4);
            for (size_t m = 0; m < 5 - s; m++) {
                double accuracy = lli_paper_value(sets[d], "selective", scopes[s], methods[m], "accuracy");
                assert_true(accuracy > 0.67 && accuracy < 0.99);
            }
            for (size_t k = 0; k < 3; k++) {
                double point = value(sets[d], "ood", "last", "point", kinds[k], "sr");
                assert_int_equal(check_rows(sets[d], "ood", scopes[s], kinds[k], point, false, k > 0 || d == 2), s == 0 ? 5 : 4);
            }
        }
    }
    double two = lli_paper_value("imagenet", "selective", "layers-2", "point", "aurc_sr");
    static const char *const layers[] = {"layers-1", "layers-2", "layers-3"};
    for (size_t l = 0; l < 3; l++)
        assert_int_equal(check_rows("imagenet", "selective", layers[l], "aurc", two, true, false), 5);
}

static void test_numbers(void **state) {
    (void)state;
    CHECK_NEAR(lli_paper_value("mnist", "selective", "full", "dropout", "min_aurc"), 4.84e-4, 0);
    CHECK_NEAR(lli_paper_value("cifar10", "selective", "last", "point", "aurc_sr"), 6.66e-3, 0);
    CHECK_NEAR(lli_paper_value("cifar100", "selective", "full", "sgd", "ece"), 0.096, 0);
    CHECK_NEAR(lli_paper_value("imagenet", "selective", "layers-3", "bootstrap", "ece"), 0.11, 0);
    CHECK_NEAR(lli_paper_value("cifar100", "selective", "last", "sgld", "percent_better_than_full"), 19, 0);
    assert_true(isnan(lli_paper_value("mnist", "selective", "last", "point", "aurc_std")));
    assert_true(isnan(lli_paper_value("fashion", "selective", "last", "point", "aurc_sr")));
    assert_true(isnan(lli_paper_value("mnist", "selective", "last", "point", "aurc")));
    /* The text of section 5: how much better the last layer is than the full network. */
    static const char *const sets[] = {"cifar10", "cifar100"};
    for (int d = 0; d < 2; d++)
        for (int m = 0; m < 4; m++) {
            double last = lli_paper_value(sets[d], "selective", "last", methods[m], "min_aurc"),
                   full = lli_paper_value(sets[d], "selective", "full", methods[m], "min_aurc");
            CHECK_NEAR(100 * (full / last - 1), lli_paper_value(sets[d], "selective", "last", methods[m], "percent_better_than_full"), 1.1);
        }
}

static void test_abuse(void **state) {
    (void)state;
    ll_context *ctx;
    char *text = NULL;
    assert_int_equal(ll_context_new(&ctx, NULL), LL_OK);
    assert_non_null(ll_reproduce_options_table(NULL));
    assert_int_equal(ll_reproduce(NULL, ctx, "mnist", NULL), LL_ERR_USAGE);
    assert_int_equal(ll_reproduce(&text, ctx, NULL, NULL), LL_ERR_USAGE);
    assert_int_equal(ll_reproduce(&text, ctx, "nonsense", NULL), LL_ERR_USAGE);
    assert_true(*ll_context_message(ctx));
    ll_reproduce_options options = ll_reproduce_options_default();
    options.results = NULL;
    assert_int_equal(ll_reproduce(&text, ctx, "mnist", &options), LL_ERR_USAGE);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_numbers), cmocka_unit_test(test_abuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
