/* SPDX-License-Identifier: MIT */
/* Ensembles that cannot be right are warned of, once, with the numbers; sound ones are not. */
#include "check.h"
#include "folder.h"
#include "problem.h"

typedef struct heard {
    int warnings;
    char last[1024];
} heard;

static void on_log(void *user, ll_log_level level, const char *sentence) {
    heard *h = user;
    /* tests/cli/test_samplers.py and test_diagnose.py see to these */
    if (level != LL_LOG_WARNING || strstr(sentence, "diffusion time") || strstr(sentence, "follow each other closely"))
        return;
    h->warnings++;
    snprintf(h->last, sizeof h->last, "%s", sentence);
}

static ll_context *listening(heard *h) {
    ll_context_options options = ll_context_options_default();
    options.threads = 2;
    options.log = on_log;
    options.user = h;
    ll_context *ctx;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    return ctx;
}

/* All features share a large part, which a head must cancel: it cannot when half of them are missing. */
static problem entangled(ll_context *ctx, int64_t N, int64_t D, int64_t K) {
    problem p = problem_new(ctx, N, D, K);
    ll_dataset_free(p.data);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < D; j++)
            p.z[i * D + j] = problem_number(2, p.y[i] * D + j) + 0.3f * problem_number(3, i * D + j) + 4 * problem_number(6, i);
    ll_array labels = ll_array_view(p.y, LL_DTYPE_I64, 1, &N);
    CHECK_OK(ctx, ll_dataset_new(&p.data, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &labels, K));
    return p;
}

typedef problem make_problem(ll_context *ctx, int64_t N, int64_t D, int64_t K);

/* Through memory and through a file: the same number of warnings, the last of which has these words. */
static void expect(const ll_fit_options *o, make_problem *make, int64_t D, int64_t K, int warnings, const char *words) {
    for (int file = 0; file < 2; file++) {
        heard h = {0};
        ll_context *ctx = listening(&h);
        problem p = make(ctx, 50 * K, D, K);
        if (file) {
            CHECK_OK(ctx, ll_fit_write(NULL, ctx, folder_path("e.safetensors"), p.data, NULL, o, false));
        } else {
            ll_ensemble *e;
            CHECK_OK(ctx, ll_fit(&e, ctx, p.data, NULL, o));
            ll_ensemble_free(e);
        }
        if (h.warnings != warnings || !strstr(h.last, words))
            fail_msg("%s, D %d: %d warnings, the last: \"%s\"", o->method, (int)D, h.warnings, h.last);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

static ll_fit_options options_for(const char *method) {
    ll_fit_options o = ll_fit_options_default();
    o.method = method;
    return o;
}

static void test_sound(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) { /* point, sgd, sgld, bootstrap as they come */
        ll_fit_options o = options_for(ll_method_get(i)->name);
        expect(&o, problem_new, 16, 26, 0, "");
    }
    ll_fit_options o = options_for("dropout");
    expect(&o, problem_new, 64, 10, 0, "");
    expect(&o, problem_new, 16, 26, 0, "");
    o.layers = 2;
    o.epochs = 20;
    expect(&o, problem_new, 16, 5, 0, "");
}

static void test_dropout_that_unlearns(void **state) {
    (void)state;
    ll_fit_options o = options_for("dropout");
    expect(&o, entangled, 16, 26, 1, "with dropout=0.5 the accuracy on training rows falls from 1.000 (theta*) to 0.");
    o.layers = 2;
    o.epochs = 20;
    o.batch_size = 4; /* for theta* to learn something in its few epochs */
    o.dropout = 0.9;
    expect(&o, entangled, 8, 10, 1, "use a smaller dropout, wider features, or another method");
}

static void test_members_that_hardly_differ(void **state) {
    (void)state;
    static const struct {
        const char *method, *words;
        double lr;
    } cases[] = {
        {"sgd", "the members of sgd hardly differ", 1e-7},
        {"sgd", "use a larger lr (it is 1e-09), a larger thin, or another method", 1e-9},
        {"sgld", "the members of sgld hardly differ", 1e-13},
        {"bootstrap", "a larger epochs", 1e-9},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        ll_fit_options o = options_for(cases[i].method);
        o.lr = cases[i].lr;
        o.samples = 10;
        expect(&o, problem_new, 16, 26, 1, cases[i].words);
        o.lr = 1e-3;
        expect(&o, problem_new, 16, 26, 0, "");
    }
}

/* A look that fails for want of memory is no failure of the fit: the file is there. */
static void test_no_memory_to_look(void **state) {
    (void)state;
    heard h = {0};
    ll_context *ctx = listening(&h);
    problem p = problem_new(ctx, 100, 16, 4);
    ll_fit_options o = options_for("sgd");
    o.samples = 3;
    o.lr = 1e-9;
    int silent = 0;
    for (int64_t n = 1; h.warnings == 0; n++) {
        folder_clear();
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_fit_write(NULL, ctx, folder_path("e.safetensors"), p.data, p.head, &o, false);
        lli_memory_fail_at(ctx, 0);
        assert_int_equal(status == LL_OK, folder_has("e.safetensors"));
        silent += status == LL_OK && h.warnings == 0;
    }
    assert_true(silent > 3);
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_dropout_that_unlearns),
        cmocka_unit_test(test_members_that_hardly_differ),
        cmocka_unit_test(test_no_memory_to_look),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
