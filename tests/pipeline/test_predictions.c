/* SPDX-License-Identifier: MIT */
/* Someone else's outputs as predictions, and the predictions file: what is written is what is read. */
#include <math.h>

#include "base/bundle.h"
#include "check.h"
#include "folder.h"
#include "problem.h"

enum { N = 120, K = 4, S = 5 };

static double *random_logits(void) {
    double *logits = problem_room(S * N * K, sizeof *logits);
    for (int64_t s = 0; s < S; s++)
        for (int64_t i = 0; i < N * K; i++)
            logits[s * N * K + i] = 3 * (double)problem_number(50, i) + 0.5 * (double)problem_number(51, s * N * K + i);
    return logits;
}

static void to_probs(double *out, const double *logits, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < K; k++)
            sum += exp(logits[i * K + k]);
        for (int64_t k = 0; k < K; k++)
            out[i * K + k] = exp(logits[i * K + k]) / sum;
    }
}

static ll_array view(const double *data, int64_t members) {
    return members ? ll_array_view(data, LL_DTYPE_F64, 3, (int64_t[]){members, N, K})
                   : ll_array_view(data, LL_DTYPE_F64, 2, (int64_t[]){N, K});
}

/* Logits and their probabilities are one and the same set of predictions; a plain loop says which. */
static void test_probs_and_logits(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double *logits = random_logits(), *probs = problem_room(S * N * K, sizeof *probs);
    to_probs(probs, logits, S * N);
    static const int64_t forms[] = {0, 1, S};
    for (size_t f = 0; f < LLI_COUNT(forms); f++) {
        int64_t members = forms[f] ? forms[f] : 1;
        ll_predictions *a, *b;
        CHECK_OK(ctx, ll_predictions_new(&a, ctx, view(logits, forms[f]), true, NULL));
        CHECK_OK(ctx, ll_predictions_new(&b, ctx, view(probs, forms[f]), false, NULL));
        ll_outcome x = *ll_predictions_view(a), y = *ll_predictions_view(b);
        assert_int_equal(x.n, N);
        assert_int_equal(x.classes, K);
        assert_null(x.truth);
        assert_non_null(x.sr_tail);
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            bool exists = (members > 1 || !ll_confidence_needs_members((ll_confidence)c)) && !ll_confidence_needs_scores((ll_confidence)c);
            assert_int_equal(x.confidence[c] != NULL, exists);
            assert_int_equal(y.confidence[c] != NULL, exists);
            for (int64_t i = 0; exists && i < N; i++)
                CHECK_NEAR(x.confidence[c][i], y.confidence[c][i], 1e-12);
        }
        for (int64_t i = 0; i < N; i++) {
            int64_t best = 0, votes[K] = {0}, vote = 0;
            double mean[K] = {0};
            for (int64_t s = 0; s < members; s++) {
                int64_t top = 0;
                for (int64_t k = 0; k < K; k++) {
                    mean[k] += probs[(s * N + i) * K + k] / (double)members;
                    top = probs[(s * N + i) * K + k] > probs[(s * N + i) * K + top] ? k : top;
                }
                votes[top]++;
            }
            for (int64_t k = 0; k < K; k++) {
                best = mean[k] > mean[best] ? k : best;
                vote = votes[k] > votes[vote] ? k : vote;
                CHECK_NEAR(((const double *)x.probs.data)[i * K + k], mean[k], 1e-14);
                CHECK_NEAR(((const double *)y.probs.data)[i * K + k], mean[k], 1e-14);
            }
            assert_int_equal(x.label[i], best);
            assert_int_equal(y.label[i], best);
            assert_int_equal(x.vote[i], vote);
            CHECK_NEAR(x.confidence[LL_CONFIDENCE_SR][i], mean[best], 1e-14);
            CHECK_NEAR(x.sr_tail[i], 1 - mean[best], 1e-14);
        }
        ll_predictions_free(a);
        ll_predictions_free(b);
    }
    free(logits);
    free(probs);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double *logits = random_logits(), *probs = problem_room(S * N * K, sizeof *probs);
    to_probs(probs, logits, S * N);
    ll_predictions *p;
    int64_t y[N] = {0}, rows = N;
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &rows), flat = ll_array_view(probs, LL_DTYPE_F64, 1, (int64_t[]){N * K});
    ll_array integers = ll_array_view(y, LL_DTYPE_I64, 2, (int64_t[]){2, 3}),
             narrow = ll_array_view(probs, LL_DTYPE_F64, 2, (int64_t[]){N, 1});
    ll_array empty = ll_array_view(probs, LL_DTYPE_F64, 2, (int64_t[]){0, K});
    CHECK_FAILS(ctx, LL_ERR_DATA, "use logits", ll_predictions_new(&p, ctx, view(logits, S), false, NULL));
    assert_null(p);
    CHECK_FAILS(ctx, LL_ERR_DATA, "expected [N,K], or [S,N,K] for members", ll_predictions_new(&p, ctx, flat, false, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "expected real numbers", ll_predictions_new(&p, ctx, integers, false, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "at least one row and two classes", ll_predictions_new(&p, ctx, narrow, false, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "at least one row and two classes", ll_predictions_new(&p, ctx, empty, false, NULL));
    double *at = &probs[(3 * N + 17) * K + 2], good = *at;
    *at = good + 2e-3;
    CHECK_FAILS(ctx, LL_ERR_DATA, "row 17 of member 3 sums to 1.002", ll_predictions_new(&p, ctx, view(probs, S), false, NULL));
    *at = good + 0.9e-3; /* within 1e-3 is let pass */
    CHECK_OK(ctx, ll_predictions_new(&p, ctx, view(probs, S), false, NULL));
    ll_predictions_free(p);
    to_probs(probs, logits, S * N);
    *at = -1e-9;
    CHECK_FAILS(ctx, LL_ERR_DATA, "row 17 of member 3 holds -1e-09, so these are not probabilities; if they are logits, use logits",
                ll_predictions_new(&p, ctx, view(probs, S), false, NULL));
    *at = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "NaN at row 17, class 2", ll_predictions_new(&p, ctx, view(probs, S), false, NULL));
    *at = INFINITY;
    CHECK_FAILS(ctx, LL_ERR_DATA, "an infinite value at row 17, class 2", ll_predictions_new(&p, ctx, view(probs, S), true, NULL));
    *at = good;
    y[9] = K;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the label at row 9 is 4; expected 0 to 3", ll_predictions_new(&p, ctx, view(probs, S), false, &labels));
    y[9] = 1;
    rows = labels.shape[0] = N - 1;
    CHECK_FAILS(ctx, LL_ERR_DATA, "119 labels for 120 rows", ll_predictions_new(&p, ctx, view(probs, S), false, &labels));
    assert_null(p);
    labels.shape[0] = N;
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_predictions_new(&p, ctx, view(probs, S), false, &labels);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            assert_true(n > 15);
            assert_int_equal(ll_predictions_view(p)->truth[9], 1);
            ll_predictions_free(p);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(p);
    }
    free(logits);
    free(probs);
    ll_context_free(ctx);
}

typedef struct scene {
    ll_context *ctx;
    problem p;
    ll_ensemble *e;
    ll_predictions *expected; /* of the members' logits */
} scene;

static void scene_init(scene *s, const char *method) {
    folder_clear();
    s->ctx = check_context(2);
    s->p = problem_new(s->ctx, 400, 5, 3);
    ll_fit_options o = ll_fit_options_default();
    o.method = method;
    o.samples = 8;
    o.epochs = 2;
    CHECK_OK(s->ctx, ll_fit(&s->e, s->ctx, s->p.data, s->p.head, &o));
    int64_t members = ll_ensemble_samples(s->e);
    const float *W = ll_ensemble_weight_view(s->e).data, *b = ll_ensemble_bias_view(s->e).data;
    double *logits = problem_room(members * 400 * 3, sizeof *logits);
    for (int64_t m = 0; m < members; m++)
        for (int64_t i = 0; i < 400; i++)
            for (int64_t k = 0; k < 3; k++) {
                double *at = logits + (m * 400 + i) * 3 + k;
                *at = (double)b[m * 3 + k];
                for (int64_t j = 0; j < 5; j++)
                    *at += (double)W[(m * 3 + k) * 5 + j] * (double)s->p.z[i * 5 + j];
            }
    ll_array labels = ll_array_view(s->p.y, LL_DTYPE_I64, 1, &s->p.N);
    CHECK_OK(s->ctx,
             ll_predictions_new(&s->expected, s->ctx, ll_array_view(logits, LL_DTYPE_F64, 3, (int64_t[]){members, 400, 3}), true, &labels));
    free(logits);
}

static void scene_release(scene *s) {
    ll_predictions_free(s->expected);
    ll_ensemble_free(s->e);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

static ll_array array_of(const ll_bundle *bundle, const char *name) {
    int64_t i = ll_bundle_find(bundle, name);
    if (i < 0)
        fail_msg("the file has no array %s", name);
    return ll_bundle_array(bundle, i);
}

static void check_types(const ll_bundle *f, int64_t members) {
    static const struct {
        const char *name;
        ll_dtype dtype;
        int rank;
    } arrays[] = {{"probs", LL_DTYPE_F32, 2}, {"label", LL_DTYPE_I32, 1},   {"vote", LL_DTYPE_I32, 1},   {"truth", LL_DTYPE_I32, 1},
                  {"sr", LL_DTYPE_F64, 1},    {"entropy", LL_DTYPE_F64, 1}, {"margin", LL_DTYPE_F64, 1}, {"running", LL_DTYPE_F64, 2},
                  {"std", LL_DTYPE_F64, 1},   {"hq", LL_DTYPE_F64, 1},      {"maxmin", LL_DTYPE_F64, 1}, {"mi", LL_DTYPE_F64, 1}};
    for (size_t i = 0; i < (members > 1 ? 12 : 8); i++) {
        ll_array a = array_of(f, arrays[i].name);
        assert_int_equal(a.dtype, arrays[i].dtype);
        assert_int_equal(a.rank, arrays[i].rank);
        assert_int_equal(a.shape[0], i == 7 ? members : 400);
    }
    if (members == 1)
        for (size_t i = 8; i < 12; i++)
            assert_int_equal(ll_bundle_find(f, arrays[i].name), -1);
}

/* Written by ll_predict_write, read by ll_predictions_read, compared with the members' own logits in f64. */
static void check_file(const char *method, const char *file, const char *classifier) {
    scene s;
    scene_init(&s, method);
    ll_predict_options o = ll_predict_options_default();
    o.classifier = classifier;
    CHECK_OK(s.ctx, ll_predict_write(s.ctx, folder_path(file), s.e, s.p.data, &o));
    ll_predictions *back;
    CHECK_OK(s.ctx, ll_predictions_read(&back, s.ctx, folder_path(file), NULL));
    ll_outcome x = *ll_predictions_view(s.expected), y = *ll_predictions_view(back);
    assert_int_equal(y.n, 400);
    int64_t members = ll_ensemble_samples(s.e);
    bool votes = strcmp(classifier, "votes") == 0, csv = strstr(file, ".csv") != NULL;
    for (int64_t i = 0; i < 400; i++) {
        assert_int_equal(y.label[i], votes ? x.vote[i] : x.label[i]);
        assert_int_equal(y.vote[i], x.vote[i]);
        assert_int_equal(y.truth[i], s.p.y[i]);
        CHECK_NEAR(y.sr_tail[i], x.sr_tail[i], 1e-6);
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            assert_int_equal(y.confidence[c] != NULL, (members > 1 || !ll_confidence_needs_members((ll_confidence)c)) &&
                                                          !ll_confidence_needs_scores((ll_confidence)c));
            if (y.confidence[c])
                CHECK_NEAR(y.confidence[c][i], x.confidence[c][i], 2e-6);
        }
    }
    if (!csv) {
        ll_bundle *f;
        CHECK_OK(s.ctx, ll_bundle_read(&f, s.ctx, folder_path(file)));
        check_types(f, members);
        ll_array running = array_of(f, "running");
        ll_evaluation *found;
        CHECK_OK(s.ctx, ll_evaluate(&found, s.ctx, &x, NULL, NULL));
        const double *last = (const double *)running.data + 3 * (members - 1); /* all members: what evaluate says */
        CHECK_NEAR(last[0], found->accuracy, 1e-12);
        CHECK_NEAR(last[1], found->nll, 1e-6);
        CHECK_NEAR(last[2], found->brier, 1e-6);
        ll_evaluation_free(found);
        ll_bundle_free(f);
    }
    ll_predictions_free(back);
    scene_release(&s);
}

static void test_round_trip(void **state) {
    (void)state;
    check_file("sgd", "p.npz", "mean");
    check_file("sgld", "p.npz", "votes");
    check_file("point", "p.npz", "mean");
    check_file("bootstrap", "p.csv", "mean");
    check_file("point", "p.csv", "mean");
}

static void test_options(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "sgld");
    ll_outcome x = *ll_predictions_view(s.expected);
    ll_predict_options o = ll_predict_options_default();
    o.no_probs = true;
    o.threshold = 0.6;
    o.members = "3,0,397:400";
    CHECK_OK(s.ctx, ll_predict_write(s.ctx, folder_path("o.npz"), s.e, s.p.data, &o));
    ll_bundle *f;
    CHECK_OK(s.ctx, ll_bundle_read(&f, s.ctx, folder_path("o.npz")));
    assert_int_equal(ll_bundle_find(f, "probs"), -1);
    ll_array abstain = array_of(f, "abstain"), pmax = array_of(f, "member_pmax"), label = array_of(f, "member_label"),
             sr = array_of(f, "sr");
    assert_int_equal(abstain.dtype, LL_DTYPE_BOOL);
    for (int64_t i = 0; i < 400; i++)
        assert_int_equal(((const uint8_t *)abstain.data)[i], ((const double *)sr.data)[i] < 0.6);
    static const int64_t rows[] = {3, 0, 397, 398, 399};
    assert_int_equal(pmax.shape[0], 5);
    assert_int_equal(pmax.shape[1], 8);
    for (int64_t r = 0; r < 5; r++) {
        double votes[3] = {0}, mean = 0;
        for (int64_t m = 0; m < 8; m++) {
            int32_t top = ((const int32_t *)label.data)[r * 8 + m];
            votes[top]++;
            mean += top == x.label[rows[r]] ? (double)((const float *)pmax.data)[r * 8 + m] / 8 : 0;
        }
        double entropy = 0;
        for (int k = 0; k < 3; k++)
            entropy -= votes[k] > 0 ? votes[k] / 8 * log(votes[k] / 8) : 0;
        CHECK_NEAR(-entropy, x.confidence[LL_CONFIDENCE_HQ][rows[r]], 1e-9);
        if (entropy == 0) /* all members agree: their mean is sr */
            CHECK_NEAR(mean, x.confidence[LL_CONFIDENCE_SR][rows[r]], 1e-6);
    }
    ll_bundle_free(f);
    ll_predictions *back; /* no probabilities: no NLL, no Brier */
    CHECK_OK(s.ctx, ll_predictions_read(&back, s.ctx, folder_path("o.npz"), NULL));
    ll_outcome y = *ll_predictions_view(back);
    assert_null(y.probs.data);
    ll_evaluation *found;
    CHECK_OK(s.ctx, ll_evaluate(&found, s.ctx, &y, NULL, NULL));
    assert_true(isnan(found->nll) && isnan(found->brier) && !isnan(found->accuracy));
    ll_evaluation_free(found);
    ll_predictions_free(back);

    static const char *const bad[] = {"x", "", "1,", "5:5", "7:3", "-1", "1;2", "1:2:3"};
    for (size_t i = 0; i < LLI_COUNT(bad); i++) {
        o.members = bad[i];
        CHECK_FAILS(s.ctx, LL_ERR_USAGE, "expected rows like 0,5,10:20",
                    ll_predict_write(s.ctx, folder_path("bad.npz"), s.e, s.p.data, &o));
    }
    o.members = "399,400";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "asks for row 400; there are 400 rows, 0 to 399",
                ll_predict_write(s.ctx, folder_path("bad.npz"), s.e, s.p.data, &o));
    o.members = "99999999999999999999";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "members is", ll_predict_write(s.ctx, folder_path("bad.npz"), s.e, s.p.data, &o));
    o.members = "1";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "cannot hold members", ll_predict_write(s.ctx, folder_path("bad.csv"), s.e, s.p.data, &o));
    o = ll_predict_options_default();
    o.block = -1;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "block is", ll_predict_write(s.ctx, folder_path("bad.npz"), s.e, s.p.data, &o));
    o = ll_predict_options_default();
    o.by = "luck";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "by is", ll_predict_write(s.ctx, folder_path("bad.npz"), s.e, s.p.data, &o));
    assert_false(folder_has("bad.npz") || folder_has("bad.csv"));
    scene_release(&s);
}

static void test_mismatch(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "point");
    problem wide = problem_new(s.ctx, 30, 6, 3), many = problem_new(s.ctx, 30, 5, 7);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "the features have 6 columns but the ensemble was fitted on 5",
                ll_predict_write(s.ctx, folder_path("x.npz"), s.e, wide.data, NULL));
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "but the ensemble has 3 classes (0 to 2)",
                ll_predict_write(s.ctx, folder_path("x.npz"), s.e, many.data, NULL));
    ll_predict_options o = ll_predict_options_default();
    o.threshold = -0.1;
    o.by = "std";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "by=std needs at least two members", ll_predict_write(s.ctx, folder_path("x.npz"), s.e, s.p.data, &o));
    assert_false(folder_has("x.npz"));
    problem_free(&wide);
    problem_free(&many);
    scene_release(&s);
}

/* The labels of a predictions file can be replaced; files that hold no predictions are told so. */
static void test_read(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "sgd");
    CHECK_OK(s.ctx, ll_predict_write(s.ctx, folder_path("p.npz"), s.e, s.p.data, NULL));
    int64_t *y = problem_room(400, sizeof *y);
    ll_named_array labels = {"labels", ll_array_view(y, LL_DTYPE_I64, 1, (int64_t[]){400})};
    CHECK_OK(s.ctx, ll_bundle_write(s.ctx, folder_path("y.npz"), &labels, 1, NULL, 0));
    ll_predictions *p;
    CHECK_OK(s.ctx, ll_predictions_read(&p, s.ctx, folder_path("p.npz"), folder_path("y.npz")));
    for (int64_t i = 0; i < 400; i++)
        assert_int_equal(ll_predictions_view(p)->truth[i], 0);
    ll_predictions_free(p);
    y[33] = 3;
    CHECK_OK(s.ctx, ll_bundle_write(s.ctx, folder_path("y.npz"), &labels, 1, NULL, 0));
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "the label at row 33 is 3", ll_predictions_read(&p, s.ctx, folder_path("p.npz"), folder_path("y.npz")));
    assert_null(p);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "no array label", ll_predictions_read(&p, s.ctx, folder_path("y.npz"), NULL));
    CHECK_FAILS(s.ctx, LL_ERR_READ, "none", ll_predictions_read(&p, s.ctx, folder_path("none.npz"), NULL));
    y[33] = 0;
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(s.ctx, n);
        ll_status status = ll_predictions_read(&p, s.ctx, folder_path("p.npz"), NULL);
        lli_memory_fail_at(s.ctx, 0);
        if (status == LL_OK) {
            ll_predictions_free(p);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(p);
    }
    free(y);
    scene_release(&s);
}

/* The record says what decides the numbers, and nothing of who, where, when and how fast. */
static void test_provenance(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "sgld");
    CHECK_OK(s.ctx, ll_ensemble_write(s.ctx, folder_path("e.safetensors"), s.e));
    ll_bundle *f;
    CHECK_OK(s.ctx, ll_bundle_read(&f, s.ctx, folder_path("e.safetensors")));
    static const char *const wanted[] = {"version", "method",          "samples",       "lr",   "batch-size", "prior-precision", "seed",
                                         "isa",     "features_sha256", "labels_sha256", "init", "head_sha256"};
    for (size_t i = 0; i < LLI_COUNT(wanted); i++)
        if (!lli_bundle_meta(f, wanted[i]))
            fail_msg("the record has no %s", wanted[i]);
    assert_string_equal(lli_bundle_meta(f, "version"), ll_version());
    assert_string_equal(lli_bundle_meta(f, "method"), "sgld");
    assert_string_equal(lli_bundle_meta(f, "isa"), ll_isa());
    assert_string_equal(lli_bundle_meta(f, "samples"), "8");
    assert_string_equal(lli_bundle_meta(f, "init"), "head");
    assert_int_equal(strlen(lli_bundle_meta(f, "features_sha256")), 64);
    assert_null(lli_bundle_meta(f, "dropout")); /* not read by the method */
    for (int64_t i = 0; i < ll_bundle_meta_count(f); i++) {
        static const char *const never[] = {"thread", "path", "host", "time", "date", "user", "second"};
        for (size_t j = 0; j < LLI_COUNT(never); j++)
            assert_null(strstr(ll_bundle_meta_key(f, i), never[j]));
        assert_null(strstr(ll_bundle_meta_value(f, i), folder_name));
        assert_null(strstr(ll_bundle_meta_value(f, i), "/"));
    }
    ll_bundle_free(f);
    scene_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probs_and_logits), cmocka_unit_test(test_refusals), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_options),          cmocka_unit_test(test_mismatch), cmocka_unit_test(test_read),
        cmocka_unit_test(test_provenance),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
