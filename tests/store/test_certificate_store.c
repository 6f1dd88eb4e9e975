/* SPDX-License-Identifier: MIT */
/* A certificate in its ensemble: how often rows were used is counted by their name, the cuts of all classes arrive, and one of another
 * ensemble, of other labels or of unknown rows is refused without a trace. The certificates are filled in here, not computed. */
#include <math.h>

#include "check.h"
#include "heard.h"
#include "ensemble/ensemble.h"
#include "metrics/certificate.h"

enum { K = 3, D = 2 };

static ll_ensemble *small(ll_context *ctx, float first) {
    float weight[2 * K * D] = {first, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_new(&e, ctx, ll_array_view(weight, LL_DTYPE_F32, 3, (int64_t[]){2, K, D}), NULL, NULL, NULL, 0));
    return e;
}

static ll_certificate promise(const ll_ensemble *e, const char *rows) {
    ll_certificate c = {.label_rule = "mean"};
    c.info.certified = true;
    c.info.cut = 0.75;
    c.info.confidence = 0.95;
    c.info.by = LL_CONFIDENCE_SR;
    snprintf(c.features_hash, sizeof c.features_hash, "%s", rows);
    lli_ensemble_hash(e, c.ensemble_hash);
    return c;
}

/* Names of which one is the beginning of another, with counts of one and two digits. */
static void test_uses(void **state) {
    (void)state;
    static const char *const names[] = {"abc", "abcd", "ab"};
    heard h;
    ll_context *ctx = heard_context(&h);
    ll_ensemble *e = small(ctx, 0);
    int expected[3] = {0};
    for (int i = 0; i < 60; i++) {
        int which = i % 4 == 3 ? 2 : i % 4 == 2 ? 1 : 0, before = h.warnings;
        char words[200];
        ll_certificate c = promise(e, names[which]);
        CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
        assert_int_equal(c.uses, ++expected[which]);
        assert_int_equal(h.warnings - before, c.uses > 1);
        snprintf(words, sizeof words, "used %d times: all certificates from them hold together with probability %g, not 0.95",
                 expected[which], fmax(0, 1 - expected[which] * (1 - 0.95)));
        if (c.uses > 1 && !strstr(h.last, words))
            fail_msg("%s", h.last);
    }
    assert_int_equal(expected[0], 30);
    /* a file may hold any digits: from INT32_MAX on, the rest is not read */
    static const struct {
        const char *record;
        int64_t uses;
    } large[] = {{"abc 2147483646", 2147483647},
                 {"abc 21474836470", 2147483648},
                 {"abc 99999999999999999999", 10000000000},
                 {"abc 7x9", 8},
                 {"abc x", 1}};
    for (size_t i = 0; i < LLI_COUNT(large); i++) {
        ll_certificate c = promise(e, "abc");
        CHECK_OK(ctx, lli_provenance_set(ctx, &e->plan.provenance, LLI_CERTIFIED_ROWS, large[i].record));
        CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
        assert_int_equal(c.uses, large[i].uses);
    }
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

static void test_cuts(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    ll_ensemble *e = small(ctx, 0);
    ll_certificate c = promise(e, "rows");
    c.info.certified = false; /* what promises nothing is counted, and not stored */
    CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
    assert_null(e->plan.cut);
    assert_null(lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_JSON));
    c.info.certified = true;
    CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
    assert_int_equal(c.uses, 2);
    for (int k = 0; k < K; k++)
        CHECK_NEAR(e->plan.cut[k], 0.75, 0);
    assert_string_equal(lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_BY), "sr");
    assert_string_equal(lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_ENSEMBLE), c.ensemble_hash);
    assert_non_null(strstr(lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_JSON), "\"uses_of_these_rows\": 2"));
    assert_non_null(lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_STATEMENT));
    lli_ensemble_hash(e, c.ensemble_hash); /* a certificate does not make another ensemble */
    c.info.cut = 0.5;
    CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
    CHECK_NEAR(e->plan.cut[K - 1], 0.5, 0);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* Classes with cuts of their own: what is not certified is never answered. */
static void test_class_cuts(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    ll_ensemble *e = small(ctx, 0);
    ll_certificate c = promise(e, "rows");
    ll_certificate_info own[K] = {{.certified = true, .cut = 0.25}, {.certified = false, .cut = 0.5}, {.certified = true, .cut = 0.125}};
    lli_certify_result tests[K] = {0};
    c.class_info = own;
    c.class_tests = tests;
    c.info.classes = K;
    CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
    CHECK_NEAR(e->plan.cut[0], 0.25, 0);
    assert_true(isinf(e->plan.cut[1]) && e->plan.cut[1] > 0);
    CHECK_NEAR(e->plan.cut[2], 0.125, 0);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

static void test_refused(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    ll_ensemble *e = small(ctx, 0), *other = small(ctx, 1);
    ll_certificate c = promise(other, "rows");
    CHECK_FAILS(ctx, LL_ERR_DATA, "of another ensemble", ll_ensemble_set_certificate(ctx, e, &c));
    c = promise(e, "");
    CHECK_FAILS(ctx, LL_ERR_DATA, "does not say which ensemble and which rows", ll_ensemble_set_certificate(ctx, e, &c));
    c = promise(e, "rows");
    c.ensemble_hash[0] = 0;
    CHECK_FAILS(ctx, LL_ERR_DATA, "does not say which ensemble and which rows", ll_ensemble_set_certificate(ctx, e, &c));
    c = promise(e, "rows");
    strcpy(c.label_rule, "vote");
    CHECK_FAILS(ctx, LL_ERR_DATA, "decided by vote", ll_ensemble_set_certificate(ctx, e, &c));
    assert_null(e->plan.cut);
    assert_null(lli_provenance_get(&e->plan.provenance, LLI_CERTIFIED_ROWS));
    ll_ensemble_free(e);
    ll_ensemble_free(other);
    ll_context_free(ctx);
}

/* Whichever allocation fails, nothing is lost: the ensemble has its old cuts or none, and no memory is left behind. */
static void test_without_memory(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    ll_ensemble *e = small(ctx, 0);
    ll_certificate c = promise(e, "rows");
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, ll_ensemble_set_certificate(ctx, e, &c));
    int64_t allocations = lli_memory_count(ctx) - before;
    c.info.cut = 0.25;
    for (int64_t i = 1; i <= allocations / 2; i++) {
        lli_memory_fail_at(ctx, i);
        if (ll_ensemble_set_certificate(ctx, e, &c) != LL_OK)
            CHECK_NEAR(e->plan.cut[0], 0.75, 0);
        else
            break;
    }
    lli_memory_fail_at(ctx, 0);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uses),    cmocka_unit_test(test_cuts),           cmocka_unit_test(test_class_cuts),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
