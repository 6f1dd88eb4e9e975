/* SPDX-License-Identifier: MIT */
/* Answers by a stored certificate, what is recorded of them, their table with the names of classes; and calibrated verdicts against plain
 * sums. */
#include <math.h>

#include "check.h"
#include "heard.h"
#include "predict/answers.h"
#include "predict/calibrated.h"
#include "predict/logmean.h"
#include "predict/predictions.h"
#include "problem.h"

enum { K = 3, D = 2, S = 2, N = 4 };

static ll_ensemble *certified(ll_context *ctx, int64_t members, const char *by, const char *hash) {
    float W[S * K * D];
    for (int i = 0; i < S * K * D; i++)
        W[i] = problem_number(3, i);
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_new(&e, ctx, ll_array_view(W, LL_DTYPE_F32, 3, (int64_t[]){members, K, D}), NULL, NULL, NULL, 0));
    CHECK_OK(ctx, lli_memory_new(ctx, &e->plan.cut, K, sizeof(double)));
    lli_provenance *p = &e->plan.provenance;
    CHECK_OK(ctx, lli_provenance_set(ctx, p, LLI_CERTIFICATE_JSON, "{}"));
    CHECK_OK(ctx, lli_provenance_set(ctx, p, LLI_CERTIFICATE_STATEMENT, "all will be well"));
    CHECK_OK(ctx, lli_provenance_set(ctx, p, LLI_CERTIFICATE_BY, by));
    CHECK_OK(ctx, lli_provenance_set(ctx, p, LLI_CERTIFICATE_ENSEMBLE, hash));
    return e;
}

static void test_rule(void **state) {
    (void)state;
    static const double costs[K * K] = {0};
    static const struct {
        lli_predict_rule rule;
        const char *by, *hash, *words;
        int notes, warnings;
        bool used;
    } cases[] = {
        {{0}, "entropy", "h", "answers by a certificate: all will be well", 1, 0, true},
        {{.cuts = true}, "sr", "h", "the certified cut of the ensemble is not used: threshold is given, and promises nothing", 1, 0, false},
        {{.by_votes = true}, "sr", "h", "and these are decided by votes", 0, 1, false},
        {{.costs = costs}, "sr", "h", "and these are decided by costs", 0, 1, false},
        {{0}, "sr", "other", "the ensemble was changed after it; certify again", 0, 1, false},
        {{0}, "sr", NULL, "the ensemble was changed after it; certify again", 0, 1, false},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        heard h;
        ll_context *ctx = heard_context(&h);
        ll_ensemble *e = certified(ctx, S, cases[i].by, cases[i].hash);
        lli_predict_rule rule = cases[i].rule;
        CHECK_OK(ctx, lli_answers_certified(ctx, &rule, e, "h"));
        assert_true(h.notes == cases[i].notes && h.warnings == cases[i].warnings);
        if (!strstr(h.last, cases[i].words))
            fail_msg("%s", h.last);
        assert_int_equal(rule.cuts, cases[i].used || cases[i].rule.cuts);
        assert_ptr_equal(rule.cut, cases[i].used ? e->plan.cut : NULL);
        if (cases[i].used)
            assert_int_equal(rule.by, LL_CONFIDENCE_ENTROPY);
        assert_string_equal(ll_ensemble_certificate(e), "{}");
        assert_string_equal(ll_ensemble_promise(e), "all will be well");
        lli_memory_free(e->plan.cut);
        e->plan.cut = NULL; /* no cut: no certificate, whatever the record says */
        h = (heard){0};
        rule = (lli_predict_rule){0};
        CHECK_OK(ctx, lli_answers_certified(ctx, &rule, e, "h"));
        assert_true(!rule.cuts && h.notes + h.warnings == 0);
        assert_null(ll_ensemble_certificate(e));
        assert_null(ll_ensemble_promise(e));
        ll_ensemble_free(e);
        ll_context_free(ctx);
    }
    heard h;
    ll_context *ctx = heard_context(&h);
    static const char *const by[] = {"luck", NULL, "std"};
    for (int i = 0; i < 3; i++) { /* std needs members */
        ll_ensemble *e = certified(ctx, 1, by[i], "h");
        lli_predict_rule rule = {0};
        char words[100];
        snprintf(words, sizeof words, "the certificate of the ensemble cuts %s, which its predictions do not have",
                 by[i] ? by[i] : "nothing");
        CHECK_FAILS(ctx, LL_ERR_DATA, words, lli_answers_certified(ctx, &rule, e, "h"));
        ll_ensemble_free(e);
    }
    ll_ensemble *e = certified(ctx, 1, "sr", "h");
    CHECK_OK(ctx, lli_answers_certified(ctx, &(lli_predict_rule){0}, e, "h"));
    CHECK_OK(ctx, lli_provenance_set(ctx, &e->plan.provenance, LLI_CERTIFICATE_STATEMENT, NULL));
    CHECK_OK(ctx, lli_answers_certified(ctx, &(lli_predict_rule){0}, e, "h"));
    assert_string_equal(h.last, "answers by a certificate: its promise is missing");
    ll_ensemble_free(e);
    assert_null(ll_ensemble_certificate(NULL));
    assert_null(ll_ensemble_promise(NULL));
    ll_context_free(ctx);
}

static void test_record(void **state) {
    (void)state;
    static const double costs[K * K] = {0};
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 20, D, K);
    ll_ensemble *e = certified(ctx, S, "sr", "h");
    CHECK_OK(ctx, lli_provenance_set(ctx, &e->plan.provenance, LLI_CLASS_NAMES, "a\nb\nc"));
    CHECK_OK(ctx, lli_provenance_set(ctx, &e->plan.provenance, "kept", "this"));
    static const lli_predict_rule rules[] = {{0}, {.by_votes = true}, {.costs = costs}};
    static const char *const words[] = {"mean", "votes", "costs"};
    for (int i = 0; i < 6; i++) {
        lli_provenance out = {0};
        char hash[LLI_HASH_TEXT];
        if (i == 3)
            lli_dataset_drop_labels(p.data);
        CHECK_OK(ctx, lli_answers_describe(ctx, &out, e, p.data, &rules[i % 3]));
        lli_ensemble_hash(e, hash);
        assert_string_equal(lli_provenance_get(&out, LLI_ANSWERS_ENSEMBLE), hash);
        assert_string_equal(lli_provenance_get(&out, LLI_ANSWERS_ROWS), p.data->features_hash);
        assert_string_equal(lli_provenance_get(&out, LLI_ANSWERS_LABEL), words[i % 3]);
        assert_string_equal(lli_provenance_get(&out, "kept"), "this");
        assert_null(lli_provenance_get(&out, LLI_CLASS_NAMES));
        for (int c = 0; lli_certificate_entries[c]; c++)
            assert_null(lli_provenance_get(&out, lli_certificate_entries[c]));
        lli_provenance_release(&out);
    }
    ll_ensemble_free(e);
    problem_free(&p);
    ll_context_free(ctx);
}

static void test_table(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const double probs[N][K] = {{0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}, {0, 0.25, 0.75}, {0.25, 0.5, 0.25}};
    ll_predictions *p;
    CHECK_OK(ctx, ll_predictions_new(&p, ctx, ll_array_view((void *)(uintptr_t)probs, LL_DTYPE_F64, 2, (int64_t[]){N, K}), false, NULL));
    ll_ensemble *e = certified(ctx, S, "margin", "h");
    char *text;
    CHECK_OK(ctx, ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_SR));
    assert_string_equal(text, "row,label,class,sr\n0,0,0,0.5\n1,1,1,0.75\n2,2,2,0.75\n3,1,1,0.5\n");
    lli_memory_free(text);
    CHECK_OK(ctx, ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_COUNT)); /* that of the certificate */
    assert_string_equal(text, "row,label,class,margin\n0,0,0,0.25\n1,1,1,0.625\n2,2,2,0.5\n3,1,1,0.25\n");
    lli_memory_free(text);
    CHECK_OK(ctx, lli_provenance_set(ctx, &e->plan.provenance, LLI_CLASS_NAMES, "plain\na, \"b\"\nc\td"));
    void *room;
    CHECK_OK(ctx, lli_predictions_own(&room, ctx, p, "answer"));
    const int32_t answers[N] = {LLI_ANSWER_UNKNOWN, 1, 2, LLI_ANSWER_UNKNOWN};
    memcpy(room, answers, sizeof answers);
    CHECK_OK(ctx, ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_SR));
    assert_string_equal(text, "row,label,class,sr,answer\n0,0,plain,0.5,unknown\n1,1,\"a, \"\"b\"\"\",0.75,\"a, \"\"b\"\"\"\n"
                              "2,2,c\\td,0.75,c\\td\n3,1,\"a, \"\"b\"\"\",0.5,unknown\n");
    lli_memory_free(text);
    lli_memory_free(e->plan.cut);
    e->plan.cut = NULL;
    CHECK_OK(ctx, ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_COUNT)); /* without one sr */
    assert_true(strncmp(text, "row,label,class,sr,answer\n", 26) == 0);
    lli_memory_free(text);
    for (int64_t i = 1;; i++) {
        lli_memory_fail_at(ctx, i);
        ll_status status = ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_SR);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            lli_memory_free(text);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(text);
    }
    static const int32_t wrong[] = {K, -2, K + 5};
    for (int i = 0; i < 3; i++) {
        ((int32_t *)room)[2] = wrong[i];
        CHECK_FAILS(ctx, LL_ERR_DATA, "row 2 of the predictions has a class beyond the 3 of the ensemble",
                    ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_SR));
    }
    CHECK_FAILS(ctx, LL_ERR_USAGE, "these predictions have no confidence std", ll_answers_text(&text, ctx, e, p, LL_CONFIDENCE_STD));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "these predictions have no confidence of this number",
                ll_answers_text(&text, ctx, e, p, (ll_confidence)-1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "these predictions have no confidence of this number",
                ll_answers_text(&text, ctx, e, p, (ll_confidence)(LL_CONFIDENCE_COUNT + 1)));
    ll_predictions_free(p);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* softmax(scale o log p + shift) by plain sums, for labels that may move and labels that may not. */
static void test_calibrated(void **state) {
    (void)state;
    static const double calibrations[][2 * K] = {{1, 1, 1, 0, 0, 0},         {0.5, 0.5, 0.5, 0, 0, 0}, {2, 2, 2, 0, 0, 0},
                                                 {1, 1, 1, 0, 2, 0},         {1, 2, 0.5, 0, 0, 0},     {-1, -1, -1, 0, 0, 0},
                                                 {0.7, 0.7, 1.3, 1, -1, 0.5}};
    for (size_t c = 0; c < LLI_COUNT(calibrations); c++)
        for (int row = 0; row < 20; row++) {
            double p[K], total = 0, logp[K], q[K], entropy = 0;
            for (int k = 0; k < K; k++)
                total += p[k] = exp(2 * (double)problem_number(11, row * K + k));
            int64_t label = 0, best = 0, second = -1;
            for (int k = 0; k < K; k++) {
                logp[k] = log(p[k] / total);
                label = p[k] > p[label] ? k : label;
            }
            total = 0;
            for (int k = 0; k < K; k++)
                total += q[k] = exp(calibrations[c][k] * logp[k] + calibrations[c][K + k]);
            for (int k = 0; k < K; k++) {
                q[k] /= total;
                best = q[k] > q[best] ? k : best;
                entropy -= q[k] * log(q[k]);
            }
            for (int k = 0; k < K; k++)
                second = k == best ? second : second < 0 || q[k] > q[second] ? k : second;
            lli_verdict v = {.label = label};
            lli_calibrated_verdict(&v, logp, calibrations[c], K);
            assert_int_equal(v.label, best);
            CHECK_NEAR(v.most, q[best], 1e-13);
            CHECK_NEAR(v.second, q[second], 1e-13);
            CHECK_NEAR(v.margin, q[best] - q[second], 1e-13);
            CHECK_NEAR(v.tail, 1 - q[best], 1e-13);
            CHECK_NEAR(v.log_tail, log(1 - q[best]), 1e-11);
            CHECK_NEAR(v.log_margin_tail, log(1 - q[best] + q[second]), 1e-11);
            CHECK_NEAR(v.mixed, entropy, 1e-12);
            assert_false(v.saturated);
            for (int k = 0; k < K; k++)
                CHECK_NEAR(logp[k], log(q[k]), 1e-12);
        }
    double logp[K] = {0, -1000, -900}, even[K] = {-1, -1, -3};
    lli_verdict v = {.label = 0};
    lli_calibrated_verdict(&v, logp, calibrations[0], K);
    assert_true(v.saturated);
    CHECK_NEAR(v.log_tail, -900, 1e-9);
    CHECK_NEAR(v.log_margin_tail, -900 + log(2), 1e-9);
    v = (lli_verdict){.label = 1}; /* of equal ones the label stays what it was, and there is no margin */
    lli_calibrated_verdict(&v, even, calibrations[1], K);
    assert_int_equal(v.label, 1);
    CHECK_NEAR(v.margin, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rule), cmocka_unit_test(test_record), cmocka_unit_test(test_table),
                                       cmocka_unit_test(test_calibrated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
