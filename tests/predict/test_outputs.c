/* SPDX-License-Identifier: MIT */
/* Outputs of others, and arrays of a bundle, as predictions: numbers against plain loops, rounding that each type is allowed, and each way
 * in which an array may not fit, told in one sentence. */
#include <math.h>

#include "base/bundle.h"
#include "check.h"
#include "predict/predictions.h"
#include "problem.h"

enum { N = 9, K = 3, S = 4 };

typedef struct heard {
    ll_context *ctx;
    char note[1000];
    int notes, cancel_at;
    double done, total;
} heard;

static void on_log(void *user, ll_log_level level, const char *message) {
    heard *h = user;
    h->notes += level == LL_LOG_NOTE;
    snprintf(h->note, sizeof h->note, "%s", message);
}

static void on_progress(void *user, const char *what, double done, double total) {
    heard *h = user;
    assert_string_equal(what, "reading outputs");
    h->done = done;
    h->total = total;
}

static ll_context *hearing(heard *h) {
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.log = on_log;
    options.progress = on_progress;
    options.user = h;
    *h = (heard){0};
    assert_int_equal(ll_context_new(&h->ctx, &options), LL_OK);
    return h->ctx;
}

/* ---- outputs ---- */

static void test_numbers(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = hearing(&h);
    double logits[S][N][K], probs[S][N][K], mean[N][K] = {{0}};
    int64_t y[N], rows = N;
    for (int i = 0; i < N; i++) {
        y[i] = i % K;
        for (int s = 0; s < S; s++) {
            double total = 0;
            for (int k = 0; k < K; k++)
                total += exp(logits[s][i][k] = 4 * (double)problem_number(3, (s * N + i) * K + k));
            for (int k = 0; k < K; k++)
                mean[i][k] += (probs[s][i][k] = exp(logits[s][i][k]) / total) / S;
        }
    }
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &rows);
    for (int form = 0; form < 4; form++) { /* logits or probabilities, with labels or without */
        bool of_logits = form % 2, truth = form / 2;
        ll_predictions *p;
        ll_array given = ll_array_view(of_logits ? &logits[0][0][0] : &probs[0][0][0], LL_DTYPE_F64, 3, (int64_t[]){S, N, K});
        CHECK_OK(ctx, ll_predictions_new(&p, ctx, given, of_logits, truth ? &labels : NULL));
        CHECK_NEAR(h.done, N, 0);
        CHECK_NEAR(h.total, N, 0);
        const ll_outcome *v = ll_predictions_view(p);
        assert_int_equal(v->sr_tail != NULL, of_logits);
        assert_int_equal(v->sr_logtail != NULL, of_logits);
        assert_int_equal(v->margin_logtail != NULL, of_logits);
        assert_int_equal(v->log_true != NULL, of_logits && truth);
        assert_int_equal(v->truth != NULL, truth);
        for (int i = 0; i < N; i++) {
            int best = 0;
            for (int k = 0; k < K; k++) {
                CHECK_NEAR(((const double *)v->probs.data)[i * K + k], mean[i][k], 1e-14);
                best = mean[i][k] > mean[i][best] ? k : best;
            }
            double second = 0;
            for (int k = 0; k < K; k++)
                second = k == best ? second : fmax(second, mean[i][k]);
            assert_int_equal(v->label[i], best);
            CHECK_NEAR(v->confidence[LL_CONFIDENCE_SR][i], mean[i][best], 1e-14);
            CHECK_NEAR(v->confidence[LL_CONFIDENCE_MARGIN][i], mean[i][best] - second, 1e-14);
            if (of_logits) {
                CHECK_NEAR(v->sr_logtail[i], log(1 - mean[i][best]), 1e-10);
                CHECK_NEAR(v->margin_logtail[i], log(1 - mean[i][best] + second), 1e-10);
            }
            if (v->log_true)
                CHECK_NEAR(v->log_true[i], log(mean[i][y[i]]), 1e-12);
        }
        ll_predictions_free(p);
    }
    assert_int_equal(h.notes, 0);
    ll_context_cancel(ctx);
    ll_predictions *p;
    assert_int_equal(ll_predictions_new(&p, ctx, ll_array_view(logits, LL_DTYPE_F64, 3, (int64_t[]){S, N, K}), true, NULL),
                     LL_ERR_CANCELLED);
    assert_null(p);
    ll_context_free(ctx);
}

/* Rows (1/2, 1/2 + steps of the type): 1e-3, and four roundings of the type on top. */
static void test_rounding(void **state) {
    (void)state;
    static const struct {
        ll_dtype dtype;
        uint16_t half, step;
        int fits; /* so many steps of 2^-11, or 2^-8, may the sum be off: 1e-3 + 4 units are 6.05 and 4.26 of them */
    } cases[] = {{LL_DTYPE_F16, 0x3800, 1, 6}, {LL_DTYPE_BF16, 0x3f00, 1, 4}};
    for (size_t i = 0; i < LLI_COUNT(cases); i++)
        for (int steps = 0; steps < 10; steps++) {
            heard h;
            ll_context *ctx = hearing(&h);
            uint16_t row[2] = {cases[i].half, (uint16_t)(cases[i].half + steps * cases[i].step)};
            ll_predictions *p;
            ll_status status = ll_predictions_new(&p, ctx, ll_array_view(row, cases[i].dtype, 2, (int64_t[]){1, 2}), false, NULL);
            assert_int_equal(status, steps <= cases[i].fits ? LL_OK : LL_ERR_DATA);
            assert_int_equal(h.notes, status == LL_OK); /* says what was let pass */
            if (status == LL_OK && !strstr(h.note, "differ from 1 by up to"))
                fail_msg("%s", h.note);
            ll_predictions_free(p);
            CHECK_OK(ctx, ll_predictions_new(&p, ctx, ll_array_view(row, cases[i].dtype, 2, (int64_t[]){1, 2}), true, NULL));
            assert_int_equal(h.notes, status == LL_OK); /* logits have no sum */
            ll_predictions_free(p);
            ll_context_free(ctx);
        }
    heard h;
    ll_context *ctx = hearing(&h);
    for (int sign = -1; sign <= 1; sign += 2)
        for (int beyond = 0; beyond < 2; beyond++) {
            double row[2] = {0.5, 0.5 + sign * (beyond ? 1.0001e-3 : 0.9999e-3)};
            ll_predictions *p;
            ll_status status = ll_predictions_new(&p, ctx, ll_array_view(row, LL_DTYPE_F64, 2, (int64_t[]){1, 2}), false, NULL);
            assert_int_equal(status, beyond ? LL_ERR_DATA : LL_OK);
            ll_predictions_free(p);
        }
    assert_int_equal(h.notes, 0);
    static const char *const words[] = {"; numpy.stack([1 - p, p], -1) makes them of the probabilities of class 1 of two",
                                        "; numpy.stack([0 * f, f], -1) makes them of the logits of class 1 of two"};
    double flat[4] = {0.5, 0.5, 0.5, 0.5};
    ll_predictions *p;
    for (int logits = 0; logits < 2; logits++) {
        CHECK_FAILS(ctx, LL_ERR_DATA, words[logits],
                    ll_predictions_new(&p, ctx, ll_array_view(flat, LL_DTYPE_F64, 1, (int64_t[]){4}), logits, NULL));
        CHECK_FAILS(ctx, LL_ERR_DATA, "expected [N,K], or [S,N,K] for members",
                    ll_predictions_new(&p, ctx, ll_array_view(flat, LL_DTYPE_F64, 4, (int64_t[]){1, 1, 2, 2}), logits, NULL));
        assert_null(strstr(ctx->message, "numpy"));
    }
    static const int64_t shapes[][3] = {{0, 1, 2}, {1, 0, 2}, {1, 1, 1}};
    for (int i = 0; i < 3; i++)
        CHECK_FAILS(ctx, LL_ERR_DATA, "expected at least one row and two classes",
                    ll_predictions_new(&p, ctx, ll_array_view(flat, LL_DTYPE_F64, 3, shapes[i]), true, NULL));
    ll_context_free(ctx);
}

/* ---- arrays of predictions ---- */

static ll_predictions *made(ll_context *ctx) {
    double logits[N][K];
    int64_t y[N], rows = N;
    for (int i = 0; i < N * K; i++)
        logits[i / K][i % K] = (double)problem_number(6, i);
    for (int i = 0; i < N; i++)
        y[i] = i % K;
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &rows);
    ll_predictions *p;
    CHECK_OK(ctx, ll_predictions_new(&p, ctx, ll_array_view(logits, LL_DTYPE_F64, 2, (int64_t[]){N, K}), true, &labels));
    return p;
}

static void test_arrays(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_predictions *p = made(ctx), *picked;
    const ll_outcome *v = ll_predictions_view(p);
    static const int64_t rows[] = {7, 0, 7, 3};
    CHECK_OK(ctx, lli_predictions_pick(&picked, ctx, p, rows, 4));
    const ll_outcome *some = ll_predictions_view(picked);
    assert_int_equal(some->n, 4);
    assert_int_equal(some->classes, K);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(some->label[i], v->label[rows[i]]);
        assert_int_equal(some->truth[i], v->truth[rows[i]]);
        assert_memory_equal((const double *)some->probs.data + i * K, (const double *)v->probs.data + rows[i] * K, K * sizeof(double));
        CHECK_NEAR(some->log_true[i], v->log_true[rows[i]], 0);
        CHECK_NEAR(some->confidence[LL_CONFIDENCE_SR][i], v->confidence[LL_CONFIDENCE_SR][rows[i]], 0);
    }
    /* back to other places; all else stays */
    static const int64_t place[] = {1, 2, 5, 8};
    double before[N];
    memcpy(before, v->confidence[LL_CONFIDENCE_SR], sizeof before);
    lli_predictions_overwrite(p, place, picked);
    for (int i = 0, next = 0; i < N; i++) {
        bool moved = next < 4 && place[next] == i;
        CHECK_NEAR(v->confidence[LL_CONFIDENCE_SR][i], before[moved ? rows[next] : i], 0);
        next += moved;
    }
    /* other labels: what is known of the same ones stays */
    double log_true[N];
    int32_t truth[N];
    int64_t y[N], n = N;
    memcpy(log_true, v->log_true, sizeof log_true);
    memcpy(truth, v->truth, sizeof truth);
    for (int i = 0; i < N; i++)
        y[i] = i < 4 ? truth[i] : (truth[i] + 1) % K;
    CHECK_OK(ctx, lli_predictions_set_truth(ctx, p, "labels", ll_array_view(y, LL_DTYPE_I64, 1, &n)));
    for (int i = 0; i < N; i++) {
        assert_int_equal(v->truth[i], y[i]);
        if (i < 4)
            CHECK_NEAR(v->log_true[i], log_true[i], 0);
        else
            assert_true(isnan(v->log_true[i]));
    }
    y[2] = K;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the label at row 2 is 3",
                lli_predictions_set_truth(ctx, p, "labels", ll_array_view(y, LL_DTYPE_I64, 1, &n)));
    /* lists for files: by row or all, and of other rows nothing that needs the truth */
    lli_schema_list *list = problem_room(1, sizeof *list);
    lli_predictions_list(list, p, "", false);
    int64_t all = list->count, truths = 0;
    for (int64_t i = 0; i < all; i++)
        truths += strcmp(list->names[i], "truth") == 0 || strcmp(list->names[i], "log_true") == 0;
    assert_int_equal(truths, 2);
    list->count = 0;
    lli_predictions_list(list, p, LLI_SCHEMA_OUT, true);
    assert_int_equal(list->count, all - 2);
    for (int64_t i = 0; i < list->count; i++)
        assert_true(strncmp(list->names[i], "out_", 4) == 0 && !strstr(list->names[i], "tru"));
    free(list);
    lli_predictions_drop(p, "sr_tail");
    assert_null(v->sr_tail);
    assert_int_equal(ll_predictions_array(p, "sr_tail").rank, -1);
    assert_int_equal(ll_predictions_array(p, "sr").rank, 1);
    assert_int_equal(ll_predictions_array(p, "nonsense").rank, -1);
    assert_int_equal(ll_predictions_array(p, NULL).rank, -1);
    assert_int_equal(ll_predictions_array(NULL, "sr").rank, -1);
    assert_null(ll_predictions_view(NULL));
    assert_null(ll_predictions_out(NULL));
    assert_null(ll_predictions_out(p));
    ll_predictions_free(p);
    ll_predictions_free(picked);
    ll_predictions_free(NULL);
    for (int64_t i = 1;; i++) { /* whichever allocation fails */
        p = made(ctx);
        lli_memory_fail_at(ctx, i);
        ll_status status = lli_predictions_pick(&picked, ctx, p, rows, 4);
        if (status == LL_OK)
            ll_predictions_free(picked);
        lli_memory_fail_at(ctx, 0);
        ll_predictions_free(p);
        if (status == LL_OK)
            break;
        assert_int_equal(status, LL_ERR_MEMORY);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_rounding), cmocka_unit_test(test_arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
