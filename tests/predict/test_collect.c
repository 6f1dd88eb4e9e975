/* SPDX-License-Identifier: MIT */
/* The pass over a data set: every array that a request asks for, of its rows and of others, against plain loops in f64; what is not asked
 * for is not there; parts lie end to end; rows that do not fit are refused. */
#include <math.h>

#include "check.h"
#include "predict/predictions.h"
#include "problem.h"

enum { N = 100, OUT = 20, K = 3, D = 4, S = 5, R = 3 };

typedef struct scene {
    ll_context *ctx;
    problem p;
    ll_dataset *out;
    float other[OUT * D], W[S * K * D];
    ll_ensemble *e;
    double probs[S][N][K], mean[S][N][K]; /* of each member, and of the first s + 1 */
    double done, total;
} scene;

static void on_progress(void *user, const char *what, double done, double total) {
    scene *s = user;
    if (strcmp(what, "predicting") != 0)
        return;
    s->done = done;
    s->total = total;
}

static void scene_init(scene *s, int threads) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    options.progress = on_progress;
    options.user = s;
    assert_int_equal(ll_context_new(&s->ctx, &options), LL_OK);
    s->p = problem_new(s->ctx, N, D, K);
    for (int i = 0; i < OUT * D; i++)
        s->other[i] = problem_number(14, i);
    for (int i = 0; i < S * K * D; i++)
        s->W[i] = problem_number(15, i);
    CHECK_OK(s->ctx, ll_dataset_new(&s->out, s->ctx, ll_array_view(s->other, LL_DTYPE_F32, 2, (int64_t[]){OUT, D}), NULL, 0));
    CHECK_OK(s->ctx, ll_ensemble_new(&s->e, s->ctx, ll_array_view(s->W, LL_DTYPE_F32, 3, (int64_t[]){S, K, D}), NULL, NULL, NULL, 0));
    for (int m = 0; m < S; m++)
        for (int i = 0; i < N; i++) {
            double total = 0;
            for (int k = 0; k < K; k++) {
                double a = 0;
                for (int j = 0; j < D; j++)
                    a += (double)s->W[(m * K + k) * D + j] * (double)s->p.z[i * D + j];
                total += s->probs[m][i][k] = exp(a);
            }
            for (int k = 0; k < K; k++) {
                s->probs[m][i][k] /= total;
                s->mean[m][i][k] = ((m ? m * s->mean[m - 1][i][k] : 0) + s->probs[m][i][k]) / (m + 1);
            }
        }
}

static void scene_free(scene *s) {
    ll_dataset_free(s->out);
    ll_ensemble_free(s->e);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

static int best_of(const double *p) {
    int best = 0;
    for (int k = 1; k < K; k++)
        best = p[k] > p[best] ? k : best;
    return best;
}

static void check_running(const scene *s, const ll_predictions *p) {
    ll_array running = ll_predictions_array(p, "running");
    assert_true(running.rank == 2 && running.shape[0] == S && running.shape[1] == 3);
    for (int m = 0; m < S; m++) {
        double right = 0, nll = 0, brier = 0;
        for (int i = 0; i < N; i++) {
            const double *q = s->mean[m][i];
            right += best_of(q) == s->p.y[i];
            nll -= log(q[s->p.y[i]]);
            for (int k = 0; k < K; k++)
                brier += (q[k] - (k == s->p.y[i])) * (q[k] - (k == s->p.y[i]));
        }
        const double *row = (const double *)running.data + 3 * m;
        CHECK_NEAR(row[0], right / N, 1e-12);
        CHECK_NEAR(row[1], nll / N, 1e-5);
        CHECK_NEAR(row[2], brier / N, 1e-5);
    }
}

static const int64_t rows[R] = {3, 50, 99};

static void check_members(const scene *s, const ll_predictions *p) {
    ll_array pmax = ll_predictions_array(p, "member_pmax"), label = ll_predictions_array(p, "member_label"),
             row = ll_predictions_array(p, "member_row");
    assert_memory_equal(row.data, rows, sizeof rows);
    for (int r = 0; r < R; r++)
        for (int m = 0; m < S; m++) {
            const double *q = s->probs[m][rows[r]];
            assert_int_equal(((const int32_t *)label.data)[r * S + m], best_of(q));
            CHECK_NEAR((double)((const float *)pmax.data)[r * S + m], q[best_of(q)], 1e-5);
        }
}

static void test_everything(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        scene *s = problem_room(1, sizeof *s);
        scene_init(s, threads);
        lli_predict_plan *plan = problem_room(1, sizeof *plan);
        const lli_predict_request request = {.probs = true,
                                             .running = true,
                                             .block = 40,
                                             .rows = rows,
                                             .R = R,
                                             .rule = {.cuts = true, .by = LL_CONFIDENCE_SR, .threshold = 0.5}};
        ll_predictions *p;
        lli_predict_plan_init(plan, s->e, s->p.data, s->out, &request, false);
        CHECK_OK(s->ctx, lli_predict_collect(&p, s->ctx, plan));
        CHECK_NEAR(s->done, OUT, 0); /* the pass over the other rows comes last */
        CHECK_NEAR(s->total, OUT, 0);
        const ll_outcome *v = ll_predictions_view(p);
        const uint8_t *abstain = ll_predictions_array(p, "abstain").data;
        const int32_t *answer = ll_predictions_array(p, "answer").data;
        int64_t unsure = 0;
        assert_true(v->n == N && v->classes == K);
        for (int i = 0; i < N; i++) {
            const double *q = s->mean[S - 1][i];
            int best = best_of(q);
            assert_int_equal(v->label[i], best);
            assert_int_equal(v->truth[i], s->p.y[i]);
            CHECK_NEAR(v->confidence[LL_CONFIDENCE_SR][i], q[best], 1e-5);
            CHECK_NEAR(v->log_true[i], log(q[s->p.y[i]]), 1e-4);
            for (int k = 0; k < K; k++)
                CHECK_NEAR((double)((const float *)v->probs.data)[i * K + k], q[k], 1e-5);
            assert_int_equal(abstain[i], v->confidence[LL_CONFIDENCE_SR][i] < 0.5);
            assert_int_equal(answer[i], abstain[i] ? -1 : best);
            unsure += abstain[i];
        }
        assert_int_equal(plan->abstained[0], unsure);
        check_running(s, p);
        check_members(s, p);
        const ll_outcome *out = ll_predictions_view(ll_predictions_out(p));
        assert_true(out && out->n == OUT && !out->truth && !out->log_true && out->probs.data);
        ll_prediction other = {.label = problem_room(OUT, sizeof(int32_t))};
        ll_predictor *predictor;
        CHECK_OK(s->ctx, ll_predictor_new(&predictor, s->ctx, s->e));
        CHECK_OK(s->ctx, ll_predictor_run(&other, predictor, s->other, OUT, 0));
        assert_memory_equal(out->label, other.label, OUT * sizeof(int32_t));
        const uint8_t *out_abstain = ll_predictions_array(ll_predictions_out(p), "abstain").data;
        unsure = 0;
        for (int i = 0; i < OUT; i++)
            unsure += out_abstain[i];
        assert_int_equal(plan->abstained[1], unsure);
        ll_predictor_free(predictor);
        free(other.label);
        ll_predictions_free(p);
        free(plan);
        scene_free(s);
        free(s);
    }
}

/* What a request does not ask for is not there. */
static void test_less(void **state) {
    (void)state;
    scene *s = problem_room(1, sizeof *s);
    scene_init(s, 1);
    static const char *const names[] = {"probs", "label", "sr", "std", "truth", "log_true", "abstain", "answer", "running", "member_row"};
    static const struct {
        lli_predict_request request;
        bool labels, table;
        const char *has; /* a letter for each of the names */
    } cases[] = {
        {{.probs = true}, true, false, "++++++----"},
        {{.probs = false}, true, false, "-+++++----"},
        {{.probs = true}, false, false, "++++------"},
        {{.probs = true, .running = true}, true, false, "++++++--+-"},
        {{.rows = rows, .R = R}, true, false, "-+++++---+"},
        {{.rule = {.cuts = true}}, true, false, "-+++++++--"},
        {{.probs = true, .running = true, .rows = rows, .R = R}, true, true, "++++++----"},
    };
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        ll_dataset *data = cases[c].labels ? s->p.data : s->out;
        lli_predict_plan *plan = problem_room(1, sizeof *plan);
        lli_predict_plan_init(plan, s->e, data, NULL, &cases[c].request, cases[c].table);
        for (size_t i = 0; i < LLI_COUNT(names); i++) {
            int f = lli_schema_find(names[i]);
            bool listed = false;
            for (int64_t j = 0; j < plan->list.count; j++)
                listed = listed || strcmp(plan->list.arrays[j].name, names[i]) == 0;
            if (listed != (cases[c].has[i] == '+') || listed != (plan->place[0][f] >= 0))
                fail_msg("case %d: %s", (int)c, names[i]);
            assert_true(plan->place[1][f] == -1);
        }
        if (!cases[c].table) {
            ll_predictions *p;
            CHECK_OK(s->ctx, lli_predict_collect(&p, s->ctx, plan));
            for (size_t i = 0; i < LLI_COUNT(names); i++)
                assert_int_equal(ll_predictions_array(p, names[i]).data != NULL, cases[c].has[i] == '+');
            ll_predictions_free(p);
        }
        free(plan);
    }
    ll_predictions *p;
    const lli_predict_request request = {.probs = true};
    for (int64_t i = 1;; i++) {
        lli_memory_fail_at(s->ctx, i);
        ll_status status = lli_predictions_collect(&p, s->ctx, s->e, s->p.data, &request);
        lli_memory_fail_at(s->ctx, 0);
        if (status == LL_OK) {
            assert_true(i > 20);
            ll_predictions_free(p);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(p);
    }
    ll_context_cancel(s->ctx);
    assert_int_equal(lli_predictions_collect(&p, s->ctx, s->e, s->p.data, &request), LL_ERR_CANCELLED);
    scene_free(s);
    free(s);
}

static void test_ranges(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 31, 32, 33, 100, 1000};
    for (size_t i = 0; i < LLI_COUNT(sizes); i++)
        for (int64_t count = 1; count <= 40; count++) {
            int64_t end = 0, begin;
            for (int64_t part = 0; part < count; part++) {
                const lli_predict_request request = {.part = {part, count}};
                int64_t n = lli_predict_range(&begin, &request, sizes[i]);
                assert_int_equal(begin, end);
                assert_true(n >= 0 && (begin % 32 == 0 || begin == sizes[i]));
                end = begin + n;
            }
            assert_int_equal(end, sizes[i]);
        }
    int64_t begin, third[3];
    for (int64_t part = 0; part < 3; part++) {
        const lli_predict_request request = {.part = {part, 3}};
        third[part] = lli_predict_range(&begin, &request, 100);
    }
    assert_true(third[0] == 32 && third[1] == 32 && third[2] == 36); /* tiles of 32: 1, 1 and 2 */
    const lli_predict_request all = {0};
    assert_true(lli_predict_range(&begin, &all, 100) == 100 && begin == 0);
}

static void test_refused(void **state) {
    (void)state;
    scene *s = problem_room(1, sizeof *s);
    scene_init(s, 1);
    lli_rows wrong = s->p.data->rows;
    wrong.D = D + 1;
    CHECK_FAILS(s->ctx, LL_ERR_DATA,
                "the features have 5 columns but the ensemble was fitted on 4; if one of them holds the labels, say so",
                lli_predict_check_rows(s->ctx, s->e, &wrong));
    wrong.D = D - 1;
    CHECK_FAILS(s->ctx, LL_ERR_DATA, "the features have 3 columns but the ensemble was fitted on 4",
                lli_predict_check_rows(s->ctx, s->e, &wrong));
    assert_null(strstr(s->ctx->message, "labels"));
    wrong = s->p.data->rows;
    wrong.bytes = true;
    CHECK_FAILS(s->ctx, LL_ERR_DATA, "these are images, and the ensemble is one of last layers",
                lli_predict_check_rows(s->ctx, s->e, &wrong));
    CHECK_OK(s->ctx, lli_predict_check_rows(s->ctx, s->e, &s->p.data->rows));
    scene_free(s);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_everything), cmocka_unit_test(test_less), cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
