/* SPDX-License-Identifier: MIT */
/* A row's answer depends on the row alone: not on its batch, or who else predicts. */
#include <math.h>
#include <pthread.h>

#include "answer_room.h"
#include "check.h"
#include "members.h"

static void run(ll_context *ctx, ll_prediction *out, const ll_ensemble *e, const float *z, int64_t n, int64_t row) {
    ll_predictor *predictor;
    CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
    CHECK_OK(ctx, ll_predictor_run(out, predictor, z, n, row));
    ll_predictor_free(predictor);
}

static void test_row_by_row(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    for (int dropout = 0; dropout < 2; dropout++) {
        ll_ensemble *e = members(ctx, dropout, NULL);
        ll_prediction all = answers_new(N, K, S, NULL), parts = answers_new(N, K, S, NULL);
        run(ctx, &all, e, p.z, N, 500);
        static const int64_t steps[] = {1, 3, 32, 97, 256};
        for (size_t i = 0; i < LLI_COUNT(steps); i++) {
            ll_predictor *predictor;
            CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
            for (int64_t at = 0; at < N; at += steps[i]) {
                ll_prediction out = answers_from(&parts, at, K, S);
                CHECK_OK(ctx, ll_predictor_run(&out, predictor, p.z + at * D, LLI_MIN(steps[i], N - at), 500 + at));
            }
            ll_predictor_free(predictor);
            answers_check_same(&all, 0, &parts, 0, N, K, S);
        }
        /* the index of a row keys the masks of dropout, and nothing else */
        run(ctx, &parts, e, p.z, N, 501);
        int same = 0;
        for (int64_t i = 0; i < N; i++)
            same += all.confidence[LL_CONFIDENCE_SR][i] == parts.confidence[LL_CONFIDENCE_SR][i];
        assert_true(dropout ? same < N / 10 : same == N);
        answers_free(&all);
        answers_free(&parts);
        ll_ensemble_free(e);
    }
    problem_free(&p);
    ll_context_free(ctx);
}

/* By content, neither the number of a row nor the rows around it count. */
static void test_by_content(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    ll_ensemble *e = members(ctx, true, NULL);
    ll_prediction numbered = answers_new(N, K, S, NULL), all = answers_new(N, K, S, NULL), backwards = answers_new(N, K, S, NULL);
    float *turned = problem_room(N * D, sizeof *turned);
    for (int64_t i = 0; i < N; i++)
        memcpy(turned + i * D, p.z + (N - 1 - i) * D, D * sizeof *turned);
    run(ctx, &numbered, e, p.z, N, 0);
    e->plan.by_content = true;
    run(ctx, &all, e, p.z, N, 0);
    run(ctx, &backwards, e, turned, N, 12345);
    int same = 0;
    for (int64_t i = 0; i < N; i++) {
        answers_check_same(&all, i, &backwards, N - 1 - i, 1, K, S);
        same += all.confidence[LL_CONFIDENCE_SR][i] == numbered.confidence[LL_CONFIDENCE_SR][i];
    }
    assert_true(same < N / 10);
    free(turned);
    answers_free(&numbered);
    answers_free(&all);
    answers_free(&backwards);
    ll_ensemble_free(e);
    problem_free(&p);
    ll_context_free(ctx);
}

typedef struct worker {
    const ll_ensemble *e;
    const float *z;
    ll_prediction out;
    ll_status status;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    ll_context *ctx = NULL;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    ll_predictor *predictor = NULL;
    w->status = ll_context_new(&ctx, &options);
    if (w->status == LL_OK)
        w->status = ll_predictor_new(&predictor, ctx, w->e);
    for (int64_t i = 0; w->status == LL_OK && i < N; i++) {
        ll_prediction out = answers_from(&w->out, i, K, S);
        w->status = ll_predictor_run(&out, predictor, w->z + i * D, 1, i);
    }
    ll_predictor_free(predictor);
    ll_context_free(ctx);
    return NULL;
}

/* Threads that share one ensemble and nothing else. */
static void test_reentrant(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    for (int dropout = 0; dropout < 2; dropout++) {
        ll_ensemble *e = members(ctx, dropout, NULL);
        ll_prediction alone = answers_new(N, K, S, NULL);
        run(ctx, &alone, e, p.z, N, 0);
        worker workers[3];
        pthread_t threads[3];
        for (int t = 0; t < 3; t++) {
            workers[t] = (worker){e, p.z, answers_new(N, K, S, NULL), LL_OK};
            assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
        }
        for (int t = 0; t < 3; t++) {
            pthread_join(threads[t], NULL);
            assert_int_equal(workers[t].status, LL_OK);
            answers_check_same(&alone, 0, &workers[t].out, 0, N, K, S);
            answers_free(&workers[t].out);
        }
        answers_free(&alone);
        ll_ensemble_free(e);
    }
    problem_free(&p);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_ensemble *e = members(ctx, false, NULL);
    ll_predictor *predictor;
    CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
    float z[3 * D] = {0};
    int32_t label[3] = {-1, -1, -1};
    ll_prediction out = {.label = label};
    z[D + 2] = NAN;
    assert_int_equal(ll_predictor_run(&out, predictor, z, 3, 40), LL_ERR_DATA);
    assert_string_equal(ll_predictor_message(predictor), "feature 2 of row 41 is not finite");
    z[D + 2] = INFINITY;
    assert_int_equal(ll_predictor_run(&out, predictor, z, 3, 40), LL_ERR_DATA);
    z[D + 2] = 0;
    assert_int_equal(label[0], -1);
    CHECK_OK(ctx, ll_predictor_run(&out, predictor, z, 3, 40));
    assert_in_range(label[2], 0, K - 1);
    CHECK_OK(ctx, ll_predictor_run(&out, predictor, z, 0, 0)); /* no rows: nothing to do */
    ll_context_cancel(ctx);
    assert_int_equal(ll_predictor_run(&out, predictor, z, 3, 0), LL_ERR_CANCELLED);
    assert_string_equal(ll_predictor_message(predictor), "interrupted");
    ll_predictor_free(predictor);
    ll_predictor_free(NULL);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_by_row),
        cmocka_unit_test(test_by_content),
        cmocka_unit_test(test_reentrant),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
