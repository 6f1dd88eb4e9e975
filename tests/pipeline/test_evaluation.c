/* SPDX-License-Identifier: MIT */
/* An evaluation and its JSON: what is written is what is read; and the warnings that a stranger needs. */
#include <math.h>

#include "check.h"
#include "folder.h"

enum { N = 400, K = 3 };

typedef struct points {
    int32_t label[N], truth[N];
    double sr[N], probs[N * K];
    ll_outcome view;
} points;

/* Class 2 is right as often as the others, but never sure. `backwards`: the surest points are the wrong ones. */
static void points_fill(points *p, int first, bool backwards) {
    for (int i = 0; i < N; i++) {
        double u = check_uniform(1, 2 * i);
        p->truth[i] = first + i % (K - first);
        bool right = (check_uniform(1, 2 * i + 1) < u * u * u) == !backwards;
        p->label[i] = right ? p->truth[i] : (p->truth[i] + 1) % K;
        p->sr[i] = p->label[i] == 2 ? 0.4 + 0.05 * u : 0.5 + 0.5 * u;
        for (int k = 0; k < K; k++)
            p->probs[i * K + k] = k == p->label[i] ? p->sr[i] : (1 - p->sr[i]) / (K - 1);
    }
    p->view = (ll_outcome){.n = N, .classes = K, .label = p->label, .truth = p->truth};
    p->view.confidence[LL_CONFIDENCE_SR] = p->sr;
    p->view.probs = ll_array_view(p->probs, LL_DTYPE_F64, 2, (int64_t[]){N, K});
}

static void json_reads_back(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    static points p;
    points_fill(&p, 0, false);
    for (int variant = 0; variant < 4; variant++) {
        ll_evaluate_options o = ll_evaluate_options_default();
        o.per_class = variant & 1;
        o.interval = variant == 3 ? 0 : 0.9;
        o.risk = 0.3;
        o.seed = 7;
        ll_evaluation *made, *back;
        char *text, *again;
        CHECK_OK(ctx, ll_evaluate(&made, ctx, &p.view, variant & 2 ? &p.view : NULL, &o));
        CHECK_OK(ctx, ll_evaluation_text(&text, ctx, made, LL_TEXT_JSON));
        folder_write("e.json", text, strlen(text));
        CHECK_OK(ctx, ll_evaluation_read(&back, ctx, folder_path("e.json")));
        CHECK_OK(ctx, ll_evaluation_text(&again, ctx, back, LL_TEXT_JSON));
        assert_string_equal(text, again);
        assert_true(back->coverage_at_risk[0] == made->coverage_at_risk[0] && back->rules.seed == 7 && back->rules.risk == 0.3);
        if (variant < 3) {
            assert_memory_equal(&back->intervals.aurc[0], &made->intervals.aurc[0], sizeof(ll_interval));
            assert_true(back->ece_p == made->ece_p && back->intervals.ece.hi == made->intervals.ece.hi);
        }
        assert_true((back->by_class != NULL) == (variant & 1));
        char *lo = strstr(text, "\"accuracy\": [0."); /* an interval that begins behind its end is none */
        assert_true((lo != NULL) == (variant < 3));
        if (lo) {
            ll_evaluation *bad;
            memcpy(lo, "\"accuracy\": [1.", 14);
            folder_write("e.json", text, strlen(text));
            CHECK_FAILS(ctx, LL_ERR_FORMAT, "not an evaluation", ll_evaluation_read(&bad, ctx, folder_path("e.json")));
        }
        ll_text_free(text);
        ll_text_free(again);
        ll_evaluation_free(made);
        ll_evaluation_free(back);
    }
    ll_context_free(ctx);
}

static void keep(void *user, ll_log_level level, const char *sentence) {
    char *all = user;
    if (level == LL_LOG_WARNING)
        snprintf(all + strlen(all), 4096 - strlen(all), "%s\n", sentence);
}

static void strangers_are_warned(void **state) {
    (void)state;
    static char said[4096];
    static points p;
    ll_context_options options = ll_context_options_default();
    options.log = keep;
    options.user = said;
    ll_context *ctx;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    const struct {
        int first;
        bool backwards;
        const char *words;
    } cases[] = {{0, false, "class 2 is never answered"},
                 {1, false, "class 0 has no rows; do labels start at 1?"},
                 {0, true, "sr ranks backwards here (AUROC 0."}};
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        ll_evaluate_options o = ll_evaluate_options_default();
        ll_evaluation *e;
        o.risk = 0.3;
        said[0] = 0;
        points_fill(&p, cases[i].first, cases[i].backwards);
        CHECK_OK(ctx, ll_evaluate(&e, ctx, &p.view, NULL, &o));
        if (!strstr(said, cases[i].words))
            fail_msg("\"%s\" does not contain \"%s\"", said, cases[i].words);
        assert_true((strstr(said, "ranks backwards") != NULL) == cases[i].backwards);
        ll_evaluation_free(e);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(strangers_are_warned),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
